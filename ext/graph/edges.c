/* Edges of graphs: which node waits for which, and for how much of it. */
#include "ext/graph/graph.h"

#include <stdlib.h>

#include "ext/convert/convert.h"
#include "ext/base/driver_calls.h"

/* ---- Walking ---- */

typedef struct Edges {
    CUgraphNode *from, *to; /* owned, in one block */
    CUgraphEdgeData *data; /* owned */
    size_t count;
} Edges;

static void clear_edges(Edges *edges)
{
    PyMem_Free(edges->from);
    PyMem_Free(edges->data);
}

/* Fills *edges. -1 with an exception. The caller calls clear_edges() in either case. */
static int read_edges(GraphObject *graph, Edges *edges)
{
    *edges = (Edges){.count = 0};
    if (!graph_check(graph, "cuGraphGetEdges")) return -1;
    CUresult result = try_cuGraphGetEdges(graph->state, graph->handle, NULL, NULL, NULL, &edges->count);
    if (result == CUDA_SUCCESS && edges->count) {
        edges->from = PyMem_Calloc(2 * edges->count, sizeof *edges->from);
        edges->data = PyMem_Calloc(edges->count, sizeof *edges->data);
        if (!edges->from || !edges->data) {
            PyErr_NoMemory();
            return -1;
        }
        edges->to = edges->from + edges->count;
        result = once_cuGraphGetEdges(graph->state, graph->handle, edges->from, edges->to, edges->data,
                                      &edges->count);
    }
    return raise_unless(graph->state, result, "cuGraphGetEdges");
}

static PyObject *pair_of(GraphObject *graph, const Edges *edges, size_t i)
{
    const CUgraphNode ends[] = {edges->from[i], edges->to[i]};
    return graph_nodes_tuple(graph, ends, 2);
}

static PyObject *data_of(GraphObject *Py_UNUSED(graph), const Edges *edges, size_t i)
{
    const CUgraphEdgeData *data = &edges->data[i];
    return Py_BuildValue("(iii)", data->from_port, data->to_port, data->type);
}

/* A tuple with one(graph, edges, i) for each edge. */
static PyObject *edges_tuple(GraphObject *graph, PyObject *(*one)(GraphObject *, const Edges *, size_t))
{
    Edges edges;
    PyObject *tuple = read_edges(graph, &edges) < 0 ? NULL : PyTuple_New((Py_ssize_t)edges.count);
    for (size_t i = 0; tuple && i < edges.count; i++) {
        PyObject *item = one(graph, &edges, i);
        if (!item) Py_CLEAR(tuple);
        if (item) PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, item);
    }
    clear_edges(&edges);
    return tuple;
}

PyObject *graph_get_edges(PyObject *self, void *Py_UNUSED(closure))
{
    return edges_tuple(graph_cast(self), pair_of);
}

PyObject *graph_get_edge_data(PyObject *self, void *Py_UNUSED(closure))
{
    return edges_tuple(graph_cast(self), data_of);
}

/* ---- Changing ---- */

/* Adds or removes the edge by which *to waits for *from. data: of a new edge; NULL: *to waits for the end of
 * *from. */
typedef CUresult (*EdgeFn)(ModuleState *state, CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                           const CUgraphEdgeData *data);

static CUresult add_one(ModuleState *state, CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                        const CUgraphEdgeData *data)
{
    return try_cuGraphAddDependencies(state, graph, from, to, data, 1);
}

/* The driver wants an edge's data as well to remove it: so the edges from *from are searched for it. */
static CUresult remove_one(ModuleState *state, CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                           const CUgraphEdgeData *Py_UNUSED(data))
{
    size_t count = 0, i = 0;
    CUresult result = try_cuGraphNodeGetDependentNodes(state, *from, NULL, NULL, &count);
    if (result != CUDA_SUCCESS) return result;
    CUgraphNode *ends = calloc(count + 1, sizeof(CUgraphNode));
    CUgraphEdgeData *all = calloc(count + 1, sizeof(CUgraphEdgeData));
    if (!ends || !all)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    else if (count)
        result = try_cuGraphNodeGetDependentNodes(state, *from, ends, all, &count);
    while (result == CUDA_SUCCESS && i < count && ends[i] != *to) i++;
    if (result == CUDA_SUCCESS)
        result = try_cuGraphRemoveDependencies(state, graph, from, to, i < count ? &all[i] : NULL, 1);
    free(ends);
    free(all);
    return result;
}

/* Calls change() for each pair of a node of given[0] and one of given[1], up to the first error. */
static PyObject *change_edges(PyObject *self, PyObject *const *given, const CUgraphEdgeData *data,
                              EdgeFn change, const char *routine)
{
    GraphObject *graph = graph_cast(self);
    CUgraphNode *from = NULL, *to = NULL;
    size_t from_count, to_count;
    CUresult result = CUDA_SUCCESS;
    if (!graph_check(graph, routine) || graph_nodes_read(graph, given[0], "from_node", &from, &from_count) < 0
        || graph_nodes_read(graph, given[1], "to_node", &to, &to_count) < 0) {
        PyMem_Free(from);
        return NULL;
    }
    for (size_t i = 0; i < from_count && result == CUDA_SUCCESS; i++)
        for (size_t k = 0; k < to_count && result == CUDA_SUCCESS; k++)
            result = change(graph->state, graph->handle, &from[i], &to[k], data);
    PyMem_Free(from);
    PyMem_Free(to);
    return none_or_raise(graph->state, result, routine);
}

static int read_data(PyObject *given, CUgraphEdgeData *out)
{
    enum { VALUE_MAX = 255 };
    static const char *const names[] = {"from_port", "to_port", "type"};
    unsigned values[3];
    PyObject *list = PySequence_Tuple(given);
    int failed = list ? 0 : -1;
    if (list && PyTuple_GET_SIZE(list) != 3) {
        PyErr_Format(PyExc_ValueError, "data must be (from_port, to_port, type), not %zd items",
                     PyTuple_GET_SIZE(list));
        failed = -1;
    }
    for (int i = 0; i < 3 && !failed; i++) {
        failed = convert_unsigned(PyTuple_GET_ITEM(list, i), names[i], &values[i]);
        if (failed || values[i] <= VALUE_MAX) continue;
        PyErr_Format(PyExc_ValueError, "%s is %u: it must be 0 to %d", names[i], values[i], VALUE_MAX);
        failed = -1;
    }
    Py_XDECREF(list);
    if (failed) return -1;
    *out = (CUgraphEdgeData){.from_port = (unsigned char)values[0],
                             .to_port = (unsigned char)values[1],
                             .type = (unsigned char)values[2]};
    return 0;
}

PyDoc_STRVAR(add_edge_doc,
             "add_edge($self, from_node, to_node, data=None)\n--\n\n"
             "Let a node wait for another.\n"
             "\nParameters\n----------\n"
             "from_node, to_node : GraphNode or iterable of them\n"
             "    Each of the second waits for each of the first.\n"
             "data : (int, int, int)\n"
             "    The graph_kernel_node_port of the first that is waited for, the second's port (0) and\n"
             "    the graph_dependency_type. Without it the second waits for the end of the first; with\n"
             "    port and type PROGRAMMATIC, of two kernels, until all blocks of the first have called\n"
             "    cudaTriggerProgrammaticLaunchCompletion, and in cudaGridDependencySynchronize for the\n"
             "    rest.\n"
             "\nNotes\n-----\n"
             "Calls cuGraphAddDependencies.");

static PyObject *graph_add_edge(PyObject *self, FAST_PARAMETERS)
{
    PyObject *ends[2], *value;
    CUgraphEdgeData data;
    if (READ_ARGUMENTS(add_edge_doc, INTO(&ends[0]), INTO(&ends[1]), INTO(&value)) < 0) return NULL;
    bool has_data = value && value != Py_None;
    if (has_data && read_data(value, &data) < 0) return NULL;
    return change_edges(self, ends, has_data ? &data : NULL, add_one, "cuGraphAddDependencies");
}

PyDoc_STRVAR(remove_edge_doc, "remove_edge($self, from_node, to_node)\n--\n\n"
                              "The reverse of add_edge, whatever data the edge has.\n"
                              "\nParameters\n----------\n"
                              "from_node, to_node : GraphNode or iterable of them\n"
                              "\nNotes\n-----\n"
                              "Calls cuGraphRemoveDependencies.");

static PyObject *graph_remove_edge(PyObject *self, FAST_PARAMETERS)
{
    PyObject *ends[2];
    if (READ_ARGUMENTS(remove_edge_doc, INTO(&ends[0]), INTO(&ends[1])) < 0) return NULL;
    return change_edges(self, ends, NULL, remove_one, "cuGraphRemoveDependencies");
}

PyMethodDef graph_edge_methods[] = {
    {"add_edge", AS_METHOD(graph_add_edge), FAST_KEYWORDS, add_edge_doc},
    {"remove_edge", AS_METHOD(graph_remove_edge), FAST_KEYWORDS, remove_edge_doc},
    {NULL, NULL, 0, NULL},
};
