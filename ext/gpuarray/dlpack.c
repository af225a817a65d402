/* __dlpack__ and __dlpack_device__ of GPUArray.
 *
 * A tensor keeps its array by a reference. Its deleter may be called by any thread, with or without the GIL,
 * in a host function of the driver, and when the interpreter or the context is gone: then memory of the
 * process is all that is left to release.
 */
#include "ext/gpuarray/dlpack.h"

#include <stdlib.h>

#include "core/layout/strides.h"
#include "ext/base/captured.h"
#include "ext/base/driver_calls.h"
#include "ext/base/numpy_api.h"
#include "ext/convert/convert.h"
#include "ext/gpuarray/transfer.h"
#include "ext/memory/array_device.h"
#include "ext/memory/pooled_allocation.h"

/* ---- What a tensor is made of ---- */

/* An exported tensor with the memory that it points to. Allocated by malloc, which needs no interpreter. */
typedef struct Export {
    union {
        DLPackPlain plain;
        DLPackVersioned versioned;
    } tensor;
    PyObject *array;    /* owned: a GPUArray, or an array of NumPy */
    int64_t numbers[];  /* shape and strides */
} Export;

static void free_export(Export *export)
{
    if (Py_IsInitialized() && !ext_is_finalizing()) {
        PyGILState_STATE held = PyGILState_Ensure();
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        Py_DECREF(export->array);
        PyErr_Restore(type, value, traceback);
        PyGILState_Release(held);
    }
    free(export);
}

static void delete_plain(DLPackPlain *self) { free_export(self->owner); }

static void delete_versioned(DLPackVersioned *self) { free_export(self->owner); }

static void drop_plain(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, DLPACK_PLAIN)) delete_plain(PyCapsule_GetPointer(capsule, DLPACK_PLAIN));
}

static void drop_versioned(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, DLPACK_VERSIONED))
        delete_versioned(PyCapsule_GetPointer(capsule, DLPACK_VERSIONED));
}

static Export *new_export(PyObject *array, int ndim)
{
    Export *export = calloc(1, sizeof *export + 2 * (size_t)ndim * sizeof(int64_t));
    if (!export) {
        PyErr_NoMemory();
        return NULL;
    }
    export->array = Py_NewRef(array);
    return export;
}

/* ---- Where memory is ---- */

/* *out: the device of memory that is not from an allocation of this module, by what the driver says; what it
 * does not know is taken for the current device's. -1 with an exception. */
static int ask_device(GPUArrayObject *array, DLPackDevice *out)
{
    CUdevice device = 0;
    if (gpu_cuCtxGetDevice(array->state, &device) < 0) return -1;
    MemoryKind kind = array->pointer ? memory_kind_at(array->state, array->pointer, &device) : MEMORY_UNKNOWN;
    *out = (DLPackDevice){kind == MEMORY_MANAGED ? DLPACK_CUDA_MANAGED : DLPACK_CUDA, device};
    if (kind == MEMORY_OF_HOST) *out = (DLPackDevice){DLPACK_CUDA_HOST, 0};
    if (!array->pointer && array->place >= PLACE_ON) out->number = array->place - PLACE_ON;
    return 0;
}

/* *out: the device of the array's memory. -1 with an exception. */
static int find_device(GPUArrayObject *array, DLPackDevice *out)
{
    const DeviceAllocationObject *allocation = array->allocation;
    if (gpuarray_check_memory(array) < 0) return -1;
    if (!allocation || !allocation->context) return ask_device(array, out);
    *out =
        (DLPackDevice){allocation->managed ? DLPACK_CUDA_MANAGED : DLPACK_CUDA, allocation->context->device};
    return 0;
}

static bool host_sees(DLPackDevice device) { return device.kind != DLPACK_CUDA; }

/* ---- Filling in ---- */

/* Fills ndim, shape and strides, which are written to `numbers`. -1 with BufferError when a stride is not a
 * multiple of the itemsize; the stride of an axis with fewer than two elements does not matter. */
static int fill_layout(int ndim, const Py_ssize_t *shape, const Py_ssize_t *strides, Py_ssize_t itemsize,
                       Py_ssize_t size, int64_t *numbers, DLPackTensor *out)
{
    out->ndim = ndim;
    out->shape = ndim ? numbers : NULL;
    out->strides = ndim ? numbers + ndim : NULL;
    for (int i = 0; i < ndim; i++) {
        bool matters = size && shape[i] > 1;
        if (matters && (!itemsize || strides[i] % itemsize)) {
            PyErr_Format(PyExc_BufferError,
                         "DLPack only supports strides which are a multiple of itemsize: a stride is %zd "
                         "bytes, itemsize %zd",
                         strides[i], itemsize);
            return -1;
        }
        numbers[i] = shape[i];
        numbers[ndim + i] = itemsize ? strides[i] / itemsize : 0;
    }
    return 0;
}

int dlpack_fill(GPUArrayObject *array, int64_t *numbers, DLPackTensor *out)
{
    *out = (DLPackTensor){.data = array->size ? (void *)(uintptr_t)array->pointer : NULL};
    if (find_device(array, &out->device) < 0 || dlpack_dtype_of(array->dtype, &out->dtype) < 0) return -1;
    return fill_layout(array->ndim, array->shape, array->strides, array->itemsize, array->size, numbers, out);
}

static int fill_host(PyArrayObject *array, int64_t *numbers, DLPackTensor *out)
{
    *out = (DLPackTensor){.data = PyArray_DATA(array), .device = {DLPACK_CPU, 0}};
    if (dlpack_dtype_of(PyArray_DESCR(array), &out->dtype) < 0) return -1;
    return fill_layout(PyArray_NDIM(array), PyArray_DIMS(array), PyArray_STRIDES(array),
                       PyArray_ITEMSIZE(array), PyArray_SIZE(array), numbers, out);
}

static int fill_tensor(PyObject *array, int64_t *numbers, DLPackTensor *out)
{
    return PyArray_Check(array) ? fill_host((PyArrayObject *)array, numbers, out)
                                : dlpack_fill(gpuarray_cast(array), numbers, out);
}

static int ndim_of(PyObject *array)
{
    return PyArray_Check(array) ? PyArray_NDIM((PyArrayObject *)array) : gpuarray_cast(array)->ndim;
}

static Export *export_versioned(PyObject *array, uint64_t flags)
{
    Export *export = new_export(array, ndim_of(array));
    if (!export) return NULL;
    DLPackVersioned *tensor = &export->tensor.versioned;
    if (fill_tensor(array, export->numbers, &tensor->tensor) < 0) {
        free_export(export);
        return NULL;
    }
    tensor->version = (DLPackVersion){DLPACK_MAJOR, DLPACK_MINOR};
    tensor->owner = export;
    tensor->deleter = delete_versioned;
    tensor->flags = flags;
    return export;
}

static Export *export_plain(PyObject *array)
{
    Export *export = new_export(array, ndim_of(array));
    if (!export) return NULL;
    DLPackPlain *tensor = &export->tensor.plain;
    if (fill_tensor(array, export->numbers, &tensor->tensor) < 0) {
        free_export(export);
        return NULL;
    }
    tensor->owner = export;
    tensor->deleter = delete_plain;
    return export;
}

DLPackVersioned *dlpack_export(GPUArrayObject *array)
{
    Export *export = export_versioned((PyObject *)array, array->read_only ? DLPACK_READ_ONLY : 0);
    return export ? &export->tensor.versioned : NULL;
}

/* ---- The request ---- */

/* The arguments of __dlpack__, and the device of the array. */
typedef struct ExportRequest {
    DLPackDevice device; /* of the tensor */
    bool versioned; /* the consumer takes a DLPackVersioned */
    bool converts; /* the consumer wants a tensor in host memory of an array elsewhere */
    bool copies; /* copy=True */
    bool keeps; /* copy=False */
    CUstream consumer;
    bool ordered; /* the consumer's stream is to be ordered after the array's work */
    bool by_mpi; /* stream=-1 and copy=False: the consumer has no stream and will not wait */
    bool host; /* no stream was named: the consumer may be the host */
} ExportRequest;

/* Reads the argument `stream`. None is the default stream, or, if the host can access the memory, perhaps the
 * host. -1 is a stream that is not ordered. -1 with an exception. */
static int read_stream(PyObject *value, ExportRequest *request)
{
    unsigned long long number = 0;
    request->ordered = true;
    request->consumer = CU_STREAM_LEGACY;
    request->host = !value || value == Py_None;
    if (request->host) return 0;
    if (PyBool_Check(value) || !PyLong_Check(value)) {
        PyErr_Format(PyExc_TypeError, "stream must be None or an int (1, 2, -1 or a CUstream), not %.100s",
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    if (PyLong_AsLongLong(value) == -1 && !PyErr_Occurred()) {
        request->ordered = false;
        return 0;
    }
    PyErr_Clear();
    if (convert_bits(value, "stream", 64, &number) < 0) return -1;
    request->consumer = (CUstream)(uintptr_t)number;
    if (number) return 0;
    PyErr_SetString(PyExc_ValueError,
                    "stream is 0, which is ambiguous: 1 is the legacy default stream, 2 the per-thread one");
    return -1;
}

static int read_pair(PyObject *value, const char *what, long out[2])
{
    PyObject *items = PyTuple_Check(value) && PyTuple_GET_SIZE(value) == 2 ? value : NULL;
    for (int i = 0; items && i < 2; i++) out[i] = PyLong_AsLong(PyTuple_GET_ITEM(items, i));
    if (!items && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%s must be a tuple of two integers, not %R", what, value);
    return PyErr_Occurred() ? -1 : 0;
}

static int read_requested_device(PyObject *value, ExportRequest *request)
{
    long wanted[2] = {0, 0};
    if (!value || value == Py_None) return 0;
    if (read_pair(value, "dl_device", wanted) < 0) return -1;
    if (wanted[0] == request->device.kind && wanted[1] == request->device.number) return 0;
    if (wanted[0] == DLPACK_CPU) {
        request->converts = true;
        return 0;
    }
    PyErr_Format(PyExc_BufferError, "the array is on DLPack device (%d, %d), not on (%ld, %ld)",
                 request->device.kind, request->device.number, wanted[0], wanted[1]);
    return -1;
}

static int read_request(GPUArrayObject *array, PyObject *const given[4], ExportRequest *request)
{
    long version[2] = {0, 0};
    *request = (ExportRequest){0};
    if (find_device(array, &request->device) < 0 || read_stream(given[0], request) < 0) return -1;
    if (given[1] && given[1] != Py_None && read_pair(given[1], "max_version", version) < 0) return -1;
    request->versioned = version[0] >= DLPACK_MAJOR;
    if (read_requested_device(given[2], request) < 0) return -1;
    if (given[3] && given[3] != Py_None) {
        int copy = PyObject_IsTrue(given[3]);
        if (copy < 0) return -1;
        request->copies = copy;
        request->keeps = !copy;
    }
    request->by_mpi = !request->ordered && request->keeps;
    if (!request->converts || !request->keeps || host_sees(request->device)) return 0;
    PyErr_SetString(PyExc_BufferError,
                    "exporting an array in device memory to the host requires a copy, but copy is False");
    return -1;
}

/* ---- Order ---- */

/* Notes in memory of a pool that the consumer's stream uses it, if that is a default stream. Any other stream
 * may be destroyed without notice: then the memory is freed at its end and not held by the pool
 * (pooled_lend). -1 with an exception. */
static int note_consumer(GPUArrayObject *array, CUstream consumer)
{
    PyObject *object = (PyObject *)array;
    if (consumer == CU_STREAM_LEGACY || consumer == CU_STREAM_PER_THREAD)
        return pooled_note(array->state, &object, 1, NULL, consumer == CU_STREAM_LEGACY ? NULL : consumer);
    if (consumer != gpuarray_stream(array)) pooled_lend(array->allocation);
    return 0;
}

/* -1 with LogicError if a wait for the stream would end a capture. */
static int refuse_capture(ModuleState *state, CUstream stream)
{
    if (!captured_holds(state, stream)) return 0;
    raise_logic(state, "the work on an array cannot be waited for in a capture: give the array to another "
                       "process or to the host before the capture, or after a launch of the graph");
    return -1;
}

/* Orders the stream `consumer` after the stream `work`. -1 with an exception; if the host is going to wait
 * for the consumer, with LogicError if `work` is captured. */
static int order_one(ModuleState *state, CUstream work, CUstream consumer, bool waits)
{
    if (waits && refuse_capture(state, work) < 0) return -1;
    ForeignArray there = {.has_stream = true, .stream = work ? work : CU_STREAM_LEGACY};
    return foreign_order(state, &there, consumer);
}

/* Orders the stream `consumer` after the streams on which the array was used: a pool's memory remembers them;
 * of other memory only the current stream is known. -1 with an exception. */
static int order_all(GPUArrayObject *array, CUstream consumer, bool waits)
{
    ModuleState *state = array->state;
    bool pooled = array->allocation && array->allocation->pooled;
    if (elsewhere_return(array->allocation, NULL) < 0) return -1;
    CUstream used = pooled ? NULL : transfer_mode_blocking(state).stream;
    int failed = order_one(state, gpuarray_stream(array), consumer, waits);
    if (!failed && used) failed = order_one(state, used, consumer, waits);
    for (int i = 0; pooled && !failed && pooled_used_stream(array->allocation, i, &used); i++)
        failed = order_one(state, used, consumer, waits);
    return failed;
}

/* As order_all(); waits: then waits for the consumer's stream. */
static int order_here(GPUArrayObject *array, CUstream consumer, bool waits)
{
    if (waits && refuse_capture(array->state, consumer) < 0) return -1;
    if (order_all(array, consumer, waits) < 0) return -1;
    return waits ? gpu_cuStreamSynchronize(array->state, consumer) : 0;
}

/* As order_here(), in the array's context. */
static int order_there(GPUArrayObject *array, CUstream consumer, bool waits)
{
    ContextScope scope;
    if (!array->size) return 0;
    if (!array->allocation || !array->allocation->context) return order_here(array, consumer, waits);
    if (!context_enter_scope(array->allocation->context, &scope)) return 0;
    int failed = order_here(array, consumer, waits);
    context_leave_scope(&scope);
    return failed;
}

int gpuarray_order(GPUArrayObject *array, CUstream consumer) { return order_there(array, consumer, false); }

/* Waits for the work on the array, before the host reads it. */
static int wait_for_work(GPUArrayObject *array)
{
    return order_there(array, CU_STREAM_LEGACY, true) < 0 ? -1 : PyErr_CheckSignals();
}

PyDoc_STRVAR(wait_for_work_doc, "_wait_for_work(array, /)\n--\n\n"
                                "Wait for the work on the array, as far as its streams are known.");

static PyObject *wait_for_work_py(PyObject *module, PyObject *array)
{
    if (!gpuarray_check(module_state(module), array))
        return PyErr_Format(PyExc_TypeError, "array must be a GPUArray");
    if (gpuarray_check_memory(gpuarray_cast(array)) < 0) return NULL;
    return none_unless(wait_for_work(gpuarray_cast(array)));
}

PyMethodDef dlpack_functions[] = {
    {"_wait_for_work", wait_for_work_py, METH_O, wait_for_work_doc},
    {NULL, NULL, 0, NULL},
};

/* mpi4py hands the address to the MPI library, which knows no streams: it reads and writes at once, by copies
 * of its own or on the host. So the work is waited for here, and an MPI library that would access device
 * memory as if it were the host's is refused. -1 with an exception. */
static int order_for_mpi(GPUArrayObject *array, const ExportRequest *request)
{
    PyObject *self = (PyObject *)array;
    if (!array->size) return 0;
    if (!host_sees(request->device)) {
        PyObject *none = gpuarray_call_python(array->state, "interop.message_passing", "check_library", self,
                                              NULL, 0, NULL);
        if (!none) return -1;
        Py_DECREF(none);
    }
    return wait_for_work(array);
}

/* Makes the consumer's stream wait for the array's work, or waits here for a consumer on the host. */
static int order_for_consumer(GPUArrayObject *array, const ExportRequest *request)
{
    if (request->by_mpi) return order_for_mpi(array, request);
    if (!array->size || !request->ordered) return 0;
    if (request->host && host_sees(request->device)) return wait_for_work(array);
    return gpuarray_order(array, request->consumer) < 0 ? -1 : note_consumer(array, request->consumer);
}

/* ---- Capsules ---- */

static PyObject *new_capsule(PyObject *array, bool versioned, uint64_t flags)
{
    if (!versioned && flags & DLPACK_READ_ONLY)
        return PyErr_Format(PyExc_BufferError, "a read-only array needs max_version=(1, 0) or later");
    Export *export = versioned ? export_versioned(array, flags) : export_plain(array);
    if (!export) return NULL;
    PyObject *capsule = versioned ? PyCapsule_New(&export->tensor, DLPACK_VERSIONED, drop_versioned)
                                  : PyCapsule_New(&export->tensor, DLPACK_PLAIN, drop_plain);
    if (!capsule) free_export(export);
    return capsule;
}

/* Exports to the host: a copy, unless the memory is visible to the host. */
static PyObject *export_to_host(GPUArrayObject *array, const ExportRequest *request)
{
    PyObject *host;
    bool copies = !host_sees(request->device) || request->copies;
    if (copies) {
        host = PyObject_CallMethodNoArgs((PyObject *)array, array->state->str_get);
    } else {
        if (wait_for_work(array) < 0) return NULL;
        PyArray_Descr *dtype = (PyArray_Descr *)Py_NewRef((PyObject *)array->dtype);
        host = PyArray_NewFromDescr(&PyArray_Type, dtype, array->ndim, array->shape, array->strides,
                                    (void *)(uintptr_t)array->pointer, NPY_ARRAY_WRITEABLE, NULL);
        if (host && PyArray_SetBaseObject((PyArrayObject *)host, Py_NewRef((PyObject *)array)) < 0)
            Py_CLEAR(host);
    }
    uint64_t flags = 0;
    if (copies)
        flags = DLPACK_IS_COPIED;
    else if (array->read_only)
        flags = DLPACK_READ_ONLY;
    PyObject *capsule = host ? new_capsule(host, request->versioned, flags) : NULL;
    Py_XDECREF(host);
    return capsule;
}

static PyObject *export_copy(GPUArrayObject *array, ExportRequest *request)
{
    PyObject *copy = transfer_copy(array, 'K', array->allocator, transfer_mode_blocking(array->state));
    PyObject *capsule = NULL;
    if (copy && find_device(gpuarray_cast(copy), &request->device) == 0
        && order_for_consumer(gpuarray_cast(copy), request) == 0)
        capsule = new_capsule(copy, request->versioned, DLPACK_IS_COPIED);
    Py_XDECREF(copy);
    return capsule;
}

const char gpuarray_dlpack_doc[] = PyDoc_STR(
    "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
    "The array for another library, as the Python specification of DLPack says.\n"
    "\nParameters\n----------\n"
    "stream : int\n"
    "    Of the consumer, whose work comes after the array's: a CUstream; 1 and None are the\n"
    "    default stream, 2 is that of the thread, -1 leaves the order to the consumer,\n"
    "    unless copy is False.\n"
    "max_version : (int, int)\n"
    "    (1, 0) or later gives a capsule \"dltensor_versioned\".\n"
    "dl_device : (int, int)\n    (1, 0), the host, gives a copy there.\n"
    "copy : bool\n"
    "    True gives a copy. False never gives one; with stream=-1, as mpi4py asks, it waits\n"
    "    for the work on the array: the MPI library has no stream and does not wait.\n"
    "\nReturns\n-------\n"
    "capsule\n"
    "\nRaises\n------\n"
    "BufferError\n"
    "    DLPack has no such dtype or strides, what is requested takes a copy that is not wanted, or\n"
    "    the MPI library cannot access device memory.\n"
    "\nNotes\n-----\n"
    "Memory that the host sees, managed or page-locked, is waited for when stream is None: the\n"
    "consumer may be NumPy.");

static const char dlpack_arguments[] =
    "__dlpack__($self, stream=None, max_version=None, dl_device=None, copy=None)";

PyObject *gpuarray_dlpack(PyObject *self, FAST_PARAMETERS)
{
    GPUArrayObject *array = gpuarray_cast(self);
    PyObject *given[4];
    ExportRequest request;
    if (arg_count) return PyErr_Format(PyExc_TypeError, "__dlpack__() takes keyword arguments only");
    if (convert_arguments(dlpack_arguments, args, arg_count, keywords, GIVEN(given)) < 0
        || read_request(array, given, &request) < 0)
        return NULL;
    if (request.converts) return export_to_host(array, &request);
    if (request.copies) return export_copy(array, &request);
    PyObject *capsule = new_capsule(self, request.versioned, array->read_only ? DLPACK_READ_ONLY : 0);
    if (capsule && order_for_consumer(array, &request) < 0) Py_CLEAR(capsule);
    return capsule;
}

const char gpuarray_dlpack_device_doc[] =
    PyDoc_STR("__dlpack_device__($self)\n--\n\n"
              "Type and index of the device, in DLPack's numbering.\n"
              "\nReturns\n-------\n"
              "(int, int)\n"
              "    2 is CUDA, 3 page-locked memory, 13 managed memory.");

PyObject *gpuarray_dlpack_device(PyObject *self, PyObject *Py_UNUSED(none))
{
    DLPackDevice device;
    if (find_device(gpuarray_cast(self), &device) < 0) return NULL;
    return Py_BuildValue("(ii)", device.kind, device.number);
}
