/* Memory pools as Python sees them.
 *
 *   MemoryPool              what blocks and pool objects share: the pool of core/pool.h and its context. It
 *                           counts its references itself and is not a Python object, so that allocations that
 *                           live in the dict of their own pool make no cycle.
 *   DeviceMemoryPool, ManagedMemoryPool (device_pool.c), StreamOrderedMemoryPool (ordered_pool.c),
 *   ExternalMemoryPool (external_pool.c), PageLockedMemoryPool (host_pool.c)      PoolObjects
 *   PooledDeviceAllocation  (pooled_allocation.c) a DeviceAllocation: one active block
 *   PooledHostAllocation    (host_pool.c) a HostPointer: one active block
 *
 * Every pool is in a list of the module (ModuleState.pools): when the driver has no more memory, all pools
 * of the device free what they hold.
 *
 * A pool of the driver (ordered_pool.c) must be destroyed before its context, and only when none of its
 * memory is in use or in flight: drivers need not survive anything else. So the last drop first waits for the
 * streams on which memory was freed, and the driver's pools that a context still has are destroyed just
 * before the context.
 *
 * A context may have a pool of its own, its default pool (default_pool.c), which ends when the context does.
 * Every reference to a pool holds the context as well, except the one that the context itself has.
 */
#ifndef EXT_MEMORY_POOL_H
#define EXT_MEMORY_POOL_H

#include "core/pool.h"
#include "ext/context/context.h"

typedef struct MemoryPool {
    atomic_long references;     /* gil_count */
    ModuleState *state;
    ContextObject *context;     /* held by each reference except the context's own */
    struct MemoryPool *next;    /* in ModuleState.pools */
    bool counted;               /* in live_MemoryPool: pools that users made, not default pools */
    PyObject *resource;         /* owned: the allocator of an ExternalMemoryPool, else NULL */
    Pool core;
} MemoryPool;

typedef struct PoolObject {
    PyObject_HEAD
    MemoryPool *pool;           /* a reference; NULL before __init__ */
    PyObject *weak_references;
} PoolObject;

static inline PoolObject *pool_cast(PyObject *object) { return (PoolObject *)object; }

/* The pool, borrowed; NULL with LogicError before __init__. */
MemoryPool *pool_of(PyObject *self);

/* The properties of a new pool. driver_pool becomes the pool's own, resource is borrowed; both may be NULL.
 */
typedef struct PoolForm {
    const PoolSource *source;
    unsigned flags; /* of the driver's function that allocates */
    unsigned bits; /* leading_bits_in_bin_id */
    CUmemoryPool driver_pool;
    PyObject *resource;
} PoolForm;

/* *bits: the argument leading_bits_in_bin_id; NULL is the default. -1 with an exception. */
int pool_read_bits(PyObject *value, unsigned *bits);

/* __init__ of all kinds: a pool in the current context. -1 with an exception. */
int pool_start(PyObject *self, const PoolForm *form);

/* A pool of the context, with one reference that does not hold it. NULL with an exception. */
MemoryPool *memory_pool_new(ContextObject *context, const PoolForm *form);

/* memory_pool_hold() and memory_pool_drop(): references to the pool, each of which holds the pool's context.
 * The last drop ends the pool. memory_pool_leave() drops the context's own reference, which does not hold the
 * context; if no user has made the pool, it holds no memory for reuse from then on. */
void memory_pool_hold(MemoryPool *pool);
void memory_pool_drop(MemoryPool *pool);
void memory_pool_leave(MemoryPool *pool);

/* memory_pool_release() frees the held blocks by `how`, an IN_CALL function of core/pool.h.
 * memory_pool_trim() frees the largest ones until the pool manages at most `keep` bytes, or holds none.
 * Nothing is freed in a forked child, where the pool's lock may be locked forever. */
void memory_pool_release(MemoryPool *pool, CUresult (*how)(Pool *, bool with_driver));
void memory_pool_trim(MemoryPool *pool, size_t keep);

/* default_pool.c: an allocation from the current context's default pool, which is made if there is none.
 * context: the current one, or NULL to ask for it. stream: see pool_stream(). NULL with an exception. */
PyObject *default_pool_allocate(ModuleState *state, ContextObject *context, size_t size, PyObject *stream);

/* device_pool.c: if the callable is the method `allocate` of a pool, allocates from it. 1 with *memory, a new
 * reference; 0 for other callables; -1 with an exception. */
int pool_allocate_if_pool_method(ModuleState *state, PyObject *allocate, size_t size, PyObject *stream,
                                 PyObject **memory);

/* external_pool.c: asks the resource of a pool for memory. Called in no scope. NULL with an exception. */
PoolBlock *external_memory_allocate(MemoryPool *pool, size_t size, CUstream stream);
/* Returns a block to the resource: if in_order after the work on the block's stream or before its event, else
 * after all work of the context. Called in no scope. Failures are reported. */
void external_memory_return(MemoryPool *pool, PoolBlock *block, bool in_order);

/* An active block for work on this stream. object: the stream's Python object, NULL for the default stream.
 * When the driver has no more memory, garbage is collected; then the pool releases its held blocks, the
 * largest first; then all other pools of the device release theirs. NULL with MemoryError or another
 * exception. */
PoolBlock *memory_pool_allocate(MemoryPool *pool, size_t size, PyObject *object, CUstream stream);

/* convert_stream() for a stream on which the pool's memory is to be used. LogicError (-1) when the stream
 * belongs to another context. */
int pool_stream(MemoryPool *pool, PyObject *stream, CUstream *out);

/* Raises MemoryError for a request beyond the pool's limit. Returns NULL. */
PoolBlock *memory_pool_raise_beyond_limit(MemoryPool *pool, size_t size);

/* Returns an active block to the pool. Failures are reported. */
void memory_pool_return(MemoryPool *pool, PoolBlock *block);

/* As memory_pool_return(), for a block whose last work is not known: the memory is freed, not held, after all
 * work of the context. */
void memory_pool_discard(MemoryPool *pool, PoolBlock *block);

#endif
