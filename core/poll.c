/* See poll.h. */
#include "core/poll.h"

#include <time.h>

#include "core/capture_mode.h"

enum {
    SPIN_MICROSECONDS = 5000, /* then a poll sleeps: in a short wait sleeping would delay the end too much */
    SLEEP_MAX_MICROSECONDS = 2000
};

uint64_t poll_microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void pause_for(uint64_t elapsed)
{
    uint64_t length = elapsed / 64;
    if (elapsed < SPIN_MICROSECONDS) return;
    if (length > SLEEP_MAX_MICROSECONDS) length = SLEEP_MAX_MICROSECONDS;
    struct timespec moment = {0, (long)length * 1000};
    nanosleep(&moment, NULL);
}

/* The query is made in relaxed mode: in another one it would invalidate a capture that was begun outside of
 * pycuda. */
IN_CALL static CUresult query_mark(CUevent mark)
{
    CaptureMode mode;
    (void)capture_mode_relax(&mode);
    CUresult result = driver.cuEventQuery(mark);
    (void)capture_mode_restore(&mode);
    return result;
}

IN_CALL static CUresult query(PollPlace place)
{
    return place.kind == POLL_STREAM ? driver.cuStreamQuery(place.stream)
           : place.kind == POLL_MARK ? query_mark(place.event)
                                     : driver.cuEventQuery(place.event);
}

IN_CALL CUresult poll_slice(PollPlace place, uint64_t start)
{
    uint64_t begin = poll_microseconds(), now = begin;
    CUresult result = query(place);
    while (result == CUDA_ERROR_NOT_READY && now - begin < POLL_SLICE_MICROSECONDS) {
        pause_for(now - start);
        result = query(place);
        now = poll_microseconds();
    }
    return result;
}

/* Captures in other threads forbid even to query an event, except in this mode. */
IN_CALL CUresult poll_mark(CUstream stream, CUevent *mark, bool is_recorded, MarkState *out)
{
    CaptureMode mode;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    (void)capture_mode_relax(&mode);
    CUresult result = driver.cuStreamIsCapturing(stream, &status);
    out->captured = result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
    out->reached = !out->captured && (!is_recorded || driver.cuEventQuery(*mark) != CUDA_ERROR_NOT_READY);
    if (out->reached && !*mark) result = driver.cuEventCreate(mark, CU_EVENT_DISABLE_TIMING);
    if (out->reached && result == CUDA_SUCCESS) result = driver.cuEventRecord(*mark, stream);
    out->recorded = out->reached && result == CUDA_SUCCESS;
    (void)capture_mode_restore(&mode);
    return result;
}
