/* Nodes of each kind: adding them, getting and setting their parameters. */
#include <stdlib.h>

#include "graph/condition.h"
#include "graph/graph.h"

/* ---- Adding ---- */

static CUresult add_locked(CUgraphNode *out, CUgraph handle, const CUgraphNode *before,
                           const CUgraphEdgeData *data, size_t count, Work *work)
{
    Graph *graph = graph_of(handle);
    bool valid = graph && out && graph_has_all(graph, before, count) && edges_valid(data, count);
    for (size_t i = 0; valid && i < count; i++)
        for (size_t k = 0; k < i; k++) valid = valid && before[i] != before[k];
    if (!valid) {
        work_free(work);
        return CUDA_ERROR_INVALID_VALUE;
    }
    return graph_add(graph, before, data, count, work, out);
}

/* Adds a node with the work, unless that could not be made: make_error is its error then. Owns the work. */
static CUresult add(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, const CUgraphEdgeData *data,
                    size_t count, CUresult make_error, Work *work)
{
    return make_error ? make_error : WITH_GRAPHS(add_locked(out, graph, before, data, count, work));
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS *params)
{
    Work work;
    TRY(driver_check());
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    return add(out, graph, before, NULL, count, work_make_kernel_from_params(&work, params), &work);
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                              const CUDA_MEMCPY3D *shape, CUcontext context)
{
    Work work;
    TRY(driver_check());
    if (!shape) return CUDA_ERROR_INVALID_VALUE;
    return add(out, graph, before, NULL, count, work_make_copy_from_shape(&work, shape, context), &work);
}

CUresult cuGraphAddMemsetNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context)
{
    Work work;
    TRY(driver_check());
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    return add(out, graph, before, NULL, count, work_make_fill_from_params(&work, params, context), &work);
}

CUresult cuGraphAddBatchMemOpNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                                  const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
    Work work;
    TRY(driver_check());
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    return add(out, graph, before, NULL, count, work_make_values_from_params(&work, params), &work);
}

#define ADD_SEMAPHORES(kind, wait) \
    CUresult cuGraphAddExternalSemaphores##kind##Node(CUgraphNode *out, CUgraph graph, \
                                                      const CUgraphNode *before, size_t count, \
                                                      const SemaphoresNodeParams *params) \
    { \
        Work work; \
        return add(out, graph, before, NULL, count, work_make_semaphores_from_params(&work, params, wait), \
                   &work); \
    }
ADD_SEMAPHORES(Signal, false)
ADD_SEMAPHORES(Wait, true)
#undef ADD_SEMAPHORES

CUresult cuGraphAddHostNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                            const CUDA_HOST_NODE_PARAMS *params)
{
    Work work;
    TRY(driver_check());
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    return add(out, graph, before, NULL, count, work_make_host(&work, params->fn, params->userData), &work);
}

CUresult cuGraphAddEmptyNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count)
{
    Work work = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    TRY(driver_check());
    return add(out, graph, before, NULL, count, CUDA_SUCCESS, &work);
}

CUresult cuGraphAddEventRecordNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                                   CUevent event)
{
    Work work;
    TRY(driver_check());
    return add(out, graph, before, NULL, count,
               work_make_event(&work, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event), &work);
}

CUresult cuGraphAddEventWaitNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                                 CUevent event)
{
    Work work;
    TRY(driver_check());
    return add(out, graph, before, NULL, count, work_make_event(&work, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event),
               &work);
}

/* Makes the work of a child graph node. The child becomes a clone of the graph, or with `move` that graph
 * itself, which cuGraphDestroy then refuses. */
static CUresult child_locked(CUgraph parent, CUgraph handle, bool move, Work *work)
{
    Graph *child = graph_of(handle);
    if (!child || !graph_of(parent) || child == parent || (move && child->owned))
        return CUDA_ERROR_INVALID_VALUE;
    if (child->conditional_nodes || (child->memory_nodes && !move)) return CUDA_ERROR_NOT_SUPPORTED;
    *work = (Work){.type = CU_GRAPH_NODE_TYPE_GRAPH};
    if (move) {
        object_hold(OBJECT(child));
        work->child = child;
    } else {
        TRY(graph_clone(child, &work->child));
    }
    work->child->owned = true;
    return CUDA_SUCCESS;
}

static CUresult add_child(CUgraphNode *out, CUgraph graph, const CUgraphNode *before,
                          const CUgraphEdgeData *data, size_t count, CUgraph child, bool move)
{
    Work work;
    CUresult make_error = WITH_GRAPHS(child_locked(graph, child, move, &work));
    return add(out, graph, before, data, count, make_error, &work);
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                                  CUgraph child)
{
    TRY(driver_check());
    return add_child(out, graph, before, NULL, count, child, false);
}

static CUresult add_alloc(CUgraphNode *out, CUgraph graph, const CUgraphNode *before,
                          const CUgraphEdgeData *data, size_t count, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    Context *context;
    GraphMemory *memory;
    TRY(context_enter(&context));
    TRY(graph_memory_new(context, params, &memory));
    Work work;
    work_begin(&work, CU_GRAPH_NODE_TYPE_MEM_ALLOC, context);
    work.memory = memory;
    CUdeviceptr address = memory->params.dptr;
    TRY(add(out, graph, before, data, count, CUDA_SUCCESS, &work));
    params->dptr = address;
    return CUDA_SUCCESS;
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                                CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    TRY(driver_check());
    return params ? add_alloc(out, graph, before, NULL, count, params) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                               CUdeviceptr address)
{
    Work work = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .address = address};
    TRY(driver_check());
    if (!pool_is_bound(address)) return CUDA_ERROR_INVALID_VALUE;
    return add(out, graph, before, NULL, count, CUDA_SUCCESS, &work);
}

CUresult cuGraphAddNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *before,
                           const CUgraphEdgeData *data, size_t count, CUgraphNodeParams *params)
{
    Work work;
    CUresult make_error;
    TRY(driver_check());
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    switch (params->type) {
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return add_child(out, graph, before, data, count, params->graph.graph,
                         params->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return add_alloc(out, graph, before, data, count, &params->alloc);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return cuGraphAddMemFreeNode(out, graph, before, count, params->free.dptr);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        make_error = condition_make_work(&work, graph, &params->conditional);
        break;
    default: make_error = work_make_from_params(&work, params);
    }
    return add(out, graph, before, data, count, make_error, &work);
}

/* ---- Getting ---- */

static CUresult get_kernel(const Work *work, void *out)
{
    const KernelWork *kernel = &work->kernel;
    const LaunchConfig *shape = &kernel->shape;
    *(CUDA_KERNEL_NODE_PARAMS *)out = (CUDA_KERNEL_NODE_PARAMS){
        .func = kernel->function,
        .gridDimX = shape->grid[0],
        .gridDimY = shape->grid[1],
        .gridDimZ = shape->grid[2],
        .blockDimX = shape->block[0],
        .blockDimY = shape->block[1],
        .blockDimZ = shape->block[2],
        .sharedMemBytes = shape->dynamic_shared,
        .kernelParams = kernel->pointers,
        .ctx = work->context,
    };
    return CUDA_SUCCESS;
}

static CUresult get_copy(const Work *work, void *out)
{
    *(CUDA_MEMCPY3D *)out = work->copy.shape;
    return CUDA_SUCCESS;
}

static CUresult get_fill(const Work *work, void *out)
{
    const FillJob *fill = &work->fill;
    *(CUDA_MEMSET_NODE_PARAMS *)out = (CUDA_MEMSET_NODE_PARAMS){fill->address, fill->pitch, fill->value,
                                                                fill->element, fill->width, fill->height};
    return CUDA_SUCCESS;
}

static CUresult get_host(const Work *work, void *out)
{
    *(CUDA_HOST_NODE_PARAMS *)out = (CUDA_HOST_NODE_PARAMS){work->host.function, work->host.data};
    return CUDA_SUCCESS;
}

static CUresult get_values(const Work *work, void *out)
{
    *(CUDA_BATCH_MEM_OP_NODE_PARAMS *)out = (CUDA_BATCH_MEM_OP_NODE_PARAMS){
        .ctx = work->context, .count = work->values.count, .paramArray = work->values.operations};
    return CUDA_SUCCESS;
}

static CUresult get_semaphores(const Work *work, void *out)
{
    *(SemaphoresNodeParams *)out = work->semaphores;
    return CUDA_SUCCESS;
}

static CUresult get_child(const Work *work, void *out)
{
    *(CUgraph *)out = work->child;
    return CUDA_SUCCESS;
}

static CUresult get_event(const Work *work, void *out)
{
    *(CUevent *)out = work->event;
    return CUDA_SUCCESS;
}

static CUresult get_alloc(const Work *work, void *out)
{
    *(CUDA_MEM_ALLOC_NODE_PARAMS *)out = work->memory->params;
    return CUDA_SUCCESS;
}

static CUresult get_free(const Work *work, void *out)
{
    *(CUdeviceptr *)out = work->address;
    return CUDA_SUCCESS;
}

static CUresult get_locked(CUgraphNode handle, CUgraphNodeType type,
                           CUresult (*get)(const Work *work, void *out), void *out)
{
    const Node *node = node_of(handle);
    if (!node || node->work.type != type) return CUDA_ERROR_INVALID_VALUE;
    return get(&node->work, out);
}

#define GET(name, params, kind, get) \
    CUresult name(CUgraphNode node, params *out) \
    { \
        TRY(driver_check()); \
        return out ? WITH_GRAPHS(get_locked(node, CU_GRAPH_NODE_TYPE_##kind, get, out)) \
                   : CUDA_ERROR_INVALID_VALUE; \
    }
GET(cuGraphKernelNodeGetParams_v2, CUDA_KERNEL_NODE_PARAMS, KERNEL, get_kernel)
GET(cuGraphMemcpyNodeGetParams, CUDA_MEMCPY3D, MEMCPY, get_copy)
GET(cuGraphMemsetNodeGetParams, CUDA_MEMSET_NODE_PARAMS, MEMSET, get_fill)
GET(cuGraphHostNodeGetParams, CUDA_HOST_NODE_PARAMS, HOST, get_host)
GET(cuGraphBatchMemOpNodeGetParams, CUDA_BATCH_MEM_OP_NODE_PARAMS, BATCH_MEM_OP, get_values)
GET(cuGraphExternalSemaphoresSignalNodeGetParams, SemaphoresNodeParams, EXT_SEMAS_SIGNAL, get_semaphores)
GET(cuGraphExternalSemaphoresWaitNodeGetParams, SemaphoresNodeParams, EXT_SEMAS_WAIT, get_semaphores)
GET(cuGraphChildGraphNodeGetGraph, CUgraph, GRAPH, get_child)
GET(cuGraphEventRecordNodeGetEvent, CUevent, EVENT_RECORD, get_event)
GET(cuGraphEventWaitNodeGetEvent, CUevent, WAIT_EVENT, get_event)
GET(cuGraphMemAllocNodeGetParams, CUDA_MEM_ALLOC_NODE_PARAMS, MEM_ALLOC, get_alloc)
GET(cuGraphMemFreeNodeGetParams, CUdeviceptr, MEM_FREE, get_free)
#undef GET

/* ---- Setting ---- */

/* Replaces the node's work; *work becomes the old one, for the caller to free. A kernel node keeps its
 * attributes. */
static CUresult set_locked(CUgraphNode handle, Work *work)
{
    Node *node = node_of(handle);
    if (!node || node->work.type != work->type) return CUDA_ERROR_INVALID_VALUE;
    if (work->type == CU_GRAPH_NODE_TYPE_KERNEL) {
        TRY(work_keep_shape(work, &node->work));
        work->kernel.attributes = node->work.kernel.attributes;
        node->work.kernel.attributes = NULL;
    }
    Work before = node->work;
    node->work = *work;
    *work = before;
    return CUDA_SUCCESS;
}

static CUresult set_work(CUgraphNode node, CUresult make_error, Work *work)
{
    if (make_error) return make_error;
    CUresult result = WITH_GRAPHS(set_locked(node, work));
    work_free(work);
    return result;
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
    Work work;
    TRY(driver_check());
    return params ? set_work(node, work_make_kernel_from_params(&work, params), &work)
                  : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *shape)
{
    Work work;
    TRY(driver_check());
    return shape ? set_work(node, work_make_copy_from_shape(&work, shape, NULL), &work)
                 : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params)
{
    Work work;
    TRY(driver_check());
    return params ? set_work(node, work_make_fill_from_params(&work, params, NULL), &work)
                  : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params)
{
    Work work;
    TRY(driver_check());
    return params ? set_work(node, work_make_host(&work, params->fn, params->userData), &work)
                  : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
    Work work;
    TRY(driver_check());
    return params ? set_work(node, work_make_values_from_params(&work, params), &work)
                  : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExternalSemaphoresSignalNodeSetParams(CUgraphNode node, const SemaphoresNodeParams *params)
{
    Work work;
    return set_work(node, work_make_semaphores_from_params(&work, params, false), &work);
}

CUresult cuGraphExternalSemaphoresWaitNodeSetParams(CUgraphNode node, const SemaphoresNodeParams *params)
{
    Work work;
    return set_work(node, work_make_semaphores_from_params(&work, params, true), &work);
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event)
{
    Work work;
    TRY(driver_check());
    return set_work(node, work_make_event(&work, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event), &work);
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event)
{
    Work work;
    TRY(driver_check());
    return set_work(node, work_make_event(&work, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event), &work);
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params)
{
    Work work;
    TRY(driver_check());
    return params ? set_work(node, work_make_from_params(&work, params), &work) : CUDA_ERROR_INVALID_VALUE;
}
