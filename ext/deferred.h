/* Releases that wait for a thread that may make them.
 *
 * The driver calls Python functions (host_function.c) from a thread in which it takes no calls. What dies
 * there, by its last reference or through the garbage collector, or is freed there, is put into a list of
 * the module and released right after by another thread: the main thread, as soon as it executes Python
 * code, or the first that makes an object of ours, waits, or queues a host function. Until then it counts
 * as alive.
 *
 * So every tp_dealloc that calls the driver begins with deferred_dealloc, and every free() goes through
 * deferred_free.
 */
#ifndef EXT_DEFERRED_H
#define EXT_DEFERRED_H

#include "ext/errors.h"

/* In a thread that may call the driver false, and nothing is done. In a host function true: dealloc(self)
 * is called later, the object keeps its memory and what it owns until then. Weak references to it are
 * cleared and the collector does not track it any more before this is called. */
bool deferred_dealloc_here(ModuleState *state, destructor dealloc, PyObject *self);
static inline bool deferred_dealloc(ModuleState *state, destructor dealloc, PyObject *self)
{
    return host_function_runs() && deferred_dealloc_here(state, dealloc, self);
}

/* release(self) now or, in a host function, later; the object lives until then. */
void deferred_free(ModuleState *state, destructor release, PyObject *self);

/* Releases what was put off. Python code may run. Nothing happens in a host function. */
void deferred_release_all(ModuleState *state);
static inline void deferred_release(ModuleState *state)
{
    if (state->deferred) deferred_release_all(state);
}

#endif
