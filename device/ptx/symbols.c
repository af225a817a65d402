/* Scopes and look-up: a name holds its innermost declaration, a binding what that hides until the scope
 * closes.
 *
 * Registers get their number in the function at the first use, so that %r<5000> with ten used costs ten.
 * Labels, tables and prototypes may be used before they are declared: such uses wait as fixups until the
 * scope closes that declares them.
 */
#include <string.h>

#include "ptx/parser.h"

void ptx_open_scope(PtxParser *p)
{
    if (p->scopes.count >= PTX_MAX_DEPTH)
        ptx_fail(p, p->tok.line, p->tok.column, "scopes nested more than %d deep", PTX_MAX_DEPTH);
    PtxScope *scope = ptx_push(p, &p->scopes, sizeof *scope);
    scope->bindings = p->bindings.count;
    scope->fixups = p->fixups.count;
}

/* Replaces the name of a fixup by what the symbol stands for. */
static void ptx_resolve(PtxFixup *fixup, PtxSymbol *symbol)
{
    if (fixup->label) {
        *fixup->label = symbol->label;
    } else if (symbol->kind == PTX_SYMBOL_LABEL) {
        fixup->operand->kind = PTX_OPERAND_LABEL;
        fixup->operand->label = symbol->label;
    } else if (symbol->kind == PTX_SYMBOL_PROTOTYPE) {
        fixup->operand->kind = PTX_OPERAND_PROTOTYPE;
        fixup->operand->prototype = symbol->prototype;
    } else {
        fixup->operand->kind = PTX_OPERAND_TABLE;
        fixup->operand->table = symbol->table;
    }
}

/* Whether a symbol (NULL: none) is of a kind that the fixup's name may have. The
 * operand PROTOTYPE of a call may be a table. */
static bool ptx_fits(const PtxFixup *fixup, const PtxSymbol *symbol)
{
    unsigned wanted = fixup->label ? PTX_OPERAND_LABEL : fixup->operand->kind;
    if (!symbol) return false;
    switch (symbol->kind) {
    case PTX_SYMBOL_LABEL: return wanted == PTX_OPERAND_LABEL;
    case PTX_SYMBOL_TABLE: return wanted != PTX_OPERAND_LABEL;
    case PTX_SYMBOL_PROTOTYPE: return wanted == PTX_OPERAND_PROTOTYPE;
    default: return false;
    }
}

/* Resolves fixups whose names the closing scope declares, and leaves others to the scope outside. Depth 1 is
 * that of the function: none is left there. */
static void ptx_close_fixups(PtxParser *p, const PtxScope *scope)
{
    uint32_t depth = p->scopes.count, kept = scope->fixups;
    PtxFixup *fixups = p->fixups.items;
    for (uint32_t i = scope->fixups; i < p->fixups.count; i++) {
        PtxSymbol *symbol = fixups[i].name->symbol;
        if (ptx_fits(&fixups[i], symbol) && symbol->depth == depth) {
            ptx_resolve(&fixups[i], symbol);
            continue;
        }
        if (depth == 1)
            ptx_fail(p, fixups[i].line, fixups[i].column, "label '%s' is not in scope in this function",
                     fixups[i].name->text);
        fixups[kept++] = fixups[i];
    }
    p->fixups.count = kept;
}

void ptx_close_scope(PtxParser *p)
{
    PtxScope scope = ((PtxScope *)p->scopes.items)[p->scopes.count - 1];
    ptx_close_fixups(p, &scope);
    PtxBinding *bindings = p->bindings.items;
    while (p->bindings.count > scope.bindings) {
        PtxBinding *binding = &bindings[--p->bindings.count];
        if (binding->is_range)
            binding->name->range = binding->hidden;
        else
            binding->name->symbol = binding->hidden;
    }
    p->scopes.count--;
}

/* Makes a new symbol what a name means, as a range if is_range, until the innermost scope closes. The same
 * name, or a register %r7 and a range %r<n> that has it, cannot be declared twice in one scope. */
static PtxSymbol *ptx_bind(PtxParser *p, PtxSymbolKind kind, PtxName *name, uint32_t line, uint32_t column,
                           bool is_range)
{
    PtxSymbol *hidden = is_range ? name->range : name->symbol;
    if (name->special && !is_range) ptx_fail(p, line, column, "'%s' is a special register", name->text);
    if (hidden && hidden->depth == p->scopes.count)
        ptx_fail(p, line, column, "'%s' is already declared on line %u", name->text, (unsigned)hidden->line);
    PtxSymbol *range = !is_range && name->prefix ? name->prefix->range : NULL;
    if (range && range->depth == p->scopes.count && name->number < range->count)
        ptx_fail(p, line, column, "'%s' is already declared on line %u", name->text, (unsigned)range->line);
    PtxSymbol *symbol = ptx_new(p, sizeof *symbol);
    symbol->kind = (uint8_t)kind;
    symbol->depth = p->scopes.count;
    symbol->line = line;
    *(PtxBinding *)ptx_push(p, &p->bindings, sizeof(PtxBinding)) = (PtxBinding){name, hidden, is_range};
    if (is_range)
        name->range = symbol;
    else
        name->symbol = symbol;
    if (!is_range && name->prefix) name->prefix->spelled = true;
    return symbol;
}

PtxSymbol *ptx_declare(PtxParser *p, PtxSymbolKind kind, PtxName *name, uint32_t line, uint32_t column)
{
    return ptx_bind(p, kind, name, line, column, false);
}

PtxSymbol *ptx_declare_range(PtxParser *p, PtxName *name, uint32_t line, uint32_t column)
{
    PtxSymbol *outer = name->range, *symbol = ptx_bind(p, PTX_SYMBOL_RANGE, name, line, column, true);
    symbol->outer = outer;
    return symbol;
}

/* The index of a register, which it gets at its first use, with its name. *place is the index + 1, or 0. */
static uint32_t ptx_use_register(PtxParser *p, uint32_t *place, const PtxSymbol *symbol, const char *text,
                                 uint32_t number)
{
    if (*place) return *place - 1;
    PtxRegister *reg = ptx_push(p, &p->registers, sizeof *reg);
    reg->name = text;
    reg->number = number;
    reg->type = symbol->type;
    reg->line = symbol->line;
    return (*place = p->registers.count) - 1;
}

/* The name of a vector's component, "V.x". */
static const char *ptx_part_name(PtxParser *p, const PtxName *name, uint32_t part)
{
    char *text = ptx_new(p, name->length + 3);
    memcpy(text, name->text, name->length);
    text[name->length] = '.';
    text[name->length + 1] = "xyzw"[part];
    return text;
}

uint32_t ptx_find_numbered(PtxParser *p, const PtxName *prefix, uint32_t number)
{
    PtxSymbol *range = ptx_find_range(prefix, number);
    return ptx_use_register(p, &range->regs[number], range, prefix->text, number);
}

uint32_t ptx_find_register(PtxParser *p, PtxName *name, uint32_t part, uint32_t *vector)
{
    PtxSymbol *symbol = name->symbol,
              *range = name->prefix ? ptx_find_range(name->prefix, name->number) : NULL;
    *vector = 1;
    /* The inner one of a range and a declaration of the name itself counts. */
    if (range && (!symbol || symbol->depth < range->depth)) {
        *vector = range->vector;
        if (range->vector == 1) return ptx_find_numbered(p, name->prefix, name->number);
        if (part >= range->vector) return 0;
        uint32_t *place = &range->regs[name->number * range->vector + part];
        return ptx_use_register(p, place, range, *place ? NULL : ptx_part_name(p, name, part),
                                PTX_NOT_NUMBERED);
    }
    if (symbol && symbol->kind == PTX_SYMBOL_REGISTER)
        return ptx_use_register(p, &symbol->reg, symbol, name->text, PTX_NOT_NUMBERED);
    if (!symbol || symbol->kind != PTX_SYMBOL_REGISTERS) return UINT32_MAX;
    *vector = symbol->vector;
    if (part >= symbol->vector) return 0;
    uint32_t *place = &symbol->regs[part];
    return ptx_use_register(p, place, symbol, *place ? NULL : ptx_part_name(p, name, part), PTX_NOT_NUMBERED);
}

void ptx_add_fixup(PtxParser *p, PtxName *name, PtxOperand *operand, PtxLabel **label, uint32_t line,
                   uint32_t column)
{
    PtxFixup *fixup = ptx_push(p, &p->fixups, sizeof *fixup);
    *fixup = (PtxFixup){name, operand, label, p->scopes.count, line, column};
}
