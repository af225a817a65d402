/* Copies of arrays to memory of another context, which is that of another device as a rule.
 *
 * The copy is queued on a stream of the destination. That first waits for the streams on which the source was
 * used, and those then wait for the copy, by events: so what is queued on the source afterwards does not
 * overtake it, and a pool does not give the source's memory to others before. The host waits for nothing.
 *
 * Unless the caller or a `with` block names the stream, it is one for copies from the source's device alone
 * (copy_streams.h), and the result's memory belongs to it. Other streams wait for the copy when the result is
 * first used on them (pooled_arrives), not before: if the default stream waited at once, copies from there,
 * which follow its work, would come after this one. */
#include "core/layout/strides.h"
#include "ext/base/captured.h"
#include "ext/base/driver_calls.h"
#include "ext/base/errors.h"
#include "ext/base/numpy_api.h"
#include "ext/convert/convert.h"
#include "ext/gpuarray/transfer.h"
#include "ext/memory/array_device.h"
#include "ext/memory/copy.h"
#include "ext/memory/pooled_allocation.h"
#include "ext/stream/copy_streams.h"

typedef struct DeviceCopy {
    GPUArrayObject *from;   /* without gaps */
    ContextObject *source;  /* held */
    CUstream with;          /* a stream of the source that the copy follows as well */
    ContextObject *to;      /* borrowed */
    PyObject *stream_object; /* owned */
    CUstream stream;        /* of the destination */
    bool named;             /* the stream, by the caller or a `with` block */
    CUevent before, done; /* after the work on `with`, and after the copy; NULL before they are recorded */
} DeviceCopy;

/* Enters the context. -1 with LogicError when it is gone. */
static int enter(ContextObject *context, ContextScope *scope)
{
    if (context_enter_scope(context, scope)) return 0;
    context_raise_dead(context, "to_device");
    return -1;
}

/* *out: the i-th stream of the source that work on the array may be on. False when there are not so many. A
 * pool's memory remembers its streams; besides there is the one that is current. */
static bool source_stream(const DeviceCopy *copy, int i, CUstream *out)
{
    const DeviceAllocationObject *allocation = copy->from->allocation;
    if (i == 0) *out = copy->with;
    if (i == 1) *out = pooled_stream(allocation);
    if (i < 2) return true;
    return allocation && allocation->pooled && pooled_used_stream(allocation, i - 2, out);
}

/* *event: after the work on a stream of this context, which is current; to be returned, also on failure. -1
 * with an exception. */
static int record(ContextObject *context, CUstream stream, CUevent *event)
{
    if (copy_event_take(context, event) < 0) return -1;
    return gpu_cuEventRecord(context->state, *event, stream);
}

/* Makes the copy wait for a stream of the source. -1 with an exception. */
static int follow_stream(const DeviceCopy *copy, CUstream stream)
{
    ContextScope scope;
    CUevent event = NULL;
    if (enter(copy->source, &scope) < 0) return -1;
    int failed = record(copy->source, stream, &event);
    context_leave_scope(&scope);
    if (!failed) failed = gpu_cuStreamWaitEvent(copy->from->state, copy->stream, event, 0);
    copy_event_return(copy->source, event);
    return failed;
}

/* Orders the copy after the work on the source. If that is itself such a copy, it is waited for, and not for
 * all of its stream. -1 with an exception. */
static int follow_source(const DeviceCopy *copy)
{
    ModuleState *state = copy->from->state;
    CUevent arrival = pooled_pass_on(copy->from->allocation);
    CUstream stream;
    int failed = gpu_cuStreamWaitEvent(state, copy->stream, copy->before, 0);
    if (!failed && arrival) failed = gpu_cuStreamWaitEvent(state, copy->stream, arrival, 0);
    for (int i = 1; !failed && source_stream(copy, i, &stream); i++)
        if (i > 1 || (!arrival && stream != copy->with)) failed = follow_stream(copy, stream);
    return failed;
}

/* Orders later work on the source, whose context is current, and the reuse of its memory, after the copy. -1
 * with an exception. */
static int lead_source(const DeviceCopy *copy)
{
    CUstream stream;
    int failed = 0;
    for (int i = 0; !failed && source_stream(copy, i, &stream); i++)
        if (i != 1 || stream != copy->with)
            failed = gpu_cuStreamWaitEvent(copy->from->state, stream, copy->done, 0);
    return failed;
}

/* Queues the copy to this address, in the context of the destination. -1 with an exception. */
static int queue_copy(const DeviceCopy *copy, CUdeviceptr to)
{
    GPUArrayObject *from = copy->from;
    ModuleState *state = from->state;
    size_t size = (size_t)from->nbytes;
    Kept kept;
    int failed;
    if (copy_keep(state, copy->stream_object, copy->stream, (PyObject *)from, NULL, &kept) < 0) return -1;
    if (array_device_number(from, -1) < 0) { /* managed, or the host's */
        failed = gpu_cuMemcpyDtoDAsync(state, to, from->pointer, size, copy->stream);
    } else {
        context_enable_copies(copy->to, copy->source);
        failed = gpu_cuMemcpyPeerAsync(state, to, copy->to->handle, from->pointer, copy->source->handle, size,
                                       copy->stream);
    }
    keep_alive_end(state, &kept);
    return failed;
}

/* A new array in the context of the destination, which is current, as the source is. */
static PyObject *new_target(const DeviceCopy *copy)
{
    const GPUArrayObject *from = copy->from;
    PyObject *array = gpuarray_new_in(
        from->state, copy->to, (struct _PyArray_Descr *)Py_NewRef(from->dtype), from->ndim, from->shape,
        from->layout & GPUARRAY_C ? NULL : from->strides, NULL, copy->stream_object);
    if (array && !from->size) gpuarray_cast(array)->place = PLACE_ON + copy->to->device;
    return array;
}

/* -1 with an exception. */
static int record_done(DeviceCopy *copy, DeviceAllocationObject *memory)
{
    return copy->named ? record(copy->to, copy->stream, &copy->done) : pooled_arrives(memory, &copy->done);
}

/* The copy, in the context of the destination. NULL with an exception. */
static PyObject *make_copy(DeviceCopy *copy)
{
    PyObject *array = new_target(copy);
    if (!array || !copy->from->nbytes) return array;
    if (follow_source(copy) < 0 || queue_copy(copy, gpuarray_cast(array)->pointer) < 0
        || record_done(copy, gpuarray_cast(array)->allocation) < 0)
        Py_CLEAR(array);
    return array;
}

/* The array itself, or a packed copy if there are gaps between its elements; a new reference. For the context
 * of the source, which is current. */
static PyObject *without_gaps(GPUArrayObject *array, TransferMode mode)
{
    bool packed =
        array->layout || strides_is_packed(array->ndim, array->shape, array->strides, array->itemsize);
    return packed ? Py_NewRef((PyObject *)array) : transfer_copy(array, 'K', array->allocator, mode);
}

/* Whether `stream` is a Stream of this context. */
static bool is_stream_of(ModuleState *state, PyObject *stream, const ContextObject *context)
{
    return stream && PyObject_TypeCheck(stream, state->Stream_type)
           && contexts_share_memory(stream_cast(stream)->context, context);
}

/* -1 with LogicError if the stream is captured. */
static int check_capture(ModuleState *state, CUstream stream)
{
    if (!captured_is(state, stream)) return 0;
    raise_logic(state, "to_device cannot be captured: a graph has the work of one device");
    return -1;
}

/* What is done first, in the context of the source: finds its stream, packs the array, and records an event.
 * -1 with an exception. */
static int prepare_source(DeviceCopy *copy, GPUArrayObject *array, PyObject *stream)
{
    ModuleState *state = array->state;
    TransferMode mode = {.async = true};
    if (!is_stream_of(state, stream, copy->source)) stream = NULL;
    if (gpuarray_check_memory(array) == 0 && transfer_stream(state, stream, &mode) == 0
        && check_capture(state, mode.stream) == 0) {
        if (elsewhere_return(array->allocation, mode.stream) < 0) return -1;
        copy->with = mode.stream;
        copy->from = gpuarray_cast(without_gaps(array, mode));
    }
    if (!copy->from) return -1;
    return copy->from->nbytes ? record(copy->source, copy->with, &copy->before) : 0;
}

/* Finds the stream of the copy: the one that is named, else one for copies from the source's device. -1 with
 * an exception. */
static int choose_stream(DeviceCopy *copy, PyObject *stream)
{
    ModuleState *state = copy->from->state;
    TransferMode mode = {.async = true};
    if (is_stream_of(state, stream, copy->source)) stream = NULL;
    if (transfer_stream(state, stream, &mode) < 0) return -1;
    copy->named = mode.stream_object && mode.stream_object != Py_None;
    if (copy->named) {
        copy->stream_object = Py_NewRef(mode.stream_object);
        copy->stream = mode.stream;
        return check_capture(state, mode.stream);
    }
    copy->stream_object = copy_stream(copy->to, copy->source->device);
    if (!copy->stream_object) return -1;
    copy->stream = stream_cast(copy->stream_object)->handle;
    return 0;
}

/* What is done in the context of the destination: the copy. NULL with an exception. */
static PyObject *copy_there(DeviceCopy *copy, PyObject *stream)
{
    ContextScope scope;
    if (!context_lend(copy->to, &scope)) {
        context_raise_dead(copy->to, "to_device");
        return NULL;
    }
    PyObject *array = choose_stream(copy, stream) < 0 ? NULL : make_copy(copy);
    context_lend_end(&scope);
    return array;
}

/* The copy of an array that is elsewhere. NULL with an exception. */
static PyObject *copy_array(DeviceCopy *copy, GPUArrayObject *array, PyObject *stream)
{
    ContextScope scope;
    if (!context_lend(copy->source, &scope)) {
        context_raise_dead(copy->source, "GPUArray");
        return NULL;
    }
    PyObject *result = prepare_source(copy, array, stream) < 0 ? NULL : copy_there(copy, stream);
    if (result && copy->done && lead_source(copy) < 0) Py_CLEAR(result);
    if (copy->before) copy_event_return(copy->source, copy->before);
    if (copy->done && copy->named) copy_event_return(copy->to, copy->done);
    context_lend_end(&scope);
    Py_XDECREF((PyObject *)copy->from);
    Py_XDECREF(copy->stream_object);
    return result;
}

PyDoc_STRVAR(copy_to_context_doc,
             "_copy_to_context(array, context, stream=None)\n--\n\n"
             "A packed copy of the array in memory of the context; the array itself if it is there.\n\n"
             "The stream is one of that context or of the array's.");

static PyObject *copy_to_context(PyObject *module, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *given, *context, *stream;
    DeviceCopy copy = {0};
    if (READ_ARGUMENTS(copy_to_context_doc, INTO_A(state->GPUArray_type, &given),
                       INTO_A(state->Context_type, &context), INTO(&stream))
        < 0)
        return NULL;
    copy.to = context_cast(context);
    if (!context_check(copy.to, "to_device")) return NULL;
    copy.source = array_device_hold_context(gpuarray_cast(given));
    if (!copy.source) return NULL;
    bool is_there = contexts_share_memory(copy.source, copy.to) && gpuarray_cast(given)->size;
    PyObject *result = is_there ? Py_NewRef(given) : copy_array(&copy, gpuarray_cast(given), stream);
    context_drop(copy.source);
    return result;
}

PyDoc_STRVAR(device_number_doc,
             "_device_number(array, /)\n--\n\n"
             "The number of the device that the array's memory is on; None for memory that is\n"
             "on none in particular: managed, or the host's.");

static PyObject *device_number(PyObject *module, FAST_PARAMETERS)
{
    PyObject *array;
    if (READ_ARGUMENTS(device_number_doc, INTO_A(module_state(module)->GPUArray_type, &array)) < 0)
        return NULL;
    CUdevice number = array_device_number(gpuarray_cast(array), -1);
    return number < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(number);
}

PyMethodDef to_device_functions[] = {
    {"_copy_to_context", AS_METHOD(copy_to_context), FAST_KEYWORDS, copy_to_context_doc},
    {"_device_number", AS_METHOD(device_number), FAST_KEYWORDS, device_number_doc},
    {NULL, NULL, 0, NULL},
};
