/* Transfers of whole arrays. Equal packed layouts are one copy; layouts that differ become pitched copies
 * where few do. Otherwise a kernel rearranges on the device, and between device and host the host does. */
#include "ext/gpuarray/transfer.h"

#include "ext/gpuarray/shared_memory.h"
#include "ext/gpuarray/strided_copy.h"

#include "core/layout/copy_plan.h"
#include "ext/base/captured.h"
#include "ext/base/driver_calls.h"
#include "ext/base/numpy_api.h"
#include "ext/convert/convert.h"
#include "ext/memory/array_device.h"
#include "ext/memory/copy.h"
#include "ext/memory/pooled_allocation.h"
#include "ext/memory/staging.h"
#include "ext/stream/stream.h"

enum {
    FEW_CALLS = 16, /* so many pitched copies are faster than rearranging the elements */
    HOST_ROW = 64, /* bytes of a row for which that holds, from host to device */
    FEW_PITCHED = 4, /* so many pitched copies on the device are as fast as a kernel ... */
    WIDE = 256, /* ... if their rows have so many bytes */
    MAX_PITCH = 0x7fffffff, /* the largest pitch that drivers take */
    STAGED_EXTRA = 1 << 20, /* bytes of gaps that may be copied along with the elements */
    BEFORE_HOST = 4, /* times FEW_CALLS: more copies on the device are slower than those through the host */
};

/* One side of a copy. */
typedef struct Side {
    bool device;
    uintptr_t address;
} Side;

/* Waits for the work that was queued before a copy; a signal ends the wait. -1 with an exception: LogicError
 * when the stream is captured. */
static int wait_before(ModuleState *state, CUstream stream)
{
    if (captured_is(state, stream)) {
        raise_logic(state, "a copy between host and device that waits for its stream cannot be captured: "
                           "get() and set() before the capture or after a launch of the graph, or "
                           "get_async() and set_async()");
        return -1;
    }
    return gpu_cuStreamSynchronize(state, stream);
}

/* Copies bytes that are adjacent on both sides. The copy is queued if a stream is given, or on the device. */
static int copy_bytes(ModuleState *state, Side to, Side from, size_t size, TransferMode mode)
{
    bool queued = mode.async || mode.stream;
    void *to_host = (void *)to.address;
    const void *from_host = (const void *)from.address;
    if (to.device && from.device)
        return gpu_cuMemcpyDtoDAsync(state, to.address, from.address, size, mode.stream);
    if (to.device)
        return queued ? gpu_cuMemcpyHtoDAsync(state, to.address, from_host, size, mode.stream)
                      : gpu_cuMemcpyHtoD(state, to.address, from_host, size);
    return queued ? gpu_cuMemcpyDtoHAsync(state, to_host, from.address, size, mode.stream)
                  : gpu_cuMemcpyDtoH(state, to_host, from.address, size);
}

/* Copies to the host through the context's staging block. 0; 1 when there is no such block now; -1 with an
 * exception. */
static int copy_staged(ModuleState *state, Side to, Side from, size_t size)
{
    Staging staging;
    if (!staging_take(state, &staging)) return 1;
    int failed = staging_to_host(state, &staging, (void *)to.address, from.address, size);
    staging_return(&staging);
    return failed;
}

static int copy_pitched(ModuleState *state, Side to, Side from, const CopyPlan *plan, CUstream stream)
{
    CUDA_MEMCPY2D copy = {
        .srcMemoryType = from.device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
        .dstMemoryType = to.device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
        .srcHost = (void *)from.address,
        .srcDevice = from.address,
        .srcPitch = (size_t)plan->from_pitch,
        .dstHost = (void *)to.address,
        .dstDevice = to.address,
        .dstPitch = (size_t)plan->to_pitch,
        .WidthInBytes = (size_t)plan->width,
        .Height = (size_t)plan->height,
    };
    return gpu_cuMemcpy2DAsync(state, &copy, stream);
}

/* Copies the rows of a pitched copy by one call, or by one for each row if the driver would refuse the pitch.
 */
static int copy_rows(ModuleState *state, Side to, Side from, const CopyPlan *plan, TransferMode mode)
{
    if (plan->height > 1 && plan->to_pitch <= MAX_PITCH && plan->from_pitch <= MAX_PITCH)
        return copy_pitched(state, to, from, plan, mode.stream);
    for (ptrdiff_t row = 0; row < plan->height; row++) {
        Side row_to = {to.device, to.address + (uintptr_t)(row * plan->to_pitch)};
        Side row_from = {from.device, from.address + (uintptr_t)(row * plan->from_pitch)};
        if (copy_bytes(state, row_to, row_from, (size_t)plan->width, mode) < 0) return -1;
    }
    return 0;
}

/* Makes all copies of a plan, in order on the stream. Waits for them unless both sides are on the device. */
static int copy_plan(ModuleState *state, Side to, Side from, const CopyPlan *plan, TransferMode mode)
{
    ptrdiff_t index[STRIDES_MAX_DIMS] = {0}, to_offset = plan->to_start, from_offset = plan->from_start;
    bool waits = !(to.device && from.device);
    mode.async = true;
    if (waits && wait_before(state, mode.stream) < 0) return -1;
    do {
        Side part_to = {to.device, to.address + (uintptr_t)to_offset};
        Side part_from = {from.device, from.address + (uintptr_t)from_offset};
        if (copy_rows(state, part_to, part_from, plan, mode) < 0) return -1;
    } while (copy_plan_next(plan, index, &to_offset, &from_offset));
    return waits ? wait_after_copy(state, mode.stream, CUDA_SUCCESS, NULL) : 0;
}

/* A host array over given memory, or with memory of its own when data is NULL. owner is borrowed. */
static PyArrayObject *host_array(GPUArrayObject *like, const Py_ssize_t *strides, void *data, PyObject *owner)
{
    PyArray_Descr *dtype = (PyArray_Descr *)Py_NewRef((PyObject *)like->dtype);
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, dtype, like->ndim, like->shape, strides, data,
                                           data ? NPY_ARRAY_WRITEABLE : 0, NULL);
    if (array && owner && PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(owner)) < 0)
        Py_CLEAR(array);
    return (PyArrayObject *)array;
}

/* Page-locked memory of `size` bytes as a 1-D array. */
static PyObject *new_pagelocked(ModuleState *state, Py_ssize_t size)
{
    PyObject *module = PyType_GetModule(state->_GPUArrayBase_type);
    return module ? PyObject_CallMethod(module, "pagelocked_empty", "ns", size, "u1") : NULL;
}

PyObject *transfer_new_host(GPUArrayObject *array, bool locked)
{
    Py_ssize_t strides[STRIDES_MAX_DIMS];
    PyObject *memory = NULL;
    if (array->layout)
        strides_fill(array->layout & GPUARRAY_C ? 'C' : 'F', array->ndim, array->shape, array->itemsize,
                     strides);
    else
        strides_pack_like(array->ndim, array->shape, array->strides, array->itemsize, strides);
    if (locked && array->nbytes && !(memory = new_pagelocked(array->state, array->nbytes))) return NULL;
    void *data = memory ? PyArray_DATA((PyArrayObject *)memory) : NULL;
    PyArrayObject *host = host_array(array, strides, data, memory);
    Py_XDECREF(memory);
    return (PyObject *)host;
}

static bool is_packed(GPUArrayObject *array)
{
    return array->layout || strides_is_packed(array->ndim, array->shape, array->strides, array->itemsize);
}

static bool same_layout(GPUArrayObject *array, PyArrayObject *host)
{
    return strides_equal(array->ndim, array->shape, array->strides, PyArray_STRIDES(host))
           && is_packed(array);
}

static Side device_side(GPUArrayObject *array) { return (Side){true, array->pointer}; }

static Side host_side(PyArrayObject *array) { return (Side){false, (uintptr_t)PyArray_DATA(array)}; }

int transfer_stream(ModuleState *state, PyObject *stream, TransferMode *mode)
{
    mode->stream_object = stream_or_current(state, stream);
    return convert_stream(state, mode->stream_object, &mode->stream);
}

TransferMode transfer_mode_blocking(ModuleState *state)
{
    TransferMode mode = {.stream_object = stream_or_current(state, NULL)};
    if (convert_stream(state, mode.stream_object, &mode.stream) < 0) PyErr_Clear(); /* it was current */
    return mode;
}

int transfer_mode_on(ModuleState *state, PyObject *stream, TransferMode *mode)
{
    *mode = transfer_mode_blocking(state);
    if (!stream || stream == Py_None) return 0;
    mode->async = true;
    return transfer_stream(state, stream, mode);
}

int transfer_use(GPUArrayObject *array, TransferMode mode)
{
    PyObject *object = (PyObject *)array;
    return gpuarray_check_memory(array) < 0
                   || pooled_note(array->state, &object, 1, mode.stream_object, mode.stream) < 0
               ? -1
               : 0;
}

/* Before an asynchronous copy is queued: reserves the references that keep both ends alive until the stream
 * has done it (pooled memory needs none). 0, or -1 with an exception. */
static int keep_both(GPUArrayObject *array, PyObject *other, TransferMode mode, Kept *kept)
{
    *kept = (Kept){NULL, {NULL, NULL}};
    if (!mode.async) return 0;
    return copy_keep(array->state, mode.stream_object, mode.stream, (PyObject *)array, other, kept);
}

/* Copies all bytes by one call of the driver. */
static int transfer_direct(GPUArrayObject *array, PyObject *host, Side to, Side from, TransferMode mode)
{
    bool waits = !mode.async && mode.stream;
    Kept kept;
    if (mode.fresh && !mode.async && !mode.stream && array->nbytes <= STAGING_BYTES) {
        int staged = copy_staged(array->state, to, from, (size_t)array->nbytes);
        if (staged <= 0) return staged;
    }
    if (waits && wait_before(array->state, mode.stream) < 0) return -1;
    if (keep_both(array, host, mode, &kept) < 0) return -1;
    int failed = copy_bytes(array->state, to, from, (size_t)array->nbytes, mode);
    keep_alive_end(array->state, &kept);
    if (failed) return -1;
    return waits ? wait_after_copy(array->state, mode.stream, CUDA_SUCCESS, NULL) : 0;
}

/* Copies the whole block of memory that contains the elements, from `low` to `high` bytes after element 0,
 * and picks the elements out on the host. -1 with an exception. */
static int to_host_by_block(GPUArrayObject *from, PyArrayObject *host, ptrdiff_t low, ptrdiff_t high,
                            TransferMode mode)
{
    Side source = {true, from->pointer + (uintptr_t)low};
    PyObject *block = PyByteArray_FromStringAndSize(NULL, high - low);
    if (!block) return -1;
    Side target = {false, (uintptr_t)PyByteArray_AS_STRING(block)};
    mode.async = false;
    int failed = mode.stream ? wait_before(from->state, mode.stream) : 0;
    if (!failed) failed = copy_bytes(from->state, target, source, (size_t)(high - low), mode);
    if (!failed && mode.stream) failed = wait_after_copy(from->state, mode.stream, CUDA_SUCCESS, NULL);
    PyArrayObject *view =
        failed ? NULL : host_array(from, from->strides, PyByteArray_AS_STRING(block) - low, block);
    failed = view ? PyArray_CopyInto(host, view) : -1;
    Py_XDECREF(view);
    Py_DECREF(block);
    return failed;
}

static int copy_to_host(GPUArrayObject *from, PyObject *host_object, TransferMode mode)
{
    PyArrayObject *host = (PyArrayObject *)host_object;
    CopyPlan plan;
    ptrdiff_t low, high;
    if (same_layout(from, host))
        return transfer_direct(from, host_object, host_side(host), device_side(from), mode);
    strides_extent(from->ndim, from->shape, from->strides, from->itemsize, &low, &high);
    bool planned =
        copy_plan_make(&plan, from->ndim, from->shape, PyArray_STRIDES(host), from->strides, from->itemsize);
    if (planned && (plan.calls * plan.height <= FEW_CALLS || high - low > 2 * from->nbytes + STAGED_EXTRA))
        return copy_plan(from->state, host_side(host), device_side(from), &plan, mode);
    return to_host_by_block(from, host, low, high, mode);
}

/* As a copy that is not async waits for its stream, it releases what the work before it kept alive. */
int transfer_to_host(GPUArrayObject *from, PyObject *host, TransferMode mode)
{
    if (from->size == 0 || from->itemsize == 0) return 0;
    if (transfer_use(from, mode) < 0) return -1;
    if (mode.async || !from->state->kept) return copy_to_host(from, host, mode);
    ContextObject *context = context_current(from->state);
    if (!context) return -1;
    struct KeepBatch *taken = keep_alive_take(from->state, context, mode.stream);
    int failed = copy_to_host(from, host, mode);
    keep_alive_finish(from->state, taken, failed == 0);
    Py_DECREF((PyObject *)context);
    return failed;
}

/* Copies through a host array in the device array's order of axes. -1 with an exception. */
static int to_device_staged(GPUArrayObject *to, PyArrayObject *host, TransferMode mode)
{
    CopyPlan plan;
    PyArrayObject *staged = (PyArrayObject *)transfer_new_host(to, false);
    int failed = staged ? PyArray_CopyInto(staged, host) : -1;
    if (!failed
        && copy_plan_make(&plan, to->ndim, to->shape, to->strides, PyArray_STRIDES(staged), to->itemsize))
        failed = copy_plan(to->state, device_side(to), host_side(staged), &plan, mode);
    Py_XDECREF(staged);
    return failed;
}

int transfer_to_device(GPUArrayObject *to, PyObject *host_object, TransferMode mode)
{
    PyArrayObject *host = (PyArrayObject *)host_object;
    CopyPlan plan;
    if (to->size == 0 || to->itemsize == 0) return 0;
    if (gpuarray_check_writable(to) < 0 || transfer_use(to, mode) < 0) return -1;
    if (same_layout(to, host))
        return transfer_direct(to, host_object, device_side(to), host_side(host), mode);
    if (!copy_plan_make(&plan, to->ndim, to->shape, to->strides, PyArray_STRIDES(host), to->itemsize)) {
        PyErr_SetString(PyExc_ValueError, "several elements of this array share memory: it cannot be filled");
        return -1;
    }
    if (plan.calls <= FEW_CALLS && plan.width >= HOST_ROW)
        return copy_plan(to->state, device_side(to), host_side(host), &plan, mode);
    return to_device_staged(to, host, mode);
}

/* On the device */

/* Copies through the host, if neither a kernel nor a few pitched copies can do it. -1 with an exception. */
static int copy_by_host(GPUArrayObject *to, GPUArrayObject *from, TransferMode mode)
{
    mode.async = false;
    PyObject *host = transfer_new_host(from, false);
    int failed = !host || transfer_to_host(from, host, mode) < 0 || transfer_to_device(to, host, mode) < 0;
    Py_XDECREF(host);
    return failed ? -1 : 0;
}

/* -1 with ValueError unless both arrays are on the device of the current context. */
static int check_devices(GPUArrayObject *to, GPUArrayObject *from)
{
    ContextObject *context = context_current(to->state);
    if (!context) return -1;
    int failed = array_device_require(to, context) < 0 || array_device_require(from, context) < 0;
    Py_DECREF((PyObject *)context);
    return failed ? -1 : 0;
}

int transfer_on_device(GPUArrayObject *to, GPUArrayObject *from, TransferMode mode)
{
    CopyPlan plan;
    if (to->size == 0 || to->itemsize == 0) return 0;
    if (gpuarray_check_writable(to) < 0 || check_devices(to, from) < 0 || transfer_use(to, mode) < 0
        || transfer_use(from, mode) < 0)
        return -1;
    bool disjoint = !shared_memory_is_possible(to, from);
    if (!copy_plan_make(&plan, to->ndim, to->shape, to->strides, from->strides, to->itemsize)) {
        PyErr_SetString(PyExc_ValueError, "several elements of this array share memory: it cannot be filled");
        return -1;
    }
    bool pieces = plan.calls > 1 || plan.height > 1;
    if (!disjoint || (pieces && (plan.calls > FEW_PITCHED || plan.width < WIDE))) {
        int copied = strided_copy(to, from, mode);
        if (copied) return copied > 0 ? 0 : -1;
        if (!disjoint || plan.calls > BEFORE_HOST * FEW_CALLS) return copy_by_host(to, from, mode);
    }
    Kept kept;
    if (keep_both(to, (PyObject *)from, mode, &kept) < 0) return -1;
    int failed = copy_plan(to->state, device_side(to), device_side(from), &plan, mode);
    keep_alive_end(to->state, &kept);
    return failed;
}

PyObject *transfer_copy(GPUArrayObject *array, char order, PyObject *allocator, TransferMode mode)
{
    Py_ssize_t strides[STRIDES_MAX_DIMS];
    if (order == 'K')
        strides_pack_like(array->ndim, array->shape, array->strides, array->itemsize, strides);
    else
        strides_fill(order, array->ndim, array->shape, array->itemsize, strides);
    PyArray_Descr *dtype = (PyArray_Descr *)Py_NewRef((PyObject *)array->dtype);
    PyObject *copy =
        gpuarray_new(array->state, dtype, array->ndim, array->shape, strides, allocator, mode.stream_object);
    if (copy && transfer_on_device(gpuarray_cast(copy), array, mode) < 0) Py_CLEAR(copy);
    return copy;
}
