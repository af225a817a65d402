/* A lock for a few instructions, under which nobody waits or calls anything that might: taken by one
 * exchange, let go of by one store. Who finds it taken lets others run.
 */
#ifndef CORE_SHORT_LOCK_H
#define CORE_SHORT_LOCK_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

/* All zero is a free one. */
typedef struct ShortLock {
    atomic_bool taken;
} ShortLock;

static inline void short_lock(ShortLock *lock)
{
    while (atomic_exchange_explicit(&lock->taken, true, memory_order_acquire)) sched_yield();
}

static inline void short_unlock(ShortLock *lock)
{
    atomic_store_explicit(&lock->taken, false, memory_order_release);
}

#endif
