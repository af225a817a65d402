/* Releases that wait for a moment in which they may be made.
 *
 * The driver calls Python functions (host_function.c) from a thread in which it takes no calls. And while a
 * stream is captured, a release could end the capture: by a call that its mode forbids to every thread, by a
 * wait, or as that of a stream that takes part. What dies in either, by its last reference or through the
 * garbage collector, or is freed there, is put into a list of the module. It is released right after the
 * host function by another thread: the main thread, as soon as it executes Python code, or the first that
 * makes an object of ours, waits, or queues a host function; or at the end of the last capture. Until then
 * it counts as alive.
 *
 * So every tp_dealloc that calls the driver begins with deferred_dealloc, and every free() goes through
 * deferred_free.
 */
#ifndef EXT_BASE_DEFERRED_H
#define EXT_BASE_DEFERRED_H

#include "ext/base/captured.h"
#include "ext/base/errors.h"

/* Whether releases are put off now. */
static inline bool deferred_is_due(const ModuleState *state)
{
    return host_function_runs() || captured_some(state);
}

/* False, and nothing is done, when they are not. Else true: dealloc(self) is called later, the object keeps
 * its memory and what it owns until then. Weak references to it are cleared and the collector does not track
 * it anymore before this is called. */
bool deferred_dealloc_here(ModuleState *state, destructor dealloc, PyObject *self);
static inline bool deferred_dealloc(ModuleState *state, destructor dealloc, PyObject *self)
{
    return deferred_is_due(state) && deferred_dealloc_here(state, dealloc, self);
}

/* release(self) now or later; the object lives until then. */
void deferred_free(ModuleState *state, destructor release, PyObject *self);

/* A release that a thread asks for which does not have the GIL and may not wait for it: prepared before, with
 * the GIL, and takes the reference. NULL with MemoryError. */
struct Deferred *deferred_prepare(ModuleState *state, PyObject *object);
void deferred_post(ModuleState *state, struct Deferred *prepared);

/* Releases what was put off, unless it still has to wait. Python code may run. */
void deferred_release_all(ModuleState *state);
static inline void deferred_release(ModuleState *state)
{
    if (state->deferred) deferred_release_all(state);
}

#endif
