/* _LaunchCache: what a kernel remembers of its calls. The key of a call is what calls with the same launch
 * have in common: the context, the number of arguments, the dtype, shape and strides of each array, and how
 * arrays that are written to overlap others.
 *
 * If a call was seen before and the kernel gave a launch for it, it is made here: the result is allocated and
 * the launch made. If the kernel gave none, Python gets the plan that it remembered itself. In keys, dtypes
 * are their addresses, and an entry keeps them alive; contexts are their serial numbers. */
#include "ext/gpuarray/launch_cache.h"

#include "core/layout/strides.h"
#include "ext/base/errors.h"
#include "ext/base/numpy_api.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"
#include "ext/gpuarray/gpuarray.h"
#include "ext/gpuarray/shared_memory.h"
#include "ext/launch/function.h"
#include "ext/stream/stream.h"

enum { WORDS = 128 }; /* of a key that needs no memory of its own while it is made */
enum { VALUES = 64 }; /* of a launch, the same */

/* What is remembered for calls with one key. */
typedef struct RememberedCall {
    atomic_long holders; /* the map, and calls in progress: by gil_count */
    PyObject *plan; /* owned: what find() returns to Python */
    PyObject *kept; /* owned: the dtypes of the key */
    PyObject *function; /* owned: the Function to launch; NULL: Python makes the call */
    PyObject *after; /* owned: the arguments after those of the call; NULL without a function */
    LaunchShape shape;
    PyArray_Descr *dtype; /* owned: of the result, which is made for each call; NULL: there is none */
    int ndim;
    Py_ssize_t lengths[GPUARRAY_INLINE_DIMS];
} RememberedCall;

typedef struct LaunchCacheObject {
    PyObject_HEAD
    ModuleState *state;
    WordMap entries;
    Py_ssize_t limit; /* when there are so many entries the cache is cleared */
    bool aligned; /* the alignment of an array's address is part of the key */
    Py_ssize_t count, *positions; /* owned: the positions of arrays among the arguments */
    bool *written; /* owned: whether each of these arrays is written to; NULL: overlaps do not matter */
    PyObject *weak_references;
} LaunchCacheObject;

static LaunchCacheObject *launch_cache_cast(PyObject *object) { return (LaunchCacheObject *)object; }

/* ---- Entries ---- */

static void drop_entry(RememberedCall *entry)
{
    if (!entry || gil_count(&entry->holders, -1) > 0) return;
    Py_XDECREF(entry->plan);
    Py_XDECREF(entry->kept);
    Py_XDECREF(entry->function);
    Py_XDECREF(entry->after);
    Py_XDECREF(entry->dtype);
    PyMem_Free(entry);
}

/* The entries are taken out first, as dropping one may run Python code that calls this function. */
static void forget_all(LaunchCacheObject *cache)
{
    WordMap entries = cache->entries;
    size_t position = 0;
    cache->entries = (WordMap){0};
    for (RememberedCall *entry; (entry = word_map_next(&entries, &position));) drop_entry(entry);
    word_map_clear(&entries);
}

/* ---- Keys ---- */

/* The arguments of a call, borrowed. */
typedef struct Values {
    PyObject *const *items;
    Py_ssize_t count;
} Values;

static Values values_of(PyObject *tuple)
{
    return (Values){&PyTuple_GET_ITEM(tuple, 0), PyTuple_GET_SIZE(tuple)};
}

typedef struct Key {
    size_t length; /* 0: the arguments have no form that is remembered */
    uint64_t *words; /* in `few`, or owned */
    uint64_t few[WORDS];
} Key;

static void free_key(Key *key)
{
    if (key->words != key->few) PyMem_Free(key->words);
}

/* The i-th array of the key. NULL if there is no such argument, if it is no GPUArray or one without a dtype
 * (not initialized), or if it is read-only and would be written to: then the call is not looked up. */
static const GPUArrayObject *array_at(const LaunchCacheObject *cache, Values values, Py_ssize_t i)
{
    Py_ssize_t position = cache->positions[i];
    if (position < 0 || position >= values.count) return NULL;
    PyObject *value = values.items[position];
    if (!gpuarray_check(cache->state, value)) return NULL;
    const GPUArrayObject *array = gpuarray_cast(value);
    bool refused = array->read_only && cache->written && cache->written[i];
    return refused || !array->dtype ? NULL : array;
}

/* The number of words in the key without overlaps: two, three for each array, two for each of its axes. 0
 * when there is no key. */
static size_t count_words(const LaunchCacheObject *cache, Values values)
{
    size_t words = 2;
    for (Py_ssize_t i = 0; i < cache->count; i++) {
        const GPUArrayObject *array = array_at(cache, values, i);
        if (!array) return 0;
        words += 3 + 2 * (size_t)array->ndim;
    }
    return words;
}

/* Writes the array's part of a key; returns the end of what was written. */
static uint64_t *write_key_part(uint64_t *to, const GPUArrayObject *array, bool aligned)
{
    *to++ = (uint64_t)(uintptr_t)array->dtype;
    *to++ = (uint64_t)array->ndim;
    *to++ = aligned ? array->pointer % WIDEST_ACCESS : 0;
    for (int i = 0; i < array->ndim; i++) *to++ = (uint64_t)array->shape[i];
    for (int i = 0; i < array->ndim; i++) *to++ = (uint64_t)array->strides[i];
    return to;
}

static const GPUArrayObject *known_array(const LaunchCacheObject *cache, Values values, Py_ssize_t i)
{
    return gpuarray_cast(values.items[cache->positions[i]]);
}

/* Writes two words for each pair of arrays of which one is written to and whose spans overlap, or that begin
 * at the same address: their indices and their distance. Returns the end of what was written. */
static uint64_t *describe_overlaps(const LaunchCacheObject *cache, Values values, const MemorySpan *spans,
                                   uint64_t *to)
{
    for (Py_ssize_t i = 1; i < cache->count; i++)
        for (Py_ssize_t k = 0; k < i; k++) {
            bool meet = cache->written[i] || cache->written[k]
                            ? spans[i].low < spans[k].high && spans[k].low < spans[i].high
                            : spans[i].low == spans[k].low;
            if (!meet) continue;
            *to++ = (uint64_t)i << 32 | (uint64_t)k;
            *to++ =
                (uint64_t)(known_array(cache, values, i)->pointer - known_array(cache, values, k)->pointer);
        }
    return to;
}

/* How many words the spans and describe_overlaps() take at most. */
static size_t words_of_overlaps(const LaunchCacheObject *cache)
{
    size_t count = cache->written ? (size_t)cache->count : 0;
    return count * sizeof(MemorySpan) / sizeof(uint64_t) + (count ? count * (count - 1) : 0);
}

/* *key: the key of these arguments in this context, to be freed with free_key(). The spans are stored at the
 * end of its memory meanwhile. -1 with MemoryError. */
static int make_key(const LaunchCacheObject *cache, Values values, const ContextObject *context, Key *key)
{
    size_t known = count_words(cache, values), capacity = known ? known + words_of_overlaps(cache) : 0;
    key->words = key->few;
    if (capacity > WORDS && !(key->words = PyMem_New(uint64_t, capacity))) {
        PyErr_NoMemory();
        return -1;
    }
    key->length = known;
    if (!known) return 0;
    MemorySpan *spans = cache->written ? (MemorySpan *)(key->words + capacity) - cache->count : NULL;
    uint64_t *end = key->words;
    *end++ = (uint64_t)values.count;
    *end++ = context->serial;
    for (Py_ssize_t i = 0; i < cache->count; i++) {
        const GPUArrayObject *array = known_array(cache, values, i);
        end = write_key_part(end, array, cache->aligned);
        if (spans) spans[i] = shared_memory_span(array);
    }
    if (spans) end = describe_overlaps(cache, values, spans, end);
    key->length = (size_t)(end - key->words);
    return 0;
}

/* The entry for these arguments, held until drop_entry(). NULL without an exception when there is none, or
 * with one. */
static RememberedCall *find_entry(LaunchCacheObject *cache, Values values)
{
    Key key;
    if (!cache->entries.count) return NULL;
    ContextObject *context = context_current(cache->state);
    if (!context || make_key(cache, values, context, &key) < 0) {
        Py_XDECREF((PyObject *)context);
        return NULL;
    }
    RememberedCall *entry = key.length ? word_map_find(&cache->entries, key.words, key.length) : NULL;
    if (entry) gil_count(&entry->holders, 1);
    free_key(&key);
    Py_DECREF((PyObject *)context);
    return entry;
}

/* ---- Launches ---- */

/* A new array for the result of a call. allocator: NULL and None mean that of the first array. */
static PyObject *new_result(LaunchCacheObject *cache, const RememberedCall *entry, Values values,
                            PyObject *stream, PyObject *allocator)
{
    if (!allocator || allocator == Py_None)
        allocator = gpuarray_cast(values.items[cache->positions[0]])->allocator;
    PyArray_Descr *dtype = (PyArray_Descr *)Py_NewRef((PyObject *)entry->dtype);
    return gpuarray_new(cache->state, dtype, entry->ndim, entry->lengths, NULL, allocator, stream);
}

/* Launches with the arguments of the call, then those of the entry, among which an Ellipsis stands for the
 * result. -1 with an exception. */
static int launch_entry(const RememberedCall *entry, Values values, PyObject *stream, PyObject *result)
{
    PyObject *few[VALUES], **all = few;
    Py_ssize_t count = values.count, more = PyTuple_GET_SIZE(entry->after);
    if (count + more > VALUES && !(all = PyMem_New(PyObject *, (size_t)(count + more)))) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) all[i] = values.items[i];
    for (Py_ssize_t i = 0; i < more; i++) {
        PyObject *value = PyTuple_GET_ITEM(entry->after, i);
        all[count + i] = value == Py_Ellipsis && result ? result : value;
    }
    int failed = prepared_launch(function_cast(entry->function), &entry->shape, stream, all, count + more);
    if (all != few) PyMem_Free(all);
    return failed;
}

/* Makes a call that is remembered. Its result, or None if it has none; NULL without an exception when no
 * launch is remembered, or with one. */
static PyObject *make_call(LaunchCacheObject *cache, Values values, PyObject *stream, PyObject *allocator)
{
    PyObject *result = NULL;
    RememberedCall *entry = find_entry(cache, values);
    if (!entry || !entry->function) {
        drop_entry(entry);
        return NULL;
    }
    int failed = entry->dtype && !(result = new_result(cache, entry, values, stream, allocator));
    if (!failed) failed = launch_entry(entry, values, stream, result);
    drop_entry(entry);
    if (failed) Py_CLEAR(result);
    return failed || result ? result : Py_NewRef(Py_None);
}

PyObject *launch_cache_call(PyObject *cache, PyObject *const *values, Py_ssize_t count)
{
    return make_call(launch_cache_cast(cache), (Values){values, count}, NULL, NULL);
}

PyObject *launch_cache_call_kernel(ModuleState *state, PyObject *kernel, PyObject *const *values,
                                   Py_ssize_t count)
{
    PyObject *cache = PyObject_GetAttr(kernel, state->str__launches), *result = NULL;
    if (cache && Py_TYPE(cache) == state->_LaunchCache_type) result = launch_cache_call(cache, values, count);
    Py_XDECREF(cache);
    if (PyErr_Occurred() && (PyErr_ExceptionMatches(PyExc_TypeError) || !cache)) PyErr_Clear();
    return result;
}

PyDoc_STRVAR(launch_doc,
             "launch($self, values, stream=None, allocator=None)\n--\n\n"
             "Make the launch that is remembered for calls with arguments of these forms.\n"
             "\nReturns\n-------\n"
             "object\n    The new result, True where there is none; None when nothing is remembered.");

static PyObject *launch_cache_launch(PyObject *self, FAST_PARAMETERS)
{
    LaunchCacheObject *cache = launch_cache_cast(self);
    PyObject *given[3];
    if (convert_arguments(launch_doc, args, arg_count, keywords, GIVEN(given)) < 0) return NULL;
    if (!PyTuple_CheckExact(given[0])) return PyErr_Format(PyExc_TypeError, "values must be a tuple");
    PyObject *result = make_call(cache, values_of(given[0]), given[1], given[2]);
    if (!result) return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    if (result == Py_None) Py_SETREF(result, Py_NewRef(Py_True));
    return result;
}

PyDoc_STRVAR(find_doc, "find($self, values, /)\n--\n\n"
                       "What Python remembers for calls with arguments of these forms, or None.");

static PyObject *launch_cache_find(PyObject *self, PyObject *values)
{
    if (!PyTuple_CheckExact(values)) return PyErr_Format(PyExc_TypeError, "values must be a tuple");
    RememberedCall *entry = find_entry(launch_cache_cast(self), values_of(values));
    if (!entry) return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    PyObject *plan = Py_NewRef(entry->plan);
    drop_entry(entry);
    return plan;
}

/* ---- Remembering ---- */

/* The Function of which `launch` is the bound method prepared_async_call, borrowed; NULL if it is something
 * else or the function is not prepared. */
static PyObject *function_of(ModuleState *state, PyObject *launch)
{
    PyObject *self = PyCFunction_Check(launch) ? PyCFunction_GET_SELF(launch) : NULL;
    bool good = self && Py_TYPE(self) == state->Function_type && function_cast(self)->prepared;
    return good ? self : NULL;
}

/* Reads (shape, dtype) of the result that each call makes. 0; 1 when it has too many axes to be made here; -1
 * with an exception. */
static int read_result(ModuleState *state, RememberedCall *entry, PyObject *result)
{
    PyObject *shape, *dtype;
    HostArrayLayout layout;
    if (!PyArg_ParseTuple(result, "OO", &shape, &dtype)
        || convert_layout(state, shape, dtype, NULL, &layout) < 0)
        return -1;
    bool fits = layout.rank <= GPUARRAY_INLINE_DIMS;
    entry->ndim = layout.rank;
    for (int i = 0; fits && i < layout.rank; i++) entry->lengths[i] = layout.shape[i];
    if (fits) entry->dtype = (PyArray_Descr *)Py_NewRef((PyObject *)layout.dtype);
    convert_layout_clear(&layout);
    return fits ? 0 : 1;
}

/* Reads (prepared_async_call, grid, block, after, result or None) into the entry, whose function stays NULL
 * when the launch cannot be made here. -1 with an exception. */
static int read_launch(ModuleState *state, RememberedCall *entry, PyObject *launch)
{
    PyObject *call, *grid, *block, *after, *result;
    if (!PyArg_ParseTuple(launch, "OOOO!O", &call, &grid, &block, &PyTuple_Type, &after, &result)) return -1;
    entry->shape.shared_bytes = 0;
    if (launch_read_grid(grid, entry->shape.grid) < 0 || launch_read_block(block, entry->shape.block) < 0)
        return -1;
    PyObject *function = function_of(state, call);
    int other = result == Py_None ? 0 : read_result(state, entry, result);
    if (other < 0) return -1;
    if (!function || other) return 0; /* Python does it */
    entry->function = Py_NewRef(function);
    entry->after = Py_NewRef(after);
    return 0;
}

/* The dtypes of the arrays, a new tuple: keys have their addresses, so an entry keeps them alive. */
static PyObject *key_dtypes(const LaunchCacheObject *cache, Values values)
{
    PyObject *kept = PyTuple_New(cache->count);
    if (!kept) return NULL;
    for (Py_ssize_t i = 0; i < cache->count; i++)
        PyTuple_SET_ITEM(kept, i, Py_NewRef((PyObject *)array_at(cache, values, i)->dtype));
    return kept;
}

static RememberedCall *new_entry(LaunchCacheObject *cache, Values values, PyObject *plan, PyObject *launch)
{
    RememberedCall *entry = PyMem_Calloc(1, sizeof *entry);
    if (!entry) return (RememberedCall *)PyErr_NoMemory();
    entry->holders = 1;
    entry->plan = Py_NewRef(plan);
    entry->kept = key_dtypes(cache, values);
    if (entry->kept && (!launch || launch == Py_None || read_launch(cache->state, entry, launch) == 0))
        return entry;
    drop_entry(entry);
    return NULL;
}

static int put_entry(LaunchCacheObject *cache, const Key *key, RememberedCall *entry)
{
    void *before;
    if (cache->entries.count >= (size_t)cache->limit) forget_all(cache);
    if (!word_map_put(&cache->entries, key->words, key->length, entry, &before)) {
        drop_entry(entry);
        PyErr_NoMemory();
        return -1;
    }
    drop_entry(before);
    return 0;
}

PyDoc_STRVAR(remember_doc,
             "remember($self, values, plan, launch=None)\n--\n\n"
             "Remember for calls with arguments of these forms what find() is to give, and what launch()\n"
             "is to do: (prepared_async_call of a function, grid, block, arguments after the values,\n"
             "(shape, dtype) of a new result or None). An Ellipsis among the arguments is the result.");

static PyObject *launch_cache_remember(PyObject *self, FAST_PARAMETERS)
{
    LaunchCacheObject *cache = launch_cache_cast(self);
    PyObject *given[3];
    Key key;
    if (convert_arguments(remember_doc, args, arg_count, keywords, GIVEN(given)) < 0) return NULL;
    if (!PyTuple_CheckExact(given[0])) return PyErr_Format(PyExc_TypeError, "values must be a tuple");
    ContextObject *context = context_current(cache->state);
    if (!context) return NULL;
    int failed = make_key(cache, values_of(given[0]), context, &key);
    if (!failed && key.length) {
        RememberedCall *entry = new_entry(cache, values_of(given[0]), given[1], given[2]);
        failed = entry ? put_entry(cache, &key, entry) : -1;
    }
    if (key.words) free_key(&key);
    Py_DECREF((PyObject *)context);
    return failed ? NULL : Py_NewRef(Py_None);
}

static PyObject *launch_cache_clear_py(PyObject *self, PyObject *Py_UNUSED(none))
{
    forget_all(launch_cache_cast(self));
    Py_RETURN_NONE;
}

/* ---- The type ---- */

PyDoc_STRVAR(launch_cache_doc,
             "_LaunchCache(positions, aligned=False, limit=2048, written=())\n--\n\n"
             "Remembers one launch per form of call. The form is context, dtypes, shapes and strides of the\n"
             "arrays at `positions`; with `aligned`, also their addresses modulo 16. Overlap is part of the\n"
             "form if one of the arrays is in `written`, or two start at the same address and `written` is\n"
             "not empty. Calls with a read-only array at a `written` position, or with anything but\n"
             "GPUArrays, have no layout.");

/* The integers of a tuple, to be freed with PyMem_Free(). NULL with an exception. */
static Py_ssize_t *read_positions(PyObject *tuple)
{
    Py_ssize_t count = PyTuple_GET_SIZE(tuple), *positions = PyMem_New(Py_ssize_t, (size_t)count + 1);
    if (!positions) PyErr_NoMemory();
    for (Py_ssize_t i = 0; positions && i < count; i++) {
        positions[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, i));
        if (positions[i] == -1 && PyErr_Occurred()) {
            PyMem_Free(positions);
            return NULL;
        }
    }
    return positions;
}

/* Sets cache->written from the positions of arrays that are written to. -1 with an exception. */
static int read_written(LaunchCacheObject *cache, PyObject *tuple)
{
    Py_ssize_t count = PyTuple_GET_SIZE(tuple), *positions = read_positions(tuple);
    if (!positions) return -1;
    if (count && !(cache->written = PyMem_Calloc((size_t)cache->count + 1, sizeof *cache->written)))
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; cache->written && i < cache->count; i++)
        for (Py_ssize_t k = 0; k < count; k++)
            if (positions[k] == cache->positions[i]) cache->written[i] = true;
    PyMem_Free(positions);
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *launch_cache_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *positions, *aligned, *written;
    size_t limit = 2048;
    if (READ_CALL(launch_cache_doc, INTO(&positions), INTO(&aligned), INTO(&limit), INTO(&written)) < 0)
        return NULL;
    if (!PyTuple_CheckExact(positions) || (written && !PyTuple_CheckExact(written)))
        return PyErr_Format(PyExc_TypeError, "positions and written must be tuples");
    LaunchCacheObject *cache = launch_cache_cast(type->tp_alloc(type, 0));
    if (!cache) return NULL;
    cache->state = state_of_type(type);
    cache->limit = (Py_ssize_t)limit;
    cache->aligned = aligned && PyObject_IsTrue(aligned) > 0;
    cache->positions = read_positions(positions);
    cache->count = cache->positions ? PyTuple_GET_SIZE(positions) : 0;
    if (!cache->positions || (written && read_written(cache, written) < 0)) Py_CLEAR(cache);
    return (PyObject *)cache;
}

static int launch_cache_traverse(PyObject *self, visitproc visit, void *arg)
{
    size_t position = 0;
    Py_VISIT(Py_TYPE(self));
    for (RememberedCall *entry; (entry = word_map_next(&launch_cache_cast(self)->entries, &position));) {
        if (entry->holders > 1) continue; /* a call has it as well */
        Py_VISIT(entry->plan);
        Py_VISIT(entry->kept);
        Py_VISIT(entry->function);
        Py_VISIT(entry->after);
    }
    return 0;
}

static int launch_cache_clear(PyObject *self)
{
    forget_all(launch_cache_cast(self));
    return 0;
}

static void launch_cache_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (launch_cache_cast(self)->weak_references) PyObject_ClearWeakRefs(self);
    forget_all(launch_cache_cast(self));
    PyMem_Free(launch_cache_cast(self)->positions);
    PyMem_Free(launch_cache_cast(self)->written);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef launch_cache_methods[] = {
    {"launch", AS_METHOD(launch_cache_launch), FAST_KEYWORDS, launch_doc},
    {"find", launch_cache_find, METH_O, find_doc},
    {"remember", AS_METHOD(launch_cache_remember), FAST_KEYWORDS, remember_doc},
    {"clear", launch_cache_clear_py, METH_NOARGS, "clear($self)\n--\n\nForget everything."},
    {NULL, NULL, 0, NULL},
};

const TypeSpec _LaunchCache_spec = {
    TYPE_WITH_WEAK_REFERENCES("pycuda._driver._LaunchCache", LaunchCacheObject, 0, launch_cache_doc),
    .tp_new = launch_cache_new,
    .tp_dealloc = launch_cache_dealloc,
    .tp_traverse = launch_cache_traverse,
    .tp_clear = launch_cache_clear,
    TYPE_TABLES(launch_cache_methods, NULL, NULL),
};
