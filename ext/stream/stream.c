/* See stream.h. */
#include "ext/stream/stream.h"

#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/context/keep_alive.h"
#include "ext/convert/convert.h"

PyDoc_STRVAR(stream_doc,
             "Stream(flags=0, priority=None)\n--\n\n"
             "A queue of work that runs in order, in the current context.\n\n"
             "Host buffers and device objects of copies queued on it stay alive until the stream is\n"
             "next found idle, by synchronize() or is_done(), or by later copies. ``with stream:``\n"
             "makes it the current stream of a block, ``await stream`` waits in a coroutine of\n"
             "asyncio while others go on.\n"
             "\nParameters\n----------\n"
             "flags : stream_flags\n"
             "priority : int\n    The lower number has priority; None is the default, 0.\n"
             "\nNotes\n-----\n"
             "Calls cuStreamCreate, cuStreamCreateWithPriority.");

static PyObject *stream_tp_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    ModuleState *state = state_of_type(type);
    PyObject *priority_object;
    unsigned flags = 0;
    int priority = 0;
    if (READ_CALL(stream_doc, INTO(&flags), INTO(&priority_object)) < 0) return NULL;
    bool has_priority = priority_object && priority_object != Py_None;
    if (has_priority && convert_int(priority_object, "priority", &priority) < 0) return NULL;
    PyObject *self = owner_new(state, type);
    if (!self) return NULL;
    StreamObject *stream = stream_cast(self);
    CUresult result = has_priority ? try_cuStreamCreateWithPriority(state, &stream->handle, flags, priority)
                                   : try_cuStreamCreate(state, &stream->handle, flags);
    stream->non_blocking = flags & CU_STREAM_NON_BLOCKING;
    if (result == CUDA_SUCCESS && stream->non_blocking) wait_note_stream(state);
    return owner_finish(self, result, has_priority ? "cuStreamCreateWithPriority" : "cuStreamCreate",
                        &state->live_Stream);
}

static void destroy_stream(PyObject *self)
{
    StreamObject *stream = stream_cast(self);
    ContextScope scope;
    LIVE_LESS(stream->state, Stream);
    keep_alive_seal_stream(stream->state, stream->context, stream->handle);
    /* If a pool could not note the stream's end, it would use the handle again: then the stream is leaked. */
    if (!stream->state->stream_gone(stream->context, stream->handle)
        || !context_enter_scope(stream->context, &scope))
        return;
    queue_stream_destroyed(stream->state, stream->handle);
    CUresult result = once_cuStreamDestroy(stream->state, stream->handle);
    context_leave_scope(&scope);
    report_driver(stream->state, result, "cuStreamDestroy");
}

static void stream_dealloc(PyObject *self) { owner_dealloc(self, stream_dealloc, destroy_stream); }

PyDoc_STRVAR(synchronize_doc, "synchronize($self)\n--\n\n"
                              "Wait until all work on the stream is done.\n"
                              "\nRaises\n------\n"
                              "LaunchError, LogicError\n    Work failed.\n"
                              "\nNotes\n-----\n"
                              "Calls cuStreamSynchronize.");

/* Calls cuStreamSynchronize or cuStreamQuery. If that says that the stream is idle, what its work kept alive
 * is released. */
static CUresult call_and_release(StreamObject *stream, CUresult (*call)(ModuleState *state, CUstream handle))
{
    struct KeepBatch *kept = keep_alive_take(stream->state, stream->context, stream->handle);
    CUresult result = call(stream->state, stream->handle);
    keep_alive_finish(stream->state, kept, result == CUDA_SUCCESS);
    return result;
}

static PyObject *stream_synchronize(PyObject *self, PyObject *Py_UNUSED(none))
{
    StreamObject *stream = stream_cast(self);
    if (!context_check(stream->context, "cuStreamSynchronize")) return NULL;
    CUresult result = call_and_release(stream, try_cuStreamSynchronize);
    if (result != CUDA_SUCCESS) return raise_driver(stream->state, result, "cuStreamSynchronize", NULL);
    return none_unless(PyErr_CheckSignals() < 0);
}

PyDoc_STRVAR(is_done_doc, "is_done($self)\n--\n\n"
                          "Ask whether all work on the stream is done.\n"
                          "\nReturns\n-------\n"
                          "bool\n"
                          "\nRaises\n------\n"
                          "LaunchError, LogicError\n    Work failed.\n"
                          "\nNotes\n-----\n"
                          "Calls cuStreamQuery.");

static PyObject *stream_is_done(PyObject *self, PyObject *Py_UNUSED(none))
{
    StreamObject *stream = stream_cast(self);
    if (!context_check(stream->context, "cuStreamQuery")) return NULL;
    CUresult result = call_and_release(stream, try_cuStreamQuery);
    return result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY
               ? PyBool_FromLong(result == CUDA_SUCCESS)
               : raise_driver(stream->state, result, "cuStreamQuery", NULL);
}

PyDoc_STRVAR(wait_for_event_doc, "wait_for_event($self, evt)\n--\n\n"
                                 "Let work queued from now on wait for what an event last recorded.\n"
                                 "\nParameters\n----------\n"
                                 "evt : Event\n"
                                 "\nNotes\n-----\n"
                                 "Calls cuStreamWaitEvent.");

static PyObject *stream_wait_for_event(PyObject *self, FAST_PARAMETERS)
{
    StreamObject *stream = stream_cast(self);
    PyObject *evt;
    if (READ_ARGUMENTS(wait_for_event_doc, INTO(&evt)) < 0
        || !context_check(stream->context, "cuStreamWaitEvent"))
        return NULL;
    EventObject *event = event_read(stream->state, evt, "evt", "cuStreamWaitEvent");
    return event ? none_unless(gpu_cuStreamWaitEvent(stream->state, stream->handle, event->handle, 0)) : NULL;
}

static PyObject *stream_cuda_stream(PyObject *self, PyObject *Py_UNUSED(none))
{
    unsigned long long handle = (unsigned long long)(uintptr_t)stream_cast(self)->handle;
    return Py_BuildValue("(iK)", 0, handle);
}

static PyObject *stream_get_priority(PyObject *self, void *Py_UNUSED(closure))
{
    StreamObject *stream = stream_cast(self);
    int priority;
    if (!context_check(stream->context, "cuStreamGetPriority")) return NULL;
    return gpu_cuStreamGetPriority(stream->state, stream->handle, &priority) < 0 ? NULL
                                                                                 : PyLong_FromLong(priority);
}

static PyObject *stream_get_capturing(PyObject *self, void *Py_UNUSED(closure))
{
    StreamObject *stream = stream_cast(self);
    CUstreamCaptureStatus status;
    if (!context_check(stream->context, "cuStreamIsCapturing")) return NULL;
    return gpu_cuStreamIsCapturing(stream->state, stream->handle, &status) < 0
               ? NULL
               : PyBool_FromLong(status != CU_STREAM_CAPTURE_STATUS_NONE);
}

static PyObject *stream_get_flags(PyObject *self, void *Py_UNUSED(closure))
{
    StreamObject *stream = stream_cast(self);
    unsigned flags;
    if (!context_check(stream->context, "cuStreamGetFlags")) return NULL;
    return gpu_cuStreamGetFlags(stream->state, stream->handle, &flags) < 0 ? NULL
                                                                           : PyLong_FromUnsignedLong(flags);
}

PyDoc_STRVAR(launch_host_func_doc,
             "launch_host_func($self, function, /, *args)\n--\n\n"
             "Call a function when the work queued so far is done; later work waits for it.\n\n"
             "It is not called when work before it failed. What is queued when the program ends\n"
             "still runs.\n"
             "\nParameters\n----------\n"
             "function : callable\n"
             "    Runs in a thread of the driver's and may make no driver calls: they raise\n"
             "    LogicError. Exceptions go to sys.unraisablehook.\n"
             "*args : object\n    Its arguments.\n"
             "\nNotes\n-----\n"
             "Calls cuLaunchHostFunc. Objects that the function was the last to hold are released\n"
             "after it by another thread.");

static PyMethodDef stream_methods[] = {
    {"__enter__", stream_with_enter, METH_NOARGS,
     "__enter__($self)\n--\n\n"
     "Make it the current stream: within the block, what takes a stream and is given none\n"
     "uses this one, array operations and launches as well.\n"
     "\nReturns\n-------\n"
     "Stream\n    Itself."},
    {"__exit__", AS_METHOD(stream_with_exit), METH_FASTCALL,
     "__exit__($self, /, *exception)\n--\n\n"
     "Make the stream before it the current one. Waits for nothing.\n"
     "\nRaises\n------\n"
     "LogicError\n    It is not the current stream."},
    {"synchronize", stream_synchronize, METH_NOARGS, synchronize_doc},
    {"is_done", stream_is_done, METH_NOARGS, is_done_doc},
    {"wait_for_event", AS_METHOD(stream_wait_for_event), FAST_KEYWORDS, wait_for_event_doc},
    {"launch_host_func", AS_METHOD(stream_launch_host_func), METH_FASTCALL, launch_host_func_doc},
    {"add_callback", AS_METHOD(stream_launch_host_func), METH_FASTCALL,
     "add_callback($self, function, /, *args)\n--\n\n"
     "Another name of launch_host_func."},
    {"__cuda_stream__", stream_cuda_stream, METH_NOARGS,
     "__cuda_stream__($self)\n--\n\n"
     "The protocol by which libraries share streams.\n"
     "\nReturns\n-------\n"
     "(version, handle) : tuple of int\n    (0, the CUstream)."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef stream_members[] = {
    {"handle", T_ULONGLONG, offsetof(StreamObject, handle), READONLY, "The CUstream as an int."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef stream_properties[] = {
    {"priority", stream_get_priority, NULL, "The priority; lower numbers go first.", NULL},
    {"is_capturing", stream_get_capturing, NULL, "Whether it takes part in a capture.", NULL},
    {"green_context", stream_get_green_context, NULL, "The GreenContext that it was made in, or None.", NULL},
    {"flags", stream_get_flags, NULL, "The stream_flags it was made with.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyObject *stream_repr(PyObject *self)
{
    const StreamObject *stream = stream_cast(self);
    return context_repr_of(self, stream->context, stream->handle,
                           stream->non_blocking ? ", non-blocking" : "");
}

const TypeSpec Stream_spec = {
    TYPE_WITH_WEAK_REFERENCES("pycuda.driver.Stream", StreamObject, Py_TPFLAGS_BASETYPE, stream_doc),
    .tp_new = stream_tp_new,
    .tp_dealloc = stream_dealloc,
    .tp_repr = stream_repr,
    .am_await = stream_await,
    TYPE_TABLES(stream_methods, stream_properties, stream_members),
};
