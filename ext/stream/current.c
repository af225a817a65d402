/* The current stream: what `stream=None` means within `with stream:`. It belongs to the Python context
 * (contextvars), so threads and coroutines have their own. */
#include "ext/stream/stream.h"

#include "ext/base/captured.h"
#include "ext/base/driver_calls.h"
#include "ext/convert/convert.h"

/* The value of the variable is None, or a pair: the stream, and the value before it. A new reference. */
static PyObject *read_entry(ModuleState *state)
{
    PyObject *entry = NULL;
    return PyContextVar_Get(state->current_stream, Py_None, &entry) < 0 ? NULL : entry;
}

static int write_entry(ModuleState *state, PyObject *entry)
{
    PyObject *token = PyContextVar_Set(state->current_stream, entry);
    Py_XDECREF(token);
    return token ? 0 : -1;
}

/* Whether streams of this context can be used in the current one. */
static bool is_usable_here(const ContextObject *context)
{
    CUcontext handle = NULL;
    CUresult result = try_cuCtxGetCurrent(context->state, &handle);
    return result == CUDA_SUCCESS && context_shares_memory_with(context, handle);
}

PyObject *stream_of_block(ModuleState *state)
{
    PyObject *entry = read_entry(state), *stream = NULL;
    if (!entry) PyErr_Clear();
    if (entry && entry != Py_None) stream = PyTuple_GET_ITEM(entry, 0);
    Py_XDECREF(entry); /* the variable holds it */
    if (!stream) return NULL;
    bool is_foreign = !PyObject_TypeCheck(stream, state->Stream_type);
    return is_foreign || is_usable_here(stream_cast(stream)->context) ? stream : NULL;
}

PyObject *stream_with_enter(PyObject *self, PyObject *Py_UNUSED(none))
{
    ModuleState *state = stream_cast(self)->state;
    if (!context_check(stream_cast(self)->context, "Stream")
        || captured_notice(state, self, stream_cast(self)->handle) < 0)
        return NULL;
    PyObject *before = read_entry(state), *entry = before ? PyTuple_Pack(2, self, before) : NULL;
    int failed = entry ? write_entry(state, entry) : -1;
    Py_XDECREF(entry);
    Py_XDECREF(before);
    if (failed) return NULL;
    atomic_fetch_add_explicit(&state->streams_entered, 1, memory_order_relaxed);
    return Py_NewRef(self);
}

PyObject *stream_with_exit(PyObject *self, PyObject *const *Py_UNUSED(exception), Py_ssize_t Py_UNUSED(count))
{
    ModuleState *state = stream_cast(self)->state;
    PyObject *entry = read_entry(state);
    if (!entry) return NULL;
    int failed = -1;
    if (entry == Py_None || PyTuple_GET_ITEM(entry, 0) != self)
        raise_logic(state,
                    "the stream is not the current one: `with` blocks of streams end in the reverse order");
    else
        failed = write_entry(state, PyTuple_GET_ITEM(entry, 1));
    Py_DECREF(entry);
    return failed ? NULL : Py_NewRef(Py_None);
}

PyObject *stream_push(ModuleState *state, PyObject *stream)
{
    CUstream handle;
    if (convert_stream(state, stream, &handle) < 0) return NULL;
    PyObject *before = read_entry(state), *entry = before ? PyTuple_Pack(2, stream, before) : NULL;
    PyObject *token = entry ? PyContextVar_Set(state->current_stream, entry) : NULL;
    Py_XDECREF(entry);
    Py_XDECREF(before);
    if (token) atomic_fetch_add_explicit(&state->streams_entered, 1, memory_order_relaxed);
    return token;
}

void stream_pop(ModuleState *state, PyObject *token)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    atomic_fetch_sub_explicit(&state->streams_entered, 1, memory_order_relaxed);
    if (PyContextVar_Reset(state->current_stream, token) < 0) PyErr_WriteUnraisable(state->current_stream);
    Py_DECREF(token);
    PyErr_Restore(type, value, traceback);
}

/* *out: the stream that an object's method __cuda_stream__ returns. -1 with an exception. */
static int stream_of_protocol(PyObject *method, CUstream *out)
{
    unsigned long long handle = 0;
    PyObject *pair = PyObject_CallNoArgs(method);
    int status = -1;
    if (pair && PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2)
        status = convert_bits(PyTuple_GET_ITEM(pair, 1), "a stream handle", 64, &handle);
    else if (pair)
        PyErr_SetString(PyExc_TypeError, "__cuda_stream__ must return a tuple (version, handle)");
    if (status == 0) *out = (CUstream)(uintptr_t)handle;
    Py_XDECREF(pair);
    return status;
}

int convert_stream(ModuleState *state, PyObject *value, CUstream *out)
{
    PyObject *method;
    *out = NULL;
    if (!value || value == Py_None) return 0;
    if (PyObject_TypeCheck(value, state->Stream_type)) {
        *out = stream_cast(value)->handle;
        return context_check(stream_cast(value)->context, "Stream") ? 0 : -1;
    }
    int found = convert_find_attribute(value, state->str___cuda_stream__, &method);
    if (found > 0) {
        found = stream_of_protocol(method, out);
        Py_DECREF(method);
        /* Not a default stream: whether it waits for one is not known. */
        if ((uintptr_t)*out > (uintptr_t)CU_STREAM_PER_THREAD) wait_note_stream(state);
        return found == 0 && captured_notice(state, value, *out) < 0 ? -1 : found;
    }
    if (found == 0)
        PyErr_Format(PyExc_TypeError, "stream must be a Stream or None, not %s", Py_TYPE(value)->tp_name);
    return -1;
}

PyDoc_STRVAR(current_stream_doc,
             "current_stream()\n--\n\n"
             "The stream of the innermost ``with stream:`` block whose stream belongs to the current\n"
             "context.\n"
             "\nReturns\n-------\n"
             "Stream or None\n    None is the default stream.");

static PyObject *current_stream(PyObject *module, PyObject *Py_UNUSED(none))
{
    PyObject *stream = stream_or_current(module_state(module), NULL);
    return Py_NewRef(stream ? stream : Py_None);
}

PyMethodDef current_stream_functions[] = {
    {"current_stream", current_stream, METH_NOARGS, current_stream_doc},
    {NULL, NULL, 0, NULL},
};

int current_stream_setup(PyObject *Py_UNUSED(module), ModuleState *state)
{
    state->current_stream = PyContextVar_New("pycuda.current_stream", NULL);
    return state->current_stream ? 0 : -1;
}
