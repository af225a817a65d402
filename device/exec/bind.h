/* Which instruction set the interpreter runs on, and its handlers. */
#ifndef DEVICE_EXEC_BIND_H
#define DEVICE_EXEC_BIND_H

#include "exec/code/code.h"

/* Levels of x86-64, the best first; other processors have one build, which is called v2. */
#define EXEC_ISAS(X) X(v4) X(v3) X(v2)
#define EXEC_ISA_NAMES "v2, v3 or v4"

/* Whether that is one of EXEC_ISAS, of this processor or not. */
bool exec_isa_known(const char *name);
/* The one of EXEC_ISAS that exec_bind chooses (PYCUDA_CPU_ISA requests one). */
const char *exec_isa_name(void);

/* The two handlers of an op: [0] some lanes, [1] all lanes. */
const OpFn *exec_op_handlers(unsigned op);

#endif
