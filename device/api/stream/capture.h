/* Streams under capture: their commands become nodes of a graph.
 *
 * A capture has the stream where it began and those that joined by waiting for its events. Each of them has
 * the nodes that its next one depends on. What must not happen meanwhile (waiting for such a stream, work
 * of the legacy stream that would wait for it) is refused with its own error and invalidates the capture.
 */
#ifndef DEVICE_API_STREAM_CAPTURE_H
#define DEVICE_API_STREAM_CAPTURE_H

#include "api/stream/queue.h"

struct CopyJob;
struct SemaphoresNodeParams;
struct FillJob;
struct LaunchConfig;

/* The part of a captured stream. */
typedef struct CaptureMember CaptureMember;

/* How many captures there are: most of the time none. */
extern _Atomic unsigned capture_count;

static inline bool stream_is_captured(const Stream *stream)
{
    return atomic_load_explicit(&stream->captured, memory_order_acquire) != NULL;
}

/* A command that cannot be captured was asked of a captured stream. Invalidates the capture and returns the
 * error for that. */
CUresult capture_refuse(Stream *stream);
/* Before work of the legacy stream, which would wait for the context's blocking streams. An error if one of
 * them is captured; with `invalidate` its capture is invalidated as well. CUDA_SUCCESS for other streams. */
CUresult capture_check_legacy(const Stream *stream, bool invalidate);
/* The error for a call that the modes of the captures in progress forbid to this thread, or CUDA_SUCCESS. */
CUresult capture_check_thread(void);

/* These add the command as a node to the graph of the captured stream's capture. */
CUresult capture_add_kernel(Stream *stream, Function *function, const struct LaunchConfig *shape,
                            void **pointers, void **extra);
CUresult capture_add_copy(Stream *stream, const struct CopyJob *job);
CUresult capture_add_fill(Stream *stream, const struct FillJob *job);
CUresult capture_add_values(Stream *stream, const CUstreamBatchMemOpParams *operations, unsigned count);
CUresult capture_add_semaphores(Stream *stream, const struct SemaphoresNodeParams *params, bool wait);
CUresult capture_add_host(Stream *stream, CUhostFn function, void *data);
CUresult capture_add_alloc(Stream *stream, Pool *pool, size_t size, CUdeviceptr *out);
CUresult capture_add_free(Stream *stream, CUdeviceptr address);
CUresult capture_record(Stream *stream, Event *event, bool external);
CUresult capture_wait(Stream *stream, Event *event, bool external);
/* As capture_wait(), for a stream that is not captured. If the event was recorded under capture, the stream
 * joins that capture and *joined becomes true. */
CUresult capture_join(Stream *stream, Event *event, bool *joined);
/* An event last recorded under capture can be waited for by streams of that capture only. */
CUresult capture_check_event(Event *event);

/* The event is recorded outside of captures now: forgets its record in a capture, if there is one. */
void capture_forget(Event *event);

/* The stream is destroyed: takes it out of its capture, if it is in one. */
void capture_leave(Stream *stream);

#endif
