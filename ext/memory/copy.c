/* See copy.h. */
#include "ext/memory/copy.h"

#include "ext/base/captured.h"
#include "ext/base/driver_calls.h"
#include "ext/base/numpy_api.h"
#include "ext/convert/convert.h"
#include "ext/memory/device_memory.h"
#include "ext/memory/device_pointer.h"
#include "ext/memory/pooled_allocation.h"
#include "ext/stream/stream.h"

/* The object, or NULL if it need not be kept: numbers need not, nor memory that its pool frees in order. */
static PyObject *keepable(ModuleState *state, PyObject *object)
{
    return object && (PyLong_Check(object) || pooled_is_ordered(state, object)) ? NULL : object;
}

int copy_keep(ModuleState *state, PyObject *stream_object, CUstream stream, PyObject *first, PyObject *second,
              Kept *kept)
{
    ContextObject *context;
    *kept = (Kept){NULL, {NULL, NULL}};
    first = keepable(state, first);
    second = keepable(state, second);
    if (!first && !second) return 0;
    if (stream_object && PyObject_TypeCheck(stream_object, state->Stream_type))
        context = (ContextObject *)Py_NewRef((PyObject *)stream_cast(stream_object)->context);
    else
        context = context_current(state);
    if (!context) return -1;
    int status = keep_alive_begin(state, context, stream, first, second, kept);
    Py_DECREF((PyObject *)context);
    return status;
}

int copy_begin(ModuleState *state, bool async, PyObject *stream_object, CUstream *stream, PyObject *first,
               PyObject *second, Kept *kept)
{
    PyObject *objects[] = {first, second};
    *stream = NULL;
    *kept = (Kept){NULL, {NULL, NULL}};
    stream_object = async ? stream_or_current(state, stream_object) : NULL;
    if (convert_stream(state, stream_object, stream) < 0
        || pooled_note(state, objects, 2, stream_object, *stream) < 0)
        return -1;
    return async ? copy_keep(state, stream_object, *stream, first, second, kept) : 0;
}

/* ---- Between host and device ---- */

/* A copy between host and device. */
typedef struct HostCopy {
    HostBuffer host;
    CUdeviceptr device;
    CUstream stream;
    Kept kept;
} HostCopy;

/* What distinguishes the four functions for such copies. */
typedef struct HostCopyForm {
    const char *signature;
    bool to_device, async;
    int (*run)(ModuleState *state, const HostCopy *copy);
} HostCopyForm;

/* Reads the arguments and does all that can fail before the driver is called. On success the caller releases
 * copy->host and ends copy->kept. -1 with an exception. */
static int prepare_host_copy(ModuleState *state, const HostCopyForm *form, PyObject *const *given,
                             HostCopy *copy)
{
    PyObject *device = given[form->to_device ? 0 : 1];
    PyObject *stream = form->async ? stream_or_current(state, given[2]) : NULL;
    const char *device_name = form->to_device ? "dest" : "src";
    int status = form->to_device ? buffers_read(given[1], "src", &copy->host)
                                 : buffers_write(given[0], "dest", &copy->host);
    if (status < 0) return -1;
    if (convert_stream(state, stream, &copy->stream) == 0
        && convert_range_on(state, device, device_name, copy->host.size, copy->stream, &copy->device) == 0
        && copy_begin(state, form->async, stream, &copy->stream, copy->host.owner, device, &copy->kept) == 0)
        return 0;
    buffers_release(&copy->host);
    return -1;
}

static PyObject *copy_py(PyObject *module, const HostCopyForm *form, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *given[3] = {NULL};
    HostCopy copy;
    int failed = 0;
    if (convert_arguments(form->signature, args, arg_count, keywords, given, form->async ? 3 : 2) < 0
        || prepare_host_copy(state, form, given, &copy) < 0)
        return NULL;
    if (copy.host.size) failed = form->run(state, &copy);
    keep_alive_end(state, &copy.kept);
    buffers_release(&copy.host);
    return none_unless(failed);
}

PyDoc_STRVAR(memcpy_htod_doc, "memcpy_htod(dest, src)\n--\n\n"
                              "Copy from host to device and wait.\n"
                              "\nParameters\n----------\n"
                              "dest : device address\n"
                              "src : bytes-like\n    Contiguous.\n"
                              "\nRaises\n------\n"
                              "ValueError\n    src is larger than the allocation.\n"
                              "\nNotes\n-----\n"
                              "Calls cuMemcpyHtoD.");

PyDoc_STRVAR(memcpy_dtoh_doc, "memcpy_dtoh(dest, src)\n--\n\n"
                              "Copy from device to host and wait.\n"
                              "\nParameters\n----------\n"
                              "dest : bytes-like\n    Contiguous and writable: all of it is filled.\n"
                              "src : device address\n"
                              "\nRaises\n------\n"
                              "ValueError\n    dest is larger than the allocation.\n"
                              "\nNotes\n-----\n"
                              "Calls cuMemcpyDtoH.");

PyDoc_STRVAR(memcpy_htod_async_doc,
             "memcpy_htod_async(dest, src, stream=None)\n--\n\n"
             "Queue a copy from host to device. dest and src are kept alive until it is done.\n"
             "\nParameters\n----------\n"
             "dest : device address\n"
             "src : bytes-like\n    Contiguous; should be page-locked.\n"
             "stream : Stream\n"
             "\nRaises\n------\n"
             "ValueError\n    src is larger than the allocation.\n"
             "\nNotes\n-----\n"
             "Calls cuMemcpyHtoDAsync.");

PyDoc_STRVAR(memcpy_dtoh_async_doc,
             "memcpy_dtoh_async(dest, src, stream=None)\n--\n\n"
             "Queue a copy from device to host. dest and src are kept alive until it is done.\n"
             "\nParameters\n----------\n"
             "dest : bytes-like\n"
             "    Contiguous and writable; should be page-locked. Holds the data once the stream was\n"
             "    waited for.\n"
             "src : device address\n"
             "stream : Stream\n"
             "\nRaises\n------\n"
             "ValueError\n    dest is larger than the allocation.\n"
             "\nNotes\n-----\n"
             "Calls cuMemcpyDtoHAsync.");

#define HOST_COPY(name, routine, to_device, async, ...) \
    static int run_##name(ModuleState *state, const HostCopy *copy) \
    { \
        return gpu_##routine(state, __VA_ARGS__); \
    } \
    static PyObject *name(PyObject *module, FAST_PARAMETERS) \
    { \
        static const HostCopyForm form = {name##_doc, to_device, async, run_##name}; \
        return copy_py(module, &form, args, arg_count, keywords); \
    }
HOST_COPY(memcpy_htod, cuMemcpyHtoD, true, false, copy->device, copy->host.pointer, copy->host.size)
HOST_COPY(memcpy_dtoh, cuMemcpyDtoH, false, false, copy->host.pointer, copy->device, copy->host.size)
HOST_COPY(memcpy_htod_async, cuMemcpyHtoDAsync, true, true, copy->device, copy->host.pointer, copy->host.size,
          copy->stream)
HOST_COPY(memcpy_dtoh_async, cuMemcpyDtoHAsync, false, true, copy->host.pointer, copy->device,
          copy->host.size, copy->stream)
#undef HOST_COPY

/* ---- Between devices ---- */

typedef struct DeviceCopy {
    CUdeviceptr dest, src;
    size_t size;
    CUstream stream;
    Kept kept;
} DeviceCopy;

/* given: dest, src and size. stream: the argument of the asynchronous form, ignored otherwise. On success the
 * caller ends copy->kept. -1 with an exception. */
static int prepare_device_copy(ModuleState *state, PyObject *const *given, bool async, PyObject *stream,
                               DeviceCopy *copy)
{
    stream = async ? stream_or_current(state, stream) : NULL;
    if (convert_size(given[2], "size", &copy->size) < 0 || convert_stream(state, stream, &copy->stream) < 0
        || convert_range_on(state, given[0], "dest", copy->size, copy->stream, &copy->dest) < 0
        || convert_range_on(state, given[1], "src", copy->size, copy->stream, &copy->src) < 0)
        return -1;
    return copy_begin(state, async, stream, &copy->stream, given[0], given[1], &copy->kept);
}

PyDoc_STRVAR(memcpy_dtod_doc, "memcpy_dtod(dest, src, size)\n--\n\n"
                              "Copy within the device.\n"
                              "\nParameters\n----------\n"
                              "dest, src : device address\n"
                              "size : int\n    Bytes (the keyword may be ``count``).\n"
                              "\nRaises\n------\n"
                              "ValueError\n    An allocation has fewer bytes.\n"
                              "\nNotes\n-----\n"
                              "Calls cuMemcpyDtoD.");

static PyObject *memcpy_dtod(PyObject *module, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *given[3];
    DeviceCopy copy = {.stream = NULL};
    CUresult result = CUDA_SUCCESS;
    if (convert_arguments(memcpy_dtod_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || prepare_device_copy(state, given, false, NULL, &copy) < 0)
        return NULL;
    if (copy.size) result = try_cuMemcpyDtoD(state, copy.dest, copy.src, copy.size);
    return none_or_raise(state, result, "cuMemcpyDtoD");
}

PyDoc_STRVAR(memcpy_dtod_async_doc,
             "memcpy_dtod_async(dest, src, size, stream=None)\n--\n\n"
             "Queue a copy within the device. dest and src are kept alive until it is done.\n"
             "\nParameters\n----------\n"
             "dest, src : device address\n"
             "size : int\n    Bytes (the keyword may be ``count``).\n"
             "stream : Stream\n"
             "\nRaises\n------\n"
             "ValueError\n    An allocation has fewer bytes.\n"
             "\nNotes\n-----\n"
             "Calls cuMemcpyDtoDAsync.");

static PyObject *memcpy_dtod_async(PyObject *module, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *given[4];
    DeviceCopy copy;
    CUresult result = CUDA_SUCCESS;
    if (convert_arguments(memcpy_dtod_async_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || prepare_device_copy(state, given, true, given[3], &copy) < 0)
        return NULL;
    if (copy.size) result = try_cuMemcpyDtoDAsync(state, copy.dest, copy.src, copy.size, copy.stream);
    keep_alive_end(state, &copy.kept);
    return none_or_raise(state, result, "cuMemcpyDtoDAsync");
}

/* *out: the Context that an argument means, a new reference; None and NULL mean the current one. -1 with an
 * exception. */
static int peer_context(ModuleState *state, PyObject *value, const char *what, ContextObject **out)
{
    if (!value || value == Py_None) {
        *out = context_current(state);
        return *out ? 0 : -1;
    }
    if (!PyObject_TypeCheck(value, state->Context_type)) {
        PyErr_Format(PyExc_TypeError, "%s must be a Context or None, not %s", what, Py_TYPE(value)->tp_name);
        return -1;
    }
    if (!context_check(context_cast(value), what)) return -1;
    *out = (ContextObject *)Py_NewRef(value);
    return 0;
}

/* given: dest, src, size, dest_context, src_context, stream */
static PyObject *copy_peer(ModuleState *state, PyObject *const *given, bool async)
{
    DeviceCopy copy;
    ContextObject *dest = NULL, *src = NULL;
    CUresult result = CUDA_SUCCESS;
    PyObject *answer = NULL;
    if (peer_context(state, given[3], "dest_context", &dest) < 0
        || peer_context(state, given[4], "src_context", &src) < 0
        || prepare_device_copy(state, given, async, given[5], &copy) < 0)
        goto done;
    if (copy.size && async && captured_is(state, copy.stream)) /* cuMemcpyPeerAsync cannot be captured */
        result = try_cuMemcpyDtoDAsync(state, copy.dest, copy.src, copy.size, copy.stream);
    else if (copy.size && async)
        result = try_cuMemcpyPeerAsync(state, copy.dest, dest->handle, copy.src, src->handle, copy.size,
                                       copy.stream);
    else if (copy.size)
        result = try_cuMemcpyPeer(state, copy.dest, dest->handle, copy.src, src->handle, copy.size);
    keep_alive_end(state, &copy.kept);
    answer = none_or_raise(state, result, async ? "cuMemcpyPeerAsync" : "cuMemcpyPeer");
done:
    Py_XDECREF((PyObject *)dest);
    Py_XDECREF((PyObject *)src);
    return answer;
}

PyDoc_STRVAR(memcpy_peer_doc, "memcpy_peer(dest, src, size, dest_context=None, src_context=None)\n--\n\n"
                              "Copy between contexts.\n"
                              "\nParameters\n----------\n"
                              "dest, src : device address\n"
                              "size : int\n    Bytes (the keyword may be ``count``).\n"
                              "dest_context, src_context : Context\n    None is the current one.\n"
                              "\nRaises\n------\n"
                              "ValueError\n    An allocation has fewer bytes.\n"
                              "\nNotes\n-----\n"
                              "Calls cuMemcpyPeer.");

static PyObject *memcpy_peer(PyObject *module, FAST_PARAMETERS)
{
    PyObject *given[6] = {NULL};
    if (convert_arguments(memcpy_peer_doc, args, arg_count, keywords, given, 5) < 0) return NULL;
    return copy_peer(module_state(module), given, false);
}

PyDoc_STRVAR(memcpy_peer_async_doc,
             "memcpy_peer_async(dest, src, size, dest_context=None, src_context=None, stream=None)\n--\n\n"
             "Queue a copy between contexts. dest and src are kept alive until it is done.\n"
             "\nParameters\n----------\n"
             "dest, src : device address\n"
             "size : int\n    Bytes (the keyword may be ``count``).\n"
             "dest_context, src_context : Context\n    None is the current one.\n"
             "stream : Stream\n"
             "\nRaises\n------\n"
             "ValueError\n    An allocation has fewer bytes.\n"
             "\nNotes\n-----\n"
             "Calls cuMemcpyPeerAsync, under capture cuMemcpyDtoDAsync: addresses imply the contexts.");

static PyObject *memcpy_peer_async(PyObject *module, FAST_PARAMETERS)
{
    PyObject *given[6];
    if (convert_arguments(memcpy_peer_async_doc, args, arg_count, keywords, GIVEN(given)) < 0) return NULL;
    return copy_peer(module_state(module), given, true);
}

/* ---- With allocation ---- */

PyDoc_STRVAR(to_device_doc, "to_device(bf_obj)\n--\n\n"
                            "Allocate device memory with the bytes of a buffer.\n"
                            "\nParameters\n----------\n"
                            "bf_obj : bytes-like\n"
                            "    Need not be contiguous: the bytes are taken in C order of its indices.\n"
                            "\nReturns\n-------\n"
                            "DeviceAllocation\n"
                            "\nNotes\n-----\n"
                            "Calls cuMemAlloc, cuMemcpyHtoD.");

static PyObject *to_device(PyObject *module, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *object;
    HostBuffer host;
    CUresult result = CUDA_SUCCESS;
    if (READ_ARGUMENTS(to_device_doc, INTO(&object)) < 0) return NULL;
    if (buffers_read_logical(object, "bf", &host) < 0) return NULL;
    PyObject *allocation = device_allocation_new(state, host.size);
    if (allocation) {
        CUdeviceptr pointer = device_allocation_cast(allocation)->pointer;
        result = try_cuMemcpyHtoD(state, pointer, host.pointer, host.size);
    }
    buffers_release(&host);
    if (result != CUDA_SUCCESS) {
        Py_CLEAR(allocation);
        return raise_driver(state, result, "cuMemcpyHtoD", NULL);
    }
    return allocation;
}

/* A new host array of this layout with the device's bytes. Clears the layout. */
static PyObject *copy_from_device(ModuleState *state, PyObject *device, HostArrayLayout *layout)
{
    CUdeviceptr pointer;
    CUresult result = CUDA_SUCCESS;
    size_t bytes = layout->bytes;
    PyObject *array = NULL;
    if (convert_range(state, device, "devptr", bytes, &pointer) == 0)
        array = convert_make_array(layout, NULL, NULL);
    convert_layout_clear(layout);
    void *data = array ? PyArray_DATA((PyArrayObject *)array) : NULL;
    if (array && bytes) result = try_cuMemcpyDtoH(state, data, pointer, bytes);
    if (result == CUDA_SUCCESS) return array;
    Py_DECREF(array);
    return raise_driver(state, result, "cuMemcpyDtoH", NULL);
}

PyDoc_STRVAR(from_device_doc, "from_device(devptr, shape, dtype, order=\"C\")\n--\n\n"
                              "Copy from the device to a new host array.\n"
                              "\nParameters\n----------\n"
                              "devptr : device address\n"
                              "shape : int or sequence of int\n"
                              "dtype : dtype-like\n"
                              "order : {\"C\", \"F\"}\n"
                              "\nReturns\n-------\n"
                              "numpy.ndarray\n"
                              "\nRaises\n------\n"
                              "ValueError\n    The allocation is smaller.\n"
                              "\nNotes\n-----\n"
                              "Calls cuMemcpyDtoH.");

static PyObject *from_device(PyObject *module, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *given[4];
    HostArrayLayout layout;
    if (convert_arguments(from_device_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || convert_layout(state, given[1], given[2], given[3], &layout) < 0)
        return NULL;
    return copy_from_device(state, given[0], &layout);
}

PyDoc_STRVAR(from_device_like_doc,
             "from_device_like(devptr, other_ary)\n--\n\n"
             "Copy from the device to a new host array like another one.\n"
             "\nParameters\n----------\n"
             "devptr : device address\n"
             "other_ary : numpy.ndarray\n    Contiguous: its shape, dtype and order are taken.\n"
             "\nReturns\n-------\n"
             "numpy.ndarray\n"
             "\nRaises\n------\n"
             "ValueError\n    The allocation is smaller, or other_ary is not contiguous.\n"
             "\nNotes\n-----\n"
             "Calls cuMemcpyDtoH.");

static PyObject *from_device_like(PyObject *module, FAST_PARAMETERS)
{
    PyObject *given[2];
    HostArrayLayout layout;
    if (convert_arguments(from_device_like_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || convert_layout_like(given[1], &layout) < 0)
        return NULL;
    return copy_from_device(module_state(module), given[0], &layout);
}

#define COPY_ROW(name) {#name, AS_METHOD(name), FAST_KEYWORDS, name##_doc}
PyMethodDef copy_functions[] = {
    COPY_ROW(memcpy_htod),
    COPY_ROW(memcpy_dtoh),
    COPY_ROW(memcpy_htod_async),
    COPY_ROW(memcpy_dtoh_async),
    COPY_ROW(memcpy_dtod),
    COPY_ROW(memcpy_dtod_async),
    COPY_ROW(memcpy_peer),
    COPY_ROW(memcpy_peer_async),
    {"to_device", AS_METHOD(to_device), FAST_KEYWORDS, to_device_doc},
    COPY_ROW(from_device),
    COPY_ROW(from_device_like),
    {NULL, NULL, 0, NULL},
};
#undef COPY_ROW
