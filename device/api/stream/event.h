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

/* A record asked for, until its place in a stream is known and has been reached. */
typedef struct RecordTicket {
    uint64_t serial, shared_number;
} RecordTicket;

/* The event with a reference, and its context's fault if there is one. */
CUresult event_enter(CUevent handle, Event **out);
void event_put(Event *event);
Context *event_context(const Event *event);
EventCapture *event_capture(Event *event);
/* Puts the nodes; it was recorded elsewhere since. */
void event_capture_clear(EventCapture *capture);

RecordTicket event_take_ticket(Event *event);
/* The record is that task of the stream. */
void event_place(Event *event, RecordTicket ticket, Stream *stream, uint64_t number);
/* The stream has come to it. */
void event_reach(Event *event, RecordTicket ticket);
/* Its record is what the stream has now, which is not captured. */
CUresult event_record_in(Stream *stream, Event *event);
/* Later work of the stream waits for the event's last record, even one by another process. */
CUresult event_wait_in(Stream *stream, Event *event);

#endif
