/* Runs the table of graph_rules.def on whatever driver is linked: for the test, and to print it on a GPU. */
#ifndef TESTS_C_GRAPH_RULES_H
#define TESTS_C_GRAPH_RULES_H

#include <stdlib.h>

/* What a row's call returned, then the end of the capture around it, and what the table expects of both. */
typedef struct RuleResult {
    const char *name;
    CUresult call, expected_call, end, expected_end;
} RuleResult;

static const char rules_source[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                                   ".visible .entry empty()\n{\n  ret;\n}\n";

/* What the calls of the table use. */
static CUstream s, other, joined, stream_out;
static CUevent free_event, new_event, captured, event_out;
static CUdeviceptr a, b, scratch;
static CUmodule module_out;
static CUgraph ignored, one_fill;
static CUgraphExec ready, ready_again;
static CUstreamCaptureStatus status;
static size_t size_out, total_out;
static void *host, *plain;

static void nothing(void *data) { (void)data; }

static void nothing_more(CUstream stream, CUresult result, void *data)
{
    (void)stream, (void)result, (void)data;
}

/* Begins a capture on s that holds a fill, the record of an event and a stream that waits for it (joined). */
static void rules_begin(unsigned flags, CUstreamCaptureMode mode)
{
    cuStreamCreate(&s, flags);
    cuStreamCreate(&other, CU_STREAM_NON_BLOCKING);
    cuStreamCreate(&joined, CU_STREAM_NON_BLOCKING);
    cuEventCreate(&free_event, 0);
    cuEventCreate(&new_event, 0);
    cuEventCreate(&captured, 0);
    cuEventRecord(free_event, other);
    cuStreamSynchronize(other);
    cuStreamBeginCapture_v2(s, mode);
    cuMemsetD32Async(a, 0, 16, s);
    cuEventRecord(captured, s);
    cuStreamWaitEvent(joined, captured, 0);
}

/* An executable graph of one fill, in `ready`. */
static void rules_make_ready(void)
{
    CUcontext current;
    CUgraphNode node;
    CUDA_MEMSET_NODE_PARAMS fill = {b, 0, 1, 4, 16, 1};
    cuCtxGetCurrent(&current);
    cuGraphCreate(&one_fill, 0);
    cuGraphAddMemsetNode(&node, one_fill, NULL, 0, &fill, current);
    cuGraphInstantiateWithFlags(&ready, one_fill, 0);
}

/* Ends the capture and destroys what rules_begin() made; returns the result of cuStreamEndCapture. */
static CUresult rules_end(void)
{
    CUgraph graph = NULL;
    CUresult result = cuStreamEndCapture(s, &graph);
    if (graph) cuGraphDestroy(graph);
    if (ready_again) cuGraphExecDestroy(ready_again);
    ready_again = NULL;
    cuStreamDestroy_v2(s);
    cuStreamDestroy_v2(other);
    cuStreamDestroy_v2(joined);
    cuEventDestroy_v2(free_event);
    cuEventDestroy_v2(new_event);
    cuEventDestroy_v2(captured);
    return result;
}

enum { RULES_BLOCKING = CU_STREAM_DEFAULT, RULES_NON_BLOCKING = CU_STREAM_NON_BLOCKING };

/* Runs all rows of the table, each in a capture of its own, and stores their results; returns their
 * number. */
static size_t rules_run(RuleResult *results)
{
    size_t count = 0;
    cuMemAlloc_v2(&a, 64);
    cuMemAlloc_v2(&b, 64);
    cuMemAllocHost_v2(&host, 64);
    plain = calloc(1, 64);
    rules_make_ready();
#define RULE(rule, kind, mode, made, result, at_end) \
    rules_begin(RULES_##kind, CU_STREAM_CAPTURE_MODE_##mode); \
    results[count].call = made; \
    results[count].expected_call = CUDA_##result; \
    results[count].name = #rule; \
    results[count].end = rules_end(); \
    results[count++].expected_end = CUDA_##at_end;
#define CUDA_ILLEGAL_STATE CUDA_ERROR_ILLEGAL_STATE
#define CUDA_INVALID_VALUE CUDA_ERROR_INVALID_VALUE
#define CUDA_CAPTURED_EVENT CUDA_ERROR_CAPTURED_EVENT
#define CUDA_STREAM_CAPTURE_UNSUPPORTED CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
#define CUDA_STREAM_CAPTURE_INVALIDATED CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
#define CUDA_STREAM_CAPTURE_UNMATCHED CUDA_ERROR_STREAM_CAPTURE_UNMATCHED
#define CUDA_STREAM_CAPTURE_UNJOINED CUDA_ERROR_STREAM_CAPTURE_UNJOINED
#define CUDA_STREAM_CAPTURE_ISOLATION CUDA_ERROR_STREAM_CAPTURE_ISOLATION
#define CUDA_STREAM_CAPTURE_IMPLICIT CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
#include "graph_rules.def"
#undef RULE
    cuGraphExecDestroy(ready);
    cuGraphDestroy(one_fill);
    cuMemFreeHost(host);
    cuMemFree_v2(a);
    cuMemFree_v2(b);
    free(plain);
    return count;
}

#endif
