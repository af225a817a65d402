/* Kernel nodes: made, and given other arguments. */
#include "ext/graph/graph.h"

#include <string.h>

#include "ext/convert/convert.h"
#include "ext/base/driver_calls.h"

/* ---- Arguments of kernels ---- */

/* Reads and checks the arguments into kernel->args, and sets params except the launch's shape. -1 with an
 * exception; launch_args_clear() follows in either case. */
static int graph_kernel_args(KernelArgs *kernel, FunctionObject *function, PyObject *const *args,
                             Py_ssize_t count)
{
    kernel->params = (CUDA_KERNEL_NODE_PARAMS){.func = function->handle};
    if (launch_args_read(&kernel->args, function, args, count, NULL, NULL) < 0) return -1;
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

/* The Function with this handle among the objects that the graph keeps, borrowed; NULL if there is none. */
static FunctionObject *find_function(ModuleState *state, PyObject *kept, CUfunction handle)
{
    PyObject *key, *value;
    Py_ssize_t position = 0;
    FunctionObject *found = NULL;
    while (!found && PyDict_Next(kept, &position, &key, &value)) {
        if (PyDict_CheckExact(value))
            found = find_function(state, value, handle);
        else if (PyObject_TypeCheck(value, state->Function_type) && function_cast(value)->handle == handle)
            found = function_cast(value);
    }
    return found;
}

/* Sets node->function and node->shape, once: no call of this module changes them. -1 with an exception. */
static int find_kernel(GraphNodeObject *node)
{
    ModuleState *state = node->graph->state;
    if (node->function) return 0;
    CUresult result = try_cuGraphKernelNodeGetParams(state, node->handle, &node->shape);
    if (result != CUDA_SUCCESS) {
        raise_driver(state, result, "cuGraphKernelNodeGetParams", "set_args is for kernel nodes");
        return -1;
    }
    FunctionObject *function = find_function(state, graph_kept(node->graph)->dict, node->shape.func);
    if (function)
        node->function = function_cast(Py_NewRef((PyObject *)function));
    else
        raise_logic(state, "the kernel of this node was not loaded by pycuda: its parameters are unknown");
    return function ? 0 : -1;
}

int graph_node_args(KernelArgs *kernel, GraphNodeObject *node, PyObject *const *args, Py_ssize_t count)
{
    kernel->args.handlers = kernel->args.keep = kernel->args.heap = NULL; /* launch_args_clear() frees them */
    if (!graph_check(node->graph, "cuGraphKernelNodeGetParams") || find_kernel(node) < 0
        || graph_kernel_args(kernel, node->function, args, count) < 0)
        return -1;
    void **params = kernel->params.kernelParams, **extra = kernel->params.extra;
    kernel->params = node->shape;
    kernel->params.kernelParams = params;
    kernel->params.extra = extra;
    return 0;
}

const char graph_node_set_args_doc[] =
    "set_args($self, /, *args)\n--\n\n"
    "Give a kernel node other arguments. What was instantiated before stays as it is.\n"
    "\nParameters\n----------\n"
    "*args : object\n    As a launch takes them, and checked as there.\n"
    "\nNotes\n-----\nCalls cuGraphKernelNodeSetParams.";

PyObject *graph_node_set_args(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    GraphNodeObject *node = graph_node_cast(self);
    ModuleState *state = node->graph->state;
    KernelArgs kernel;
    CUresult result = CUDA_SUCCESS;
    int failed = graph_node_args(&kernel, node, args, count);
    if (!failed) result = try_cuGraphKernelNodeSetParams(state, node->handle, &kernel.params);
    launch_args_clear(&kernel.args);
    if (failed
        || (result == CUDA_SUCCESS
            && graph_keep_args(graph_kept(node->graph), node, node->function, args, count) < 0))
        return NULL;
    return none_or_raise(state, result, "cuGraphKernelNodeSetParams");
}

/* ---- Adding ---- */

const char graph_add_kernel_doc[] =
    "add_kernel($self, function, /, *args, block=None, grid=None, shared=0, cooperative=False, cluster=None, "
    "priority=None, carveout=None, depends_on=None)\n--\n\n"
    "Add a node that launches a kernel.\n"
    "\nParameters\n----------\n"
    "function : Function\n"
    "*args : object\n    As a launch takes them, but In, Out and InOut.\n"
    "block, grid, shared\n    As a launch takes them; block is needed.\n"
    "cooperative, cluster, priority, carveout\n    As a launch takes them.\n" GRAPH_AFTER GRAPH_GIVES
    "\nRaises\n------\n"
    "TypeError\n    The arguments are not the kernel's.\n"
    "\nNotes\n-----\nCalls cuGraphAddKernelNode, cuGraphKernelNodeSetAttribute.";

typedef struct Keywords {
    PyObject *block, *grid, *shared, *depends_on; /* borrowed; NULL where not given */
    LaunchExtraKeywords extras;
} Keywords;

/* Where the value of the keyword belongs; NULL if add_kernel() does not take it. */
static PyObject **keyword_slot(ModuleState *state, Keywords *given, PyObject *name)
{
    if (PyUnicode_Compare(name, state->str_block) == 0) return &given->block;
    if (PyUnicode_Compare(name, state->str_grid) == 0) return &given->grid;
    if (PyUnicode_Compare(name, state->str_shared) == 0) return &given->shared;
    if (PyUnicode_CompareWithASCIIString(name, "depends_on") == 0) return &given->depends_on;
    PyObject **slot = launch_extra_slot(state, &given->extras, name);
    return slot == &given->extras.programmatic ? NULL : slot; /* a stream's next launch, not a node, has it */
}

static int read_keywords(ModuleState *state, PyObject *const *values, PyObject *names, Keywords *out)
{
    *out = (Keywords){.block = NULL};
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i), **slot = keyword_slot(state, out, name);
        if (!slot) {
            PyErr_Format(PyExc_TypeError, "add_kernel() got an unexpected keyword argument '%U'", name);
            return -1;
        }
        *slot = values[i];
    }
    return 0;
}

/* How the kernel is launched. */
typedef struct NodeConfig {
    LaunchShape shape;
    LaunchExtras extras;
} NodeConfig;

static int read_config(const Keywords *given, NodeConfig *config)
{
    if (!given->block || given->block == Py_None) {
        PyErr_SetString(PyExc_ValueError, "must specify block size");
        return -1;
    }
    config->shape = (LaunchShape){.shared_bytes = 0};
    if (launch_read_block(given->block, config->shape.block) < 0
        || launch_read_grid(given->grid == Py_None ? NULL : given->grid, config->shape.grid) < 0
        || convert_unsigned(given->shared, "shared", &config->shape.shared_bytes) < 0)
        return -1;
    return launch_extras_read(&given->extras, &config->shape, &config->extras);
}

static void use_shape(CUDA_KERNEL_NODE_PARAMS *params, const LaunchShape *shape)
{
    params->blockDimX = shape->block[0];
    params->blockDimY = shape->block[1];
    params->blockDimZ = shape->block[2];
    params->gridDimX = shape->grid[0];
    params->gridDimY = shape->grid[1];
    params->gridDimZ = shape->grid[2];
    params->sharedMemBytes = shape->shared_bytes;
}

/* Adds the node with its attributes; no node when the driver refuses an attribute. */
static CUresult add_node(Adding *a, const CUDA_KERNEL_NODE_PARAMS *params, const LaunchExtras *extras)
{
    CUresult result =
        try_cuGraphAddKernelNode(a->graph->state, &a->made, a->graph->handle, a->after, a->count, params);
    if (result != CUDA_SUCCESS) return result;
    for (unsigned i = 0; i < extras->count && result == CUDA_SUCCESS; i++)
        result = once_cuGraphKernelNodeSetAttribute(a->graph->state, a->made, extras->list[i].id,
                                                    &extras->list[i].value);
    if (result != CUDA_SUCCESS) once_cuGraphDestroyNode(a->graph->state, a->made);
    return result;
}

/* Adds the node. args[0] is the Function, the kernel's arguments follow it; count is of both. */
static PyObject *add_kernel_node(Adding *a, KernelArgs *kernel, const NodeConfig *config,
                                 PyObject *const *args, Py_ssize_t count)
{
    FunctionObject *function = function_cast(args[0]);
    use_shape(&kernel->params, &config->shape);
    a->result = add_node(a, &kernel->params, &config->extras);
    if (a->result != CUDA_SUCCESS)
        function_raise_launch(function, &config->shape, &config->extras, NULL, a->result,
                              "cuGraphAddKernelNode");
    PyObject *node = graph_add_end(a, "cuGraphAddKernelNode", args[0], NULL);
    if (node
        && graph_keep_args(graph_kept(a->graph), graph_node_cast(node), function, args + 1, count - 1) < 0)
        Py_CLEAR(node);
    return node;
}

PyObject *graph_add_kernel(PyObject *self, FAST_PARAMETERS)
{
    GraphObject *graph = graph_cast(self);
    KernelArgs kernel;
    Keywords given;
    NodeConfig config;
    Adding a;
    PyObject *node = NULL;
    if (read_keywords(graph->state, args + arg_count, keywords, &given) < 0) return NULL;
    if (arg_count < 1 || !PyObject_TypeCheck(args[0], graph->state->Function_type))
        return PyErr_Format(PyExc_TypeError, "add_kernel() takes a Function and its arguments");
    if (graph_kernel_args(&kernel, function_cast(args[0]), args + 1, arg_count - 1) == 0
        && read_config(&given, &config) == 0
        && graph_add_begin(&a, self, given.depends_on, "cuGraphAddKernelNode") == 0)
        node = add_kernel_node(&a, &kernel, &config, args, arg_count);
    launch_args_clear(&kernel.args);
    return node;
}
