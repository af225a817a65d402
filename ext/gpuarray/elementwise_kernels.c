/* The kernels of elementwise operations that a context has, by operation, dtypes and layout. */
#include "ext/gpuarray/elementwise_kernels.h"

#include <string.h>

#include "core/word_map.h"
#include "ext/base/numpy_api.h"
#include "ext/convert/convert.h"

enum { KEY_WORDS = 4 + ELEMENTWISE_MAX_INPUTS + ELEMENTWISE_MAX_OUTPUTS };

/* Writes a key as words for word_map_find(), in which names and dtypes are their addresses. Returns the
 * number of words. */
static size_t write_key_words(const ElementwiseKey *key, uint64_t words[KEY_WORDS])
{
    uint64_t *end = words;
    *end++ = (uint64_t)(uintptr_t)key->name;
    *end++ = key->scalars | (uint64_t)key->inputs << 32 | (uint64_t)key->outputs << 40
             | (uint64_t)(key->casting != NULL) << 48 | (uint64_t)(key->dtype != NULL) << 49;
    for (int i = 0; i < key->inputs; i++) *end++ = (uint64_t)(uintptr_t)key->kinds[i];
    for (int i = 0; i < key->outputs; i++) *end++ = (uint64_t)(uintptr_t)key->outs[i];
    if (key->dtype) *end++ = (uint64_t)(uintptr_t)key->dtype;
    if (key->casting) *end++ = (uint64_t)(uintptr_t)key->casting;
    return (size_t)(end - words);
}

void elementwise_drop(ElementwiseLoop *loop)
{
    if (!loop || gil_count(&loop->holders, -1) > 0) return;
    Py_XDECREF(loop->loop);
    Py_XDECREF(loop->held);
    for (int i = 0; i < ELEMENTWISE_MAX_OUTPUTS; i++) Py_XDECREF(loop->results[i]);
    for (int i = 0; i < ELEMENTWISE_MAX_INPUTS; i++) Py_XDECREF(loop->inputs[i]);
    for (int i = 0; i < LAYOUT_COUNT; i++) Py_XDECREF(loop->kernels[i].function);
    PyMem_Free(loop);
}

bool elementwise_is_kept(const ContextObject *context) { return context->elementwise.count > 0; }

/* The table is taken out first, as dropping a loop may run Python code that calls this function. */
void elementwise_forget(ContextObject *context)
{
    WordMap loops = context->elementwise;
    size_t position = 0;
    context->elementwise = (WordMap){0};
    for (ElementwiseLoop *loop; (loop = word_map_next(&loops, &position));) elementwise_drop(loop);
    word_map_clear(&loops);
}

/* An attribute of pycuda._kernels.builtin.elementwise, a new reference. */
static PyObject *module_attribute(ModuleState *state, const char *name)
{
    if (!state->elementwise_module
        && !(state->elementwise_module = PyImport_ImportModule("pycuda._kernels.builtin.elementwise")))
        return NULL;
    return PyObject_GetAttrString(state->elementwise_module, name);
}

/* The argument `operands` of resolve(): a pair (dtype, whether it is a scalar) for each operand. */
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

/* Takes references to the dtypes of a tuple. Returns how many; -1 with SystemError for more than `max`. */
static int take_dtypes(PyObject *tuple, PyArray_Descr **out, int max)
{
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) > max) {
        PyErr_SetString(PyExc_SystemError, "resolve() returned too many dtypes");
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++)
        out[i] = (PyArray_Descr *)Py_NewRef(PyTuple_GET_ITEM(tuple, i));
    return (int)PyTuple_GET_SIZE(tuple);
}

static PyObject *object_or_none(PyObject *object) { return object ? object : Py_None; }

/* Stores what resolve() returned, and the objects of the key, in the loop. -1, with or without an exception,
 * unless it is (loop, dtypes of results, dtypes of inputs). */
static int take_answer(ElementwiseLoop *loop, const ElementwiseKey *key, PyObject *answer, PyObject *pairs,
                       PyObject *outputs)
{
    if (!PyTuple_Check(answer) || PyTuple_GET_SIZE(answer) != 3) return -1;
    loop->loop = Py_NewRef(PyTuple_GET_ITEM(answer, 0));
    loop->held =
        PyTuple_Pack(5, key->name, pairs, outputs, object_or_none(key->dtype), object_or_none(key->casting));
    loop->output_count = take_dtypes(PyTuple_GET_ITEM(answer, 1), loop->results, ELEMENTWISE_MAX_OUTPUTS);
    int inputs = take_dtypes(PyTuple_GET_ITEM(answer, 2), loop->inputs, ELEMENTWISE_MAX_INPUTS);
    return loop->held && loop->output_count > 0 && inputs == key->inputs ? 0 : -1;
}

/* Calls Python's resolve(): which loop computes the operation on these dtypes. The result has one holder, the
 * caller. NULL with an exception. */
static ElementwiseLoop *resolve_loop(ModuleState *state, const ElementwiseKey *key)
{
    PyObject *function = module_attribute(state, "resolve"), *pairs = operand_pairs(key), *outputs = NULL,
             *answer = NULL;
    ElementwiseLoop *loop = PyMem_Calloc(1, sizeof *loop);
    if (!loop) PyErr_NoMemory();
    if (function && pairs && loop)
        outputs = key->outputs == 2
                      ? PyTuple_Pack(2, object_or_none(key->outs[0]), object_or_none(key->outs[1]))
                      : PyTuple_Pack(1, object_or_none(key->outs[0]));
    if (outputs)
        answer = PyObject_CallFunctionObjArgs(function, key->name, pairs, outputs, object_or_none(key->dtype),
                                              key->casting, NULL);
    if (loop) loop->holders = 1;
    bool good = answer && take_answer(loop, key, answer, pairs, outputs) == 0;
    if (!good && !PyErr_Occurred())
        PyErr_SetString(PyExc_SystemError, "resolve() returned an unexpected value");
    if (!good) {
        elementwise_drop(loop);
        loop = NULL;
    }
    Py_XDECREF(answer);
    Py_XDECREF(outputs);
    Py_XDECREF(pairs);
    Py_XDECREF(function);
    return loop;
}

/* Puts the loop into the context's table, which becomes a holder. A loop that another thread inserted
 * meanwhile is replaced. -1 with MemoryError. */
static int insert_loop(ContextObject *context, const uint64_t *words, size_t length, ElementwiseLoop *loop)
{
    void *before;
    gil_count(&loop->holders, 1);
    if (!word_map_put(&context->elementwise, words, length, loop, &before)) {
        gil_count(&loop->holders, -1);
        PyErr_NoMemory();
        return -1;
    }
    elementwise_drop(before);
    return 0;
}

ElementwiseLoop *elementwise_find(ContextObject *context, const ElementwiseKey *key)
{
    uint64_t words[KEY_WORDS];
    size_t length = write_key_words(key, words);
    ElementwiseLoop *loop = word_map_find(&context->elementwise, words, length);
    if (loop) gil_count(&loop->holders, 1);
    if (loop) return loop;
    loop = resolve_loop(context->state, key);
    if (!loop || insert_loop(context, words, length, loop) == 0) return loop;
    elementwise_drop(loop);
    return NULL;
}

int elementwise_kernel(ModuleState *state, ElementwiseLoop *loop, int layout, ElementwiseKernel *out)
{
    ElementwiseKernel *kernel = &loop->kernels[layout];
    if (!kernel->function) {
        ElementwiseKernel made = {NULL, 0};
        PyObject *function = module_attribute(state, "build_elementwise"), *answer = NULL;
        if (function) answer = PyObject_CallFunction(function, "Oi", loop->loop, layout);
        Py_XDECREF(function);
        if (answer && PyArg_ParseTuple(answer, "O!n", state->Function_type, &made.function, &made.elements)) {
            Py_INCREF(made.function);
            Py_XSETREF(kernel->function, made.function); /* another thread may have made it meanwhile */
            kernel->elements = made.elements;
        }
        Py_XDECREF(answer);
        if (!kernel->function || PyErr_Occurred()) return -1;
    }
    *out = (ElementwiseKernel){Py_NewRef(kernel->function), kernel->elements};
    return 0;
}
