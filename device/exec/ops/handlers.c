/* The table of handlers of one instruction set, in the order of enum Op: [0] some lanes, [1] all lanes. */
#include "exec/ops/handlers.h"

const OpFn EXEC_NAME(exec_handlers)[OP_COUNT][2] = {
#define OP(name) {EXEC_NAME(op_##name##_part), EXEC_NAME(op_##name##_full)},
#include "exec/ops/core.def"
#include "exec/ops/alu.def"
#undef OP
};
