/* GraphNode: what it is, and a kernel's arguments. */
#include "ext/graph/graph.h"

#include <string.h>

#include "ext/constants.h"
#include "ext/convert/convert.h"
#include "ext/errors.h"

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
    if (!*out) failed = -1, PyErr_NoMemory();
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
    CUresult result;
    if (!graph_check(node->graph, "cuGraphNodeGetType")) return NULL;
    CALL(state, result, driver.cuGraphNodeGetType(node->handle, &type));
    return result == CUDA_SUCCESS ? constants_member(state, state->graph_node_type, (int)type)
                                  : raise_driver(state, result, "cuGraphNodeGetType", NULL);
}

typedef CUresult (*EndsFn)(CUgraphNode node, CUgraphNode *ends, CUgraphEdgeData *data, size_t *count);

static PyObject *ends_tuple(GraphNodeObject *node, EndsFn list, const char *routine)
{
    ModuleState *state = node->graph->state;
    size_t count = 0;
    CUresult result;
    if (!graph_check(node->graph, routine)) return NULL;
    CALL(state, result, list(node->handle, NULL, NULL, &count));
    CUgraphNode *ends = PyMem_Calloc(count + 1, sizeof *ends);
    CUgraphEdgeData *data = PyMem_Calloc(count + 1, sizeof *data);
    PyObject *tuple = NULL;
    if (ends && data && result == CUDA_SUCCESS && count)
        CALL_NEAR(state, result, list(node->handle, ends, data, &count));
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
    return ends_tuple(graph_node_cast(self), driver.cuGraphNodeGetDependencies, "cuGraphNodeGetDependencies");
}

static PyObject *node_get_after(PyObject *self, void *Py_UNUSED(closure))
{
    return ends_tuple(graph_node_cast(self), driver.cuGraphNodeGetDependentNodes,
                      "cuGraphNodeGetDependentNodes");
}

static PyObject *node_get_graph(PyObject *self, void *Py_UNUSED(closure))
{
    return Py_NewRef((PyObject *)graph_node_cast(self)->graph);
}

static PyObject *node_get_handle(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromVoidPtr(graph_node_cast(self)->handle);
}

static PyObject *node_get_child(PyObject *self, void *Py_UNUSED(closure))
{
    GraphNodeObject *node = graph_node_cast(self);
    CUgraph child;
    CUresult result;
    if (!graph_check(node->graph, "cuGraphChildGraphNodeGetGraph")) return NULL;
    CALL(node->graph->state, result, driver.cuGraphChildGraphNodeGetGraph(node->handle, &child));
    return result == CUDA_SUCCESS
               ? graph_part(node->graph, child)
               : raise_driver(node->graph->state, result, "cuGraphChildGraphNodeGetGraph", NULL);
}

static PyObject *node_get_address(PyObject *self, void *Py_UNUSED(closure))
{
    GraphNodeObject *node = graph_node_cast(self);
    CUDA_MEM_ALLOC_NODE_PARAMS params;
    CUresult result;
    if (!graph_check(node->graph, "cuGraphMemAllocNodeGetParams")) return NULL;
    CALL(node->graph->state, result, driver.cuGraphMemAllocNodeGetParams(node->handle, &params));
    return result == CUDA_SUCCESS
               ? PyLong_FromUnsignedLongLong(params.dptr)
               : raise_driver(node->graph->state, result, "cuGraphMemAllocNodeGetParams", NULL);
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

/* ---- Arguments of kernels ---- */

int graph_kernel_args(KernelArgs *kernel, FunctionObject *function, PyObject *const *args, Py_ssize_t count)
{
    kernel->params = (CUDA_KERNEL_NODE_PARAMS){.func = function->handle};
    if (launch_args_read(&kernel->args, function, args, count, NULL) < 0) return -1;
    if (kernel->args.handlers) {
        PyErr_SetString(PyExc_TypeError, "In, Out and InOut are for launches: a graph takes device memory");
        return -1;
    }
    if (function->layout.known) {
        kernel->params.kernelParams = kernel->args.params;
        return 0;
    }
    kernel->size = launch_args_flatten(&kernel->args, kernel->bytes, sizeof kernel->bytes);
    if (kernel->size == (size_t)-1) {
        PyErr_Format(PyExc_TypeError, "the arguments of kernel '%s' need more than %d bytes",
                     function_name(function), KERNEL_ARGS_STACK_BYTES);
        return -1;
    }
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, kernel->bytes, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &kernel->size, CU_LAUNCH_PARAM_END};
    memcpy(kernel->extra, extra, sizeof extra);
    kernel->params.extra = kernel->extra;
    return 0;
}

/* The Function of that handle among what the graph keeps, borrowed. */
static FunctionObject *find_function(GraphObject *graph, CUfunction handle)
{
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(graph_kept(graph)->dict, &position, &key, &value))
        if (PyObject_TypeCheck(value, graph->state->Function_type) && function_cast(value)->handle == handle)
            return function_cast(value);
    return NULL;
}

/* The node's function and how it is launched: no call of ours changes them. */
static int find_kernel(GraphNodeObject *node)
{
    ModuleState *state = node->graph->state;
    CUresult result;
    if (node->function) return 0;
    CALL(state, result, driver.cuGraphKernelNodeGetParams(node->handle, &node->shape));
    if (result != CUDA_SUCCESS) {
        raise_driver(state, result, "cuGraphKernelNodeGetParams", "set_args is for kernel nodes");
        return -1;
    }
    FunctionObject *function = find_function(node->graph, node->shape.func);
    if (function)
        node->function = function_cast(Py_NewRef((PyObject *)function));
    else
        raise_logic(state, "the kernel of this node is none of pycuda's: its parameters are not known");
    return function ? 0 : -1;
}

int graph_node_args(KernelArgs *kernel, GraphNodeObject *node, PyObject *const *args, Py_ssize_t count)
{
    kernel->args.handlers = kernel->args.keep = kernel->args.heap = NULL; /* for launch_args_clear */
    if (!graph_check(node->graph, "cuGraphKernelNodeGetParams") || find_kernel(node) < 0
        || graph_kernel_args(kernel, node->function, args, count) < 0)
        return -1;
    void **params = kernel->params.kernelParams, **extra = kernel->params.extra;
    kernel->params = node->shape;
    kernel->params.kernelParams = params;
    kernel->params.extra = extra;
    return 0;
}

/* ---- What arguments are kept ---- */

/* The argument itself, or None when its value was copied; borrowed. */
static inline PyObject *kept_of(FunctionObject *function, PyObject *const *args, Py_ssize_t i)
{
    return launch_args_is_value(function, i, args[i]) ? Py_None : args[i];
}

/* list: NULL, as None for each. */
static bool is_kept(PyObject *list, FunctionObject *function, PyObject *const *args, Py_ssize_t count)
{
    bool same = !list || PyList_GET_SIZE(list) == count;
    for (Py_ssize_t i = 0; same && i < count; i++) {
        const PyObject *old = list ? PyList_GET_ITEM(list, i) : Py_None;
        same = old == args[i] || (old == Py_None && launch_args_is_value(function, i, args[i]));
    }
    return same;
}

/* In a list that nobody else has. */
static void exchange(PyObject *list, FunctionObject *function, PyObject *const *args, Py_ssize_t count)
{
    Py_INCREF(list);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *old = PyList_GET_ITEM(list, i);
        PyList_SET_ITEM(list, i, Py_NewRef(kept_of(function, args, i)));
        Py_DECREF(old);
    }
    Py_DECREF(list);
}

static int put_list(KeptObjects *kept, GraphNodeObject *node, FunctionObject *function, PyObject *const *args,
                    Py_ssize_t count)
{
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list && i < count; i++)
        PyList_SET_ITEM(list, i, Py_NewRef(kept_of(function, args, i)));
    kept->edition = captured_new_edition();
    int failed = list ? PyDict_SetItem(kept->dict, node->key, list) : -1;
    Py_XDECREF(list);
    return failed;
}

static int find_list(const KeptObjects *kept, GraphNodeObject *node)
{
    if (node->key && node->edition == kept->edition) return 0;
    if (!node->key && !(node->key = PyLong_FromVoidPtr(node->handle))) return -1;
    node->list = PyDict_GetItemWithError(kept->dict, node->key);
    node->edition = kept->edition;
    return node->list || !PyErr_Occurred() ? 0 : -1;
}

int graph_keep_args(KeptObjects *kept, GraphNodeObject *node, FunctionObject *function, PyObject *const *args,
                    Py_ssize_t count)
{
    if (find_list(kept, node) < 0) return -1;
    if (is_kept(node->list, function, args, count)) return 0;
    if (captured_own(kept) < 0 || find_list(kept, node) < 0) return -1;
    PyObject *list = node->list;
    bool own = list && Py_REFCNT(list) == 1 && PyList_GET_SIZE(list) == count;
    if (!own) return put_list(kept, node, function, args, count) < 0 ? -1 : 1;
    exchange(list, function, args, count);
    return 1;
}

PyDoc_STRVAR(set_args_doc,
             "set_args($self, /, *args)\n--\n\n"
             "Give a kernel node other arguments. What was instantiated before stays as it is.\n"
             "\nParameters\n----------\n"
             "*args : object\n    As a launch takes them, and checked as there.\n"
             "\nNotes\n-----\nCalls cuGraphKernelNodeSetParams.");

static PyObject *node_set_args(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    GraphNodeObject *node = graph_node_cast(self);
    ModuleState *state = node->graph->state;
    KernelArgs kernel;
    CUresult result = CUDA_SUCCESS;
    int failed = graph_node_args(&kernel, node, args, count);
    if (!failed) CALL(state, result, driver.cuGraphKernelNodeSetParams(node->handle, &kernel.params));
    launch_args_clear(&kernel.args);
    if (failed
        || (result == CUDA_SUCCESS
            && graph_keep_args(graph_kept(node->graph), node, node->function, args, count) < 0))
        return NULL;
    return none_or_raise(state, result, "cuGraphKernelNodeSetParams");
}

static PyMethodDef node_methods[] = {
    {"set_args", AS_METHOD(node_set_args), METH_FASTCALL, set_args_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef node_properties[] = {
    {"type", node_get_type, NULL, "What it does, a graph_node_type.", NULL},
    {"dependencies", node_get_before, NULL, "The nodes that it waits for.", NULL},
    {"dependents", node_get_after, NULL, "The nodes that wait for it.", NULL},
    {"graph", node_get_graph, NULL, "The Graph that it belongs to.", NULL},
    {"child_graph", node_get_child, NULL, "Of a node that is a graph: that Graph, part of this one.", NULL},
    {"address", node_get_address, NULL, "Of a node that allocates memory: its address.", NULL},
    {"handle", node_get_handle, NULL, "The CUgraphNode as an int.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot node_slots[] = {
    {Py_tp_doc, (void *)"A node of a graph: some work, and what it waits for."},
    {Py_tp_dealloc, AS_SLOT(node_dealloc)},
    {Py_tp_richcompare, AS_SLOT(node_compare)},
    {Py_tp_hash, AS_SLOT(node_hash)},
    {Py_tp_methods, node_methods},
    {Py_tp_getset, node_properties},
    {0, NULL},
};

static PyType_Spec node_spec = {
    .name = "pycuda._driver.GraphNode",
    .basicsize = sizeof(GraphNodeObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = node_slots,
};

int graph_node_setup(PyObject *module, ModuleState *state)
{
    return state_add_type(module, &state->GraphNode_type, &node_spec, NULL);
}
