/* Green contexts: the primary context of a device with some of its multiprocessors.
 *
 * Each has a derived context: a CUcontext that can be made current. While it is current, calls work in the
 * primary context, and objects that they make belong to the primary context. Kernels run on the green
 * context's part of the device if they are launched in a stream of it, or in a default stream while it is
 * current. */
#ifndef DEVICE_API_STREAM_GREEN_H
#define DEVICE_API_STREAM_GREEN_H

#include "api/stream/stream.h"

typedef struct CUgreenCtx_st {
    Object object;
    _Atomic bool live;         /* false from cuGreenCtxDestroy on */
    Context *derived;          /* a reference */
    unsigned long long id;     /* of the derived context */
    SmRange range;             /* its part of the device */
    Stream *barrier;           /* a reference; new streams of it wait for the tasks of this one */
} GreenContext;

/* The green context that the thread's current context is derived from, with a reference; NULL: from none. */
GreenContext *green_current(void);
/* The handle of the green context on whose part kernels of the stream run; NULL: on the whole device. */
CUgreenCtx green_of_stream(const Stream *stream);
/* What cuStreamGetCtx returns: the derived context of that green context, else the stream's own context. */
CUcontext green_context_handle(const Stream *stream);
/* How many multiprocessors the stream's kernels run on. NULL stands for a default stream. */
unsigned green_multiprocessors(const Stream *stream);
/* --- api/stream/context_event.c --- */
/* Records the event after all work that the context's streams have now; with `green`, of that green context's
 * streams. */
CUresult context_record_event(Context *base, GreenContext *green, CUevent event);
/* Makes later work of the same streams wait for the event. */
CUresult context_wait_event(Context *base, GreenContext *green, CUevent event);
/* --- api/stream/green.c --- */
/* Makes a new stream one of the green context's; an error if out of memory. */
CUresult green_adopt(GreenContext *green, Stream *stream);

#endif
