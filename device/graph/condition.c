/* Conditions and conditional nodes. See condition.h. */
#include "graph/condition.h"

#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for the list of all conditions */
static Condition *all;

Condition *condition_hold(Condition *condition)
{
    atomic_fetch_add(&condition->references, 1);
    return condition;
}

void condition_put(Condition *condition)
{
    pthread_mutex_lock(&lock);
    bool last = atomic_fetch_sub(&condition->references, 1) == 1;
    Condition **link = &all;
    while (last && *link && *link != condition) link = &(*link)->next_of_all;
    if (last && *link) *link = condition->next_of_all;
    pthread_mutex_unlock(&lock);
    if (!last) return;
    context_put(condition->context);
    free(condition);
}

static Condition *find_locked(CUgraphConditionalHandle handle)
{
    Condition *condition = all;
    while (condition && condition->handle != handle) condition = condition->next_of_all;
    return condition;
}

Condition *condition_find(CUgraphConditionalHandle handle)
{
    pthread_mutex_lock(&lock);
    Condition *condition = find_locked(handle);
    if (condition) condition_hold(condition);
    pthread_mutex_unlock(&lock);
    return condition;
}

bool condition_set(CUgraphConditionalHandle handle, unsigned value)
{
    pthread_mutex_lock(&lock);
    Condition *condition = find_locked(handle);
    if (condition) atomic_store(&condition->value, value);
    pthread_mutex_unlock(&lock);
    return condition != NULL;
}

static CUresult create_handle(CUgraph handle, Context *context, unsigned initial, unsigned flags,
                              CUgraphConditionalHandle *out)
{
    static CUgraphConditionalHandle handles;
    Graph *graph = graph_of(handle);
    if (!graph) return CUDA_ERROR_INVALID_VALUE;
    Condition *condition = calloc(1, sizeof *condition);
    if (!condition) return CUDA_ERROR_OUT_OF_MEMORY;
    atomic_init(&condition->references, 1);
    condition->context = context_retain(context);
    condition->initial = initial;
    condition->flags = flags;
    atomic_init(&condition->value, initial);
    condition->next = graph->conditions;
    graph->conditions = condition;
    pthread_mutex_lock(&lock);
    condition->handle = ++handles;
    condition->next_of_all = all;
    all = condition;
    pthread_mutex_unlock(&lock);
    *out = condition->handle;
    return CUDA_SUCCESS;
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *out, CUgraph graph, CUcontext handle,
                                        unsigned int initial, unsigned int flags)
{
    Context *context;
    TRY(driver_check());
    if (!out || flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT) return CUDA_ERROR_INVALID_VALUE;
    if (!handle) return CUDA_ERROR_INVALID_CONTEXT; /* it does not stand for the current one here */
    TRY(context_resolve(handle, &context));
    CUresult result = WITH_GRAPHS(create_handle(graph, context, initial, flags, out));
    context_put(context);
    return result;
}

static bool valid_size(const CUDA_CONDITIONAL_NODE_PARAMS *params)
{
    switch (params->type) {
    case CU_GRAPH_COND_TYPE_IF: return params->size == 1 || params->size == 2;
    case CU_GRAPH_COND_TYPE_WHILE: return params->size == 1;
    case CU_GRAPH_COND_TYPE_SWITCH: return params->size > 0;
    default: return false;
    }
}

/* The condition with that handle, with a reference, which is used by a node from now on. It must have been
 * made for the graph or, if that is a conditional node's body, for a graph around it. NULL if there is none
 * that is unused. */
static Condition *take_condition(const Graph *graph, CUgraphConditionalHandle wanted)
{
    Condition *condition = NULL;
    for (; graph && !condition; graph = graph->outer) {
        condition = graph->conditions;
        while (condition && condition->handle != wanted) condition = condition->next;
    }
    if (!condition || condition->used) return NULL;
    condition->used = true;
    return condition_hold(condition);
}

CUresult condition_make_work(Work *work, CUgraph handle, CUDA_CONDITIONAL_NODE_PARAMS *params)
{
    if (!params->ctx) return CUDA_ERROR_INVALID_CONTEXT;
    if (!valid_size(params)) return CUDA_ERROR_INVALID_VALUE;
    graphs_lock();
    Graph *graph = graph_of(handle);
    Condition *condition = take_condition(graph, params->handle);
    graphs_unlock(CUDA_SUCCESS);
    if (!condition) return CUDA_ERROR_INVALID_VALUE;
    work_begin(work, CU_GRAPH_NODE_TYPE_CONDITIONAL, condition->context);
    ConditionalWork *conditional = &work->conditional;
    *conditional = (ConditionalWork){condition, params->type, params->size, NULL};
    conditional->bodies = calloc(params->size, sizeof *conditional->bodies);
    for (unsigned i = 0; conditional->bodies && i < params->size; i++) {
        conditional->bodies[i] = graph_new();
        if (!conditional->bodies[i]) {
            work_free(work);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        conditional->bodies[i]->owned = true;
        conditional->bodies[i]->outer = graph;
    }
    if (!conditional->bodies) {
        work_free(work);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    params->phGraph_out = conditional->bodies;
    return CUDA_SUCCESS;
}
