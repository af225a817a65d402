/* Every operation of the interpreter, one enumerator each, from the two tables. */
#ifndef DEVICE_EXEC_CODE_OPS_H
#define DEVICE_EXEC_CODE_OPS_H

typedef enum Op {
#define OP(name) OP_##name,
#include "exec/code/core.def"
#include "exec/code/alu.def"
#undef OP
    OP_COUNT
} Op;

extern const char *const exec_op_names[OP_COUNT];

#endif
