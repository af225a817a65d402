/* Asking whether work is done, for drivers that can only be asked: a stream, an event, or the mark of a
 * queue, which is an event that is recorded in a stream now and then (ext/base/room.h). */
#ifndef CORE_POLL_H
#define CORE_POLL_H

#include <stdint.h>

#include "core/driver_table.h"

enum { POLL_SLICE_MICROSECONDS = 50000 }; /* between two looks for signals */

typedef struct PollPlace {
    enum { POLL_STREAM, POLL_EVENT, POLL_MARK } kind;
    CUstream stream;
    CUevent event;
} PollPlace;

uint64_t poll_microseconds(void);

/* Asks until the place is idle, for one slice of a wait that began at `start`. */
IN_CALL CUresult poll_slice(PollPlace place, uint64_t start);

/* What was found when a mark was looked at. */
typedef struct MarkLook {
    bool captured; /* calls on the stream run later, if at all */
    bool reached; /* the mark was, or there was none; it is recorded anew */
    bool recorded;
} MarkLook;

/* Looks at the stream's mark, which is not recorded before the first look, and records it again when it was
 * reached. */
IN_CALL CUresult poll_look(CUstream stream, CUevent *mark, bool is_recorded, MarkLook *out);

#endif
