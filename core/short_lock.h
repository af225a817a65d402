/* A spin lock for a few instructions, under which no thread blocks: acquired by one exchange, released by
 * one store. A thread that finds it taken yields. */
#ifndef CORE_SHORT_LOCK_H
#define CORE_SHORT_LOCK_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Zero-initialized: unlocked. */
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
