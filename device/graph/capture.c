/* Captures: their member streams, the commands that become nodes, the calls that are refused. See
 * api/stream/capture.h. Everything is done under the graphs' lock, except for stream_is_captured(). */
#include "api/stream/capture.h"

#include <stdlib.h>
#include <string.h>

#include "graph/capture_members.h"
#include "graph/graph.h"

_Atomic unsigned capture_count;
static Capture *captures;

Capture *captures_locked(void) { return captures; }

/* ---- Members ---- */

static CaptureMember *member_of(const Stream *stream) { return atomic_load(&stream->captured); }

/* Makes the stream a member of the capture, whose next node depends on these nodes. */
static CUresult join_stream(Capture *capture, Stream *stream, Node *const *nodes, const CUgraphEdgeData *data,
                            size_t count)
{
    CaptureMember *member = calloc(1, sizeof *member);
    if (!member || !node_set_replace(&member->front, nodes, data, count)) {
        free(member);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    member->capture = capture;
    member->stream = stream;
    object_hold(OBJECT(stream));
    member->next = capture->members;
    capture->members = member;
    atomic_store_explicit(&stream->captured, member, memory_order_release);
    return CUDA_SUCCESS;
}

/* ---- Beginning and ending ---- */

/* Adds a capture to the list, with the stream as its only member. The capture gets the caller's reference to
 * the graph. */
static CUresult begin_capture(Stream *stream, Graph *graph, Node *const *nodes, const CUgraphEdgeData *data,
                              size_t count, CUstreamCaptureMode mode)
{
    static uint64_t ids;
    Capture *capture = calloc(1, sizeof *capture);
    if (!capture) return CUDA_ERROR_OUT_OF_MEMORY;
    capture->graph = graph;
    capture->origin = stream;
    capture->id = ++ids;
    capture->mode = mode;
    capture->thread = pthread_self();
    CUresult result = join_stream(capture, stream, nodes, data, count);
    if (result) {
        free(capture);
        return result;
    }
    capture->next = captures;
    captures = capture;
    atomic_fetch_add(&capture_count, 1);
    return CUDA_SUCCESS;
}

static CUresult check_begin(const Stream *stream, CUstreamCaptureMode mode)
{
    if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    if (stream->legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return stream_is_captured(stream) ? CUDA_ERROR_ILLEGAL_STATE : CUDA_SUCCESS;
}

static CUresult begin_new(Stream *stream, CUstreamCaptureMode mode)
{
    TRY(check_begin(stream, mode));
    Graph *graph = graph_new();
    if (!graph) return CUDA_ERROR_OUT_OF_MEMORY;
    graph->owned = true;
    CUresult result = begin_capture(stream, graph, NULL, NULL, 0, mode);
    if (!result) return CUDA_SUCCESS;
    graph_retire(graph);
    PUT(graph);
    return result;
}

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode)
{
    Stream *stream;
    TRY(stream_enter_itself(handle, &stream));
    CUresult result = WITH_GRAPHS(begin_new(stream, mode));
    PUT(stream);
    return result;
}

static CUresult begin_in(Stream *stream, CUgraph handle, const CUgraphNode *nodes,
                         const CUgraphEdgeData *data, size_t count, CUstreamCaptureMode mode)
{
    TRY(check_begin(stream, mode));
    Graph *graph = graph_of(handle);
    if (!graph || !graph_has_all(graph, nodes, count) || !edges_valid(data, count))
        return CUDA_ERROR_INVALID_VALUE;
    TRY(begin_capture(stream, graph, nodes, data, count, mode));
    captures->given = true;
    object_hold(OBJECT(graph));
    return CUDA_SUCCESS;
}

CUresult cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graph, const CUgraphNode *nodes,
                                     const CUgraphEdgeData *data, size_t count, CUstreamCaptureMode mode)
{
    Stream *stream;
    TRY(stream_enter_itself(handle, &stream));
    CUresult result = WITH_GRAPHS(begin_in(stream, graph, nodes, data, count, mode));
    PUT(stream);
    return result;
}

/* Writes the number of the search to Node.last_search of these nodes and of all nodes that they depend on.
 * False if out of memory. */
static bool visit_before(Node *const *nodes, size_t count, uint64_t search, const Graph *graph)
{
    Node **stack = malloc((graph->count + count + 1) * sizeof *stack);
    size_t depth = 0;
    if (!stack) return false;
    for (size_t i = 0; i < count; i++)
        if (nodes[i]->last_search != search) nodes[i]->last_search = search, stack[depth++] = nodes[i];
    while (depth) {
        const Node *node = stack[--depth];
        for (size_t e = 0; e < node->before.count; e++) {
            Node *before = node->before.edges[e].node;
            if (before->last_search != search) before->last_search = search, stack[depth++] = before;
        }
    }
    free(stack);
    return true;
}

/* Whether the search has visited all nodes of the set that are still in the graph. */
static bool all_visited(NodeSet *set, uint64_t search, const Graph *graph)
{
    node_set_prune(set, graph);
    for (size_t i = 0; i < set->count; i++)
        if (set->nodes[i]->last_search != search) return false;
    return true;
}

/* An error unless all nodes of all members come before the last nodes of the stream where the capture began:
 * the other streams must have been joined to it by events. */
static CUresult check_joined(Capture *capture)
{
    NodeSet *front = &member_of(capture->origin)->front;
    uint64_t search = graph_new_search();
    node_set_prune(front, capture->graph);
    if (!visit_before(front->nodes, front->count, search, capture->graph)) return CUDA_ERROR_OUT_OF_MEMORY;
    bool joined = all_visited(&capture->gone, search, capture->graph);
    for (CaptureMember *member = capture->members; member && joined; member = member->next)
        joined = all_visited(&member->front, search, capture->graph);
    return joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}

/* Ends the capture: its streams are ordinary ones again. *left: the list of members, with their references,
 * which are released by finish_ending(). */
static void dissolve_capture(Capture *capture, CaptureMember **left)
{
    Capture **link = &captures;
    while (*link != capture) link = &(*link)->next;
    *link = capture->next;
    atomic_fetch_sub(&capture_count, 1);
    for (CaptureMember *member = capture->members; member; member = member->next) {
        atomic_store(&member->stream->captured, NULL);
        node_set_clear(&member->front);
    }
    *left = capture->members;
    node_set_clear(&capture->gone);
    free(capture);
}

/* What is released after the end of a capture, without the graphs' lock. */
typedef struct Ending {
    CaptureMember *left;
    Graph *dead; /* the capture's reference to its graph */
} Ending;

static CUresult end_capture(Stream *stream, CUgraph *out, Ending *ending)
{
    const CaptureMember *member = member_of(stream);
    *out = NULL;
    if (!member) return CUDA_ERROR_ILLEGAL_STATE;
    Capture *capture = member->capture;
    if (capture->origin != stream) {
        capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(capture->thread, pthread_self()))
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    CUresult result = capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : check_joined(capture);
    Graph *graph = capture->graph;
    bool given = capture->given;
    dissolve_capture(capture, &ending->left);
    if (!result) *out = graph;
    if (result) graph_retire(graph);
    if (!given && !result) graph->owned = false;
    ending->dead = graph;
    return result;
}

static void finish_ending(const Ending *ending)
{
    for (CaptureMember *member = ending->left, *next; member; member = next) {
        next = member->next;
        PUT(member->stream);
        free(member);
    }
    if (ending->dead) PUT(ending->dead);
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *out)
{
    Stream *stream;
    Ending ending = {0};
    CUgraph ignored;
    TRY(stream_enter_itself(handle, &stream));
    CUresult result = WITH_GRAPHS(end_capture(stream, out ? out : &ignored, &ending));
    finish_ending(&ending);
    PUT(stream);
    return result;
}

/* Called when the stream is destroyed. If its capture began there the capture ends. Otherwise the capture
 * goes on, and the stream's last nodes must still be joined (Capture.gone). */
static CUresult leave_capture(Stream *stream, Ending *ending)
{
    CaptureMember *member = member_of(stream);
    if (!member) return CUDA_SUCCESS;
    Capture *capture = member->capture;
    if (capture->origin == stream) {
        ending->dead = capture->graph;
        if (!capture->given) graph_retire(capture->graph);
        dissolve_capture(capture, &ending->left);
        return CUDA_SUCCESS;
    }
    for (size_t i = 0; i < member->front.count; i++)
        if (!node_set_add(&capture->gone, member->front.nodes[i], NULL)) capture->invalid = true;
    CaptureMember **link = &capture->members;
    while (*link != member) link = &(*link)->next;
    *link = member->next;
    member->next = NULL;
    atomic_store(&stream->captured, NULL);
    node_set_clear(&member->front);
    ending->left = member;
    return CUDA_SUCCESS;
}

void capture_leave(Stream *stream)
{
    Ending ending = {0};
    if (!stream_is_captured(stream)) return;
    WITH_GRAPHS(leave_capture(stream, &ending));
    finish_ending(&ending);
}

/* ---- Commands ---- */

/* The stream's member; an error if its capture is invalid, or no longer exists. */
static CUresult enter_member(const Stream *stream, CaptureMember **out)
{
    *out = member_of(stream);
    if (!*out) return CUDA_ERROR_ILLEGAL_STATE; /* another thread has ended the capture */
    return (*out)->capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

/* Whether the work is a kernel that waits only until the kernel before it, which is the only node of the
 * front, has triggered it, and not for the end of that kernel. */
static bool is_programmatic(const NodeSet *front, const Work *work)
{
    return work->type == CU_GRAPH_NODE_TYPE_KERNEL && work->kernel.shape.programmatic && front->count == 1
           && front->nodes[0]->work.type == CU_GRAPH_NODE_TYPE_KERNEL;
}

static CUresult invalidate_capture(Stream *stream, CUresult error)
{
    const CaptureMember *member = member_of(stream);
    if (member) member->capture->invalid = true;
    return error;
}

/* Adds the work as a node after the stream's front, which becomes this node alone. Owns the work, after an
 * error as well. If memory for the new front is short the capture is invalidated. */
static CUresult add_node(Stream *stream, Work *work)
{
    static const CUgraphEdgeData programmatic = {.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
                                                 .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC};
    CaptureMember *member;
    Node *node;
    CUresult result = enter_member(stream, &member);
    if (result) {
        work_free(work);
        return result;
    }
    node_set_prune(&member->front, member->capture->graph);
    const NodeSet *front = &member->front;
    const CUgraphEdgeData *data = is_programmatic(front, work) ? &programmatic : front->data;
    TRY(graph_add(member->capture->graph, front->nodes, data, front->count, work, &node));
    return node_set_replace(&member->front, &node, NULL, 1)
               ? CUDA_SUCCESS
               : invalidate_capture(stream, CUDA_ERROR_OUT_OF_MEMORY);
}

static CUresult capture_add(Stream *stream, Work *work) { return WITH_GRAPHS(add_node(stream, work)); }

/* Captures the work, unless it could not be made: make_error is then the error of the command's arguments,
 * which leaves the capture valid. */
static CUresult add_if_made(Stream *stream, CUresult make_error, Work *work)
{
    return make_error ? make_error : capture_add(stream, work);
}

CUresult capture_add_kernel(Stream *stream, Function *function, const LaunchConfig *shape, void **pointers,
                            void **extra)
{
    Work work;
    if (function->code->uses_texture_references) return capture_refuse(stream);
    return add_if_made(stream, work_make_kernel(&work, function, shape, pointers, extra), &work);
}

CUresult capture_add_copy(Stream *stream, const CopyJob *job)
{
    Work work;
    return add_if_made(stream, work_make_copy_from_job(&work, job, stream->object.context), &work);
}

CUresult capture_add_fill(Stream *stream, const FillJob *job)
{
    Work work;
    return add_if_made(stream, work_make_fill(&work, job, stream->object.context), &work);
}

CUresult capture_add_values(Stream *stream, const CUstreamBatchMemOpParams *operations, unsigned count)
{
    Work work;
    return add_if_made(stream, work_make_values(&work, operations, count, stream->object.context), &work);
}

CUresult capture_add_semaphores(Stream *stream, const SemaphoresNodeParams *params, bool wait)
{
    Work work;
    return add_if_made(stream, work_make_semaphores(&work, params, wait, stream->object.context), &work);
}

CUresult capture_add_host(Stream *stream, CUhostFn function, void *data)
{
    Work work;
    return add_if_made(stream, work_make_host(&work, function, data), &work);
}

CUresult capture_add_alloc(Stream *stream, Pool *pool, size_t size, CUdeviceptr *out)
{
    GraphMemory *memory;
    CUDA_MEM_ALLOC_NODE_PARAMS params = {.bytesize = size};
    if (pool->kind != POOL_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location = (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, pool->device->ordinal};
    TRY(graph_memory_new(stream->object.context, &params, &memory));
    CUdeviceptr address = memory->params.dptr;
    Work work;
    work_begin(&work, CU_GRAPH_NODE_TYPE_MEM_ALLOC, stream->object.context);
    work.memory = memory;
    TRY(capture_add(stream, &work));
    *out = address;
    return CUDA_SUCCESS;
}

CUresult capture_add_free(Stream *stream, CUdeviceptr address)
{
    Work work = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .address = address};
    return pool_is_bound(address) ? capture_add(stream, &work) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Events ---- */

/* Stores the stream's front in the event. */
static CUresult record_event(Stream *stream, Event *event)
{
    CaptureMember *member;
    EventCapture *capture = event_capture(event);
    TRY(enter_member(stream, &member));
    const NodeSet *front = &member->front;
    if (!node_set_replace(&capture->before, front->nodes, front->data, front->count))
        return CUDA_ERROR_OUT_OF_MEMORY;
    capture->capture = member->capture->id;
    return CUDA_SUCCESS;
}

CUresult capture_record(Stream *stream, Event *event, bool external)
{
    Work work;
    if (external)
        return add_if_made(stream, work_make_event(&work, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event), &work);
    return WITH_GRAPHS(record_event(stream, event));
}

static Capture *find_capture(uint64_t id)
{
    Capture *capture = captures;
    while (capture && capture->id != id) capture = capture->next;
    return capture;
}

/* Adds the nodes of the event's record to the stream's front. */
static CUresult wait_event(Stream *stream, Event *event)
{
    CaptureMember *member;
    const EventCapture *recorded = event_capture(event);
    TRY(enter_member(stream, &member));
    Capture *other = find_capture(recorded->capture);
    if (!other) return invalidate_capture(stream, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    if (other != member->capture) {
        other->invalid = true;
        return invalidate_capture(stream, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    const NodeSet *before = &recorded->before;
    for (size_t i = 0; i < before->count; i++)
        if (!node_set_add(&member->front, before->nodes[i], &before->data[i]))
            return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

CUresult capture_wait(Stream *stream, Event *event, bool external)
{
    Work work;
    if (external)
        return add_if_made(stream, work_make_event(&work, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event), &work);
    return WITH_GRAPHS(wait_event(stream, event));
}

static CUresult join_by(Stream *stream, Event *event, bool *joined)
{
    const EventCapture *recorded = event_capture(event);
    if (!recorded->capture) return CUDA_SUCCESS;
    Capture *capture = find_capture(recorded->capture);
    if (!capture) return CUDA_ERROR_CAPTURED_EVENT;
    if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream->legacy) {
        capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    *joined = true;
    const NodeSet *before = &recorded->before;
    return join_stream(capture, stream, before->nodes, before->data, before->count);
}

CUresult capture_join(Stream *stream, Event *event, bool *joined)
{
    return event_capture(event)->capture ? WITH_GRAPHS(join_by(stream, event, joined)) : CUDA_SUCCESS;
}

static CUresult refuse_event(const Event *event)
{
    Capture *capture = find_capture(event_capture((Event *)(uintptr_t)event)->capture);
    if (capture) capture->invalid = true;
    return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult capture_check_event(Event *event)
{
    return event_capture(event)->capture ? WITH_GRAPHS(refuse_event(event)) : CUDA_SUCCESS;
}

void capture_forget(Event *event)
{
    if (!event_capture(event)->capture) return;
    graphs_lock();
    event_capture_clear(event_capture(event));
    graphs_unlock(CUDA_SUCCESS);
}

CUresult capture_refuse(Stream *stream)
{
    return WITH_GRAPHS(invalidate_capture(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
}
