/* Calls that a driver wants from one and the same thread.
 *
 * NVIDIA's linker keeps memory for each thread: a link state that another thread than its maker's uses or
 * destroys corrupts it, whatever locks are held meanwhile (seen with driver 580). Python objects die in any
 * thread. So all calls of link states are made by a thread of their own, one after another.
 */
#ifndef CORE_ONE_THREAD_H
#define CORE_ONE_THREAD_H

#include "core/driver_table.h"

/* call(data) on that thread, with this context current; returns its result when it is over. Where the thread
 * cannot be made, the calling thread makes the call. Not in a forked child. */
IN_CALL CUresult one_thread_run(CUcontext context, CUresult (*call)(void *data), void *data);

#endif
