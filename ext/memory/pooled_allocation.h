/* Device memory from a pool: a DeviceAllocation whose memory goes back to the pool.
 *
 * The allocation belongs to a stream, and returns to the pool after the work of that stream. The user may
 * name the stream; otherwise it is the first one on which the memory is used, and before that the default
 * stream. Launches, copies and fills note on which other streams the memory is used: these streams wait for
 * the memory's previous use as well, and the memory returns after their work. Code that only gets the address
 * as a number is not noticed. */
#ifndef EXT_MEMORY_POOLED_ALLOCATION_H
#define EXT_MEMORY_POOLED_ALLOCATION_H

#include "ext/base/captured.h"
#include "ext/memory/device_memory.h"
#include "ext/memory/elsewhere.h"
#include "ext/memory/pool.h"

/* A new allocation of `size` bytes (0 is allowed) for a stream. stream: its Python object, None or NULL if
 * none was named; handle: its handle. Takes over a reference to the pool, also on failure. NULL with an
 * exception. */
PyObject *pooled_allocation_new(MemoryPool *pool, size_t size, PyObject *stream, CUstream handle);

/* The stream that the memory belongs to. NULL for the default stream, and for an allocation that is NULL,
 * freed or from no pool. */
CUstream pooled_stream(const DeviceAllocationObject *allocation);
/* Notes that work which uses the memory may be queued on a stream whose end is not noticed. When the
 * allocation ends, the memory is then not held by the pool but freed after all work of the context. The
 * allocation may be NULL or from no pool. */
void pooled_lend(DeviceAllocationObject *allocation);
/* Whether there is earlier work on the memory: of another owner, a copy, its allocation on a stream. */
bool pooled_had_owner(const DeviceAllocationObject *allocation);
/* *out: the i-th other stream on which the memory was used. False when there are not so many. */
bool pooled_used_stream(const DeviceAllocationObject *allocation, int i, CUstream *out);

/* For new memory, after a copy from elsewhere was queued on its stream, which no user knows. Streams that use
 * the memory from now on, as pooled_note() reports, wait for that copy. Uses by address are not reported: so
 * the default stream waits when the address is read first (pooled_expose). *done: the event after the copy,
 * valid as long as the memory is not freed. -1 with an exception. */
int pooled_arrives(DeviceAllocationObject *allocation, CUevent *done);

/* For a copy to elsewhere: the event of pooled_arrives(), which the copy has to wait for as it is not ordered
 * after the memory's stream. The caller makes that stream wait for the copy. NULL for all other memory; the
 * allocation may be NULL. */
CUevent pooled_pass_on(DeviceAllocationObject *allocation);

/* Called before the address is given to code that may use it without pooled_note(), on the current context's
 * default stream, as far as is known; the allocation may be NULL. -1 with an exception. */
int pooled_expose_slowly(DeviceAllocationObject *allocation);
static inline int pooled_expose(DeviceAllocationObject *allocation)
{
    bool is_due = allocation && (allocation->arriving || elsewhere_is_possible(allocation->state));
    return is_due ? pooled_expose_slowly(allocation) : 0;
}

/* pooled_note() without its first, cheap test: notes in each object that is memory of a pool that work on
 * this stream is about to use it. If the stream is captured the graph keeps the objects instead. An object
 * may be NULL. -1 with an exception. */
int pooled_note_objects(ModuleState *state, PyObject *const *objects, Py_ssize_t count, PyObject *stream,
                        CUstream handle);

/* As pooled_note_objects(), for one allocation of any kind. */
int pooled_note_allocation(DeviceAllocationObject *allocation, PyObject *stream, CUstream handle);

/* Whether the object's memory returns to its pool after the work that was noted, so that the object need not
 * be kept alive until then. */
bool pooled_is_ordered(ModuleState *state, PyObject *object);

/* Whether the memory is a pool's, all work on it that is known was queued on this stream of this context, and
 * only `references` references to the allocation are left: nothing else can use the memory. */
bool pooled_is_used_by_one(const DeviceAllocationObject *allocation, Py_ssize_t references,
                           const ContextObject *context, CUstream stream);

/* Whether any pooled allocation lives. Costs one load. */
static inline bool pooled_in_use(ModuleState *state)
{
    return atomic_load_explicit(&state->live_PooledDeviceAllocation, memory_order_relaxed) != 0;
}

/* Whether work has to be noted: there is a pooled allocation, a capture, or a second context. Costs three
 * loads at most. */
static inline bool pooled_is_due(ModuleState *state)
{
    return pooled_in_use(state) || captured_some(state) || elsewhere_is_possible(state);
}

/* Called before work that uses the objects is queued. See pooled_note_objects(). */
static inline int pooled_note(ModuleState *state, PyObject *const *objects, Py_ssize_t count,
                              PyObject *stream, CUstream handle)
{
    if (!pooled_is_due(state)) return 0;
    return pooled_note_objects(state, objects, count, stream, handle);
}

#endif
