/* Operands: registers, immediates, addresses, vectors, pairs and lists, resolved as they are read.
 *
 * A function leaves its result in *out; items of a vector or list gather in p->operands and become an array
 * of the module when the brace closes. A label's name stays in the operand until the statement is whole.
 */
#include <string.h>

#include "ptx/parser.h"

enum { NO_COMPONENT = 4, MAX_WRITTEN = 64 /* operands of an instruction, as written */ };

static void ptx_operand(PtxParser *p, PtxOperand *out);

static bool ptx_is_name(const PtxParser *p)
{
    return p->tok.kind == PTX_TOKEN_NAME || p->tok.kind == PTX_TOKEN_NUMBERED;
}

/* component = ".x" | ".y" | ".z" | ".w" (or .r .g .b .a), as 0 to 3; NO_COMPONENT if none follows */
static uint32_t ptx_component(PtxParser *p)
{
    if (p->tok.kind != PTX_TOKEN_DIRECTIVE || p->tok.name->length != 1) return NO_COMPONENT;
    const char *letters = "xyzwrgba", *found = strchr(letters, p->tok.name->text[0]);
    if (!found) return NO_COMPONENT;
    ptx_next(p);
    return (uint32_t)(found - letters) % 4;
}

/* A special register of four components without one, such as %tid: the vector of all four. */
static void ptx_whole_special(PtxParser *p, PtxOperand *out)
{
    enum { PARTS = 4 };
    PtxOperand *items = ptx_new(p, PARTS * sizeof *items);
    for (int i = 0; i < PARTS; i++) {
        items[i] = *out;
        items[i].component = (uint16_t)i;
    }
    *out = (PtxOperand){.kind = PTX_OPERAND_VECTOR, .column = out->column, .count = PARTS, .items = items};
}

/* special = "%" name component? */
static void ptx_special(PtxParser *p, PtxOperand *out)
{
    PtxToken tok = p->tok;
    const PtxSpecialInfo *info = &ptx_specials[tok.name->special];
    out->kind = PTX_OPERAND_SPECIAL;
    out->special = tok.name->special;
    out->type = info->type;
    out->component = tok.name->component;
    ptx_next(p);
    if (info->numbered || info->components == 1) return;
    uint32_t component = ptx_component(p);
    if (component == NO_COMPONENT)
        ptx_whole_special(p, out);
    else
        out->component = (uint16_t)component;
}

/* selector = ".b" digit+ | ".h" digit+ */
static void ptx_selector(PtxParser *p, PtxOperand *out)
{
    if (p->tok.kind != PTX_TOKEN_DIRECTIVE) return;
    const char *text = p->tok.name->text;
    size_t digits = text[0] == 'b'   ? strspn(text + 1, "01234567")
                    : text[0] == 'h' ? strspn(text + 1, "0123")
                                     : 0;
    if (!digits || digits > 4 || text[1 + digits])
        ptx_fail(p, p->tok.line, p->tok.column, "'.%s' does not belong to a register", text);
    out->selector.unit = (uint8_t)text[0];
    out->selector.count = (uint8_t)digits;
    for (size_t i = 0; i < digits; i++) out->selector.digits |= (uint16_t)((text[1 + i] - '0') << 4 * i);
    ptx_next(p);
}

static void ptx_set_register(PtxParser *p, PtxOperand *out, uint32_t reg)
{
    out->kind = PTX_OPERAND_REGISTER;
    out->reg = reg;
    out->type = ((PtxRegister *)p->registers.items)[reg].type;
}

/* register, where the token is NUMBERED */
static void ptx_numbered(PtxParser *p, PtxOperand *out)
{
    ptx_set_register(p, out, ptx_find_numbered(p, p->tok.name, p->tok.number));
    ptx_next(p);
    ptx_selector(p, out);
}

/* A vector register without a component: the vector of all its components. */
static void ptx_whole_vector(PtxParser *p, PtxName *name, uint32_t count, PtxOperand *out)
{
    uint32_t column = out->column, ignored;
    PtxOperand *items = ptx_new(p, count * sizeof *items);
    for (uint32_t i = 0; i < count; i++) {
        items[i].column = column;
        ptx_set_register(p, &items[i], ptx_find_register(p, name, i, &ignored));
    }
    out->kind = PTX_OPERAND_VECTOR;
    out->items = items;
    out->count = count;
}

/* register = name (component | selector)? ; false, with nothing read, if the name is not a register */
static bool ptx_register(PtxParser *p, PtxOperand *out)
{
    PtxName *name = p->tok.name;
    uint32_t vector, line = p->tok.line;
    uint32_t reg = ptx_find_register(p, name, UINT32_MAX, &vector); /* of a vector, no component yet */
    if (reg == UINT32_MAX) return false;
    ptx_next(p);
    if (vector == 1) {
        ptx_set_register(p, out, reg);
        ptx_selector(p, out);
        return true;
    }
    uint32_t part = ptx_component(p);
    if (part == NO_COMPONENT) {
        ptx_whole_vector(p, name, vector, out);
        return true;
    }
    if (part >= vector)
        ptx_fail(p, line, out->column, "'%s' has %u components", name->text, (unsigned)vector);
    ptx_set_register(p, out, ptx_find_register(p, name, part, &vector));
    return true;
}

/* symbol = name ("+" constant | "-" constant)? | name "[" constant "]" */
static void ptx_symbol_operand(PtxParser *p, PtxOperand *out)
{
    PtxSymbol *symbol = p->tok.name->symbol;
    uint32_t line = p->tok.line;
    const char *after = p->at + strspn(p->at, " \t"); /* what follows the name */
    if (symbol && symbol->kind == PTX_SYMBOL_FUNCTION) {
        out->kind = PTX_OPERAND_FUNCTION;
        out->function = symbol->function;
        ptx_next(p);
        return;
    }
    PtxConstant c = ptx_constant(p);
    if (c.generic || c.masked) ptx_fail(p, line, out->column, "generic() and masks belong in initializers");
    if (c.function && c.bits) ptx_fail(p, line, out->column, "an offset from a function");
    if (c.variable) {
        out->kind = PTX_OPERAND_VARIABLE;
        out->variable = c.variable;
        out->offset = (int64_t)c.bits;
        out->indexed = *after == '[';
        return;
    }
    out->kind = PTX_OPERAND_IMMEDIATE;
    out->type = c.type;
    out->bits = c.bits;
}

static void ptx_immediate(PtxParser *p, PtxOperand *out)
{
    PtxConstant c = ptx_constant_number(p);
    out->kind = PTX_OPERAND_IMMEDIATE;
    out->type = c.type;
    out->bits = c.bits;
}

/* name = "_" | special | register | symbol; with p->labels_allowed any other name is taken for a label */
static void ptx_name_operand(PtxParser *p, PtxOperand *out)
{
    if (p->tok.kind == PTX_TOKEN_NUMBERED) {
        ptx_numbered(p, out);
        return;
    }
    PtxName *name = p->tok.name;
    PtxSymbol *symbol = name->symbol;
    if (name == p->sink) {
        out->kind = PTX_OPERAND_SINK;
        ptx_next(p);
    } else if (name->special) {
        ptx_special(p, out);
    } else if (ptx_register(p, out)) {
        return;
    } else if (p->labels_allowed
               && (!symbol || (symbol->kind != PTX_SYMBOL_FUNCTION && symbol->kind != PTX_SYMBOL_VARIABLE))) {
        out->kind = PTX_OPERAND_LABEL;
        out->name = name; /* until its fixup is resolved */
        ptx_next(p);
    } else if (name == p->warp_size) {
        ptx_immediate(p, out);
    } else {
        ptx_symbol_operand(p, out);
    }
}

/* items = (operand ("," operand)*)? close ; into out->items and out->count */
static void ptx_items(PtxParser *p, PtxOperand *out, unsigned close)
{
    uint32_t from = p->operands.count;
    ptx_enter(p);
    while (!ptx_is(p, close)) {
        PtxOperand item = {0};
        ptx_operand(p, &item);
        *(PtxOperand *)ptx_push(p, &p->operands, sizeof item) = item;
        if (!ptx_accept(p, ',')) break;
        if (ptx_is(p, close)) ptx_fail_expected(p, "an operand");
    }
    ptx_expect(p, close);
    ptx_leave(p);
    out->count = p->operands.count - from;
    out->items = ptx_take(p, &p->operands, from, sizeof(PtxOperand));
}

/* offset = ("+" constant)* , added to the offset so far */
static void ptx_offset(PtxParser *p, PtxOperand *out)
{
    if (ptx_is(p, '-'))
        ptx_fail(p, p->tok.line, p->tok.column, "an offset is added: '+-4' for one before it");
    while (ptx_accept(p, '+'))
        out->offset = (int64_t)((uint64_t)out->offset + (uint64_t)ptx_constant_integer(p));
}

/* Reads the rest of a tuple [a, ...]. *out is the address read so far, and becomes the first item. */
static void ptx_tuple(PtxParser *p, PtxOperand *out)
{
    uint32_t from = p->operands.count;
    PtxOperand first = *out;
    if (first.base == PTX_BASE_REGISTER)
        first.kind = PTX_OPERAND_REGISTER;
    else if (first.base == PTX_BASE_VARIABLE)
        first.kind = PTX_OPERAND_VARIABLE;
    *(PtxOperand *)ptx_push(p, &p->operands, sizeof first) = first;
    ptx_next(p);
    ptx_items(p, out, ']');
    PtxOperand *rest = out->items;
    for (uint32_t i = 0; i < out->count; i++)
        *(PtxOperand *)ptx_push(p, &p->operands, sizeof first) = rest[i];
    *out = (PtxOperand){.kind = PTX_OPERAND_TUPLE, .column = out->column, .count = out->count + 1};
    out->items = ptx_take(p, &p->operands, from, sizeof first);
}

/* address = "[" (register | variable | constant) offset "]" ".unified"? | "[" address ("," operand)+ "]" */
static void ptx_address(PtxParser *p, PtxOperand *out)
{
    PtxOperand base = {.column = p->tok.column};
    out->kind = PTX_OPERAND_ADDRESS;
    if (ptx_is_name(p) && p->tok.name != p->warp_size) {
        uint32_t line = p->tok.line;
        ptx_name_operand(p, &base);
        out->base = base.kind == PTX_OPERAND_REGISTER ? PTX_BASE_REGISTER : PTX_BASE_VARIABLE;
        if (base.kind != PTX_OPERAND_REGISTER && base.kind != PTX_OPERAND_VARIABLE)
            ptx_fail(p, line, base.column, "an address must start with a register, a variable or a number");
        out->reg = base.reg;
        out->type = base.type;
        if (base.kind == PTX_OPERAND_VARIABLE) {
            out->variable = base.variable;
            out->offset = base.offset;
        }
        ptx_offset(p, out);
    } else {
        out->offset = ptx_constant_integer(p);
    }
    if (ptx_is(p, ',')) {
        ptx_tuple(p, out);
        return;
    }
    ptx_expect(p, ']');
    out->unified = ptx_accept_directive(p, PTX_DIRECTIVE_unified);
}

/* negated = "!" predicate | "-" register of a video instruction
 *
 * False, with nothing read, unless a sign and a name follow: the sign is then part of a constant. */
static bool ptx_negated(PtxParser *p, PtxOperand *out)
{
    if (!ptx_is(p, '!') && !ptx_is(p, '-')) return false;
    bool is_not = ptx_is(p, '!');
    const char *at = p->at + strspn(p->at, " \t");
    if (!(*at == '%' || *at == '_' || *at == '$' || (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z')))
        return false;
    if (!is_not && !strncmp(at, "WARP_SZ", strlen("WARP_SZ"))) return false;
    ptx_next(p);
    if (!ptx_is_name(p)) ptx_fail_expected(p, "a register"); /* a lone '%' */
    ptx_name_operand(p, out);
    out->negated = true;
    if (out->kind != PTX_OPERAND_REGISTER || (is_not && out->type != PTX_pred)
        || (!is_not && out->type == PTX_pred))
        ptx_fail(p, p->tok.line, out->column,
                 is_not ? "'!' goes with a predicate" : "'-' goes with a number");
    return true;
}

/* pair = register "|" register ; *out is the first one, and becomes the pair */
static void ptx_pair(PtxParser *p, PtxOperand *out)
{
    PtxOperand *items = ptx_new(p, 2 * sizeof *items);
    items[0] = *out;
    ptx_next(p);
    items[1].column = p->tok.column;
    if (!ptx_is_name(p)) ptx_fail_expected(p, "a predicate");
    ptx_name_operand(p, &items[1]);
    *out = (PtxOperand){.kind = PTX_OPERAND_PAIR, .column = out->column, .count = 2, .items = items};
}

/* operand = address | vector | negated | name | constant, or pair */
static void ptx_operand(PtxParser *p, PtxOperand *out)
{
    out->column = p->tok.column;
    if (ptx_is_name(p)) {
        ptx_name_operand(p, out);
    } else if (ptx_accept(p, '[')) {
        ptx_address(p, out);
    } else if (ptx_accept(p, '{')) {
        out->kind = PTX_OPERAND_VECTOR;
        ptx_items(p, out, '}');
    } else if (!ptx_negated(p, out)) {
        ptx_immediate(p, out);
    }
    if (ptx_is(p, '|')) ptx_pair(p, out);
}

/* operands = (operand ("," operand)*)? */
void ptx_operand_list(PtxParser *p)
{
    p->operands.count = 0;
    if (ptx_is(p, ';')) return;
    do {
        PtxOperand operand = {0};
        ptx_operand(p, &operand);
        if (operand.kind == PTX_OPERAND_REGISTER && ptx_is(p, '+')) ptx_offset(p, &operand);
        *(PtxOperand *)ptx_push(p, &p->operands, sizeof operand) = operand;
        if (p->operands.count > MAX_WRITTEN)
            ptx_fail(p, p->tok.line, operand.column, "more than %d operands", MAX_WRITTEN);
    } while (ptx_accept(p, ','));
}

/* list = "(" items ")" ; an empty one if there is no parenthesis */
static void ptx_optional_list(PtxParser *p, PtxOperand *out)
{
    out->kind = PTX_OPERAND_LIST;
    out->column = p->tok.column;
    if (ptx_accept(p, '(')) ptx_items(p, out, ')');
}

/* call = (list ",")? callee ("," list)? ("," targets)? */
void ptx_call_operands(PtxParser *p)
{
    PtxOperand parts[PTX_CALL_OPERANDS] = {{0}};
    PtxOperand *callee = &parts[PTX_CALL_CALLEE], *targets = &parts[PTX_CALL_TARGETS];
    ptx_optional_list(p, &parts[PTX_CALL_RETURNS]);
    ptx_accept(p, ',');
    callee->column = p->tok.column;
    if (!ptx_is_name(p)) ptx_fail_expected(p, "a function");
    ptx_name_operand(p, callee);
    parts[PTX_CALL_ARGUMENTS].kind = PTX_OPERAND_LIST;
    parts[PTX_CALL_ARGUMENTS].column = targets->column = p->tok.column;
    bool more = ptx_accept(p, ',');
    if (more && ptx_is(p, '(')) {
        ptx_optional_list(p, &parts[PTX_CALL_ARGUMENTS]);
        more = ptx_accept(p, ',');
    }
    if (more) {
        p->labels_allowed = true;
        ptx_operand(p, targets);
        p->labels_allowed = false;
        if (targets->kind != PTX_OPERAND_LABEL)
            ptx_fail(p, p->tok.line, targets->column, "expected a .callprototype or .calltargets");
        targets->kind = PTX_OPERAND_PROTOTYPE; /* or TABLE: as the name turns out when it is resolved */
    }
    p->operands.count = 0;
    for (int i = 0; i < PTX_CALL_OPERANDS; i++)
        *(PtxOperand *)ptx_push(p, &p->operands, sizeof *parts) = parts[i];
}
