/* Graph's methods that add nodes. */
#include "ext/graph/graph.h"

#include "ext/convert/buffers.h"
#include "ext/convert/convert.h"
#include "ext/errors.h"
#include "ext/stream/stream.h"

int graph_add_begin(Adding *adding, PyObject *self, PyObject *after, const char *routine)
{
    *adding = (Adding){.graph = graph_cast(self)};
    return graph_check(adding->graph, routine)
               ? graph_nodes_read(adding->graph, after, "depends_on", &adding->after, &adding->count)
               : -1;
}

PyObject *graph_add_end(Adding *adding, const char *routine, PyObject *first, PyObject *second)
{
    GraphObject *graph = adding->graph;
    PyMem_Free(adding->after);
    if (adding->result != CUDA_SUCCESS) return raise_driver(graph->state, adding->result, routine, NULL);
    KeptObjects *kept = graph_kept(graph);
    if ((first && captured_put(kept, first) < 0) || (second && captured_put(kept, second) < 0)) return NULL;
    return graph_node_new(graph, adding->made);
}

PyDoc_STRVAR(add_empty_doc, "add_empty($self, depends_on=None)\n--\n\n"
                            "Add a node that does nothing but wait.\n"
                            "\nParameters\n----------\n" GRAPH_AFTER GRAPH_GIVES "\nNotes\n-----\n"
                            "Calls cuGraphAddEmptyNode.");

static PyObject *add_empty(PyObject *self, FAST_PARAMETERS)
{
    PyObject *given[1];
    Adding a;
    if (convert_arguments(add_empty_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || graph_add_begin(&a, self, given[0], "cuGraphAddEmptyNode") < 0)
        return NULL;
    CALL(a.graph->state, a.result, driver.cuGraphAddEmptyNode(&a.made, a.graph->handle, a.after, a.count));
    return graph_add_end(&a, "cuGraphAddEmptyNode", NULL, NULL);
}

PyDoc_STRVAR(add_child_doc, "add_child($self, child, depends_on=None)\n--\n\n"
                            "Add a node that does what a copy of another graph does.\n"
                            "\nParameters\n----------\n"
                            "child : Graph\n" GRAPH_AFTER GRAPH_GIVES "\nNotes\n-----\n"
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
        || graph_add_begin(&a, self, given[1], "cuGraphAddChildGraphNode") < 0)
        return NULL;
    CALL(state, a.result,
         driver.cuGraphAddChildGraphNode(&a.made, a.graph->handle, a.after, a.count, child->handle));
    if (a.result == CUDA_SUCCESS && graph_keep_all(a.graph, child) < 0) {
        PyMem_Free(a.after);
        return NULL;
    }
    return graph_add_end(&a, "cuGraphAddChildGraphNode", NULL, NULL);
}

typedef CUresult (*EventFn)(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                            CUevent event);

static PyObject *add_event(PyObject *self, PyObject *const *given, EventFn add, const char *routine)
{
    Adding a;
    ModuleState *state = graph_cast(self)->state;
    if (!PyObject_TypeCheck(given[0], state->Event_type))
        return PyErr_Format(PyExc_TypeError, "evt must be an Event, not %s", Py_TYPE(given[0])->tp_name);
    if (!context_check(event_cast(given[0])->context, routine)
        || graph_add_begin(&a, self, given[1], routine) < 0)
        return NULL;
    CALL(state, a.result, add(&a.made, a.graph->handle, a.after, a.count, event_cast(given[0])->handle));
    return graph_add_end(&a, routine, given[0], NULL);
}

PyDoc_STRVAR(add_event_record_doc, "add_event_record($self, evt, depends_on=None)\n--\n\n"
                                   "Add a node that records an event, for who is not of the graph.\n"
                                   "\nParameters\n----------\n"
                                   "evt : Event\n" GRAPH_AFTER GRAPH_GIVES "\nNotes\n-----\n"
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
                                 "evt : Event\n" GRAPH_AFTER GRAPH_GIVES "\nNotes\n-----\n"
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
                             "itemsize : int\n    Bytes of a value: 1, 2 or 4.\n" GRAPH_AFTER GRAPH_GIVES
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
        || graph_add_begin(&a, self, given[4], "cuGraphAddMemsetNode") < 0)
        return NULL;
    fill.value = (unsigned)data;
    CALL(state, a.result,
         driver.cuGraphAddMemsetNode(&a.made, a.graph->handle, a.after, a.count, &fill,
                                     a.graph->context->handle));
    return graph_add_end(&a, "cuGraphAddMemsetNode", given[0], NULL);
}

PyDoc_STRVAR(add_memcpy_doc,
             "add_memcpy($self, dest, src, size=None, depends_on=None)\n--\n\n"
             "Add a node that copies memory.\n"
             "\nParameters\n----------\n"
             "dest, src : device address or bytes-like\n"
             "    Host memory should be page-locked; it is read when the graph runs.\n"
             "size : int\n    Bytes; not needed where one side is host memory.\n" GRAPH_AFTER GRAPH_GIVES
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
        || graph_add_begin(&a, self, given[3], "cuGraphAddMemcpyNode") < 0)
        return NULL;
    CALL(state, a.result,
         driver.cuGraphAddMemcpyNode(&a.made, a.graph->handle, a.after, a.count, &shape,
                                     a.graph->context->handle));
    return graph_add_end(&a, "cuGraphAddMemcpyNode", dest->is_host ? dest->host.owner : given[0],
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
                           "*args : object\n    Its arguments.\n" GRAPH_AFTER GRAPH_GIVES "\nNotes\n-----\n"
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
    if (graph_add_begin(&a, self, given.depends_on, "cuGraphAddHostNode") < 0) return NULL;
    PyObject *call =
        host_function_for_graph(state, args[0], args + 1, arg_count - 1, &params.fn, &params.userData);
    if (!call) {
        PyMem_Free(a.after);
        return NULL;
    }
    CALL(state, a.result, driver.cuGraphAddHostNode(&a.made, a.graph->handle, a.after, a.count, &params));
    PyObject *node = graph_add_end(&a, "cuGraphAddHostNode", call, NULL);
    Py_DECREF(call);
    return node;
}

PyDoc_STRVAR(add_kernel_doc,
             "add_kernel($self, function, /, *args, block=None, grid=None, shared=0, depends_on=None)\n--\n\n"
             "Add a node that launches a kernel.\n"
             "\nParameters\n----------\n"
             "function : Function\n"
             "*args : object\n    As a launch takes them, but In, Out and InOut.\n"
             "block, grid, shared\n    As a launch takes them; block is needed.\n" GRAPH_AFTER GRAPH_GIVES
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
    if (launch_read_block(given->block, block) < 0
        || launch_read_grid(given->grid == Py_None ? NULL : given->grid, grid) < 0
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
    PyObject *node = graph_add_end(a, "cuGraphAddKernelNode", args[0], NULL);
    if (node
        && graph_keep_args(graph_kept(graph), graph_node_cast(node), function_cast(args[0]), args + 1,
                           count - 1)
               < 0)
        Py_CLEAR(node);
    return node;
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
        && graph_add_begin(&a, self, given.depends_on, "cuGraphAddKernelNode") == 0)
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
