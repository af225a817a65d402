/* Streams and events, and the objects that work in flight still needs. */
#ifndef EXT_STREAM_STREAM_H
#define EXT_STREAM_STREAM_H

#include "ext/context/owner.h"

typedef struct StreamObject {
    OWNER_HEAD
    bool non_blocking;          /* not ordered with the legacy default stream */
    CUstream handle;
} StreamObject;

typedef struct EventObject {
    OWNER_HEAD
    bool recorded;              /* record() was called */
    bool untimed;               /* made with DISABLE_TIMING */
    CUevent handle;
} EventObject;

static inline StreamObject *stream_cast(PyObject *object) { return (StreamObject *)object; }

static inline EventObject *event_cast(PyObject *object) { return (EventObject *)object; }

/* current.c. *out: the handle of a Stream or of an object with __cuda_stream__; None and NULL are the legacy
 * default stream. -1 with an exception. */
int convert_stream(ModuleState *state, PyObject *value, CUstream *out);

/* event.c: the argument as an Event, borrowed. NULL with TypeError when it is none, or with LogicError when
 * its context is gone. what: the parameter's name; routine: the driver function to be called. */
EventObject *event_read(ModuleState *state, PyObject *value, const char *what, const char *routine);

/* The stream of the innermost `with` block of this thread, borrowed. NULL when there is none, or when it
 * belongs to another context than the current one. */
PyObject *stream_of_block(ModuleState *state);

/* The stream that an argument `stream` means, borrowed. None and NULL, a missing argument, mean
 * stream_of_block() if there is one, else they are returned. Costs one load where there is no block. */
static inline PyObject *stream_or_current(ModuleState *state, PyObject *given)
{
    if ((given && given != Py_None) || !atomic_load_explicit(&state->streams_entered, memory_order_relaxed))
        return given;
    PyObject *current = stream_of_block(state);
    return current ? current : given;
}

/* Makes a stream, which may be another library's, the current one for a call. Returns a token for
 * stream_pop(), which follows the call in any case. NULL with an exception. */
PyObject *stream_push(ModuleState *state, PyObject *stream);
void stream_pop(ModuleState *state, PyObject *token);

/* await.c: __await__ of streams and events. NULL with an exception. */
PyObject *stream_await(PyObject *self);

/* current.c: Stream.__enter__ and __exit__. */
PyObject *stream_with_enter(PyObject *self, PyObject *none);
PyObject *stream_with_exit(PyObject *self, PyObject *const *exception, Py_ssize_t count);

/* Stream.green_context (green.c). */
PyObject *stream_get_green_context(PyObject *self, void *closure);

/* Stream.launch_host_func (host_function.c). */
PyObject *stream_launch_host_func(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* As stream_launch_host_func(), for a node of a graph, which calls the function at each launch. *call and
 * *data: what the node's host function is to be, called as (*call)(*data). The result is a new reference to
 * the object that keeps *data alive; NULL with an exception. */
PyObject *host_function_for_graph(ModuleState *state, PyObject *function, PyObject *const *args,
                                  Py_ssize_t count, CUhostFn *call, void **data);

#endif
