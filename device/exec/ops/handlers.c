/* The tables of one instruction set: handlers in the order of enum Op, [0] some lanes, [1] all lanes; loops
 * over elements in the order of enum WideOp. */
#include "exec/code/handlers.h"

const OpFn EXEC_NAME(exec_handlers)[OP_COUNT][2] = {
#define OP(name) {EXEC_NAME(op_##name##_part), EXEC_NAME(op_##name##_full)},
#include "exec/code/core.def"
#include "exec/code/alu.def"
#undef OP
};

const WideTable EXEC_NAME(exec_wide) = {
    .ops =
        {
#define WIDE(name, size, sources) EXEC_NAME(wide_##name),
#include "exec/code/wide.def"
#undef WIDE
        },
    .split_32 = EXEC_NAME(wide_split_32),
    .split_64 = EXEC_NAME(wide_split_64),
    .exchange = EXEC_NAME(wide_exchange),
};
