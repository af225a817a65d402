/* Every operation of the interpreter, one enumerator each, from the two tables. */
#ifndef DEVICE_EXEC_OPS_OPS_H
#define DEVICE_EXEC_OPS_OPS_H

typedef enum Op {
#define OP(name) OP_##name,
#include "exec/ops/core.def"
#include "exec/ops/alu.def"
#undef OP
    OP_COUNT
} Op;

extern const char *const exec_op_names[OP_COUNT];

#endif
