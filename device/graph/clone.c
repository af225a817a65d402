/* Clones: an independent graph with copies of the nodes and edges. */
#include <stdlib.h>

#include "graph/graph.h"

/* Adds copies of all nodes, in the same order, and then of all edges. */
static CUresult clone_nodes(const Graph *from, Graph *to)
{
    for (size_t i = 0; i < from->count; i++) {
        const Node *node = from->nodes[i];
        Node *copy;
        Work work;
        TRY(work_copy(&work, &node->work));
        if (work.type == CU_GRAPH_NODE_TYPE_GRAPH) work.child->owned = true;
        TRY(graph_add(to, NULL, NULL, 0, &work, &copy));
        copy->origin = node->id;
    }
    for (size_t i = 0; i < from->count; i++)
        for (size_t e = 0; e < from->nodes[i]->after.count; e++) {
            const Edge *edge = &from->nodes[i]->after.edges[e];
            if (!edges_add(to->nodes[i], to->nodes[edge->node->place], &edge->data))
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
    return CUDA_SUCCESS;
}

CUresult graph_clone(const Graph *graph, Graph **out)
{
    if (graph->memory_nodes || graph->conditional_nodes) return CUDA_ERROR_NOT_SUPPORTED;
    Graph *copy = graph_new();
    if (!copy) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result =
        user_references_copy(&copy->users, &graph->users) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (!result) result = clone_nodes(graph, copy);
    if (!result) {
        *out = copy;
        return CUDA_SUCCESS;
    }
    graph_retire(copy);
    PUT(copy);
    return result;
}

static CUresult clone_graph(CUgraph *out, CUgraph handle)
{
    Graph *copy;
    const Graph *graph = graph_of(handle);
    if (!graph) return CUDA_ERROR_INVALID_VALUE;
    TRY(graph_clone(graph, &copy));
    *out = copy;
    PUT(copy);
    return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph *out, CUgraph original)
{
    TRY(driver_check());
    return out ? WITH_GRAPHS(clone_graph(out, original)) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult find_in_clone(CUgraphNode *out, CUgraphNode handle, CUgraph clone_handle)
{
    const Node *node = node_of(handle);
    const Graph *graph = graph_of(clone_handle);
    if (!node || !graph) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < graph->count; i++)
        if (graph->nodes[i]->origin == node->id) {
            *out = graph->nodes[i];
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode original, CUgraph clone_graph)
{
    TRY(driver_check());
    return out ? WITH_GRAPHS(find_in_clone(out, original, clone_graph)) : CUDA_ERROR_INVALID_VALUE;
}
