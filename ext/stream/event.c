/* Events: points in a stream that can be waited for and whose distance in time can be asked. */
#include "ext/base/deferred.h"
#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/convert/buffers.h"
#include "ext/convert/convert.h"
#include "ext/stream/stream.h"

PyDoc_STRVAR(event_doc, "Event(flags=0)\n--\n\n"
                        "A point in a stream's work, to wait for and to take times between.\n\n"
                        "It belongs to the current context. ``await event`` waits for it in a coroutine\n"
                        "of asyncio while others go on.\n"
                        "\nParameters\n----------\n"
                        "flags : event_flags\n"
                        "\nNotes\n-----\n"
                        "Calls cuEventCreate.");

static PyObject *event_tp_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    ModuleState *state = state_of_type(type);
    unsigned flags = 0;
    if (READ_CALL(event_doc, INTO(&flags)) < 0) return NULL;
    PyObject *self = owner_new(state, type);
    if (!self) return NULL;
    event_cast(self)->untimed = flags & CU_EVENT_DISABLE_TIMING;
    CUresult result = try_cuEventCreate(state, &event_cast(self)->handle, flags);
    return owner_finish(self, result, "cuEventCreate", &state->live_Event);
}

static void destroy_event(PyObject *self)
{
    EventObject *event = event_cast(self);
    LIVE_LESS(event->state, Event);
    RELEASE_IN_CONTEXT(event->context, once, cuEventDestroy, event->handle);
}

static void event_dealloc(PyObject *self) { owner_dealloc(self, event_dealloc, destroy_event); }

PyDoc_STRVAR(record_doc, "record($self, stream=None)\n--\n\n"
                         "Record the end of the work now queued on a stream.\n"
                         "\nParameters\n----------\n"
                         "stream : Stream\n"
                         "\nReturns\n-------\n"
                         "Event\n    Itself.\n"
                         "\nNotes\n-----\n"
                         "Calls cuEventRecord.");

static PyObject *event_record(PyObject *self, FAST_PARAMETERS)
{
    EventObject *event = event_cast(self);
    PyObject *given[1];
    CUstream stream;
    if (convert_arguments(record_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || convert_stream(event->state, stream_or_current(event->state, given[0]), &stream) < 0
        || !context_check(event->context, "cuEventRecord"))
        return NULL;
    if (gpu_cuEventRecord(event->state, event->handle, stream) < 0) return NULL;
    event->recorded = true;
    return Py_NewRef(self);
}

PyDoc_STRVAR(synchronize_doc, "synchronize($self)\n--\n\n"
                              "Wait for the work that the event recorded.\n"
                              "\nReturns\n-------\n"
                              "Event\n    Itself.\n"
                              "\nRaises\n------\n"
                              "LaunchError, LogicError\n    Work failed.\n"
                              "\nNotes\n-----\n"
                              "Calls cuEventSynchronize.");

static PyObject *event_synchronize(PyObject *self, PyObject *Py_UNUSED(none))
{
    EventObject *event = event_cast(self);
    if (!context_check(event->context, "cuEventSynchronize")) return NULL;
    CUresult result = try_cuEventSynchronize(event->state, event->handle);
    deferred_release(event->state);
    if (result != CUDA_SUCCESS) return raise_driver(event->state, result, "cuEventSynchronize", NULL);
    return PyErr_CheckSignals() < 0 ? NULL : Py_NewRef(self);
}

PyDoc_STRVAR(query_doc, "query($self)\n--\n\n"
                        "Ask whether the work that the event recorded is done.\n"
                        "\nReturns\n-------\n"
                        "bool\n"
                        "\nRaises\n------\n"
                        "LaunchError, LogicError\n    Work failed.\n"
                        "\nNotes\n-----\n"
                        "Calls cuEventQuery.");

static PyObject *event_query(PyObject *self, PyObject *Py_UNUSED(none))
{
    EventObject *event = event_cast(self);
    if (!context_check(event->context, "cuEventQuery")) return NULL;
    CUresult result = try_cuEventQuery(event->state, event->handle);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY)
        return raise_driver(event->state, result, "cuEventQuery", NULL);
    return PyBool_FromLong(result == CUDA_SUCCESS);
}

/* Why there is no time between two events; NULL when that cannot be seen from here. */
static const char *explain_elapsed(const EventObject *start, const EventObject *end, CUresult result)
{
    if (result == CUDA_ERROR_NOT_READY)
        return "an event's work is not finished: call synchronize() of the later event first";
    if (result != CUDA_ERROR_INVALID_HANDLE && result != CUDA_ERROR_INVALID_VALUE) return NULL;
    if (start->untimed || end->untimed) return "an event was made with event_flags.DISABLE_TIMING";
    if (!start->recorded || !end->recorded) return "an event was never recorded: call record() first";
    return contexts_share_memory(start->context, end->context) ? NULL
                                                               : "the events belong to different contexts";
}

EventObject *event_read(ModuleState *state, PyObject *value, const char *what, const char *routine)
{
    bool usable = convert_check_type(value, state->Event_type, what)
                  && context_check(event_cast(value)->context, routine);
    return usable ? event_cast(value) : NULL;
}

static PyObject *elapsed_between(ModuleState *state, PyObject *first, PyObject *second)
{
    const EventObject *start = event_read(state, first, "event", "cuEventElapsedTime");
    const EventObject *end = start ? event_read(state, second, "event", "cuEventElapsedTime") : NULL;
    float milliseconds;
    if (!end) return NULL;
    CUresult result = try_cuEventElapsedTime(state, &milliseconds, start->handle, end->handle);
    if (result == CUDA_SUCCESS) return PyFloat_FromDouble(milliseconds);
    const char *why = explain_elapsed(start, end, result);
    return raise_driver(state, result, "cuEventElapsedTime", why ? "%s" : NULL, why);
}

#define TIME_DOC(name, event, what) \
    name "($self, " event ")\n--\n\n" what "\n" \
         "\nParameters\n----------\n" event " : Event\n" \
         "\nReturns\n-------\nfloat\n    Milliseconds.\n" \
         "\nRaises\n------\n" \
         "LogicError\n    One was never recorded, has no timing, or is not finished.\n" \
         "\nNotes\n-----\nCalls cuEventElapsedTime."

PyDoc_STRVAR(time_since_doc, TIME_DOC("time_since", "start_event", "Time from another event to this one."));
PyDoc_STRVAR(time_till_doc, TIME_DOC("time_till", "end_event", "Time from this event to another one."));

static PyObject *event_time_since(PyObject *self, FAST_PARAMETERS)
{
    PyObject *other;
    if (READ_ARGUMENTS(time_since_doc, INTO(&other)) < 0) return NULL;
    return elapsed_between(event_cast(self)->state, other, self);
}

static PyObject *event_time_till(PyObject *self, FAST_PARAMETERS)
{
    PyObject *other;
    if (READ_ARGUMENTS(time_till_doc, INTO(&other)) < 0) return NULL;
    return elapsed_between(event_cast(self)->state, self, other);
}

PyDoc_STRVAR(ipc_handle_doc, "ipc_handle($self)\n--\n\n"
                             "Make the handle that another process gives to from_ipc_handle.\n"
                             "\nReturns\n-------\n"
                             "bytearray\n"
                             "\nNotes\n-----\n"
                             "Calls cuIpcGetEventHandle.");

static PyObject *event_ipc_handle(PyObject *self, PyObject *Py_UNUSED(none))
{
    EventObject *event = event_cast(self);
    CUipcEventHandle handle;
    if (!context_check(event->context, "cuIpcGetEventHandle")) return NULL;
    return gpu_cuIpcGetEventHandle(event->state, &handle, event->handle) < 0
               ? NULL
               : PyByteArray_FromStringAndSize((const char *)&handle, sizeof handle);
}

PyDoc_STRVAR(from_ipc_handle_doc, "from_ipc_handle($type, handle)\n--\n\n"
                                  "Open an event of another process.\n"
                                  "\nParameters\n----------\n"
                                  "handle : bytes or bytearray\n    What ipc_handle() returned there.\n"
                                  "\nReturns\n-------\n"
                                  "Event\n"
                                  "\nNotes\n-----\n"
                                  "Calls cuIpcOpenEventHandle.");

static PyObject *event_from_ipc_handle(PyObject *cls, FAST_PARAMETERS)
{
    PyTypeObject *type = (PyTypeObject *)cls;
    ModuleState *state = state_of_type(type);
    PyObject *value;
    CUipcEventHandle bytes;
    if (READ_ARGUMENTS(from_ipc_handle_doc, INTO(&value)) < 0
        || buffers_copy_exactly(state, value, "handle", "an event's IPC handle", &bytes, sizeof bytes) < 0)
        return NULL;
    PyObject *self = owner_new(state, type);
    if (!self) return NULL;
    CUresult result = try_cuIpcOpenEventHandle(state, &event_cast(self)->handle, bytes);
    return owner_finish(self, result, "cuIpcOpenEventHandle", &state->live_Event);
}

static PyMethodDef event_methods[] = {
    {"record", AS_METHOD(event_record), FAST_KEYWORDS, record_doc},
    {"synchronize", event_synchronize, METH_NOARGS, synchronize_doc},
    {"query", event_query, METH_NOARGS, query_doc},
    {"time_since", AS_METHOD(event_time_since), FAST_KEYWORDS, time_since_doc},
    {"time_till", AS_METHOD(event_time_till), FAST_KEYWORDS, time_till_doc},
    {"ipc_handle", event_ipc_handle, METH_NOARGS, ipc_handle_doc},
    {"from_ipc_handle", AS_METHOD(event_from_ipc_handle), FAST_KEYWORDS | METH_CLASS, from_ipc_handle_doc},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef event_members[] = {
    {"handle", T_ULONGLONG, offsetof(EventObject, handle), READONLY, "The CUevent as an int."},
    {NULL, 0, 0, 0, NULL},
};

static PyObject *event_repr(PyObject *self)
{
    const EventObject *event = event_cast(self);
    return context_repr_of(self, event->context, event->handle, event->untimed ? ", without timing" : "");
}

const TypeSpec Event_spec = {
    TYPE_WITH_WEAK_REFERENCES("pycuda.driver.Event", EventObject, Py_TPFLAGS_BASETYPE, event_doc),
    .tp_new = event_tp_new,
    .tp_dealloc = event_dealloc,
    .tp_repr = event_repr,
    .am_await = stream_await,
    TYPE_TABLES(event_methods, NULL, event_members),
};
