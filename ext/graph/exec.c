/* GraphExec: an instantiated graph, launched and updated. */
#include "ext/graph/graph.h"

#include <time.h>

#include "ext/base/driver_calls.h"
#include "ext/base/launch_site.h"
#include "ext/base/types.h"
#include "ext/context/keep_alive.h"
#include "ext/convert/convert.h"
#include "ext/memory/gpuarray_object.h"
#include "ext/memory/pooled_allocation.h"
#include "ext/stream/stream.h"

int graph_exec_begin(GraphExecObject *exec, unsigned long *before)
{
    static const struct timespec poll_interval = {.tv_nsec = 50000};
    unsigned long me = PyThread_get_thread_ident();
    while (exec->user && exec->user != me) {
        WITHOUT_GIL(nanosleep(&poll_interval, NULL));
        if (wait_is_interruptible(exec->state) && PyErr_CheckSignals() < 0) return -1;
    }
    *before = exec->user;
    exec->user = me;
    return 0;
}

void graph_exec_end(GraphExecObject *exec, unsigned long before) { exec->user = before; }

/* Appends to the list all memory in a kept object: the object itself, or the items of a list (of a
 * node, graph_keep_args) or a dict (of a child graph). -1 with an exception. */
static int add_memory(ModuleState *state, PyObject *list, PyObject *object)
{
    PyObject *key, *value;
    Py_ssize_t position = 0;
    int failed = 0;
    if (PyList_CheckExact(object)) {
        for (Py_ssize_t i = 0; !failed && i < PyList_GET_SIZE(object); i++)
            failed = add_memory(state, list, PyList_GET_ITEM(object, i));
    } else if (PyDict_CheckExact(object)) {
        while (!failed && PyDict_Next(object, &position, &key, &value))
            failed = add_memory(state, list, value);
    } else if (allocation_under(state, object))
        failed = PyList_Append(list, object);
    return failed;
}

void graph_exec_forget(GraphExecObject *exec)
{
    exec->noted = GRAPH_NOWHERE;
    Py_CLEAR(exec->memory);
}

/* Replaces what the executable graph keeps. Takes the reference to the dict. */
static void set_kept(GraphExecObject *exec, KeptObjects kept)
{
    PyObject *old = exec->kept.dict;
    bool same = exec->kept.version == kept.version;
    exec->kept = kept;
    if (!same) graph_exec_forget(exec);
    Py_DECREF(old);
}

/* The graph's kept objects, with a new reference to the dict. */
static KeptObjects share_kept(GraphObject *graph)
{
    KeptObjects kept = *graph_kept(graph);
    Py_INCREF(kept.dict);
    return kept;
}

/* A new reference to exec->memory, which the first launch that needs it makes. NULL with an exception. */
static PyObject *memory_of(GraphExecObject *exec)
{
    PyObject *list;
    if (exec->memory) return Py_NewRef(exec->memory);
    if (!(list = PyList_New(0))) return NULL;
    if (add_memory(exec->state, list, exec->kept.dict) == 0) exec->memory = PyList_AsTuple(list);
    Py_DECREF(list);
    return Py_XNewRef(exec->memory);
}

const char graph_instantiate_doc[] =
    "instantiate($self, auto_free_on_launch=False)\n--\n\n"
    "Make the graph ready to be launched. Later changes to the graph do not affect it.\n"
    "\nParameters\n----------\n"
    "auto_free_on_launch : bool\n"
    "    Memory that the graph allocates and that is not freed yet is freed when it is launched again.\n"
    "\nReturns\n-------\nGraphExec\n"
    "\nNotes\n-----\nCalls cuGraphInstantiateWithFlags.";

static PyObject *new_exec(GraphObject *graph, CUgraphExec handle)
{
    PyObject *self = owner_new_in(graph->context, graph->state->GraphExec_type);
    if (!self) {
        once_cuGraphExecDestroy(graph->state, handle);
        return NULL;
    }
    graph_exec_cast(self)->handle = handle;
    graph_exec_cast(self)->kept = share_kept(graph);
    graph_exec_cast(self)->noted = GRAPH_NOWHERE;
    return owner_own(self, &graph->state->live_GraphExec);
}

PyObject *graph_instantiate(PyObject *self, FAST_PARAMETERS)
{
    GraphObject *graph = graph_cast(self);
    bool free_first = false;
    CUgraphExec handle;
    if (READ_ARGUMENTS(graph_instantiate_doc, INTO(&free_first)) < 0
        || !graph_check(graph, "cuGraphInstantiateWithFlags"))
        return NULL;
    unsigned flags = free_first ? CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH : 0;
    return gpu_cuGraphInstantiateWithFlags(graph->state, &handle, graph->handle, flags) < 0
               ? NULL
               : new_exec(graph, handle);
}

static int exec_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(graph_exec_cast(self)->kept.dict);
    Py_VISIT(graph_exec_cast(self)->memory);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void destroy_exec(PyObject *self)
{
    GraphExecObject *exec = graph_exec_cast(self);
    LIVE_LESS(exec->state, GraphExec);
    RELEASE_IN_CONTEXT(exec->context, once, cuGraphExecDestroy, exec->handle);
}

static void exec_dealloc(PyObject *self)
{
    if (!owner_dealloc_begin(self, exec_dealloc, destroy_exec)) return;
    Py_XDECREF(graph_exec_cast(self)->kept.dict);
    Py_XDECREF(graph_exec_cast(self)->memory);
    owner_dealloc_end(self);
}

PyDoc_STRVAR(launch_doc, "launch($self, stream=None)\n--\n\n"
                         "Queue all of the graph's work on a stream.\n\n"
                         "What the work uses stays alive until it is done.\n"
                         "\nParameters\n----------\n"
                         "stream : Stream\n"
                         "\nNotes\n-----\n"
                         "Calls cuGraphLaunch.");

PyDoc_STRVAR(upload_doc, "upload($self, stream=None)\n--\n\n"
                         "Bring the graph to the device now, not with its first launch.\n"
                         "\nParameters\n----------\n"
                         "stream : Stream\n"
                         "\nNotes\n-----\n"
                         "Calls cuGraphUpload.");

/* Notes in the graph's memory that a launch on this stream uses it. If the stream is one of this
 * module, a later launch on it need not note that again (exec->noted): the memory keeps the stream alive, so
 * that its handle is not given to another one. `object` is the Python object of the stream. -1 with an
 * exception. */
static int note_memory_use(GraphExecObject *exec, PyObject *object, CUstream stream)
{
    ModuleState *state = exec->state;
    bool is_own = !object || object == Py_None || PyObject_TypeCheck(object, state->Stream_type);
    PyObject *memory = memory_of(exec);
    if (!memory) return -1;
    exec->noted = GRAPH_NOWHERE;
    int failed = pooled_note(state, PySequence_Fast_ITEMS(memory), PyTuple_GET_SIZE(memory), object, stream);
    if (!failed && is_own && memory == exec->memory && !captured_some(state)) exec->noted = stream;
    Py_DECREF(memory);
    return failed;
}

/* Launches the graph and keeps what it uses. Notes no use of memory. */
static PyObject *launch_graph(GraphExecObject *exec, CUstream stream)
{
    ModuleState *state = exec->state;
    Kept kept;
    unsigned long before;
    if (graph_exec_begin(exec, &before) < 0) return NULL;
    PyObject *uses = Py_NewRef(exec->kept.dict);
    if (keep_alive_begin(state, exec->context, stream, (PyObject *)exec, uses, &kept) == 0) {
        CUresult result = try_cuGraphLaunch(state, exec->handle, stream);
        keep_alive_end(state, &kept);
        if (result == CUDA_SUCCESS)
            launch_site_note(state);
        else
            raise_driver(state, result, "cuGraphLaunch", NULL);
    }
    graph_exec_end(exec, before);
    Py_DECREF(uses);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyObject *exec_launch(PyObject *self, FAST_PARAMETERS)
{
    GraphExecObject *exec = graph_exec_cast(self);
    ModuleState *state = exec->state;
    PyObject *given[1] = {arg_count == 1 ? args[0] : NULL};
    CUstream stream;
    if ((keywords || arg_count > 1)
        && convert_arguments(launch_doc, args, arg_count, keywords, GIVEN(given)) < 0)
        return NULL;
    PyObject *object = stream_or_current(state, given[0]);
    if (launch_read_stream(state, object, &stream) < 0 || !context_check(exec->context, "cuGraphLaunch"))
        return NULL;
    bool is_noted = exec->noted == stream && !captured_some(state) && !elsewhere_is_possible(state);
    if (!is_noted && note_memory_use(exec, object, stream) < 0) return NULL;
    /* A launch that needs no wait and whose objects are kept by an earlier one takes the short way. */
    if (exec->user || !keep_alive_has(state, exec->context, stream, self, exec->kept.dict)
        || !queue_has(&state->queues, stream, QUEUE_CALLS_OF_A_GRAPH))
        return launch_graph(exec, stream);
    if (gpu_cuGraphLaunch(state, exec->handle, stream) < 0) return NULL;
    launch_site_note(state);
    Py_RETURN_NONE;
}

static PyObject *exec_upload(PyObject *self, FAST_PARAMETERS)
{
    GraphExecObject *exec = graph_exec_cast(self);
    PyObject *given[1];
    CUstream stream;
    unsigned long before;
    if (convert_arguments(upload_doc, args, arg_count, keywords, GIVEN(given)) < 0) return NULL;
    if (launch_read_stream(exec->state, stream_or_current(exec->state, given[0]), &stream) < 0
        || !context_check(exec->context, "cuGraphUpload") || graph_exec_begin(exec, &before) < 0)
        return NULL;
    CUresult result = try_cuGraphUpload(exec->state, exec->handle, stream);
    graph_exec_end(exec, before);
    return none_or_raise(exec->state, result, "cuGraphUpload");
}

PyDoc_STRVAR(update_doc, "update($self, graph)\n--\n\n"
                         "Do from now on what another graph of the same shape does.\n"
                         "\nParameters\n----------\n"
                         "graph : Graph\n    The same kinds of nodes with the same edges.\n"
                         "\nRaises\n------\n"
                         "LogicError\n    The graphs differ in what cannot be changed; nothing has changed.\n"
                         "\nNotes\n-----\n"
                         "Calls cuGraphExecUpdate.");

static const char *explain_update(CUgraphExecUpdateResult result)
{
    static const char *const texts[] = {
                                         /* by CUgraphExecUpdateResult */
        "",
        "the driver gives no reason",
        "the graphs have different nodes or edges",
        "a node has a different type",
        "a kernel node has a different function",
        "a parameter of a node that cannot be changed differs",
        "a node has a type that cannot be changed",
        "a kernel node has a function of a different context or type",
        "a node's attributes differ",
    };
    return result < sizeof texts / sizeof *texts ? texts[result] : texts[1];
}

static PyObject *exec_update(PyObject *self, FAST_PARAMETERS)
{
    GraphExecObject *exec = graph_exec_cast(self);
    ModuleState *state = exec->state;
    PyObject *other;
    CUgraphExecUpdateResultInfo info = {CU_GRAPH_EXEC_UPDATE_ERROR, NULL, NULL};
    unsigned long before;
    if (READ_ARGUMENTS(update_doc, INTO_A(state->Graph_type, &other)) < 0
        || !graph_check(graph_cast(other), "cuGraphExecUpdate") || graph_exec_begin(exec, &before) < 0)
        return NULL;
    KeptObjects kept = share_kept(graph_cast(other));
    CUresult result = try_cuGraphExecUpdate(state, exec->handle, graph_cast(other)->handle, &info);
    graph_exec_end(exec, before);
    if (result == CUDA_SUCCESS) {
        set_kept(exec, kept);
        Py_RETURN_NONE;
    }
    Py_DECREF(kept.dict);
    return raise_driver(state, result, "cuGraphExecUpdate", "%s", explain_update(info.result));
}

PyDoc_STRVAR(set_args_doc, "set_args($self, node, /, *args)\n--\n\n"
                           "Give a kernel other arguments, from the next launch on.\n"
                           "\nParameters\n----------\n"
                           "node : GraphNode\n    A kernel node of the graph that this was made from.\n"
                           "*args : object\n    As a launch takes them, and checked as there.\n"
                           "\nNotes\n-----\n"
                           "Calls cuGraphExecKernelNodeSetParams.");

static PyObject *exec_set_args(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    GraphExecObject *exec = graph_exec_cast(self);
    ModuleState *state = exec->state;
    KernelArgs kernel;
    CUresult result = CUDA_SUCCESS;
    unsigned long before;
    if (count < 1 || !PyObject_TypeCheck(args[0], state->GraphNode_type))
        return PyErr_Format(PyExc_TypeError, "set_args takes a GraphNode and the kernel's arguments");
    GraphNodeObject *node = graph_node_cast(args[0]);
    if (!context_check(exec->context, "cuGraphExecKernelNodeSetParams")) return NULL;
    int failed = graph_node_args(&kernel, node, args + 1, count - 1);
    if (!failed && !(failed = graph_exec_begin(exec, &before))) {
        result = try_cuGraphExecKernelNodeSetParams(state, exec->handle, node->handle, &kernel.params);
        graph_exec_end(exec, before);
    }
    launch_args_clear(&kernel.args);
    if (failed) return NULL;
    if (result != CUDA_SUCCESS) return raise_driver(state, result, "cuGraphExecKernelNodeSetParams", NULL);
    int changed = graph_keep_args(&exec->kept, node, node->function, args + 1, count - 1);
    if (changed) graph_exec_forget(exec);
    return changed < 0 ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef exec_methods[] = {
    {"launch", AS_METHOD(exec_launch), FAST_KEYWORDS, launch_doc},
    {"upload", AS_METHOD(exec_upload), FAST_KEYWORDS, upload_doc},
    {"update", AS_METHOD(exec_update), FAST_KEYWORDS, update_doc},
    {"set_args", AS_METHOD(exec_set_args), METH_FASTCALL, set_args_doc},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef exec_members[] = {
    {"handle", T_ULONGLONG, offsetof(GraphExecObject, handle), READONLY, "The CUgraphExec as an int."},
    {NULL, 0, 0, 0, NULL},
};

const TypeSpec GraphExec_spec = {
    TYPE_WITH_WEAK_REFERENCES(
        "pycuda.driver.GraphExec", GraphExecObject, 0,
        "A graph that can be launched, again and again. Made by Graph.instantiate().\n\n"
        "Launches of one follow each other, on whatever streams."),
    .tp_dealloc = exec_dealloc,
    .tp_traverse = exec_traverse,
    TYPE_TABLES(exec_methods, NULL, exec_members),
};
