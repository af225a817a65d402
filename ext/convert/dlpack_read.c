/* Arrays of other libraries by DLPack: a type's exchange table, or the method __dlpack__. See dlpack.h. */
#include "ext/base/errors.h"
#include "ext/base/numpy_api.h"
#include "ext/convert/convert.h"
#include "ext/convert/dlpack.h"

#define OWNER_PLAIN "pycuda.dlpack"
#define OWNER_VERSIONED "pycuda.dlpack_versioned"

/* ---- What gives a tensor back ---- */

static void end_plain(DLPackPlain *managed)
{
    if (managed->deleter) managed->deleter(managed);
}

static void end_versioned(DLPackVersioned *managed)
{
    if (managed->deleter) managed->deleter(managed);
}

/* Deleters run other libraries' code: an exception that is set stays. */
static void plain_destructor(PyObject *capsule)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    end_plain(PyCapsule_GetPointer(capsule, OWNER_PLAIN));
    PyErr_Restore(type, value, traceback);
}

static void versioned_destructor(PyObject *capsule)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    end_versioned(PyCapsule_GetPointer(capsule, OWNER_VERSIONED));
    PyErr_Restore(type, value, traceback);
}

/* ---- Reading ---- */

static int check_kind(DLPackDevice device)
{
    if (device.kind == DLPACK_CUDA || device.kind == DLPACK_CUDA_HOST || device.kind == DLPACK_CUDA_MANAGED)
        return 0;
    if (device.kind == DLPACK_CPU)
        PyErr_SetString(PyExc_BufferError,
                        "the array is in host memory: pycuda.gpuarray.to_gpu() copies NumPy's "
                        "arrays, from_dlpack(..., copy=True) any library's");
    else
        PyErr_Format(PyExc_BufferError, "the array is on a device of DLPack's type %d, which is not CUDA",
                     device.kind);
    return -1;
}

static int read_layout(const DLPackTensor *tensor, ForeignLayout *layout)
{
    Py_ssize_t itemsize = PyDataType_ELSIZE(layout->dtype);
    if (tensor->ndim < 0 || tensor->ndim > STRIDES_MAX_DIMS) {
        PyErr_Format(PyExc_BufferError, "%d dimensions: at most %d are supported", tensor->ndim,
                     STRIDES_MAX_DIMS);
        return -1;
    }
    layout->ndim = tensor->ndim;
    for (int i = 0; i < tensor->ndim; i++) layout->shape[i] = (Py_ssize_t)tensor->shape[i];
    if (strides_count(layout->ndim, layout->shape, itemsize) < 0) {
        PyErr_SetString(PyExc_BufferError, STRIDES_COUNT_PROBLEM);
        return -1;
    }
    if (!tensor->strides) strides_fill('C', layout->ndim, layout->shape, itemsize, layout->strides);
    for (int i = 0; tensor->strides && i < tensor->ndim; i++)
        if (__builtin_mul_overflow((Py_ssize_t)tensor->strides[i], itemsize, &layout->strides[i])) {
            PyErr_SetString(PyExc_BufferError, "a stride is too large");
            return -1;
        }
    return 0;
}

/* Fills *out and *layout except its owner, flags included, which become false. -1 with an exception: then
 * nothing has to be cleared. */
static int read_tensor(ModuleState *state, const DLPackTensor *tensor, ForeignArray *out,
                       ForeignLayout *layout)
{
    layout->owner = NULL;
    layout->read_only = layout->is_copy = false;
    layout->dtype = NULL;
    *out = (ForeignArray){.pointer = (CUdeviceptr)(uintptr_t)tensor->data + tensor->byte_offset};
    if (check_kind(tensor->device) < 0 || !(layout->dtype = dlpack_dtype_read(tensor->dtype))) return -1;
    int device = tensor->device.kind == DLPACK_CUDA ? tensor->device.number : -1; /* -1: unknown */
    if (read_layout(tensor, layout) == 0 && foreign_check_pointer(state, out, layout, device) == 0) return 0;
    foreign_layout_clear(layout);
    return -1;
}

/* ---- Capsules ---- */

int dlpack_read_versioned(ModuleState *state, DLPackVersioned *managed, ForeignArray *out,
                          ForeignLayout *layout)
{
    if (managed->version.major != DLPACK_MAJOR) {
        PyErr_Format(PyExc_BufferError, "the array uses DLPack %u.%u, but only version %d is supported",
                     managed->version.major, managed->version.minor, DLPACK_MAJOR);
        return -1;
    }
    if (read_tensor(state, &managed->tensor, out, layout) < 0) return -1;
    layout->read_only = managed->flags & DLPACK_READ_ONLY;
    layout->is_copy = managed->flags & DLPACK_IS_COPIED;
    layout->owner = PyCapsule_New(managed, OWNER_VERSIONED, versioned_destructor);
    if (layout->owner) return 0;
    foreign_layout_clear(layout);
    return -1;
}

/* Takes the tensor over: the layout's owner deletes it, or it is deleted here on failure. */
static int take_versioned(ModuleState *state, DLPackVersioned *managed, ForeignArray *out,
                          ForeignLayout *layout)
{
    PyObject *type, *value, *traceback;
    if (dlpack_read_versioned(state, managed, out, layout) == 0) return 0;
    PyErr_Fetch(&type, &value, &traceback);
    end_versioned(managed);
    PyErr_Restore(type, value, traceback);
    return -1;
}

/* As take_versioned(), for a tensor without a version. */
static int take_plain(ModuleState *state, DLPackPlain *managed, ForeignArray *out, ForeignLayout *layout)
{
    if (read_tensor(state, &managed->tensor, out, layout) == 0) {
        layout->owner = PyCapsule_New(managed, OWNER_PLAIN, plain_destructor);
        if (layout->owner) return 0;
        foreign_layout_clear(layout);
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    end_plain(managed);
    PyErr_Restore(type, value, traceback);
    return -1;
}

int dlpack_take(ModuleState *state, PyObject *capsule, ForeignArray *out, ForeignLayout *layout)
{
    bool versioned = PyCapsule_IsValid(capsule, DLPACK_VERSIONED);
    if (!versioned && !PyCapsule_IsValid(capsule, DLPACK_PLAIN)) {
        const char *name = PyCapsule_CheckExact(capsule) ? PyCapsule_GetName(capsule) : NULL;
        PyErr_Format(name ? PyExc_BufferError : PyExc_TypeError,
                     "__dlpack__() must return an unused capsule with a tensor, not %.100s",
                     name ? name : Py_TYPE(capsule)->tp_name);
        return -1;
    }
    void *managed = PyCapsule_GetPointer(capsule, versioned ? DLPACK_VERSIONED : DLPACK_PLAIN);
    if (!managed || PyCapsule_SetName(capsule, versioned ? DLPACK_VERSIONED_USED : DLPACK_PLAIN_USED) < 0)
        return -1;
    return versioned ? take_versioned(state, managed, out, layout) : take_plain(state, managed, out, layout);
}

/* ---- Exchange tables ---- */

/* *out: the newest exchange table of the object's type that has our major version. 1; 0 when there is none;
 * -1 with an exception. */
static int find_exchange(ModuleState *state, PyObject *object, DLPackExchange **out)
{
    PyObject *capsule;
    int found =
        convert_find_attribute((PyObject *)Py_TYPE(object), state->str___dlpack_c_exchange_api__, &capsule);
    if (found <= 0) return found;
    *out =
        PyCapsule_IsValid(capsule, DLPACK_EXCHANGE) ? PyCapsule_GetPointer(capsule, DLPACK_EXCHANGE) : NULL;
    while (*out && (*out)->version.major != DLPACK_MAJOR) *out = (*out)->previous;
    Py_DECREF(capsule);
    return *out != NULL;
}

static int check_answer(int result, const char *what)
{
    if (result && !PyErr_Occurred())
        PyErr_Format(PyExc_BufferError, "%s of a DLPack exchange table failed without an exception", what);
    return result ? -1 : 0;
}

/* Sets the array's stream: the library's work, and the release of its memory, are on its current stream. */
static int read_current_stream(const DLPackExchange *table, DLPackDevice device, ForeignArray *out)
{
    void *stream = NULL;
    if (check_answer(table->current_stream(device.kind, device.number, &stream), "current_work_stream") < 0)
        return -1;
    out->has_stream = true;
    out->stream = stream ? (CUstream)stream : CU_STREAM_LEGACY;
    return 0;
}

/* Describes an array without taking its memory over: the layout's owner is the object itself. 1, 0 when the
 * memory is the host's (out->on_host), -1 with an exception. */
static int describe_borrowed(ModuleState *state, const DLPackExchange *table, PyObject *object,
                             ForeignArray *out, ForeignLayout *layout)
{
    DLPackTensor tensor;
    if (check_answer(table->export_borrowed(object, &tensor), "dltensor_from_py_object") < 0) return -1;
    out->on_host = tensor.device.kind == DLPACK_CPU;
    if (out->on_host) return 0;
    if (read_tensor(state, &tensor, out, layout) < 0) return -1;
    if (read_current_stream(table, tensor.device, out) < 0) {
        foreign_layout_clear(layout);
        return -1;
    }
    layout->owner = Py_NewRef(object);
    return 1;
}

int dlpack_describe_exchanged(ModuleState *state, PyObject *object, bool retained, ForeignArray *out,
                              ForeignLayout *layout)
{
    DLPackExchange *table = NULL;
    DLPackVersioned *managed = NULL;
    int found = find_exchange(state, object, &table);
    if (found <= 0) return found;
    if (table->export_borrowed && !retained) return describe_borrowed(state, table, object, out, layout);
    if (check_answer(table->export_managed(object, &managed), "managed_tensor_from_py_object") < 0) return -1;
    DLPackDevice device = managed->tensor.device;
    if (device.kind == DLPACK_CPU) {
        end_versioned(managed);
        *out = (ForeignArray){.on_host = true};
        return 0;
    }
    if (take_versioned(state, managed, out, layout) < 0) return -1;
    if (read_current_stream(table, device, out) == 0) return 1;
    foreign_layout_clear(layout);
    return -1;
}

/* ---- __dlpack__ ---- */

/* CUDA's streams as numbers of DLPack: 1 is the default one. */
static PyObject *stream_number(CUstream stream)
{
    return PyLong_FromUnsignedLongLong(stream ? (unsigned long long)(uintptr_t)stream : 1);
}

/* Calls __dlpack__ for work on the consumer's stream: a new reference to the capsule. Libraries with a DLPack
 * before 1.0 do not know max_version: they are called again without it. */
static PyObject *call_export(PyObject *method, CUstream consumer)
{
    PyObject *stream = stream_number(consumer), *nothing = PyTuple_New(0), *capsule = NULL;
    PyObject *keywords =
        stream ? Py_BuildValue("{sOs(ii)}", "stream", stream, "max_version", DLPACK_MAJOR, DLPACK_MINOR)
               : NULL;
    if (keywords && nothing) capsule = PyObject_Call(method, nothing, keywords);
    if (!capsule && keywords && nothing && PyErr_ExceptionMatches(PyExc_TypeError)
        && PyDict_DelItemString(keywords, "max_version") == 0) {
        PyErr_Clear();
        capsule = PyObject_Call(method, nothing, keywords);
    }
    Py_XDECREF(keywords);
    Py_XDECREF(nothing);
    Py_XDECREF(stream);
    return capsule;
}

/* 1 when the object's memory is the host's: its __dlpack__ takes no stream. 0 when it is not, or the object
 * does not say where it is; -1 with an exception. */
static int is_on_host(ModuleState *state, PyObject *object)
{
    PyObject *method, *device = NULL;
    long kind = 0;
    int found = convert_find_attribute(object, state->str___dlpack_device__, &method);
    if (found <= 0) return found;
    device = PyObject_CallNoArgs(method);
    Py_DECREF(method);
    if (device && PyTuple_Check(device) && PyTuple_GET_SIZE(device) == 2)
        kind = PyLong_AsLong(PyTuple_GET_ITEM(device, 0));
    else if (device)
        PyErr_SetString(PyExc_TypeError, "__dlpack_device__() must return a tuple of two integers");
    Py_XDECREF(device);
    return PyErr_Occurred() ? -1 : kind == DLPACK_CPU;
}

int dlpack_describe_exported(ModuleState *state, PyObject *object, CUstream consumer, ForeignArray *out,
                             ForeignLayout *layout)
{
    PyObject *method;
    int found = convert_find_attribute(object, state->str___dlpack__, &method);
    if (found <= 0) return found;
    int host = is_on_host(state, object);
    if (host) {
        Py_DECREF(method);
        *out = (ForeignArray){.on_host = true};
        return host < 0 ? -1 : 0;
    }
    PyObject *capsule = call_export(method, consumer);
    found = capsule && dlpack_take(state, capsule, out, layout) == 0 ? 1 : -1;
    Py_XDECREF(capsule);
    Py_DECREF(method);
    return found;
}

bool dlpack_is_array(ModuleState *state, PyObject *object)
{
    return PyObject_HasAttr((PyObject *)Py_TYPE(object), state->str___dlpack_c_exchange_api__)
           || PyObject_HasAttr(object, state->str___dlpack__);
}
