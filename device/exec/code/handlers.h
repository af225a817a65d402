/* The handlers of one instruction set, declared from the tables: op_<name>_full and op_<name>_part, suffixed
 * by the instruction set they are compiled for. A handler without a row, or a row without its handlers, does
 * not build.
 */
#ifndef DEVICE_EXEC_CODE_HANDLERS_H
#define DEVICE_EXEC_CODE_HANDLERS_H

#include "exec/code/code.h"
#include "exec/code/wide.h"

#ifndef EXEC_ISA
#define EXEC_ISA v2
#endif
#define EXEC_PASTE_2(name, isa) name##_##isa
#define EXEC_PASTE(name, isa) EXEC_PASTE_2(name, isa)
#define EXEC_NAME(name) EXEC_PASTE(name, EXEC_ISA)

#define OP(name) \
    const Insn *EXEC_NAME(op_##name##_full)(Warp * warp, const Insn *insn); \
    const Insn *EXEC_NAME(op_##name##_part)(Warp * warp, const Insn *insn);
#include "exec/code/core.def"
#include "exec/code/alu.def"
#undef OP

extern const OpFn EXEC_NAME(exec_handlers)[OP_COUNT][2];

#define WIDE(name, size, sources) \
    void EXEC_NAME(wide_##name)(void *d, const void *a, const void *b, const void *c, size_t count);
#include "exec/code/wide.def"
#undef WIDE

WideSplitFn EXEC_NAME(wide_split_32), EXEC_NAME(wide_split_64);
WideExchangeFn EXEC_NAME(wide_exchange);

extern const WideTable EXEC_NAME(exec_wide);

#endif
