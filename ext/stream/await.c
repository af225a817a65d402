/* `await stream` and `await event`. The event loop polls is_done() or query() (pycuda/_base/awaiting.py): a
 * host function would not be called after work that failed, and a thread that waits could not be canceled. */
#include "ext/stream/stream.h"

PyObject *stream_await(PyObject *self)
{
    ModuleState *state = state_of_type(Py_TYPE(self));
    bool is_stream = PyObject_TypeCheck(self, state->Stream_type);
    PyObject *done = PyObject_GetAttrString(self, is_stream ? "is_done" : "query"), *iterator = NULL;
    PyObject *module = done ? PyImport_ImportModule("pycuda._base.awaiting") : NULL;
    if (module) iterator = PyObject_CallMethod(module, "until", "O", done);
    Py_XDECREF(module);
    Py_XDECREF(done);
    return iterator;
}
