/* The tables of one instruction set: handlers in the order of enum Op, [0] some lanes, [1] all lanes; loops
 * over elements in the order of enum WideOp. */
#include "exec/ops/handlers.h"

const OpFn EXEC_NAME(exec_handlers)[OP_COUNT][2] = {
#define OP(name) {EXEC_NAME(op_##name##_part), EXEC_NAME(op_##name##_full)},
#include "exec/ops/core.def"
#include "exec/ops/alu.def"
#undef OP
};

const WideFn EXEC_NAME(exec_wide)[WIDE_COUNT] = {
#define WIDE(name, size, sources) EXEC_NAME(wide_##name),
#include "exec/ops/wide.def"
#undef WIDE
};
