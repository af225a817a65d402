/* Graphs as Python sees them: Graph, GraphNode, GraphExec, and captures of streams.
 *
 * A graph has a dict of the objects that its work uses. Its values are such objects (arrays, modules, host
 * functions) by their addresses, lists of them by the handles of the graph's nodes, and the dicts of graphs
 * of which it has copies. An executable graph shares the dict, and each launch keeps it until the launch is
 * done. Before a graph changes a shared dict it makes a copy (captured_own): so objects that a later update
 * replaces live as long as launches need them, and an update with an unchanged dict has nothing to replace.
 */
#ifndef EXT_GRAPH_GRAPH_H
#define EXT_GRAPH_GRAPH_H

#include "ext/base/captured.h"
#include "ext/convert/buffers.h"
#include "ext/launch/arguments.h"
#include "ext/context/owner.h"

typedef struct GraphObject {
    OWNER_HEAD
    CUgraph handle; /* NULL once a failed capture has ended the graph */
    Py_hash_t hash; /* by the handle that it was made with */
    PyObject *parent; /* owned: the Graph of which this one is a part, and which destroys it; or NULL */
    KeptObjects kept; /* of a graph without a parent; others use the outermost one's (graph_kept) */
} GraphObject;

typedef struct GraphNodeObject {
    PyObject_HEAD
    GraphObject *graph; /* owned */
    CUgraphNode handle;
    PyObject *key; /* owned: `handle` as an int, the key in dicts of kept objects; NULL until needed */
    PyObject *list; /* borrowed: the value of `key` in the dict of `version`; NULL: there is none */
    unsigned long version; /* KeptObjects.version of the dict in which `list` was looked up */
    FunctionObject *function; /* owned: of a kernel node; NULL until find_kernel() */
    CUDA_KERNEL_NODE_PARAMS shape; /* how the kernel is launched, once `function` is known */
} GraphNodeObject;

typedef struct GraphExecObject {
    OWNER_HEAD
    CUgraphExec handle;
    KeptObjects kept;
    PyObject *memory; /* owned tuple: the kept objects that are or have memory; NULL: not yet known */
    CUstream noted; /* the stream on which their use is noted; GRAPH_NOWHERE: on none */
    unsigned long user; /* the thread that is in a driver call on it; 0: none */
} GraphExecObject;

#define GRAPH_NOWHERE ((CUstream)(intptr_t)-1)

static inline GraphObject *graph_cast(PyObject *object) { return (GraphObject *)object; }

static inline GraphNodeObject *graph_node_cast(PyObject *object) { return (GraphNodeObject *)object; }

static inline GraphExecObject *graph_exec_cast(PyObject *object) { return (GraphExecObject *)object; }

/* The objects that a graph keeps: a child graph's are those of the outermost graph that it is part of. */
static inline KeptObjects *graph_kept(GraphObject *graph)
{
    while (graph->parent) graph = graph_cast(graph->parent);
    return &graph->kept;
}

/* Makes the graph keep the dict of `other`. The two are not merged: keys of the other's dict are handles of
 * its nodes, which nodes of this graph may get when the other graph is gone. -1 with an exception. */
int graph_keep_all(GraphObject *graph, GraphObject *other);

/* A new Graph in the context that owns the handle. NULL with an exception: then the handle is destroyed. */
PyObject *graph_wrap(ModuleState *state, ContextObject *context, CUgraph handle);
/* A new Graph for a graph that is part of `parent`, which it keeps; the handle is not destroyed. */
PyObject *graph_part(GraphObject *parent, CUgraph handle);
/* False with LogicError when the graph's context is gone, or a failed capture has ended the graph. */
bool graph_check(GraphObject *graph, const char *routine);

/* New GraphNodes for handles of the driver. NULL with an exception. */
PyObject *graph_node_new(GraphObject *graph, CUgraphNode handle);
PyObject *graph_nodes_tuple(GraphObject *graph, const CUgraphNode *handles, size_t count);
/* The handles of nodes given as a node or an iterable of nodes of this graph; None and NULL are none. The
 * caller frees *out with PyMem_Free. -1 with an exception. */
int graph_nodes_read(GraphObject *graph, PyObject *given, const char *what, CUgraphNode **out, size_t *count);

/* Attributes for edges (edges.c). */
PyObject *graph_get_edges(PyObject *self, void *closure);
PyObject *graph_get_edge_data(PyObject *self, void *closure);

/* A node being added. */
typedef struct Adding {
    GraphObject *graph;
    CUgraphNode *after; /* owned: the nodes that it waits for; graph_add_end() frees them */
    CUgraphNode made; /* its handle, which the driver sets */
    size_t count; /* of `after` */
    CUresult result; /* of the driver's call */
} Adding;

/* Reads the arguments `self` and `after`, before the node is added. -1 with an exception, and nothing to
 * free. */
int graph_add_begin(Adding *adding, PyObject *self, PyObject *after, const char *routine);
/* Called after the driver's call. The new GraphNode, for which the graph keeps these objects (each may be
 * NULL). NULL with an exception, which may be that of adding->result. */
PyObject *graph_add_end(Adding *adding, const char *routine, PyObject *first, PyObject *second);

/* One end of a copy: a buffer in host memory, or a device address. */
typedef struct GraphCopyEnd {
    HostBuffer host;
    CUdeviceptr device;
    bool is_host;
} GraphCopyEnd;

typedef struct GraphCopy {
    CUDA_MEMCPY3D shape;
    GraphCopyEnd dest, src;
    PyObject *objects[2]; /* borrowed: the objects that the graph has to keep */
} GraphCopy;

/* Reads dest, src and size; -1 with an exception. The host memory is lent until graph_copy_clear. */
int graph_read_copy(ModuleState *state, PyObject *const *given, GraphCopy *out);
void graph_copy_clear(GraphCopy *copy);
/* Reads dest, data, size and itemsize; the last may be NULL. -1 with an exception. */
int graph_read_fill(ModuleState *state, PyObject *const *given, CUDA_MEMSET_NODE_PARAMS *fill);

/* For docstrings of methods that add nodes, or change them. */
#define GRAPH_COPY \
    "dest, src : device address or bytes-like\n" \
    "    Host memory should be page-locked; it is read when the graph runs.\n" \
    "size : int\n    Bytes; not needed where one side is host memory.\n"
#define GRAPH_FILL \
    "dest : device address\n" \
    "data : int\n    Of 8 * itemsize bits.\n" \
    "size : int\n    How many values to write.\n" \
    "itemsize : int\n    Bytes of a value: 1, 2 or 4.\n"
#define GRAPH_AFTER "depends_on : GraphNode or iterable of them\n    What it waits for.\n"
#define GRAPH_GIVES "\nReturns\n-------\nGraphNode\n"

/* The parameters of a kernel node with new arguments. */
typedef struct KernelArgs {
    LaunchArgs args;
    CUDA_KERNEL_NODE_PARAMS params; /* points into the other members; valid until launch_args_clear(&args) */
    unsigned char
        bytes[KERNEL_ARGS_STACK_BYTES]; /* the arguments one after another, if their layout is unknown */
    size_t size; /* of these bytes */
    void *extra[5]; /* then params.extra: CU_LAUNCH_PARAM_* with `bytes` and `size` */
} KernelArgs;
/* Reads and checks arguments as a launch does, for a node whose function the graph keeps. -1 with an
 * exception. The caller calls launch_args_clear(&kernel->args) in either case. */
int graph_node_args(KernelArgs *kernel, GraphNodeObject *node, PyObject *const *args, Py_ssize_t count);

/* Stores the objects that a node uses from now on as a list in the dict, with None for a kernel's arguments
 * whose value was copied. function: the kernel's; NULL for other nodes. 1 when the list changed, 0 when not,
 * -1 with an exception. */
int graph_keep_args(KeptObjects *kept, GraphNodeObject *node, FunctionObject *function, PyObject *const *args,
                    Py_ssize_t count);

/* Stores the handles of a conditional node's bodies, a tuple, under the node's key, for GraphNode.bodies: the
 * driver cannot be asked for them. -1 with an exception. */
int graph_keep_bodies(GraphNodeObject *node, PyObject *handles);
/* The tuple of graph_keep_bodies(), borrowed. NULL without an exception when there is none, or with one. */
PyObject *graph_find_bodies(GraphNodeObject *node);
/* Called when a node was destroyed: drops what is kept for it. -1 with an exception. */
int graph_forget_node(GraphNodeObject *node);

/* Methods for kernel nodes (kernel.c). */
extern const char graph_add_kernel_doc[], graph_node_set_args_doc[];
PyObject *graph_add_kernel(PyObject *self, FAST_PARAMETERS);
PyObject *graph_node_set_args(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* Called before and after driver calls on an executable graph. The driver wants these calls from one thread
 * at a time, and a launch may wait for its queue without the GIL: so graph_exec_begin() waits until no other
 * thread is in such a call. -1 with an exception when a signal ended the wait. Calls nest, as a signal's
 * handler may run in the same thread between two attempts: graph_exec_end() takes the *before of its
 * graph_exec_begin(). */
int graph_exec_begin(GraphExecObject *exec, unsigned long *before);
void graph_exec_end(GraphExecObject *exec, unsigned long before);

/* Called when the objects that the executable graph keeps have changed. */
void graph_exec_forget(GraphExecObject *exec);

/* Graph.instantiate (exec.c). */
extern const char graph_instantiate_doc[];
PyObject *graph_instantiate(PyObject *self, FAST_PARAMETERS);

#endif
