/* PYCUDA_CPU_LOCK=1: every driver call takes one lock of the process and keeps it while it waits, as
 * NVIDIA's driver does in many calls (cuMemFree, cuMemcpy2D, a launch into a full queue). A program that
 * would deadlock there, because a thread waits for the driver while it holds what a host function needs,
 * deadlocks here too.
 *
 * Synchronizing calls wait without the lock, in both drivers. Threads that run host functions never take it.
 * A process that exits while a thread is inside the driver is aborted: NVIDIA's may crash then.
 */
#ifndef DEVICE_API_ENTRY_ONE_LOCK_H
#define DEVICE_API_ENTRY_ONE_LOCK_H

typedef void (*AnyFn)(void);

/* The function with the lock around it, for cuGetProcAddress. */
AnyFn one_lock_around(AnyFn function);

#endif
