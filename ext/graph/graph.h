/* Graphs as Python sees them: Graph, GraphNode, GraphExec, and captures of streams.
 *
 * A graph has a dict of the objects that its work uses (arrays, modules, host functions), by their addresses,
 * lists of them by the handles of its nodes, and the dicts of graphs that it has copies of. An executable
 * graph has the same one, and each launch keeps it until it is done. A graph that changes a dict that others
 * have gets one of its own: what a later update replaces lives as long as launches need it, and an update
 * whose dict is the one that is there already has nothing to replace.
 */
#ifndef EXT_GRAPH_GRAPH_H
#define EXT_GRAPH_GRAPH_H

#include "ext/base/captured.h"
#include "ext/convert/buffers.h"
#include "ext/launch/arguments.h"
#include "ext/context/owner.h"

typedef struct GraphObject {
    OWNER_HEAD
    CUgraph handle;
    PyObject *parent; /* owned: the Graph whose node has this one, which is not destroyed; or NULL */
    KeptObjects kept; /* of the whole; a part has none (graph_kept) */
} GraphObject;

typedef struct GraphNodeObject {
    PyObject_HEAD
    GraphObject *graph; /* owned */
    CUgraphNode handle;
    PyObject *key; /* owned: of its arguments in dicts, once they were set */
    PyObject *list; /* borrowed: these arguments in the dict of this version, NULL: there are none */
    unsigned long version;
    FunctionObject *function; /* owned: of a kernel node, once it was requested */
    CUDA_KERNEL_NODE_PARAMS shape; /* then how it is launched */
} GraphNodeObject;

typedef struct GraphExecObject {
    OWNER_HEAD
    CUgraphExec handle;
    KeptObjects kept;
    PyObject *pooled; /* owned tuple: those of kept whose memory is of a pool; NULL: not yet known */
    CUstream noted; /* where all of these are known to be used; GRAPH_NOWHERE at first */
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

/* Makes the graph keep what `other` keeps now. The objects go into a dict of their own: its keys are handles
 * of the other graph's nodes, which other nodes may get when that graph is gone. -1 with an exception. */
int graph_keep_all(GraphObject *graph, GraphObject *other);

/* A new Graph in the context that owns the handle. NULL with an exception: then the handle is destroyed. */
PyObject *graph_wrap(ModuleState *state, ContextObject *context, CUgraph handle);
/* A new Graph for a graph that is part of `parent`, which it keeps; the handle is not destroyed. */
PyObject *graph_part(GraphObject *parent, CUgraph handle);
/* False with LogicError when its context is gone. */
bool graph_check(GraphObject *graph, const char *routine);

PyObject *graph_node_new(GraphObject *graph, CUgraphNode handle);
PyObject *graph_nodes_tuple(GraphObject *graph, const CUgraphNode *handles, size_t count);
/* The handles of nodes given as a node or an iterable of nodes of this graph; None and NULL are none. The
 * caller frees *out with PyMem_Free. -1 with an exception. */
int graph_nodes_read(GraphObject *graph, PyObject *given, const char *what, CUgraphNode **out, size_t *count);

/* Attributes for edges (edges.c). */
PyObject *graph_get_edges(PyObject *self, void *closure);
PyObject *graph_get_edge_data(PyObject *self, void *closure);

/* A node being added: what it waits for, its handle and the driver's result. */
typedef struct Adding {
    GraphObject *graph;
    CUgraphNode *after, made;
    size_t count;
    CUresult result;
} Adding;

/* Reads the arguments `self` and `after`, before the node is added. -1 with an exception. */
int graph_add_begin(Adding *adding, PyObject *self, PyObject *after, const char *routine);
/* The new GraphNode, for which the graph keeps these objects (each may be NULL). NULL with an exception,
 * also of the driver's result. */
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
    PyObject *objects[2]; /* borrowed: what the graph has to keep */
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

/* The parameters of a kernel node with new arguments, checked as a launch checks them, for as long as `args`
 * lives; -1 with an exception. kernel_args_clear is due in either case. */
typedef struct KernelArgs {
    LaunchArgs args;
    CUDA_KERNEL_NODE_PARAMS params;
    unsigned char bytes[KERNEL_ARGS_STACK_BYTES];
    size_t size;
    void *extra[5];
} KernelArgs;
/* Reads the arguments of a node, whose function the graph keeps. */
int graph_node_args(KernelArgs *kernel, GraphNodeObject *node, PyObject *const *args, Py_ssize_t count);

/* Stores the objects that a node uses from now on as a list in the dict, with None for a kernel's arguments
 * whose value was copied. function: the kernel's; NULL for other nodes. 1 when the list changed, 0 when not,
 * -1 with an exception. */
int graph_keep_args(KeptObjects *kept, GraphNodeObject *node, FunctionObject *function, PyObject *const *args,
                    Py_ssize_t count);

/* Stores the handles of a conditional node's bodies, a tuple, under the node's key, for GraphNode.bodies: the
 * driver cannot be asked for them. -1 with an exception. */
int graph_keep_bodies(GraphNodeObject *node, PyObject *handles);
/* That tuple, borrowed. NULL when there is none, or with an exception. */
PyObject *graph_find_bodies(GraphNodeObject *node);
/* Called when a node was destroyed: drops what is kept for it. -1 with an exception. */
int graph_forget_node(GraphNodeObject *node);

/* Methods for kernel nodes (kernel.c). */
extern const char graph_add_kernel_doc[], graph_node_set_args_doc[];
PyObject *graph_add_kernel(PyObject *self, FAST_PARAMETERS);
PyObject *graph_node_set_args(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* Called before and after driver calls on an executable graph, which the driver wants from one thread at a
 * time: a launch may wait for its queue without the GIL. A thread waits until no other is in a call. A
 * signal's handler may run in the same thread between two attempts, so calls nest: graph_exec_end() takes
 * *before. -1 with an exception when a signal ended the wait. */
int graph_exec_begin(GraphExecObject *exec, unsigned long *before);
void graph_exec_end(GraphExecObject *exec, unsigned long before);

/* Called when the objects that the executable graph keeps have changed. */
void graph_exec_forget(GraphExecObject *exec);

/* Graph.instantiate (exec.c). */
extern const char graph_instantiate_doc[];
PyObject *graph_instantiate(PyObject *self, FAST_PARAMETERS);

#endif
