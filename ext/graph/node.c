/* GraphNode: what it is, and a kernel's arguments. */
#include "ext/graph/graph.h"

#include <string.h>

#include "ext/base/constants.h"
#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"

/* ---- Nodes ---- */

PyObject *graph_node_new(GraphObject *graph, CUgraphNode handle)
{
    PyTypeObject *type = graph->state->GraphNode_type;
    GraphNodeObject *node = graph_node_cast(type->tp_alloc(type, 0));
    if (!node) return NULL;
    node->graph = graph_cast(Py_NewRef((PyObject *)graph));
    node->handle = handle;
    return (PyObject *)node;
}

PyObject *graph_nodes_tuple(GraphObject *graph, const CUgraphNode *handles, size_t count)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple && i < count; i++) {
        PyObject *node = graph_node_new(graph, handles[i]);
        if (!node) Py_CLEAR(tuple);
        if (node) PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, node);
    }
    return tuple;
}

static void node_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(graph_node_cast(self)->key);
    Py_XDECREF((PyObject *)graph_node_cast(self)->function);
    Py_XDECREF((PyObject *)graph_node_cast(self)->graph);
    type->tp_free(self);
    Py_DECREF((PyObject *)type);
}

static int read_node(GraphObject *graph, PyObject *value, const char *what, CUgraphNode *out)
{
    if (!PyObject_TypeCheck(value, graph->state->GraphNode_type)) {
        PyErr_Format(PyExc_TypeError, "%s must be a GraphNode or an iterable of them, not %s", what,
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    *out = graph_node_cast(value)->handle;
    return 0;
}

int graph_nodes_read(GraphObject *graph, PyObject *given, const char *what, CUgraphNode **out, size_t *count)
{
    bool one = given && PyObject_TypeCheck(given, graph->state->GraphNode_type);
    *count = 0;
    *out = NULL;
    if (!given || given == Py_None) return 0;
    PyObject *list = one ? PyTuple_Pack(1, given) : PySequence_Tuple(given);
    if (!list) return -1;
    Py_ssize_t size = PyTuple_GET_SIZE(list);
    int failed = 0;
    *out = PyMem_Calloc((size_t)size + 1, sizeof **out);
    if (!*out) {
        PyErr_NoMemory();
        failed = -1;
    }
    for (Py_ssize_t i = 0; i < size && !failed; i++)
        failed = read_node(graph, PyTuple_GET_ITEM(list, i), what, &(*out)[i]);
    Py_DECREF(list);
    *count = (size_t)size;
    if (!failed) return 0;
    PyMem_Free(*out);
    *out = NULL;
    return -1;
}

static PyObject *node_get_type(PyObject *self, void *Py_UNUSED(closure))
{
    GraphNodeObject *node = graph_node_cast(self);
    ModuleState *state = node->graph->state;
    CUgraphNodeType type;
    if (!graph_check(node->graph, "cuGraphNodeGetType")) return NULL;
    return gpu_cuGraphNodeGetType(state, node->handle, &type) < 0
               ? NULL
               : constants_member(state, state->graph_node_type, (int)type);
}

typedef CUresult (*EndsFn)(ModuleState *state, CUgraphNode node, CUgraphNode *ends, CUgraphEdgeData *data,
                           size_t *count);

/* A tuple of the nodes that the driver's function lists for this node: its dependencies or its dependents. */
static PyObject *ends_tuple(GraphNodeObject *node, EndsFn list, const char *routine)
{
    ModuleState *state = node->graph->state;
    size_t count = 0;
    if (!graph_check(node->graph, routine)) return NULL;
    CUresult result = list(state, node->handle, NULL, NULL, &count);
    CUgraphNode *ends = PyMem_Calloc(count + 1, sizeof *ends);
    CUgraphEdgeData *data = PyMem_Calloc(count + 1, sizeof *data);
    PyObject *tuple = NULL;
    if (ends && data && result == CUDA_SUCCESS && count)
        result = list(state, node->handle, ends, data, &count);
    if (!ends || !data)
        PyErr_NoMemory();
    else if (result == CUDA_SUCCESS)
        tuple = graph_nodes_tuple(node->graph, ends, count);
    else
        raise_driver(state, result, routine, NULL);
    PyMem_Free(ends);
    PyMem_Free(data);
    return tuple;
}

static PyObject *node_get_before(PyObject *self, void *Py_UNUSED(closure))
{
    return ends_tuple(graph_node_cast(self), try_cuGraphNodeGetDependencies, "cuGraphNodeGetDependencies");
}

static PyObject *node_get_after(PyObject *self, void *Py_UNUSED(closure))
{
    return ends_tuple(graph_node_cast(self), try_cuGraphNodeGetDependentNodes,
                      "cuGraphNodeGetDependentNodes");
}

static PyObject *node_get_child(PyObject *self, void *Py_UNUSED(closure))
{
    GraphNodeObject *node = graph_node_cast(self);
    CUgraph child;
    if (!graph_check(node->graph, "cuGraphChildGraphNodeGetGraph")) return NULL;
    return gpu_cuGraphChildGraphNodeGetGraph(node->graph->state, node->handle, &child) < 0
               ? NULL
               : graph_part(node->graph, child);
}

static PyObject *node_get_bodies(PyObject *self, void *Py_UNUSED(closure))
{
    GraphNodeObject *node = graph_node_cast(self);
    if (!graph_check(node->graph, "GraphNode.bodies")) return NULL;
    PyObject *handles = graph_find_bodies(node);
    if (!handles)
        return PyErr_Occurred()
                   ? NULL
                   : raise_logic(node->graph->state, "bodies are those of conditional nodes that "
                                                     "Graph.add_conditional made");
    Py_ssize_t count = PyTuple_GET_SIZE(handles);
    PyObject *bodies = PyTuple_New(count);
    for (Py_ssize_t i = 0; bodies && i < count; i++) {
        PyObject *body = graph_part(node->graph, PyLong_AsVoidPtr(PyTuple_GET_ITEM(handles, i)));
        if (!body) Py_CLEAR(bodies);
        if (body) PyTuple_SET_ITEM(bodies, i, body);
    }
    return bodies;
}

static PyObject *node_get_address(PyObject *self, void *Py_UNUSED(closure))
{
    GraphNodeObject *node = graph_node_cast(self);
    CUDA_MEM_ALLOC_NODE_PARAMS params;
    if (!graph_check(node->graph, "cuGraphMemAllocNodeGetParams")) return NULL;
    return gpu_cuGraphMemAllocNodeGetParams(node->graph->state, node->handle, &params) < 0
               ? NULL
               : PyLong_FromUnsignedLongLong(params.dptr);
}

static PyObject *node_compare(PyObject *self, PyObject *other, int how)
{
    if (Py_TYPE(self) != Py_TYPE(other) || (how != Py_EQ && how != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
    bool same = graph_node_cast(self)->handle == graph_node_cast(other)->handle;
    return PyBool_FromLong(same == (how == Py_EQ));
}

static Py_hash_t node_hash(PyObject *self)
{
    Py_hash_t hash = (Py_hash_t)((uintptr_t)graph_node_cast(self)->handle >> 4);
    return hash == -1 ? -2 : hash;
}

PyDoc_STRVAR(destroy_doc,
             "destroy($self)\n--\n\n"
             "Take the node out of the graph, with its edges. What was instantiated before stays as\n"
             "it is.\n"
             "\nRaises\n------\n"
             "LogicError\n    The graph allocates or frees memory, or the node was taken out before.\n"
             "\nNotes\n-----\nCalls cuGraphDestroyNode.");

static PyObject *node_destroy(PyObject *self, PyObject *Py_UNUSED(none))
{
    GraphNodeObject *node = graph_node_cast(self);
    if (!graph_check(node->graph, "cuGraphDestroyNode")) return NULL;
    if (gpu_cuGraphDestroyNode(node->graph->state, node->handle) < 0) return NULL;
    return graph_forget_node(node) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef node_methods[] = {
    {"set_args", AS_METHOD(graph_node_set_args), METH_FASTCALL, graph_node_set_args_doc},
    {"destroy", node_destroy, METH_NOARGS, destroy_doc},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef node_members[] = {
    {"handle", T_ULONGLONG, offsetof(GraphNodeObject, handle), READONLY, "The CUgraphNode as an int."},
    {"graph", T_OBJECT, offsetof(GraphNodeObject, graph), READONLY, "The Graph that it belongs to."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef node_properties[] = {
    {"type", node_get_type, NULL, "What it does, a graph_node_type.", NULL},
    {"dependencies", node_get_before, NULL, "The nodes that it waits for.", NULL},
    {"dependents", node_get_after, NULL, "The nodes that wait for it.", NULL},
    {"child_graph", node_get_child, NULL, "Of a node that is a graph: that Graph, part of this one.", NULL},
    {"bodies", node_get_bodies, NULL, "Of a conditional node: its Graphs, as add_conditional returned them.",
     NULL},
    {"address", node_get_address, NULL, "Of a node that allocates memory: its address.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

const TypeSpec GraphNode_spec = {
    TYPE_OF("pycuda.driver.GraphNode", GraphNodeObject, 0,
            "A node of a graph: some work, and what it waits for."),
    .tp_dealloc = node_dealloc,
    .tp_hash = node_hash,
    .tp_richcompare = node_compare,
    TYPE_TABLES(node_methods, node_properties, node_members),
};
