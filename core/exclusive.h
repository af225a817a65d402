/* Driver calls that must not run at the same time, whichever threads make them.
 *
 * Of a CUgreenCtx cuda.h says that it "can be used safely from only one CPU thread at a time", and green
 * contexts share the multiprocessors that they divide; Python objects are deallocated in any thread. So no
 * two calls that take or return one overlap.
 */
#ifndef CORE_EXCLUSIVE_H
#define CORE_EXCLUSIVE_H

#include "core/driver_table.h"

void exclusive_begin(void);
CUresult exclusive_end(CUresult result); /* returns `result` */

/* Called without the GIL: the thread that holds the lock may take long. */
#define EXCLUSIVE(expression) (exclusive_begin(), exclusive_end(expression))

#endif
