/* The driver's functions as ext/ calls them: typed, and each decides about the GIL by what its row of
 * abi/cuda_functions.def says.
 *
 *   gpu_cuName(state, ...)    0, or -1 with the exception, which has the function's name
 *   try_cuName(state, ...)    the result, for callers that look at it
 *   once_cuName(state, ...)   the result of one attempt: for what needs no context, and for cleanup
 *   end_cuName(state, ...)    the same for releases that wait for work: a signal does not end them
 *
 * The first two make the default context when the thread has none, and call again. At each call other threads
 * may run: what was read from shared objects before is to be owned or read again.
 *
 * Functions of core/ that make driver calls on behalf of their caller are marked IN_CALL, and used only in
 * CALL_CORE, with what they do at most: HOW_ASKS and so on, as the rows say it. They ask nothing of Python.
 *
 * Why: a driver may hold a lock of its own while it waits for a stream. A Python function in that stream
 * needs the GIL, so a thread that holds the GIL and waits for that lock is a deadlock. So what may wait
 * releases the GIL; what answers at once keeps it unless streams have Python functions to run; what queues
 * keeps it while the queue is not full.
 */
#ifndef EXT_BASE_DRIVER_CALLS_H
#define EXT_BASE_DRIVER_CALLS_H

#include "ext/base/wait.h"

/* Puts the state before the parameters of a row: (int *count) becomes (ModuleState *self, int *count), and
 * (void), where the arguments are (), becomes (ModuleState *self). */
#define FIRST_OF(first, ...) first
#define SECOND_OF(first, second, ...) second
#define SECOND(...) SECOND_OF(__VA_ARGS__)
#define LIST(...) __VA_ARGS__
#define STATE_ALONE_ ~, (ModuleState * self)
#define STATE_PASTED(argument) STATE_ALONE_##argument
#define STATE_ALONE(argument) STATE_PASTED(argument)
#define SELF_ALONE_ ~, (self)
#define SELF_PASTED(argument) SELF_ALONE_##argument
#define SELF_ALONE(argument) SELF_PASTED(argument)
#define WITH_SELF(args) SECOND(SELF_ALONE(FIRST_OF args), (self, LIST args), ~)
#define WITH_STATE(params, args) SECOND(STATE_ALONE(FIRST_OF args), (ModuleState * self, LIST params), ~)

#define CU_FN(name, symbol, version, per_thread, waits, params, args) \
    int gpu_##name WITH_STATE(params, args); \
    CUresult try_##name WITH_STATE(params, args); \
    CUresult once_##name WITH_STATE(params, args); \
    CUresult end_##name WITH_STATE(params, args);
#include "abi/cuda_functions.def"
#undef CU_FN

/* How a driver call is made, and the state of its attempts. */
typedef struct DriverCall {
    enum {
        ASKS,   /* is answered at once */
        QUEUES, /* waits only if the stream's queue is full */
        WAITS,  /* waits for work; a signal can end the wait */
        BLOCKS  /* may wait inside the driver; no signal ends that */
    } how;
    bool once;              /* makes no context when the thread has none, and is not repeated with one */
    bool releases; /* is repeated until the work that it waits for is done, whatever signals come */
    WaitPlace place; /* of QUEUES and WAITS */
    size_t copied_in; /* bytes from the host: the call waits until they are read */
    CUresult result; /* of the last attempt */
    /* Set by driver_call_next: */
    enum { CALL_NEW, CALL_WITH_GIL, CALL_WITHOUT_GIL } step; /* no attempt yet; how the last one was made */
    bool context_made; /* the default context was made after an attempt that lacked one */
    GateThread thread; /* of CALL_WITHOUT_GIL */
} DriverCall;

#define HOW_ASKS ((DriverCall){.how = ASKS})
#define HOW_BLOCKS ((DriverCall){.how = BLOCKS})
#define HOW_QUEUES(stream) ((DriverCall){.how = QUEUES, .place = ON_QUEUE(stream, 1)})
#define HOW_QUEUES_GRAPH(stream) \
    ((DriverCall){.how = QUEUES, .place = ON_QUEUE(stream, QUEUE_CALLS_OF_A_GRAPH)})
#define HOW_WAITS(where) ((DriverCall){.how = WAITS, .place = where})
#define HOW_COPIES_IN(where, bytes) ((DriverCall){.how = WAITS, .place = where, .copied_in = bytes})
#define HOW_COPIES(host, stream) driver_call_copies(self, (host), (stream))
/* For one attempt: of a call that answers at once, of one that may wait, of a release. */
#define ASKS_ONCE ((DriverCall){.how = ASKS, .once = true})
#define BLOCKS_ONCE ((DriverCall){.how = BLOCKS, .once = true})
#define RELEASES ((DriverCall){.how = BLOCKS, .once = true, .releases = true})

/* How a copy of this host memory in the stream is made; HOW_COPIES for callers with `self`. */
DriverCall driver_call_copies(ModuleState *state, const void *host, CUstream stream);

/* Whether a call that answers at once may be made as it is, with the GIL. */
static inline bool driver_is_free(const ModuleState *state)
{
    return !CALL_LETS_GO(state) && !forked_after_init();
}

/* True when an attempt is to be made now: the GIL has been released for it if the driver may wait. False when
 * the last attempt's result is the call's; the thread has the GIL again. */
bool driver_call_next_slowly(ModuleState *state, DriverCall *call);
static inline bool driver_call_next(ModuleState *state, DriverCall *call)
{
    if (call->step == CALL_NEW && call->how == ASKS && driver_is_free(state)) {
        call->step = CALL_WITH_GIL;
        return true;
    }
    if (call->step == CALL_WITH_GIL && (call->once || !CALL_WANTS_CONTEXT(call->result))) return false;
    return driver_call_next_slowly(state, call);
}

/* A call of an IN_CALL function. */
#define CALL_CORE(state, outcome, how, expression) \
    do { \
        DriverCall core_call = how; \
        while (driver_call_next((state), &core_call)) core_call.result = (expression); \
        (outcome) = core_call.result; \
    } while (0)

#endif
