/* GraphNode, and Graph's methods that add nodes. */
#include "ext/graph/graph.h"

#include <string.h>

#include "ext/constants.h"
#include "ext/convert/buffers.h"
#include "ext/convert/convert.h"
#include "ext/deferred.h"
#include "ext/errors.h"
#include "ext/stream/stream.h"

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

static void node_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
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
    PyObject *tuple = ends && data ? PyTuple_New((Py_ssize_t)count) : PyErr_NoMemory();
    if (tuple && result == CUDA_SUCCESS && count)
        CALL_NEAR(state, result, list(node->handle, ends, data, &count));
    if (tuple && result != CUDA_SUCCESS) {
        Py_CLEAR(tuple);
        raise_driver(state, result, routine, NULL);
    }
    for (size_t i = 0; tuple && i < count; i++) {
        PyObject *end = graph_node_new(node->graph, ends[i]);
        if (!end) Py_CLEAR(tuple);
        if (end) PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, end);
    }
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
    while (PyDict_Next(graph->kept, &position, &key, &value))
        if (PyObject_TypeCheck(value, graph->state->Function_type) && function_cast(value)->handle == handle)
            return function_cast(value);
    return NULL;
}

int graph_node_args(KernelArgs *kernel, GraphNodeObject *node, PyObject *const *args, Py_ssize_t count)
{
    ModuleState *state = node->graph->state;
    CUDA_KERNEL_NODE_PARAMS now;
    CUresult result;
    memset(&kernel->args, 0, sizeof kernel->args);
    if (!graph_check(node->graph, "cuGraphKernelNodeGetParams")) return -1;
    CALL(state, result, driver.cuGraphKernelNodeGetParams(node->handle, &now));
    if (result != CUDA_SUCCESS) {
        raise_driver(state, result, "cuGraphKernelNodeGetParams", "set_args is for kernel nodes");
        return -1;
    }
    FunctionObject *function = find_function(node->graph, now.func);
    if (!function) {
        raise_logic(state, "the kernel of this node is none of pycuda's: its parameters are not known");
        return -1;
    }
    if (graph_kernel_args(kernel, function, args, count) < 0) return -1;
    void **params = kernel->params.kernelParams, **extra = kernel->params.extra;
    kernel->params = now;
    kernel->params.kernelParams = params;
    kernel->params.extra = extra;
    return 0;
}

static int keep_args(GraphObject *graph, CUgraphNode node, PyObject *const *args, Py_ssize_t count)
{
    PyObject *values = PyTuple_New(count), *key = PyLong_FromVoidPtr(node);
    for (Py_ssize_t i = 0; values && i < count; i++) PyTuple_SET_ITEM(values, i, Py_NewRef(args[i]));
    int failed = values && key ? PyDict_SetItem(graph->kept, key, values) : -1;
    Py_XDECREF(values);
    Py_XDECREF(key);
    return failed;
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
    KernelArgs kernel;
    CUresult result = CUDA_SUCCESS;
    int failed = graph_node_args(&kernel, node, args, count);
    if (!failed)
        CALL(node->graph->state, result, driver.cuGraphKernelNodeSetParams(node->handle, &kernel.params));
    launch_args_clear(&kernel.args);
    if (failed || (result == CUDA_SUCCESS && keep_args(node->graph, node->handle, args, count) < 0))
        return NULL;
    return none_or_raise(node->graph->state, result, "cuGraphKernelNodeSetParams");
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

/* ---- Adding ---- */

/* A node being added: what it waits for, and what the driver said. */
typedef struct Adding {
    GraphObject *graph;
    CUgraphNode *after, made;
    size_t count;
    CUresult result;
} Adding;

static int add_begin(Adding *adding, PyObject *self, PyObject *after, const char *routine)
{
    *adding = (Adding){.graph = graph_cast(self)};
    return graph_check(adding->graph, routine)
               ? graph_nodes_read(adding->graph, after, "depends_on", &adding->after, &adding->count)
               : -1;
}

/* The node, which keeps these objects (each may be NULL); or the exception. */
static PyObject *add_end(Adding *adding, const char *routine, PyObject *first, PyObject *second)
{
    GraphObject *graph = adding->graph;
    PyMem_Free(adding->after);
    if (adding->result != CUDA_SUCCESS) return raise_driver(graph->state, adding->result, routine, NULL);
    if ((first && captured_put(graph->kept, first) < 0) || (second && captured_put(graph->kept, second) < 0))
        return NULL;
    return graph_node_new(graph, adding->made);
}

#define AFTER "depends_on : GraphNode or iterable of them\n    What it waits for.\n"
#define GIVES "\nReturns\n-------\nGraphNode\n"

PyDoc_STRVAR(add_empty_doc, "add_empty($self, depends_on=None)\n--\n\n"
                            "Add a node that does nothing but wait.\n"
                            "\nParameters\n----------\n" AFTER GIVES "\nNotes\n-----\n"
                            "Calls cuGraphAddEmptyNode.");

static PyObject *add_empty(PyObject *self, FAST_PARAMETERS)
{
    PyObject *given[1];
    Adding a;
    if (convert_arguments(add_empty_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || add_begin(&a, self, given[0], "cuGraphAddEmptyNode") < 0)
        return NULL;
    CALL(a.graph->state, a.result, driver.cuGraphAddEmptyNode(&a.made, a.graph->handle, a.after, a.count));
    return add_end(&a, "cuGraphAddEmptyNode", NULL, NULL);
}

PyDoc_STRVAR(add_child_doc, "add_child($self, child, depends_on=None)\n--\n\n"
                            "Add a node that does what a copy of another graph does.\n"
                            "\nParameters\n----------\n"
                            "child : Graph\n" AFTER GIVES "\nNotes\n-----\n"
                            "Calls cuGraphAddChildGraphNode.");

static PyObject *add_child(PyObject *self, FAST_PARAMETERS)
{
    PyObject *given[2];
    Adding a;
    ModuleState *state = graph_cast(self)->state;
    if (convert_arguments(add_child_doc, args, arg_count, keywords, GIVEN(given)) < 0) return NULL;
    if (!PyObject_TypeCheck(given[0], state->Graph_type))
        return PyErr_Format(PyExc_TypeError, "child must be a Graph, not %s", Py_TYPE(given[0])->tp_name);
    GraphObject *child = graph_cast(given[0]);
    if (!graph_check(child, "cuGraphAddChildGraphNode")
        || add_begin(&a, self, given[1], "cuGraphAddChildGraphNode") < 0)
        return NULL;
    CALL(state, a.result,
         driver.cuGraphAddChildGraphNode(&a.made, a.graph->handle, a.after, a.count, child->handle));
    if (a.result == CUDA_SUCCESS && PyDict_Update(a.graph->kept, child->kept) < 0) {
        PyMem_Free(a.after);
        return NULL;
    }
    return add_end(&a, "cuGraphAddChildGraphNode", NULL, NULL);
}

typedef CUresult (*EventFn)(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                            CUevent event);

static PyObject *add_event(PyObject *self, PyObject *const *given, EventFn add, const char *routine)
{
    Adding a;
    ModuleState *state = graph_cast(self)->state;
    if (!PyObject_TypeCheck(given[0], state->Event_type))
        return PyErr_Format(PyExc_TypeError, "evt must be an Event, not %s", Py_TYPE(given[0])->tp_name);
    if (!context_check(event_cast(given[0])->context, routine) || add_begin(&a, self, given[1], routine) < 0)
        return NULL;
    CALL(state, a.result, add(&a.made, a.graph->handle, a.after, a.count, event_cast(given[0])->handle));
    return add_end(&a, routine, given[0], NULL);
}

PyDoc_STRVAR(add_event_record_doc, "add_event_record($self, evt, depends_on=None)\n--\n\n"
                                   "Add a node that records an event, for who is not of the graph.\n"
                                   "\nParameters\n----------\n"
                                   "evt : Event\n" AFTER GIVES "\nNotes\n-----\n"
                                   "Calls cuGraphAddEventRecordNode.");

static PyObject *add_event_record(PyObject *self, FAST_PARAMETERS)
{
    PyObject *given[2];
    if (convert_arguments(add_event_record_doc, args, arg_count, keywords, GIVEN(given)) < 0) return NULL;
    return add_event(self, given, driver.cuGraphAddEventRecordNode, "cuGraphAddEventRecordNode");
}

PyDoc_STRVAR(add_event_wait_doc, "add_event_wait($self, evt, depends_on=None)\n--\n\n"
                                 "Add a node that waits for an event that others record.\n"
                                 "\nParameters\n----------\n"
                                 "evt : Event\n" AFTER GIVES "\nNotes\n-----\n"
                                 "Calls cuGraphAddEventWaitNode.");

static PyObject *add_event_wait(PyObject *self, FAST_PARAMETERS)
{
    PyObject *given[2];
    if (convert_arguments(add_event_wait_doc, args, arg_count, keywords, GIVEN(given)) < 0) return NULL;
    return add_event(self, given, driver.cuGraphAddEventWaitNode, "cuGraphAddEventWaitNode");
}

PyDoc_STRVAR(add_memset_doc, "add_memset($self, dest, data, size, itemsize=4, depends_on=None)\n--\n\n"
                             "Add a node that fills memory.\n"
                             "\nParameters\n----------\n"
                             "dest : device address\n"
                             "data : int\n    Of 8 * itemsize bits.\n"
                             "size : int\n    How many values to write.\n"
                             "itemsize : int\n    Bytes of a value: 1, 2 or 4.\n" AFTER GIVES
                             "\nNotes\n-----\nCalls cuGraphAddMemsetNode.");

static PyObject *add_memset(PyObject *self, FAST_PARAMETERS)
{
    PyObject *given[5];
    Adding a;
    ModuleState *state = graph_cast(self)->state;
    CUDA_MEMSET_NODE_PARAMS fill = {.elementSize = 4, .height = 1};
    unsigned long long data = 0;
    if (convert_arguments(add_memset_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || convert_size(given[2], "size", &fill.width) < 0
        || convert_unsigned(given[3], "itemsize", &fill.elementSize) < 0)
        return NULL;
    if (fill.elementSize != 1 && fill.elementSize != 2 && fill.elementSize != 4)
        return PyErr_Format(PyExc_ValueError, "itemsize is %u: it may be 1, 2 or 4", fill.elementSize);
    if (convert_bits(given[1], "data", 8 * (int)fill.elementSize, &data) < 0
        || convert_range(state, given[0], "dest", fill.width * fill.elementSize, &fill.dst) < 0
        || add_begin(&a, self, given[4], "cuGraphAddMemsetNode") < 0)
        return NULL;
    fill.value = (unsigned)data;
    CALL(state, a.result,
         driver.cuGraphAddMemsetNode(&a.made, a.graph->handle, a.after, a.count, &fill,
                                     a.graph->context->handle));
    return add_end(&a, "cuGraphAddMemsetNode", given[0], NULL);
}

PyDoc_STRVAR(add_memcpy_doc, "add_memcpy($self, dest, src, size=None, depends_on=None)\n--\n\n"
                             "Add a node that copies memory.\n"
                             "\nParameters\n----------\n"
                             "dest, src : device address or bytes-like\n"
                             "    Host memory should be page-locked; it is read when the graph runs.\n"
                             "size : int\n    Bytes; not needed where one side is host memory.\n" AFTER GIVES
                             "\nNotes\n-----\nCalls cuGraphAddMemcpyNode.");

/* One side: host memory lends itself, everything else is an address. */
typedef struct CopyEnd {
    HostBuffer host;
    CUdeviceptr device;
    bool is_host;
} CopyEnd;

static bool is_host_memory(ModuleState *state, PyObject *value)
{
    return PyObject_CheckBuffer(value) && !PyObject_TypeCheck(value, state->DeviceAllocation_type);
}

static int read_end(ModuleState *state, PyObject *value, const char *what, bool writable, CopyEnd *end)
{
    end->is_host = is_host_memory(state, value);
    if (!end->is_host) return 0;
    return writable ? buffers_write(value, what, &end->host) : buffers_read(value, what, &end->host);
}

static int read_size(PyObject *given, const CopyEnd *dest, const CopyEnd *src, size_t *size)
{
    bool known = given && given != Py_None;
    if (!known && !dest->is_host && !src->is_host) {
        PyErr_SetString(PyExc_TypeError, "add_memcpy() needs size for copies between device addresses");
        return -1;
    }
    *size = dest->is_host ? dest->host.size : src->host.size;
    if (known && convert_size(given, "size", size) < 0) return -1;
    if ((!dest->is_host || *size <= dest->host.size) && (!src->is_host || *size <= src->host.size)) return 0;
    PyErr_Format(PyExc_ValueError, "%s has fewer than %zu bytes",
                 dest->is_host && *size > dest->host.size ? "dest" : "src", *size);
    return -1;
}

static int fill_shape(ModuleState *state, PyObject *const *given, CopyEnd *dest, CopyEnd *src,
                      CUDA_MEMCPY3D *shape)
{
    size_t size;
    if (read_size(given[2], dest, src, &size) < 0) return -1;
    if (!dest->is_host && convert_range(state, given[0], "dest", size, &dest->device) < 0) return -1;
    if (!src->is_host && convert_range(state, given[1], "src", size, &src->device) < 0) return -1;
    *shape = (CUDA_MEMCPY3D){.WidthInBytes = size, .Height = 1, .Depth = 1};
    shape->dstMemoryType = dest->is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    shape->dstHost = dest->host.pointer;
    shape->dstDevice = dest->device;
    shape->srcMemoryType = src->is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    shape->srcHost = src->host.pointer;
    shape->srcDevice = src->device;
    return 0;
}

static PyObject *add_copy(PyObject *self, PyObject *const *given, CopyEnd *dest, CopyEnd *src)
{
    ModuleState *state = graph_cast(self)->state;
    CUDA_MEMCPY3D shape;
    Adding a;
    if (fill_shape(state, given, dest, src, &shape) < 0
        || add_begin(&a, self, given[3], "cuGraphAddMemcpyNode") < 0)
        return NULL;
    CALL(state, a.result,
         driver.cuGraphAddMemcpyNode(&a.made, a.graph->handle, a.after, a.count, &shape,
                                     a.graph->context->handle));
    return add_end(&a, "cuGraphAddMemcpyNode", dest->is_host ? dest->host.owner : given[0],
                   src->is_host ? src->host.owner : given[1]);
}

static PyObject *add_memcpy(PyObject *self, FAST_PARAMETERS)
{
    PyObject *given[4], *node = NULL;
    ModuleState *state = graph_cast(self)->state;
    CopyEnd dest = {.host = {NULL, 0, NULL}}, src = {.host = {NULL, 0, NULL}};
    if (convert_arguments(add_memcpy_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || read_end(state, given[0], "dest", true, &dest) < 0)
        return NULL;
    if (read_end(state, given[1], "src", false, &src) == 0) {
        node = add_copy(self, given, &dest, &src);
        if (src.is_host) buffers_release(&src.host);
    }
    if (dest.is_host) buffers_release(&dest.host);
    return node;
}

/* The keyword arguments of the two methods that pass others on, each NULL where not given. */
typedef struct Keywords {
    PyObject *block, *grid, *shared, *depends_on;
} Keywords;

static int read_keywords(const char *call, PyObject *const *values, PyObject *names, bool kernel,
                         Keywords *out)
{
    *out = (Keywords){NULL, NULL, NULL, NULL};
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        PyObject **slot = PyUnicode_CompareWithASCIIString(name, "depends_on") == 0 ? &out->depends_on : NULL;
        if (kernel && PyUnicode_CompareWithASCIIString(name, "block") == 0) slot = &out->block;
        if (kernel && PyUnicode_CompareWithASCIIString(name, "grid") == 0) slot = &out->grid;
        if (kernel && PyUnicode_CompareWithASCIIString(name, "shared") == 0) slot = &out->shared;
        if (!slot) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", call, name);
            return -1;
        }
        *slot = values[i];
    }
    return 0;
}

PyDoc_STRVAR(add_host_doc, "add_host($self, function, /, *args, depends_on=None)\n--\n\n"
                           "Add a node that calls a Python function, each time it runs.\n"
                           "\nParameters\n----------\n"
                           "function : callable\n    As of Stream.launch_host_func.\n"
                           "*args : object\n    Its arguments.\n" AFTER GIVES "\nNotes\n-----\n"
                           "Calls cuGraphAddHostNode.");

static PyObject *add_host(PyObject *self, FAST_PARAMETERS)
{
    ModuleState *state = graph_cast(self)->state;
    CUDA_HOST_NODE_PARAMS params;
    Keywords given;
    Adding a;
    if (read_keywords("add_host", args + arg_count, keywords, false, &given) < 0) return NULL;
    if (arg_count < 1 || !PyCallable_Check(args[0]))
        return PyErr_Format(PyExc_TypeError, "add_host() takes a function and its arguments");
    if (add_begin(&a, self, given.depends_on, "cuGraphAddHostNode") < 0) return NULL;
    PyObject *call =
        host_function_for_graph(state, args[0], args + 1, arg_count - 1, &params.fn, &params.userData);
    if (!call) {
        PyMem_Free(a.after);
        return NULL;
    }
    CALL(state, a.result, driver.cuGraphAddHostNode(&a.made, a.graph->handle, a.after, a.count, &params));
    PyObject *node = add_end(&a, "cuGraphAddHostNode", call, NULL);
    Py_DECREF(call);
    return node;
}

PyDoc_STRVAR(add_kernel_doc,
             "add_kernel($self, function, /, *args, block=None, grid=(1,), shared=0, depends_on=None)\n--\n\n"
             "Add a node that launches a kernel.\n"
             "\nParameters\n----------\n"
             "function : Function\n"
             "*args : object\n    As a launch takes them, but In, Out and InOut.\n"
             "block, grid, shared\n    As a launch takes them; block is needed.\n" AFTER GIVES
             "\nRaises\n------\n"
             "TypeError\n    The arguments are not the kernel's.\n"
             "\nNotes\n-----\nCalls cuGraphAddKernelNode.");

static int read_shape(const Keywords *given, CUDA_KERNEL_NODE_PARAMS *params)
{
    unsigned block[3], grid[3];
    if (!given->block || given->block == Py_None) {
        PyErr_SetString(PyExc_ValueError, "must specify block size");
        return -1;
    }
    if (launch_read_block(given->block, block) < 0 || launch_read_grid(given->grid, grid) < 0
        || convert_unsigned(given->shared, "shared", &params->sharedMemBytes) < 0)
        return -1;
    params->blockDimX = block[0], params->blockDimY = block[1], params->blockDimZ = block[2];
    params->gridDimX = grid[0], params->gridDimY = grid[1], params->gridDimZ = grid[2];
    return 0;
}

static PyObject *add_kernel_node(Adding *a, KernelArgs *kernel, PyObject *const *args, Py_ssize_t count)
{
    GraphObject *graph = a->graph;
    CALL(graph->state, a->result,
         driver.cuGraphAddKernelNode(&a->made, graph->handle, a->after, a->count, &kernel->params));
    if (a->result == CUDA_SUCCESS && keep_args(graph, a->made, args + 1, count - 1) < 0) {
        PyMem_Free(a->after);
        return NULL;
    }
    return add_end(a, "cuGraphAddKernelNode", args[0], NULL);
}

static PyObject *add_kernel(PyObject *self, FAST_PARAMETERS)
{
    GraphObject *graph = graph_cast(self);
    KernelArgs kernel;
    Keywords given;
    Adding a;
    PyObject *node = NULL;
    if (read_keywords("add_kernel", args + arg_count, keywords, true, &given) < 0) return NULL;
    if (arg_count < 1 || !PyObject_TypeCheck(args[0], graph->state->Function_type))
        return PyErr_Format(PyExc_TypeError, "add_kernel() takes a Function and its arguments");
    if (graph_kernel_args(&kernel, function_cast(args[0]), args + 1, arg_count - 1) == 0
        && read_shape(&given, &kernel.params) == 0
        && add_begin(&a, self, given.depends_on, "cuGraphAddKernelNode") == 0)
        node = add_kernel_node(&a, &kernel, args, arg_count);
    launch_args_clear(&kernel.args);
    return node;
}

PyMethodDef graph_add_methods[] = {
    {"add_kernel", AS_METHOD(add_kernel), FAST_KEYWORDS, add_kernel_doc},
    {"add_memcpy", AS_METHOD(add_memcpy), FAST_KEYWORDS, add_memcpy_doc},
    {"add_memset", AS_METHOD(add_memset), FAST_KEYWORDS, add_memset_doc},
    {"add_host", AS_METHOD(add_host), FAST_KEYWORDS, add_host_doc},
    {"add_child", AS_METHOD(add_child), FAST_KEYWORDS, add_child_doc},
    {"add_event_record", AS_METHOD(add_event_record), FAST_KEYWORDS, add_event_record_doc},
    {"add_event_wait", AS_METHOD(add_event_wait), FAST_KEYWORDS, add_event_wait_doc},
    {"add_empty", AS_METHOD(add_empty), FAST_KEYWORDS, add_empty_doc},
    {NULL, NULL, 0, NULL},
};
