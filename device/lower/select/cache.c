/* Cache hints, which have no effect here. Their operands are checked, and createpolicy makes its policies. */
#include "exec/async/policy.h"
#include "lower/select/select.h"

enum { LINE_BYTES = 128 };

void select_cache_line(Select *s)
{
    const PtxOperand *size = operand_at(s, 1);
    Address a;
    if (!select_address(s, operand_at(s, 0), PTX_SPACE_GLOBAL, &a)) return;
    if (size->bits != LINE_BYTES) select_error(s, size->column, "the size is %d bytes", LINE_BYTES);
}

/* The eviction priorities of a form, as bits of mods: the first that it names is the primary one. */
static uint16_t priorities(const PtxForm *form)
{
    uint16_t mods = 0;
    bool primary = true;
    for (int k = 0; k < form->modifier_count; k++) {
        switch (form->modifiers[k]) {
        case PTX_MOD_L2_evict_first: mods |= primary ? POLICY_PRIMARY_FIRST : POLICY_SECONDARY_FIRST; break;
        case PTX_MOD_L2_evict_last: mods |= POLICY_PRIMARY_LAST; break;
        case PTX_MOD_L2_evict_normal: mods |= POLICY_PRIMARY_NORMAL; break;
        case PTX_MOD_L2_evict_unchanged: break;
        default: continue;
        }
        primary = false;
    }
    return mods;
}

/* createpolicy.range d, [a], primary size, total size */
static void select_range_policy(Select *s, Ref d)
{
    Address a;
    if (!select_address(s, operand_at(s, 1), PTX_SPACE_GLOBAL, &a)) return;
    Ref primary = select_source(s, operand_at(s, 2), PTX_u32),
        total = select_source(s, operand_at(s, 3), PTX_u32);
    LowerInsn *insn = select_emit(s, OP_createpolicy_range);
    insn->d = d;
    insn->a = a.row;
    insn->imm = a.offset;
    insn->b = primary;
    insn->c = total;
    insn->mods = (uint16_t)(priorities(s->insn->form) | (a.narrow ? MEM_ADDR32 : 0));
}

/* createpolicy.fractional d{, fraction} */
static void select_fraction_policy(Select *s, Ref d)
{
    const PtxOperand *o = operand_at(s, 1);
    bool is_immediate = o->kind == PTX_OPERAND_IMMEDIATE;
    uint64_t bits = is_immediate ? ptx_immediate_bits(o, PTX_f32) : F32_ONE;
    /* As integers, the bits of floats above 0 are in their order, and those of negative floats are larger. */
    if (bits == 0 || bits > F32_ONE) {
        select_error(s, o->column, "the fraction must be above 0 and at most 1");
        return;
    }
    Ref a = is_immediate || o->kind == PTX_OPERAND_NONE ? lower_constant(s->lower, CLASS_32, bits, 0)
                                                        : select_source(s, o, PTX_f32);
    LowerInsn *insn = select_emit(s, OP_createpolicy_fractional);
    insn->d = d;
    insn->a = a;
    insn->mods = priorities(s->insn->form);
}

void select_createpolicy(Select *s)
{
    const PtxForm *form = s->insn->form;
    Ref d = select_dest(s, operand_at(s, 0), CLASS_64);
    if (ptx_has(form, PTX_MOD_cvt))
        select_copy(s, d, select_source(s, operand_at(s, 1), PTX_b64));
    else if (ptx_has(form, PTX_MOD_range))
        select_range_policy(s, d);
    else
        select_fraction_policy(s, d);
}
