/* The kernels of elementwise operations that a context has, by operation, dtypes and layout. */
#include "ext/gpuarray/elementwise_kernels.h"

#include <string.h>

#include "ext/convert/convert.h"
#include "ext/numpy_api.h"

/* The loops of a context by their keys: open addressing, at most half full, nothing is ever taken out. It
 * lies in a capsule, with which it ends; the module's dict of contexts has that. */
typedef struct ElementwiseTable {
    ContextObject *context; /* a reference */
    size_t count, room; /* room is a power of two */
    ElementwiseLoop **loops;
} ElementwiseTable;

enum { FIRST_ROOM = 64 };

static const char capsule_name[] = "pycuda._driver.ElementwiseTable";

void elementwise_drop(ElementwiseLoop *loop)
{
    if (!loop || --loop->holders > 0) return;
    Py_XDECREF(loop->loop);
    Py_XDECREF(loop->held);
    for (int i = 0; i < ELEMENTWISE_MAX_OUTPUTS; i++) Py_XDECREF(loop->results[i]);
    for (int i = 0; i < ELEMENTWISE_MAX_INPUTS; i++) Py_XDECREF(loop->inputs[i]);
    for (int i = 0; i < ELEMENTWISE_LAYOUTS; i++) Py_XDECREF(loop->kernels[i].function);
    PyMem_Free(loop);
}

static void free_table(PyObject *capsule)
{
    ElementwiseTable *table = PyCapsule_GetPointer(capsule, capsule_name);
    if (!table) return;
    table->context->elementwise = NULL;
    for (size_t i = 0; i < table->room; i++) elementwise_drop(table->loops[i]);
    Py_DECREF((PyObject *)table->context);
    PyMem_Free(table->loops);
    PyMem_Free(table);
}

/* Of the words that a key is made of. */
static uint64_t hash_of(const ElementwiseKey *key)
{
    uint64_t words[sizeof *key / sizeof(uint64_t)], hash = 0;
    memcpy(words, key, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = ((hash << 23 | hash >> 41) ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

/* Where the loop is, or where it belongs. */
static ElementwiseLoop **place_of(ElementwiseLoop **loops, size_t room, const ElementwiseKey *key,
                                  uint64_t hash)
{
    size_t i = hash & (room - 1);
    while (loops[i] && (loops[i]->hash != hash || memcmp(&loops[i]->key, key, sizeof *key) != 0))
        i = (i + 1) & (room - 1);
    return &loops[i];
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

/* What resolve() answered. The objects of the key are held with it. */
static int take_answer(ElementwiseLoop *loop, PyObject *answer, PyObject *pairs, PyObject *outputs)
{
    const ElementwiseKey *key = &loop->key;
    if (!PyTuple_Check(answer) || PyTuple_GET_SIZE(answer) != 3) return -1;
    loop->loop = Py_NewRef(PyTuple_GET_ITEM(answer, 0));
    loop->held = PyTuple_Pack(4, key->name, pairs, outputs, key->dtype ? key->dtype : Py_None);
    loop->output_count = take_dtypes(PyTuple_GET_ITEM(answer, 1), loop->results, ELEMENTWISE_MAX_OUTPUTS);
    int inputs = take_dtypes(PyTuple_GET_ITEM(answer, 2), loop->inputs, ELEMENTWISE_MAX_INPUTS);
    return loop->held && loop->output_count > 0 && inputs == key->inputs ? 0 : -1;
}

static PyObject *object_or_none(PyObject *object) { return object ? object : Py_None; }

/* Asks what the operation gives on these dtypes. One holder; NULL with an exception. */
static ElementwiseLoop *resolve(ModuleState *state, const ElementwiseKey *key, uint64_t hash)
{
    PyObject *function = maker(state, "resolve"), *pairs = operand_pairs(key), *outputs = NULL,
             *answer = NULL;
    ElementwiseLoop *loop = PyMem_Calloc(1, sizeof *loop);
    if (!loop) PyErr_NoMemory();
    if (function && pairs && loop)
        outputs = key->outputs == 2
                      ? PyTuple_Pack(2, object_or_none(key->outs[0]), object_or_none(key->outs[1]))
                      : PyTuple_Pack(1, object_or_none(key->outs[0]));
    if (outputs)
        answer = PyObject_CallFunction(function, "OOOOs", key->name, pairs, outputs,
                                       object_or_none(key->dtype), key->unsafe ? "unsafe" : "same_kind");
    bool good = false;
    if (answer) {
        loop->key = *key;
        loop->hash = hash;
        loop->holders = 1;
        good = take_answer(loop, answer, pairs, outputs) == 0;
    }
    if (!good && !PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "resolve() gave something else");
    if (!good && loop) {
        loop->holders = 1;
        elementwise_drop(loop);
        loop = NULL;
    }
    Py_XDECREF(answer);
    Py_XDECREF(outputs);
    Py_XDECREF(pairs);
    Py_XDECREF(function);
    return loop;
}

static ElementwiseTable *new_table(ContextObject *context)
{
    ElementwiseTable *table = PyMem_Calloc(1, sizeof *table);
    ElementwiseLoop **loops = PyMem_Calloc(FIRST_ROOM, sizeof(ElementwiseLoop *));
    PyObject *capsule = table && loops ? PyCapsule_New(table, capsule_name, NULL) : PyErr_NoMemory();
    if (!capsule) {
        PyMem_Free(table);
        PyMem_Free(loops);
        return NULL;
    }
    *table = (ElementwiseTable){(ContextObject *)Py_NewRef((PyObject *)context), 0, FIRST_ROOM, loops};
    context->elementwise = table;
    PyCapsule_SetDestructor(capsule, free_table);
    int failed = PyDict_SetItem(context->state->elementwise, (PyObject *)context, capsule);
    Py_DECREF(capsule);
    return failed ? NULL : table;
}

static int make_room(ElementwiseTable *table)
{
    size_t room = 2 * table->room;
    if (2 * (table->count + 1) <= table->room) return 0;
    ElementwiseLoop **loops = PyMem_Calloc(room, sizeof(ElementwiseLoop *));
    if (!loops) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < table->room; i++) {
        ElementwiseLoop *loop = table->loops[i];
        if (loop) *place_of(loops, room, &loop->key, loop->hash) = loop;
    }
    PyMem_Free(table->loops);
    table->loops = loops;
    table->room = room;
    return 0;
}

/* Another thread may have put it there meanwhile, or have let the table go. */
static int insert(ContextObject *context, ElementwiseLoop *loop)
{
    ElementwiseTable *table = context->elementwise ? context->elementwise : new_table(context);
    if (!table || make_room(table) < 0) return -1;
    ElementwiseLoop **place = place_of(table->loops, table->room, &loop->key, loop->hash);
    if (*place) return 0;
    *place = loop;
    loop->holders++;
    table->count++;
    return 0;
}

ElementwiseLoop *elementwise_find(ContextObject *context, const ElementwiseKey *key)
{
    uint64_t hash = hash_of(key);
    const ElementwiseTable *table = context->elementwise;
    ElementwiseLoop *loop = table ? *place_of(table->loops, table->room, key, hash) : NULL;
    if (loop) {
        loop->holders++;
        return loop;
    }
    loop = resolve(context->state, key, hash);
    if (!loop || insert(context, loop) == 0) return loop;
    elementwise_drop(loop);
    return NULL;
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
