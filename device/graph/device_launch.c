/* Graphs that kernels launch. See device_launch.h. */
#include "graph/device_launch.h"

#include <stdlib.h>

#include "api/memory/memory.h"
#include "exec/runtime/runtime.h"

GraphRun *graph_run_new(Exec *exec)
{
    GraphRun *run = calloc(1, sizeof *run);
    if (!run) return NULL;
    object_hold(OBJECT(exec));
    run->exec = exec;
    run->program = program_hold(exec->program);
    graph_runs_init(&run->tails);
    atomic_fetch_add(&exec->pending, 1);
    return run;
}

void graph_run_free(GraphRun *run)
{
    graph_runs_free(&run->tails);
    atomic_fetch_sub(&run->exec->pending, 1);
    program_put(run->program);
    PUT(run->exec);
    free(run);
}

void graph_runs_init(GraphRuns *runs)
{
    runs->first = NULL;
    runs->end = &runs->first;
}

void graph_runs_append(GraphRuns *runs, GraphRun *run)
{
    run->next = NULL;
    *runs->end = run;
    runs->end = &run->next;
}

void graph_runs_free(GraphRuns *runs)
{
    for (GraphRun *run = runs->first, *next; run; run = next) {
        next = run->next;
        graph_run_free(run);
    }
    graph_runs_init(runs);
}

GraphRun *graph_runs_take_reversed(GraphRuns *runs)
{
    GraphRun *reversed = NULL;
    for (GraphRun *run = runs->first, *next; run; run = next) {
        next = run->next;
        run->next = reversed;
        reversed = run;
    }
    graph_runs_init(runs);
    return reversed;
}

/* Whether a kernel of the graph `own` may launch the executable graph: only one launch of it is pending at a
 * time, but as its tail a graph may launch itself once more. */
static bool may_launch(Exec *exec, const Exec *own, bool is_tail)
{
    unsigned pending = atomic_load(&exec->pending);
    return exec->uploaded && pending <= (is_tail && exec == own ? 1 : 0);
}

static int launch_locked(KernelLaunches *launches, Exec *exec, bool is_tail)
{
    if (!may_launch(exec, launches->exec, is_tail)) return RUNTIME_INVALID_VALUE;
    GraphRun *run = graph_run_new(exec);
    if (!run) return RUNTIME_OUT_OF_MEMORY;
    run->is_tail = is_tail;
    graph_runs_append(&launches->runs, run);
    return 0;
}

int graph_launch_by_kernel(void *place, uint64_t handle, uint64_t stream)
{
    enum { TAIL = 1, FIRE_AND_FORGET, SIBLING, KIND_SHIFT = 56 };
    KernelLaunches *launches = place;
    uint64_t kind = stream >> KIND_SHIFT;
    if (!launches || !handle || kind << KIND_SHIFT != stream || kind < TAIL || kind > SIBLING)
        return RUNTIME_INVALID_VALUE;
    Exec *exec = object_get((void *)(uintptr_t)handle, OBJECT_GRAPH_EXEC);
    bool fits = exec && exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
    int error = RUNTIME_NO_GRAPH;
    if (fits) {
        graphs_lock();
        error = launch_locked(launches, exec, kind == TAIL);
        graphs_unlock(CUDA_SUCCESS);
    }
    if (exec) PUT(exec);
    return error;
}

/* Whether kernels reach the memory of that side of a copy. */
static bool is_reachable(const CopySide *side)
{
    MemoryRange range;
    return !side->array && memory_map_find_for_call(driver_memory(), side->address, 1, &range);
}

static bool may_be_launched(const Work *work)
{
    switch (work->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_GRAPH: return true;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return is_reachable(&work->copy.job.to) && is_reachable(&work->copy.job.from);
    default: return false;
    }
}

static Node *find_refused(const Graph *graph)
{
    for (size_t i = 0; i < graph->count; i++) {
        const Work *work = &graph->nodes[i]->work;
        if (!may_be_launched(work)) return graph->nodes[i];
        Node *inner = work->type == CU_GRAPH_NODE_TYPE_GRAPH ? find_refused(work->child) : NULL;
        if (inner) return inner;
    }
    return NULL;
}

CUresult graph_check_device_launch(const Graph *graph, Node **error_node, CUgraphInstantiateResult *why)
{
    *error_node = find_refused(graph);
    if (*error_node) *why = CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
    return *error_node || !graph->count ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
