/* Functions of higher folders that contexts and streams call, mostly at their end and after a wait. They are
 * declared here and defined in the file named above them, so that no folder includes a higher one. */
#ifndef DEVICE_API_CONTEXT_UPCALLS_H
#define DEVICE_API_CONTEXT_UPCALLS_H

#include "api/context/context.h"

/* --- api/stream/queue.c --- */
/* Makes the context's default stream: from now on it has streams. false if out of memory. */
bool queue_open_context(Context *context);
/* Closes all streams of a context and waits for their work, without a timeout. The context gets no new
 * streams until it is opened again. */
void queue_close_context(Context *context);
/* Closes the stream and puts the caller's reference. */
void queue_drop(Stream *stream);
/* Waits for all work that the context's streams have so far. Returns an error at once if a capture forbids
 * the thread to wait (stream/capture.h). */
CUresult queue_wait_context(Context *context);
/* As queue_wait_context(), but waits even if a capture forbids it: for waits that cannot be deferred. */
CUresult queue_wait_context_despite_capture(Context *context);
/* Whether any stream of the context has unfinished work. */
bool queue_context_busy(Context *context);
/* Ends the kernels that run in the context, which fails by that. Tasks that are queued do not begin. */
void queue_cancel_context(Context *context);

/* --- api/memory/pool_blocks.c --- */
/* The host has waited for that stream, or for all streams of the device (NULL): returns unused memory of
 * pools to the device, as far as their thresholds say. */
void pools_observe(Device *device, const Stream *stream);
/* Called when the context closes: frees the memory that it has allocated from pools. */
void pools_leave(const Context *context);
/* --- api/memory/ipc.c --- */
/* Called when the context closes: unmaps the memory of other processes that it has opened. */
void ipc_close_context(const Context *context);
/* --- api/memory/managed.c --- */
/* Forgets advice (cuMemAdvise) about memory that was freed. */
void managed_sweep(void);

/* --- graph/capture_mode.c --- */
/* Called before a wait for all streams of the context. Returns an error if one of them is captured; that
 * capture is invalidated. */
CUresult capture_check_context(const Context *context);

#endif
