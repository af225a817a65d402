/* Executable graphs as handles: instantiated, launched, single nodes enabled and disabled. */
#include <stdlib.h>

#include "api/stream/capture.h"
#include "graph/condition.h"
#include "graph/device_launch.h"
#include "graph/program.h"

Exec *exec_of(CUgraphExec handle)
{
    Object *object = object_get(handle, OBJECT_GRAPH_EXEC);
    if (object) object_put(object);
    return (Exec *)object;
}

static void release_exec(Object *object)
{
    Exec *exec = (Exec *)object;
    if (exec->program) program_put(exec->program);
    if (exec->stream) PUT(exec->stream);
    user_references_drop(&exec->users);
}

/* An error if a condition of the graph is used by no node. */
static CUresult check_conditions(const Graph *graph, CUgraphInstantiateResult *why)
{
    for (const Condition *condition = graph->conditions; condition; condition = condition->next)
        if (!condition->used) {
            *why = CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED;
            return CUDA_ERROR_INVALID_VALUE;
        }
    return CUDA_SUCCESS;
}

static CUresult fill_exec(Exec *exec, const Graph *graph, Node **error_node, CUgraphInstantiateResult *why)
{
    TRY(check_conditions(graph, why));
    if (exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
        TRY(graph_check_device_launch(graph, error_node, why));
    TRY(program_new(graph, &exec->program, error_node, why));
    if (!user_references_copy(&exec->users, &graph->users)) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!program_claim(exec->program)) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = object_publish(OBJECT(exec));
    if (result) program_unclaim(exec->program);
    return result;
}

/* *own: a reference to the new object, which the caller releases without the lock. */
static CUresult instantiate(CUgraphExec *out, CUgraph handle, unsigned long long flags, Node **error_node,
                            CUgraphInstantiateResult *why, Exec **own)
{
    const Graph *graph = graph_of(handle);
    if (!graph || !out) return CUDA_ERROR_INVALID_VALUE;
    Exec *exec = object_new(OBJECT_GRAPH_EXEC, sizeof *exec, NULL, release_exec);
    if (!exec) return CUDA_ERROR_OUT_OF_MEMORY;
    exec->flags = flags;
    CUresult result = fill_exec(exec, graph, error_node, why);
    if (!result) *out = exec;
    *own = exec;
    return result;
}

static CUresult make_exec(CUgraphExec *out, CUgraph graph, unsigned long long flags, Node **error_node,
                          CUgraphInstantiateResult *why)
{
    const unsigned long long supported = 15; /* all CUDA_GRAPH_INSTANTIATE_FLAG_* */
    const unsigned long long not_both =
        CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    Context *context;
    Exec *own = NULL;
    *why = CUDA_GRAPH_INSTANTIATE_ERROR;
    TRY(context_enter(&context));
    TRY(capture_check_thread());
    if (flags & ~supported || (flags & not_both) == not_both) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = WITH_GRAPHS(instantiate(out, graph, flags, error_node, why, &own));
    if (own) PUT(own);
    if (!result) *why = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    return result;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    Node *error_node = NULL;
    CUgraphInstantiateResult why;
    TRY(driver_check());
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) return CUDA_ERROR_INVALID_VALUE; /* it needs a stream */
    return make_exec(out, graph, flags, &error_node, &why);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    Node *error_node = NULL;
    TRY(driver_check());
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = make_exec(out, graph, params->flags, &error_node, &params->result_out);
    params->hErrNode_out = error_node;
    if (result || !(params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)) return result;
    return cuGraphUpload(*out, params->hUploadStream);
}

static CUresult destroy_exec(CUgraphExec handle, Exec **dead)
{
    Exec *exec = exec_of(handle);
    if (!exec) return CUDA_ERROR_INVALID_VALUE;
    object_hold(OBJECT(exec));
    program_unclaim(exec->program);
    object_retire(OBJECT(exec));
    *dead = exec;
    return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec handle)
{
    Exec *dead = NULL;
    TRY(driver_check());
    CUresult result = WITH_GRAPHS(destroy_exec(handle, &dead));
    if (dead) PUT(dead);
    return result;
}

static CUresult get_flags(CUgraphExec handle, cuuint64_t *flags)
{
    const Exec *exec = exec_of(handle);
    if (!exec) return CUDA_ERROR_INVALID_VALUE;
    *flags = exec->flags
             & (CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH);
    return CUDA_SUCCESS;
}

CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *flags)
{
    TRY(driver_check());
    return flags ? WITH_GRAPHS(get_flags(exec, flags)) : CUDA_ERROR_INVALID_VALUE;
}

/* Kernels may launch it as it is now. */
static CUresult note_upload(Exec *exec)
{
    if (!exec) return CUDA_ERROR_INVALID_VALUE;
    exec->uploaded = true;
    return CUDA_SUCCESS;
}

/* Without the graphs' lock, because it may wait while the queue is full. That is safe, as the driver's
 * manual demands that an executable graph is used by one thread at a time. */
CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle)
{
    Stream *stream;
    TRY(stream_enter(stream_handle, &stream));
    Exec *exec = object_get(handle, OBJECT_GRAPH_EXEC);
    CUresult result = exec ? queue_wait_room(stream) : CUDA_ERROR_INVALID_VALUE;
    if (!result) result = WITH_GRAPHS(note_upload(exec)); /* before its own kernels may launch it */
    if (!result) result = replay_submit(exec, stream);
    if (exec) PUT(exec);
    PUT(stream);
    return result;
}

/* There is nothing to do: the instantiation has prepared everything. */
CUresult cuGraphUpload(CUgraphExec exec, CUstream handle)
{
    Stream *stream;
    TRY(stream_enter(handle, &stream));
    PUT(stream);
    return WITH_GRAPHS(note_upload(exec_of(exec)));
}

/* *out: whether the node is enabled, if `out` is not NULL. Sets that to *set, if `set` is not NULL. */
static CUresult get_or_set_enabled(CUgraphExec exec_handle, CUgraphNode node_handle, unsigned *out,
                                   const unsigned *set)
{
    Exec *exec = exec_of(exec_handle);
    const Node *node = node_of(node_handle);
    if (!exec || !node) return CUDA_ERROR_INVALID_VALUE;
    size_t index = program_find(exec->program, node->id);
    if (index == exec->program->count) return CUDA_ERROR_INVALID_VALUE;
    const Step *step = exec->program->steps[index];
    if (step->work.type > CU_GRAPH_NODE_TYPE_MEMSET) return CUDA_ERROR_INVALID_VALUE;
    if (out) *out = !step->disabled;
    if (!set || !*set == step->disabled) return CUDA_SUCCESS;
    Work work;
    TRY(work_copy(&work, &step->work));
    Step *other = step_new(step, &work);
    Program *program = other ? exec_own_program(exec) : NULL;
    if (!program) {
        if (other) work_free(&other->work);
        free(other);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    other->disabled = !*set;
    program_set(program, index, other);
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int is_enabled)
{
    TRY(driver_check());
    return WITH_GRAPHS(get_or_set_enabled(exec, node, NULL, &is_enabled));
}

CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int *is_enabled)
{
    TRY(driver_check());
    return is_enabled ? WITH_GRAPHS(get_or_set_enabled(exec, node, is_enabled, NULL))
                      : CUDA_ERROR_INVALID_VALUE;
}
