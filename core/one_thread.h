/* Calls that a driver requires to be made by one and the same thread.
 *
 * NVIDIA's linker keeps memory per thread: using or destroying a link state in a thread other than the one
 * that created it corrupts that memory, whatever locks are held (seen with driver 580). Python objects are
 * deallocated in any thread. So all calls on link states are made by a dedicated thread, one after another.
 */
#ifndef CORE_ONE_THREAD_H
#define CORE_ONE_THREAD_H

#include "core/driver_table.h"

/* Calls call(data) on that thread, with this context current, and returns its result. The thread is started
 * by the first call; if that fails, the calling thread makes the call. Must not be called in a forked child,
 * which does not have the thread. */
IN_CALL CUresult one_thread_run(CUcontext context, CUresult (*call)(void *data), void *data);

#endif
