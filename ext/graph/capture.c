/* Stream.capture: the work queued on the stream in a `with` block becomes a graph. */
#include "ext/graph/graph.h"

#include "ext/base/deferred.h"
#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"
#include "ext/stream/stream.h"

typedef struct CaptureObject {
    PyObject_HEAD
    ModuleState *state;
    StreamObject *stream;       /* owned */
    PyObject *graph;            /* owned; NULL before a capture without a graph has begun */
    CUgraphNode *after;         /* owned: the nodes that the first captured nodes wait for */
    size_t after_count;
    CUstreamCaptureMode mode;
    bool open;                  /* between __enter__ and __exit__; then `captured` is in the list */
    Captured captured;
} CaptureObject;

static CaptureObject *capture_cast(PyObject *object) { return (CaptureObject *)object; }

PyDoc_STRVAR(
    capture_doc,
    "capture($self, mode='relaxed', graph=None, depends_on=None)\n--\n\n"
    "Capture what is queued on the stream: ``with stream.capture() as graph:``.\n\n"
    "Within the block it is the current stream, nothing runs, and what is queued on it becomes\n"
    "nodes of the graph. Other streams take part from when they wait for an event recorded in\n"
    "it; before the end it has to wait for an event of each of them. Afterwards all are\n"
    "ordinary streams again. The graph keeps what the work uses.\n"
    "\nParameters\n----------\n"
    "mode : str or stream_capture_mode\n"
    "    What else may be done meanwhile: with 'global' no thread, with 'thread_local' not this\n"
    "    thread may make calls that could disturb a capture, such as mem_alloc; with 'relaxed'\n"
    "    every call is made that is possible.\n"
    "graph : Graph\n    Where the nodes go; a new one without it.\n"
    "depends_on : GraphNode or iterable of them\n    Nodes of that graph which the work waits for.\n"
    "\nReturns\n-------\n"
    "StreamCapture\n    A context manager, whose ``with`` gives the Graph.\n"
    "\nRaises\n------\n"
    "LogicError\n"
    "    In the block: a call that cannot be captured, by its name. At its end: such a call was\n"
    "    made, or a stream that takes part was not waited for.\n"
    "\nNotes\n-----\n"
    "Calls cuStreamBeginCaptureToGraph, cuStreamEndCapture. What dies or is freed while something is\n"
    "captured, in whatever thread, is released after it.");

static int read_mode(PyObject *given, CUstreamCaptureMode *mode)
{
    static const char *const names[] = {"global", "thread_local", "relaxed"};
    unsigned number;
    *mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    if (!given) return 0;
    for (unsigned i = 0; i < 3 && PyUnicode_Check(given); i++)
        if (PyUnicode_CompareWithASCIIString(given, names[i]) == 0) {
            *mode = i;
            return 0;
        }
    if (!PyUnicode_Check(given)) {
        if (convert_unsigned(given, "mode", &number) < 0) return -1;
        *mode = number;
        if (number <= CU_STREAM_CAPTURE_MODE_RELAXED) return 0;
    }
    PyErr_Format(PyExc_ValueError, "mode must be 'global', 'thread_local' or 'relaxed', not %R", given);
    return -1;
}

/* Reads the arguments `graph` and `depends_on`. -1 with an exception. */
static int read_graph(CaptureObject *capture, PyObject *graph, PyObject *after)
{
    ModuleState *state = capture->state;
    if (!graph || graph == Py_None) {
        if (!after || after == Py_None) return 0;
        PyErr_SetString(PyExc_ValueError, "depends_on needs graph=, the graph that its nodes belong to");
        return -1;
    }
    if (!convert_check_type(graph, state->Graph_type, "graph")) return -1;
    capture->graph = Py_NewRef(graph);
    return graph_nodes_read(graph_cast(graph), after, "depends_on", &capture->after, &capture->after_count);
}

static PyObject *stream_capture(PyObject *self, FAST_PARAMETERS)
{
    ModuleState *state = stream_cast(self)->state;
    PyObject *given[3];
    CUstreamCaptureMode mode;
    if (convert_arguments(capture_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || read_mode(given[0], &mode) < 0)
        return NULL;
    CaptureObject *capture = capture_cast(state->StreamCapture_type->tp_alloc(state->StreamCapture_type, 0));
    if (!capture) return NULL;
    capture->state = state;
    capture->mode = mode;
    capture->stream = stream_cast(Py_NewRef(self));
    if (read_graph(capture, given[1], given[2]) == 0) return (PyObject *)capture;
    Py_DECREF((PyObject *)capture);
    return NULL;
}

/* ---- Beginning ---- */

/* Records captured.before, the event after the work that was queued before the capture. If that fails it is
 * NULL, and work that would have to wait for the event raises. -1 only with the exception of a signal's
 * handler. */
static int record_before(CaptureObject *capture)
{
    ModuleState *state = capture->state;
    CUstream stream = capture->stream->handle;
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    PyObject *event = PyObject_CallFunction((PyObject *)state->Event_type, "i", CU_EVENT_DISABLE_TIMING);
    if (event)
        result = try_cuEventRecord(state, event_cast(event)->handle, stream);
    else
        PyErr_Clear();
    if (result != CUDA_SUCCESS) Py_CLEAR(event);
    capture->captured.before = event;
    capture->captured.stream = stream;
    return PyErr_Occurred() ? -1 : 0;
}

/* Begins the capture in the driver, and reads its number, captured.id. */
static CUresult begin_capture(CaptureObject *capture)
{
    CUstream stream = capture->stream->handle;
    CUstreamCaptureStatus status;
    cuuint64_t id;
    CUresult result =
        try_cuStreamBeginCaptureToGraph(capture->state, stream, graph_cast(capture->graph)->handle,
                                        capture->after, NULL, capture->after_count, capture->mode);
    if (result != CUDA_SUCCESS) return result;
    result = once_cuStreamGetCaptureInfo(capture->state, stream, &status, &id, NULL, NULL, NULL, NULL);
    capture->captured.id = id;
    return result;
}

/* Makes capture->graph unless there is one. -1 with an exception. */
static int make_graph(CaptureObject *capture)
{
    ModuleState *state = capture->state;
    CUgraph handle;
    if (capture->graph) return 0;
    CUresult result = try_cuGraphCreate(state, &handle, 0);
    if (result != CUDA_SUCCESS)
        raise_driver(state, result, "cuGraphCreate", NULL);
    else
        capture->graph = graph_wrap(state, capture->stream->context, handle);
    return capture->graph ? 0 : -1;
}

static PyObject *capture_enter(PyObject *self, PyObject *Py_UNUSED(none))
{
    CaptureObject *capture = capture_cast(self);
    ModuleState *state = capture->state;
    CUresult result = CUDA_ERROR_NOT_READY;
    if (capture->open) return raise_logic(state, "this capture has already begun");
    if (!context_check(capture->stream->context, "cuStreamBeginCapture") || make_graph(capture) < 0
        || !graph_check(graph_cast(capture->graph), "cuStreamBeginCapture"))
        return NULL;
    PyObject *current = stream_with_enter((PyObject *)capture->stream, NULL);
    if (!current) return NULL;
    Py_DECREF(current);
    if (record_before(capture) == 0) result = begin_capture(capture);
    if (result == CUDA_SUCCESS) {
        capture->open = true;
        capture->captured.graph = capture->graph;
        capture->captured.kept = graph_kept(graph_cast(capture->graph));
        captured_open(state, &capture->captured);
        return Py_NewRef(capture->graph);
    }
    Py_CLEAR(capture->captured.before);
    raise_driver(state, result, "cuStreamBeginCaptureToGraph", NULL);
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    Py_XDECREF(stream_with_exit((PyObject *)capture->stream, NULL, 0));
    PyErr_Restore(type, value, trace);
    return NULL;
}

/* ---- Ending ---- */

static CUresult end_capture(CaptureObject *capture)
{
    CUgraph ignored = NULL;
    CUresult result = try_cuStreamEndCapture(capture->state, capture->stream->handle, &ignored);
    captured_close(capture->state, &capture->captured);
    Py_CLEAR(capture->captured.before);
    capture->open = false;
    /* After these results the driver has destroyed the graph. */
    if (result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED || result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
        graph_cast(capture->graph)->handle = NULL;
    deferred_release(capture->state);
    return result;
}

static PyObject *raise_end(CaptureObject *capture, CUresult result)
{
    char text[240]; /* enough for captured_describe_end() */
    if (result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) {
        captured_describe_end(capture->state, &capture->captured, text, sizeof text);
        return raise_driver(capture->state, result, "cuStreamEndCapture", "%s", text);
    }
    if (result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
        return raise_driver(
            capture->state, result, "cuStreamEndCapture",
            "join every stream that joined the capture: the stream must wait for an event recorded on each");
    return raise_driver(capture->state, result, "cuStreamEndCapture", NULL);
}

/* Ends the capture. If the block raised, that exception is propagated, and a failure of the end, which is its
 * consequence, is not raised. */
static PyObject *capture_exit(PyObject *self, PyObject *const *exception, Py_ssize_t count)
{
    CaptureObject *capture = capture_cast(self);
    if (!capture->open) return raise_logic(capture->state, "this capture has not begun");
    bool raised = count && exception[0] != Py_None;
    CUresult result = end_capture(capture);
    PyObject *left = stream_with_exit((PyObject *)capture->stream, NULL, 0);
    if (!left) return NULL;
    Py_DECREF(left);
    return raised || result == CUDA_SUCCESS ? Py_NewRef(Py_None) : raise_end(capture, result);
}

static void capture_dealloc(PyObject *self)
{
    CaptureObject *capture = capture_cast(self);
    PyTypeObject *type = Py_TYPE(self);
    if (host_function_runs() && deferred_dealloc_here(capture->state, capture_dealloc, self)) return;
    if (capture->open) end_capture(capture);
    Py_XDECREF((PyObject *)capture->stream);
    Py_XDECREF(capture->graph);
    PyMem_Free(capture->after);
    type->tp_free(self);
    Py_DECREF((PyObject *)type);
}

static PyMethodDef capture_methods[] = {
    {"__enter__", capture_enter, METH_NOARGS,
     "__enter__($self)\n--\n\n"
     "Begin, and make the stream the current one.\n"
     "\nReturns\n-------\nGraph"},
    {"__exit__", AS_METHOD(capture_exit), METH_FASTCALL,
     "__exit__($self, /, *exception)\n--\n\n"
     "End the capture.\n"
     "\nRaises\n------\nLogicError\n    Something in the block could not be captured."},
    {NULL, NULL, 0, NULL},
};

const TypeSpec StreamCapture_spec = {
    TYPE_OF("pycuda.driver.StreamCapture", CaptureObject, 0,
            "The context manager that Stream.capture returns."),
    .tp_dealloc = capture_dealloc,
    TYPE_TABLES(capture_methods, NULL, NULL),
};

PyDoc_STRVAR(is_captured_doc, "_is_captured(stream, /)\n--\n\n"
                              "Whether a stream is captured, by pycuda or other code.");

static PyObject *is_captured(PyObject *module, PyObject *stream)
{
    ModuleState *state = module_state(module);
    CUstream handle;
    if (launch_read_stream(state, stream, &handle) < 0) return NULL;
    int captured = captured_notice(state, stream, handle);
    return captured < 0 ? NULL : PyBool_FromLong(captured);
}

PyDoc_STRVAR(before_capture_doc,
             "_before_capture(stream, /)\n--\n\n"
             "The Event after what was queued on a stream before Stream.capture(); None when it is\n"
             "not captured by that.");

static PyObject *before_capture(PyObject *module, PyObject *stream)
{
    ModuleState *state = module_state(module);
    CUstream handle;
    if (!captured_some(state)) Py_RETURN_NONE;
    if (launch_read_stream(state, stream_or_current(state, stream), &handle) < 0) return NULL;
    PyObject *event = captured_before(state, handle);
    return event ? event : Py_NewRef(Py_None);
}

PyDoc_STRVAR(outside_captures_doc,
             "_outside_captures(function, /, *args)\n--\n\n"
             "Call a function that makes what captured work uses, with calls that the modes of\n"
             "captures forbid this thread.");

static PyObject *outside_captures(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    ModuleState *state = module_state(module);
    CaptureMode before;
    if (count < 1) return PyErr_Format(PyExc_TypeError, "_outside_captures takes a function");
    captured_relax(state, &before);
    PyObject *result = PyObject_Vectorcall(args[0], args + 1, (size_t)count - 1, NULL);
    captured_restore(state, &before);
    return result;
}

PyMethodDef graph_capture_functions[] = {
    {"_is_captured", is_captured, METH_O, is_captured_doc},
    {"_before_capture", before_capture, METH_O, before_capture_doc},
    {"_outside_captures", AS_METHOD(outside_captures), METH_FASTCALL, outside_captures_doc},
    {NULL, NULL, 0, NULL},
};

PyMethodDef stream_capture_methods[] = {
    {"capture", AS_METHOD(stream_capture), FAST_KEYWORDS, capture_doc},
    {NULL, NULL, 0, NULL},
};
