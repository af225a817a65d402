/* A lock for driver calls that must not run at the same time in different threads: those that take or return
 * a CUgreenCtx.
 *
 * cuda.h says that a CUgreenCtx "can be used safely from only one CPU thread at a time", green contexts
 * share the multiprocessors that they divide, and Python objects are deallocated in any thread.
 */
#ifndef CORE_EXCLUSIVE_H
#define CORE_EXCLUSIVE_H

#include "core/driver_table.h"

void exclusive_begin(void);
CUresult exclusive_end(CUresult result); /* returns `result` */

/* The value of a driver call that is made under the lock. To be used without the GIL, as another thread may
 * hold the lock for long. */
#define EXCLUSIVE(expression) (exclusive_begin(), exclusive_end(expression))

#endif
