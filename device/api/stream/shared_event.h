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
/* A record is requested: its number. */
uint64_t shared_event_record(SharedEvent *event);
/* It has been reached. */
void shared_event_reach(SharedEvent *event, uint64_t number);
/* The number of the last record that any process asked for; 0 when none did. */
uint64_t shared_event_last(const SharedEvent *event);
/* Whether a record was reached, or its process is gone. */
bool shared_event_reached(SharedEvent *event, uint64_t number);
bool shared_event_wait(SharedEvent *event, uint64_t number,
                       uint64_t until); /* false at that time; 0: never */

#endif
