/* Events, for the files whose tasks and graphs record them or wait for them. */
#ifndef DEVICE_API_STREAM_EVENT_H
#define DEVICE_API_STREAM_EVENT_H

#include "api/stream/node_set.h"
#include "api/stream/stream.h"

/* The last record of an event, if it was captured. Under the graphs' lock. */
typedef struct EventCapture {
    uint64_t capture;           /* the capture's id; 0: the last record was not captured */
    NodeSet before;             /* what the next node of the stream would have depended on then */
} EventCapture;

/* Identifies one record of an event, from the call that requests it until the stream has reached it: its
 * number in this process and, of an interprocess event, its number among all processes. */
typedef struct RecordTicket {
    uint64_t serial, shared_number;
} RecordTicket;

/* The event of a handle, with a reference. An error if there is none, or if its context has failed. */
CUresult event_enter(CUevent handle, Event **out);
void event_put(Event *event);
/* The context in which the event was made. */
Context *event_context(const Event *event);
EventCapture *event_capture(Event *event);
/* Drops the nodes: the last record was not captured. */
void event_capture_clear(EventCapture *capture);

/* Begins a new record of the event, which is the last one from now on. */
RecordTicket event_take_ticket(Event *event);
/* Sets where the record is: it is the task with that number of the stream. Nothing changes if a newer record
 * was requested meanwhile. */
void event_place(Event *event, RecordTicket ticket, Stream *stream, uint64_t number);
/* Called when the stream reaches the record: the event is done, and gets its time. */
void event_reach(Event *event, RecordTicket ticket);
/* Records the event in a stream of its context that is not captured, after all tasks that the stream has. */
CUresult event_record_in(Stream *stream, Event *event);
/* Makes later tasks of the stream wait for the event's last record, which another process may have
 * requested. */
CUresult event_wait_in(Stream *stream, Event *event);

#endif
