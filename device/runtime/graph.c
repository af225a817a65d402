/* Nodes of graphs whose parameters are not the driver's: kernels, copies, fills, and nodes of any type. */
#include "runtime/runtime.h"

#include <string.h>

static cudaError_t driver_kernel(const struct cudaKernelNodeParams *params, CUDA_KERNEL_NODE_PARAMS *out)
{
    CUfunction function;
    if (!params) return cudaErrorInvalidValue;
    TRY(runtime_function(params->func, &function));
    *out = (CUDA_KERNEL_NODE_PARAMS){.func = function,
                                     .gridDimX = params->gridDim.x,
                                     .gridDimY = params->gridDim.y,
                                     .gridDimZ = params->gridDim.z,
                                     .blockDimX = params->blockDim.x,
                                     .blockDimY = params->blockDim.y,
                                     .blockDimZ = params->blockDim.z,
                                     .sharedMemBytes = params->sharedMemBytes,
                                     .kernelParams = params->kernelParams,
                                     .extra = params->extra};
    return cudaSuccess;
}

cudaError_t run_cudaGraphAddKernelNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *before,
                                       size_t count, const struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS kernel;
    TRY(driver_kernel(params, &kernel));
    return (cudaError_t)cuGraphAddKernelNode_v2(out, graph, before, count, &kernel);
}

cudaError_t run_cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *out)
{
    CUDA_KERNEL_NODE_PARAMS kernel;
    if (!out) return cudaErrorInvalidValue;
    TRY(cuGraphKernelNodeGetParams_v2(node, &kernel));
    CUfunction function = kernel.func ? kernel.func : (CUfunction)kernel.kern;
    *out = (struct cudaKernelNodeParams){(void *)runtime_host_function(function),
                                         {kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ},
                                         {kernel.blockDimX, kernel.blockDimY, kernel.blockDimZ},
                                         kernel.sharedMemBytes,
                                         kernel.kernelParams,
                                         kernel.extra};
    return cudaSuccess;
}

cudaError_t run_cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS kernel;
    TRY(driver_kernel(params, &kernel));
    return (cudaError_t)cuGraphKernelNodeSetParams_v2(node, &kernel);
}

cudaError_t run_cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                 const struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS kernel;
    TRY(driver_kernel(params, &kernel));
    return (cudaError_t)cuGraphExecKernelNodeSetParams_v2(exec, node, &kernel);
}

static CUcontext current_context(void)
{
    CUcontext context = NULL;
    cuCtxGetCurrent(&context);
    return context;
}

/* Where a copy's parameters go: to a new node, to a node, or to one of an executable graph. */
typedef struct CopyTarget {
    cudaGraphNode_t *out;
    cudaGraph_t graph;
    const cudaGraphNode_t *before;
    size_t count;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
} CopyTarget;

static cudaError_t apply_copy(const CopyTarget *target, const CUDA_MEMCPY3D *copy)
{
    CUcontext context = current_context();
    if (target->out)
        return (cudaError_t)cuGraphAddMemcpyNode(target->out, target->graph, target->before, target->count,
                                                 copy, context);
    if (target->exec)
        return (cudaError_t)cuGraphExecMemcpyNodeSetParams(target->exec, target->node, copy, context);
    return (cudaError_t)cuGraphMemcpyNodeSetParams(target->node, copy);
}

static cudaError_t apply_line(CopyTarget target, void *to, const void *from, size_t count,
                              enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D copy;
    TRY(runtime_copy_line(to, from, count, kind, &copy));
    return apply_copy(&target, &copy);
}

static cudaError_t apply_to_symbol(CopyTarget target, const void *symbol, const void *from, size_t count,
                                   size_t offset, enum cudaMemcpyKind kind)
{
    void *to;
    TRY(runtime_part(symbol, count, offset, &to));
    return apply_line(target, to, from, count, kind);
}

static cudaError_t apply_from_symbol(CopyTarget target, void *to, const void *symbol, size_t count,
                                     size_t offset, enum cudaMemcpyKind kind)
{
    void *from;
    TRY(runtime_part(symbol, count, offset, &from));
    return apply_line(target, to, from, count, kind);
}

static cudaError_t apply_shape(CopyTarget target, const struct cudaMemcpy3DParms *params)
{
    CUDA_MEMCPY3D copy;
    TRY(runtime_copy_3d(params, &copy));
    return apply_copy(&target, &copy);
}

#define NEW_NODE ((CopyTarget){.out = out, .graph = graph, .before = before, .count = node_count})
#define THE_NODE ((CopyTarget){.node = node})
#define EXEC_NODE ((CopyTarget){.exec = exec, .node = node})
#define NEW_PARAMS cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *before, size_t node_count
#define EXEC_PARAMS cudaGraphExec_t exec, cudaGraphNode_t node

/* The four ways to say what is copied, for each target. */
#define COPY_CALLS(target, params, shape, line, to_symbol, from_symbol) \
    cudaError_t shape(params, const struct cudaMemcpy3DParms *copy) { return apply_shape(target, copy); } \
    cudaError_t line(params, void *to, const void *from, size_t count, enum cudaMemcpyKind kind) \
    { \
        return apply_line(target, to, from, count, kind); \
    } \
    cudaError_t to_symbol(params, const void *symbol, const void *from, size_t count, size_t offset, \
                          enum cudaMemcpyKind kind) \
    { \
        return apply_to_symbol(target, symbol, from, count, offset, kind); \
    } \
    cudaError_t from_symbol(params, void *to, const void *symbol, size_t count, size_t offset, \
                            enum cudaMemcpyKind kind) \
    { \
        return apply_from_symbol(target, to, symbol, count, offset, kind); \
    }

COPY_CALLS(NEW_NODE, NEW_PARAMS, run_cudaGraphAddMemcpyNode, run_cudaGraphAddMemcpyNode1D,
           run_cudaGraphAddMemcpyNodeToSymbol, run_cudaGraphAddMemcpyNodeFromSymbol)
COPY_CALLS(THE_NODE, cudaGraphNode_t node, run_cudaGraphMemcpyNodeSetParams,
           run_cudaGraphMemcpyNodeSetParams1D, run_cudaGraphMemcpyNodeSetParamsToSymbol,
           run_cudaGraphMemcpyNodeSetParamsFromSymbol)
COPY_CALLS(EXEC_NODE, EXEC_PARAMS, run_cudaGraphExecMemcpyNodeSetParams,
           run_cudaGraphExecMemcpyNodeSetParams1D, run_cudaGraphExecMemcpyNodeSetParamsToSymbol,
           run_cudaGraphExecMemcpyNodeSetParamsFromSymbol)

cudaError_t run_cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *out)
{
    CUDA_MEMCPY3D copy;
    if (!out) return cudaErrorInvalidValue;
    TRY(cuGraphMemcpyNodeGetParams(node, &copy));
    return runtime_copy_3d_back(&copy, out);
}

/* The same structure under two names: rows of functions.def cast its pointers, too. */
_Static_assert(sizeof(struct cudaMemsetParams) == sizeof(CUDA_MEMSET_NODE_PARAMS), "fills have one layout");

cudaError_t run_cudaGraphAddMemsetNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *before,
                                       size_t count, const struct cudaMemsetParams *params)
{
    return (cudaError_t)cuGraphAddMemsetNode(out, graph, before, count,
                                             (const CUDA_MEMSET_NODE_PARAMS *)params, current_context());
}

cudaError_t run_cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                 const struct cudaMemsetParams *params)
{
    return (cudaError_t)cuGraphExecMemsetNodeSetParams(exec, node, (const CUDA_MEMSET_NODE_PARAMS *)params,
                                                       current_context());
}

cudaError_t run_cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *out, cudaGraph_t graph,
                                                 unsigned int value, unsigned int flags)
{
    return (cudaError_t)cuGraphConditionalHandleCreate(out, graph, current_context(), value, flags);
}

/* A node's parameters for the driver; those of other types have the same layout. */
static cudaError_t driver_node(const struct cudaGraphNodeParams *params, CUgraphNodeParams *out)
{
    _Static_assert(sizeof *params == sizeof *out, "the driver's structure has this size");
    if (!params) return cudaErrorInvalidValue;
    memcpy(out, params, sizeof *out);
    switch (params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return driver_kernel(&params->kernel, &out->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        out->memcpy = (CUDA_MEMCPY_NODE_PARAMS){.flags = params->memcpy.flags, .copyCtx = current_context()};
        return runtime_copy_3d(&params->memcpy.copyParams, &out->memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET: out->memset.ctx = current_context(); return cudaSuccess;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: out->conditional.ctx = current_context(); return cudaSuccess;
    default: return cudaSuccess;
    }
}

static cudaError_t add_node(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *before,
                            const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *params)
{
    CUgraphNodeParams node;
    TRY(driver_node(params, &node));
    TRY(cuGraphAddNode_v2(out, graph, before, edges, count, &node));
    if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) params->alloc.dptr = node.alloc.dptr;
    if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        params->conditional.phGraph_out = node.conditional.phGraph_out;
    return cudaSuccess;
}

#if CUDART_MAJOR >= 13
cudaError_t run_cudaGraphAddNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *before,
                                 const cudaGraphEdgeData *edges, size_t count,
                                 struct cudaGraphNodeParams *params)
{
    return add_node(out, graph, before, edges, count, params);
}
#else
cudaError_t run_cudaGraphAddNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *before,
                                 size_t count, struct cudaGraphNodeParams *params)
{
    return add_node(out, graph, before, NULL, count, params);
}

cudaError_t run_cudaGraphAddNode_v2(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *before,
                                    const cudaGraphEdgeData *edges, size_t count,
                                    struct cudaGraphNodeParams *params)
{
    return add_node(out, graph, before, edges, count, params);
}
#endif

cudaError_t run_cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *params)
{
    CUgraphNodeParams driver;
    TRY(driver_node(params, &driver));
    return (cudaError_t)cuGraphNodeSetParams(node, &driver);
}

cudaError_t run_cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                           struct cudaGraphNodeParams *params)
{
    CUgraphNodeParams driver;
    TRY(driver_node(params, &driver));
    return (cudaError_t)cuGraphExecNodeSetParams(exec, node, &driver);
}
