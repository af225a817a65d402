/* The part of an event that processes share. Records have numbers. */
#ifndef DEVICE_API_STREAM_SHARED_EVENT_H
#define DEVICE_API_STREAM_SHARED_EVENT_H

#include "api/base/driver.h"
#include "exec/memory/shared_file.h"

typedef struct SharedEvent SharedEvent;
/* A page for a new event, and the file it is in. CUDA_ERROR_NOT_SUPPORTED where the system gives none. */
CUresult shared_event_create(SharedEvent **out, SharedFile *file);
CUresult shared_event_map(const SharedFile *file, SharedEvent **out);
void shared_event_unmap(SharedEvent *event);
/* Notes that this process requests a record. Returns its number. */
uint64_t shared_event_record(SharedEvent *event);
/* Notes that the record with this number was reached. */
void shared_event_reach(SharedEvent *event, uint64_t number);
/* The number of the last record that any process requested; 0: there is none. */
uint64_t shared_event_last(const SharedEvent *event);
/* Whether the record was reached. A record of a process that has ended counts as reached. */
bool shared_event_reached(SharedEvent *event, uint64_t number);
/* Waits until the record is reached. False when the time `until` (timeout.h; 0: never) comes first. */
bool shared_event_wait(SharedEvent *event, uint64_t number, uint64_t until);

#endif
