/* What the text of a fault that ends a launch says besides the place: arguments and registers. */
#ifndef DEVICE_EXEC_STATE_FAULT_DETAILS_H
#define DEVICE_EXEC_STATE_FAULT_DETAILS_H

#include <stddef.h>

#include "exec/state/launch.h"

/* Append the kernel's arguments, and a lane's registers at an instruction, to a text. What does not fit is
 * left out. */
void fault_add_arguments(const GridLaunch *launch, char *text, size_t capacity);
void fault_add_registers(const Warp *warp, const Insn *insn, int lane, char *text, size_t capacity);

#endif
