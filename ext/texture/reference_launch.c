/* References at a launch: objects are made for bindings that changed, and their handles written into the
 * variables.
 *
 * The write is queued in the launch's stream, so launches in one stream see what was bound when each was
 * made. Between streams there is one variable for all: a handle is not replaced while launches in other
 * streams may read it, nor relied upon there before it has arrived; in both cases the context is waited
 * for. From the look at the variables until the launch is queued the thread has the module's lock.
 */
#include <math.h>

#include "ext/base/driver_calls.h"
#include "ext/context/keep_alive.h"
#include "ext/memory/pooled_allocation.h"
#include "ext/texture/mipmapped_array.h"
#include "ext/texture/reference.h"
#include "ext/texture/texture.h"

/* ---- The object of a binding ---- */

/* The flags of the texture object. How integers are read is decided by the declaration, for which the kernel
 * was compiled, and not by set_flags(). Coordinates of a cubemap are directions, which count as normalized.
 */
static unsigned reading_flags(const Reference *reference, const Binding *binding)
{
    const ReferenceDeclaration *declared = &reference->declared;
    unsigned flags = binding->sampling.flags;
    if (declared->kind == REFERENCE_CUBE || declared->kind == REFERENCE_CUBE_LAYERED)
        flags |= CU_TRSF_NORMALIZED_COORDINATES;
    if (declared->normalized_reads) return flags & ~(unsigned)CU_TRSF_READ_AS_INTEGER;
    bool integers = declared->format < CU_AD_FORMAT_HALF && binding->format < CU_AD_FORMAT_HALF;
    return integers && reference->where ? flags | CU_TRSF_READ_AS_INTEGER : flags;
}

/* Sets the bounds of the level of detail that were not set: to the last level of a MipmappedArray, to 0 for
 * other resources. */
static void clamp_levels(const Binding *binding, CUDA_TEXTURE_DESC *sampling)
{
    bool levels = binding->resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    float last = levels ? (float)(mipmapped_array_cast(binding->source)->levels - 1) : 0;
    if (!levels) {
        sampling->mipmapFilterMode = CU_TR_FILTER_MODE_POINT;
        sampling->mipmapLevelBias = sampling->minMipmapLevelClamp = 0;
    }
    if (!levels || isinf(sampling->maxMipmapLevelClamp)) sampling->maxMipmapLevelClamp = last;
}

static CUDA_TEXTURE_DESC sampling_of(const Reference *reference, const Binding *binding)
{
    CUDA_TEXTURE_DESC sampling = binding->sampling;
    sampling.flags = reading_flags(reference, binding);
    clamp_levels(binding, &sampling);
    if (binding->resource.resType != CU_RESOURCE_TYPE_LINEAR) return sampling;
    /* Linear memory is read by element numbers: modes and the other flags do not apply. */
    return (CUDA_TEXTURE_DESC){.flags = sampling.flags & (CU_TRSF_READ_AS_INTEGER | CU_TRSF_SRGB)};
}

/* Makes the binding's texture or surface object. -1 with an exception. */
static int make_object(ModuleState *state, const Reference *reference, Binding *binding)
{
    CUDA_RESOURCE_DESC resource = binding->resource;
    if (resource.resType == CU_RESOURCE_TYPE_LINEAR) {
        resource.res.linear.format = binding->format;
        resource.res.linear.numChannels = binding->channels;
    }
    CUDA_TEXTURE_DESC sampling = sampling_of(reference, binding);
    PyObject *object = reference->surface ? surface_create(state, state->SurfaceObject_type, binding->source,
                                                           &resource, reference->name)
                                          : texture_create(state, state->TextureObject_type, binding->source,
                                                           &resource, &sampling, NULL, reference->name);
    if (!object) return -1;
    Py_XSETREF(binding->object, object); /* Python code that ran meanwhile may have made one by a launch */
    return 0;
}

/* Replaces a binding whose memory was freed by an empty one, so that no kernel reads that memory. Does
 * nothing when another binding has taken its place. -1 with MemoryError. */
static int unbind_freed(Reference *reference, const Binding *stale)
{
    Binding *binding = binding_copy(reference);
    if (!binding) return -1;
    Py_CLEAR(binding->source);
    binding_put(reference, binding, stale);
    return 0;
}

/* ---- The variable ---- */

static uint64_t handle_of(PyObject *object) { return object ? texture_cast(object)->handle : 0; }

static bool is_same_stream(const Reference *reference, CUstream stream)
{
    return stream == reference->stream && stream != CU_STREAM_PER_THREAD;
}

/* Waits for the lock without the GIL. may_leave: signals are handled meanwhile; -1 with an exception if a
 * handler raises. */
static int acquire_references(PyThread_type_lock lock, bool may_leave)
{
    enum { SIGNALS_MICROSECONDS = 100000 };
    PyLockStatus status = PyThread_acquire_lock_timed(lock, 0, 0);
    while (status != PY_LOCK_ACQUIRED) {
        WITHOUT_GIL(status = PyThread_acquire_lock_timed(lock, SIGNALS_MICROSECONDS, 0));
        if (status != PY_LOCK_ACQUIRED && may_leave && PyErr_CheckSignals() < 0) return -1;
    }
    return 0;
}

/* Takes the lock, once more if this thread has it. may_leave as for acquire_references(). */
static int lock_references(References *references, bool may_leave)
{
    unsigned long me = PyThread_get_thread_ident();
    bool mine = references->depth > 0 && references->owner == me;
    if (!mine && acquire_references(references->lock, may_leave) < 0) return -1;
    references->owner = me;
    references->depth++;
    references->turns++;
    return 0;
}

static void unlock_references(References *references)
{
    if (--references->depth == 0) PyThread_release_lock(references->lock);
}

/* Called when all work of the context is done: no launch or write is under way. */
static void note_idle(References *references)
{
    for (Reference *reference = references->first; reference; reference = reference->next)
        reference->pending = reference->busy = reference->busy_elsewhere = false;
}

/* Waits for all work of the context. The first waits (*waits counts them) are made without the lock, so that
 * threads for which that work waits can launch; later ones with the lock, since other threads may launch
 * without end. If no other thread had the lock meanwhile, no reference is in use afterwards. -1 with an
 * exception. */
static int wait_for_context(CodeModuleObject *module, const Reference *reference, int *waits)
{
    enum { WAITS_WITHOUT_LOCK = 3 };
    References *references = module->references;
    unsigned long turns = references->turns;
    bool unlocks = references->depth == 1 && ++*waits <= WAITS_WITHOUT_LOCK;
    const char *routine;
    if (unlocks) unlock_references(references);
    CUresult result = captured_wait_for_context(module->state, &routine);
    if (unlocks) lock_references(references, false);
    if (result == CUDA_SUCCESS) {
        unsigned long own_turns = unlocks ? 1 : 0;
        if (references->turns == turns + own_turns) note_idle(references);
        return 0;
    }
    raise_driver(module->state, result, routine, "'%s' is used in several streams", reference->name);
    return -1;
}

/* -1 with LogicError when the stream is captured: the handle's write would become a part of the graph, which
 * would repeat it with each launch. */
static int refuse_capture(ModuleState *state, const Reference *reference, CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = once_cuStreamIsCapturing(state, stream, &status);
    if (result != CUDA_SUCCESS || status == CU_STREAM_CAPTURE_STATUS_NONE) return 0;
    raise_logic(state,
                "'%s' was bound after its last launch, and the stream is being captured: launch once before "
                "the capture, or use a TextureObject",
                reference->name);
    return -1;
}

/* An object that work queued on this stream may still read. */
typedef struct Replaced {
    PyObject *object; /* owned */
    CUstream stream;
} Replaced;

/* Adds an object to references->replaced. references_end() keeps it alive for that work after it has released
 * the lock, as keeping may wait and run Python code. -1 with MemoryError. */
static int note_replaced(References *references, PyObject *object, CUstream stream)
{
    size_t size = (size_t)(references->replaced_count + 1) * sizeof(Replaced);
    Replaced *list = PyMem_Realloc(references->replaced, size);
    if (!list) {
        PyErr_NoMemory();
        return -1;
    }
    references->replaced = list;
    list[references->replaced_count++] = (Replaced){Py_NewRef(object), stream};
    return 0;
}

/* Keeps replaced objects alive until the work that may read them is done, and frees the list. If there is no
 * memory for that it is reported, and the object leaks. */
static void keep_replaced(CodeModuleObject *module, Replaced *list, Py_ssize_t count)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (keep_alive(module->state, module->context, list[i].stream, list[i].object, NULL) < 0)
            PyErr_WriteUnraisable(list[i].object);
        else
            Py_DECREF(list[i].object);
    }
    PyMem_Free(list);
    PyErr_Restore(type, value, trace);
}

/* Queues the write of the object's handle, 0 for NULL, into the variable. -1 with an exception. */
static int write_variable(CodeModuleObject *module, Reference *reference, PyObject *object, CUstream stream)
{
    ModuleState *state = module->state;
    uint64_t handle = handle_of(object);
    if (refuse_capture(state, reference, stream) < 0
        || (reference->written && note_replaced(module->references, reference->written, stream) < 0))
        return -1;
    CUresult result = try_cuMemcpyHtoDAsync(state, reference->where, &handle, sizeof handle, stream);
    if (result != CUDA_SUCCESS) {
        raise_driver(state, result, "cuMemcpyHtoDAsync", "the handle of '%s'", reference->name);
        return -1;
    }
    Py_XINCREF(object);
    PyObject *previous = reference->written;
    reference->written = object;
    reference->stream = stream;
    reference->pending = reference->busy = true;
    reference->busy_elsewhere = false;
    Py_XDECREF(previous);
    return 0;
}

/* Writes the handle of `object` into the variable, unless the variable has it. 0: launches in this stream can
 * be queued. 1: the function waited; other threads may have changed the binding or the variable meanwhile, so
 * the caller begins again. -1 with an exception. */
static int update_variable(CodeModuleObject *module, Reference *reference, PyObject *object, CUstream stream,
                           int *waits)
{
    bool same_stream = is_same_stream(reference, stream), changed = object != reference->written;
    bool must_wait = changed ? reference->busy_elsewhere || (reference->busy && !same_stream)
                             : reference->pending && !same_stream;
    if (must_wait) return wait_for_context(module, reference, waits) < 0 ? -1 : 1;
    if (changed) return write_variable(module, reference, object, stream);
    if (same_stream)
        reference->busy = true;
    else
        reference->busy_elsewhere = true;
    return 0;
}

/* Whether update() has nothing to do for this binding, which is the usual case. */
static bool is_settled_by(ModuleState *state, const Reference *reference, const Binding *binding,
                          CUstream stream)
{
    if (binding->object != reference->written || (binding->source && !binding->object)) return false;
    if (!reference->written) return true;
    if (binding_is_stale(state, binding)) return false;
    return is_same_stream(reference, stream) ? reference->busy
                                             : reference->busy_elsewhere && !reference->pending;
}

static bool is_settled(ModuleState *state, Reference *reference, CUstream stream)
{
    Binding *binding = binding_hold(reference);
    bool settled = is_settled_by(state, reference, binding, stream);
    binding_drop(binding);
    return settled;
}

/* 1 when the current context is the module's. 0 when not: the launch will raise that. -1 with an exception.
 */
static int is_current(CodeModuleObject *module)
{
    ContextObject *current = context_current(module->state);
    if (!current) return -1;
    bool same = contexts_share_memory(current, module->context);
    Py_DECREF((PyObject *)current);
    return same;
}

/* Brings a variable up to date with the reference's binding, which is held meanwhile: other threads may
 * replace it. Returns what update_variable() does. */
static int update(CodeModuleObject *module, Reference *reference, CUstream stream, int *waits)
{
    Binding *binding = binding_hold(reference);
    int status = 0;
    if (binding->source && binding_is_stale(module->state, binding))
        status = unbind_freed(reference, binding) < 0 ? -1 : 1;
    else if (binding->source && !binding->object)
        status = make_object(module->state, reference, binding);
    if (status == 0) status = update_variable(module, reference, binding->object, stream, waits);
    binding_drop(binding);
    return status;
}

/* Brings all variables of the module up to date. -1 with an exception; 0 also if the module's context is not
 * current. */
static int write_all(CodeModuleObject *module, CUstream stream, int *waits)
{
    bool current = false;
    for (Reference *reference = module->references->first; reference; reference = reference->next) {
        if (is_settled(module->state, reference, stream)) continue;
        int status = current ? 1 : is_current(module);
        if (status <= 0) return status;
        current = true;
        while ((status = update(module, reference, stream, waits)) > 0) {}
        if (status < 0) return -1;
    }
    return 0;
}

/* Repeats write_all() as long as another launch took the lock meanwhile, one of Python code that ran in this
 * thread or one of another thread during a wait: it may have written variables that were up to date. */
int references_begin(CodeModuleObject *module, CUstream stream)
{
    References *references = module->references;
    unsigned long turns;
    int waits = 0, status;
    if (forked_after_init() || host_function_runs()) {
        raise_driver(module->state,
                     forked_after_init() ? CUDA_ERROR_NOT_INITIALIZED : CUDA_ERROR_NOT_PERMITTED,
                     "cuLaunchKernel", NULL);
        return -1;
    }
    if (lock_references(references, true) < 0) return -1;
    do {
        turns = references->turns;
        status = write_all(module, stream, &waits);
    } while (status == 0 && references->turns != turns);
    if (status < 0) references_end(module);
    return status;
}

void references_end(CodeModuleObject *module)
{
    References *references = module->references;
    Replaced *list = references->replaced;
    Py_ssize_t count = references->replaced_count;
    references->replaced = NULL;
    references->replaced_count = 0;
    unlock_references(references);
    if (list) keep_replaced(module, list, count);
}

int references_note(CodeModuleObject *module, PyObject *stream, CUstream handle)
{
    int status = 0;
    Reference *reference = module->references ? module->references->first : NULL;
    for (; reference && status == 0; reference = reference->next) {
        Binding *binding = binding_hold(reference);
        if (binding->source) status = pooled_note_objects(module->state, &binding->source, 1, stream, handle);
        binding_drop(binding);
    }
    return status;
}
