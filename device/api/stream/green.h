/* Green contexts: the primary context of a device with some of its multiprocessors.
 *
 * What is made in one belongs to the primary context. The CUcontext that is derived from a green one may be
 * current, and calls work in the primary context then. Its streams, and the default streams while it is
 * current, run kernels on its part of the device. */
#ifndef DEVICE_API_STREAM_GREEN_H
#define DEVICE_API_STREAM_GREEN_H

#include "api/stream/stream.h"

typedef struct CUgreenCtx_st {
    Object object;
    _Atomic bool live;
    Context *derived;         /* a reference */
    unsigned long long id;
    SmRange range;
    Stream *barrier;           /* a reference; its new streams wait for what this one waits for */
} GreenContext;

/* The green context of the thread's current context, with a reference; NULL: it is none. */
GreenContext *green_current(void);
/* The handle of the green context in which work of the stream runs; NULL: in none. */
CUgreenCtx green_of_stream(const Stream *stream);
/* What cuStreamGetCtx returns: the derived context if the stream belongs to a green one. */
CUcontext green_context_handle(const Stream *stream);
/* How many multiprocessors the stream's kernels have; NULL: those of the default stream. */
unsigned green_multiprocessors(const Stream *stream);
/* --- api/stream/context_event.c --- */
/* Both work on all streams of the context, or with `green` on those of that green context. */
/* Records the event after all that these streams were given so far. */
CUresult context_record_event(Context *base, GreenContext *green, CUevent event);
/* Makes later work of these streams wait for the event. */
CUresult context_wait_event(Context *base, GreenContext *green, CUevent event);
/* --- api/stream/green.c --- */
/* Makes a new stream one of the green context's; an error if out of memory. */
CUresult green_adopt(GreenContext *green, Stream *stream);

#endif
