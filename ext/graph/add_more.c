/* Graph's methods for memory of graphs and for conditions. */
#include "ext/graph/graph.h"

#include "ext/convert/convert.h"
#include "ext/base/driver_calls.h"

PyDoc_STRVAR(add_mem_alloc_doc, "add_mem_alloc($self, size, depends_on=None)\n--\n\n"
                                "Add a node that allocates memory, at GraphNode.address each time.\n"
                                "\nParameters\n----------\n"
                                "size : int\n    Bytes.\n" GRAPH_AFTER GRAPH_GIVES
                                "\nNotes\n-----\nCalls cuGraphAddMemAllocNode.");

static PyObject *add_mem_alloc(PyObject *self, FAST_PARAMETERS)
{
    PyObject *depends_on;
    Adding a;
    CUDA_MEM_ALLOC_NODE_PARAMS params = {.bytesize = 0};
    if (READ_ARGUMENTS(add_mem_alloc_doc, INTO(&params.bytesize), INTO(&depends_on)) < 0
        || graph_add_begin(&a, self, depends_on, "cuGraphAddMemAllocNode") < 0)
        return NULL;
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location = (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, a.graph->context->device};
    a.result =
        try_cuGraphAddMemAllocNode(a.graph->state, &a.made, a.graph->handle, a.after, a.count, &params);
    return graph_add_end(&a, "cuGraphAddMemAllocNode", NULL, NULL);
}

PyDoc_STRVAR(add_mem_free_doc,
             "add_mem_free($self, address, depends_on=None)\n--\n\n"
             "Add a node that frees memory which a graph has allocated.\n"
             "\nParameters\n----------\n"
             "address : int\n    GraphNode.address of the node that allocates it.\n" GRAPH_AFTER GRAPH_GIVES
             "\nNotes\n-----\nCalls cuGraphAddMemFreeNode.");

static PyObject *add_mem_free(PyObject *self, FAST_PARAMETERS)
{
    PyObject *depends_on;
    Adding a;
    unsigned long long address = 0;
    if (READ_ARGUMENTS(add_mem_free_doc, INTO(&address), INTO(&depends_on)) < 0
        || graph_add_begin(&a, self, depends_on, "cuGraphAddMemFreeNode") < 0)
        return NULL;
    a.result = try_cuGraphAddMemFreeNode(a.graph->state, &a.made, a.graph->handle, a.after, a.count, address);
    return graph_add_end(&a, "cuGraphAddMemFreeNode", NULL, NULL);
}

PyDoc_STRVAR(add_condition_doc,
             "add_condition($self, default=None)\n--\n\n"
             "Make a value for conditional nodes, which kernels set.\n"
             "\nParameters\n----------\n"
             "default : int\n"
             "    The value at the beginning of each launch; without it the one that was set last.\n"
             "\nReturns\n-------\n"
             "int\n"
             "    What kernels take as a cudaGraphConditionalHandle, 64 bits wide, and give to\n"
             "    cudaGraphSetConditional.\n"
             "\nNotes\n-----\nCalls cuGraphConditionalHandleCreate.");

static PyObject *add_condition(PyObject *self, FAST_PARAMETERS)
{
    GraphObject *graph = graph_cast(self);
    PyObject *given[1];
    CUgraphConditionalHandle handle;
    unsigned initial = 0;
    if (convert_arguments(add_condition_doc, args, arg_count, keywords, GIVEN(given)) < 0) return NULL;
    bool has_default = given[0] && given[0] != Py_None;
    if (has_default && convert_unsigned(given[0], "default", &initial) < 0) return NULL;
    if (!graph_check(graph, "cuGraphConditionalHandleCreate")) return NULL;
    return gpu_cuGraphConditionalHandleCreate(graph->state, &handle, graph->handle, graph->context->handle,
                                              initial, has_default ? CU_GRAPH_COND_ASSIGN_DEFAULT : 0)
                   < 0
               ? NULL
               : PyLong_FromUnsignedLongLong(handle);
}

PyDoc_STRVAR(add_conditional_doc,
             "add_conditional($self, kind, condition, size=1, depends_on=None)\n--\n\n"
             "Add a node that does one of its bodies, or none, by the value of a condition.\n"
             "\nParameters\n----------\n"
             "kind : str\n"
             "    'if': the first body when the value is not 0, else the second if there is one.\n"
             "    'while': the body again and again as long as the value is not 0. 'switch': the body\n"
             "    with that number.\n"
             "condition : int\n    Of add_condition; each is for one node.\n"
             "size : int\n    How many bodies.\n" GRAPH_AFTER "\nReturns\n-------\n"
             "(GraphNode, tuple of Graph)\n"
             "    The node and its bodies, to be filled by their add methods or by captures into\n"
             "    them.\n"
             "\nNotes\n-----\nCalls cuGraphAddNode.");

static int read_kind(PyObject *given, CUgraphConditionalNodeType *type)
{
    static const char *const names[] = {"if", "while", "switch"};
    for (unsigned i = 0; i < 3 && PyUnicode_Check(given); i++)
        if (PyUnicode_CompareWithASCIIString(given, names[i]) == 0) {
            *type = i;
            return 0;
        }
    PyErr_Format(PyExc_ValueError, "kind must be 'if', 'while' or 'switch', not %R", given);
    return -1;
}

/* A new tuple of the Graphs that are the bodies of a new conditional node; the graph keeps their handles.
 * NULL with an exception. */
static PyObject *bodies_tuple(PyObject *node, const CUDA_CONDITIONAL_NODE_PARAMS *params)
{
    PyObject *handles = PyTuple_New((Py_ssize_t)params->size);
    for (unsigned i = 0; handles && i < params->size; i++) {
        PyObject *handle = PyLong_FromVoidPtr(params->phGraph_out[i]);
        if (!handle) Py_CLEAR(handles);
        if (handle) PyTuple_SET_ITEM(handles, (Py_ssize_t)i, handle);
    }
    int kept = handles ? graph_keep_bodies(graph_node_cast(node), handles) : -1;
    Py_XDECREF(handles);
    return kept < 0 ? NULL : PyObject_GetAttrString(node, "bodies");
}

static PyObject *add_conditional(PyObject *self, FAST_PARAMETERS)
{
    PyObject *kind, *depends_on;
    Adding a;
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    unsigned long long handle = 0;
    params.conditional.size = 1;
    if (READ_ARGUMENTS(add_conditional_doc, INTO(&kind), INTO(&handle), INTO(&params.conditional.size),
                       INTO(&depends_on))
            < 0
        || read_kind(kind, &params.conditional.type) < 0
        || graph_add_begin(&a, self, depends_on, "cuGraphAddNode") < 0)
        return NULL;
    params.conditional.handle = handle;
    params.conditional.ctx = a.graph->context->handle;
    a.result = try_cuGraphAddNode(a.graph->state, &a.made, a.graph->handle, a.after, NULL, a.count, &params);
    PyObject *node = graph_add_end(&a, "cuGraphAddNode", NULL, NULL);
    PyObject *bodies = node ? bodies_tuple(node, &params.conditional) : NULL;
    PyObject *both = bodies ? PyTuple_Pack(2, node, bodies) : NULL;
    Py_XDECREF(node);
    Py_XDECREF(bodies);
    return both;
}

PyMethodDef graph_add_more_methods[] = {
    {"add_mem_alloc", AS_METHOD(add_mem_alloc), FAST_KEYWORDS, add_mem_alloc_doc},
    {"add_mem_free", AS_METHOD(add_mem_free), FAST_KEYWORDS, add_mem_free_doc},
    {"add_condition", AS_METHOD(add_condition), FAST_KEYWORDS, add_condition_doc},
    {"add_conditional", AS_METHOD(add_conditional), FAST_KEYWORDS, add_conditional_doc},
    {NULL, NULL, 0, NULL},
};
