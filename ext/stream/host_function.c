/* Python functions that run on the host in a stream's order.
 *
 * The driver calls them from its own thread, which takes the GIL. So no thread may hold the GIL while it
 * waits for the driver: as long as functions are outstanding, every call releases it (driver_calls.h),
 * launches as well, since they wait when the queue is full. Within such a function the driver takes no calls:
 * they are refused with a message, and objects that die there are released by another thread (deferred.h).
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "ext/base/captured.h"
#include "ext/base/deferred.h"
#include "ext/base/driver_calls.h"
#include "ext/base/section.h"
#include "ext/context/keep_alive.h"
#include "ext/stream/stream.h"

static const char capsule_name[] = "pycuda._driver.HostCall";

/* A call that is queued. It has two owners: the driver, until it has made the call, and a capsule, which
 * lives until the stream is found idle, or failed, after the call. */
typedef struct HostCall {
    atomic_int owners; /* how many are left */
    ModuleState *state;
    PyObject *function, *arguments; /* owned; NULL once the capsule is gone */
    unsigned generation; /* 0 or 1: the item of host_generations that counts it */
    atomic_bool over; /* no longer counted as outstanding */
} HostCall;

/* Counts a call as no longer outstanding. Both owners call this: only the first call has an effect. */
static void count_as_done(HostCall *call)
{
    if (atomic_exchange(&call->over, true)) return;
    atomic_fetch_sub(&call->state->host_generations[call->generation], 1);
    atomic_fetch_sub(&call->state->host_functions, 1);
}

/* Ends the share of one owner; the last one frees the call. */
static void leave_call(HostCall *call)
{
    if (atomic_fetch_sub(&call->owners, 1) == 1) PyMem_RawFree(call);
}

/* The capsule's destructor. In a failed context the driver has not called the function, and will not. If it
 * does after all, call_in_python() finds no function. */
static void free_call(PyObject *capsule)
{
    HostCall *call = PyCapsule_GetPointer(capsule, capsule_name);
    if (!call) return;
    count_as_done(call);
    Py_CLEAR(call->function);
    Py_CLEAR(call->arguments);
    leave_call(call);
}

/* Calls the function with the GIL; its exception is reported. The call's own references may go meanwhile. */
static void call_function(HostCall *call)
{
    PyObject *function, *arguments;
    SECTION_BEGIN();
    function = Py_XNewRef(call->function);
    arguments = Py_XNewRef(call->arguments);
    SECTION_END();
    if (!function) return;
    PyObject *result = PyObject_CallObject(function, arguments);
    if (!result) PyErr_WriteUnraisable(function);
    Py_XDECREF(result);
    Py_DECREF(arguments);
    Py_DECREF(function);
}

/* Python before 3.14 ends a thread that asks for the interpreter after its end. This one has the driver's
 * frames on its stack, which are not to be unwound: it stays here, and the process ends without it. */
static void block_forever(void *Py_UNUSED(nothing))
{
    for (;;) pause();
}

/* Makes the call from a thread of the driver. */
static void call_in_python(HostCall *call)
{
    pthread_cleanup_push(block_forever, NULL);
    bool outer = host_function_enter();
    PyGILState_STATE interpreter = PyGILState_Ensure();
    call_function(call);
    PyGILState_Release(interpreter);
    host_function_leave(outer);
    pthread_cleanup_pop(0);
}

/* Called by the driver. The call is outstanding until PyGILState_Release() has returned, too: that may
 * delete the thread's state with its thread-local objects, whose code may release the GIL and take it again.
 */
static void run_call(void *data)
{
    HostCall *call = data;
    if (ext_is_finalizing()) return;
    call_in_python(call);
    count_as_done(call);
    leave_call(call);
}

/* Makes a HostCall, which counts as outstanding from now on. The result is its capsule, a new reference; *out
 * is the driver's share. NULL with an exception. */
static PyObject *new_call(ModuleState *state, PyObject *function, PyObject *const *args, Py_ssize_t count,
                          HostCall **out)
{
    HostCall *call = PyMem_RawCalloc(1, sizeof *call);
    if (!call) {
        PyErr_NoMemory();
        return NULL;
    }
    PyObject *arguments = PyTuple_New(count);
    PyObject *capsule = arguments ? PyCapsule_New(call, capsule_name, NULL) : NULL;
    if (!capsule) {
        Py_XDECREF(arguments);
        PyMem_RawFree(call);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) PyTuple_SET_ITEM(arguments, i, Py_NewRef(args[i]));
    *call = (HostCall){.owners = 2, .state = state, .function = Py_NewRef(function), .arguments = arguments};
    call->generation = state->host_generation % 2;
    atomic_fetch_add(&state->host_generations[call->generation], 1);
    atomic_fetch_add(&state->host_functions, 1);
    PyCapsule_SetDestructor(capsule, section_destructor(free_call));
    *out = call;
    return capsule;
}

/* ---- In graphs ---- */

/* The contents of a capsule. The graph keeps a tuple of the capsule, the function and the arguments, in which
 * the garbage collector finds cycles. While the GraphCall lives it counts as an outstanding host function, so
 * that every driver call releases the GIL. */
typedef struct GraphCall {
    ModuleState *state;
    PyObject *function, *arguments; /* borrowed: the tuple has them */
} GraphCall;

static const char graph_capsule_name[] = "pycuda._driver.GraphCall";

static void free_graph_call(PyObject *capsule)
{
    GraphCall *call = PyCapsule_GetPointer(capsule, graph_capsule_name);
    if (!call) return;
    atomic_fetch_sub(&call->state->host_functions, 1);
    PyMem_Free(call);
}

/* Called by the driver at each launch of the graph. */
static void run_graph_call(void *data)
{
    const GraphCall *call = data;
    if (ext_is_finalizing()) return;
    HostCall once = {.function = call->function, .arguments = call->arguments};
    call_in_python(&once);
}

/* A new capsule; *data: the GraphCall in it, for run_graph_call(). NULL with an exception. */
static PyObject *new_graph_capsule(ModuleState *state, PyObject *function, PyObject *arguments, void **data)
{
    GraphCall *call = PyMem_Calloc(1, sizeof *call);
    if (!call) return PyErr_NoMemory();
    PyObject *capsule = PyCapsule_New(call, graph_capsule_name, NULL);
    if (!capsule) {
        PyMem_Free(call);
        return NULL;
    }
    *call = (GraphCall){state, function, arguments};
    atomic_fetch_add(&state->host_functions, 1);
    PyCapsule_SetDestructor(capsule, free_graph_call);
    *data = call;
    return capsule;
}

PyObject *host_function_for_graph(ModuleState *state, PyObject *function, PyObject *const *args,
                                  Py_ssize_t count, CUhostFn *run, void **data)
{
    PyObject *arguments = PyTuple_New(count);
    if (!arguments) return NULL;
    for (Py_ssize_t i = 0; i < count; i++) PyTuple_SET_ITEM(arguments, i, Py_NewRef(args[i]));
    PyObject *capsule = new_graph_capsule(state, function, arguments, data);
    PyObject *kept = capsule ? PyTuple_Pack(3, capsule, function, arguments) : NULL;
    Py_XDECREF(capsule);
    Py_DECREF(arguments);
    *run = run_graph_call;
    return kept;
}

/* launch_host_func() on a stream under capture: the graph keeps the function. */
static PyObject *capture_host_func(ModuleState *state, CUstream stream, PyObject *const *args,
                                   Py_ssize_t count)
{
    CUhostFn run = NULL;
    void *data = NULL;
    CUresult result = CUDA_SUCCESS;
    PyObject *call = host_function_for_graph(state, args[0], args + 1, count - 1, &run, &data);
    if (!call) return NULL;
    int kept = captured_keep(state, stream, &call, 1);
    if (kept >= 0) result = try_cuLaunchHostFunc(state, stream, run, data);
    Py_DECREF(call);
    return kept < 0 ? NULL : none_or_raise(state, result, "cuLaunchHostFunc");
}

/* Queues a function, args[0], with the arguments that follow it, on a stream of the current context. `object`
 * is the Python object of `stream`, or NULL. */
static PyObject *launch_host_func(ModuleState *state, ContextObject *context, PyObject *object,
                                  CUstream stream, PyObject *const *args, Py_ssize_t count)
{
    HostCall *call;
    if (count < 1 || !PyCallable_Check(args[0]))
        return PyErr_Format(PyExc_TypeError, "launch_host_func takes a function and its arguments");
    deferred_release(state);
    if (!context_check(context, "cuLaunchHostFunc")) return NULL;
    int captured = captured_notice(state, object, stream);
    if (captured) return captured < 0 ? NULL : capture_host_func(state, stream, args, count);
    PyObject *capsule = new_call(state, args[0], args + 1, count - 1, &call);
    if (!capsule) return NULL;
    CUresult result = try_cuLaunchHostFunc(state, stream, run_call, call);
    if (result == CUDA_SUCCESS && keep_alive(state, context, stream, capsule, NULL) < 0)
        return NULL; /* the capsule is leaked: the driver is still to call the function */
    if (result != CUDA_SUCCESS) leave_call(call); /* the driver has taken no share */
    Py_DECREF(capsule);
    return none_or_raise(state, result, "cuLaunchHostFunc");
}

PyObject *stream_launch_host_func(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    StreamObject *stream = stream_cast(self);
    return launch_host_func(stream->state, stream->context, self, stream->handle, args, count);
}

PyDoc_STRVAR(launch_on_any_doc, "_launch_host_func(stream, function, /, *args)\n--\n\n"
                                "Stream.launch_host_func on a stream of any kind in the current context.\n"
                                "\nParameters\n----------\n"
                                "stream : Stream or None\n"
                                "function : callable\n"
                                "*args : object\n"
                                "\nNotes\n-----\n"
                                "Calls cuLaunchHostFunc.");

static PyObject *launch_on_any(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    ModuleState *state = module_state(module);
    CUstream stream;
    if (count < 1) return PyErr_Format(PyExc_TypeError, "_launch_host_func takes a stream first");
    PyObject *object = stream_or_current(state, args[0]);
    if (convert_stream(state, object, &stream) < 0) return NULL;
    ContextObject *context = context_current(state);
    if (!context) return NULL;
    PyObject *done = launch_host_func(state, context, object, stream, args + 1, count - 1);
    Py_DECREF(context);
    return done;
}

PyMethodDef host_function_functions[] = {
    {"_launch_host_func", AS_METHOD(launch_on_any), METH_FASTCALL, launch_on_any_doc},
    {NULL, NULL, 0, NULL},
};
