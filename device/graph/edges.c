/* Edges: the dependencies of nodes, which are stored at both ends, and the queries for them. */
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"

static bool push_edge(EdgeList *list, Edge edge)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 2;
        Edge *edges = realloc(list->edges, capacity * sizeof *edges);
        if (!edges) return false;
        list->edges = edges;
        list->capacity = capacity;
    }
    list->edges[list->count++] = edge;
    return true;
}

/* The index of the edge to that node; list->count if there is none. */
static size_t find_edge(const EdgeList *list, const Node *node)
{
    size_t i = 0;
    while (i < list->count && list->edges[i].node != node) i++;
    return i;
}

static bool remove_edge(EdgeList *list, const Node *node)
{
    size_t i = find_edge(list, node);
    if (i == list->count) return false;
    memmove(&list->edges[i], &list->edges[i + 1], (--list->count - i) * sizeof *list->edges);
    return true;
}

bool edges_add(Node *from, Node *to, const CUgraphEdgeData *data)
{
    const CUgraphEdgeData plain = {0};
    if (!push_edge(&from->after, (Edge){to, data ? *data : plain})) return false;
    if (push_edge(&to->before, (Edge){from, data ? *data : plain})) return true;
    from->after.count--;
    return false;
}

bool edges_remove(Node *from, Node *to)
{
    return remove_edge(&from->after, to) && remove_edge(&to->before, from);
}

void edges_drop(Node *node)
{
    for (size_t i = 0; i < node->before.count; i++) remove_edge(&node->before.edges[i].node->after, node);
    for (size_t i = 0; i < node->after.count; i++) remove_edge(&node->after.edges[i].node->before, node);
    node->before.count = node->after.count = 0;
}

bool edge_is_ordinary(const CUgraphEdgeData *data)
{
    const CUgraphEdgeData plain = {0};
    return !memcmp(data, &plain, sizeof plain);
}

static bool valid_data(const CUgraphEdgeData *data)
{
    enum { LAST_PORT = 2 }; /* CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER */
    static const unsigned char zero[sizeof data->reserved];
    return data->from_port <= LAST_PORT && !data->to_port
           && data->type <= CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC
           && !memcmp(data->reserved, zero, sizeof zero);
}

bool edges_valid(const CUgraphEdgeData *data, size_t count)
{
    for (size_t i = 0; data && i < count; i++)
        if (!valid_data(&data[i])) return false;
    return true;
}

/* Whether the edge has this data; NULL: whether it is an ordinary edge. */
static bool same_data(const Edge *edge, const CUgraphEdgeData *data)
{
    return data ? !memcmp(&edge->data, data, sizeof *data) : edge_is_ordinary(&edge->data);
}

/* Checks all edges, then adds or removes them. */
static CUresult change_edges(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                             const CUgraphEdgeData *data, size_t count, bool add)
{
    const Graph *graph = graph_of(handle);
    if (!graph || !graph_has_all(graph, from, count) || !graph_has_all(graph, to, count))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        const EdgeList *list = &from[i]->after;
        size_t place = find_edge(list, to[i]);
        bool exists = place < list->count;
        if (from[i] == to[i] || exists == add || !edges_valid(data ? &data[i] : NULL, 1)
            || (!add && !same_data(&list->edges[place], data ? &data[i] : NULL)))
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (!add && graph->memory_nodes) return CUDA_ERROR_NOT_SUPPORTED;
    for (size_t i = 0; i < count; i++) {
        bool done = add ? edges_add(from[i], to[i], data ? &data[i] : NULL) : edges_remove(from[i], to[i]);
        if (!done) return add ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   const CUgraphEdgeData *data, size_t count)
{
    TRY(driver_check());
    return WITH_GRAPHS(change_edges(graph, from, to, data, count, true));
}

CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                      const CUgraphEdgeData *data, size_t count)
{
    TRY(driver_check());
    return WITH_GRAPHS(change_edges(graph, from, to, data, count, false));
}

/* CUDA_ERROR_LOSSY_QUERY: `data` is NULL, but an edge is not an ordinary one. */
static CUresult list_edges(CUgraph handle, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data,
                           size_t *count)
{
    const Graph *graph = graph_of(handle);
    size_t found = 0;
    if (!graph || !from != !to) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < graph->count; i++)
        for (size_t e = 0; e < graph->nodes[i]->after.count; e++, found++) {
            const Edge *edge = &graph->nodes[i]->after.edges[e];
            if (!from || found >= *count) continue;
            if (!data && !edge_is_ordinary(&edge->data)) return CUDA_ERROR_LOSSY_QUERY;
            from[found] = graph->nodes[i];
            to[found] = edge->node;
            if (data) data[found] = edge->data;
        }
    for (size_t i = found; from && i < *count; i++) from[i] = to[i] = NULL;
    if (!from || found < *count) *count = found;
    return CUDA_SUCCESS;
}

CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data,
                            size_t *count)
{
    TRY(driver_check());
    return count ? WITH_GRAPHS(list_edges(graph, from, to, data, count)) : CUDA_ERROR_INVALID_VALUE;
}

/* The nodes that the node depends on (before), or that depend on it. */
static CUresult list_ends(CUgraphNode handle, CUgraphNode *out, CUgraphEdgeData *data, size_t *count,
                          bool before)
{
    const Node *node = node_of(handle);
    if (!node) return CUDA_ERROR_INVALID_VALUE;
    const EdgeList *list = before ? &node->before : &node->after;
    for (size_t i = 0; out && i < *count; i++) {
        out[i] = i < list->count ? list->edges[i].node : NULL;
        if (i >= list->count) continue;
        if (!data && !edge_is_ordinary(&list->edges[i].data)) return CUDA_ERROR_LOSSY_QUERY;
        if (data) data[i] = list->edges[i].data;
    }
    if (!out || list->count < *count) *count = list->count;
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *out, CUgraphEdgeData *data,
                                       size_t *count)
{
    TRY(driver_check());
    return count ? WITH_GRAPHS(list_ends(node, out, data, count, true)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *out, CUgraphEdgeData *data,
                                         size_t *count)
{
    TRY(driver_check());
    return count ? WITH_GRAPHS(list_ends(node, out, data, count, false)) : CUDA_ERROR_INVALID_VALUE;
}
