/* References at a launch: objects are made for bindings that changed, and their handles written into the
 * variables.
 *
 * The write is queued in the launch's stream, so launches in one stream see what was bound when each was made.
 * Between streams there is one variable for all: a handle is not replaced while launches in other streams may
 * read it, nor relied upon there before it has arrived; in both cases the context is waited for.
 */
#include "ext/errors.h"
#include "ext/keep_alive.h"
#include "ext/pooled_allocation.h"
#include "ext/reference.h"
#include "ext/texture.h"
#include "ext/wait.h"

/* ---- The object of a binding ---- */

/* A kernel was compiled for one way to read integers; flags that say otherwise would give it other bits. And
 * directions into a cube are no positions in texels. */
static unsigned reading_flags(const Reference *reference)
{
    const ReferenceDeclaration *declared = &reference->declared;
    unsigned flags = reference->sampling.flags;
    if (declared->kind == REFERENCE_CUBE || declared->kind == REFERENCE_CUBE_LAYERED)
        flags |= CU_TRSF_NORMALIZED_COORDINATES;
    if (declared->normalized_reads) return flags & ~(unsigned)CU_TRSF_READ_AS_INTEGER;
    bool integers = declared->format < CU_AD_FORMAT_HALF && reference->format < CU_AD_FORMAT_HALF;
    return integers && reference->where ? flags | CU_TRSF_READ_AS_INTEGER : flags;
}

static CUDA_TEXTURE_DESC sampling_of(const Reference *reference)
{
    CUDA_TEXTURE_DESC sampling = reference->sampling;
    sampling.flags = reading_flags(reference);
    if (reference->resource.resType != CU_RESOURCE_TYPE_LINEAR) return sampling;
    /* Linear memory is read by element numbers: nothing else applies to it. */
    return (CUDA_TEXTURE_DESC){.flags = sampling.flags & (CU_TRSF_READ_AS_INTEGER | CU_TRSF_SRGB)};
}

static int make_object(ModuleState *state, Reference *reference)
{
    CUDA_RESOURCE_DESC resource = reference->resource;
    if (resource.resType == CU_RESOURCE_TYPE_LINEAR) {
        resource.res.linear.format = reference->format;
        resource.res.linear.numChannels = reference->channels;
    }
    CUDA_TEXTURE_DESC sampling = sampling_of(reference);
    PyObject *object = reference->surface ? surface_create(state, state->SurfaceObject_type, reference->source,
                                                           &resource, reference->name)
                                          : texture_create(state, state->TextureObject_type, reference->source,
                                                           &resource, &sampling, reference->name);
    if (!object) return -1;
    Py_XSETREF(reference->object, object);
    reference->changed = false;
    return 0;
}

/* Brings `object` up to date. Freed memory is read by no kernel: such a binding is none. */
static int update_object(ModuleState *state, Reference *reference)
{
    if (!reference->source) return 0;
    if (reference_is_stale(state, reference)) {
        Py_CLEAR(reference->source);
        Py_CLEAR(reference->object);
        return 0;
    }
    return reference->changed ? make_object(state, reference) : 0;
}

/* ---- The variable ---- */

static uint64_t handle_of(PyObject *object) { return object ? texture_cast(object)->handle : 0; }

static bool is_same_stream(const Reference *reference, CUstream stream)
{
    return stream == reference->stream && stream != CU_STREAM_PER_THREAD;
}

static int wait_for_context(ModuleState *state, Reference *reference)
{
    CUresult result;
    CALL_WAITING(state, result, ON_CONTEXT, driver.cuCtxSynchronize());
    if (result == CUDA_SUCCESS) {
        reference->pending = reference->busy = reference->elsewhere = false;
        return 0;
    }
    raise_driver(state, result, "cuCtxSynchronize", "'%s' is used in several streams", reference->name);
    return -1;
}

/* A captured launch would write the handle again whenever it is replayed. */
static int refuse_capture(ModuleState *state, const Reference *reference, CUstream stream)
{
    CUstreamCaptureStatus status = 0;
    if (driver.cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS || status == 0) return 0;
    raise_logic(state,
                "'%s' was bound after its last launch, and the stream is being captured: launch once before "
                "the capture, or use a TextureObject",
                reference->name);
    return -1;
}

static int write_variable(CodeModuleObject *module, Reference *reference, CUstream stream)
{
    ModuleState *state = module->state;
    uint64_t handle = handle_of(reference->object);
    CUresult result;
    if (refuse_capture(state, reference, stream) < 0
        || (reference->written && keep_alive(state, module->context, stream, reference->written, NULL) < 0))
        return -1;
    CALL(state, result, driver.cuMemcpyHtoDAsync(reference->where, &handle, sizeof handle, stream));
    if (result != CUDA_SUCCESS) {
        raise_driver(state, result, "cuMemcpyHtoDAsync", "the handle of '%s'", reference->name);
        return -1;
    }
    Py_XSETREF(reference->written, Py_XNewRef(reference->object));
    reference->stream = stream;
    reference->pending = reference->busy = true;
    reference->elsewhere = false;
    return 0;
}

/* 1 when it waited, during which others may have changed things; 0 when the variable is right; -1. */
static int update_variable(CodeModuleObject *module, Reference *reference, CUstream stream)
{
    bool same = is_same_stream(reference, stream), write = reference->object != reference->written;
    bool wait = write ? reference->elsewhere || (reference->busy && !same) : reference->pending && !same;
    if (wait) return wait_for_context(module->state, reference) < 0 ? -1 : 1;
    if (write) return write_variable(module, reference, stream);
    if (same)
        reference->busy = true;
    else
        reference->elsewhere = true;
    return 0;
}

/* Whether there is nothing to do, the usual case. */
static bool is_settled(ModuleState *state, const Reference *reference, CUstream stream)
{
    if (reference->object != reference->written || (reference->source && reference->changed)) return false;
    if (!reference->written) return true;
    if (reference_is_stale(state, reference)) return false;
    return is_same_stream(reference, stream) ? reference->busy : reference->elsewhere && !reference->pending;
}

/* 1 when the current context is the module's. If not, the launch fails for that reason and says so. */
static int is_current(CodeModuleObject *module)
{
    ContextObject *current = context_current(module->state);
    if (!current) return -1;
    bool same = current->handle == module->context->handle;
    Py_DECREF((PyObject *)current);
    return same;
}

static int update(CodeModuleObject *module, Reference *reference, CUstream stream)
{
    int status;
    do {
        status = update_object(module->state, reference);
        if (status == 0) status = update_variable(module, reference, stream);
    } while (status > 0);
    return status;
}

int references_write(CodeModuleObject *module, CUstream stream)
{
    bool current = false;
    for (Reference *reference = module->references; reference; reference = reference->next) {
        if (is_settled(module->state, reference, stream)) continue;
        int status = current ? 1 : is_current(module);
        if (status <= 0) return status;
        current = true;
        if (update(module, reference, stream) < 0) return -1;
    }
    return 0;
}

int references_note(CodeModuleObject *module, PyObject *stream, CUstream handle)
{
    for (Reference *reference = module->references; reference; reference = reference->next)
        if (reference->source && pooled_note_objects(module->state, &reference->source, 1, stream, handle) < 0)
            return -1;
    return 0;
}

/* ---- texrefs= ---- */

static int check_binding(FunctionObject *function, const Reference *reference)
{
    bool stale = reference->source && reference_is_stale(function->state, reference);
    if (reference->source && !stale) return 0;
    raise_logic(function->state, "kernel '%s': texture reference '%s' is bound to %s", function_name(function),
                reference->name,
                stale ? "memory that was freed" : "nothing: set_array or set_address does that");
    return -1;
}

static int check_item(FunctionObject *function, PyObject *item, bool for_launch)
{
    ModuleState *state = function->state;
    if (!PyObject_TypeCheck(item, state->TextureReference_type)) {
        PyErr_Format(PyExc_TypeError, "texrefs may hold TextureReference objects only, not %.200s",
                     Py_TYPE(item)->tp_name);
        return -1;
    }
    const ReferenceObject *object = reference_cast(item);
    if (object->module == function->module) return for_launch ? check_binding(function, object->reference) : 0;
    raise_logic(state, "kernel '%s': texture reference '%s' belongs to %s", function_name(function),
                object->reference->name,
                object->module ? "another module" : "no module: Module.get_texref gives those of one");
    return -1;
}

int references_check(FunctionObject *function, PyObject *texrefs, bool for_launch)
{
    if (!texrefs || texrefs == Py_None) return 0;
    PyObject *items = PySequence_Fast(texrefs, "texrefs must be a sequence of TextureReference objects");
    int status = items ? 0 : -1;
    for (Py_ssize_t i = 0; status == 0 && i < PySequence_Fast_GET_SIZE(items); i++)
        status = check_item(function, PySequence_Fast_GET_ITEM(items, i), for_launch);
    Py_XDECREF(items);
    return status;
}
