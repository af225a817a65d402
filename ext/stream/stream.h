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
    bool recorded, untimed;     /* by record(); made with DISABLE_TIMING */
    CUevent handle;
} EventObject;

static inline StreamObject *stream_cast(PyObject *object) { return (StreamObject *)object; }

static inline EventObject *event_cast(PyObject *object) { return (EventObject *)object; }

/* current.c. None or NULL is the legacy default stream; Stream; objects with __cuda_stream__. */
int convert_stream(ModuleState *state, PyObject *value, CUstream *out);

/* event.c: the Event that a parameter is, borrowed. NULL with TypeError, or with LogicError when its context
 * is gone. */
EventObject *event_read(ModuleState *state, PyObject *value, const char *what, const char *routine);

/* What a `stream` argument says: where it is None or missing (NULL) the stream of the innermost `with` block,
 * if that belongs to the current context; else what was given. Borrowed. One load where there is no block. */
PyObject *stream_of_block(ModuleState *state);

static inline PyObject *stream_or_current(ModuleState *state, PyObject *given)
{
    if ((given && given != Py_None) || !atomic_load_explicit(&state->streams_entered, memory_order_relaxed))
        return given;
    PyObject *current = stream_of_block(state);
    return current ? current : given;
}

/* Makes a stream, or another library's, the current one for a call: what stream_pop() takes, whatever became
 * of the call. NULL with an exception. */
PyObject *stream_push(ModuleState *state, PyObject *stream);
void stream_pop(ModuleState *state, PyObject *token);

/* await.c: what `await` takes of a stream and an event. NULL with an exception. */
PyObject *stream_await(PyObject *self);

/* current.c: Stream.__enter__ and __exit__. */
PyObject *stream_with_enter(PyObject *self, PyObject *none);
PyObject *stream_with_exit(PyObject *self, PyObject *const *exception, Py_ssize_t count);

/* Stream.green_context (green.c). */
PyObject *stream_get_green_context(PyObject *self, void *closure);

/* Stream.launch_host_func (host_function.c). */
PyObject *stream_launch_host_func(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* As stream_launch_host_func(), for a graph, which calls it at each launch: what the driver is to call, with
 * what, and the object that keeps it (a new reference; NULL with an exception). */
PyObject *host_function_for_graph(ModuleState *state, PyObject *function, PyObject *const *args,
                                  Py_ssize_t count, CUhostFn *call, void **data);

#endif
