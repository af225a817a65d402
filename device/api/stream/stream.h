/* Streams as the API sees them: handles, the NULL stream, the thread's default stream. */
#ifndef DEVICE_API_STREAM_STREAM_H
#define DEVICE_API_STREAM_STREAM_H

#include "api/stream/queue.h"

/* What the thread's NULL stream means: its own default stream or the legacy one. Returns what it was. */
bool stream_null_is_per_thread(bool per_thread);
/* The stream of a handle, special ones for the current context, with a reference. Not one under capture: the
 * call is none that can be captured, and is refused with the error for that. */
CUresult stream_enter(CUstream handle, Stream **out);
/* For work that can be captured: the caller asks stream_is_captured (capture.h). */
CUresult stream_enter_to_submit(CUstream handle, Stream **out);
/* The NULL stream, for calls without a stream that wait: they can never be captured. */
CUresult stream_enter_at_once(Stream **out);
/* For waiting and asking whether it is done: a captured stream is refused, and so is every stream while the
 * calling thread may not wait because of captures. */
CUresult stream_enter_to_wait(CUstream handle, Stream **out);
/* To query or set the stream's own state, captured or not. */
CUresult stream_enter_itself(CUstream handle, Stream **out);
/* As stream_enter_itself(), but with a faulted context as well. */
CUresult stream_enter_any(CUstream handle, Stream **out);
/* Whether the stream's context has failed: the fault is reported again. */
CUresult stream_error(const Stream *stream);
/* A new stream of the context, and of a green one or NULL. */
CUresult stream_create(Context *context, struct CUgreenCtx_st *green, CUstream *out, unsigned flags,
                       int priority);

#endif
