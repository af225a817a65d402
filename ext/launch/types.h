/* The types of a kernel's parameters, and whether arguments agree: np.int32 for a float is
 * refused, a float64 array for a float * warns. PTX distinguishes numbers, the text of the source the
 * elements of arrays; where neither does, nothing is said. PYCUDA_CHECK_ARGUMENTS switches it, unless set it
 * is on for drivers that know types, as the CPU device does. */
#ifndef EXT_LAUNCH_TYPES_H
#define EXT_LAUNCH_TYPES_H

#include "ext/launch/arguments.h"

/* kind: 'i' or 'f' of a number; 'I' or 'F' of a pointer to such, of that size; 0: not known. */
typedef struct ParameterType {
    char kind;
    uint8_t size;
} ParameterType;

/* The types for a new function, which owns them; NULL when there is nothing to compare with. -1 with an
 * exception. */
int parameter_types_open(FunctionObject *function);

/* Function._note_types: a callable that reads the source when that is needed, and gives None or two bytes a
 * parameter, as above; 's' is a structure. */
extern const char note_types_doc[];
PyObject *parameter_types_note(PyObject *self, PyObject *read);

typedef enum ParameterForm {
    PARAMETER_UNKNOWN,
    PARAMETER_PLAIN,     /* a number or a pointer */
    PARAMETER_STRUCTURE  /* or a vector */
} ParameterForm;

/* The form by the driver's or the source's information. May run Python code. */
ParameterForm parameter_types_form(FunctionObject *function, Py_ssize_t position);

/* An argument of this kind of the table, NULL for others. -1 with TypeError, or a warning that became an
 * exception. *may_remember is false where the next object of the kind is to be looked at as well. */
int parameter_types_check(FunctionObject *function, Py_ssize_t position, PyObject *argument,
                          const ArgumentKind *kind, bool *may_remember);
/* An array whose elements the kernel gets by address: its dtype. */
int parameter_types_check_elements(FunctionObject *function, Py_ssize_t position, PyObject *dtype);
/* A number that was prepared as this code. */
int parameter_types_check_code(FunctionObject *function, Py_ssize_t position, const PackCode *code);

#endif
