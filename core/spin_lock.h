/* A spin lock, to be held for a few instructions only, without a wait. It is acquired by one exchange and
 * released by one store; a thread that finds it taken yields. */
#ifndef CORE_SPIN_LOCK_H
#define CORE_SPIN_LOCK_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Zero-initialized: unlocked. */
typedef struct SpinLock {
    atomic_bool taken;
} SpinLock;

static inline void spin_lock(SpinLock *lock)
{
    while (atomic_exchange_explicit(&lock->taken, true, memory_order_acquire)) sched_yield();
}

static inline void spin_unlock(SpinLock *lock)
{
    atomic_store_explicit(&lock->taken, false, memory_order_release);
}

#endif
