/* See library_handle.h. */
#include "ext/library/library_handle.h"

#include <string.h>

#include "ext/base/types.h"
#include "ext/context/owner.h"
#include "ext/convert/convert.h"
#include "ext/library/library.h"
#include "ext/memory/device_pointer.h"
#include "ext/memory/pooled_allocation.h"
#include "ext/stream/stream.h"

/* ---- Kinds ---- */

typedef union HandleValue {
    uint64_t word; /* the value as an argument of a call; each member below shares its first bytes */
#define KIND(name, type, create, destroy, set_stream, set_workspace) type name;
#include "ext/library/handle_kinds.def"
#undef KIND
} HandleValue;

typedef struct HandleKind {
    const char *name;
    int (*create)(ModuleState *state, HandleValue *value);
    void (*destroy)(ModuleState *state, HandleValue value);
    int (*set_stream)(ModuleState *state, HandleValue value, CUstream stream);
    int (*set_workspace)(ModuleState *state, HandleValue value, void *memory, size_t size);
} HandleKind;

static int no_workspace(void)
{
    PyErr_SetString(PyExc_TypeError, "handles of this kind have no workspace");
    return -1;
}

#define KIND(kind, type, create, destroy, set_stream, set_workspace) \
    static int kind##_create(ModuleState *state, HandleValue *value) \
    { \
        return lib_##create(state, &value->kind); \
    } \
    static void kind##_destroy(ModuleState *state, HandleValue value) { end_##destroy(state, value.kind); } \
    static int kind##_set_stream(ModuleState *state, HandleValue value, CUstream stream) \
    { \
        return lib_##set_stream(state, value.kind, (cudaStream_t)stream); \
    } \
    static int kind##_set_workspace(ModuleState *state, HandleValue value, void *memory, size_t size) \
    { \
        type handle = value.kind; \
        (void)state, (void)handle, (void)memory, (void)size; \
        return set_workspace; \
    }
#include "ext/library/handle_kinds.def"
#undef KIND

static const HandleKind kinds[] = {
#define KIND(kind, type, create, destroy, set_stream, set_workspace) \
    {#kind, kind##_create, kind##_destroy, kind##_set_stream, kind##_set_workspace},
#include "ext/library/handle_kinds.def"
#undef KIND
};

static const HandleKind *kind_find(const char *name)
{
    for (size_t row = 0; row < sizeof kinds / sizeof *kinds; row++)
        if (strcmp(kinds[row].name, name) == 0) return &kinds[row];
    PyErr_Format(PyExc_ValueError, "unknown library handle kind '%s'", name);
    return NULL;
}

/* ---- Handles ---- */

typedef struct LibraryHandleObject {
    OWNER_HEAD
    const HandleKind *kind;
    HandleValue value;
    PyObject *workspace; /* owned: the memory that the handle's queued work uses; NULL: it has none */
} LibraryHandleObject;

static LibraryHandleObject *handle_cast(PyObject *object) { return (LibraryHandleObject *)object; }

bool library_handle_value(ModuleState *state, PyObject *value, uint64_t *out)
{
    if (Py_TYPE(value) != state->_LibraryHandle_type) return false;
    LibraryHandleObject *self = handle_cast(value);
    char what[32];
    snprintf(what, sizeof what, "the handle of %s", self->kind->name);
    if (context_check(self->context, what)) *out = self->value.word;
    return true;
}

static void destroy_handle(PyObject *object)
{
    LibraryHandleObject *self = handle_cast(object);
    ContextScope scope;
    LIVE_LESS(self->state, LibraryHandle);
    if (!context_enter_scope(self->context, &scope)) return;
    self->kind->destroy(self->state, self->value);
    context_leave_scope(&scope);
}

static void handle_dealloc(PyObject *self)
{
    if (!owner_dealloc_begin(self, handle_dealloc, destroy_handle)) return;
    Py_XDECREF(handle_cast(self)->workspace);
    owner_dealloc_end(self);
}

/* Called in a scope, in which captures forbid nothing: the library allocates memory for a handle. */
static int create_handle(LibraryHandleObject *self)
{
    ContextScope scope;
    if (!context_enter_scope(self->context, &scope)) {
        context_raise_dead(self->context, self->kind->name);
        return -1;
    }
    int failed = self->kind->create(self->state, &self->value);
    context_leave_scope(&scope);
    return failed;
}

PyDoc_STRVAR(handle_doc, "_LibraryHandle(kind)\n--\n\n"
                         "A handle of one of NVIDIA's libraries in the current context.\n"
                         "\nParameters\n----------\n"
                         "kind : str\n    \"cublas\", \"cufft\" (a plan), \"cusolverDn\" or \"cusparse\".\n"
                         "\nRaises\n------\n"
                         "LibraryError\n    The library has no memory for it, or does not know the device.\n"
                         "NotImplementedError\n    The library is not loaded.\n"
                         "\nNotes\n-----\n"
                         "Calls the library's function that creates one.");

static PyObject *handle_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    ModuleState *state = state_of_type(type);
    const HandleKind *kind;
    const char *name;
    PyObject *self;
    if (READ_CALL(handle_doc, INTO(&name)) < 0 || !(kind = kind_find(name))
        || !(self = owner_new(state, type)))
        return NULL;
    handle_cast(self)->kind = kind;
    if (create_handle(handle_cast(self)) == 0) return owner_own(self, &state->live_LibraryHandle);
    Py_DECREF(self);
    return NULL;
}

PyDoc_STRVAR(use_doc, "use($self, stream, workspace=None, size=0)\n--\n\n"
                      "Queue on this stream from now on, with this memory, which is kept.\n"
                      "\nParameters\n----------\n"
                      "stream : Stream or None\n"
                      "workspace : DeviceAllocation, GPUArray or None\n"
                      "    That nothing else uses. None: what it has stays.\n"
                      "size : int\n    In bytes.\n"
                      "\nNotes\n-----\n"
                      "Calls the library's functions that set a stream and a workspace.");

static PyObject *handle_use(PyObject *object, FAST_PARAMETERS)
{
    LibraryHandleObject *self = handle_cast(object);
    ModuleState *state = self->state;
    PyObject *stream_object, *workspace;
    CUstream stream;
    CUdeviceptr memory;
    size_t size = 0;
    if (READ_ARGUMENTS(use_doc, INTO(&stream_object), INTO(&workspace), INTO(&size)) < 0
        || convert_stream(state, stream_object, &stream) < 0)
        return NULL;
    if (!workspace || workspace == Py_None)
        return none_unless(self->kind->set_stream(state, self->value, stream));
    if (convert_range_on(state, workspace, "workspace", size, stream, &memory) < 0
        || pooled_note(state, &workspace, 1, stream_object, stream) < 0
        || self->kind->set_stream(state, self->value, stream) < 0
        || self->kind->set_workspace(state, self->value, (void *)(uintptr_t)memory, size) < 0)
        return NULL;
    Py_XSETREF(self->workspace, Py_NewRef(workspace));
    Py_RETURN_NONE;
}

static PyMethodDef handle_methods[] = {
    {"use", AS_METHOD(handle_use), FAST_KEYWORDS, use_doc},
    {NULL, NULL, 0, NULL},
};

const TypeSpec _LibraryHandle_spec = {
    TYPE_WITH_WEAK_REFERENCES("pycuda._driver._LibraryHandle", LibraryHandleObject, 0, handle_doc),
    .tp_new = handle_new,
    .tp_dealloc = handle_dealloc,
    TYPE_TABLES(handle_methods, NULL, NULL),
};
