/* Streams under capture: their commands become nodes of a graph.
 *
 * The members of a capture are the stream where it began and the streams that joined it by waiting for its
 * events. Each member has a set of nodes on which its next node will depend. Calls that are not allowed
 * meanwhile (waiting for such a stream, work of the legacy stream that would wait for it) return an error of
 * their own and invalidate the capture.
 */
#ifndef DEVICE_API_STREAM_CAPTURE_H
#define DEVICE_API_STREAM_CAPTURE_H

#include "api/stream/queue.h"

struct CopyJob;
struct SemaphoresNodeParams;
struct FillJob;
struct LaunchConfig;

/* A captured stream's part in its capture. */
typedef struct CaptureMember CaptureMember;

/* The number of captures in progress: most of the time 0, which allows quick checks. */
extern _Atomic unsigned capture_count;

static inline bool stream_is_captured(const Stream *stream)
{
    return atomic_load_explicit(&stream->captured, memory_order_acquire) != NULL;
}

/* Called when a captured stream is given a command that cannot be captured. Invalidates the capture and
 * returns the error. */
CUresult capture_refuse(Stream *stream);
/* Called before work of the legacy stream, which would wait for the context's blocking streams. An error if
 * one of them is captured; with `invalidate` its capture is invalidated as well. CUDA_SUCCESS if `stream` is
 * not the legacy stream. */
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
/* These two add nodes only if `external` is set; otherwise they change the dependencies of later nodes. */
CUresult capture_record(Stream *stream, Event *event, bool external);
CUresult capture_wait(Stream *stream, Event *event, bool external);
/* As capture_wait(), for a stream that is not captured. If the event was recorded under capture, the stream
 * joins that capture and *joined becomes true. */
CUresult capture_join(Stream *stream, Event *event, bool *joined);
/* An error if the event's last record was captured: then only streams of that capture can wait for it. */
CUresult capture_check_event(Event *event);

/* Called when the event is recorded outside of captures: its record in a capture, if any, no longer
 * counts. */
void capture_forget(Event *event);

/* Called when the stream is destroyed: takes it out of its capture, if it is in one. */
void capture_leave(Stream *stream);

#endif
