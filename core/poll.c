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

/* Sleeps between two polls, after a wait of `elapsed` microseconds: the longer the wait, the longer. So a
 * wait is prolonged by a small part of its length only. */
static void pause_for(uint64_t elapsed)
{
    enum { PART = 64 };
    uint64_t length = elapsed / PART;
    if (elapsed < SPIN_MICROSECONDS) return;
    if (length > SLEEP_MAX_MICROSECONDS) length = SLEEP_MAX_MICROSECONDS;
    struct timespec moment = {0, (long)length * 1000};
    nanosleep(&moment, NULL);
}

/* Queries the event in relaxed mode: in another mode that could invalidate a capture which was begun outside
 * of pycuda. */
IN_CALL static CUresult query_relaxed(CUevent event)
{
    CaptureMode mode;
    (void)capture_mode_relax(&mode);
    CUresult result = driver.cuEventQuery(event);
    (void)capture_mode_restore(&mode);
    return result;
}

IN_CALL static CUresult query(PollPlace place)
{
    switch (place.kind) {
    case POLL_STREAM: return driver.cuStreamQuery(place.stream);
    case POLL_EVENT_RELAXED: return query_relaxed(place.event);
    default: return driver.cuEventQuery(place.event);
    }
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

/* In relaxed mode, as captures in other threads otherwise forbid even to query an event. */
IN_CALL CUresult poll_and_record(CUstream stream, CUevent *event, bool is_recorded, QueueEventState *out)
{
    CaptureMode mode;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    (void)capture_mode_relax(&mode);
    CUresult result = driver.cuStreamIsCapturing(stream, &status);
    out->captured = result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
    out->reached = !out->captured && (!is_recorded || driver.cuEventQuery(*event) != CUDA_ERROR_NOT_READY);
    if (out->reached && !*event) result = driver.cuEventCreate(event, CU_EVENT_DISABLE_TIMING);
    if (out->reached && result == CUDA_SUCCESS) result = driver.cuEventRecord(*event, stream);
    out->recorded = out->reached && result == CUDA_SUCCESS;
    (void)capture_mode_restore(&mode);
    return result;
}
