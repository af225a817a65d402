/* Older versions of functions, which call the newest version. */
#include <string.h>

#include "graph/legacy.h"

static CUDA_KERNEL_NODE_PARAMS widen_params(const CUDA_KERNEL_NODE_PARAMS_v1 *old)
{
    CUDA_KERNEL_NODE_PARAMS params = {0};
    memcpy(&params, old, sizeof *old);
    return params;
}

CUresult cuGraphAddKernelNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS_v1 *old)
{
    if (!old) return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS params = widen_params(old);
    return cuGraphAddKernelNode_v2(out, graph, before, count, &params);
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *out)
{
    CUDA_KERNEL_NODE_PARAMS params;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = cuGraphKernelNodeGetParams_v2(node, &params);
    if (!result) memcpy(out, &params, sizeof *out);
    return result;
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *old)
{
    if (!old) return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS params = widen_params(old);
    return cuGraphKernelNodeSetParams_v2(node, &params);
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v1 *old)
{
    if (!old) return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS params = widen_params(old);
    return cuGraphExecKernelNodeSetParams_v2(exec, node, &params);
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
    return cuGraphAddDependencies_v2(graph, from, to, NULL, count);
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   size_t count)
{
    return cuGraphRemoveDependencies_v2(graph, from, to, NULL, count);
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
    return cuGraphGetEdges_v2(graph, from, to, NULL, count);
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *out, size_t *count)
{
    return cuGraphNodeGetDependencies_v2(node, out, NULL, count);
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *out, size_t *count)
{
    return cuGraphNodeGetDependentNodes_v2(node, out, NULL, count);
}

CUresult cuGraphAddNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                        CUgraphNodeParams *params)
{
    return cuGraphAddNode_v2(out, graph, before, NULL, count, params);
}

CUresult cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph, CUgraphNode *error_node, char *log,
                               size_t size)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS params = {0};
    CUresult result = cuGraphInstantiateWithParams(out, graph, &params);
    if (error_node) *error_node = params.hErrNode_out;
    if (log && size) *log = '\0';
    return result;
}

CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph graph, CUgraphNode *error_node, char *log, size_t size)
{
    return cuGraphInstantiate_v2(out, graph, error_node, log, size);
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *error_node,
                           CUgraphExecUpdateResult *out)
{
    CUgraphExecUpdateResultInfo info = {CU_GRAPH_EXEC_UPDATE_ERROR, NULL, NULL};
    CUresult result = cuGraphExecUpdate_v2(exec, graph, &info);
    if (error_node) *error_node = info.errorNode;
    if (out) *out = info.result;
    return result;
}

/* Legacy capture functions of streams, and their variants for per-thread default streams. */
#define OF_STREAMS(suffix) \
    CUresult cuStreamBeginCapture##suffix(CUstream stream) \
    { \
        return cuStreamBeginCapture_v2##suffix(stream, CU_STREAM_CAPTURE_MODE_GLOBAL); \
    } \
    CUresult cuStreamGetCaptureInfo##suffix(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id) \
    { \
        return cuStreamGetCaptureInfo_v3##suffix(stream, status, id, NULL, NULL, NULL, NULL); \
    } \
    CUresult cuStreamGetCaptureInfo_v2##suffix(CUstream stream, CUstreamCaptureStatus *status, \
                                               cuuint64_t *id, CUgraph *graph, const CUgraphNode **nodes, \
                                               size_t *count) \
    { \
        return cuStreamGetCaptureInfo_v3##suffix(stream, status, id, graph, nodes, NULL, count); \
    } \
    CUresult cuStreamUpdateCaptureDependencies##suffix(CUstream stream, CUgraphNode *nodes, size_t count, \
                                                       unsigned int flags) \
    { \
        return cuStreamUpdateCaptureDependencies_v2##suffix(stream, nodes, NULL, count, flags); \
    }
OF_STREAMS()
OF_STREAMS(_ptsz)
#undef OF_STREAMS
