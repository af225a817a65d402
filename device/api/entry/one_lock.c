/* See one_lock.h. */
#define _GNU_SOURCE
#include "api/entry/one_lock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/base/driver.h"

/* Recursive: the callback of the log may call the driver. */
static pthread_mutex_t one_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static atomic_int inside; /* calls in the driver, also while they wait for the lock or without it */

/* Takes the lock. False, without the lock, where the driver accepts no calls: in a host function, in a forked
 * child, before cuInit. The result is for leave_driver(). */
static bool enter_driver(void)
{
    bool entered = driver_check() == CUDA_SUCCESS;
    if (!entered) return false;
    atomic_fetch_add(&inside, 1);
    pthread_mutex_lock(&one_lock);
    return true;
}

static void leave_driver(bool entered)
{
    if (!entered) return;
    pthread_mutex_unlock(&one_lock);
    atomic_fetch_sub(&inside, 1);
}

/* For calls that wait without the lock: releases it after enter_driver(); leave_unlocked() ends the call. */
static void unlock(bool entered)
{
    if (entered) pthread_mutex_unlock(&one_lock);
}

static void leave_unlocked(bool entered)
{
    if (entered) atomic_fetch_sub(&inside, 1);
}

/* Runs at exit: at this point NVIDIA's driver is torn down, even while threads are in it. */
__attribute__((destructor)) static void tear_down(void)
{
    if (!atomic_load(&inside) || driver_check() != CUDA_SUCCESS) return;
    fputs("PYCUDA_CPU_LOCK: the process exits while a thread is inside the driver\n", stderr);
    abort();
}

#define VARIANT_NONE(symbol, params, args)
#define VARIANT_PTSZ(symbol, params, args) LOCKED(symbol##_ptsz, params, args)
#define VARIANT_PTDS(symbol, params, args) LOCKED(symbol##_ptds, params, args)
#define LOCKED(symbol, params, args) \
    static CUresult locked_##symbol params \
    { \
        bool entered = enter_driver(); \
        CUresult result = symbol args; \
        leave_driver(entered); \
        return result; \
    }
#define CU_FN(name, symbol, version, per_thread, waits, params, args) \
    LOCKED(symbol, params, args) \
    VARIANT_##per_thread(symbol, params, args)
#include "abi/cuda_functions.def"
#undef CU_FN
#undef VARIANT_NONE
#undef VARIANT_PTSZ
#undef VARIANT_PTDS
#undef LOCKED

/* Calls that wait without the lock. They take it first, as those of NVIDIA's driver do. */
#define WAITS(symbol, params, args) \
    static CUresult waits_##symbol params \
    { \
        bool entered = enter_driver(); \
        unlock(entered); \
        CUresult result = symbol args; \
        leave_unlocked(entered); \
        return result; \
    }
WAITS(cuCtxSynchronize, (void), ())
WAITS(cuEventSynchronize, (CUevent event), (event))
WAITS(cuStreamSynchronize, (CUstream stream), (stream))
WAITS(cuStreamSynchronize_ptsz, (CUstream stream), (stream))
#undef WAITS

typedef struct LockRow {
    AnyFn plain, locked;
} LockRow;

#define VARIANT_NONE(symbol)
#define VARIANT_PTSZ(symbol) LOCKED(symbol##_ptsz)
#define VARIANT_PTDS(symbol) LOCKED(symbol##_ptds)
#define LOCKED(symbol) {(AnyFn)symbol, (AnyFn)locked_##symbol},
#define WAITS(symbol) {(AnyFn)symbol, (AnyFn)waits_##symbol}
#define READS(symbol) {(AnyFn)symbol, (AnyFn)symbol} /* constants */
#define CU_FN(name, symbol, version, per_thread, waits, params, args) \
    LOCKED(symbol) VARIANT_##per_thread(symbol)

/* A function that has two rows is treated by the first one. */
static const LockRow rows[] = {
    WAITS(cuCtxSynchronize),         WAITS(cuEventSynchronize),  WAITS(cuStreamSynchronize),
    WAITS(cuStreamSynchronize_ptsz), READS(cuDriverGetVersion),  READS(cuGetErrorName),
    READS(cuGetErrorString),         READS(cuGetProcAddress_v2),
#include "abi/cuda_functions.def"
};
#undef CU_FN

AnyFn one_lock_around(AnyFn function)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].plain == function) return rows[i].locked;
    return function;
}
