/* Changes of executable graphs: of single steps, or of all from a graph with the same structure. */
#include <stdlib.h>
#include <string.h>

#include "graph/program.h"

/* Whether the two copies are between memory of the same types. */
static bool same_copy(const CopyWork *a, const CopyWork *b)
{
    const CUDA_MEMCPY3D *x = &a->shape, *y = &b->shape;
    return x->srcMemoryType == y->srcMemoryType && x->dstMemoryType == y->dstMemoryType;
}

static bool same_operations(const ValuesWork *a, const ValuesWork *b)
{
    bool same = a->count == b->count;
    for (unsigned k = 0; same && k < a->count; k++)
        same = a->operations[k].operation == b->operations[k].operation;
    return same;
}

/* CU_GRAPH_EXEC_UPDATE_SUCCESS (0) if a step that does the work `now` may do the work `then` instead; else
 * why not. */
static CUgraphExecUpdateResult check_update(const Work *now, const Work *then)
{
    if (now->type != then->type) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    switch (now->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        if (now->context != then->context) return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
        if (now->kernel.shape.cooperative != then->kernel.shape.cooperative
            || memcmp(now->kernel.shape.cluster, then->kernel.shape.cluster, sizeof now->kernel.shape.cluster)
                   != 0)
            return CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        if (now->context != then->context || !same_copy(&now->copy, &then->copy))
            return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        if (now->context != then->context || (now->fill.height > 1) != (then->fill.height > 1))
            return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
        break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        if (now->context != then->context || !same_operations(&now->values, &then->values))
            return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
        break;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        if (now->context != then->context || now->semaphores.count != then->semaphores.count)
            return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        if (now->memory != then->memory) return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
        break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        if (now->address != then->address) return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
        break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        if (now->conditional.type != then->conditional.type
            || now->conditional.size != then->conditional.size)
            return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
        break;
    default: break;
    }
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

/* ---- One step ---- */

/* Replaces a step; owns the caller's reference to it. */
static CUresult put_step(Exec *exec, size_t index, Step *step)
{
    Program *program = exec_own_program(exec);
    if (program)
        program_set(program, index, step);
    else
        step_put(step);
    return program ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Replaces the work of a step; owns it. */
static CUresult set_step(Exec *exec, size_t index, Work *work)
{
    Step *step = step_new(exec->program->steps[index], work);
    return step ? put_step(exec, index, step) : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult set_locked(CUgraphExec exec_handle, CUgraphNode node_handle, Work *work)
{
    Exec *exec = exec_of(exec_handle);
    const Node *node = node_of(node_handle);
    size_t index = exec && node ? program_find(exec->program, node->id) : 0;
    CUresult result = CUDA_SUCCESS;
    if (!exec || !node || index == exec->program->count)
        result = CUDA_ERROR_INVALID_VALUE;
    else if (work->type == CU_GRAPH_NODE_TYPE_KERNEL)
        result = work_keep_shape(work, &node->work);
    if (!result && check_update(&exec->program->steps[index]->work, work)) result = CUDA_ERROR_INVALID_VALUE;
    if (!result) return set_step(exec, index, work);
    work_free(work);
    return result;
}

static CUresult set(CUgraphExec exec, CUgraphNode node, CUresult make_error, Work *work)
{
    return make_error ? make_error : WITH_GRAPHS(set_locked(exec, node, work));
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS *params)
{
    Work work;
    TRY(driver_check());
    return params ? set(exec, node, work_make_kernel_from_params(&work, params), &work)
                  : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *shape,
                                        CUcontext context)
{
    Work work;
    TRY(driver_check());
    return shape ? set(exec, node, work_make_copy_from_shape(&work, shape, context), &work)
                 : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context)
{
    Work work;
    TRY(driver_check());
    return params ? set(exec, node, work_make_fill_from_params(&work, params, context), &work)
                  : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params)
{
    Work work;
    TRY(driver_check());
    return params ? set(exec, node, work_make_host(&work, params->fn, params->userData), &work)
                  : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
    Work work;
    TRY(driver_check());
    return params ? set(exec, node, work_make_values_from_params(&work, params), &work)
                  : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecExternalSemaphoresSignalNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                          const SemaphoresNodeParams *params)
{
    Work work;
    return set(exec, node, work_make_semaphores_from_params(&work, params, false), &work);
}

CUresult cuGraphExecExternalSemaphoresWaitNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                        const SemaphoresNodeParams *params)
{
    Work work;
    return set(exec, node, work_make_semaphores_from_params(&work, params, true), &work);
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
    Work work;
    TRY(driver_check());
    return set(exec, node, work_make_event(&work, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event), &work);
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
    Work work;
    TRY(driver_check());
    return set(exec, node, work_make_event(&work, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event), &work);
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
    Work work;
    TRY(driver_check());
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    if (params->type == CU_GRAPH_NODE_TYPE_GRAPH)
        return cuGraphExecChildGraphNodeSetParams(exec, node, params->graph.graph);
    return set(exec, node, work_make_from_params(&work, params), &work);
}

/* ---- A whole graph ---- */

/* Why an update from a graph fails: the node of the graph, and the other end of the edge that differs, or
 * NULLs. */
typedef struct Difference {
    CUgraphExecUpdateResult result;
    Node *node, *from;
} Difference;

/* Returns false. */
static bool report_difference(Difference *out, CUgraphExecUpdateResult result, Node *node, Node *from)
{
    *out = (Difference){result, node, from};
    return false;
}

static bool pair_graph(const Program *program, const Graph *graph, uint64_t outer, Node **nodes, size_t *next,
                       Difference *out);

/* How many steps a program of the graph would have. */
static size_t count_steps(const Graph *graph)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->count; i++) {
        const Work *work = &graph->nodes[i]->work;
        count += work->type == CU_GRAPH_NODE_TYPE_GRAPH ? count_steps(work->child) : 1;
    }
    return count;
}

/* Compares a program with the graph: a whole one, or the body of `node`. *nodes, which the caller frees,
 * becomes the array of nodes for the steps. False, with *out, if they differ. */
static bool pair_whole(const Program *program, const Graph *graph, Node *node, Node ***nodes, Difference *out)
{
    size_t next = 0;
    *nodes = NULL;
    if (count_steps(graph) != program->count)
        return report_difference(out, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, node, NULL);
    *nodes = calloc(program->count + 1, sizeof **nodes);
    return *nodes ? pair_graph(program, graph, 0, *nodes, &next, out)
                  : report_difference(out, CU_GRAPH_EXEC_UPDATE_ERROR, NULL, NULL);
}

/* Compares the bodies of a conditional step with those of its node. The nodes that are found are not kept:
 * replace_step() makes bodies again. */
static bool pair_bodies(const Step *step, Node *node, Difference *out)
{
    bool same = true;
    for (unsigned i = 0; i < step->work.conditional.size && same; i++) {
        Node **nodes;
        same = pair_whole(step->bodies[i], node->work.conditional.bodies[i], node, &nodes, out);
        free(nodes);
    }
    return same;
}

/* Visits the nodes in the order in which they would be instantiated, with those of child graphs and bodies,
 * and compares each with its step: number *next and following. */
static bool pair_graph(const Program *program, const Graph *graph, uint64_t outer, Node **nodes, size_t *next,
                       Difference *out)
{
    bool cycle, same = true;
    Node **order = graph_order(graph, &cycle);
    if (!order) return report_difference(out, CU_GRAPH_EXEC_UPDATE_ERROR, NULL, NULL);
    for (size_t i = 0; i < graph->count && same; i++) {
        Node *node = order[i], *from = node->before.count ? node->before.edges[0].node : NULL;
        uint64_t shape = node_shape(node, outer);
        if (node->work.type == CU_GRAPH_NODE_TYPE_GRAPH) {
            same = pair_graph(program, node->work.child, shape, nodes, next, out);
            continue;
        }
        const Step *step = *next < program->count ? program->steps[*next] : NULL;
        CUgraphExecUpdateResult result =
            !step ? CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED : check_update(&step->work, &node->work);
        if (!result && step->shape != shape) result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        if (result)
            same = report_difference(out, result, node,
                                     result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED ? from : NULL);
        else
            nodes[(*next)++] = node;
        if (!result && step->bodies) same = pair_bodies(step, node, out);
    }
    free(order);
    return same;
}

/* Replaces a step by a new one for the node; bodies are made again. */
static CUresult replace_step(Exec *exec, size_t index, const Node *node)
{
    Work work;
    TRY(work_copy(&work, &node->work));
    Step *step = step_new(exec->program->steps[index], &work);
    if (!step) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result =
        work.type == CU_GRAPH_NODE_TYPE_CONDITIONAL ? program_make_bodies(node, step) : CUDA_SUCCESS;
    if (!result) return put_step(exec, index, step);
    step_put(step);
    return result;
}

static CUresult replace_works(Exec *exec, Node *const *nodes)
{
    for (size_t i = 0; i < exec->program->count; i++)
        if (nodes[i] && nodes[i]->work.type != CU_GRAPH_NODE_TYPE_MEM_ALLOC)
            TRY(replace_step(exec, i, nodes[i]));
    return CUDA_SUCCESS;
}

static CUresult update_exec(Exec *exec, const Graph *graph, Difference *difference)
{
    Node **nodes;
    *difference = (Difference){.result = CU_GRAPH_EXEC_UPDATE_ERROR};
    bool same = pair_whole(exec->program, graph, NULL, &nodes, difference);
    bool has_memory = nodes || difference->result != CU_GRAPH_EXEC_UPDATE_ERROR;
    CUresult result = same ? replace_works(exec, nodes) : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    if (!has_memory) result = CUDA_ERROR_OUT_OF_MEMORY;
    if (!result) difference->result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    free(nodes);
    return result;
}

static CUresult update_locked(CUgraphExec exec_handle, CUgraph graph_handle,
                              CUgraphExecUpdateResultInfo *info, UserReferences *old)
{
    Exec *exec = exec_of(exec_handle);
    const Graph *graph = graph_of(graph_handle);
    Difference difference;
    UserReferences users;
    if (!exec || !graph) return CUDA_ERROR_INVALID_VALUE;
    if (!user_references_copy(&users, &graph->users)) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = update_exec(exec, graph, &difference);
    *info = (CUgraphExecUpdateResultInfo){difference.result, difference.node, difference.from};
    *old = result ? users : exec->users;
    if (!result) exec->users = users;
    return result;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    UserReferences old = {0};
    TRY(driver_check());
    if (!info) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = WITH_GRAPHS(update_locked(exec, graph, info, &old));
    user_references_drop(&old);
    return result;
}

/* ---- A child graph ---- */

/* Replaces the works of the steps of the child graph `now` by those of the graph `then`, node by node. */
static CUresult set_child(Exec *exec, const Graph *now, const Graph *then)
{
    if (count_steps(then) != count_steps(now) || now->count != then->count) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < now->count; i++) {
        const Node *from = now->nodes[i], *to = then->nodes[i];
        if (from->before.count != to->before.count || check_update(&from->work, &to->work))
            return CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t i = 0; i < now->count; i++) {
        const Node *from = now->nodes[i], *to = then->nodes[i];
        Work work;
        if (from->work.type == CU_GRAPH_NODE_TYPE_GRAPH) {
            TRY(set_child(exec, from->work.child, to->work.child));
            continue;
        }
        size_t index = program_find(exec->program, from->id);
        if (index == exec->program->count) return CUDA_ERROR_INVALID_VALUE;
        TRY(work_copy(&work, &to->work));
        TRY(set_step(exec, index, &work));
    }
    return CUDA_SUCCESS;
}

static CUresult set_child_locked(CUgraphExec exec_handle, CUgraphNode node_handle, CUgraph child_handle)
{
    Exec *exec = exec_of(exec_handle);
    const Node *node = node_of(node_handle);
    const Graph *child = graph_of(child_handle);
    if (!exec || !node || !child || node->work.type != CU_GRAPH_NODE_TYPE_GRAPH)
        return CUDA_ERROR_INVALID_VALUE;
    return set_child(exec, node->work.child, child);
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
    TRY(driver_check());
    return WITH_GRAPHS(set_child_locked(exec, node, child));
}
