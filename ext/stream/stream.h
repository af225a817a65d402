/* Streams and events, and the objects that work in flight still needs. */
#ifndef EXT_STREAM_STREAM_H
#define EXT_STREAM_STREAM_H

#include "ext/context/context.h"

typedef struct StreamObject {
    PyObject_HEAD
    ModuleState *state;
    ContextObject *context;     /* held */
    CUstream handle;
    bool non_blocking;          /* not ordered with the legacy default stream */
    PyObject *weak_references;
} StreamObject;

typedef struct EventObject {
    PyObject_HEAD
    ModuleState *state;
    ContextObject *context;     /* held */
    CUevent handle;
    PyObject *weak_references;
} EventObject;

static inline StreamObject *stream_cast(PyObject *object) { return (StreamObject *)object; }

static inline EventObject *event_cast(PyObject *object) { return (EventObject *)object; }

/* Stream.launch_host_func (host_function.c). */
PyObject *stream_launch_host_func(PyObject *self, PyObject *const *args, Py_ssize_t count);

#endif
