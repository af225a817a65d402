/* Memory that work in another context than its own uses: of another context of the device, managed memory,
 * memory of a device with peer access.
 *
 * Within a context, work on the default stream and on streams that follow it is done in the order of the
 * program. The default streams of two contexts know nothing of each other. So an allocation remembers on
 * which streams of other contexts it was used. Work in a context waits, by events, for what was queued where
 * the memory was used before; the memory is freed, or given to others, after the work of all of them.
 *
 * A stream that does not follow its context's default stream waits for the work of the memory's earlier owner
 * only: as within a context, the program says what comes first. */
#ifndef EXT_MEMORY_ELSEWHERE_H
#define EXT_MEMORY_ELSEWHERE_H

#include "ext/memory/device_memory.h"

/* Whether memory may be used in another context than its own. Costs one load. */
static inline bool elsewhere_is_possible(const ModuleState *state) { return state->living_contexts > 1; }

/* The context that work on this stream is in, a new reference. NULL with an exception. */
ContextObject *elsewhere_find_context(ModuleState *state, PyObject *stream, CUstream handle);

/* Called before work that uses the memory is queued on a stream of the context. stream: its Python object, or
 * NULL. 0 if that is the memory's own context: the caller then does what a pool needs. 1 if not, and the
 * stream waits for what comes first. -1 with an exception. */
int elsewhere_note(DeviceAllocationObject *allocation, ContextObject *context, PyObject *stream,
                   CUstream handle);

/* As elsewhere_note(), for the default stream of the thread's current context, if it has one. */
int elsewhere_note_current(DeviceAllocationObject *allocation);

/* Makes streams of the memory's own context wait for all work elsewhere: the default one, that of a pool, and
 * this one. The allocation may be NULL. -1 with an exception. */
int elsewhere_return_all(DeviceAllocationObject *allocation, CUstream stream);
static inline int elsewhere_return(DeviceAllocationObject *allocation, CUstream stream)
{
    return allocation && allocation->elsewhere ? elsewhere_return_all(allocation, stream) : 0;
}

/* For a release: makes this stream of the memory's context wait for all work elsewhere. Reports failures. */
void elsewhere_end_all(DeviceAllocationObject *allocation, CUstream stream);
static inline void elsewhere_end(DeviceAllocationObject *allocation, CUstream stream)
{
    if (allocation->elsewhere) elsewhere_end_all(allocation, stream);
}

/* Nothing waits for the work elsewhere anymore. */
void elsewhere_forget(DeviceAllocationObject *allocation);

#endif
