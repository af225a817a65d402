/* See foreign_view.h. */
#include "ext/gpuarray/foreign_view.h"

#include "ext/base/deferred.h"
#include "ext/base/errors.h"
#include "ext/base/numpy_api.h"
#include "ext/base/types.h"
#include "ext/context/keep_alive.h"
#include "ext/convert/convert.h"
#include "ext/convert/dlpack.h"
#include "ext/memory/array_device.h"

/* ---- What keeps the owner ---- */

enum { LARGE_BYTES = 1 << 20 }; /* an array of that size must not live until the stream is waited for */

/* The base of a view on whose stream the owner does not release memory by itself: releases the owner when
 * the work queued there at the end of the view is done. */
typedef struct BorrowedObject {
    PyObject_HEAD
    ModuleState *state;
    ContextObject *context; /* a reference */
    CUstream stream;
    PyObject *stream_object, *owner; /* owned; the first may be NULL */
    bool large; /* at least LARGE_BYTES */
} BorrowedObject;

static BorrowedObject *borrowed_cast(PyObject *object) { return (BorrowedObject *)object; }

static int borrowed_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(borrowed_cast(self)->owner);
    Py_VISIT(borrowed_cast(self)->stream_object);
    return 0;
}

/* Keeps the owner until the work on the stream is done. The stream itself is not kept: the end of a stream of
 * this module seals the batch (keep_alive.h); the end of another library's stream is not noticed, so an event
 * is recorded now. If there is no memory for that, it is reported, and the owner may free its memory too
 * early. */
static void keep_owner(BorrowedObject *borrowed)
{
    ModuleState *state = borrowed->state;
    PyObject *type, *value, *traceback;
    bool is_foreign =
        borrowed->stream_object && !PyObject_TypeCheck(borrowed->stream_object, state->Stream_type);
    PyErr_Fetch(&type, &value, &traceback);
    int kept = borrowed->large || is_foreign
                   ? keep_alive_until_now(state, borrowed->context, borrowed->stream, borrowed->owner)
                   : keep_alive(state, borrowed->context, borrowed->stream, borrowed->owner, NULL);
    if (kept < 0) PyErr_WriteUnraisable(NULL);
    PyErr_Restore(type, value, traceback);
}

static int borrowed_clear(PyObject *self)
{
    BorrowedObject *borrowed = borrowed_cast(self);
    if (borrowed->state && borrowed->owner && !atomic_load(&borrowed->context->dead) && !forked_after_init()
        && !ext_is_finalizing())
        keep_owner(borrowed);
    Py_CLEAR(borrowed->owner);
    Py_CLEAR(borrowed->stream_object);
    return 0;
}

static void borrowed_dealloc(PyObject *self)
{
    BorrowedObject *borrowed = borrowed_cast(self);
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (borrowed->state && deferred_dealloc(borrowed->state, borrowed_dealloc, self)) return;
    borrowed_clear(self);
    Py_XDECREF((PyObject *)borrowed->context);
    type->tp_free(self);
    Py_DECREF(type);
}

const TypeSpec Borrowed_spec = {
    TYPE_OF("pycuda.driver.Borrowed", BorrowedObject, 0,
            "Keeps another library's array until the work queued with it is done."),
    .tp_dealloc = borrowed_dealloc,
    .tp_traverse = borrowed_traverse,
    .tp_clear = borrowed_clear,
};

/* The owner of a view's memory: it holds the other library's object until the stream's work is done. */
static PyObject *new_borrowed(ModuleState *state, PyObject *owner, Py_ssize_t bytes, TransferMode mode)
{
    ContextObject *context = context_current(state);
    if (!context) return NULL;
    BorrowedObject *borrowed = borrowed_cast(state->Borrowed_type->tp_alloc(state->Borrowed_type, 0));
    if (!borrowed) {
        Py_DECREF((PyObject *)context);
        return NULL;
    }
    borrowed->state = state;
    borrowed->context = context;
    borrowed->stream = mode.stream;
    borrowed->stream_object = mode.stream_object == Py_None ? NULL : Py_XNewRef(mode.stream_object);
    borrowed->owner = Py_NewRef(owner);
    borrowed->large = bytes >= LARGE_BYTES;
    return (PyObject *)borrowed;
}

/* ---- Views ---- */

PyObject *foreign_view_of(ModuleState *state, const ForeignArray *array, ForeignLayout *layout,
                          TransferMode mode)
{
    PyArray_Descr *dtype = (PyArray_Descr *)Py_NewRef((PyObject *)layout->dtype);
    Py_ssize_t size = strides_count(layout->ndim, layout->shape, PyDataType_ELSIZE(dtype));
    bool released_in_order = array->has_stream && foreign_same_stream(array->stream, mode.stream);
    PyObject *view = NULL, *owner = NULL;
    if (foreign_order(state, array, mode.stream) == 0)
        owner = released_in_order ? Py_NewRef(layout->owner)
                                  : new_borrowed(state, layout->owner, size * PyDataType_ELSIZE(dtype), mode);
    if (owner)
        view = gpuarray_new_over(state, dtype, layout->ndim, layout->shape, layout->strides,
                                 size ? array->pointer : 0, owner);
    else
        Py_DECREF((PyObject *)dtype);
    if (view) {
        gpuarray_cast(view)->read_only = layout->read_only;
        gpuarray_cast(view)->place = array->device < 0 ? PLACE_UNKNOWN : PLACE_ON + array->device;
    }
    Py_XDECREF(owner);
    foreign_layout_clear(layout);
    return view;
}

static int refuse_host(PyObject *object)
{
    const char *how = PyArray_Check(object)
                          ? "pycuda.gpuarray.to_gpu()"
                          : "pycuda.gpuarray.from_dlpack(..., copy=True), or to_gpu() of NumPy's,";
    PyErr_Format(PyExc_TypeError, "%s is in host memory: %s makes a GPUArray of it", Py_TYPE(object)->tp_name,
                 how);
    return -1;
}

int foreign_view_retained(ModuleState *state, PyObject *object, TransferMode mode, PyObject **out)
{
    ForeignArray array;
    ForeignLayout layout;
    int found = dlpack_describe_exchanged(state, object, true, &array, &layout);
    if (found <= 0) return found;
    *out = foreign_view_of(state, &array, &layout, mode);
    return *out ? 1 : -1;
}

PyObject *foreign_view_of_capsule(ModuleState *state, PyObject *capsule, TransferMode mode)
{
    ForeignArray array;
    ForeignLayout layout;
    return dlpack_take(state, capsule, &array, &layout) < 0 ? NULL
                                                            : foreign_view_of(state, &array, &layout, mode);
}

int foreign_view(ModuleState *state, PyObject *object, TransferMode mode, PyObject **out)
{
    ForeignArray array;
    ForeignLayout layout;
    if (PyArray_CheckExact(object)) return refuse_host(object);
    if (!foreign_is_possible(state, object)) return 0;
    int found = foreign_describe(state, object, mode.stream, &array, &layout);
    if (found == 0 && array.on_host && !mode.host_too) return refuse_host(object);
    if (found <= 0) return found;
    *out = foreign_view_of(state, &array, &layout, mode);
    return *out ? 1 : -1;
}

PyObject *foreign_out(ModuleState *state, PyObject *object, TransferMode mode)
{
    PyObject *array = NULL;
    if (gpuarray_check(state, object))
        array = Py_NewRef(object);
    else if (foreign_view(state, object, mode, &array) == 0)
        PyErr_Format(PyExc_TypeError, "out must be a GPUArray, not %.200s", Py_TYPE(object)->tp_name);
    if (array && gpuarray_check_writable(gpuarray_cast(array)) < 0) Py_CLEAR(array);
    return array;
}
