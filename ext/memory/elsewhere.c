/* See elsewhere.h. */
#include "ext/memory/elsewhere.h"

#include "ext/base/captured.h"
#include "ext/base/driver_calls.h"
#include "ext/base/errors.h"
#include "ext/memory/pooled_allocation.h"
#include "ext/stream/copy_streams.h"

typedef struct Use {
    ContextObject *context; /* kept */
    CUstream handle;
    PyObject *stream; /* owned; NULL for a default stream */
} Use;

typedef struct UsesElsewhere {
    const ContextObject
        *last; /* where work was put in order last, one of the uses' contexts; NULL: nowhere */
    unsigned long changes;
    int count;
    Use uses[];
} UsesElsewhere;

/* ---- What is remembered ---- */

static Use use_hold(Use use)
{
    context_keep(use.context);
    Py_XINCREF(use.stream);
    return use;
}

static void use_drop(Use use)
{
    Py_XDECREF(use.stream);
    context_unkeep(use.context);
}

void elsewhere_forget(DeviceAllocationObject *allocation)
{
    UsesElsewhere *elsewhere = allocation->elsewhere;
    allocation->elsewhere = NULL;
    for (int i = 0; elsewhere && i < elsewhere->count; i++) use_drop(elsewhere->uses[i]);
    PyMem_Free(elsewhere);
}

static bool is_known(const UsesElsewhere *elsewhere, Use use)
{
    for (int i = 0; elsewhere && i < elsewhere->count; i++)
        if (elsewhere->uses[i].context == use.context && elsewhere->uses[i].handle == use.handle) return true;
    return false;
}

/* Remembers the use. is_last: it was put in order after all others. -1 with MemoryError. */
static int add_use(DeviceAllocationObject *allocation, Use use, bool is_last)
{
    UsesElsewhere *old = allocation->elsewhere;
    if (atomic_load(&allocation->freed)) return 0; /* meanwhile, by another thread */
    if (!is_known(old, use)) {
        size_t count = old ? (size_t)old->count : 0;
        UsesElsewhere *grown = PyMem_Realloc(old, sizeof *grown + (count + 1) * sizeof(Use));
        if (!grown) {
            PyErr_NoMemory();
            return -1;
        }
        if (!old) *grown = (UsesElsewhere){0};
        grown->uses[grown->count++] = use_hold(use);
        allocation->elsewhere = grown;
    }
    allocation->elsewhere->changes++;
    if (is_last) allocation->elsewhere->last = use.context;
    return 0;
}

/* *out: the i-th use, to be dropped. False when there are not so many. Other threads may add uses, or forget
 * all, at each driver call. */
static bool next_use(const DeviceAllocationObject *allocation, int i, Use *out)
{
    const UsesElsewhere *elsewhere = allocation->elsewhere;
    if (!elsewhere || i >= elsewhere->count) return false;
    *out = use_hold(elsewhere->uses[i]);
    return true;
}

/* ---- Order ---- */

/* *event: after the work on a stream of this context, which is current; NULL if a fault has ended it. -1 with
 * an exception. */
static int record_event(ContextObject *context, CUstream stream, CUevent *event)
{
    ModuleState *state = context->state;
    const char *routine = "cuEventCreate";
    CUresult result = copy_event_try(context, event);
    if (result == CUDA_SUCCESS) {
        routine = "cuEventRecord";
        result = try_cuEventRecord(state, *event, stream);
    }
    if (result == CUDA_SUCCESS) return 0;
    copy_event_return(context, *event);
    *event = NULL;
    if (errors_is_loss(result)) return 0;
    raise_driver(state, result, routine, "for memory that another context uses");
    return -1;
}

/* *event: after the work on a stream of this context, to be returned (copy_event_return); *before: instead an
 * Event from before the capture that the stream is in, owned. Neither, if the context has ended. -1 with an
 * exception. */
static int record(ContextObject *context, CUstream stream, CUevent *event, PyObject **before)
{
    ModuleState *state = context->state;
    ContextScope scope;
    int failed = 0;
    *event = NULL;
    *before = NULL;
    if (!context_enter_scope(context, &scope)) return 0;
    if (!captured_some(state) || !captured_holds(state, stream)) {
        failed = record_event(context, stream, event);
    } else if (!(*before = captured_before(state, stream))) {
        raise_logic(state, "memory cannot be used in another context while a stream of its earlier work is "
                           "being captured: nothing can wait for that");
        failed = -1;
    }
    context_leave_scope(&scope);
    return failed;
}

/* Makes a stream of the context wait for an event. -1 with an exception. */
static int wait_for(ContextObject *context, CUstream stream, CUevent event)
{
    ContextScope scope;
    if (!context_enter_scope(context, &scope)) {
        context_raise_dead(context, "Stream");
        return -1;
    }
    int failed = gpu_cuStreamWaitEvent(context->state, stream, event, 0);
    context_leave_scope(&scope);
    return failed;
}

/* Makes `stream` of the context `to` wait for the work that is queued on `earlier` of the context `from`. -1
 * with an exception. */
static int follow(ContextObject *from, CUstream earlier, ContextObject *to, CUstream stream)
{
    CUevent event;
    PyObject *before;
    int failed = record(from, earlier, &event, &before);
    if (!failed && (event || before))
        failed = wait_for(to, stream, before ? event_cast(before)->handle : event);
    copy_event_return(from, event);
    Py_XDECREF(before);
    return failed;
}

/* *out: the i-th stream of the memory's own context that it may be used on. False when there are not so many.
 */
static bool home_stream(const DeviceAllocationObject *allocation, int i, CUstream *out)
{
    *out = i ? pooled_stream(allocation) : NULL;
    if (i < 2) return true;
    return allocation->pooled && pooled_used_stream(allocation, i - 2, out);
}

/* Makes a stream of another context wait for the work in the memory's own. -1 with an exception. */
static int follow_home(DeviceAllocationObject *allocation, ContextObject *context, CUstream stream)
{
    CUstream earlier;
    int failed = 0;
    for (int i = 0; !failed && home_stream(allocation, i, &earlier); i++)
        if (i != 1 || earlier) failed = follow(allocation->context, earlier, context, stream);
    return failed;
}

/* Makes a stream wait for the work in all contexts but its own and the memory's. -1 with an exception. */
static int follow_uses(DeviceAllocationObject *allocation, ContextObject *context, CUstream stream)
{
    Use use;
    int failed = 0;
    for (int i = 0; !failed && next_use(allocation, i, &use); i++) {
        if (use.context != context) failed = follow(use.context, use.handle, context, stream);
        use_drop(use);
    }
    return failed;
}

int elsewhere_return_all(DeviceAllocationObject *allocation, CUstream stream)
{
    const unsigned long changes = allocation->elsewhere->changes;
    CUstream waiting[] = {NULL, pooled_stream(allocation), stream};
    int failed = 0;
    Py_INCREF((PyObject *)allocation);
    for (int i = 0; i < 3 && !failed; i++)
        if (i == 0 || waiting[i]) failed = follow_uses(allocation, allocation->context, waiting[i]);
    if (!failed && allocation->elsewhere && allocation->elsewhere->changes == changes)
        elsewhere_forget(allocation);
    Py_DECREF((PyObject *)allocation);
    return failed;
}

/* ---- Uses ---- */

static bool is_default(CUstream handle)
{
    return !handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
}

static bool is_ours(const ModuleState *state, PyObject *stream)
{
    return stream && PyObject_TypeCheck(stream, state->Stream_type);
}

ContextObject *elsewhere_find_context(ModuleState *state, PyObject *stream, CUstream handle)
{
    if (!is_ours(state, stream) || is_default(handle)) return context_current(state);
    return (ContextObject *)Py_NewRef((PyObject *)stream_cast(stream)->context);
}

/* Called for a use in another context that is not in order yet. -1 with an exception. */
static int order_use(DeviceAllocationObject *allocation, Use use, bool follows_default)
{
    /* All streams that follow the default one then wait, too. While there are captures it may not be used. */
    CUstream waits = follows_default && !captured_some(allocation->state) ? NULL : use.handle;
    int failed = 0;
    if (follows_default || pooled_had_owner(allocation)) failed = follow_home(allocation, use.context, waits);
    if (!failed && follows_default) failed = follow_uses(allocation, use.context, waits);
    return failed ? -1 : add_use(allocation, use, follows_default && waits == NULL);
}

int elsewhere_note(DeviceAllocationObject *allocation, ContextObject *context, PyObject *stream,
                   CUstream handle)
{
    const UsesElsewhere *elsewhere = allocation->elsewhere;
    ModuleState *state = allocation->state;
    bool is_home = context == allocation->context
                   || (!is_default(handle) && contexts_share_memory(context, allocation->context));
    if ((is_home && !elsewhere) || atomic_load(&allocation->freed)) return 0;
    bool follows_default =
        is_default(handle) || (is_ours(state, stream) && !stream_cast(stream)->non_blocking);
    if (is_home) return follows_default ? elsewhere_return_all(allocation, handle) : 0;
    Use use = {context, is_default(handle) ? NULL : handle, is_default(handle) ? NULL : stream};
    bool in_order = !follows_default || (elsewhere && elsewhere->last == context);
    if (in_order && is_known(elsewhere, use)) return 1;
    if (in_order && follows_default) return add_use(allocation, use, true) < 0 ? -1 : 1;
    if (host_function_refuses(state, "cuStreamWaitEvent")) return -1;
    Py_INCREF((PyObject *)allocation);
    int failed = order_use(allocation, use, follows_default);
    Py_DECREF((PyObject *)allocation);
    return failed ? -1 : 1;
}

int elsewhere_note_current(DeviceAllocationObject *allocation)
{
    CUcontext handle = NULL;
    ModuleState *state = allocation->state;
    CUresult result = once_cuCtxGetCurrent(state, &handle);
    bool is_home = !handle || handle == allocation->context->handle;
    if (result != CUDA_SUCCESS || (is_home && !allocation->elsewhere) || !handle) return 0;
    ContextObject *context = context_current(state);
    int noted = context ? elsewhere_note(allocation, context, NULL, NULL) : -1;
    Py_XDECREF((PyObject *)context);
    return noted;
}

/* ---- Releases ---- */

/* Makes the stream of the memory's context wait for a use; where no event can do that, the host waits. */
static void end_use(ContextObject *home, CUstream stream, Use use)
{
    ModuleState *state = home->state;
    ContextScope there, here;
    CUevent event = NULL;
    if (!context_enter_scope(use.context, &there)) return;
    CUresult result = once_cuEventCreate(state, &event, CU_EVENT_DISABLE_TIMING);
    if (result == CUDA_SUCCESS) result = end_cuEventRecord(state, event, use.handle);
    if (result == CUDA_SUCCESS && context_enter_scope(home, &here)) {
        result = end_cuStreamWaitEvent(state, stream, event, 0);
        context_leave_scope(&here);
    }
    if (result != CUDA_SUCCESS) result = end_cuStreamSynchronize(state, use.handle);
    if (event) once_cuEventDestroy(state, event);
    context_leave_scope(&there);
    if (!errors_is_loss(result)) report_driver(state, result, "cuStreamSynchronize");
}

void elsewhere_end_all(DeviceAllocationObject *allocation, CUstream stream)
{
    Use use;
    for (int i = 0; next_use(allocation, i, &use); i++) {
        end_use(allocation->context, stream, use);
        use_drop(use);
    }
    elsewhere_forget(allocation);
}
