/* How much local memory a thread needs: the longest path through the call graph, where that can be known.
 *
 * Recursion, indirect calls and alloca make it unknown (UINT32_MAX): then every thread gets what the stack
 * limit says.
 */
#include "exec/code/code.h"

/* Values of CodeFunction.stack_size that are not sizes: UNVISITED before and VISITING during the
 * measurement. */
enum { UNKNOWN = UINT32_MAX, VISITING = UINT32_MAX - 1, UNVISITED = UINT32_MAX - 2 };
enum { MAX_CALL_DEPTH = 200 }; /* of measure_stack() itself */

/* Whether the instruction takes an amount of local memory that is known at run time only. */
static bool grows_freely(const Insn *insn) { return insn->op == OP_call_indirect || insn->op == OP_alloca; }

/* Bytes of local memory for the function and the callee that needs most, with all it calls; UNKNOWN if it may
 * call itself, or takes memory at run time. `depth`: how often this function may call itself. */
static uint32_t measure_stack(CodeFunction *function, int depth)
{
    uint32_t max = 0;
    if (function->stack_size == VISITING || depth == 0) return UNKNOWN;
    if (function->stack_size != UNVISITED) return function->stack_size;
    function->stack_size = VISITING;
    for (uint32_t k = 0; k < function->insn_count && max != UNKNOWN; k++) {
        const Insn *insn = &function->insns[k];
        uint32_t size = 0;
        if (grows_freely(insn)) size = UNKNOWN;
        if (insn->op == OP_call) {
            CodeFunction *callee = (CodeFunction *)(uintptr_t)insn->pointer;
            size = callee->module == function->module ? measure_stack(callee, depth - 1) : callee->stack_size;
        }
        if (size > max) max = size;
    }
    if (max != UNKNOWN) max += function->local_size;
    function->stack_size = max;
    return max;
}

void exec_measure(CodeModule *module)
{
    for (uint32_t k = 0; k < module->function_count; k++) module->functions[k]->stack_size = UNVISITED;
    for (uint32_t k = 0; k < module->function_count; k++) measure_stack(module->functions[k], MAX_CALL_DEPTH);
}
