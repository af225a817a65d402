/* Streams as the API sees them: handles, the NULL stream, the thread's default stream. */
#ifndef DEVICE_API_STREAM_STREAM_H
#define DEVICE_API_STREAM_STREAM_H

#include "api/stream/queue.h"

/* Sets whether the thread's NULL stream means its per-thread default stream (true) or the legacy one.
 * Returns the value from before, which the caller sets again at the end of the call. */
bool stream_set_null_is_per_thread(bool per_thread);

/* The stream_enter functions return the stream of a handle with a reference. NULL, CU_STREAM_LEGACY and
 * CU_STREAM_PER_THREAD stand for default streams of the current context. */
/* For calls that cannot be captured. A captured stream is an error, and its capture is invalidated. */
CUresult stream_enter(CUstream handle, Stream **out);
/* For calls that can be captured: the caller has to check stream_is_captured() (capture.h). */
CUresult stream_enter_to_submit(CUstream handle, Stream **out);
/* The NULL stream, for blocking calls without a stream argument. They cannot be captured. */
CUresult stream_enter_at_once(Stream **out);
/* For calls that wait for the stream or query whether it is done. An error for a captured stream, and for
 * every stream while captures forbid the calling thread to wait. */
CUresult stream_enter_to_wait(CUstream handle, Stream **out);
/* For calls that query or set the stream's own state, captured or not. */
CUresult stream_enter_itself(CUstream handle, Stream **out);
/* As stream_enter_itself(), but a context that has failed is no error. */
CUresult stream_enter_any(CUstream handle, Stream **out);
/* The error of the fault that ended the stream's context; CUDA_SUCCESS if it has not failed. */
CUresult stream_error(const Stream *stream);
/* Makes a stream of the context, and of the green context unless that is NULL. *out: its handle. */
CUresult stream_create(Context *context, struct CUgreenCtx_st *green, CUstream *out, unsigned flags,
                       int priority);

#endif
