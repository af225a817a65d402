/* GPUArray's exchange table: DLPack for callers in C, without capsules and in a few tens of nanoseconds.
 *
 * Nothing here synchronizes: work on arrays is on the current stream, which the table gives.
 */
#include <string.h>

#include "ext/base/errors.h"
#include "ext/base/numpy_api.h"
#include "ext/base/section.h"
#include "ext/convert/convert.h"
#include "ext/gpuarray/dlpack.h"
#include "ext/gpuarray/foreign_view.h"
#include "ext/stream/stream.h"

/* The module's state, for functions that get no object of this module. NULL with an exception. The module
 * lives while this table is called: the type that has it does. */
static ModuleState *find_state(void)
{
    PyObject *module = convert_imported_module("pycuda._driver");
    ModuleState *state = module ? state_of_module(module) : NULL;
    Py_XDECREF(module);
    if (!state) PyErr_SetString(PyExc_RuntimeError, "pycuda._driver is not imported");
    return state;
}

/* The object as a GPUArray, borrowed. NULL with TypeError for other objects. */
static GPUArrayObject *as_array(PyObject *object)
{
    ModuleState *state = state_of_type(Py_TYPE(object));
    if (state && gpuarray_check(state, object)) return gpuarray_cast(object);
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "a GPUArray is expected, not %.100s", Py_TYPE(object)->tp_name);
    return NULL;
}

/* Notes that the caller uses the array on the current stream. */
static int note_use(GPUArrayObject *array)
{
    return array->size ? transfer_use(array, transfer_mode_blocking(array->state))
                       : gpuarray_check_memory(array);
}

static int export_managed(void *object, DLPackVersioned **out)
{
    SECTION_BEGIN();
    GPUArrayObject *array = as_array(object);
    *out = array && note_use(array) == 0 ? dlpack_export(array) : NULL;
    SECTION_END();
    return *out ? 0 : -1;
}

static int export_borrowed(void *object, DLPackTensor *out)
{
    int failed;
    SECTION_BEGIN();
    GPUArrayObject *array = as_array(object);
    failed = array && note_use(array) == 0 ? dlpack_fill(array, array->elements, out) : -1;
    SECTION_END();
    return failed;
}

/* Takes the tensor over. On failure it stays the caller's. */
static int import_managed(DLPackVersioned *tensor, void **out)
{
    ForeignArray array;
    ForeignLayout layout;
    *out = NULL;
    SECTION_BEGIN();
    ModuleState *state = find_state();
    if (state && dlpack_read_versioned(state, tensor, &array, &layout) == 0)
        *out = foreign_view_of(state, &array, &layout, transfer_mode_blocking(state));
    SECTION_END();
    return *out ? 0 : -1;
}

static int current_stream(int32_t kind, int32_t Py_UNUSED(number), void **out)
{
    CUstream stream = NULL;
    int failed;
    *out = NULL;
    if (kind == DLPACK_CPU) return 0;
    SECTION_BEGIN();
    ModuleState *state = find_state();
    failed = state ? convert_stream(state, stream_or_current(state, NULL), &stream) : -1;
    SECTION_END();
    if (!failed) *out = stream;
    return failed;
}

/* ---- New arrays ---- */

static PyObject *new_array(ModuleState *state, const DLPackTensor *like)
{
    Py_ssize_t shape[STRIDES_MAX_DIMS];
    PyArray_Descr *dtype = dlpack_dtype_read(like->dtype);
    ContextObject *context = dtype ? context_current(state) : NULL;
    PyObject *array = NULL;
    bool fits = like->ndim >= 0 && like->ndim <= STRIDES_MAX_DIMS;
    if (context && (like->device.kind != DLPACK_CUDA || like->device.number != context->device)) {
        PyErr_Format(PyExc_BufferError, "GPUArrays are allocated on DLPack device (%d, %d), not on (%d, %d)",
                     DLPACK_CUDA, context->device, like->device.kind, like->device.number);
    } else if (context && !fits) {
        PyErr_Format(PyExc_BufferError, "%d dimensions: at most %d are supported", like->ndim,
                     STRIDES_MAX_DIMS);
    } else if (context) {
        for (int i = 0; i < like->ndim; i++) shape[i] = (Py_ssize_t)like->shape[i];
        array = gpuarray_new(state, (PyArray_Descr *)Py_NewRef((PyObject *)dtype), like->ndim, shape, NULL,
                             NULL, stream_or_current(state, NULL));
    }
    Py_XDECREF((PyObject *)context);
    Py_XDECREF((PyObject *)dtype);
    return array;
}

/* Clears the exception, and passes it to a caller that may not use Python's API. */
static void pass_exception(void *context,
                           void (*set_error)(void *context, const char *kind, const char *message))
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    const char *message = text ? PyUnicode_AsUTF8(text) : NULL;
    const char *kind = type ? ((PyTypeObject *)type)->tp_name : "RuntimeError", *dot = strrchr(kind, '.');
    PyErr_Clear();
    set_error(context, dot ? dot + 1 : kind, message ? message : "");
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

/* May be called without the GIL. */
static int allocate_tensor(DLPackTensor *like, DLPackVersioned **out, void *context,
                           void (*set_error)(void *context, const char *kind, const char *message))
{
    PyGILState_STATE held = PyGILState_Ensure();
    SECTION_BEGIN();
    ModuleState *state = find_state();
    PyObject *array = state ? new_array(state, like) : NULL;
    *out = array ? dlpack_export(gpuarray_cast(array)) : NULL;
    Py_XDECREF(array);
    SECTION_END();
    if (!*out) pass_exception(context, set_error);
    PyGILState_Release(held);
    return *out ? 0 : -1;
}

static const DLPackExchange table = {
    .version = {DLPACK_MAJOR, DLPACK_MINOR},
    .allocate = allocate_tensor,
    .export_managed = export_managed,
    .import_managed = import_managed,
    .export_borrowed = export_borrowed,
    .current_stream = current_stream,
};

int dlpack_exchange_setup(PyObject *Py_UNUSED(module), ModuleState *state)
{
    PyObject *capsule = PyCapsule_New((void *)(uintptr_t)&table, DLPACK_EXCHANGE, NULL);
    int failed = capsule ? PyObject_SetAttr((PyObject *)state->_GPUArrayBase_type,
                                            state->str___dlpack_c_exchange_api__, capsule)
                         : -1;
    Py_XDECREF(capsule);
    return failed;
}
