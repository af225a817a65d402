/* Which calls are forbidden during a capture, by the modes of captures and of the calling thread; queries
 * about captures; changes of their dependencies. */
#include <stdlib.h>

#include "graph/capture_members.h"
#include "graph/graph.h"

static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    TRY(driver_check());
    if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    CUstreamCaptureMode before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

/* Whether the capture forbids this thread potentially unsafe calls, as CUDA names them. */
static bool forbids_unsafe(const Capture *capture)
{
    bool own = pthread_equal(capture->thread, pthread_self());
    if (own) return capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    return capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

/* An error if some capture forbids unsafe calls to this thread; such captures are invalidated. */
static CUresult check_thread(void)
{
    CUresult result = CUDA_SUCCESS;
    for (Capture *capture = captures_locked(); capture; capture = capture->next) {
        if (!forbids_unsafe(capture)) continue;
        capture->invalid = true;
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return result;
}

CUresult capture_check_thread(void)
{
    bool may_be_forbidden = atomic_load_explicit(&capture_count, memory_order_relaxed)
                            && thread_mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    return may_be_forbidden ? WITH_GRAPHS(check_thread()) : CUDA_SUCCESS;
}

/* Whether one of the capture's streams is of the context; with `blocking`, one that synchronizes with the
 * legacy stream. */
static bool synchronizes_with_context(const Capture *capture, const Context *context, bool blocking)
{
    for (const CaptureMember *member = capture->members; member; member = member->next)
        if (member->stream->object.context == context && (!blocking || member->stream->blocking)) return true;
    return false;
}

/* Returns `error` if there is such a capture; with `invalidate` it is invalidated. */
static CUresult check_streams(const Context *context, bool blocking, bool invalidate, CUresult error)
{
    CUresult result = CUDA_SUCCESS;
    for (Capture *capture = captures_locked(); capture; capture = capture->next) {
        if (!synchronizes_with_context(capture, context, blocking)) continue;
        if (invalidate) capture->invalid = true;
        result = error;
    }
    return result;
}

CUresult capture_check_legacy(const Stream *stream, bool invalidate)
{
    if (!stream->legacy || !atomic_load_explicit(&capture_count, memory_order_relaxed)) return CUDA_SUCCESS;
    return WITH_GRAPHS(
        check_streams(stream->object.context, true, invalidate, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT));
}

CUresult capture_check_context(const Context *context)
{
    if (!atomic_load_explicit(&capture_count, memory_order_relaxed)) return CUDA_SUCCESS;
    return WITH_GRAPHS(check_streams(context, false, true, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
}

/* ---- Queries ---- */

static CUstreamCaptureStatus status_of(const CaptureMember *member)
{
    if (!member) return CU_STREAM_CAPTURE_STATUS_NONE;
    return member->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

/* Where the results of a query go; NULL: not wanted. */
typedef struct CaptureInfo {
    CUstreamCaptureStatus *status;
    cuuint64_t *id;
    CUgraph *graph;
    const CUgraphNode **nodes;
    const CUgraphEdgeData **data;
    size_t *count;
} CaptureInfo;

static CUresult answer_info(const Stream *stream, const CaptureInfo *out)
{
    const CaptureMember *member = atomic_load(&stream->captured);
    *out->status = status_of(member);
    if (*out->status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
    if (out->data && !out->nodes) return CUDA_ERROR_INVALID_VALUE;
    if (out->id) *out->id = member->capture->id;
    if (out->graph) *out->graph = member->capture->graph;
    if (out->nodes) *out->nodes = member->front.nodes;
    if (out->nodes && !out->data && node_set_has_data(&member->front)) return CUDA_ERROR_LOSSY_QUERY;
    if (out->data) *out->data = member->front.data;
    if (out->count) *out->count = member->front.count;
    return CUDA_SUCCESS;
}

static CUresult query_capture(CUstream handle, const CaptureInfo *out)
{
    Stream *stream;
    TRY(stream_enter_itself(handle, &stream));
    CUresult result = out->status ? capture_check_legacy(stream, false) : CUDA_ERROR_INVALID_VALUE;
    if (!result) result = WITH_GRAPHS(answer_info(stream, out));
    PUT(stream);
    return result;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    return query_capture(stream, &(CaptureInfo){.status = status});
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **nodes, const CUgraphEdgeData **data,
                                   size_t *count)
{
    return query_capture(
        stream,
        &(CaptureInfo){
            .status = status, .id = id, .graph = graph, .nodes = nodes, .data = data, .count = count});
}

/* Whether every edge has either the default port and type, or neither: captures accept no other edges. */
static bool ports_match_types(const CUgraphEdgeData *data, size_t count)
{
    for (size_t i = 0; data && i < count; i++) {
        bool default_port = data[i].from_port == 0,
             default_type = data[i].type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT;
        if (default_port != default_type) return false;
    }
    return true;
}

static CUresult update_dependencies(const Stream *stream, CUgraphNode *nodes, const CUgraphEdgeData *data,
                                    size_t count, bool replace)
{
    CaptureMember *member = atomic_load(&stream->captured);
    if (!member) return CUDA_ERROR_ILLEGAL_STATE;
    if (member->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!graph_has_all(member->capture->graph, nodes, count) || !edges_valid(data, count)
        || !ports_match_types(data, count))
        return CUDA_ERROR_INVALID_VALUE;
    if (replace && !node_set_replace(&member->front, nodes, data, count)) return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; !replace && i < count; i++)
        if (!node_set_add(&member->front, nodes[i], data ? &data[i] : NULL)) return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode *nodes,
                                              const CUgraphEdgeData *data, size_t count, unsigned int flags)
{
    Stream *stream;
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) return CUDA_ERROR_INVALID_VALUE;
    TRY(stream_enter_itself(handle, &stream));
    CUresult result = WITH_GRAPHS(
        update_dependencies(stream, nodes, data, count, flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    PUT(stream);
    return result;
}
