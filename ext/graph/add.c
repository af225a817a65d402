/* Graph's methods that add nodes. */
#include "ext/graph/graph.h"

#include "ext/convert/convert.h"
#include "ext/base/driver_calls.h"
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
    a.result = try_cuGraphAddEmptyNode(a.graph->state, &a.made, a.graph->handle, a.after, a.count);
    return graph_add_end(&a, "cuGraphAddEmptyNode", NULL, NULL);
}

PyDoc_STRVAR(add_child_doc, "add_child($self, child, depends_on=None)\n--\n\n"
                            "Add a node that does what a copy of another graph does.\n"
                            "\nParameters\n----------\n"
                            "child : Graph\n" GRAPH_AFTER GRAPH_GIVES "\nNotes\n-----\n"
                            "Calls cuGraphAddChildGraphNode.");

static PyObject *add_child(PyObject *self, FAST_PARAMETERS)
{
    PyObject *given, *depends_on;
    Adding a;
    ModuleState *state = graph_cast(self)->state;
    if (READ_ARGUMENTS(add_child_doc, INTO_A(state->Graph_type, &given), INTO(&depends_on)) < 0) return NULL;
    GraphObject *child = graph_cast(given);
    if (!graph_check(child, "cuGraphAddChildGraphNode")
        || graph_add_begin(&a, self, depends_on, "cuGraphAddChildGraphNode") < 0)
        return NULL;
    a.result = try_cuGraphAddChildGraphNode(state, &a.made, a.graph->handle, a.after, a.count, child->handle);
    if (a.result == CUDA_SUCCESS && graph_keep_all(a.graph, child) < 0) {
        PyMem_Free(a.after);
        return NULL;
    }
    return graph_add_end(&a, "cuGraphAddChildGraphNode", NULL, NULL);
}

typedef CUresult (*EventFn)(ModuleState *state, CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
                            size_t count, CUevent event);

static PyObject *add_event(PyObject *self, const char *signature, EventFn add, const char *routine,
                           FAST_PARAMETERS)
{
    Adding a;
    ModuleState *state = graph_cast(self)->state;
    PyObject *evt, *depends_on;
    if (READ_ARGUMENTS(signature, INTO_A(state->Event_type, &evt), INTO(&depends_on)) < 0
        || !context_check(event_cast(evt)->context, routine)
        || graph_add_begin(&a, self, depends_on, routine) < 0)
        return NULL;
    a.result = add(state, &a.made, a.graph->handle, a.after, a.count, event_cast(evt)->handle);
    return graph_add_end(&a, routine, evt, NULL);
}

#define EVENT_NODE(name, routine, does) \
    PyDoc_STRVAR(name##_doc, #name "($self, evt, depends_on=None)\n--\n\n" does "\n" \
                                   "\nParameters\n----------\n" \
                                   "evt : Event\n" GRAPH_AFTER GRAPH_GIVES "\nNotes\n-----\n" \
                                   "Calls " #routine "."); \
    static PyObject *name(PyObject *self, FAST_PARAMETERS) \
    { \
        return add_event(self, name##_doc, try_##routine, #routine, args, arg_count, keywords); \
    }
EVENT_NODE(add_event_record, cuGraphAddEventRecordNode,
           "Add a node that records an event, for work outside the graph to wait for.")
EVENT_NODE(add_event_wait, cuGraphAddEventWaitNode, "Add a node that waits for an event that others record.")

PyDoc_STRVAR(add_memset_doc, "add_memset($self, dest, data, size, itemsize=4, depends_on=None)\n--\n\n"
                             "Add a node that fills memory.\n"
                             "\nParameters\n----------\n" GRAPH_FILL GRAPH_AFTER GRAPH_GIVES
                             "\nNotes\n-----\nCalls cuGraphAddMemsetNode.");

static PyObject *add_memset(PyObject *self, FAST_PARAMETERS)
{
    PyObject *given[5];
    Adding a;
    ModuleState *state = graph_cast(self)->state;
    CUDA_MEMSET_NODE_PARAMS fill;
    if (convert_arguments(add_memset_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || graph_read_fill(state, given, &fill) < 0
        || graph_add_begin(&a, self, given[4], "cuGraphAddMemsetNode") < 0)
        return NULL;
    a.result = try_cuGraphAddMemsetNode(state, &a.made, a.graph->handle, a.after, a.count, &fill,
                                        a.graph->context->handle);
    return graph_add_end(&a, "cuGraphAddMemsetNode", given[0], NULL);
}

PyDoc_STRVAR(add_memcpy_doc, "add_memcpy($self, dest, src, size=None, depends_on=None)\n--\n\n"
                             "Add a node that copies memory.\n"
                             "\nParameters\n----------\n" GRAPH_COPY GRAPH_AFTER GRAPH_GIVES
                             "\nNotes\n-----\nCalls cuGraphAddMemcpyNode.");

static PyObject *add_memcpy(PyObject *self, FAST_PARAMETERS)
{
    PyObject *given[4], *node = NULL;
    ModuleState *state = graph_cast(self)->state;
    GraphCopy copy;
    Adding a;
    if (convert_arguments(add_memcpy_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || graph_read_copy(state, given, &copy) < 0)
        return NULL;
    if (graph_add_begin(&a, self, given[3], "cuGraphAddMemcpyNode") == 0) {
        a.result = try_cuGraphAddMemcpyNode(state, &a.made, a.graph->handle, a.after, a.count, &copy.shape,
                                            a.graph->context->handle);
        node = graph_add_end(&a, "cuGraphAddMemcpyNode", copy.objects[0], copy.objects[1]);
    }
    graph_copy_clear(&copy);
    return node;
}

/* *after: the argument depends_on, the only keyword of add_host; unchanged if it is not given. -1 with
 * TypeError for another keyword. */
static int read_after(PyObject *const *values, PyObject *names, PyObject **after)
{
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        if (PyUnicode_CompareWithASCIIString(name, "depends_on") != 0) {
            PyErr_Format(PyExc_TypeError, "add_host() got an unexpected keyword argument '%U'", name);
            return -1;
        }
        *after = values[i];
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
    PyObject *after = NULL;
    Adding a;
    if (read_after(args + arg_count, keywords, &after) < 0) return NULL;
    if (arg_count < 1 || !PyCallable_Check(args[0]))
        return PyErr_Format(PyExc_TypeError, "add_host() takes a function and its arguments");
    if (graph_add_begin(&a, self, after, "cuGraphAddHostNode") < 0) return NULL;
    PyObject *call =
        host_function_for_graph(state, args[0], args + 1, arg_count - 1, &params.fn, &params.userData);
    if (!call) {
        PyMem_Free(a.after);
        return NULL;
    }
    a.result = try_cuGraphAddHostNode(state, &a.made, a.graph->handle, a.after, a.count, &params);
    PyObject *node = graph_add_end(&a, "cuGraphAddHostNode", call, NULL);
    Py_DECREF(call);
    return node;
}

PyMethodDef graph_add_methods[] = {
    {"add_kernel", AS_METHOD(graph_add_kernel), FAST_KEYWORDS, graph_add_kernel_doc},
    {"add_memcpy", AS_METHOD(add_memcpy), FAST_KEYWORDS, add_memcpy_doc},
    {"add_memset", AS_METHOD(add_memset), FAST_KEYWORDS, add_memset_doc},
    {"add_host", AS_METHOD(add_host), FAST_KEYWORDS, add_host_doc},
    {"add_child", AS_METHOD(add_child), FAST_KEYWORDS, add_child_doc},
    {"add_event_record", AS_METHOD(add_event_record), FAST_KEYWORDS, add_event_record_doc},
    {"add_event_wait", AS_METHOD(add_event_wait), FAST_KEYWORDS, add_event_wait_doc},
    {"add_empty", AS_METHOD(add_empty), FAST_KEYWORDS, add_empty_doc},
    {NULL, NULL, 0, NULL},
};
