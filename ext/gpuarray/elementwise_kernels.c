/* The kernels of elementwise operations that a context has, by operation, dtypes and layout. */
#include "ext/gpuarray/elementwise_kernels.h"

#include <string.h>

#include "ext/convert/convert.h"
#include "ext/numpy_api.h"

static const char capsule_name[] = "pycuda._driver.Elementwise";

static void free_loop(ElementwiseLoop *loop)
{
    Py_XDECREF(loop->loop);
    Py_XDECREF(loop->held);
    for (int i = 0; i < ELEMENTWISE_MAX_OUTPUTS; i++) Py_XDECREF(loop->results[i]);
    for (int i = 0; i < ELEMENTWISE_MAX_INPUTS; i++) Py_XDECREF(loop->inputs[i]);
    for (int i = 0; i < ELEMENTWISE_LAYOUTS; i++) Py_XDECREF(loop->kernels[i].function);
    PyMem_Free(loop);
}

static void free_capsule(PyObject *capsule)
{
    ElementwiseLoop *loop = PyCapsule_GetPointer(capsule, capsule_name);
    if (loop) free_loop(loop);
}

/* Something of pycuda._kernels.elementwise, a new reference. */
static PyObject *maker(ModuleState *state, const char *name)
{
    if (!state->elementwise_maker
        && !(state->elementwise_maker = PyImport_ImportModule("pycuda._kernels.elementwise")))
        return NULL;
    return PyObject_GetAttrString(state->elementwise_maker, name);
}

/* The pairs (dtype, is scalar) that `resolve` takes; the objects of the key are held by it. */
static PyObject *operand_pairs(const ElementwiseKey *key)
{
    PyObject *pairs = PyTuple_New(key->inputs);
    for (int i = 0; pairs && i < key->inputs; i++) {
        PyObject *pair = PyTuple_Pack(2, key->kinds[i], key->scalars >> i & 1 ? Py_True : Py_False);
        if (pair)
            PyTuple_SET_ITEM(pairs, i, pair);
        else
            Py_CLEAR(pairs);
    }
    return pairs;
}

static int take_dtypes(PyObject *tuple, PyArray_Descr **out, int most)
{
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) > most) {
        PyErr_SetString(PyExc_SystemError, "resolve() gave too many dtypes");
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++)
        out[i] = (PyArray_Descr *)Py_NewRef(PyTuple_GET_ITEM(tuple, i));
    return (int)PyTuple_GET_SIZE(tuple);
}

/* Asks what the operation gives on these dtypes. A capsule; NULL with an exception. */
static PyObject *resolve(ModuleState *state, const ElementwiseKey *key)
{
    PyObject *function = maker(state, "resolve"), *pairs = operand_pairs(key), *outputs = NULL,
             *answer = NULL;
    PyObject *capsule = NULL;
    ElementwiseLoop *loop = PyMem_Calloc(1, sizeof *loop);
    if (!loop) PyErr_NoMemory();
    if (function && pairs && loop)
        outputs = key->outputs == 2 ? PyTuple_Pack(2, key->outs[0] ? key->outs[0] : Py_None,
                                                   key->outs[1] ? key->outs[1] : Py_None)
                                    : PyTuple_Pack(1, key->outs[0] ? key->outs[0] : Py_None);
    PyObject *dtype = key->dtype ? key->dtype : Py_None;
    if (outputs)
        answer = PyObject_CallFunction(function, "OOOOs", key->name, pairs, outputs, dtype,
                                       key->unsafe ? "unsafe" : "same_kind");
    if (answer && PyTuple_Check(answer) && PyTuple_GET_SIZE(answer) == 3) {
        loop->loop = Py_NewRef(PyTuple_GET_ITEM(answer, 0));
        loop->held = PyTuple_Pack(4, key->name, pairs, outputs, dtype);
        loop->output_count = take_dtypes(PyTuple_GET_ITEM(answer, 1), loop->results, ELEMENTWISE_MAX_OUTPUTS);
        int inputs = take_dtypes(PyTuple_GET_ITEM(answer, 2), loop->inputs, ELEMENTWISE_MAX_INPUTS);
        if (loop->held && loop->output_count > 0 && inputs == key->inputs)
            capsule = PyCapsule_New(loop, capsule_name, free_capsule);
    }
    if (!capsule && loop) free_loop(loop);
    if (!capsule && !PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "resolve() gave something else");
    Py_XDECREF(answer);
    Py_XDECREF(outputs);
    Py_XDECREF(pairs);
    Py_XDECREF(function);
    return capsule;
}

/* The dict of the current context, borrowed. */
static PyObject *kernels_here(ModuleState *state)
{
    ContextObject *context = context_current(state);
    if (!context) return NULL;
    PyObject *kernels = PyDict_GetItemWithError(state->elementwise, (PyObject *)context);
    if (!kernels && !PyErr_Occurred() && (kernels = PyDict_New())) {
        int failed = PyDict_SetItem(state->elementwise, (PyObject *)context, kernels);
        Py_DECREF(kernels);
        if (failed) kernels = NULL;
    }
    Py_DECREF((PyObject *)context);
    return kernels;
}

PyObject *elementwise_find(ModuleState *state, const ElementwiseKey *key, ElementwiseLoop **out)
{
    PyObject *kernels = Py_XNewRef(kernels_here(state)), *capsule = NULL;
    PyObject *bytes = kernels ? PyBytes_FromStringAndSize((const char *)key, sizeof *key) : NULL;
    if (bytes) capsule = Py_XNewRef(PyDict_GetItemWithError(kernels, bytes));
    if (bytes && !capsule && !PyErr_Occurred() && (capsule = resolve(state, key))
        && PyDict_SetItem(kernels, bytes, capsule) < 0)
        Py_CLEAR(capsule);
    Py_XDECREF(bytes);
    Py_XDECREF(kernels);
    *out = capsule ? PyCapsule_GetPointer(capsule, capsule_name) : NULL;
    return capsule;
}

int elementwise_kernel(ModuleState *state, ElementwiseLoop *loop, int layout, ElementwiseKernel *out)
{
    ElementwiseKernel *kernel = &loop->kernels[layout];
    if (!kernel->function) {
        ElementwiseKernel made = {NULL, 0};
        PyObject *function = maker(state, "build"), *answer = NULL;
        if (function) answer = PyObject_CallFunction(function, "Oi", loop->loop, layout);
        Py_XDECREF(function);
        if (answer && PyArg_ParseTuple(answer, "O!n", state->Function_type, &made.function, &made.elements)) {
            Py_INCREF(made.function);
            Py_XSETREF(kernel->function, made.function);   /* another thread may have made it meanwhile */
            kernel->elements = made.elements;
        }
        Py_XDECREF(answer);
        if (!kernel->function || PyErr_Occurred()) return -1;
    }
    *out = (ElementwiseKernel){Py_NewRef(kernel->function), kernel->elements};
    return 0;
}

void elementwise_forget(ContextObject *context)
{
    PyObject *of_contexts = context->state->elementwise;
    if (of_contexts && PyDict_GetItem(of_contexts, (PyObject *)context))
        PyDict_DelItem(of_contexts, (PyObject *)context);
}
