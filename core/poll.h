/* Polling whether work is done: all work of a stream, or that before an event. One kind of event is the
 * polled event of a launch queue, which is recorded in a stream from time to time
 * (ext/base/launch_queue.h). */
#ifndef CORE_POLL_H
#define CORE_POLL_H

#include <stdint.h>

#include "core/driver_table.h"

enum { POLL_SLICE_MICROSECONDS = 50000 }; /* between two checks for signals */

/* What is polled. POLL_EVENT_RELAXED: an event that is queried in relaxed capture mode. */
typedef struct PollPlace {
    enum { POLL_STREAM, POLL_EVENT, POLL_EVENT_RELAXED } kind;
    CUstream stream;
    CUevent event;
} PollPlace;

/* The time of CLOCK_MONOTONIC. */
uint64_t poll_microseconds(void);

/* Polls until the work is done, or for POLL_SLICE_MICROSECONDS: then the result is CUDA_ERROR_NOT_READY.
 * `start`: when the wait began of which this is a part, by poll_microseconds(). */
IN_CALL CUresult poll_slice(PollPlace place, uint64_t start);

/* The result of polling the polled event of a queue. */
typedef struct QueueEventState {
    bool captured; /* the stream is under capture: the event was neither queried nor recorded */
    bool reached; /* the stream has reached the event, or it was never recorded */
    bool recorded; /* the event was recorded again */
} QueueEventState;

/* Queries the stream's polled event, and records it again if it was reached. is_recorded: false for the first
 * poll, which only records. If *event is NULL an event is made, which belongs to the caller. */
IN_CALL CUresult poll_and_record(CUstream stream, CUevent *event, bool is_recorded, QueueEventState *out);

#endif
