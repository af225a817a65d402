/* Bodies: labels, declarations, nested scopes, instructions; flattened into one array of instructions. */
#include <string.h>

#include "ptx/parser.h"

/* Declares a label of the next instruction. */
static void ptx_label(PtxParser *p, PtxName *name, uint32_t line, uint32_t column)
{
    PtxLabel *label = ptx_new(p, sizeof *label);
    ptx_declare(p, PTX_SYMBOL_LABEL, name, line, column)->label = label;
    *label = (PtxLabel){name->text, p->insns.count, line, column, p->labels.count};
    *(PtxLabel **)ptx_push(p, &p->labels, sizeof label) = label;
}

/* branch-targets = name ":" ".branchtargets" label ("," label)* ";"
 *
 * The labels become fixups, which point into table->labels: so all are read before that array is made. */
static void ptx_branch_targets(PtxParser *p, PtxTable *table)
{
    uint32_t from = p->operands.count;
    do {
        PtxOperand *place = ptx_push(p, &p->operands, sizeof *place);
        place->column = p->tok.column;
        place->count = p->tok.line; /* an operand has no other place for it */
        place->name = ptx_expect_name(p, "a label");
    } while (ptx_accept(p, ','));
    table->count = p->operands.count - from;
    table->labels = ptx_new(p, table->count * sizeof *table->labels);
    PtxOperand *places = (PtxOperand *)p->operands.items + from;
    for (uint32_t i = 0; i < table->count; i++)
        ptx_add_fixup(p, places[i].name, NULL, &table->labels[i], places[i].count, places[i].column);
    p->operands.count = from;
}

/* call-targets = name ":" ".calltargets" function ("," function)* ";" */
static void ptx_call_targets(PtxParser *p, PtxTable *table)
{
    PtxVector *found = &p->operands;
    uint32_t from = found->count;
    do {
        PtxToken tok = p->tok;
        PtxName *name = ptx_expect_name(p, "a function");
        if (!name->symbol || name->symbol->kind != PTX_SYMBOL_FUNCTION)
            ptx_fail(p, tok.line, tok.column, "function '%s' is not declared", name->text);
        ((PtxOperand *)ptx_push(p, found, sizeof(PtxOperand)))->function = name->symbol->function;
    } while (ptx_accept(p, ','));
    table->count = found->count - from;
    table->functions = ptx_new(p, table->count * sizeof *table->functions);
    for (uint32_t i = 0; i < table->count; i++)
        table->functions[i] = ((PtxOperand *)found->items + from)[i].function;
    found->count = from;
}

/* call-prototype = name ":" ".callprototype" parameters? "_" parameters? ".noreturn"? ";" */
static void ptx_call_prototype(PtxParser *p, PtxPrototype *prototype)
{
    if (ptx_is(p, '(')) prototype->returns = ptx_parameter_list(p, false, true, &prototype->return_count);
    ptx_expect_name(p, "'_'");
    if (ptx_is(p, '(')) prototype->params = ptx_parameter_list(p, false, true, &prototype->param_count);
    for (;;) {
        if (ptx_accept_directive(p, PTX_DIRECTIVE_noreturn))
            prototype->noreturn = true;
        else if (ptx_is_directive(p, PTX_DIRECTIVE_abi_preserve)
                 || ptx_is_directive(p, PTX_DIRECTIVE_abi_preserve_control))
            ptx_skip_abi_preserve(p);
        else
            return;
    }
}

/* Reads what stands after "name:" and declares the name: a prototype, a table or, if neither
 * follows, a label of the next instruction. */
static void ptx_labeled(PtxParser *p, PtxName *name, uint32_t line, uint32_t column)
{
    if (ptx_accept_directive(p, PTX_DIRECTIVE_callprototype)) {
        PtxPrototype *prototype = ptx_new(p, sizeof *prototype);
        prototype->name = name->text;
        prototype->line = line;
        ptx_call_prototype(p, prototype);
        ptx_declare(p, PTX_SYMBOL_PROTOTYPE, name, line, column)->prototype = prototype;
    } else if (ptx_is_directive(p, PTX_DIRECTIVE_branchtargets)
               || ptx_is_directive(p, PTX_DIRECTIVE_calltargets)) {
        bool is_branch = ptx_is_directive(p, PTX_DIRECTIVE_branchtargets);
        PtxTable *table = ptx_new(p, sizeof *table);
        *table = (PtxTable){.name = name->text, .line = line, .column = column};
        ptx_next(p);
        (is_branch ? ptx_branch_targets : ptx_call_targets)(p, table);
        ptx_declare(p, PTX_SYMBOL_TABLE, name, line, column)->table = table;
    } else {
        ptx_label(p, name, line, column);
        return;
    }
    ptx_expect(p, ';');
}

/* guard = "@" "!"? predicate */
static void ptx_guard(PtxParser *p, PtxInsn *insn)
{
    insn->guard = PTX_NO_GUARD;
    if (!ptx_accept(p, '@')) return;
    insn->guard_negated = ptx_accept(p, '!');
    PtxToken tok = p->tok;
    bool numbered = tok.kind == PTX_TOKEN_NUMBERED;
    if (!numbered && tok.kind != PTX_TOKEN_NAME) ptx_fail_expected(p, "a predicate");
    uint32_t vector, reg = numbered ? ptx_find_numbered(p, tok.name, tok.number)
                                    : ptx_find_register(p, tok.name, 0, &vector);
    int length = (int)tok.length;
    if (reg == UINT32_MAX)
        ptx_fail(p, tok.line, tok.column, "register '%.*s' is not declared", length, tok.start);
    if (((PtxRegister *)p->registers.items)[reg].type != PTX_pred)
        ptx_fail(p, tok.line, tok.column, "'%.*s' is not a predicate", length, tok.start);
    ptx_next(p);
    insn->guard = reg;
}

/* Adds a fixup for each operand that is a name of a label, table or prototype. Fixups point to operands, so
 * these must be where they stay. */
static void ptx_label_fixups(PtxParser *p, const PtxInsn *insn)
{
    for (uint32_t i = 0; i < insn->operand_count; i++) {
        PtxOperand *operand = &insn->operands[i];
        if (operand->kind == PTX_OPERAND_LABEL && insn->form->opcode == PTX_OP_brx)
            operand->kind = PTX_OPERAND_TABLE;
        if (operand->kind == PTX_OPERAND_LABEL || operand->kind == PTX_OPERAND_TABLE
            || operand->kind == PTX_OPERAND_PROTOTYPE)
            ptx_add_fixup(p, operand->name, operand, NULL, insn->line, operand->column);
    }
}

/* Whether a number can be added to a register operand: an integer that the instruction reads. The first
 * operand is written, except by bar. */
static bool ptx_takes_offset(const PtxInsn *insn, uint32_t index, PtxType type)
{
    const PtxTypeInfo *info = &ptx_types[type];
    bool is_read = index > 0 || insn->form->opcode == PTX_OP_bar;
    return is_read && info->class != PTX_FLOAT && info->class != PTX_PREDICATE && info->bits >= 16
           && info->bits <= 64;
}

/* Replaces each operand "reg + number" by a new register, and adds an instruction in front of this one that
 * computes it. That is not guarded: the register has no other use. */
static void ptx_add_offsets(PtxParser *p, const PtxInsn *insn)
{
    for (uint32_t i = 0; i < p->operands.count; i++) {
        PtxOperand *operand = (PtxOperand *)p->operands.items + i;
        if (operand->kind != PTX_OPERAND_REGISTER || !operand->offset) continue;
        unsigned bits = ptx_type_bits((PtxType)operand->type);
        const char *text = bits == 16 ? "add.u16" : bits == 32 ? "add.u32" : "add.u64";
        if (!ptx_takes_offset(insn, i, (PtxType)operand->type))
            ptx_fail(p, insn->line, operand->column, "a number is added to an integer register that is read");
        PtxOperand *operands = ptx_new(p, 3 * sizeof *operands);
        operands[0] = operands[1] = *operand;
        operands[0].offset = operands[1].offset = 0;
        operands[0].reg = p->registers.count;
        operands[2] = (PtxOperand){.kind = PTX_OPERAND_IMMEDIATE, .type = PTX_s64, .column = operand->column};
        operands[2].bits = (uint64_t)operand->offset;
        PtxRegister sum = ((PtxRegister *)p->registers.items)[operand->reg];
        *(PtxRegister *)ptx_push(p, &p->registers, sizeof sum) = sum;
        PtxInsn add = *insn;
        add.form = &ptx_rule(p, ptx_intern(p, text, strlen(text)), insn->line, insn->column)->form;
        add.operands = operands;
        add.operand_count = 3;
        add.guard = PTX_NO_GUARD;
        add.guard_negated = false;
        *(PtxInsn *)ptx_push(p, &p->insns, sizeof add) = add;
        *operand = operands[0];
    }
}

static bool ptx_takes_labels(unsigned opcode)
{
    return opcode == PTX_OP_bra || opcode == PTX_OP_brx || opcode == PTX_OP_call;
}

/* instruction = guard? mnemonic operands ";" ; the guard is read into an instruction that has nothing else */
static void ptx_instruction(PtxParser *p, const PtxInsn *guard, PtxName *mnemonic, uint32_t line,
                            uint32_t column)
{
    PtxRule *rule = ptx_rule(p, mnemonic, line, column);
    unsigned opcode = rule->form.opcode;
    PtxInsn insn = *guard;
    insn.form = &rule->form;
    insn.line = line;
    insn.column = column;
    insn.file = p->file;
    insn.source_line = p->source_line;
    if (opcode == PTX_OP_call) {
        ptx_call_operands(p);
    } else {
        p->labels_allowed = ptx_takes_labels(opcode);
        ptx_operand_list(p);
        p->labels_allowed = false;
    }
    ptx_add_offsets(p, &insn);
    insn.operand_count = (uint16_t)p->operands.count;
    insn.operands = ptx_take(p, &p->operands, 0, sizeof(PtxOperand));
    if (!ptx_is(p, ';')) ptx_fail_expected(p, "',' or ';'");
    ptx_check(p, rule, &insn);
    if (ptx_takes_labels(opcode)) ptx_label_fixups(p, &insn);
    *(PtxInsn *)ptx_push(p, &p->insns, sizeof insn) = insn;
    ptx_next_statement(p);
}

/* directive = registers | variable | loc | file | pragma | section */
static void ptx_body_directive(PtxParser *p)
{
    if (ptx_is_directive(p, PTX_DIRECTIVE_reg))
        ptx_register_declaration(p);
    else if (ptx_is_space(p))
        ptx_variable_statement(p, PTX_LINKAGE_INTERNAL);
    else if (ptx_accept_directive(p, PTX_DIRECTIVE_loc))
        ptx_loc(p);
    else if (ptx_accept_directive(p, PTX_DIRECTIVE_file))
        ptx_file(p);
    else if (ptx_accept_directive(p, PTX_DIRECTIVE_pragma))
        ptx_skip_to_semicolon(p);
    else if (ptx_accept_directive(p, PTX_DIRECTIVE_section))
        ptx_section(p);
    else
        ptx_fail(p, p->tok.line, p->tok.column, "'.%s' is not a directive of a function's body",
                 p->tok.name->text);
}

/* statement = "{" | "}" | directive | name ":" ... | instruction ; false at the brace that ends the body */
static bool ptx_statement(PtxParser *p)
{
    PtxInsn guard = {.guard = PTX_NO_GUARD};
    if (p->tok.kind == PTX_TOKEN_DIRECTIVE) {
        ptx_body_directive(p);
        return true;
    }
    if (ptx_accept(p, '{')) {
        ptx_open_scope(p);
        return true;
    }
    if (ptx_is(p, '}')) {
        ptx_close_scope(p);
        if (p->scopes.count == p->body_depth) return false;
        ptx_next(p);
        return true;
    }
    if (ptx_is(p, '@')) ptx_guard(p, &guard);
    ptx_intern_numbered(p);
    PtxToken tok = p->tok;
    if (tok.kind != PTX_TOKEN_NAME) ptx_fail_expected(p, "a statement");
    PtxName *mnemonic = ptx_mnemonic(p);
    if (guard.guard == PTX_NO_GUARD && ptx_accept(p, ':'))
        ptx_labeled(p, mnemonic, tok.line, tok.column);
    else
        ptx_instruction(p, &guard, mnemonic, tok.line, tok.column);
    return true;
}

/* Moves what the body has gathered in the parser to the function. */
static void ptx_take_function(PtxParser *p, PtxFunction *function)
{
    function->insn_count = p->insns.count;
    function->register_count = p->registers.count;
    function->variable_count = p->variables.count;
    function->label_count = p->labels.count;
    function->insns = ptx_take(p, &p->insns, 0, sizeof(PtxInsn));
    function->registers = ptx_take(p, &p->registers, 0, sizeof(PtxRegister));
    function->variables = ptx_take(p, &p->variables, 0, sizeof(PtxVariable *));
    function->labels = ptx_take(p, &p->labels, 0, sizeof(PtxLabel *));
}

/* body = "{" statement* "}" ; the scope of the parameters is open */
void ptx_body(PtxParser *p)
{
    ptx_expect(p, '{');
    p->file = p->source_line = 0;
    while (ptx_statement(p)) continue;
    ptx_take_function(p, p->function);
    ptx_next(p);
}
