/* Device memory from a pool: a DeviceAllocation whose memory goes back to the pool.
 *
 * It belongs to a stream, and returns to the pool after the work of that stream. The user may name the
 * stream; else it is the first on which the memory is used, and the default stream before. Launches, copies
 * and fills note on which other streams it is used: these, too, wait for the memory's previous use, and the
 * memory returns after their work as well. Code that only gets the address as a number is not noticed.
 */
#ifndef EXT_MEMORY_POOLED_ALLOCATION_H
#define EXT_MEMORY_POOLED_ALLOCATION_H

#include "ext/base/captured.h"
#include "ext/memory/device_memory.h"
#include "ext/memory/pool.h"

/* A new allocation of `size` bytes (0 is allowed) for a stream. handle: the stream's; stream: its object,
 * None or NULL if none was named. Consumes a reference to the pool, also on failure. NULL with an exception.
 */
PyObject *pooled_allocation_new(MemoryPool *pool, size_t size, PyObject *stream, CUstream handle);

/* The stream that the memory belongs to: NULL for the default one, and for what is not from a pool. The
 * allocation may be NULL. */
CUstream pooled_stream(const DeviceAllocationObject *allocation);
/* Notes that work which uses the memory may be queued on a stream whose end is not noticed. At its end the
 * memory is then freed by the driver, which waits for all work, and not held by the pool. The allocation may
 * be NULL or from no pool. */
void pooled_lend(DeviceAllocationObject *allocation);
/* *out: the i-th other stream on which the memory was used. False when there are not so many. */
bool pooled_used_stream(const DeviceAllocationObject *allocation, int i, CUstream *out);

/* pooled_note() without its first, cheap test: notes in each object that is memory of a pool that work on
 * this stream is about to use it. If the stream is captured, the graph keeps the objects instead. Each may
 * be NULL. -1 with an exception. */
int pooled_note_objects(ModuleState *state, PyObject *const *objects, Py_ssize_t count, PyObject *stream,
                        CUstream handle);

/* As pooled_note_objects(), for one allocation of any kind. */
int pooled_note_allocation(DeviceAllocationObject *allocation, PyObject *stream, CUstream handle);

/* Whether the object's memory is from a pool. It returns there after the work that was noted, so the object
 * need not be kept alive until then. */
bool pooled_check(ModuleState *state, PyObject *object);

/* Whether any pooled allocation lives. Costs one load. */
static inline bool pooled_in_use(ModuleState *state)
{
    return atomic_load_explicit(&state->live_PooledDeviceAllocation, memory_order_relaxed) != 0;
}

/* Called before work that uses the objects is queued. See pooled_note_objects(). Costs two loads as long as
 * there is neither a pooled allocation nor a capture. */
static inline int pooled_note(ModuleState *state, PyObject *const *objects, Py_ssize_t count,
                              PyObject *stream, CUstream handle)
{
    if (!pooled_in_use(state) && !captured_some(state)) return 0;
    return pooled_note_objects(state, objects, count, stream, handle);
}

#endif
