/* Objects that captured work uses: they live as long as the graph.
 *
 * Whatever queues work notes here, by the stream, what the work needs. Where that stream is captured the
 * objects go to the graph's own dict, and nothing else is to be done about them: no event is recorded,
 * nothing waits.
 */
#ifndef EXT_BASE_CAPTURED_H
#define EXT_BASE_CAPTURED_H

#include "core/capture_mode.h"
#include "ext/base/ext.h"

/* What a graph's work uses. Graphs and what was made of them share a dict: a
 * caller that changes it first makes its own copy (captured_own). */
typedef struct KeptObjects {
    PyObject *dict; /* owned */
    unsigned long edition; /* another one whenever something may have left the dict */
} KeptObjects;

/* A capture that Python code began, or one of others that was noticed; in ModuleState.captured while it
 * lasts. With the GIL. */
typedef struct Captured {
    struct Captured *next;
    bool foreign; /* of others: there is no notice of its end */
    unsigned long long id; /* the driver's */
    CUstream stream; /* where it began */
    PyObject *before; /* owned Event: after what was queued there before; NULL when there is none */
    PyObject *graph; /* borrowed: what `kept` is in, held as long as the capture lasts */
    KeptObjects *kept; /* in the graph: its objects, by their addresses */
    const char *culprit; /* the first driver call that was refused because of captures, or NULL */
    CUresult refusal; /* of the culprit */
    unsigned long culprit_thread;
} Captured;

/* Whether there is any: one load. */
static inline bool captured_some(const ModuleState *state) { return state->captured != NULL; }

void captured_open(ModuleState *state, Captured *captured);
/* False when it was closed before. */
bool captured_close(ModuleState *state, Captured *captured);

/* captured_foreign.c. Captures that others begin, by calls of the driver, are not reported, and no launch
 * asks for them. This does, at `with stream:`, for streams of others, and where memory for the work is at
 * stake: from then on such a capture is one in the list, and its graph, and what is made of that, keeps what
 * the work uses. object: the stream's, whose handle that is. Whether the stream is captured; -1 with an
 * exception. */
int captured_notice(ModuleState *state, PyObject *object, CUstream stream);
/* Closes those that have ended; whether any is left. */
bool captured_last(ModuleState *state);

/* Whether the stream is captured, by this module or by other code. */
bool captured_is(ModuleState *state, CUstream stream);

/* Whether work on the stream would be captured, or end a capture: it cannot be put in order with others. */
bool captured_holds(ModuleState *state, CUstream stream);
/* An event after the work that was queued on a captured stream before; a new reference, or NULL. */
PyObject *captured_before(ModuleState *state, CUstream stream);

/* Waits for all work of the current context, which may be lent, before something else is done there. Where a
 * capture is known it does not end that. *routine: the call that failed. */
CUresult captured_wait_for_context(ModuleState *state, const char **routine);

/* core/capture_mode.h, whether captures are known or not; failures are reported. */
void captured_relax_any(ModuleState *state, CaptureMode *mode);
void captured_restore_any(ModuleState *state, CaptureMode *mode);
/* The same around Python code that makes what graphs keep: where there are captures that are known. */
void captured_relax(ModuleState *state, CaptureMode *mode);
void captured_restore(ModuleState *state, CaptureMode *mode);

/* Keeps the objects (each may be NULL) if the stream is captured: 1. 0 when it is not; -1 with an
 * exception. */
int captured_keep_objects(ModuleState *state, CUstream stream, PyObject *const *objects, Py_ssize_t count);

static inline int captured_keep(ModuleState *state, CUstream stream, PyObject *const *objects,
                                Py_ssize_t count)
{
    return captured_some(state) ? captured_keep_objects(state, stream, objects, count) : 0;
}

/* Those of a new graph. -1 with an exception. */
int captured_new(KeptObjects *kept);
/* Replaces a shared dict by a copy. -1 with an exception. */
int captured_own(KeptObjects *kept);
int captured_put(KeptObjects *kept, PyObject *object);
unsigned long captured_new_edition(void);

/* A driver call failed with this result. */
void captured_note_failure(ModuleState *state, CUresult result, const char *routine);
/* What ended the capture (NULL: whichever is known to have been ended), and what to do about it. */
void captured_tell_end(const ModuleState *state, const Captured *captured, char *text, size_t size);

/* The capture in which the driver says that a stream takes part; 0 when there is none. graph may be NULL. */
unsigned long long captured_ask(ModuleState *state, CUstream stream, CUgraph *graph);
#define CAPTURED_BROKEN ((unsigned long long)-1) /* one that can only end in an error */
#define CAPTURED_LEGACY ((unsigned long long)-2) /* of the legacy stream: one that it would wait for */

#endif
