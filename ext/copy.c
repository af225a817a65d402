#include "ext/copy.h"

#include "ext/convert.h"
#include "ext/device_memory.h"
#include "ext/errors.h"
#include "ext/keep_alive.h"
#include "ext/numpy_api.h"
#include "ext/pooled_allocation.h"
#include "ext/stream.h"

int copy_keep(ModuleState *state, PyObject *stream_object, CUstream stream, PyObject *first, PyObject *second)
{
    PyObject *objects[] = {first, second};
    ContextObject *context;
    if (pooled_note(state, objects, 2, stream_object, stream) < 0) return -1;
    if (stream_object && PyObject_TypeCheck(stream_object, state->Stream_type))
        context = (ContextObject *)Py_NewRef((PyObject *)stream_cast(stream_object)->context);
    else
        context = context_current(state);
    if (!context) return -1;
    int status = keep_alive(state, context, stream, first, second);
    Py_DECREF((PyObject *)context);
    return status;
}

static PyObject *none_or_raise(ModuleState *state, CUresult result, const char *routine)
{
    return result == CUDA_SUCCESS ? Py_NewRef(Py_None) : raise_driver(state, result, routine, NULL);
}

/* ---- Between host and device ---- */

typedef struct Transfer {
    HostBuffer host;
    CUdeviceptr device;
    CUstream stream;
} Transfer;

PyDoc_STRVAR(memcpy_htod_doc, "memcpy_htod(dest, src)\n--\n\n"
                              "Copy the bytes of a contiguous host buffer to the device and wait. ValueError "
                              "when they are more than the\n"
                              "allocation has (cuMemcpyHtoD).");

static PyObject *memcpy_htod(PyObject *module, FAST_PARAMETERS)
{
    static const char *const names[] = {"dest", "src", NULL};
    ModuleState *state = module_state(module);
    PyObject *given[2];
    Transfer copy;
    CUresult result = CUDA_SUCCESS;
    if (convert_arguments("memcpy_htod", names, 2, args, arg_count, keywords, given) < 0
        || buffers_read(given[1], "src", &copy.host) < 0)
        return NULL;
    if (convert_range(state, given[0], "dest", copy.host.size, &copy.device) < 0) {
        buffers_release(&copy.host);
        return NULL;
    }
    if (copy.host.size)
        CALL_BLOCKING(state, result, driver.cuMemcpyHtoD(copy.device, copy.host.pointer, copy.host.size));
    buffers_release(&copy.host);
    return none_or_raise(state, result, "cuMemcpyHtoD");
}

PyDoc_STRVAR(
    memcpy_dtoh_doc,
    "memcpy_dtoh(dest, src)\n--\n\n"
    "Fill a contiguous, writable host buffer from the device and wait. ValueError when it is larger than the\n"
    "allocation (cuMemcpyDtoH).");

static PyObject *memcpy_dtoh(PyObject *module, FAST_PARAMETERS)
{
    static const char *const names[] = {"dest", "src", NULL};
    ModuleState *state = module_state(module);
    PyObject *given[2];
    Transfer copy;
    CUresult result = CUDA_SUCCESS;
    if (convert_arguments("memcpy_dtoh", names, 2, args, arg_count, keywords, given) < 0
        || buffers_write(given[0], "dest", &copy.host) < 0)
        return NULL;
    if (convert_range(state, given[1], "src", copy.host.size, &copy.device) < 0) {
        buffers_release(&copy.host);
        return NULL;
    }
    if (copy.host.size)
        CALL_BLOCKING(state, result, driver.cuMemcpyDtoH(copy.host.pointer, copy.device, copy.host.size));
    buffers_release(&copy.host);
    return none_or_raise(state, result, "cuMemcpyDtoH");
}

/* The common part of both asynchronous directions: all that can fail before the driver is called. */
static int prepare_async(ModuleState *state, PyObject *host, bool writable, PyObject *device,
                         const char *device_name, PyObject *stream, Transfer *copy)
{
    if ((writable ? buffers_write(host, "dest", &copy->host) : buffers_read(host, "src", &copy->host)) < 0)
        return -1;
    if (convert_range(state, device, device_name, copy->host.size, &copy->device) == 0
        && convert_stream(state, stream, &copy->stream) == 0
        && copy_keep(state, stream, copy->stream, copy->host.owner, PyLong_Check(device) ? NULL : device) == 0)
        return 0;
    buffers_release(&copy->host);
    return -1;
}

PyDoc_STRVAR(memcpy_htod_async_doc, "memcpy_htod_async(dest, src, stream=None)\n--\n\n"
                                    "memcpy_htod queued on a stream. src should be page-locked. It and dest "
                                    "are kept alive until the copy is done\n"
                                    "(cuMemcpyHtoDAsync).");

static PyObject *memcpy_htod_async(PyObject *module, FAST_PARAMETERS)
{
    static const char *const names[] = {"dest", "src", "stream", NULL};
    ModuleState *state = module_state(module);
    PyObject *given[3];
    Transfer copy;
    CUresult result = CUDA_SUCCESS;
    if (convert_arguments("memcpy_htod_async", names, 2, args, arg_count, keywords, given) < 0
        || prepare_async(state, given[1], false, given[0], "dest", given[2], &copy) < 0)
        return NULL;
    if (copy.host.size)
        CALL(state, result,
             driver.cuMemcpyHtoDAsync(copy.device, copy.host.pointer, copy.host.size, copy.stream));
    buffers_release(&copy.host);
    return none_or_raise(state, result, "cuMemcpyHtoDAsync");
}

PyDoc_STRVAR(memcpy_dtoh_async_doc, "memcpy_dtoh_async(dest, src, stream=None)\n--\n\n"
                                    "memcpy_dtoh queued on a stream. dest should be page-locked and holds "
                                    "the data once the stream was waited for. It\n"
                                    "and src are kept alive until then (cuMemcpyDtoHAsync).");

static PyObject *memcpy_dtoh_async(PyObject *module, FAST_PARAMETERS)
{
    static const char *const names[] = {"dest", "src", "stream", NULL};
    ModuleState *state = module_state(module);
    PyObject *given[3];
    Transfer copy;
    CUresult result = CUDA_SUCCESS;
    if (convert_arguments("memcpy_dtoh_async", names, 2, args, arg_count, keywords, given) < 0
        || prepare_async(state, given[0], true, given[1], "src", given[2], &copy) < 0)
        return NULL;
    if (copy.host.size)
        CALL(state, result,
             driver.cuMemcpyDtoHAsync(copy.host.pointer, copy.device, copy.host.size, copy.stream));
    buffers_release(&copy.host);
    return none_or_raise(state, result, "cuMemcpyDtoHAsync");
}

/* ---- Between devices ---- */

typedef struct DeviceCopy {
    CUdeviceptr dest, src;
    size_t size;
    CUstream stream;
} DeviceCopy;

static int prepare_device_copy(ModuleState *state, PyObject *dest, PyObject *src, PyObject *size,
                               DeviceCopy *copy)
{
    return convert_size(size, "size", &copy->size) < 0
                   || convert_range(state, dest, "dest", copy->size, &copy->dest) < 0
                   || convert_range(state, src, "src", copy->size, &copy->src) < 0
               ? -1
               : 0;
}

static int prepare_device_stream(ModuleState *state, PyObject *stream, PyObject *dest, PyObject *src,
                                 DeviceCopy *copy)
{
    if (convert_stream(state, stream, &copy->stream) < 0) return -1;
    return copy_keep(state, stream, copy->stream, PyLong_Check(dest) ? NULL : dest,
                     PyLong_Check(src) ? NULL : src);
}

PyDoc_STRVAR(memcpy_dtod_doc,
             "memcpy_dtod(dest, src, size)\n--\n\n"
             "Copy `size` bytes within the device. ValueError when an allocation has fewer (cuMemcpyDtoD).");

static PyObject *memcpy_dtod(PyObject *module, FAST_PARAMETERS)
{
    static const char *const names[] = {"dest", "src", "size|count", NULL};
    ModuleState *state = module_state(module);
    PyObject *given[3];
    DeviceCopy copy;
    CUresult result = CUDA_SUCCESS;
    if (convert_arguments("memcpy_dtod", names, 3, args, arg_count, keywords, given) < 0
        || prepare_device_copy(state, given[0], given[1], given[2], &copy) < 0)
        return NULL;
    if (copy.size) CALL_BLOCKING(state, result, driver.cuMemcpyDtoD(copy.dest, copy.src, copy.size));
    return none_or_raise(state, result, "cuMemcpyDtoD");
}

PyDoc_STRVAR(
    memcpy_dtod_async_doc,
    "memcpy_dtod_async(dest, src, size, stream=None)\n--\n\n"
    "memcpy_dtod queued on a stream; both objects are kept alive until it is done (cuMemcpyDtoDAsync).");

static PyObject *memcpy_dtod_async(PyObject *module, FAST_PARAMETERS)
{
    static const char *const names[] = {"dest", "src", "size|count", "stream", NULL};
    ModuleState *state = module_state(module);
    PyObject *given[4];
    DeviceCopy copy;
    CUresult result = CUDA_SUCCESS;
    if (convert_arguments("memcpy_dtod_async", names, 3, args, arg_count, keywords, given) < 0
        || prepare_device_copy(state, given[0], given[1], given[2], &copy) < 0
        || prepare_device_stream(state, given[3], given[0], given[1], &copy) < 0)
        return NULL;
    if (copy.size) CALL(state, result, driver.cuMemcpyDtoDAsync(copy.dest, copy.src, copy.size, copy.stream));
    return none_or_raise(state, result, "cuMemcpyDtoDAsync");
}

/* The handle of a context argument: the current context when it is None. A new reference in *holder. */
static int peer_context(ModuleState *state, PyObject *value, const char *what, ContextObject **holder)
{
    if (!value || value == Py_None) {
        *holder = context_current(state);
        return *holder ? 0 : -1;
    }
    if (!PyObject_TypeCheck(value, state->Context_type)) {
        PyErr_Format(PyExc_TypeError, "%s must be a Context or None, not %s", what, Py_TYPE(value)->tp_name);
        return -1;
    }
    if (!context_check(context_cast(value), what)) return -1;
    *holder = (ContextObject *)Py_NewRef(value);
    return 0;
}

/* given: dest, src, size, dest_context, src_context, stream */
static PyObject *copy_peer(ModuleState *state, PyObject *const *given, bool async)
{
    DeviceCopy copy = {.stream = NULL};
    ContextObject *dest = NULL, *src = NULL;
    CUresult result = CUDA_SUCCESS;
    PyObject *answer = NULL;
    if (prepare_device_copy(state, given[0], given[1], given[2], &copy) < 0
        || peer_context(state, given[3], "dest_context", &dest) < 0
        || peer_context(state, given[4], "src_context", &src) < 0
        || (async && prepare_device_stream(state, given[5], given[0], given[1], &copy) < 0))
        goto done;
    if (copy.size && async)
        CALL(state, result,
             driver.cuMemcpyPeerAsync(copy.dest, dest->handle, copy.src, src->handle, copy.size, copy.stream));
    else if (copy.size)
        CALL_BLOCKING(state, result,
                      driver.cuMemcpyPeer(copy.dest, dest->handle, copy.src, src->handle, copy.size));
    answer = none_or_raise(state, result, async ? "cuMemcpyPeerAsync" : "cuMemcpyPeer");
done:
    Py_XDECREF((PyObject *)dest);
    Py_XDECREF((PyObject *)src);
    return answer;
}

PyDoc_STRVAR(memcpy_peer_doc, "memcpy_peer(dest, src, size, dest_context=None, src_context=None)\n--\n\n"
                              "Copy `size` bytes between contexts; None is the current one (cuMemcpyPeer).");

static PyObject *memcpy_peer(PyObject *module, FAST_PARAMETERS)
{
    static const char *const names[] = {"dest", "src", "size|count", "dest_context", "src_context", NULL};
    PyObject *given[6] = {NULL};
    if (convert_arguments("memcpy_peer", names, 3, args, arg_count, keywords, given) < 0) return NULL;
    return copy_peer(module_state(module), given, false);
}

PyDoc_STRVAR(memcpy_peer_async_doc,
             "memcpy_peer_async(dest, src, size, dest_context=None, src_context=None, stream=None)\n--\n\n"
             "memcpy_peer queued on a stream (cuMemcpyPeerAsync).");

static PyObject *memcpy_peer_async(PyObject *module, FAST_PARAMETERS)
{
    static const char *const names[] = {"dest",        "src",    "size|count", "dest_context",
                                        "src_context", "stream", NULL};
    PyObject *given[6];
    if (convert_arguments("memcpy_peer_async", names, 3, args, arg_count, keywords, given) < 0) return NULL;
    return copy_peer(module_state(module), given, true);
}

/* ---- With allocation ---- */

PyDoc_STRVAR(to_device_doc, "to_device(bf) -> DeviceAllocation\n--\n\n"
                            "New device memory with the bytes of a buffer, which need not be contiguous: "
                            "they are taken in C order of its\n"
                            "indices.");

static PyObject *to_device(PyObject *module, PyObject *object)
{
    ModuleState *state = module_state(module);
    HostBuffer host;
    CUresult result = CUDA_SUCCESS;
    if (buffers_read_logical(object, "bf", &host) < 0) return NULL;
    PyObject *allocation = device_allocation_new(state, host.size);
    if (allocation) {
        CUdeviceptr pointer = device_allocation_cast(allocation)->pointer;
        CALL_BLOCKING(state, result, driver.cuMemcpyHtoD(pointer, host.pointer, host.size));
    }
    buffers_release(&host);
    if (result != CUDA_SUCCESS) {
        Py_CLEAR(allocation);
        return raise_driver(state, result, "cuMemcpyHtoD", NULL);
    }
    return allocation;
}

static PyObject *fetch(ModuleState *state, PyObject *device, ArrayForm *form)
{
    CUdeviceptr pointer;
    CUresult result = CUDA_SUCCESS;
    size_t bytes = form->bytes;
    PyObject *array = NULL;
    if (convert_range(state, device, "devptr", bytes, &pointer) == 0)
        array = convert_make_array(form, NULL, NULL);
    convert_form_clear(form);
    if (array && bytes)
        CALL_BLOCKING(state, result, driver.cuMemcpyDtoH(PyArray_DATA((PyArrayObject *)array), pointer, bytes));
    if (result == CUDA_SUCCESS) return array;
    Py_DECREF(array);
    return raise_driver(state, result, "cuMemcpyDtoH", NULL);
}

PyDoc_STRVAR(from_device_doc, "from_device(devptr, shape, dtype, order=\"C\") -> ndarray\n--\n\n"
                              "A new host array with what lies at a device address.");

static PyObject *from_device(PyObject *module, FAST_PARAMETERS)
{
    static const char *const names[] = {"devptr", "shape", "dtype", "order", NULL};
    ModuleState *state = module_state(module);
    PyObject *given[4];
    ArrayForm form;
    if (convert_arguments("from_device", names, 3, args, arg_count, keywords, given) < 0
        || convert_form(state, given[1], given[2], given[3], &form) < 0)
        return NULL;
    return fetch(state, given[0], &form);
}

PyDoc_STRVAR(from_device_like_doc, "from_device_like(devptr, other_ary) -> ndarray\n--\n\n"
                                   "A new host array of the shape, dtype and order of a contiguous array, with "
                                   "what lies at a device address.");

static PyObject *from_device_like(PyObject *module, FAST_PARAMETERS)
{
    static const char *const names[] = {"devptr", "other_ary", NULL};
    PyObject *given[2];
    ArrayForm form;
    if (convert_arguments("from_device_like", names, 2, args, arg_count, keywords, given) < 0
        || convert_form_like(given[1], &form) < 0)
        return NULL;
    return fetch(module_state(module), given[0], &form);
}

#define COPY_ROW(name) {#name, AS_METHOD(name), FAST_KEYWORDS, name##_doc}
static PyMethodDef functions[] = {
    COPY_ROW(memcpy_htod),       COPY_ROW(memcpy_dtoh),       COPY_ROW(memcpy_htod_async),
    COPY_ROW(memcpy_dtoh_async), COPY_ROW(memcpy_dtod),       COPY_ROW(memcpy_dtod_async),
    COPY_ROW(memcpy_peer),       COPY_ROW(memcpy_peer_async), {"to_device", to_device, METH_O, to_device_doc},
    COPY_ROW(from_device),       COPY_ROW(from_device_like),  {NULL, NULL, 0, NULL},
};
#undef COPY_ROW

int copy_setup(PyObject *module, ModuleState *Py_UNUSED(state))
{
    return PyModule_AddFunctions(module, functions);
}
