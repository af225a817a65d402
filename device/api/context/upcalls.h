/* What contexts and streams ask of folders above theirs, at their end and when the host has waited: declared
 * here, defined in the file that is named, so that no folder includes one that includes it. */
#ifndef DEVICE_API_CONTEXT_UPCALLS_H
#define DEVICE_API_CONTEXT_UPCALLS_H

#include "api/context/context.h"

/* --- api/stream/queue.c --- */
/* Makes the context's default stream: from now on it has streams. false if out of memory. */
bool queue_open_context(Context *context);
/* Waits for and closes all of a context's streams, however long it takes. It gets no new ones. */
void queue_close_context(Context *context);
/* Closes the stream and puts the caller's reference. */
void queue_drop(Stream *stream);
/* Waits for what the streams of the context have been given so far. */
CUresult queue_wait_context(Context *context);
/* The same wait when it cannot be deferred, even if captures forbid it (stream/capture.h), which the above
 * reports. */
CUresult queue_wait_context_despite_capture(Context *context);
bool queue_context_busy(Context *context);
/* Ends the kernels that run in the context, which fails; what is queued is not begun. */
void queue_cancel_context(Context *context);

/* --- api/memory/pool_blocks.c --- */
/* The host has waited for that stream, or for all of the device (NULL). */
void pools_observe(Device *device, const Stream *stream);
/* Frees what the context has in pools. */
void pools_leave(const Context *context);
/* --- api/memory/ipc.c --- */
/* Lets go of what the context has of other processes. */
void ipc_close_context(const Context *context);
/* --- api/memory/managed.c --- */
/* Forgets what was said about memory that is gone. */
void managed_sweep(void);

/* --- graph/capture_mode.c --- */
/* A wait for all of the context: the error when one of its streams is captured. */
CUresult capture_check_context(const Context *context);

#endif
