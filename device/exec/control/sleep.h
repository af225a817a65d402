/* Groups that sleep until a time. */
#ifndef DEVICE_EXEC_CONTROL_SLEEP_H
#define DEVICE_EXEC_CONTROL_SLEEP_H

#include "exec/state/worker.h"

/* nanosleep for the running group. Returns the instruction to go on with, NULL when the warp must wait. */
const Insn *sleep_enter(Warp *warp, const Insn *insn);
/* Makes those groups of the block ready whose time has come; sets Block.wake_at by the others. */
void sleep_wake(Block *block);
/* Waits for a while when all blocks that the worker runs are asleep; may return early. */
void sleep_worker(const Worker *worker);

#endif
