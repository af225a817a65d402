/* Calls: the callee is known or has a prototype, and arguments agree with its parameters in number
 * and size. */
#include "ptx/parser.h"

/* The bytes of an argument: a variable, a vector of registers, or one value. */
static uint64_t ptx_argument_size(const PtxOperand *operand)
{
    uint64_t size = 0;
    if (operand->kind == PTX_OPERAND_VARIABLE) return operand->variable->size;
    if (operand->kind == PTX_OPERAND_VECTOR)
        for (uint32_t i = 0; i < operand->count; i++) size += ptx_type_bytes((PtxType)operand->items[i].type);
    return size ? size : ptx_type_bytes((PtxType)operand->type);
}

/* An argument must be a .param variable, a register or, if it is not a result, a number. A vector of
 * registers fits a parameter that is one in registers. */
static void ptx_check_argument(PtxParser *p, const PtxInsn *insn, const PtxOperand *operand,
                               const PtxVariable *param, bool is_return)
{
    bool variable = operand->kind == PTX_OPERAND_VARIABLE && operand->variable->space == PTX_SPACE_PARAM
                    && !operand->offset;
    bool whole = operand->kind == PTX_OPERAND_VECTOR && param->space == PTX_SPACE_REG
                 && operand->count == param->vector;
    bool single =
        operand->kind == PTX_OPERAND_REGISTER || (operand->kind == PTX_OPERAND_IMMEDIATE && !is_return);
    bool value = whole || (single && (param->space != PTX_SPACE_REG || param->vector == 1));
    if (operand->kind == PTX_OPERAND_SINK && is_return) return;
    if (!variable && !value)
        ptx_fail(p, insn->line, operand->column,
                 "an argument of a call must be a .param variable or a register");
    if (operand->kind == PTX_OPERAND_IMMEDIATE) return;
    if (param->size && ptx_argument_size(operand) != param->size)
        ptx_fail(p, insn->line, operand->column, "an argument of %llu bytes where the function takes %llu",
                 (unsigned long long)ptx_argument_size(operand), (unsigned long long)param->size);
}

static void ptx_check_arguments(PtxParser *p, const PtxInsn *insn, const PtxOperand *list,
                                PtxVariable **params, uint32_t count, bool is_return)
{
    const char *what = is_return ? "results" : "arguments";
    if (list->count != count)
        ptx_fail(p, insn->line, list->column ? list->column : insn->column, "%u %s where the function has %u",
                 (unsigned)list->count, what, (unsigned)count);
    for (uint32_t i = 0; i < count; i++) ptx_check_argument(p, insn, &list->items[i], params[i], is_return);
}

/* The prototype that the operand names. The operand is not resolved yet, so its name is looked up. NULL: the
 * name is that of a .calltargets, or is declared further down. */
static const PtxPrototype *ptx_call_prototype_of(const PtxOperand *operand)
{
    const PtxSymbol *symbol = operand->name->symbol;
    return symbol && symbol->kind == PTX_SYMBOL_PROTOTYPE ? symbol->prototype : NULL;
}

void ptx_check_call(PtxParser *p, const PtxInsn *insn)
{
    const PtxOperand *callee = &insn->operands[PTX_CALL_CALLEE];
    if (callee->kind == PTX_OPERAND_FUNCTION) {
        const PtxFunction *f = callee->function;
        if (f->is_entry)
            ptx_fail(p, insn->line, callee->column, "'%s' is an entry and cannot be called", f->name);
        ptx_check_arguments(p, insn, &insn->operands[PTX_CALL_RETURNS], f->returns, f->return_count, true);
        ptx_check_arguments(p, insn, &insn->operands[PTX_CALL_ARGUMENTS], f->params, f->param_count, false);
        return;
    }
    if (callee->kind != PTX_OPERAND_REGISTER || ptx_type_bits((PtxType)callee->type) != 64
        || ptx_types[callee->type].class == PTX_FLOAT)
        ptx_fail(p, insn->line, callee->column, "a call must name a function or a 64-bit register");
    if (insn->operands[PTX_CALL_TARGETS].kind != PTX_OPERAND_PROTOTYPE)
        ptx_fail(p, insn->line, callee->column, "an indirect call needs a .callprototype or .calltargets");
    const PtxPrototype *prototype = ptx_call_prototype_of(&insn->operands[PTX_CALL_TARGETS]);
    if (!prototype) return; /* nothing here to compare the arguments with */
    ptx_check_arguments(p, insn, &insn->operands[PTX_CALL_RETURNS], prototype->returns,
                        prototype->return_count, true);
    ptx_check_arguments(p, insn, &insn->operands[PTX_CALL_ARGUMENTS], prototype->params,
                        prototype->param_count, false);
}
