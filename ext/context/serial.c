/* Serial numbers of contexts, by which Python code remembers things for them without keeping them alive. It
 * is called when it is to forget them. */
#include "ext/context/context.h"

PyDoc_STRVAR(serial_doc, "_context_serial()\n--\n\n"
                         "The number of the current context, which no other one has or had.");

static PyObject *context_serial(PyObject *module, PyObject *Py_UNUSED(none))
{
    ContextObject *context = context_current(module_state(module));
    if (!context) return NULL;
    PyObject *serial = PyLong_FromUnsignedLongLong(context->serial);
    Py_DECREF((PyObject *)context);
    return serial;
}

PyDoc_STRVAR(forget_with_doc,
             "_forget_with_contexts(function, /)\n--\n\n"
             "Let function(serial) be called when a context ends, or can no longer be made current.");

static PyObject *forget_with_contexts(PyObject *module, PyObject *function)
{
    Py_XSETREF(module_state(module)->context_forgetter, Py_NewRef(function));
    Py_RETURN_NONE;
}

/* Reports to Python that the context ends: what is cached by its serial number is dropped. */
static void call_forgetter(ContextObject *context)
{
    PyObject *function = context->state->context_forgetter, *error_type, *error, *trace;
    if (!function || ext_is_finalizing()) return;
    PyErr_Fetch(&error_type, &error, &trace);
    PyObject *done = PyObject_CallFunction(function, "K", (unsigned long long)context->serial);
    if (!done) PyErr_WriteUnraisable(function);
    Py_XDECREF(done);
    PyErr_Restore(error_type, error, trace);
}

PyMethodDef context_serial_functions[] = {
    {"_context_serial", context_serial, METH_NOARGS, serial_doc},
    {"_forget_with_contexts", forget_with_contexts, METH_O, forget_with_doc},
    {NULL, NULL, 0, NULL},
};

int context_serial_setup(PyObject *Py_UNUSED(module), ModuleState *state)
{
    return context_on_end(state, call_forgetter);
}
