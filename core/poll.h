/* Polling whether work is done: a stream, an event, or the mark of a queue, an event that is recorded in a
 * stream from time to time (ext/base/launch_queue.h). */
#ifndef CORE_POLL_H
#define CORE_POLL_H

#include <stdint.h>

#include "core/driver_table.h"

enum { POLL_SLICE_MICROSECONDS = 50000 }; /* between two checks for signals */

typedef struct PollPlace {
    enum { POLL_STREAM, POLL_EVENT, POLL_MARK } kind;
    CUstream stream;
    CUevent event;
} PollPlace;

uint64_t poll_microseconds(void);

/* Polls until the place is idle, for one slice of a wait that began at `start`. */
IN_CALL CUresult poll_slice(PollPlace place, uint64_t start);

/* The result of polling a mark. */
typedef struct MarkState {
    bool captured; /* the stream is under capture: its mark was neither polled nor recorded */
    bool reached; /* the stream has reached the mark, or had none */
    bool recorded; /* the mark was recorded again */
} MarkState;

/* Polls the stream's mark, and records it again when it was reached. is_recorded: false for the first poll,
 * which only records. *mark is made by the first and belongs to the caller. */
IN_CALL CUresult poll_mark(CUstream stream, CUevent *mark, bool is_recorded, MarkState *out);

#endif
