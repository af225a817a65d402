/* Graphs: nodes, edges, and the lock that guards them all.
 *
 *   graph.c     graphs and nodes as handles          edges.c      dependencies of nodes
 *   nodes.c     nodes of each kind, their parameters work.[ch]    what a node does
 *   clone.c     copies, child graphs                 dot.c        the graph as text
 *   capture.[ch] capture_mode.c                      streams whose commands become nodes
 *   program.[ch] exec.c replay.c update.c            executable graphs
 *   memory.[ch] condition.[ch] user_object.[ch]      what graphs hold
 *   device_launch.[ch]                           graphs that kernels launch
 *   legacy.c    older versions of functions
 *
 * A command that can be captured is described in the same way for both cases: in a captured stream it
 * becomes the work of a node (work.h), in others a task. Only such commands get their stream by
 * stream_enter_to_submit(); for all others stream_enter() refuses a captured stream.
 */
#ifndef DEVICE_GRAPH_GRAPH_H
#define DEVICE_GRAPH_GRAPH_H

#include "graph/user_object.h"
#include "graph/work.h"

typedef struct Edge {
    Node *node;                 /* the node at the other end, borrowed */
    CUgraphEdgeData data;
} Edge;

typedef struct EdgeList {
    Edge *edges;
    size_t count, capacity;
} EdgeList;

struct CUgraphNode_st {
    Object object;
    Graph *graph;               /* borrowed; NULL: the node was destroyed, or its graph */
    uint64_t id;                /* never used twice */
    uint64_t origin;            /* the id of the node that it is a clone of; 0: of none */
    size_t place;               /* its index in graph->nodes */
    size_t position;            /* its index in the result of the last graph_order() */
    uint64_t last_search;       /* the number of the last search that has visited it */
    Work work;
    EdgeList before, after;     /* edges to the nodes that it depends on, and to those that depend on it */
};

struct CUgraph_st {
    Object object;
    Node **nodes;               /* in the order of their creation, a reference each */
    size_t count, capacity;
    bool owned;                 /* by a node or a capture: cuGraphDestroy refuses it */
    unsigned memory_nodes, conditional_nodes; /* how many nodes allocate or free memory; are conditional */
    Condition *conditions;      /* that were made for it, a reference each */
    struct CUgraph_st *outer;   /* of a conditional node's body: the graph of the node, which outlives it */
    UserReferences users;       /* owned */
};

/* The graphs' lock guards all graphs, nodes, executable graphs and captures. */
void graphs_lock(void);
CUresult graphs_unlock(CUresult result); /* returns `result` */
/* The value of `call`, which is evaluated under the lock. */
#define WITH_GRAPHS(call) (graphs_lock(), graphs_unlock(call))

/* The object of a handle, borrowed for as long as the lock is held; NULL if the handle is not valid. */
Graph *graph_of(CUgraph handle);
Node *node_of(CUgraphNode handle);

/* A new graph with the caller's reference, in the registry; NULL if out of memory. */
Graph *graph_new(void);
/* Takes the graph, its nodes and the graphs that they own out of the registry. The caller has a reference,
 * and releases it after the graphs' lock. */
void graph_retire(Graph *graph);
/* A new node that depends on the nodes `before`, by edges with that data (NULL: ordinary ones). Owns the
 * work, after an error as well. */
CUresult graph_add(Graph *graph, Node *const *before, const CUgraphEdgeData *data, size_t count, Work *work,
                   Node **out);
/* Whether all handles name nodes of that graph. */
bool graph_has_all(const Graph *graph, const CUgraphNode *nodes, size_t count);
/* The nodes in topological order, in an array that the caller frees. Sets Node.position. NULL if there is a
 * cycle (*cycle is true then), or if out of memory. */
Node **graph_order(const Graph *graph, bool *cycle);
/* A hash of the node's position, of the edges that lead to it and of `outer`, the shape of the node whose
 * child graph the node is in (0: none). Nodes of graphs with the same structure have the same shape. */
uint64_t node_shape(const Node *node, uint64_t outer);
/* A new number for a search through nodes, which writes it to Node.last_search of those that it visits. */
uint64_t graph_new_search(void);

bool edge_is_ordinary(const CUgraphEdgeData *data);
/* Whether edges may have that data; NULL: all are ordinary ones. */
bool edges_valid(const CUgraphEdgeData *data, size_t count);
/* False if out of memory; then nothing is added. */
bool edges_add(Node *from, Node *to, const CUgraphEdgeData *data);
/* False if there is no such edge. */
bool edges_remove(Node *from, Node *to);
/* Removes all edges from and to the node. */
void edges_drop(Node *node);

/* *out: an independent graph with copies of the nodes, with the caller's reference. CUDA_ERROR_NOT_SUPPORTED
 * if nodes allocate, free or are conditional. */
CUresult graph_clone(const Graph *graph, Graph **out);

#endif
