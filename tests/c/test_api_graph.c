/* Graphs: captured and built by hand, replayed, changed; what capture forbids (graph_rules.def). */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "api/base/api.h"
#include "graph_rules.h"

#define OK(call) CHECK_EQUAL(call, CUDA_SUCCESS)
#define BAD(call) CHECK_EQUAL(call, CUDA_ERROR_INVALID_VALUE)

static const char source[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    /* a[i] = a[i] * factor + add for 64 elements */
    ".visible .entry affine(.param .u64 a, .param .u32 factor, .param .u32 add)\n{\n"
    "  .reg .b32 %r<6>;\n  .reg .b64 %rd<5>;\n"
    "  ld.param.u64 %rd1, [a];\n  ld.param.u32 %r1, [factor];\n  ld.param.u32 %r2, [add];\n"
    "  mov.u32 %r3, %tid.x;\n  cvta.to.global.u64 %rd2, %rd1;\n  mul.wide.u32 %rd3, %r3, 4;\n"
    "  add.s64 %rd4, %rd2, %rd3;\n  ld.global.u32 %r4, [%rd4];\n  mad.lo.u32 %r4, %r4, %r1, %r2;\n"
    "  st.global.u32 [%rd4], %r4;\n  ret;\n}\n"
    /* counts a[0] down and makes it the condition's value */
    ".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n"
    ".visible .entry count_down(.param .u64 a, .param .u64 handle)\n{\n"
    "  .reg .b32 %r<3>;\n  .reg .b64 %rd<4>;\n"
    "  ld.param.u64 %rd1, [a];\n  ld.param.u64 %rd2, [handle];\n  cvta.to.global.u64 %rd3, %rd1;\n"
    "  ld.global.u32 %r1, [%rd3];\n  sub.u32 %r2, %r1, 1;\n  st.global.u32 [%rd3], %r2;\n  {\n"
    "  .param .b64 p0;\n  st.param.b64 [p0+0], %rd2;\n  .param .b32 p1;\n  st.param.b32 [p1+0], %r2;\n"
    "  call.uni cudaGraphSetConditional, (p0, p1);\n  }\n  ret;\n}\n";

enum { COUNT = 64, BYTES = COUNT * 4 };

static CUmodule module;
static CUfunction affine;
static CUdeviceptr data;

static void launch(CUstream stream, unsigned factor, unsigned add)
{
    void *params[] = {&data, &factor, &add};
    OK(cuLaunchKernel(affine, 1, 1, 1, COUNT, 1, 1, 0, stream, params, NULL));
}

/* Checks that all elements have that value. */
static void check_data(unsigned value)
{
    unsigned host_copy[COUNT];
    OK(cuMemcpyDtoH_v2(host_copy, data, BYTES));
    for (int i = 0; i < COUNT; i++)
        if (host_copy[i] != value) {
            CHECK_EQUAL(host_copy[i], value);
            return;
        }
    CHECK_EQUAL(host_copy[0], value);
}

/* A launch of affine for all elements. */
static CUDA_KERNEL_NODE_PARAMS kernel_params(void **params)
{
    return (CUDA_KERNEL_NODE_PARAMS){
        .func = affine,
        .gridDimX = 1,
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = COUNT,
        .blockDimY = 1,
        .blockDimZ = 1,
        .kernelParams = params,
    };
}

/* Adds a node after another one (NULL: without an edge): data = data * factor + add; data = value. */
static CUgraphNode add_kernel(CUgraph graph, CUgraphNode before, unsigned factor, unsigned add)
{
    CUgraphNode node = NULL;
    void *params[] = {&data, &factor, &add};
    CUDA_KERNEL_NODE_PARAMS kernel = kernel_params(params);
    OK(cuGraphAddKernelNode_v2(&node, graph, &before, before != NULL, &kernel));
    return node;
}

static CUgraphNode add_fill(CUgraph graph, CUgraphNode before, unsigned value)
{
    CUgraphNode node = NULL;
    CUDA_MEMSET_NODE_PARAMS fill = {data, 0, value, 4, COUNT, 1};
    OK(cuGraphAddMemsetNode(&node, graph, &before, before != NULL, &fill, NULL));
    return node;
}

static size_t count_nodes(CUgraph graph)
{
    size_t count = 0;
    OK(cuGraphGetNodes(graph, NULL, &count));
    return count;
}

/* Captured work does not run; each launch of the graph runs all of it; the stream can be used as before. */
static void test_capture(void)
{
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    OK(cuMemsetD32_v2(data, 1, COUNT));
    OK(cuStreamCreate(&stream, 0));
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch(stream, 3, 1);
    launch(stream, 2, 0);
    OK(cuStreamEndCapture(stream, &graph));
    check_data(1);
    CHECK_EQUAL(count_nodes(graph), 2);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    OK(cuGraphLaunch(exec, stream));
    check_data(8);
    OK(cuGraphLaunch(exec, stream));
    OK(cuGraphLaunch(exec, stream));
    check_data(302); /* 8 -> 50 -> 302 */
    launch(stream, 1, 5);
    check_data(307);
    OK(cuGraphExecDestroy(exec));
    BAD(cuGraphLaunch(exec, stream));
    OK(cuStreamDestroy_v2(stream));
}

/* A capture of two streams: the waits for events become edges. */
static void test_fork_join(void)
{
    CUstream first, second;
    CUevent fork, join;
    CUgraph graph;
    CUgraphNode from[8], to[8];
    size_t edges = 8;
    OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&fork, 0));
    OK(cuEventCreate(&join, 0));
    OK(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch(first, 1, 1);
    OK(cuEventRecord(fork, first));
    OK(cuStreamWaitEvent(second, fork, 0));
    launch(second, 1, 2);
    launch(first, 1, 3);
    OK(cuEventRecord(join, second));
    OK(cuStreamWaitEvent(first, join, 0));
    launch(first, 1, 4);
    OK(cuStreamEndCapture(first, &graph));
    CHECK_EQUAL(count_nodes(graph), 4);
    OK(cuGraphGetEdges_v2(graph, from, to, NULL, &edges));
    CHECK_EQUAL(edges, 4);
    OK(cuStreamIsCapturing(second, &status));
    CHECK_EQUAL(status, CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuStreamSynchronize(second));
    CHECK_EQUAL(cuEventQuery(fork), CUDA_ERROR_CAPTURED_EVENT);
    OK(cuEventRecord(fork, first));
    OK(cuEventSynchronize(fork));
    OK(cuGraphDestroy(graph));
    OK(cuEventDestroy_v2(fork));
    OK(cuEventDestroy_v2(join));
    OK(cuStreamDestroy_v2(first));
    OK(cuStreamDestroy_v2(second));
}

/* A stream under capture cannot wait for an event of another capture; both end with an error. */
static void test_merge(void)
{
    CUstream first, second;
    CUevent event;
    CUgraph graph;
    OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    OK(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuStreamBeginCapture_v2(second, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(event, first));
    CHECK_EQUAL(cuStreamWaitEvent(second, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
    CHECK_EQUAL(cuStreamEndCapture(first, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(graph == NULL);
    CHECK_EQUAL(cuStreamEndCapture(second, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cuStreamSynchronize(first));
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(first));
    OK(cuStreamDestroy_v2(second));
}

static CUcontext context;

/* What another thread's cuMemAlloc and its cuStreamEndCapture of the stream returned. */
typedef struct Elsewhere {
    CUstream stream;
    CUresult ended, allocated;
} Elsewhere;

static void *work_elsewhere(void *argument)
{
    Elsewhere *elsewhere = argument;
    CUgraph graph;
    CUdeviceptr memory;
    OK(cuCtxSetCurrent(context));
    elsewhere->allocated = cuMemAlloc_v2(&memory, 16);
    if (!elsewhere->allocated) OK(cuMemFree_v2(memory));
    elsewhere->ended = cuStreamEndCapture(elsewhere->stream, &graph);
    return NULL;
}

/* What another thread may do while this one captures in a mode: the results of its two calls, and of the end
 * of the capture in this thread. */
static void check_threads(CUstreamCaptureMode mode, CUresult allocated, CUresult ended, CUresult at_end)
{
    Elsewhere elsewhere;
    pthread_t thread;
    CUgraph graph = NULL;
    OK(cuStreamCreate(&elsewhere.stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture_v2(elsewhere.stream, mode));
    pthread_create(&thread, NULL, work_elsewhere, &elsewhere);
    pthread_join(thread, NULL);
    CHECK_EQUAL(elsewhere.allocated, allocated);
    CHECK_EQUAL(elsewhere.ended, ended);
    CHECK_EQUAL(cuStreamEndCapture(elsewhere.stream, &graph), at_end);
    OK(cuStreamDestroy_v2(elsewhere.stream));
}

static void test_threads(void)
{
    check_threads(CU_STREAM_CAPTURE_MODE_GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                  CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    check_threads(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CUDA_SUCCESS, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
                  CUDA_SUCCESS);
    check_threads(CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_SUCCESS, CUDA_SUCCESS, CUDA_ERROR_ILLEGAL_STATE);
}

/* Nodes and edges are added, queried and removed; a cycle cannot be instantiated. */
static void test_build(void)
{
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode nodes[4], fill, kernel, copy;
    CUgraphNodeType type;
    size_t count = 4;
    unsigned host_copy[COUNT] = {0};
    OK(cuGraphCreate(&graph, 0));
    fill = add_fill(graph, NULL, 7);
    kernel = add_kernel(graph, fill, 2, 1);
    CUDA_MEMCPY3D shape = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = data,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = host_copy,
                           .WidthInBytes = BYTES,
                           .Height = 1,
                           .Depth = 1};
    OK(cuGraphAddMemcpyNode(&copy, graph, &kernel, 1, &shape, context));
    OK(cuGraphGetRootNodes(graph, nodes, &count));
    CHECK_EQUAL(count, 1);
    CHECK(nodes[0] == fill && !nodes[1]);
    OK(cuGraphNodeGetType(copy, &type));
    CHECK_EQUAL(type, CU_GRAPH_NODE_TYPE_MEMCPY);
    count = 4;
    OK(cuGraphNodeGetDependencies_v2(copy, nodes, NULL, &count));
    CHECK(count == 1 && nodes[0] == kernel);
    BAD(cuGraphAddDependencies_v2(graph, &kernel, &copy, NULL, 1));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphUpload(exec, NULL));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuStreamSynchronize(NULL));
    CHECK_EQUAL(host_copy[COUNT - 1], 15);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphAddDependencies_v2(graph, &copy, &fill, NULL, 1));
    CUDA_GRAPH_INSTANTIATE_PARAMS params = {0};
    BAD(cuGraphInstantiateWithParams(&exec, graph, &params));
    CHECK_EQUAL(params.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
    OK(cuGraphRemoveDependencies_v2(graph, &copy, &fill, NULL, 1));
    OK(cuGraphDestroyNode(kernel));
    CHECK_EQUAL(count_nodes(graph), 2);
    BAD(cuGraphNodeGetType(kernel, &type));
    OK(cuGraphDestroy(graph));
    BAD(cuGraphDestroy(graph));
}

/* Parameters of an executable graph are changed for later launches; those that are queued keep theirs. */
static void test_update(void)
{
    CUgraph graph, other_graph;
    CUgraphExec exec;
    CUgraphExecUpdateResultInfo info;
    OK(cuGraphCreate(&graph, 0));
    CUgraphNode fill = add_fill(graph, NULL, 7), kernel = add_kernel(graph, fill, 2, 1);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    unsigned factor = 10, add = 3;
    void *values[] = {&data, &factor, &add};
    CUDA_KERNEL_NODE_PARAMS params = kernel_params(values);
    OK(cuGraphLaunch(exec, NULL));
    OK(cuGraphExecKernelNodeSetParams_v2(exec, kernel, &params));
    check_data(15);
    OK(cuGraphLaunch(exec, NULL));
    check_data(73);
    OK(cuGraphNodeSetEnabled(exec, kernel, 0));
    OK(cuGraphLaunch(exec, NULL));
    check_data(7);
    OK(cuGraphNodeSetEnabled(exec, kernel, 1));
    OK(cuGraphCreate(&other_graph, 0));
    add_kernel(other_graph, add_fill(other_graph, NULL, 1), 5, 5);
    OK(cuGraphExecUpdate_v2(exec, other_graph, &info));
    CHECK_EQUAL(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    OK(cuGraphLaunch(exec, NULL));
    check_data(10);
    add_fill(other_graph, NULL, 3);
    CHECK_EQUAL(cuGraphExecUpdate_v2(exec, other_graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    CHECK_EQUAL(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    CUDA_KERNEL_NODE_PARAMS got;
    OK(cuGraphKernelNodeGetParams_v2(kernel, &got));
    CHECK_EQUAL(*(unsigned *)got.kernelParams[1], 2);
    OK(cuGraphKernelNodeSetParams_v2(kernel, &params));
    OK(cuGraphKernelNodeGetParams_v2(kernel, &got));
    CHECK_EQUAL(*(unsigned *)got.kernelParams[1], 10);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(other_graph));
    OK(cuGraphDestroy(graph));
}

/* A child graph is copied into its node; it runs as a part of the parent and of its clone. */
static void test_children(void)
{
    CUgraph child, parent, inner, clone;
    CUgraphNode node, found;
    CUgraphExec exec;
    OK(cuGraphCreate(&child, 0));
    CUgraphNode fill = add_fill(child, NULL, 4);
    add_kernel(child, fill, 3, 0);
    OK(cuGraphCreate(&parent, 0));
    OK(cuGraphAddChildGraphNode(&node, parent, NULL, 0, child));
    add_kernel(parent, node, 1, 1);
    OK(cuGraphDestroy(child));
    OK(cuGraphChildGraphNodeGetGraph(node, &inner));
    CHECK_EQUAL(count_nodes(inner), 2);
    BAD(cuGraphDestroy(inner));
    OK(cuGraphClone(&clone, parent));
    OK(cuGraphNodeFindInClone(&found, node, clone));
    OK(cuGraphDestroy(parent));
    OK(cuGraphInstantiateWithFlags(&exec, clone, 0));
    OK(cuGraphDestroy(clone));
    OK(cuGraphLaunch(exec, NULL));
    check_data(13);
    OK(cuGraphExecDestroy(exec));
}

/* The parameters of a child graph are replaced by those of another graph with the same nodes and edges. */
static void test_child_update(void)
{
    CUgraph child, parent, changed;
    CUgraphNode node;
    CUgraphExec exec;
    OK(cuGraphCreate(&child, 0));
    add_kernel(child, add_fill(child, NULL, 4), 3, 0);
    OK(cuGraphCreate(&parent, 0));
    OK(cuGraphAddChildGraphNode(&node, parent, NULL, 0, child));
    OK(cuGraphInstantiateWithFlags(&exec, parent, 0));
    OK(cuGraphCreate(&changed, 0));
    CUgraphNode last = add_kernel(changed, add_fill(changed, NULL, 6), 2, 1);
    OK(cuGraphExecChildGraphNodeSetParams(exec, node, changed));
    OK(cuGraphLaunch(exec, NULL));
    check_data(13);
    add_kernel(changed, last, 1, 1);
    BAD(cuGraphExecChildGraphNodeSetParams(exec, node, changed));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(changed));
    OK(cuGraphDestroy(parent));
    OK(cuGraphDestroy(child));
}

static void test_attributes(void)
{
    CUgraph graph;
    CUkernelNodeAttrValue value = {.priority = -2}, got;
    OK(cuGraphCreate(&graph, 0));
    CUgraphNode fill = add_fill(graph, NULL, 1), first = add_kernel(graph, fill, 1, 1),
                second = add_kernel(graph, first, 1, 1);
    OK(cuGraphKernelNodeSetAttribute(first, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    OK(cuGraphKernelNodeCopyAttributes(second, first));
    OK(cuGraphKernelNodeGetAttribute(second, CU_LAUNCH_ATTRIBUTE_PRIORITY, &got));
    CHECK_EQUAL(got.priority, -2);
    value.cooperative = 1;
    OK(cuGraphKernelNodeSetAttribute(second, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
    OK(cuGraphKernelNodeGetAttribute(second, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &got));
    CHECK_EQUAL(got.cooperative, 1);
    BAD(cuGraphKernelNodeGetAttribute(fill, CU_LAUNCH_ATTRIBUTE_PRIORITY, &got));
    BAD(cuGraphKernelNodeSetAttribute(first, 1000, &value));
    OK(cuGraphDestroy(graph));
}

/* Captured copies and fills of arrays and rows: their parameters can be read, and they run. */
static void test_shaped_copies(void)
{
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode nodes[4];
    CUarray array;
    CUDA_MEMCPY3D shape;
    size_t count = 4;
    unsigned rows[8] = {1, 2, 3, 4, 5, 6, 7, 8}, back[8] = {0};
    CUDA_ARRAY3D_DESCRIPTOR form = {.Width = 4, .Height = 2, .Format = CU_AD_FORMAT_UNSIGNED_INT32};
    form.NumChannels = 1;
    OK(cuArray3DCreate_v2(&array, &form));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = rows,
                          .srcPitch = 16,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .dstArray = array,
                          .WidthInBytes = 16,
                          .Height = 2};
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemcpy2DAsync_v2(&copy, stream));
    OK(cuMemcpyAtoHAsync_v2(back, array, 16, 16, stream));
    OK(cuMemsetD2D8Async(data, 16, 255, 8, 2, stream));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphGetNodes(graph, nodes, &count));
    CHECK_EQUAL(count, 3);
    OK(cuGraphMemcpyNodeGetParams(nodes[1], &shape));
    CHECK(shape.srcArray == array && shape.srcY == 1 && shape.WidthInBytes == 16);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    rows[4] = 50; /* pageable memory is read when the graph runs */
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    CHECK(back[0] == 50 && back[3] == 8 && back[4] == 0);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuArrayDestroy(array));
    OK(cuStreamDestroy_v2(stream));
}

/* Memory that a graph allocates has the same address in each launch. What a launch leaves allocated must be
 * freed by the next one, or the graph frees it itself (AUTO_FREE_ON_LAUNCH). */
static void test_memory(void)
{
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    CUdeviceptr inside, outside;
    unsigned value = 0;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemAllocAsync(&inside, BYTES, stream));
    OK(cuMemAllocAsync(&outside, BYTES, stream));
    OK(cuMemsetD32Async(inside, 9, COUNT, stream));
    OK(cuMemcpyDtoDAsync_v2(outside, inside, BYTES, stream));
    OK(cuMemFreeAsync(inside, stream));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    BAD(cuMemFree_v2(outside));
    OK(cuGraphLaunch(exec, stream));
    BAD(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH_v2(&value, outside, 4));
    CHECK_EQUAL(value, 9);
    OK(cuMemFreeAsync(outside, stream));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemFree_v2(outside));
    BAD(cuMemFree_v2(outside));
    CUgraphExec second;
    BAD(cuGraphInstantiateWithFlags(&second, graph, 0));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphInstantiateWithFlags(&second, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    OK(cuGraphLaunch(second, stream));
    OK(cuGraphLaunch(second, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH_v2(&value, outside, 4));
    OK(cuGraphExecDestroy(second));
    OK(cuGraphDestroy(graph));
    OK(cuMemFree_v2(outside)); /* memory of a launch stays allocated when the graph is destroyed */
    OK(cuStreamDestroy_v2(stream));
}

/* A loop whose kernel counts down from 5 to 0, then a switch by a value; the handle of each must be used. */
static void test_conditions(void)
{
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node, loop;
    CUgraphConditionalHandle handle, branch;
    CUfunction count_down;
    OK(cuModuleGetFunction(&count_down, module, "count_down"));
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphConditionalHandleCreate(&handle, graph, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    OK(cuGraphConditionalHandleCreate(&branch, graph, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNode fill = add_fill(graph, NULL, 5);
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    params.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){
        .handle = handle, .type = CU_GRAPH_COND_TYPE_WHILE, .size = 1, .ctx = context};
    OK(cuGraphAddNode_v2(&loop, graph, &fill, NULL, 1, &params));
    void *values[] = {&data, &handle};
    CUDA_KERNEL_NODE_PARAMS kernel = kernel_params(values);
    kernel.func = count_down;
    kernel.blockDimX = 1;
    OK(cuGraphAddKernelNode_v2(&node, params.conditional.phGraph_out[0], NULL, 0, &kernel));
    params.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){
        .handle = branch, .type = CU_GRAPH_COND_TYPE_SWITCH, .size = 2, .ctx = context};
    BAD(cuGraphInstantiateWithFlags(&exec, graph, 0)); /* a handle that no node has */
    OK(cuGraphAddNode_v2(&node, graph, &loop, NULL, 1, &params));
    add_kernel(params.conditional.phGraph_out[0], NULL, 1, 100);
    CUgraphNode inner = add_kernel(params.conditional.phGraph_out[1], NULL, 0, 30);
    CHECK(inner != NULL);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuGraphLaunch(exec, NULL));
    check_data(30);
    CUgraph clone;
    CHECK_EQUAL(cuGraphClone(&clone, graph), CUDA_ERROR_NOT_SUPPORTED);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

/* A new graph whose only node, *node, is an if with `size` bodies; the first has one kernel, *inner: data =
 * add. */
static CUgraph branching(unsigned size, unsigned add, CUgraphNode *node, CUgraphNode *inner)
{
    CUgraph graph;
    CUgraphConditionalHandle handle;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphConditionalHandleCreate(&handle, graph, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    params.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){
        .handle = handle, .type = CU_GRAPH_COND_TYPE_IF, .size = size, .ctx = context};
    OK(cuGraphAddNode_v2(node, graph, NULL, NULL, 0, &params));
    *inner = add_kernel(params.conditional.phGraph_out[0], NULL, 0, add);
    return graph;
}

/* An update takes over the parameters of nodes in bodies; it needs the same number of bodies with the same
 * nodes. */
static void test_update_of_conditions(void)
{
    CUgraphNode node, inner, other_node, other_inner;
    CUgraphExec exec;
    CUgraphExecUpdateResultInfo info;
    CUgraph graph = branching(1, 5, &node, &inner), second = branching(1, 6, &other_node, &other_inner);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphExecUpdate_v2(exec, second, &info));
    CHECK_EQUAL(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    OK(cuGraphDestroy(second));
    OK(cuGraphLaunch(exec, NULL));
    check_data(6);
    second = branching(2, 7, &other_node, &other_inner);
    CHECK_EQUAL(cuGraphExecUpdate_v2(exec, second, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    CHECK_EQUAL(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
    CHECK(info.errorNode == other_node);
    OK(cuGraphDestroy(second));
    OK(cuGraphDestroyNode(inner));
    CHECK_EQUAL(cuGraphExecUpdate_v2(exec, graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    CHECK_EQUAL(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    OK(cuGraphLaunch(exec, NULL));
    check_data(6);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

/* An edge with data is removed by naming the data; an update with another edge in its place is refused. */
static void test_data_of_edges(void)
{
    const CUgraphEdgeData programmatic = {.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
                                          .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC};
    CUgraph graph;
    CUgraphExec exec;
    CUgraphExecUpdateResultInfo info;
    OK(cuGraphCreate(&graph, 0));
    CUgraphNode first = add_kernel(graph, NULL, 0, 1), second = add_kernel(graph, NULL, 1, 2);
    OK(cuGraphAddDependencies_v2(graph, &first, &second, &programmatic, 1));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, NULL));
    check_data(3);
    BAD(cuGraphRemoveDependencies_v2(graph, &first, &second, NULL, 1));
    OK(cuGraphRemoveDependencies_v2(graph, &first, &second, &programmatic, 1));
    OK(cuGraphAddDependencies_v2(graph, &first, &second, NULL, 1));
    CHECK_EQUAL(cuGraphExecUpdate_v2(exec, graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    CHECK_EQUAL(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

static void raise_count(void *counter) { atomic_fetch_add((_Atomic int *)counter, 1); }

static void test_host_and_events(void)
{
    _Atomic int calls = 0;
    CUstream stream;
    CUevent event;
    CUgraph graph;
    CUgraphExec exec;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuLaunchHostFunc(stream, raise_count, &calls));
    OK(cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
    OK(cuLaunchHostFunc(stream, raise_count, &calls));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    OK(cuEventSynchronize(event));
    CHECK(atomic_load(&calls) >= 1);
    OK(cuStreamSynchronize(stream));
    CHECK_EQUAL(atomic_load(&calls), 2);
    OK(cuEventQuery(event));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(stream));
}

/* A user object lives until the last graph or executable graph that has it is destroyed. */
static void test_user_objects(void)
{
    _Atomic int freed = 0;
    CUuserObject object;
    CUgraph graph, clone;
    CUgraphExec exec;
    OK(cuUserObjectCreate(&object, &freed, raise_count, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    OK(cuGraphClone(&clone, graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    OK(cuGraphDestroy(clone));
    CHECK_EQUAL(atomic_load(&freed), 0);
    OK(cuGraphExecDestroy(exec));
    CHECK_EQUAL(atomic_load(&freed), 1);
}

/* The end of a context ends its captures: calls that they forbid are allowed then. */
static void test_context_end(void)
{
    CUcontext ending;
    CUstream stream;
    CUdeviceptr memory;
    OK(cuCtxCreate_v2(&ending, 0, 0));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuCtxDestroy_v2(ending));
    OK(cuCtxSetCurrent(context));
    OK(cuMemAlloc_v2(&memory, 16));
    OK(cuMemFree_v2(memory));
}

/* A node that is destroyed during the capture is no longer a dependency of the next captured node. */
static void test_destroyed_nodes(void)
{
    CUstream stream;
    CUgraph graph, same;
    CUgraphNode nodes[4];
    size_t count = 4;
    OK(cuGraphCreate(&graph, 0));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
    launch(stream, 1, 1);
    OK(cuGraphGetNodes(graph, nodes, &count));
    OK(cuGraphDestroyNode(nodes[0]));
    launch(stream, 1, 2);
    OK(cuStreamEndCapture(stream, &same));
    CHECK(same == graph);
    count = 4;
    OK(cuGraphGetRootNodes(graph, nodes, &count));
    CHECK_EQUAL(count, 1);
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy_v2(stream));
}

static void test_rules(void)
{
    static RuleResult results[256];
    size_t count = rules_run(results);
    for (size_t i = 0; i < count; i++) {
        if (results[i].call != results[i].expected_call || results[i].end != results[i].expected_end)
            printf("  rule %s\n", results[i].name);
        CHECK_EQUAL(results[i].call, results[i].expected_call);
        CHECK_EQUAL(results[i].end, results[i].expected_end);
    }
}

int main(void)
{
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, source));
    OK(cuModuleGetFunction(&affine, module, "affine"));
    OK(cuMemAlloc_v2(&data, BYTES));
    CHECK_GROUP(test_capture);
    CHECK_GROUP(test_fork_join);
    CHECK_GROUP(test_merge);
    CHECK_GROUP(test_threads);
    CHECK_GROUP(test_build);
    CHECK_GROUP(test_update);
    CHECK_GROUP(test_children);
    CHECK_GROUP(test_child_update);
    CHECK_GROUP(test_attributes);
    CHECK_GROUP(test_shaped_copies);
    CHECK_GROUP(test_memory);
    CHECK_GROUP(test_conditions);
    CHECK_GROUP(test_update_of_conditions);
    CHECK_GROUP(test_data_of_edges);
    CHECK_GROUP(test_host_and_events);
    CHECK_GROUP(test_user_objects);
    CHECK_GROUP(test_context_end);
    CHECK_GROUP(test_destroyed_nodes);
    CHECK_GROUP(test_rules);
    OK(cuMemFree_v2(data));
    OK(cuModuleUnload(module));
    OK(cuCtxDestroy_v2(context));
    return check_done();
}
