/* See blas_handle.h. */
#include "ext/library/blas_handle.h"

#include "ext/base/types.h"
#include "ext/context/owner.h"
#include "ext/convert/convert.h"
#include "ext/library/library.h"
#include "ext/memory/device_pointer.h"
#include "ext/memory/pooled_allocation.h"
#include "ext/stream/stream.h"

typedef struct BlasHandleObject {
    OWNER_HEAD
    cublasHandle_t handle;
    PyObject *workspace; /* owned: what it queued uses it */
} BlasHandleObject;

static BlasHandleObject *handle_cast(PyObject *object) { return (BlasHandleObject *)object; }

bool blas_handle_value(ModuleState *state, PyObject *value, uint64_t *out)
{
    if (Py_TYPE(value) != state->_BlasHandle_type) return false;
    if (context_check(handle_cast(value)->context, "the handle of cuBLAS"))
        *out = (uint64_t)(uintptr_t)handle_cast(value)->handle;
    return true;
}

static void destroy(PyObject *self)
{
    BlasHandleObject *blas = handle_cast(self);
    ContextScope scope;
    LIVE_LESS(blas->state, BlasHandle);
    if (!context_enter(blas->context, &scope)) return;
    end_cublasDestroy_v2(blas->state, blas->handle);
    context_leave(&scope);
}

static void handle_dealloc(PyObject *self)
{
    if (!owner_dealloc_begin(self, handle_dealloc, destroy)) return;
    Py_XDECREF(handle_cast(self)->workspace);
    owner_dealloc_end(self);
}

/* In a scope, in which a capture forbids nothing: the library allocates memory for a handle. */
static int create(BlasHandleObject *blas)
{
    ContextScope scope;
    if (!context_enter(blas->context, &scope)) {
        context_raise_dead(blas->context, "cuBLAS");
        return -1;
    }
    int failed = lib_cublasCreate_v2(blas->state, &blas->handle);
    context_leave(&scope);
    return failed;
}

PyDoc_STRVAR(handle_doc, "_BlasHandle()\n--\n\n"
                         "A handle of cuBLAS in the current context.\n"
                         "\nRaises\n------\n"
                         "LibraryError\n    The library has no memory for it, or does not know the device.\n"
                         "\nNotes\n-----\n"
                         "Calls cublasCreate.");

static PyObject *handle_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    ModuleState *state = state_of_type(type);
    PyObject *self;
    if (convert_call(handle_doc, args, kwargs, NOTHING_GIVEN) < 0 || !(self = owner_new(state, type)))
        return NULL;
    if (create(handle_cast(self)) == 0) return owner_own(self, &state->live_BlasHandle);
    Py_DECREF(self);
    return NULL;
}

PyDoc_STRVAR(use_doc, "use($self, stream, workspace, size)\n--\n\n"
                      "Queue on this stream from now on, with this memory, which is kept.\n"
                      "\nParameters\n----------\n"
                      "stream : Stream or None\n"
                      "workspace : DeviceAllocation or GPUArray\n    That nothing else uses.\n"
                      "size : int\n    In bytes.\n"
                      "\nNotes\n-----\n"
                      "Calls cublasSetStream, cublasSetWorkspace.");

static PyObject *handle_use(PyObject *self, FAST_PARAMETERS)
{
    BlasHandleObject *blas = handle_cast(self);
    PyObject *stream_object, *workspace;
    CUstream stream;
    CUdeviceptr memory;
    size_t size;
    if (READ_ARGUMENTS(use_doc, INTO(&stream_object), INTO(&workspace), INTO(&size)) < 0
        || convert_stream(blas->state, stream_object, &stream) < 0
        || convert_range_on(blas->state, workspace, "workspace", size, stream, &memory) < 0
        || pooled_note(blas->state, &workspace, 1, stream_object, stream) < 0
        || lib_cublasSetStream_v2(blas->state, blas->handle, (cudaStream_t)stream) < 0
        || lib_cublasSetWorkspace_v2(blas->state, blas->handle, (void *)(uintptr_t)memory, size) < 0)
        return NULL;
    Py_XSETREF(blas->workspace, Py_NewRef(workspace));
    Py_RETURN_NONE;
}

static PyMethodDef handle_methods[] = {
    {"use", AS_METHOD(handle_use), FAST_KEYWORDS, use_doc},
    {NULL, NULL, 0, NULL},
};

const TypeSpec _BlasHandle_spec = {
    TYPE_WITH_WEAK_REFERENCES("pycuda._driver._BlasHandle", BlasHandleObject, 0, handle_doc),
    .tp_new = handle_new,
    .tp_dealloc = handle_dealloc,
    TYPE_TABLES(handle_methods, NULL, NULL),
};
