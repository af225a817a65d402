/* Graphs and nodes as handles. See graph.h. */
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

#include "graph/condition.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void graphs_lock(void) { pthread_mutex_lock(&lock); }

CUresult graphs_unlock(CUresult result)
{
    pthread_mutex_unlock(&lock);
    return result;
}

/* The live object of a handle, without a new reference: the registry's reference keeps it, because graphs
 * and nodes are retired under the graphs' lock only, which the caller holds. */
static void *borrow_graph(const void *handle, ObjectKind kind)
{
    Object *object = object_get(handle, kind);
    if (object) object_put(object);
    return object;
}

Graph *graph_of(CUgraph handle) { return borrow_graph(handle, OBJECT_GRAPH); }

Node *node_of(CUgraphNode handle) { return borrow_graph(handle, OBJECT_GRAPH_NODE); }

uint64_t graph_new_search(void)
{
    static uint64_t searches; /* under the lock */
    return ++searches;
}

static void release_graph(Object *object)
{
    Graph *graph = (Graph *)object;
    for (size_t i = 0; i < graph->count; i++) {
        graph->nodes[i]->graph = NULL;
        PUT(graph->nodes[i]);
    }
    free(graph->nodes);
    for (Condition *condition = graph->conditions, *next; condition; condition = next) {
        next = condition->next;
        condition_put(condition);
    }
    user_references_drop(&graph->users);
}

static void release_node(Object *object)
{
    Node *node = (Node *)object;
    free(node->before.edges);
    free(node->after.edges);
    work_free(&node->work);
}

Graph *graph_new(void)
{
    Graph *graph = object_new(OBJECT_GRAPH, sizeof *graph, NULL, release_graph);
    if (!graph || object_publish(OBJECT(graph)) == CUDA_SUCCESS) return graph;
    PUT(graph);
    return NULL;
}

/* Retires the graphs that the work owns: a child graph, or bodies. */
static void retire_owned(const Work *work)
{
    if (work->type == CU_GRAPH_NODE_TYPE_GRAPH) graph_retire(work->child);
    if (work->type != CU_GRAPH_NODE_TYPE_CONDITIONAL) return;
    for (unsigned i = 0; i < work->conditional.size; i++)
        if (work->conditional.bodies) graph_retire(work->conditional.bodies[i]);
}

void graph_retire(Graph *graph)
{
    object_retire(OBJECT(graph));
    for (size_t i = 0; i < graph->count; i++) {
        object_retire(OBJECT(graph->nodes[i]));
        retire_owned(&graph->nodes[i]->work);
    }
}

static bool make_room(Graph *graph)
{
    if (graph->count < graph->capacity) return true;
    size_t capacity = graph->capacity ? 2 * graph->capacity : 8;
    Node **nodes = realloc(graph->nodes, capacity * sizeof *nodes);
    if (!nodes) return false;
    graph->nodes = nodes;
    graph->capacity = capacity;
    return true;
}

/* Changes the graph's number of nodes of that type, if it is counted, by `change`. */
static void count_kind(Graph *graph, CUgraphNodeType type, int change)
{
    if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || type == CU_GRAPH_NODE_TYPE_MEM_FREE)
        graph->memory_nodes += (unsigned)change;
    if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL) graph->conditional_nodes += (unsigned)change;
}

CUresult graph_add(Graph *graph, Node *const *before, const CUgraphEdgeData *data, size_t count, Work *work,
                   Node **out)
{
    static uint64_t ids; /* under the lock */
    Node *node = object_new(OBJECT_GRAPH_NODE, sizeof *node, NULL, release_node);
    if (!node) {
        work_free(work);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    node->work = *work;
    node->id = ++ids;
    bool ok = make_room(graph);
    for (size_t i = 0; i < count && ok; i++) ok = edges_add(before[i], node, data ? &data[i] : NULL);
    if (!ok || object_publish(OBJECT(node)) != CUDA_SUCCESS) {
        edges_drop(node);
        PUT(node);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    node->graph = graph;
    node->place = graph->count;
    graph->nodes[graph->count++] = node;
    count_kind(graph, work->type, 1);
    *out = node;
    return CUDA_SUCCESS;
}

bool graph_has_all(const Graph *graph, const CUgraphNode *nodes, size_t count)
{
    if (count && !nodes) return false;
    for (size_t i = 0; i < count; i++) {
        const Node *node = node_of(nodes[i]);
        if (!node || node->graph != graph) return false;
    }
    return true;
}

Node **graph_order(const Graph *graph, bool *cycle)
{
    Node **order = malloc((graph->count + 1) * sizeof *order);
    size_t *waits = malloc((graph->count + 1) * sizeof *waits), ordered = 0;
    *cycle = false;
    for (size_t i = 0; order && waits && i < graph->count; i++) {
        waits[i] = graph->nodes[i]->before.count;
        if (!waits[i]) order[ordered++] = graph->nodes[i];
    }
    for (size_t i = 0; order && waits && i < ordered; i++)
        for (size_t e = 0; e < order[i]->after.count; e++) {
            Node *next = order[i]->after.edges[e].node;
            if (!--waits[next->place]) order[ordered++] = next;
        }
    *cycle = order && waits && ordered < graph->count;
    for (size_t i = 0; order && i < ordered; i++) order[i]->position = i;
    if (order && (!waits || *cycle)) {
        free(order);
        order = NULL;
    }
    free(waits);
    return order;
}

uint64_t node_shape(const Node *node, uint64_t outer)
{
    const uint64_t prime = UINT64_C(0x9e3779b97f4a7c15); /* an odd number that mixes the bits */
    uint64_t shape = (outer + node->position + 1) * prime, sum = 0;
    for (size_t e = 0; e < node->before.count; e++) {
        const Edge *edge = &node->before.edges[e];
        uint64_t from = (8 * (edge->node->position + 1) + 2 * edge->data.from_port + edge->data.type) * prime;
        sum += from ^ from >> 29; /* a sum, because the order in which edges were added must not matter */
    }
    return (shape ^ shape >> 31) * prime + sum;
}

CUresult cuGraphCreate(CUgraph *out, unsigned int flags)
{
    TRY(driver_check());
    if (!out || flags) return CUDA_ERROR_INVALID_VALUE;
    Graph *graph = graph_new();
    if (!graph) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = graph;
    PUT(graph);
    return CUDA_SUCCESS;
}

/* *dead: a reference to the graph, which the caller releases without the lock. */
static CUresult destroy_graph(CUgraph handle, Graph **dead)
{
    Graph *graph = graph_of(handle);
    if (!graph || graph->owned) return CUDA_ERROR_INVALID_VALUE;
    object_hold(OBJECT(graph));
    graph_retire(graph);
    *dead = graph;
    return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph handle)
{
    Graph *dead = NULL;
    TRY(driver_check());
    CUresult result = WITH_GRAPHS(destroy_graph(handle, &dead));
    if (dead) PUT(dead);
    return result;
}

/* Nodes of graphs with nodes that allocate or free cannot be destroyed, as the lifetime of that memory
 * depends on the graph's structure. *dead: the graph's reference to the node, which the caller releases
 * without the lock. */
static CUresult destroy_node(CUgraphNode handle, Node **dead)
{
    Node *node = node_of(handle);
    if (!node || !node->graph) return CUDA_ERROR_INVALID_VALUE;
    Graph *graph = node->graph;
    if (graph->memory_nodes) return CUDA_ERROR_NOT_SUPPORTED;
    edges_drop(node);
    for (size_t i = node->place + 1; i < graph->count; i++) {
        graph->nodes[i - 1] = graph->nodes[i];
        graph->nodes[i - 1]->place = i - 1;
    }
    graph->count--;
    count_kind(graph, node->work.type, -1);
    node->graph = NULL;
    object_retire(OBJECT(node));
    retire_owned(&node->work);
    *dead = node;
    return CUDA_SUCCESS;
}

CUresult cuGraphDestroyNode(CUgraphNode handle)
{
    Node *dead = NULL;
    TRY(driver_check());
    CUresult result = WITH_GRAPHS(destroy_node(handle, &dead));
    if (dead) PUT(dead);
    return result;
}

/* As all queries for lists: without an array *count becomes the number of nodes. With an array, *count is
 * its length; entries after the last node become NULL, and *count the number of nodes written. */
static CUresult list_nodes(CUgraph handle, CUgraphNode *out, size_t *count, bool roots)
{
    const Graph *graph = graph_of(handle);
    size_t found = 0;
    if (!graph) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < graph->count; i++) {
        if (roots && graph->nodes[i]->before.count) continue;
        if (out && found < *count) out[found] = graph->nodes[i];
        found++;
    }
    for (size_t i = found; out && i < *count; i++) out[i] = NULL;
    if (!out || found < *count) *count = found;
    return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
    TRY(driver_check());
    return count ? WITH_GRAPHS(list_nodes(handle, nodes, count, false)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
    TRY(driver_check());
    return count ? WITH_GRAPHS(list_nodes(handle, nodes, count, true)) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult get_type(CUgraphNode handle, CUgraphNodeType *type)
{
    const Node *node = node_of(handle);
    if (!node) return CUDA_ERROR_INVALID_VALUE;
    *type = node->work.type;
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type)
{
    TRY(driver_check());
    return type ? WITH_GRAPHS(get_type(handle, type)) : CUDA_ERROR_INVALID_VALUE;
}
