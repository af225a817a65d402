/* GPUArray: construction, and behavior of a Python object. */
#include "ext/base/types.h"
#include "ext/gpuarray/gpuarray.h"

#include <string.h>

#include "core/launch_shape.h"
#include "core/layout/strides.h"
#include "ext/base/errors.h"
#include "ext/base/numpy_api.h"
#include "ext/convert/convert.h"
#include "ext/gpuarray/elementwise.h"
#include "ext/gpuarray/operators.h"
#include "ext/launch/arguments.h"
#include "ext/memory/array_device.h"
#include "ext/memory/device_pointer.h"
#include "ext/memory/pooled_allocation.h"

/* The class of pycuda.gpuarray, which registers it. Borrowed; NULL with an exception. */
static PyTypeObject *plain_type(ModuleState *state)
{
    if (state->GPUArray_type) return state->GPUArray_type;
    PyObject *module = PyImport_ImportModule("pycuda.gpuarray");
    Py_XDECREF(module);
    if (module && !state->GPUArray_type)
        PyErr_SetString(PyExc_ImportError, "pycuda.gpuarray is not imported yet");
    return module ? state->GPUArray_type : NULL;
}

/* A plain GPUArray without a description. */
static GPUArrayObject *new_plain(ModuleState *state)
{
    PyTypeObject *type = plain_type(state);
    if (!type) return NULL;
    GPUArrayObject *array = gpuarray_cast(free_list_new(&state->free_arrays, type));
    if (!array) return NULL;
    array->state = state;
    array->shape = array->strides = array->dims;
    return array;
}

/* The GPUARRAY_C and GPUARRAY_F bits of an array. */
static int layout_of(int ndim, const Py_ssize_t *shape, const Py_ssize_t *strides, Py_ssize_t itemsize)
{
    if (ndim == 1) return strides[0] == itemsize || shape[0] <= 1 ? GPUARRAY_C | GPUARRAY_F : 0;
    return (strides_is_c(ndim, shape, strides, itemsize) ? GPUARRAY_C : 0)
           | (strides_is_f(ndim, shape, strides, itemsize) ? GPUARRAY_F : 0);
}

/* -1 with an exception when no GPUArray can have this dtype and size. size: the number of elements; negative
 * if there are too many. */
static int check_form(PyArray_Descr *dtype, Py_ssize_t size)
{
    if (size < 0) {
        PyErr_SetString(PyExc_ValueError, STRIDES_COUNT_PROBLEM);
        return -1;
    }
    if (PyDataType_REFCHK(dtype)) {
        PyErr_Format(PyExc_TypeError, "a GPUArray cannot hold Python objects (dtype %S)", (PyObject *)dtype);
        return -1;
    }
    return convert_check_byte_order(dtype, "GPUArray");
}

/* Makes room for the shape and strides of so many axes. If there was too little, their values are lost. -1
 * with MemoryError. */
static int reserve_axes(GPUArrayObject *array, int ndim)
{
    int capacity = ndim > GPUARRAY_INLINE_DIMS ? ndim : GPUARRAY_INLINE_DIMS;
    if (array->strides - array->shape >= capacity) return 0;
    Py_ssize_t *dims = array->dims;
    if (capacity > GPUARRAY_INLINE_DIMS
        && !(dims = PyMem_Calloc(GPUARRAY_AXIS_WORDS * (size_t)capacity, sizeof *dims))) {
        PyErr_NoMemory();
        return -1;
    }
    if (array->shape != array->dims) PyMem_Free(array->shape);
    array->shape = dims;
    array->strides = dims + capacity;
    array->elements = (int64_t *)(dims + 2 * capacity);
    return 0;
}

/* Sets shape, strides (NULL: those of a packed array in `order`), dtype and what follows from them. Takes the
 * reference to dtype, also on failure. -1 with an exception: then the array is unchanged. */
static int set_form(GPUArrayObject *array, PyArray_Descr *dtype, int ndim, const Py_ssize_t *shape,
                    const Py_ssize_t *strides, char order)
{
    Py_ssize_t itemsize = PyDataType_ELSIZE(dtype), size = strides_count(ndim, shape, itemsize);
    if (check_form(dtype, size) < 0 || reserve_axes(array, ndim) < 0) {
        Py_DECREF(dtype);
        return -1;
    }
    for (int i = 0; i < ndim; i++) array->shape[i] = shape[i];
    if (!strides) strides_fill(order, ndim, shape, itemsize, array->strides);
    for (int i = 0; strides && i < ndim; i++) array->strides[i] = strides[i];
    Py_XSETREF(array->dtype, dtype);
    array->ndim = ndim;
    array->itemsize = itemsize;
    array->size = size;
    array->nbytes = size * itemsize;
    array->layout = layout_of(ndim, array->shape, array->strides, itemsize);
    return 0;
}

/* set_form() with the shape of an array in order 'C'. dtype is borrowed. */
static int describe_like(GPUArrayObject *array, const GPUArrayObject *like, PyArray_Descr *dtype)
{
    Py_ssize_t itemsize = PyDataType_ELSIZE(dtype), nbytes;
    if (__builtin_mul_overflow(like->size, itemsize, &nbytes) || like->ndim > GPUARRAY_INLINE_DIMS
        || (dtype != like->dtype && check_form(dtype, like->size) < 0)) {
        if (PyErr_Occurred()) return -1;
        Py_INCREF(dtype);
        return set_form(array, dtype, like->ndim, like->shape, NULL, 'C');
    }
    array->strides = array->dims + GPUARRAY_INLINE_DIMS;
    array->elements = (int64_t *)(array->dims + 2 * GPUARRAY_INLINE_DIMS);
    for (int i = 0; i < like->ndim; i++) array->shape[i] = like->shape[i];
    strides_fill('C', like->ndim, like->shape, itemsize, array->strides);
    array->dtype = (PyArray_Descr *)Py_NewRef((PyObject *)dtype);
    array->ndim = like->ndim;
    array->itemsize = itemsize;
    array->size = like->size;
    array->nbytes = nbytes;
    array->layout = like->layout;
    return 0;
}

/* The bytes of memory that the array needs from element 0 on. -1 when elements lie before element 0, or the
 * bytes are too many. */
static Py_ssize_t bytes_needed(GPUArrayObject *array)
{
    Py_ssize_t low, high;
    if (array->layout) return array->nbytes;
    bool fits = strides_extent(array->ndim, array->shape, array->strides, array->itemsize, &low, &high);
    return low < 0 || !fits ? -1 : high;
}

static void note_change(GPUArrayObject *array)
{
    long before = atomic_fetch_add_explicit(&array->state->arrays_changed, 1, memory_order_relaxed);
    atomic_store_explicit(&array->changed, before + 1, memory_order_relaxed);
}

int gpuarray_describe_again(GPUArrayObject *array, const GPUArrayObject *like)
{
    note_change(array);
    return set_form(array, (PyArray_Descr *)Py_NewRef((PyObject *)like->dtype), like->ndim, like->shape,
                    like->strides, 'C');
}

int gpuarray_use_memory(GPUArrayObject *array, PyObject *gpudata)
{
    ModuleState *state = array->state;
    CUdeviceptr address = 0;
    if (gpudata != Py_None && convert_pointer(state, gpudata, &address) < 0) return -1;
    DeviceAllocationObject *allocation = allocation_under(state, gpudata);
    array->read_only = gpuarray_check(state, gpudata) && gpuarray_cast(gpudata)->read_only;
    array->is_interleaved = gpuarray_check(state, gpudata) && gpuarray_cast(gpudata)->is_interleaved;
    if (allocation && allocation == (DeviceAllocationObject *)gpudata) {
        Py_ssize_t needed = bytes_needed(array);
        if (needed < 0 || (size_t)needed > allocation->size) {
            PyErr_Format(
                PyExc_ValueError,
                "strides is incompatible with shape of requested array and size of buffer (%zu bytes)",
                allocation->size);
            return -1;
        }
    }
    if (convert_aligned(array->dtype, array->ndim, array->shape, array->strides, address) < 0) return -1;
    array->pointer = address;
    array->place = gpuarray_check(state, gpudata) ? gpuarray_cast(gpudata)->place : PLACE_UNKNOWN;
    Py_XSETREF(array->allocation, (DeviceAllocationObject *)Py_XNewRef((PyObject *)allocation));
    Py_XSETREF(array->gpudata, Py_NewRef(gpudata));
    return 0;
}

int gpuarray_set_allocator(GPUArrayObject *array, PyObject *value)
{
    PyObject *callable = NULL;
    if (value && value != Py_None && value != array->state->default_allocate) {
        if (PyCallable_Check(value)) {
            callable = Py_NewRef(value);
        } else {
            PyObject *module = PyImport_ImportModule("pycuda._base.allocators");
            callable = module ? PyObject_CallMethod(module, "allocator_of", "O", value) : NULL;
            Py_XDECREF(module);
            if (!callable) return -1;
        }
    }
    Py_XSETREF(array->allocator, callable);
    return 0;
}

/* Makes new memory of a pool, which must be large enough, the array's. Steals the reference. */
static void use_new_memory(GPUArrayObject *array, DeviceAllocationObject *memory)
{
    array->pointer = memory->pointer;
    array->read_only = false;
    Py_XSETREF(array->gpudata, Py_NewRef((PyObject *)memory));
    Py_XSETREF(array->allocation, memory);
}

/* Memory from the array's allocator, which is not a pool's method: a new reference. The allocator may make
 * calls that the modes of captures forbid, as graphs keep the memory. NULL with an exception. */
static PyObject *call_allocator(GPUArrayObject *array, Py_ssize_t size)
{
    CaptureMode before;
    PyObject *bytes = PyLong_FromSsize_t(size);
    if (!bytes) return NULL;
    captured_relax(array->state, &before);
    PyObject *memory = PyObject_CallOneArg(array->allocator, bytes);
    captured_restore(array->state, &before);
    Py_DECREF(bytes);
    return memory;
}

/* New memory for work on this stream (NULL, None: the default one), from the array's allocator. context: the
 * current one, or NULL to ask for it. -1 with an exception. */
static int allocate_memory(GPUArrayObject *array, ContextObject *context, PyObject *stream)
{
    Py_ssize_t needed = bytes_needed(array);
    PyObject *memory;
    if (array->size == 0) return gpuarray_use_memory(array, Py_None);
    if (needed < 0) {
        PyErr_SetString(PyExc_ValueError, "negative strides need gpudata");
        return -1;
    }
    int pooled = 1;
    if (!array->allocator)
        memory = default_pool_allocate(array->state, context, (size_t)needed, stream);
    else
        pooled =
            pool_allocate_if_pool_method(array->state, array->allocator, (size_t)needed, stream, &memory);
    if (pooled) {
        if (memory) use_new_memory(array, device_allocation_cast(memory));
        return memory ? 0 : -1;
    }
    memory = call_allocator(array, needed);
    if (!memory) return -1;
    int failed = gpuarray_use_memory(array, memory);
    Py_DECREF(memory);
    return failed;
}

/* Makes a valid array for subclasses that do not call __init__: float64, of shape (0,). */
static PyObject *gpuarray_tp_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    GPUArrayObject *array = gpuarray_cast(type->tp_alloc(type, 0));
    if (!array) return NULL;
    array->state = state_of_type(type);
    array->shape = array->strides = array->dims;
    if (set_form(array, PyArray_DescrFromType(NPY_DOUBLE), 1, (Py_ssize_t[]){0}, NULL, 'C') < 0)
        Py_CLEAR(array);
    return (PyObject *)array;
}

int gpuarray_read_strides(PyObject *value, int ndim, Py_ssize_t *out)
{
    PyObject *items = convert_items(value, "strides must be a sequence of integers (bytes)");
    if (!items) return -1;
    int failed = PySequence_Fast_GET_SIZE(items) != ndim;
    if (failed)
        PyErr_Format(PyExc_ValueError,
                     "strides, if given, must be the same length as shape (%zd strides, %d axes)",
                     PySequence_Fast_GET_SIZE(items), ndim);
    for (int axis = 0; axis < ndim && !failed; axis++) {
        out[axis] = PyNumber_AsSsize_t(PySequence_Fast_GET_ITEM(items, axis), PyExc_OverflowError);
        failed = out[axis] == -1 && PyErr_Occurred();
    }
    Py_DECREF(items);
    return failed ? -1 : 0;
}

static int read_order(PyObject *value, char *out)
{
    if (!value || (PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, "C") == 0)) return 0;
    if (PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, "F") == 0) {
        *out = 'F';
        return 0;
    }
    PyErr_Format(PyExc_ValueError, "order must be \"C\" or \"F\", not %R", value);
    return -1;
}

/* Reads shape, dtype and the like into *out. A 0-d array of NumPy is a shape as well. -1 with an exception.
 */
static int read_form(ModuleState *state, PyObject *shape, PyObject *dtype, HostArrayLayout *out)
{
    bool scalar = PyArray_Check(shape) && PyArray_NDIM((PyArrayObject *)shape) == 0;
    PyObject *length = scalar ? PyNumber_Index(shape) : Py_NewRef(shape);
    int failed = length ? convert_layout(state, length, dtype, NULL, out) : -1;
    Py_XDECREF(length);
    return failed;
}

enum {
    GIVEN_SHAPE,
    GIVEN_DTYPE,
    GIVEN_ALLOCATOR,
    GIVEN_BASE,
    GIVEN_GPUDATA,
    GIVEN_STRIDES,
    GIVEN_ORDER,
    GIVEN_COUNT
};

static PyObject *given_or_null(PyObject *value) { return value == Py_None ? NULL : value; }

#define SIGNATURE "(shape, dtype, allocator=None, base=None, gpudata=None, strides=None, order=\"C\")\n--\n\n"
PyDoc_STRVAR(gpuarray_doc, "GPUArray" SIGNATURE); /* as errors name it */
PyDoc_STRVAR(base_doc, "_GPUArrayBase" SIGNATURE
                       "The part of GPUArray that is in C: memory, views, operators, transfers.");

/* The description that the constructor's arguments ask for, read before the array is changed. */
typedef struct RequestedForm {
    HostArrayLayout layout; /* init_array() clears it */
    char order;
    bool strided; /* strides= was given */
    Py_ssize_t strides[STRIDES_MAX_DIMS];
} RequestedForm;

/* -1 with an exception, and nothing to clear. */
static int read_requested(ModuleState *state, PyObject *const *given, RequestedForm *out)
{
    out->order = 'C';
    if (read_order(given[GIVEN_ORDER], &out->order) < 0
        || read_form(state, given[GIVEN_SHAPE], given[GIVEN_DTYPE], &out->layout) < 0)
        return -1;
    PyObject *steps = given_or_null(given[GIVEN_STRIDES]);
    out->strided = steps != NULL;
    bool based = given_or_null(given[GIVEN_BASE]) && !given_or_null(given[GIVEN_GPUDATA]);
    if (based) PyErr_SetString(PyExc_AssertionError, "base= needs gpudata=");
    if (!based && (!steps || gpuarray_read_strides(steps, out->layout.rank, out->strides) == 0)) return 0;
    convert_layout_clear(&out->layout);
    return -1;
}

/* Describes the array as requested, and gives it the memory in given[], or new memory. -1 with an exception.
 */
static int init_array(GPUArrayObject *array, RequestedForm *requested, PyObject *const *given)
{
    PyObject *gpudata = given_or_null(given[GIVEN_GPUDATA]), *base = given_or_null(given[GIVEN_BASE]);
    PyArray_Descr *dtype = (PyArray_Descr *)Py_NewRef((PyObject *)requested->layout.dtype);
    if (array->gpudata || array->base) note_change(array);
    int failed = set_form(array, dtype, requested->layout.rank, requested->layout.shape,
                          requested->strided ? requested->strides : NULL, requested->order);
    convert_layout_clear(&requested->layout);
    if (failed) return -1;
    Py_XSETREF(array->base, Py_XNewRef(base));
    if (gpuarray_set_allocator(array, given_or_null(given[GIVEN_ALLOCATOR])) < 0) return -1;
    return gpudata ? gpuarray_use_memory(array, gpudata) : allocate_memory(array, NULL, NULL);
}

static int gpuarray_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    GPUArrayObject *array = gpuarray_cast(self);
    PyObject *given[GIVEN_COUNT];
    RequestedForm requested;
    if (convert_call(gpuarray_doc, args, kwargs, GIVEN(given)) < 0
        || read_requested(array->state, given, &requested) < 0)
        return -1;
    return init_array(array, &requested, given);
}

/* GPUArray(shape, dtype, ...) without a tuple of the arguments. If a program has replaced __new__ or __init__
 * of the type, this function removes itself: CPython then calls those. */
static PyObject *gpuarray_vectorcall(PyObject *type_object, PyObject *const *args, size_t count_flag,
                                     PyObject *keywords)
{
    PyTypeObject *type = (PyTypeObject *)type_object;
    ModuleState *state = state_of_type(type);
    Py_ssize_t count = PyVectorcall_NARGS(count_flag);
    PyObject *given[GIVEN_COUNT] = {NULL};
    RequestedForm requested;
    const PyTypeObject *base = state->_GPUArrayBase_type;
    if (type->tp_new != base->tp_new || type->tp_init != base->tp_init) {
        type->tp_vectorcall = NULL;
        return PyObject_Vectorcall(type_object, args, count_flag, keywords);
    }
    if (count == GIVEN_DTYPE + 1 && !keywords)
        memcpy(given, args, (GIVEN_DTYPE + 1) * sizeof *given);
    else if (convert_arguments(gpuarray_doc, args, count, keywords, GIVEN(given)) < 0)
        return NULL;
    if (read_requested(state, given, &requested) < 0) return NULL;
    GPUArrayObject *array = new_plain(state);
    if (!array) convert_layout_clear(&requested.layout);
    if (array && init_array(array, &requested, given) < 0) Py_CLEAR(array);
    return (PyObject *)array;
}

PyObject *gpuarray_new_over(ModuleState *state, PyArray_Descr *dtype, int ndim, const Py_ssize_t *shape,
                            const Py_ssize_t *strides, CUdeviceptr pointer, PyObject *owner)
{
    GPUArrayObject *array = new_plain(state);
    if (!array) {
        Py_DECREF(dtype);
        return NULL;
    }
    if (set_form(array, dtype, ndim, shape, strides, 'C') < 0) {
        Py_DECREF(array);
        return NULL;
    }
    array->pointer = pointer;
    array->base = Py_XNewRef(owner);
    return (PyObject *)array;
}

PyObject *gpuarray_new_view(GPUArrayObject *parent, PyArray_Descr *dtype, int ndim, const Py_ssize_t *shape,
                            const Py_ssize_t *strides, CUdeviceptr pointer)
{
    PyObject *array =
        gpuarray_new_over(parent->state, dtype, ndim, shape, strides, pointer, (PyObject *)parent);
    if (!array) return NULL;
    GPUArrayObject *view = gpuarray_cast(array);
    view->allocation = (DeviceAllocationObject *)Py_XNewRef((PyObject *)parent->allocation);
    view->gpudata = pointer == parent->pointer ? Py_XNewRef(parent->gpudata) : NULL;
    view->allocator = Py_XNewRef(parent->allocator);
    view->place = parent->place;
    view->read_only = parent->read_only;
    view->is_interleaved = parent->is_interleaved;
    return array;
}

PyObject *gpuarray_new_in(ModuleState *state, ContextObject *context, PyArray_Descr *dtype, int ndim,
                          const Py_ssize_t *shape, const Py_ssize_t *strides, PyObject *allocator,
                          PyObject *stream)
{
    GPUArrayObject *array = new_plain(state);
    if (!array) {
        Py_DECREF(dtype);
        return NULL;
    }
    if (set_form(array, dtype, ndim, shape, strides, 'C') < 0
        || (allocator && gpuarray_set_allocator(array, allocator) < 0)
        || allocate_memory(array, context, stream) < 0)
        Py_CLEAR(array);
    return (PyObject *)array;
}

PyObject *gpuarray_new_like(const GPUArrayObject *like, ContextObject *context, PyArray_Descr *dtype,
                            PyObject *allocator, PyObject *stream)
{
    GPUArrayObject *array = new_plain(like->state);
    if (array
        && (describe_like(array, like, dtype) < 0
            || (allocator && gpuarray_set_allocator(array, allocator) < 0)
            || allocate_memory(array, context, stream) < 0))
        Py_CLEAR(array);
    return (PyObject *)array;
}

PyObject *gpuarray_new(ModuleState *state, PyArray_Descr *dtype, int ndim, const Py_ssize_t *shape,
                       const Py_ssize_t *strides, PyObject *allocator, PyObject *stream)
{
    return gpuarray_new_in(state, NULL, dtype, ndim, shape, strides, allocator, stream);
}

int gpuarray_check_writable(const GPUArrayObject *array)
{
    if (!array->read_only) return 0;
    PyErr_SetString(PyExc_ValueError,
                    "assignment destination is read-only: elements share memory, as in views by "
                    "broadcast_to(), or the library that exported the array forbids writing");
    return -1;
}

static int gpuarray_traverse(PyObject *self, visitproc visit, void *arg)
{
    GPUArrayObject *array = gpuarray_cast(self);
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(array->allocation);
    Py_VISIT(array->gpudata);
    Py_VISIT(array->base);
    Py_VISIT(array->allocator);
    Py_VISIT(array->attributes);
    return 0;
}

static int gpuarray_clear(PyObject *self)
{
    GPUArrayObject *array = gpuarray_cast(self);
    Py_CLEAR(array->allocation);
    Py_CLEAR(array->gpudata);
    Py_CLEAR(array->base);
    Py_CLEAR(array->allocator);
    Py_CLEAR(array->attributes);
    return 0;
}

void gpuarray_dealloc(PyObject *self)
{
    GPUArrayObject *array = gpuarray_cast(self);
    PyObject_GC_UnTrack(self);
    if (array->weak_references) PyObject_ClearWeakRefs(self);
    gpuarray_clear(self);
    if (array->shape != array->dims) PyMem_Free(array->shape);
    Py_XDECREF(array->dtype);
    free_list_end(&array->state->free_arrays, array->state->GPUArray_type, self);
}

/* Behavior of a Python object */

static Py_ssize_t gpuarray_length(PyObject *self)
{
    GPUArrayObject *array = gpuarray_cast(self);
    if (array->ndim > 0) return array->shape[0];
    PyErr_SetString(PyExc_TypeError, "len() of unsized object");
    return -1;
}

static int gpuarray_bool(PyObject *self)
{
    GPUArrayObject *array = gpuarray_cast(self);
    if (array->size != 1) {
        const char *text = "The truth value of an empty array is ambiguous. Use `array.size > 0` to check "
                           "that an array is not empty.";
        if (array->size)
            text =
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()";
        PyErr_SetString(PyExc_ValueError, text);
        return -1;
    }
    PyObject *host = PyObject_CallMethodNoArgs(self, array->state->str_get);
    int truth = host ? PyObject_IsTrue(host) : -1;
    Py_XDECREF(host);
    return truth;
}

static PyObject *gpuarray_str(PyObject *self)
{
    return gpuarray_call_python(gpuarray_cast(self)->state, "interop.printing", "to_str", self, NULL, 0,
                                NULL);
}

static PyObject *gpuarray_repr(PyObject *self)
{
    return gpuarray_call_python(gpuarray_cast(self)->state, "interop.printing", "to_repr", self, NULL, 0,
                                NULL);
}

static PyObject *gpuarray_iter(PyObject *self)
{
    if (gpuarray_cast(self)->ndim > 0) return PySeqIter_New(self);
    return PyErr_Format(PyExc_TypeError, "iteration over a 0-d array");
}

/* value in array: whether an element equals it. */
static int gpuarray_contains(PyObject *self, PyObject *value)
{
    PyObject *found = gpuarray_call_python(gpuarray_cast(self)->state, "interop.scalars", "contains", self,
                                           &value, 1, NULL);
    int truth = found ? PyObject_IsTrue(found) : -1;
    Py_XDECREF(found);
    return truth;
}

const TypeSpec _GPUArrayBase_spec = {
    TYPE_OF("pycuda._driver._GPUArrayBase", GPUArrayObject, Py_TPFLAGS_BASETYPE, base_doc),
    .tp_new = gpuarray_tp_new,
    .tp_init = gpuarray_init,
    .tp_dealloc = gpuarray_dealloc,
    .tp_traverse = gpuarray_traverse,
    .tp_clear = gpuarray_clear,
    .tp_hash = PyObject_HashNotImplemented,
    .tp_str = gpuarray_str,
    .tp_repr = gpuarray_repr,
    .tp_iter = gpuarray_iter,
    .sq_length = gpuarray_length,
    .sq_item = gpuarray_item,
    .sq_contains = gpuarray_contains,
    .mp_length = gpuarray_length,
    .mp_subscript = gpuarray_subscript,
    .mp_ass_subscript = gpuarray_assign_subscript,
    .nb_bool = gpuarray_bool,
    .more_slots = gpuarray_operators,
    TYPE_TABLES(gpuarray_methods, gpuarray_getset, gpuarray_members),
};

/* Adds a descriptor to the type's dict, unless its name is one of a slot, __name__. Takes the reference to
 * the descriptor, which may be NULL with an exception. -1 with an exception. */
static int add_own(PyTypeObject *type, const char *name, PyObject *descriptor)
{
    int failed = !descriptor;
    if (descriptor && strncmp(name, "__", 2))
        failed = PyDict_SetItemString(type->tp_dict, name, descriptor) < 0;
    Py_XDECREF(descriptor);
    return failed ? -1 : 0;
}

/* The base's descriptors again, as the class's own: CPython takes longer for inherited ones. */
static int own_descriptors(PyTypeObject *type)
{
    for (PyMethodDef *row = gpuarray_methods; row->ml_name; row++)
        if (add_own(type, row->ml_name, PyDescr_NewMethod(type, row)) < 0) return -1;
    for (PyGetSetDef *row = gpuarray_getset; row->name; row++)
        if (add_own(type, row->name, PyDescr_NewGetSet(type, row)) < 0) return -1;
    for (PyMemberDef *row = gpuarray_members; row->name; row++)
        if (add_own(type, row->name, PyDescr_NewMember(type, row)) < 0) return -1;
    PyType_Modified(type);
    return 0;
}

PyDoc_STRVAR(register_class_doc, "_register_array_class(cls, /)\n--\n\n"
                                 "The class, whose instances the arrays made here are from now on.");

static PyObject *register_class(PyObject *module, PyObject *value)
{
    ModuleState *state = module_state(module);
    if (!PyType_Check(value) || ((PyTypeObject *)value)->tp_base != state->_GPUArrayBase_type)
        return PyErr_Format(PyExc_TypeError, "expected a class whose base is _GPUArrayBase");
    PyTypeObject *type = (PyTypeObject *)value;
    if (own_descriptors(type) < 0 || PyModule_AddObjectRef(module, "GPUArray", value) < 0) return NULL;
    type->tp_dealloc = type->tp_base->tp_dealloc; /* it adds nothing to the object */
    type->tp_vectorcall = section_vectorcall(gpuarray_vectorcall);
    Py_XSETREF(state->GPUArray_type, (PyTypeObject *)Py_NewRef(value));
    launch_args_fill_kinds(state);
    return Py_NewRef(value);
}

PyDoc_STRVAR(module_getattr_doc,
             "__getattr__(name, /)\n--\n\nGPUArray, of pycuda.gpuarray, which is imported.");

static PyObject *module_getattr(PyObject *module, PyObject *name)
{
    if (PyUnicode_CompareWithASCIIString(name, "GPUArray") == 0)
        return Py_XNewRef((PyObject *)plain_type(module_state(module)));
    return PyErr_Format(PyExc_AttributeError, "module 'pycuda._driver' has no attribute %R", name);
}

static PyMethodDef functions[] = {
    {"_register_array_class", register_class, METH_O, register_class_doc},
    {"__getattr__", module_getattr, METH_O, module_getattr_doc},
    {NULL, NULL, 0, NULL},
};

int gpuarray_setup(PyObject *module, ModuleState *state)
{
    if (gpuarray_flags_setup(state) < 0 || PyModule_AddFunctions(module, functions) < 0) return -1;
    const double array_priority =
        100; /* above that of NumPy's classes: NumPy's operators leave calls to ours */
    PyObject *priority = PyFloat_FromDouble(array_priority);
    int failed =
        !priority
        || PyObject_SetAttrString((PyObject *)state->_GPUArrayBase_type, "__array_priority__", priority) < 0;
    Py_XDECREF(priority);
    state->python_functions = PyDict_New();
    return failed || !state->python_functions ? -1 : 0;
}
