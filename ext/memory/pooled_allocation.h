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

/* `size` bytes (0 is allowed) on a stream, which is None or NULL, or was converted to this handle. Consumes a
 * reference to the pool, also on failure. NULL with an exception. */
PyObject *pooled_allocation_new(MemoryPool *pool, size_t size, PyObject *stream, CUstream handle);

/* The stream that the memory belongs to: NULL for the default one, and for what is not from a pool. The
 * allocation may be NULL. */
CUstream pooled_stream(const DeviceAllocationObject *allocation);
/* Work that uses it may be queued on a stream whose end is not reported: the memory is not used again
 * but freed by the driver, which waits. The allocation may be NULL or not of a pool. */
void pooled_lend(DeviceAllocationObject *allocation);
/* The i-th other stream that it was used on. False when there are not that many. */
bool pooled_used_stream(const DeviceAllocationObject *allocation, int i, CUstream *out);

/* Work on this stream is about to be queued that uses the objects, of which each may be NULL. -1 with an
 * exception. Call pooled_note. */
int pooled_note_objects(ModuleState *state, PyObject *const *objects, Py_ssize_t count, PyObject *stream,
                        CUstream handle);

/* As pooled_note_objects(), for one allocation of any kind. */
int pooled_note_allocation(DeviceAllocationObject *allocation, PyObject *stream, CUstream handle);

/* Whether the object's memory is a pool's, freed after the work that is noted: it need not be kept alive
 * for that. */
bool pooled_check(ModuleState *state, PyObject *object);

/* One load. */
static inline bool pooled_in_use(ModuleState *state)
{
    return atomic_load_explicit(&state->live_PooledDeviceAllocation, memory_order_relaxed) != 0;
}

/* Costs that load as long as no pool is used. */
static inline int pooled_note(ModuleState *state, PyObject *const *objects, Py_ssize_t count,
                              PyObject *stream, CUstream handle)
{
    if (!pooled_in_use(state) && !captured_some(state)) return 0;
    return pooled_note_objects(state, objects, count, stream, handle);
}

#endif
