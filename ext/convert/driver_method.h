/* Methods that read their arguments, make one driver call and return: each a row of a .def.
 *
 *   CALL(name, routine, parameters, doc, arguments, answer, variables, targets...)
 *       the method `name`: arguments are read into the variables, the driver's function `routine` is called
 *       with `arguments`, the object `answer` is returned
 *   ASK(name, routine, parameters, doc, arguments, answer, variables)
 *       a method without arguments
 *
 * `self_is` of the class's file declares the variables that its rows may use; `state` has to be one of them.
 */
#ifndef EXT_CONVERT_DRIVER_METHOD_H
#define EXT_CONVERT_DRIVER_METHOD_H

#include "ext/base/driver_calls.h"
#include "ext/convert/convert.h"

#define DRIVER_METHOD_DOC(name, routine, parameters, doc) \
    #name "(" parameters ")\n--\n\n" doc "\nNotes\n-----\nCalls " #routine "."

#define DRIVER_METHOD(self_is, name, routine, parameters, doc, arguments, answer, variables, ...) \
    PyDoc_STRVAR(name##_doc, DRIVER_METHOD_DOC(name, routine, parameters, doc)); \
    static PyObject *name(PyObject *self, FAST_PARAMETERS) \
    { \
        self_is; \
        variables; \
        return READ_ARGUMENTS(name##_doc, __VA_ARGS__) < 0 || gpu_##routine arguments < 0 ? NULL : (answer); \
    }

#define DRIVER_METHOD_OF_NOTHING(self_is, name, routine, parameters, doc, arguments, answer, variables) \
    PyDoc_STRVAR(name##_doc, DRIVER_METHOD_DOC(name, routine, parameters, doc)); \
    static PyObject *name(PyObject *self, PyObject *Py_UNUSED(none)) \
    { \
        self_is; \
        variables; \
        return gpu_##routine arguments < 0 ? NULL : (answer); \
    }

#endif
