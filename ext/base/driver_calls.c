/* See driver_calls.h. */
#include "ext/base/driver_calls.h"

#include "core/exclusive.h"
#include "ext/base/launch_queue.h"

/* Called before the first attempt. What queues becomes a call that is answered at once if the queue has room,
 * else one that waits. False when no attempt is to be made: call->result says why. */
static bool open_call(ModuleState *state, DriverCall *call)
{
    if (call->releases) wait_begin_release(state);
    if (call->how == QUEUES) {
        const WaitPlace *place = &call->place;
        bool has_room = queue_charge(&state->queues, place->stream, place->calls)
                        || queue_find_capacity(state, place->stream, place->calls);
        call->how = has_room ? ASKS : WAITS;
    }
    return call->how != WAITS || wait_begin(state, &call->place, &call->result);
}

/* Releases the GIL for an attempt, if it may wait. False when the driver must not be called: call->result
 * says why. */
static bool begin_attempt(ModuleState *state, DriverCall *call)
{
    bool lets_go = call->how != ASKS || CALL_LETS_GO(state);
    call->result = CUDA_SUCCESS;
    if (forked_after_init()) call->result = CUDA_ERROR_NOT_INITIALIZED;
    if (lets_go && host_function_runs()) call->result = CUDA_ERROR_NOT_PERMITTED;
    if (call->result != CUDA_SUCCESS) return false;
    call->step = lets_go ? CALL_WITHOUT_GIL : CALL_WITH_GIL;
    if (lets_go) call->thread = gate_release_gil();
    return true;
}

/* Called after a copy from the host on the default stream: waits until the bytes are on the device. From
 * memory that is not page-locked, the driver's call returns when it has read them. Until they have arrived,
 * streams that do not wait for the default one may read what was there before: with 1 MiB on an idle H100
 * more often than not, with less on one that programs share. Waiting costs 3 us, so small copies do without
 * as long as there are no such streams. */
static void await_bytes(ModuleState *state, DriverCall *call)
{
    if (copy_is_awaited(state, call->copied_in)) call->result = try_cuStreamSynchronize(state, NULL);
}

/* Called after an attempt. True when another one follows. Otherwise what waited is ended, and the bytes of a
 * copy from the host are awaited: call->result is the call's. */
static bool is_again(ModuleState *state, DriverCall *call)
{
    if (!call->once && !call->context_made && CALL_WANTS_CONTEXT(call->result)) {
        call->context_made = true;
        if (state->make_default_context(state, call->result) == 0) return true;
    }
    if (call->how == WAITS && wait_again(state, &call->result)) {
        call->context_made = false;
        return true;
    }
    if (call->releases && wait_again_release(state, &call->result)) return true;
    if (call->how == WAITS) wait_end(state, &call->place, call->result);
    if (call->copied_in && call->result == CUDA_SUCCESS) await_bytes(state, call);
    return false;
}

bool driver_call_next_slowly(ModuleState *state, DriverCall *call)
{
    if (call->step == CALL_NEW) {
        if (!open_call(state, call)) return false;
    } else {
        if (call->step == CALL_WITHOUT_GIL) gate_take_gil(call->thread);
        if (!is_again(state, call)) return false;
    }
    while (!begin_attempt(state, call))
        if (!is_again(state, call)) return false;
    return true;
}

DriverCall driver_call_copies(ModuleState *state, const void *host, CUstream stream)
{
    return host ? HOW_WAITS(wait_for_copy(state, host, stream)) : HOW_QUEUES(stream);
}

/* For rows of copies of several dimensions: the host memory of the copy, or NULL; the bytes that it reads
 * there. */
#define HOST_OF(copy) \
    ((copy)->dstMemoryType == CU_MEMORYTYPE_HOST   ? (copy)->dstHost \
     : (copy)->srcMemoryType == CU_MEMORYTYPE_HOST ? (copy)->srcHost \
                                                   : NULL)
#define BYTES_2D(copy) \
    ((copy)->srcMemoryType == CU_MEMORYTYPE_HOST ? (copy)->WidthInBytes * (copy)->Height : 0)
#define BYTES_3D(copy) (BYTES_2D(copy) * (copy)->Depth)

/* For rows of copies and fills on the default stream that are within the device, or may be. */
#define WITHIN_DEVICE(to, from) wait_within_device(self, (to), (from))
#define DEVICE_SIDE(copy, side) ((copy)->side##MemoryType == CU_MEMORYTYPE_ARRAY ? 0 : (copy)->side##Device)
#define AFTER_SHAPED(copy) \
    (HOST_OF(copy) ? AFTER_STREAM(NULL) : WITHIN_DEVICE(DEVICE_SIDE(copy, dst), DEVICE_SIDE(copy, src)))

#define HOW_BLOCKS_ALONE HOW_BLOCKS
#define HOW_ASKS_NO_CONTEXT ASKS_ONCE

/* By the kind of a row: ONCE_, how a single attempt is made, with the GIL or not; CALLED_, how the driver's
 * function is called, which may be under a lock. */
#define ONCE_ASKS ASKS
#define ONCE_ASKS_NO_CONTEXT ASKS
#define ONCE_BLOCKS BLOCKS
#define ONCE_BLOCKS_ALONE BLOCKS
#define ONCE_QUEUES(stream) BLOCKS
#define ONCE_QUEUES_GRAPH(stream) BLOCKS
#define ONCE_COPIES(host, stream) BLOCKS
#define ONCE_WAITS(place) BLOCKS
#define ONCE_COPIES_IN(place, bytes) BLOCKS
#define CALLED_ASKS
#define CALLED_ASKS_NO_CONTEXT
#define CALLED_BLOCKS
#define CALLED_BLOCKS_ALONE EXCLUSIVE
#define CALLED_QUEUES(stream)
#define CALLED_QUEUES_GRAPH(stream)
#define CALLED_COPIES(host, stream)
#define CALLED_WAITS(place)
#define CALLED_COPIES_IN(place, bytes)

/* By the kind of a row: whether the first attempt may be made at once, with the GIL and without a
 * DriverCall, as for the usual launch. */
#define AT_ONCE_ASKS driver_is_free(self)
#define AT_ONCE_ASKS_NO_CONTEXT driver_is_free(self)
#define AT_ONCE_QUEUES(stream) (driver_is_free(self) && queue_take(&self->queues, (stream), 1))
#define AT_ONCE_QUEUES_GRAPH(stream) \
    (driver_is_free(self) && queue_take(&self->queues, (stream), QUEUE_CALLS_OF_A_GRAPH))
#define AT_ONCE_COPIES(host, stream) false
#define AT_ONCE_COPIES_IN(place, bytes) false
#define AT_ONCE_WAITS(place) false
#define AT_ONCE_BLOCKS false
#define AT_ONCE_BLOCKS_ALONE false

#define CU_FN(name, symbol, version, per_thread, waits, params, args) \
    static inline CUresult made_##name WITH_STATE(params, args) \
    { \
        DriverCall call; \
        if (AT_ONCE_##waits) { \
            CUresult result = driver.name args; \
            if (!CALL_WANTS_CONTEXT(result)) return result; \
            call = HOW_##waits; \
            call.step = CALL_WITH_GIL; \
            call.result = result; \
        } else { \
            call = HOW_##waits; \
        } \
        while (driver_call_next(self, &call)) call.result = CALLED_##waits(driver.name args); \
        return call.result; \
    } \
    CUresult try_##name WITH_STATE(params, args) { return made_##name WITH_SELF(args); } \
    int gpu_##name WITH_STATE(params, args) \
    { \
        return raise_unless(self, made_##name WITH_SELF(args), #name); \
    } \
    CUresult once_##name WITH_STATE(params, args) \
    { \
        if (ONCE_##waits == ASKS && driver_is_free(self)) return driver.name args; \
        DriverCall call = {.how = ONCE_##waits, .once = true}; \
        while (driver_call_next(self, &call)) call.result = CALLED_##waits(driver.name args); \
        return call.result; \
    } \
    CUresult end_##name WITH_STATE(params, args) \
    { \
        DriverCall call = {.how = ONCE_##waits, .once = true, .releases = ONCE_##waits == BLOCKS}; \
        while (driver_call_next(self, &call)) call.result = CALLED_##waits(driver.name args); \
        return call.result; \
    }
#include "abi/cuda_functions.def"
#undef CU_FN
