/* Objects that captured work uses: they live as long as the graph.
 *
 * Code that queues work on a stream reports here which objects the work needs. If the stream is captured they
 * are added to the graph's dict, and the caller has nothing else to do for them: no event is recorded, and
 * nothing waits.
 */
#ifndef EXT_BASE_CAPTURED_H
#define EXT_BASE_CAPTURED_H

#include "core/capture_mode.h"
#include "ext/base/ext.h"

/* The objects that a graph's work uses. A graph, its copies and its executables share a dict: a caller that
 * changes it makes a copy first (captured_own). */
typedef struct KeptObjects {
    PyObject *dict; /* owned */
    unsigned long version; /* changes whenever an object may have been removed from the dict */
} KeptObjects;

/* A capture that Python code began, or that of other code if it was noticed. In ModuleState.captured while it
 * lasts. Guarded by the GIL. */
typedef struct Captured {
    struct Captured *next;
    bool foreign; /* begun by other code, which does not report its end: captured_close_ended() finds out */
    unsigned long long id; /* the driver's number of it */
    CUstream stream; /* on which it began */
    PyObject *before; /* owned Event after the work queued there before the capture; NULL for none */
    PyObject *graph; /* borrowed; contains `kept`, and lives as long as the capture */
    KeptObjects *kept; /* the graph's objects, by their addresses */
    const char *refused_call; /* the first driver call that was refused because of captures, or NULL */
    CUresult refusal; /* the result of refused_call */
    unsigned long refused_thread; /* the PyThread_get_thread_ident() of the thread that made it */
} Captured;

/* Whether any capture is known. Costs one load. */
static inline bool captured_some(const ModuleState *state) { return state->captured != NULL; }

/* Adds the capture to the list of captures, or removes it. captured_close(): false when it was not in the
 * list. */
void captured_open(ModuleState *state, Captured *captured);
bool captured_close(ModuleState *state, Captured *captured);

/* captured_foreign.c. A capture that other code begins by driver calls is not reported, and launches do not
 * ask the driver for it. This function asks, at `with stream:`, for foreign streams, and where memory for the
 * work must be kept alive. From then on the capture is in the list, and its graph, and whatever is made of
 * that, keeps the objects that its work uses. `object` is the Python object of the stream. 1 when the stream
 * is captured, 0 when it is not, -1 with an exception. */
int captured_notice(ModuleState *state, PyObject *object, CUstream stream);
/* Closes the foreign captures that have ended. True when any capture, foreign or not, is left. */
bool captured_close_ended(ModuleState *state);

/* Whether the stream is captured, by this module or by other code. */
bool captured_is(ModuleState *state, CUstream stream);

/* As captured_is(), but true also for the legacy stream if it would wait for a captured one: work there would
 * end the capture. In both cases work on the stream cannot be ordered after work of other streams. */
bool captured_holds(ModuleState *state, CUstream stream);
/* The event after the work that was queued on the stream before the known capture that began there; a new
 * reference, or NULL without an exception. */
PyObject *captured_before(ModuleState *state, CUstream stream);

/* Waits for all work of the current context, which may be current by context_lend() only. While captures are
 * known it waits in a way that ends none of them. *routine: the driver function that gave the result. */
CUresult captured_wait_for_context(ModuleState *state, const char **routine);

/* capture_mode_relax() and capture_mode_restore() of core/capture_mode.h, whether or not captures are known.
 * Failures are reported. */
void captured_relax_any(ModuleState *state, CaptureMode *mode);
void captured_restore_any(ModuleState *state, CaptureMode *mode);
/* As captured_relax_any() and captured_restore_any(), but nothing is done when no capture is known. For
 * Python code that makes objects which graphs keep. */
void captured_relax(ModuleState *state, CaptureMode *mode);
void captured_restore(ModuleState *state, CaptureMode *mode);

/* Adds the objects, each of which may be NULL, to the dict of the stream's capture. 1 when the stream is
 * captured, 0 when it is not, -1 with an exception. */
int captured_keep_objects(ModuleState *state, CUstream stream, PyObject *const *objects, Py_ssize_t count);

static inline int captured_keep(ModuleState *state, CUstream stream, PyObject *const *objects,
                                Py_ssize_t count)
{
    return captured_some(state) ? captured_keep_objects(state, stream, objects, count) : 0;
}

/* Makes the dict of a new graph. -1 with an exception. */
int captured_new(KeptObjects *kept);
/* Replaces a shared dict by a copy. -1 with an exception. */
int captured_own(KeptObjects *kept);
/* Adds an object to the dict, which keeps it. -1 with an exception. */
int captured_put(KeptObjects *kept, PyObject *object);
/* A new number for KeptObjects.version: no dict has or had it. */
unsigned long captured_new_version(void);

/* Called when a driver call failed. Notes the call if it failed because of captures. */
void captured_note_failure(ModuleState *state, CUresult result, const char *routine);

/* Writes which call ended the capture, and what to do about it. captured NULL: describes the first known
 * capture in which a call was refused. */
void captured_describe_end(const ModuleState *state, const Captured *captured, char *text, size_t size);

/* Asks the driver in which capture a stream takes part; 0 for none. graph may be NULL. */
unsigned long long captured_query(ModuleState *state, CUstream stream, CUgraph *graph);
#define CAPTURED_BROKEN ((unsigned long long)-1) /* one that can only end in an error */
#define CAPTURED_LEGACY ((unsigned long long)-2) /* of the legacy stream: one that it would wait for */

#endif
