/* What contexts and streams ask of folders above theirs, at their end and when the host has waited: declared
 * here, defined in the file that is named, so that no folder includes one that includes it. */
#ifndef DEVICE_API_CONTEXT_UPCALLS_H
#define DEVICE_API_CONTEXT_UPCALLS_H

#include "api/context/context.h"

/* --- api/stream/queue.c --- */
/* Makes the context's default stream: from now on it has streams. false if out of memory. */
bool queue_open_context(Context *context);
/* Closes all streams of a context and waits for their work, however long it takes. Later the context gets no
 * new streams. */
void queue_close_context(Context *context);
/* Closes the stream and puts the caller's reference. */
void queue_drop(Stream *stream);
/* Waits for what the streams of the context were given so far. An error, without a wait, if captures forbid
 * waiting to this thread (stream/capture.h). */
CUresult queue_wait_context(Context *context);
/* As queue_wait_context(), also where captures forbid it: for waits that cannot be deferred. */
CUresult queue_wait_context_despite_capture(Context *context);
bool queue_context_busy(Context *context);
/* Cancels the kernels that run in the context, which fails by that. What is queued is not begun. */
void queue_cancel_context(Context *context);

/* --- api/memory/pool_blocks.c --- */
/* The host has waited for that stream, or for all streams of the device (NULL): returns unused memory of
 * pools to the device, as far as their thresholds say. */
void pools_observe(Device *device, const Stream *stream);
/* The context closes: frees what it allocated from pools. */
void pools_leave(const Context *context);
/* --- api/memory/ipc.c --- */
/* The context closes: unmaps memory of other processes that it has. */
void ipc_close_context(const Context *context);
/* --- api/memory/managed.c --- */
/* Forgets advice (cuMemAdvise) about memory that was freed. */
void managed_sweep(void);

/* --- graph/capture_mode.c --- */
/* Before a wait for all of the context. An error if one of its streams is captured: then the capture is
 * invalidated. */
CUresult capture_check_context(const Context *context);

#endif
