/* Graphs: nodes, edges, and the lock that guards them all.
 *
 *   graph.c     graphs and nodes as handles          edges.c      dependencies of nodes
 *   nodes.c     nodes of each kind, their parameters work.[ch]    what a node does
 *   clone.c     copies, child graphs                 dot.c        the graph as text
 *   capture.[ch] capture_mode.c                      streams whose commands become nodes
 *   program.[ch] exec.c replay.c update.c            executable graphs
 *   memory.[ch] condition.[ch] user_object.[ch]      what graphs hold
 *   legacy.c    older versions of functions
 *
 * A captured command and one that is queued are made from the same description (work.h): where the stream
 * is captured it becomes a node. Only entry points that can do that ask for a stream by
 * stream_enter_to_submit; for all others stream_enter refuses a captured stream.
 */
#ifndef DEVICE_GRAPH_GRAPH_H
#define DEVICE_GRAPH_GRAPH_H

#include "graph/user_object.h"
#include "graph/work.h"

typedef struct Edge {
    Node *node;                 /* the other end, borrowed */
    CUgraphEdgeData data;
} Edge;

typedef struct EdgeList {
    Edge *edges;
    size_t count, capacity;
} EdgeList;

struct CUgraphNode_st {
    Object object;
    Graph *graph;               /* borrowed; NULL once it is taken out */
    uint64_t id;                /* never used twice */
    uint64_t origin;            /* of a clone: the id of the node it was made from */
    size_t place;               /* among the graph's nodes */
    size_t position;            /* in the last order that was made of the graph */
    uint64_t last_search;       /* the number of the last search that came here */
    Work work;
    EdgeList before, after;
};

struct CUgraph_st {
    Object object;
    Node **nodes;               /* in the order of their making; the graph holds a reference each */
    size_t count, capacity;
    bool owned;                 /* by a node or by a capture: not to be destroyed by its handle */
    unsigned memory_nodes, conditional_nodes;
    Condition *conditions;      /* made for it; references */
    struct CUgraph_st *outer;   /* of a conditional node's body: the graph of the node, which outlives it */
    UserReferences users;
};

void graphs_lock(void);
CUresult graphs_unlock(CUresult result);
/* Under the lock; the handles are valid as long as it is held. */
#define WITH_GRAPHS(call) (graphs_lock(), graphs_unlock(call))

/* What a handle names, borrowed while the lock is held; NULL when it names none. */
Graph *graph_of(CUgraph handle);
Node *node_of(CUgraphNode handle);

/* A new graph with the caller's reference, in the registry; NULL if out of memory. */
Graph *graph_new(void);
/* Takes the graph and its nodes out of the registry. The caller's reference is put when the graphs' lock is
 * released. */
void graph_retire(Graph *graph);
/* A new node that depends on these. Takes the work over, even if it fails. */
CUresult graph_add(Graph *graph, Node *const *before, const CUgraphEdgeData *data, size_t count, Work *work,
                   Node **out);
/* Whether all handles name nodes of that graph. */
bool graph_has_all(const Graph *graph, const CUgraphNode *nodes, size_t count);
/* The nodes in an order in which each comes after those it depends on, in an array that the caller frees.
 * Sets their `position`. NULL if there is a cycle (*cycle), or if out of memory. */
Node **graph_order(const Graph *graph, bool *cycle);
/* A hash of the node's position in the last order, of the edges that lead to it, and of `outer`, the shape of
 * the node whose child graph this is (0: none). Equal in graphs of the same shape. */
uint64_t node_shape(const Node *node, uint64_t outer);
/* A new number for a search through nodes, which writes it to Node.last_search of those that it visits. */
uint64_t graph_new_search(void);

bool edge_is_ordinary(const CUgraphEdgeData *data);
/* Whether edges may have that data; NULL: all are ordinary ones. */
bool edges_valid(const CUgraphEdgeData *data, size_t count);
bool edges_add(Node *from, Node *to, const CUgraphEdgeData *data);
bool edges_remove(Node *from, Node *to);
void edges_drop(Node *node);

/* A graph of its own with the same nodes. */
CUresult graph_clone(const Graph *graph, Graph **out);

#endif
