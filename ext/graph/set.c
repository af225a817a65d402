/* Methods that give a single node other parameters, in a graph or in an executable graph made from it. */
#include "ext/graph/graph.h"

#include "ext/convert/convert.h"
#include "ext/base/driver_calls.h"
#include "ext/stream/stream.h"

/* A node to be changed, in the executable graph `exec`, or, if that is NULL, in the node's own graph. */
typedef struct Target {
    ModuleState *state;
    GraphNodeObject *node;
    GraphExecObject *exec;
    const char *routine;
} Target;

/* Fills *target. node NULL: a method of GraphNode was called, self is the node; otherwise one of GraphExec,
 * whose first argument is the node. in_graph, in_exec: the driver's function for either; in_graph NULL: only
 * GraphExec has the method. -1 with an exception. */
static int read_target(Target *target, PyObject *self, PyObject *node, const char *in_graph,
                       const char *in_exec)
{
    bool is_node = in_graph && !node;
    target->exec = is_node ? NULL : graph_exec_cast(self);
    target->state = is_node ? graph_node_cast(self)->graph->state : target->exec->state;
    target->routine = is_node ? in_graph : in_exec;
    if (!is_node && !PyObject_TypeCheck(node, target->state->GraphNode_type)) {
        PyErr_Format(PyExc_TypeError, "node must be a GraphNode, not %s", Py_TYPE(node)->tp_name);
        return -1;
    }
    target->node = graph_node_cast(is_node ? self : node);
    if (!is_node && !context_check(target->exec->context, target->routine)) return -1;
    return graph_check(target->node->graph, target->routine) ? 0 : -1;
}

static CUcontext context_of(const Target *target)
{
    return target->exec ? target->exec->context->handle : target->node->graph->context->handle;
}

/* Calls the driver's function that changes the target. */
typedef CUresult (*Change)(const Target *target, const void *params);

/* change(), once no other thread is in a call on the executable graph. CUDA_ERROR_NOT_READY with an exception
 * if a signal ended the wait for that. */
static CUresult apply_change(const Target *target, Change change, const void *params)
{
    CUresult result = CUDA_ERROR_NOT_READY;
    unsigned long before = 0;
    if (target->exec && graph_exec_begin(target->exec, &before) < 0) return result;
    result = change(target, params);
    if (target->exec) graph_exec_end(target->exec, before);
    return result;
}

/* Makes the change, then lets these objects replace the ones that are kept for the node. None, or NULL with
 * an exception. */
static PyObject *change_and_keep(const Target *target, Change change, const void *params,
                                 PyObject *const *objects, Py_ssize_t count)
{
    CUresult result = apply_change(target, change, params);
    if (result != CUDA_SUCCESS) return raise_driver(target->state, result, target->routine, NULL);
    KeptObjects *kept = target->exec ? &target->exec->kept : graph_kept(target->node->graph);
    int changed = graph_keep_args(kept, target->node, NULL, objects, count);
    if (changed && target->exec) graph_exec_forget(target->exec);
    return changed < 0 ? NULL : Py_NewRef(Py_None);
}

/* The docstrings, and then the definitions, of a method of GraphNode and of the one of GraphExec that has the
 * node as its first argument. Both call name(self, node or NULL, the other arguments). */
#define DOCS(name, takes, does, parameters, in_graph, in_exec) \
    PyDoc_STRVAR(node_##name##_doc, \
                 #name "($self, " takes ")\n--\n\n" does ". What was instantiated before stays as it is.\n" \
                       "\nParameters\n----------\n" parameters "\nNotes\n-----\nCalls " in_graph "."); \
    PyDoc_STRVAR(exec_##name##_doc, \
                 #name "($self, node, " takes ")\n--\n\n" does ", from the next launch on.\n" \
                       "\nParameters\n----------\n" \
                       "node : GraphNode\n    Of the graph that this was made from.\n" parameters \
                       "\nNotes\n-----\nCalls " in_exec ".");
#define METHODS(name, count) \
    static PyObject *node_##name(PyObject *self, FAST_PARAMETERS) \
    { \
        PyObject *given[count]; \
        return convert_arguments(node_##name##_doc, args, arg_count, keywords, GIVEN(given)) < 0 \
                   ? NULL \
                   : name(self, NULL, given); \
    } \
    static PyObject *exec_##name(PyObject *self, FAST_PARAMETERS) \
    { \
        PyObject *given[1 + (count)]; \
        return convert_arguments(exec_##name##_doc, args, arg_count, keywords, GIVEN(given)) < 0 \
                   ? NULL \
                   : name(self, given[0], given + 1); \
    }

/* Defines a Change for nodes whose work has a context: by in_exec in an executable graph, else by in_graph.
 */
#define CHANGE(name, in_graph, in_exec) \
    static CUresult name(const Target *target, const void *params) \
    { \
        ModuleState *state = target->state; \
        CUgraphNode node = target->node->handle; \
        return target->exec ? try_##in_exec(state, target->exec->handle, node, params, context_of(target)) \
                            : try_##in_graph(state, node, params); \
    }

DOCS(set_memcpy, "dest, src, size=None", "Change the source and destination of a copy", GRAPH_COPY,
     "cuGraphMemcpyNodeSetParams", "cuGraphExecMemcpyNodeSetParams")

CHANGE(change_copy, cuGraphMemcpyNodeSetParams, cuGraphExecMemcpyNodeSetParams)

static PyObject *set_memcpy(PyObject *self, PyObject *node, PyObject *const *given)
{
    Target target;
    GraphCopy copy;
    if (read_target(&target, self, node, "cuGraphMemcpyNodeSetParams", "cuGraphExecMemcpyNodeSetParams") < 0
        || graph_read_copy(target.state, given, &copy) < 0)
        return NULL;
    PyObject *done = change_and_keep(&target, change_copy, &copy.shape, copy.objects, 2);
    graph_copy_clear(&copy);
    return done;
}

METHODS(set_memcpy, 3)

DOCS(set_memset, "dest, data, size, itemsize=4", "Change what a fill writes", GRAPH_FILL,
     "cuGraphMemsetNodeSetParams", "cuGraphExecMemsetNodeSetParams")

CHANGE(change_fill, cuGraphMemsetNodeSetParams, cuGraphExecMemsetNodeSetParams)

static PyObject *set_memset(PyObject *self, PyObject *node, PyObject *const *given)
{
    Target target;
    CUDA_MEMSET_NODE_PARAMS fill;
    if (read_target(&target, self, node, "cuGraphMemsetNodeSetParams", "cuGraphExecMemsetNodeSetParams") < 0
        || graph_read_fill(target.state, given, &fill) < 0)
        return NULL;
    return change_and_keep(&target, change_fill, &fill, given, 1);
}

METHODS(set_memset, 4)

/* ---- Events ---- */

DOCS(set_event, "evt", "Change the event that a node records or waits for", "evt : Event\n",
     "cuGraphEventRecordNodeSetEvent, cuGraphEventWaitNodeSetEvent",
     "cuGraphExecEventRecordNodeSetEvent, cuGraphExecEventWaitNodeSetEvent")

static CUresult change_event(const Target *target, const void *params)
{
    CUevent event = *(const CUevent *)params;
    CUgraphNodeType type;
    CUgraphNode node = target->node->handle;
    CUresult result = try_cuGraphNodeGetType(target->state, node, &type);
    if (result != CUDA_SUCCESS) return result;
    bool records = type == CU_GRAPH_NODE_TYPE_EVENT_RECORD; /* if not, the driver checks that it waits */
    if (!target->exec)
        return records ? try_cuGraphEventRecordNodeSetEvent(target->state, node, event)
                       : try_cuGraphEventWaitNodeSetEvent(target->state, node, event);
    CUgraphExec exec = target->exec->handle;
    return records ? try_cuGraphExecEventRecordNodeSetEvent(target->state, exec, node, event)
                   : try_cuGraphExecEventWaitNodeSetEvent(target->state, exec, node, event);
}

static PyObject *set_event(PyObject *self, PyObject *node, PyObject *const *given)
{
    Target target;
    if (read_target(&target, self, node, "cuGraphEventWaitNodeSetEvent", "cuGraphExecEventWaitNodeSetEvent")
        < 0)
        return NULL;
    if (!convert_check_type(given[0], target.state->Event_type, "evt")) return NULL;
    if (!context_check(event_cast(given[0])->context, target.routine)) return NULL;
    return change_and_keep(&target, change_event, &event_cast(given[0])->handle, given, 1);
}

METHODS(set_event, 1)

/* ---- Host functions ---- */

PyDoc_STRVAR(node_set_host_doc,
             "set_host($self, function, /, *args)\n--\n\n"
             "Let a node call another function. What was instantiated before stays as it is.\n"
             "\nParameters\n----------\n"
             "function : callable\n    As of Stream.launch_host_func.\n"
             "*args : object\n    Its arguments.\n"
             "\nNotes\n-----\nCalls cuGraphHostNodeSetParams.");
PyDoc_STRVAR(exec_set_host_doc, "set_host($self, node, function, /, *args)\n--\n\n"
                                "Let a node call another function, from the next launch on.\n"
                                "\nParameters\n----------\n"
                                "node : GraphNode\n    Of the graph that this was made from.\n"
                                "function : callable\n    As of Stream.launch_host_func.\n"
                                "*args : object\n    Its arguments.\n"
                                "\nNotes\n-----\nCalls cuGraphExecHostNodeSetParams.");

static CUresult change_host(const Target *target, const void *params)
{
    CUgraphNode node = target->node->handle;
    return target->exec ? try_cuGraphExecHostNodeSetParams(target->state, target->exec->handle, node, params)
                        : try_cuGraphHostNodeSetParams(target->state, node, params);
}

static PyObject *set_host(PyObject *self, PyObject *node, PyObject *const *args, Py_ssize_t count)
{
    Target target;
    CUDA_HOST_NODE_PARAMS params;
    if (read_target(&target, self, node, "cuGraphHostNodeSetParams", "cuGraphExecHostNodeSetParams") < 0)
        return NULL;
    if (count < 1 || !PyCallable_Check(args[0]))
        return PyErr_Format(PyExc_TypeError, "set_host() takes a function and its arguments");
    PyObject *call =
        host_function_for_graph(target.state, args[0], args + 1, count - 1, &params.fn, &params.userData);
    if (!call) return NULL;
    PyObject *done = change_and_keep(&target, change_host, &params, &call, 1);
    Py_DECREF(call);
    return done;
}

static PyObject *node_set_host(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    return set_host(self, NULL, args, count);
}

static PyObject *exec_set_host(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    if (count < 1) return PyErr_Format(PyExc_TypeError, "set_host() takes a GraphNode and a function");
    return set_host(self, args[0], args + 1, count - 1);
}

/* ---- Of executable graphs only ---- */

PyDoc_STRVAR(set_child_doc,
             "set_child($self, node, child)\n--\n\n"
             "Let a node do what another graph of the same shape does, from the next launch on.\n"
             "\nParameters\n----------\n"
             "node : GraphNode\n    Of add_child.\n"
             "child : Graph\n"
             "\nNotes\n-----\nCalls cuGraphExecChildGraphNodeSetParams.");

static CUresult change_child(const Target *target, const void *params)
{
    CUgraph child = *(const CUgraph *)params;
    return try_cuGraphExecChildGraphNodeSetParams(target->state, target->exec->handle, target->node->handle,
                                                  child);
}

static PyObject *exec_set_child(PyObject *self, FAST_PARAMETERS)
{
    PyObject *node, *given;
    Target target;
    if (READ_ARGUMENTS(set_child_doc, INTO(&node), INTO_A(graph_exec_cast(self)->state->Graph_type, &given))
            < 0
        || read_target(&target, self, node, NULL, "cuGraphExecChildGraphNodeSetParams") < 0)
        return NULL;
    GraphObject *child = graph_cast(given);
    if (!graph_check(child, target.routine)) return NULL;
    PyObject *objects = Py_NewRef(graph_kept(child)->dict);
    PyObject *done = change_and_keep(&target, change_child, &child->handle, &objects, 1);
    Py_DECREF(objects);
    return done;
}

PyDoc_STRVAR(set_enabled_doc, "set_enabled($self, node, enabled)\n--\n\n"
                              "Let a node do its work or nothing, from the next launch on.\n"
                              "\nParameters\n----------\n"
                              "node : GraphNode\n    A kernel, a copy or a fill.\n"
                              "enabled : bool\n"
                              "\nNotes\n-----\nCalls cuGraphNodeSetEnabled.");

static CUresult change_enabled(const Target *target, const void *params)
{
    const unsigned *enabled = params;
    return try_cuGraphNodeSetEnabled(target->state, target->exec->handle, target->node->handle, *enabled);
}

static PyObject *exec_set_enabled(PyObject *self, FAST_PARAMETERS)
{
    PyObject *node;
    bool given;
    Target target;
    if (READ_ARGUMENTS(set_enabled_doc, INTO(&node), INTO(&given)) < 0
        || read_target(&target, self, node, NULL, "cuGraphNodeSetEnabled") < 0)
        return NULL;
    const unsigned enabled = given;
    return none_or_raise(target.state, apply_change(&target, change_enabled, &enabled), target.routine);
}

PyDoc_STRVAR(is_enabled_doc, "is_enabled($self, node)\n--\n\n"
                             "Whether a node does its work.\n"
                             "\nParameters\n----------\n"
                             "node : GraphNode\n    A kernel, a copy or a fill.\n"
                             "\nReturns\n-------\nbool\n"
                             "\nNotes\n-----\nCalls cuGraphNodeGetEnabled.");

static CUresult read_enabled(const Target *target, const void *params)
{
    unsigned *enabled = *(unsigned *const *)params;
    return try_cuGraphNodeGetEnabled(target->state, target->exec->handle, target->node->handle, enabled);
}

static PyObject *exec_is_enabled(PyObject *self, FAST_PARAMETERS)
{
    PyObject *node;
    Target target;
    unsigned enabled = 0, *out = &enabled;
    if (READ_ARGUMENTS(is_enabled_doc, INTO(&node)) < 0
        || read_target(&target, self, node, NULL, "cuGraphNodeGetEnabled") < 0)
        return NULL;
    CUresult result = apply_change(&target, read_enabled, &out);
    return result == CUDA_SUCCESS ? PyBool_FromLong(enabled != 0)
                                  : raise_driver(target.state, result, target.routine, NULL);
}

/* ---- The methods ---- */

#define SETTER(of, name) {#name, AS_METHOD(of##_##name), FAST_KEYWORDS, of##_##name##_doc}
PyMethodDef graph_node_set_methods[] = {
    SETTER(node, set_memcpy), SETTER(node, set_memset),
    SETTER(node, set_event),  {"set_host", AS_METHOD(node_set_host), METH_FASTCALL, node_set_host_doc},
    {NULL, NULL, 0, NULL},
};

PyMethodDef graph_exec_set_methods[] = {
    SETTER(exec, set_memcpy),
    SETTER(exec, set_memset),
    SETTER(exec, set_event),
    {"set_host", AS_METHOD(exec_set_host), METH_FASTCALL, exec_set_host_doc},
    {"set_child", AS_METHOD(exec_set_child), FAST_KEYWORDS, set_child_doc},
    {"set_enabled", AS_METHOD(exec_set_enabled), FAST_KEYWORDS, set_enabled_doc},
    {"is_enabled", AS_METHOD(exec_is_enabled), FAST_KEYWORDS, is_enabled_doc},
    {NULL, NULL, 0, NULL},
};
