/* Groups that sleep until a time. */
#ifndef DEVICE_EXEC_CONTROL_SLEEP_H
#define DEVICE_EXEC_CONTROL_SLEEP_H

#include "exec/state/worker.h"

const Insn *sleep_enter(Warp *warp, const Insn *insn);
/* Lets the groups go on whose time has come. */
void sleep_wake(Block *block);
/* Waits for a while when all that the worker runs is asleep. */
void sleep_worker(const Worker *worker);

#endif
