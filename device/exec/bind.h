/* Which instruction set the interpreter runs on, and its handlers. */
#ifndef DEVICE_EXEC_BIND_H
#define DEVICE_EXEC_BIND_H

#include "exec/code/code.h"

/* Levels of x86-64, the best first; other processors have one build, which is called v2. */
#define EXEC_ISAS(X) X(v4) X(v3) X(v2)
#define EXEC_ISA_NAMES "v2, v3 or v4"

/* Whether the name is in EXEC_ISAS, whether this processor has that instruction set or not. */
bool exec_isa_known(const char *name);
/* The name of the instruction set that exec_bind chooses (PYCUDA_CPU_ISA requests one). */
const char *exec_isa_name(void);

/* The two handlers of an op: [0] some lanes, [1] all lanes. */
const OpFn *exec_op_handlers(unsigned op);

#endif
