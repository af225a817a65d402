/* See copy_shaped.h. */
#include "ext/texture/copy_shaped.h"

#include <string.h>

#include "ext/base/constants.h"
#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"
#include "ext/memory/copy.h"

/* ---- The object ---- */

PyDoc_STRVAR(doc_2d,
             "Memcpy2D()\n--\n\n"
             "A copy of rows: set both ends and the fields, then call it. All fields are 0 at first.");

PyDoc_STRVAR(doc_3d, "Memcpy3D()\n--\n\n"
                     "A copy of planes of rows: Memcpy2D with a third dimension; depth must be set.");

PyDoc_STRVAR(doc_peer, "Memcpy3DPeer()\n--\n\n"
                       "Memcpy3D between two contexts, set by set_src_context and set_dst_context.");

static PyObject *shaped_tp_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static const char *const signatures[] = {
        [SHAPED_2D] = doc_2d, [SHAPED_3D] = doc_3d, [SHAPED_PEER] = doc_peer};
    ModuleState *state = state_of_type(type);
    ShapedKind kind = SHAPED_PEER;
    if (PyType_IsSubtype(type, state->Memcpy2D_type)) kind = SHAPED_2D;
    if (PyType_IsSubtype(type, state->Memcpy3D_type)) kind = SHAPED_3D;
    if (convert_call(signatures[kind], args, kwargs, NOTHING_GIVEN) < 0) return NULL;
    ShapedCopyObject *self = shaped_cast(type->tp_alloc(type, 0));
    if (!self) return NULL;
    self->state = state;
    self->kind = kind;
    self->copy.Depth = self->kind == SHAPED_2D;
    self->ends[SHAPED_SRC].size = self->ends[SHAPED_DST].size = SIZE_MAX;
    return (PyObject *)self;
}

static int shaped_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    for (int side = 0; side < 2; side++) {
        Py_VISIT(shaped_cast(self)->ends[side].object);
        Py_VISIT(shaped_cast(self)->ends[side].context);
    }
    return 0;
}

/* The addresses are cleared with the objects that keep their memory, so that no copy uses them anymore. */
static int shaped_clear(PyObject *self)
{
    shaped_cast(self)->copy = (CUDA_MEMCPY3D_PEER){0};
    for (int side = 0; side < 2; side++) {
        Py_CLEAR(shaped_cast(self)->ends[side].object);
        Py_CLEAR(shaped_cast(self)->ends[side].context);
    }
    return 0;
}

static void shaped_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    shaped_clear(self);
    type->tp_free(self);
    Py_DECREF((PyObject *)type);
}

/* ---- The copy ---- */

static CUDA_MEMCPY2D flat_copy(const CUDA_MEMCPY3D_PEER *copy)
{
    return (CUDA_MEMCPY2D){
        .srcXInBytes = copy->srcXInBytes,
        .srcY = copy->srcY,
        .srcMemoryType = copy->srcMemoryType,
        .srcHost = copy->srcHost,
        .srcDevice = copy->srcDevice,
        .srcArray = copy->srcArray,
        .srcPitch = copy->srcPitch,
        .dstXInBytes = copy->dstXInBytes,
        .dstY = copy->dstY,
        .dstMemoryType = copy->dstMemoryType,
        .dstHost = copy->dstHost,
        .dstDevice = copy->dstDevice,
        .dstArray = copy->dstArray,
        .dstPitch = copy->dstPitch,
        .WidthInBytes = copy->WidthInBytes,
        .Height = copy->Height,
    };
}

/* The two descriptors differ only in that contexts take the place of reserved fields. */
static CUDA_MEMCPY3D deep_copy(const CUDA_MEMCPY3D_PEER *copy)
{
    CUDA_MEMCPY3D deep;
    _Static_assert(sizeof deep == sizeof *copy, "CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER have one layout");
    _Static_assert(offsetof(CUDA_MEMCPY3D, reserved0) == offsetof(CUDA_MEMCPY3D_PEER, srcContext), "");
    _Static_assert(offsetof(CUDA_MEMCPY3D, reserved1) == offsetof(CUDA_MEMCPY3D_PEER, dstContext), "");
    memcpy(&deep, copy, sizeof deep);
    deep.reserved0 = deep.reserved1 = NULL;
    return deep;
}

/* A call in progress: the copy, where it is queued, and the references that it needs until it is queued or
 * done. */
typedef struct ShapedCall {
    CUDA_MEMCPY3D_PEER copy;
    bool async, unaligned;
    CUstream stream;
    PyObject *held[2];              /* owned: the objects of both ends, or NULL */
    ContextObject *contexts[2];     /* owned: of both ends of a Memcpy3DPeer */
    Kept kept;
} ShapedCall;

/* Makes the driver's call for this kind of copy. *routine: the driver function, for messages. */
static CUresult call_driver(ModuleState *state, ShapedKind kind, const ShapedCall *call, const char **routine)
{
    if (kind == SHAPED_2D) {
        CUDA_MEMCPY2D flat = flat_copy(&call->copy);
        if (call->async) {
            *routine = "cuMemcpy2DAsync";
            return try_cuMemcpy2DAsync(state, &flat, call->stream);
        }
        *routine = call->unaligned ? "cuMemcpy2DUnaligned" : "cuMemcpy2D";
        return call->unaligned ? try_cuMemcpy2DUnaligned(state, &flat) : try_cuMemcpy2D(state, &flat);
    }
    if (kind == SHAPED_3D) {
        CUDA_MEMCPY3D deep = deep_copy(&call->copy);
        *routine = call->async ? "cuMemcpy3DAsync" : "cuMemcpy3D";
        return call->async ? try_cuMemcpy3DAsync(state, &deep, call->stream) : try_cuMemcpy3D(state, &deep);
    }
    *routine = call->async ? "cuMemcpy3DPeerAsync" : "cuMemcpy3DPeer";
    return call->async ? try_cuMemcpy3DPeerAsync(state, &call->copy, call->stream)
                       : try_cuMemcpy3DPeer(state, &call->copy);
}

/* Fills call->contexts and the copy's contexts: for each end the one that was set, else the current one. -1
 * with an exception. */
static int find_contexts(ShapedCopyObject *self, ShapedCall *call)
{
    for (int side = 0; side < 2; side++) {
        PyObject *context = self->ends[side].context;
        call->contexts[side] = context ? (ContextObject *)Py_NewRef(context) : context_current(self->state);
        if (!call->contexts[side] || !context_check(call->contexts[side], "Memcpy3DPeer")) return -1;
    }
    call->copy.srcContext = call->contexts[SHAPED_SRC]->handle;
    call->copy.dstContext = call->contexts[SHAPED_DST]->handle;
    return 0;
}

/* Does all that can fail before the driver is called. Another thread may set the ends meanwhile: the call
 * uses the copy and the references that it has taken. -1 with an exception. */
static int prepare_call(ShapedCopyObject *self, PyObject *stream, ShapedCall *call)
{
    if (shaped_check(self) < 0) return -1;
    call->copy = self->copy;
    for (int side = 0; side < 2; side++) call->held[side] = Py_XNewRef(self->ends[side].object);
    if (self->kind == SHAPED_PEER && find_contexts(self, call) < 0) return -1;
    call->async = stream && stream != Py_None;
    return copy_begin(self->state, call->async, stream, &call->stream, call->held[0], call->held[1],
                      &call->kept);
}

static bool is_empty(const CUDA_MEMCPY3D_PEER *copy)
{
    return !copy->WidthInBytes || !copy->Height || !copy->Depth;
}

static PyObject *run_copy(ShapedCopyObject *self, PyObject *stream, bool unaligned)
{
    ModuleState *state = self->state;
    ShapedCall call = {.unaligned = unaligned};
    const char *routine = NULL;
    PyObject *answer = NULL;
    if (prepare_call(self, stream, &call) == 0) {
        CUresult result =
            is_empty(&call.copy) ? CUDA_SUCCESS : call_driver(state, self->kind, &call, &routine);
        keep_alive_end(state, &call.kept);
        answer =
            result == CUDA_SUCCESS ? Py_NewRef(Py_None) : shaped_raise(state, &call.copy, result, routine);
    }
    for (int side = 0; side < 2; side++) {
        Py_XDECREF(call.held[side]);
        Py_XDECREF((PyObject *)call.contexts[side]);
    }
    return answer;
}

PyDoc_STRVAR(call_2d_doc,
             "__call__($self, aligned=True, stream=None)\n--\n\n"
             "Copy and wait, or queue the copy on a stream.\n"
             "\nParameters\n----------\n"
             "aligned : bool or Stream\n"
             "    False for pitches that the device has no alignment for. A stream may be given in\n"
             "    its place.\n"
             "stream : Stream\n    Queue the copy; what it needs stays alive until it is done.\n"
             "\nRaises\n------\n"
             "ValueError\n    The copy would leave the memory of either end; nothing is copied.\n"
             "\nNotes\n-----\n"
             "Calls cuMemcpy2D, cuMemcpy2DUnaligned, cuMemcpy2DAsync.");

/* copy(), copy(aligned) or copy(stream) */
static PyObject *shaped_call_2d(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *given[2];
    int aligned = 1;
    if (convert_call(call_2d_doc, args, kwargs, GIVEN(given)) < 0) return NULL;
    if (given[0] && !given[1] && !PyBool_Check(given[0]) && !PyLong_Check(given[0])) {
        given[1] = given[0];
        given[0] = NULL;
    }
    if (given[0] && (aligned = PyObject_IsTrue(given[0])) < 0) return NULL;
    return run_copy(shaped_cast(self), given[1], !aligned);
}

PyDoc_STRVAR(call_3d_doc,
             "__call__($self, stream=None)\n--\n\n"
             "Copy and wait, or queue the copy on a stream.\n"
             "\nParameters\n----------\n"
             "stream : Stream\n    Queue the copy; what it needs stays alive until it is done.\n"
             "\nRaises\n------\n"
             "ValueError\n    The copy would leave the memory of either end; nothing is copied.\n"
             "\nNotes\n-----\n"
             "Calls cuMemcpy3D, cuMemcpy3DAsync, cuMemcpy3DPeer, cuMemcpy3DPeerAsync.");

static PyObject *shaped_call_3d(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *given[1];
    if (convert_call(call_3d_doc, args, kwargs, GIVEN(given)) < 0) return NULL;
    return run_copy(shaped_cast(self), given[0], false);
}

/* ---- Fields ---- */

typedef struct SizeField {
    const char *name;
    size_t offset; /* in CUDA_MEMCPY3D_PEER */
} SizeField;

#define SIZE_2D(name, member, doc) \
    static const SizeField field_##name = {#name, offsetof(CUDA_MEMCPY3D_PEER, member)};
#define SIZE_3D SIZE_2D
#include "ext/texture/copy_shaped.def"

static size_t *field_of(PyObject *self, const SizeField *field)
{
    return (size_t *)(void *)((char *)&shaped_cast(self)->copy + field->offset);
}

static PyObject *size_get(PyObject *self, void *closure)
{
    return PyLong_FromSize_t(*field_of(self, closure));
}

static int refuse_deletion(const char *name)
{
    PyErr_Format(PyExc_AttributeError, "%s cannot be deleted", name);
    return -1;
}

static int size_set(PyObject *self, PyObject *value, void *closure)
{
    const SizeField *field = closure;
    return value ? convert_size(value, field->name, field_of(self, field)) : refuse_deletion(field->name);
}

/* The closure of the rows below is the ShapedSide. */
static ShapedSide side_of(void *closure) { return (ShapedSide)(intptr_t)closure; }

static PyObject *type_get(PyObject *self, void *closure)
{
    ModuleState *state = shaped_cast(self)->state;
    const CUDA_MEMCPY3D_PEER *values = &shaped_cast(self)->copy;
    return constants_member(state, state->memory_type,
                            (long)(side_of(closure) ? values->dstMemoryType : values->srcMemoryType));
}

static int type_set(PyObject *self, PyObject *value, void *closure)
{
    CUDA_MEMCPY3D_PEER *values = &shaped_cast(self)->copy;
    return value ? convert_unsigned(value, "memory type",
                                    side_of(closure) ? &values->dstMemoryType : &values->srcMemoryType)
                 : refuse_deletion("memory type");
}

static PyObject *device_get(PyObject *self, void *closure)
{
    const CUDA_MEMCPY3D_PEER *values = &shaped_cast(self)->copy;
    return PyLong_FromUnsignedLongLong(side_of(closure) ? values->dstDevice : values->srcDevice);
}

static int device_set(PyObject *self, PyObject *value, void *closure)
{
    return value ? shaped_set_address(shaped_cast(self), side_of(closure), value)
                 : refuse_deletion("device address");
}

#define SIDE_ROW(name, kind, side, doc) {#name, kind##_get, kind##_set, doc, (void *)(side)},
#define SIZE_ROW(name, member, doc) {#name, size_get, size_set, doc, (void *)&field_##name},
static PyGetSetDef properties_2d[] = {
#define SIDE SIDE_ROW
#define SIZE_2D SIZE_ROW
#include "ext/texture/copy_shaped.def"
    {NULL, NULL, NULL, NULL, NULL},
};

static PyGetSetDef properties_3d[] = {
#define SIDE SIDE_ROW
#define SIZE_2D SIZE_ROW
#define SIZE_3D SIZE_ROW
#include "ext/texture/copy_shaped.def"
    {NULL, NULL, NULL, NULL, NULL},
};

/* ---- Setters ---- */

#define SETTER(side, SIDE, end, kind, parameter, type, text) \
    PyDoc_STRVAR(set_##side##_##kind##_doc, \
                 "set_" #side "_" #kind "($self, " #parameter ")\n--\n\nSet the " end ".\n" \
                 "\nParameters\n----------\n" #parameter " : " type "\n    " text); \
    static PyObject *set_##side##_##kind(PyObject *self, FAST_PARAMETERS) \
    { \
        PyObject *parameter; \
        return none_unless(READ_ARGUMENTS(set_##side##_##kind##_doc, INTO(&parameter)) < 0 \
                           || shaped_set_##kind(shaped_cast(self), SIDE, parameter) < 0); \
    }
#define END(...) \
    SETTER(src, SHAPED_SRC, "source", __VA_ARGS__) SETTER(dst, SHAPED_DST, "destination", __VA_ARGS__)
#define END_PEER END
#include "ext/texture/copy_shaped.def"

#define ROW(name) {#name, AS_METHOD(name), FAST_KEYWORDS, name##_doc},
#define END_ROWS(kind, parameter, type, doc) ROW(set_src_##kind) ROW(set_dst_##kind)
static PyMethodDef methods_2d[] = {
    CALL_ROW(shaped_call_2d, call_2d_doc),
#define END END_ROWS
#include "ext/texture/copy_shaped.def"
    {NULL, NULL, 0, NULL},
};

static PyMethodDef methods_3d[] = {
    CALL_ROW(shaped_call_3d, call_3d_doc),
#define END END_ROWS
#include "ext/texture/copy_shaped.def"
    {NULL, NULL, 0, NULL},
};

static PyMethodDef methods_peer[] = {
    CALL_ROW(shaped_call_3d, call_3d_doc),
#define END END_ROWS
#define END_PEER END_ROWS
#include "ext/texture/copy_shaped.def"
    {NULL, NULL, 0, NULL},
};

/* ---- Types ---- */

#define SPEC(python_name, doc, call, methods, properties) \
    {TYPE_OF("pycuda.driver." python_name, ShapedCopyObject, Py_TPFLAGS_BASETYPE, doc), \
     .tp_new = shaped_tp_new, \
     .tp_dealloc = shaped_dealloc, \
     .tp_traverse = shaped_traverse, \
     .tp_clear = shaped_clear, \
     .tp_call = call, \
     .tp_methods = methods, \
     .tp_getset = properties}

const TypeSpec Memcpy2D_spec = SPEC("Memcpy2D", doc_2d, shaped_call_2d, methods_2d, properties_2d);
const TypeSpec Memcpy3D_spec = SPEC("Memcpy3D", doc_3d, shaped_call_3d, methods_3d, properties_3d);
const TypeSpec Memcpy3DPeer_spec =
    SPEC("Memcpy3DPeer", doc_peer, shaped_call_3d, methods_peer, properties_3d);
