/* Which instruction set the interpreter runs on, and its handlers. */
#ifndef DEVICE_EXEC_BIND_H
#define DEVICE_EXEC_BIND_H

#include "exec/code/code.h"

/* Whether that is a name of one, of this processor or not. */
bool exec_isa_known(const char *name);
/* "v4", "v3" or "v2": what exec_bind chooses (PYCUDA_CPU_ISA asks for one). */
const char *exec_isa_name(void);

/* The two handlers of an op: [0] some lanes, [1] all lanes. */
const OpFn *exec_op_handlers(unsigned op);

#endif
