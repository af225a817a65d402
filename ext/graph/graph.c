/* Graph: made empty or by a capture, walked, copied, printed. */
#include "ext/graph/graph.h"

#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"

/* ---- Making and ending ---- */

static void set_handle(PyObject *self, CUgraph handle)
{
    graph_cast(self)->handle = handle;
    graph_cast(self)->hash = (Py_hash_t)((uintptr_t)handle >> 4); /* of 60 bits: never -1 */
}

PyObject *graph_wrap(ModuleState *state, ContextObject *context, CUgraph handle)
{
    PyObject *self = owner_new_in(context, state->Graph_type);
    if (self && captured_new(&graph_cast(self)->kept) == 0) {
        set_handle(self, handle);
        return owner_own(self, &state->live_Graph);
    }
    once_cuGraphDestroy(state, handle);
    Py_XDECREF(self);
    return NULL;
}

PyObject *graph_part(GraphObject *parent, CUgraph handle)
{
    PyObject *self = owner_new_in(parent->context, parent->state->Graph_type);
    if (!self) return NULL;
    graph_cast(self)->parent = Py_NewRef((PyObject *)parent);
    set_handle(self, handle);
    return self;
}

int graph_keep_all(GraphObject *graph, GraphObject *other)
{
    PyObject *all = Py_NewRef(graph_kept(other)->dict);
    int status = captured_put(graph_kept(graph), all);
    Py_DECREF(all);
    return status;
}

bool graph_check(GraphObject *graph, const char *routine)
{
    if (graph->handle) return context_check(graph->context, routine);
    raise_logic(graph->state, "%s: a capture into this graph failed, which ends the graph", routine);
    return false;
}

PyDoc_STRVAR(graph_doc,
             "Graph()\n--\n\n"
             "A graph of operations and their dependencies, which can be launched repeatedly.\n\n"
             "Made empty, to be filled by its ``add_`` methods and by captures into it, or by\n"
             "``with stream.capture() as graph:``. It keeps alive what its work uses. Objects for\n"
             "one graph of the driver, as two looks at ``child_graph`` give, are equal.\n"
             "\nNotes\n-----\n"
             "Calls cuGraphCreate.");

static PyObject *graph_tp_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    ModuleState *state = state_of_type(type);
    CUgraph handle;
    if (convert_call(graph_doc, args, kwargs, NOTHING_GIVEN) < 0) return NULL;
    ContextObject *context = context_current(state);
    if (!context) return NULL;
    CUresult result = try_cuGraphCreate(state, &handle, 0);
    PyObject *graph = result == CUDA_SUCCESS ? graph_wrap(state, context, handle)
                                             : raise_driver(state, result, "cuGraphCreate", NULL);
    Py_DECREF((PyObject *)context);
    return graph;
}

static void destroy_graph(PyObject *self)
{
    GraphObject *graph = graph_cast(self);
    LIVE_LESS(graph->state, Graph);
    if (graph->handle) RELEASE_IN_CONTEXT(graph->context, once, cuGraphDestroy, graph->handle);
}

static int graph_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(graph_cast(self)->parent);
    Py_VISIT(graph_cast(self)->kept.dict);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void graph_dealloc(PyObject *self)
{
    if (!owner_dealloc_begin(self, graph_dealloc, destroy_graph)) return;
    Py_XDECREF(graph_cast(self)->kept.dict);
    Py_XDECREF(graph_cast(self)->parent);
    owner_dealloc_end(self);
}

/* ---- Comparing ---- */

/* Objects for the same graph of the driver are equal: each look at a part of a graph makes one. */
static PyObject *graph_compare(PyObject *self, PyObject *other, int operation)
{
    bool alike = Py_TYPE(self) == Py_TYPE(other), same = self == other;
    if (alike && graph_cast(self)->handle)
        same = graph_cast(self)->handle == graph_cast(other)->handle
               && graph_cast(self)->context == graph_cast(other)->context;
    return type_compare(alike, same, operation);
}

static Py_hash_t graph_hash(PyObject *self) { return graph_cast(self)->hash; }

/* ---- Walking ---- */

typedef CUresult (*NodesFn)(ModuleState *state, CUgraph graph, CUgraphNode *nodes, size_t *count);

static PyObject *nodes_tuple(GraphObject *graph, NodesFn list, const char *routine)
{
    size_t count = 0;
    if (!graph_check(graph, routine)) return NULL;
    CUresult result = list(graph->state, graph->handle, NULL, &count);
    CUgraphNode *nodes = PyMem_Calloc(count + 1, sizeof *nodes);
    if (!nodes) return PyErr_NoMemory();
    if (result == CUDA_SUCCESS && count) result = list(graph->state, graph->handle, nodes, &count);
    PyObject *tuple = result == CUDA_SUCCESS ? graph_nodes_tuple(graph, nodes, count)
                                             : raise_driver(graph->state, result, routine, NULL);
    PyMem_Free(nodes);
    return tuple;
}

static PyObject *graph_get_nodes(PyObject *self, void *Py_UNUSED(closure))
{
    return nodes_tuple(graph_cast(self), try_cuGraphGetNodes, "cuGraphGetNodes");
}

static PyObject *graph_get_roots(PyObject *self, void *Py_UNUSED(closure))
{
    return nodes_tuple(graph_cast(self), try_cuGraphGetRootNodes, "cuGraphGetRootNodes");
}

/* ---- Copies and text ---- */

static PyObject *graph_clone(PyObject *self, PyObject *Py_UNUSED(none))
{
    GraphObject *graph = graph_cast(self);
    CUgraph handle;
    if (!graph_check(graph, "cuGraphClone")) return NULL;
    if (gpu_cuGraphClone(graph->state, &handle, graph->handle) < 0) return NULL;
    PyObject *clone = graph_wrap(graph->state, graph->context, handle);
    if (clone && graph_keep_all(graph_cast(clone), graph) < 0) Py_CLEAR(clone);
    return clone;
}

PyDoc_STRVAR(debug_dot_doc, "debug_dot($self, path, verbose=False)\n--\n\n"
                            "Write the graph to a file, for Graphviz.\n"
                            "\nParameters\n----------\n"
                            "path : path-like\n"
                            "verbose : bool\n    With the parameters of all nodes.\n"
                            "\nNotes\n-----\n"
                            "Calls cuGraphDebugDotPrint.");

static PyObject *graph_debug_dot(PyObject *self, FAST_PARAMETERS)
{
    GraphObject *graph = graph_cast(self);
    PyObject *file, *path = NULL;
    bool verbose = false;
    if (READ_ARGUMENTS(debug_dot_doc, INTO(&file), INTO(&verbose)) < 0
        || !graph_check(graph, "cuGraphDebugDotPrint") || !PyUnicode_FSConverter(file, &path))
        return NULL;
    const char *name = PyBytes_AS_STRING(path);
    CUresult result = try_cuGraphDebugDotPrint(graph->state, graph->handle, name, verbose);
    Py_DECREF(path);
    return none_or_raise(graph->state, result, "cuGraphDebugDotPrint");
}

static PyMethodDef graph_methods[] = {
    {"instantiate", AS_METHOD(graph_instantiate), FAST_KEYWORDS, graph_instantiate_doc},
    {"clone", graph_clone, METH_NOARGS,
     "clone($self)\n--\n\n"
     "Copy the graph, which keeps the same objects.\n"
     "\nReturns\n-------\nGraph\n"
     "\nNotes\n-----\nCalls cuGraphClone."},
    {"debug_dot", AS_METHOD(graph_debug_dot), FAST_KEYWORDS, debug_dot_doc},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef graph_members[] = {
    {"handle", T_ULONGLONG, offsetof(GraphObject, handle), READONLY, "The CUgraph as an int."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef graph_properties[] = {
    {"nodes", graph_get_nodes, NULL, "All nodes, as a tuple of GraphNode.", NULL},
    {"root_nodes", graph_get_roots, NULL, "The nodes that wait for no other.", NULL},
    {"edges", graph_get_edges, NULL, "Pairs of nodes: the second waits for the first.", NULL},
    {"edge_data", graph_get_edge_data, NULL,
     "The data of each edge, (from_port, to_port, type), as add_edge takes it; (0, 0, 0) where the second\n"
     "waits for the end of the first.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

const TypeSpec Graph_spec = {
    TYPE_WITH_WEAK_REFERENCES("pycuda.driver.Graph", GraphObject, 0, graph_doc),
    .tp_new = graph_tp_new,
    .tp_dealloc = graph_dealloc,
    .tp_traverse = graph_traverse,
    .tp_hash = graph_hash,
    .tp_richcompare = graph_compare,
    TYPE_TABLES(graph_methods, graph_properties, graph_members),
};
