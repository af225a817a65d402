/* The registers of the PTX text in the decoded code: where each is, and between which instructions, so that
 * messages can show them. A register that propagation or elimination has replaced is left out. */
#include "lower/ir.h"
#include "lower/module.h"

/* Whether the register has a row of its own. */
static bool has_row(const LowerFunction *f, uint32_t r)
{
    return f->ranges[r].last != UINT32_MAX && f->ranges[r].first <= f->ranges[r].last;
}

void lower_names(Lower *lower, const PtxFunction *tree, const LowerFunction *f, CodeFunction *code)
{
    const char *range = NULL, *kept = NULL; /* the last name, in the tree and in the code */
    uint32_t count = 0;
    for (uint32_t r = 0; r < tree->register_count; r++) count += has_row(f, r);
    code->registers = ARENA_ARRAY(lower->keep, CodeRegister, count);
    for (uint32_t r = 0; r < tree->register_count; r++) {
        const PtxRegister *named = &tree->registers[r];
        const PtxTypeInfo *type = &ptx_types[named->type];
        const uint8_t class = f->classes[r];
        if (!has_row(f, r)) continue;
        if (named->name != range) kept = arena_string(lower->keep, named->name);
        range = named->name;
        code->registers[code->register_count++] =
            (CodeRegister){.name = kept,
                           .number = named->number == PTX_NOT_NUMBERED ? UINT32_MAX : named->number,
                           .row = f->rows[r],
                           .first = f->places[f->ranges[r].first],
                           .last = f->places[f->ranges[r].last],
                           .bits = class == CLASS_PREDICATE ? 1 : (uint8_t)type->bits,
                           .is_float = type->class == PTX_FLOAT,
                           .affine = class == CLASS_AFFINE_32 || class == CLASS_AFFINE_64};
    }
}
