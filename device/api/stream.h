/* Streams as the API sees them: handles, the NULL stream, the thread's default stream. */
#ifndef DEVICE_API_STREAM_H
#define DEVICE_API_STREAM_H

#include "api/queue.h"

/* What the thread's NULL stream means: its own default stream or the legacy one. Returns what it was. */
bool stream_null_is_per_thread(bool per_thread);
/* The stream of a handle, special ones for the current context, with a reference. */
CUresult stream_enter(CUstream handle, Stream **out);
/* stream_enter, but with a faulted context as well. */
CUresult stream_enter_any(CUstream handle, Stream **out);
/* Whether the stream's context has failed: the fault, told again. */
CUresult stream_error(const Stream *stream);

#endif
