/* Events as others need them: graphs record them and wait for them, too. */
#ifndef DEVICE_API_STREAM_EVENT_H
#define DEVICE_API_STREAM_EVENT_H

#include "api/stream/node_set.h"
#include "api/stream/stream.h"

/* The nodes after which an event was recorded in a captured stream. Under the graphs' lock. */
typedef struct EventCapture {
    uint64_t capture;           /* 0: its last record was not captured */
    NodeSet before;             /* what its stream's next node depended on */
} EventCapture;

/* Names one record of an event, from the call that requests it until the stream has reached it. */
typedef struct RecordTicket {
    uint64_t serial, shared_number;
} RecordTicket;

/* The event of a handle, with a reference. An error if there is none, or if its context has failed. */
CUresult event_enter(CUevent handle, Event **out);
void event_put(Event *event);
Context *event_context(const Event *event);
EventCapture *event_capture(Event *event);
/* The event was recorded elsewhere since: drops the nodes. */
void event_capture_clear(EventCapture *capture);

/* A new record of the event: from now on it is the last one. */
RecordTicket event_take_ticket(Event *event);
/* The record is the task with this number of the stream. Nothing changes if a newer record was requested. */
void event_place(Event *event, RecordTicket ticket, Stream *stream, uint64_t number);
/* The stream has reached the record: takes its time. */
void event_reach(Event *event, RecordTicket ticket);
/* Records the event in a stream of its context that is not captured, after what the stream was given so
 * far. */
CUresult event_record_in(Stream *stream, Event *event);
/* Later work of the stream waits for the event's last record, also where another process made it. */
CUresult event_wait_in(Stream *stream, Event *event);

#endif
