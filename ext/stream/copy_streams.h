/* What copies from other devices need in the context that they go to: streams of their own, and an event.
 *
 * A copy on a default stream would wait for all that is queued there, and that would wait for the copy: so
 * two copies in opposite directions would never overlap. On streams of their own they run at the same time,
 * and so do copies from several devices.
 *
 * A context has one stream for each device that it got a copy from, made with the first of them, and keeps
 * one event for reuse. As its default pool, they do not hold the context, and end with it. */
#ifndef EXT_STREAM_COPY_STREAMS_H
#define EXT_STREAM_COPY_STREAMS_H

#include "ext/stream/stream.h"

/* The Stream for copies from this device to the context, which is current; a new reference. NULL with an
 * exception. */
PyObject *copy_stream(ContextObject *context, CUdevice from);

/* *out: an event without timing in the context, which is current, for copy_event_return(). -1 with an
 * exception. */
int copy_event_take(ContextObject *context, CUevent *out);
/* As copy_event_take(), with the driver's result. */
CUresult copy_event_try(ContextObject *context, CUevent *out);
/* event: may be NULL. */
void copy_event_return(ContextObject *context, CUevent event);

#endif
