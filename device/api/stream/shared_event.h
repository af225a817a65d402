/* The part of an interprocess event that processes share. Its records are numbered from 1. */
#ifndef DEVICE_API_STREAM_SHARED_EVENT_H
#define DEVICE_API_STREAM_SHARED_EVENT_H

#include "api/base/driver.h"
#include "exec/memory/shared_file.h"

typedef struct SharedEvent SharedEvent;
/* Makes the file for a new event and maps it; the caller closes the file. CUDA_ERROR_NOT_SUPPORTED if the
 * system has no such files. */
CUresult shared_event_create(SharedEvent **out, SharedFile *file);
/* Maps the file of an event of another process. */
CUresult shared_event_map(const SharedFile *file, SharedEvent **out);
void shared_event_unmap(SharedEvent *event);
/* Begins a record by this process. Returns its number. */
uint64_t shared_event_record(SharedEvent *event);
/* Sets that the record with this number was reached, and wakes threads that wait. */
void shared_event_reach(SharedEvent *event, uint64_t number);
/* The number of the last record that any process requested; 0: there is none. */
uint64_t shared_event_last(const SharedEvent *event);
/* Whether the record was reached. A record of a process that has ended counts as reached. */
bool shared_event_reached(SharedEvent *event, uint64_t number);
/* Waits until the record is reached. False when the time `until` (timeout.h; 0: never) comes first. */
bool shared_event_wait(SharedEvent *event, uint64_t number, uint64_t until);

#endif
