/* Releases that wait for a moment in which they may be made.
 *
 * The driver calls Python functions (host_function.c) from a thread in which it takes no calls. And while a
 * stream is captured, a release could end the capture: its calls may be forbidden to every thread by the
 * capture's mode, may wait, or may release a stream that takes part. An object that dies or is freed at
 * such a time is put into a list of the module. After a host function another thread releases it: the main
 * thread as soon as it executes Python code, or the first thread that makes an object of this module, waits,
 * or queues a host function. After a capture, the end of the last capture does. Until then the object counts
 * as alive.
 *
 * So every tp_dealloc that calls the driver begins with deferred_dealloc, and every free() goes through
 * deferred_free.
 */
#ifndef EXT_BASE_DEFERRED_H
#define EXT_BASE_DEFERRED_H

#include "ext/base/captured.h"
#include "ext/base/errors.h"

/* Whether releases are deferred now. */
static inline bool deferred_is_due(const ModuleState *state)
{
    return host_function_runs() || captured_some(state);
}

/* True when releases are deferred now: dealloc(self) is called later, and the object keeps its memory and
 * what it owns until then. False, and nothing is done, otherwise. The caller has cleared the weak references
 * to the object, and the garbage collector does not track it anymore. */
bool deferred_dealloc_here(ModuleState *state, destructor dealloc, PyObject *self);
static inline bool deferred_dealloc(ModuleState *state, destructor dealloc, PyObject *self)
{
    return deferred_is_due(state) && deferred_dealloc_here(state, dealloc, self);
}

/* release(self) now or later; the object lives until then. */
void deferred_free(ModuleState *state, destructor release, PyObject *self);

/* A Py_DECREF in two steps, for a thread that does not have the GIL and may not wait for it. deferred_new,
 * with the GIL, allocates the entry of the list and steals a reference to the object; NULL with MemoryError,
 * and then it steals none. deferred_post, without the GIL, puts the entry into the list. */
struct Deferred *deferred_new(ModuleState *state, PyObject *object);
void deferred_post(ModuleState *state, struct Deferred *entry);

/* Releases everything in the list, unless it still has to wait. Python code may run. */
void deferred_release_all(ModuleState *state);
static inline void deferred_release(ModuleState *state)
{
    if (state->deferred) deferred_release_all(state);
}

#endif
