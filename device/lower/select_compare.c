/* setp and set: a comparison, combined with a predicate, into predicates or values. */
#include "lower/select.h"

#include <stdio.h>

/* lo ls hi hs are the unsigned lt le gt ge. */
static const char *comparison(const PtxForm *form)
{
    switch (form->group[PTX_GROUP_COMPARE]) {
    case PTX_MOD_NONE:
        return form->group[PTX_GROUP_HALF] == PTX_MOD_lo   ? "lt"
               : form->group[PTX_GROUP_HALF] == PTX_MOD_hi ? "gt"
                                                           : "";
    case PTX_MOD_ls: return "le";
    case PTX_MOD_hs: return "ge";
    default: return ptx_modifiers[form->group[PTX_GROUP_COMPARE]].spelling;
    }
}

static uint16_t comparison_op(const PtxForm *form, PtxType type, bool ftz)
{
    const char *how = comparison(form);
    uint16_t op = select_find("setp_%s_%s%s", how, ftz ? "ftz_" : "", ptx_types[type].name);
    if (op == OP_COUNT && ptx_types[type].class != PTX_FLOAT)
        op = select_find("setp_%s_b%u", how, ptx_type_bits(type));
    return op;
}

/* Looked up once for each form. */
struct FoundComparison {
    uint16_t op;
    bool flushes;          /* the sources first: the operation does not */
};

static const FoundComparison *find_comparison(Select *s, PtxType type)
{
    const PtxForm *form = s->insn->form;
    const FoundComparison **place = &s->lower->comparisons[form->id];
    if (*place) return *place;
    bool ftz = ptx_has(form, PTX_MOD_ftz) && type != PTX_f64;
    FoundComparison *found = ARENA_ARRAY(&s->lower->scratch, FoundComparison, 1);
    found->op = comparison_op(form, type, ftz);
    found->flushes = ftz && found->op == OP_COUNT;
    if (found->flushes) found->op = comparison_op(form, type, false);
    return *place = found;
}

static Ref flush(Select *s, Ref source, PtxType type, bool wanted)
{
    char name[32];
    if (!wanted) return source;
    snprintf(name, sizeof name, "ftz_%s", ptx_types[type].name);
    return select_compute(s, name, class_of(type), source, REF_ABSENT, REF_ABSENT);
}

static bool is_pair_type(PtxType type) { return type == PTX_f16x2 || type == PTX_bf16x2; }

typedef struct Comparison {
    uint16_t op;
    Ref a, b;
    PtxType type;
} Comparison;

static bool prepare(Select *s, PtxType type, Comparison *c)
{
    const FoundComparison *found = find_comparison(s, type);
    c->type = type;
    c->op = found->op;
    if (c->op == OP_COUNT) {
        select_unsupported(s, "");
        return false;
    }
    c->a = flush(s, select_source(s, operand_at(s, 1), type), type, found->flushes);
    c->b = flush(s, select_source(s, operand_at(s, 2), type), type, found->flushes);
    return true;
}

static void fill(LowerInsn *insn, const Comparison *c)
{
    insn->flags |= FLAG_PURE;
    insn->a = c->a;
    insn->b = c->b;
}

/* The comparison as new predicates; a pair type gives one for each half. */
static Ref compare(Select *s, const Comparison *c, Ref *high)
{
    Ref second = is_pair_type(c->type) ? lower_new_register(s->f, CLASS_PREDICATE) : REF_ABSENT;
    LowerInsn *insn = select_temp(s, c->op, CLASS_PREDICATE);
    fill(insn, c);
    if (second != REF_ABSENT) {
        insn->e = second;
        insn->flags |= FLAG_E_WRITTEN;
    }
    *high = second;
    return insn->d;
}

static uint16_t combination(const PtxForm *form)
{
    switch (form->group[PTX_GROUP_OPERATION]) {
    case PTX_MOD_and: return OP_setp_and;
    case PTX_MOD_or: return OP_setp_or;
    case PTX_MOD_xor: return OP_setp_xor;
    default: return OP_setp_both;
    }
}

/* d = value op q, e = !value op q */
static void combine(Select *s, Ref value, Ref d, Ref e)
{
    uint16_t op = combination(s->insn->form);
    bool has_third = op != OP_setp_both;
    if (d == REF_ABSENT && e == REF_ABSENT) return;
    const PtxOperand *third = operand_at(s, 3);
    Ref q = !has_third                            ? REF_ABSENT
            : third->kind == PTX_OPERAND_REGISTER ? REF_MAKE(REF_FRAME, third->reg)
                                                  : select_predicate(s, third);
    LowerInsn *insn = select_emit(s, op);
    insn->flags |= FLAG_PURE | FLAG_E_WRITTEN;
    insn->d = d;
    insn->e = e;
    insn->a = value;
    insn->c = q;
    if (has_third && third->kind == PTX_OPERAND_REGISTER && third->negated) insn->mods = MODS_NEGATE;
}

void select_setp(Select *s)
{
    const PtxForm *form = s->insn->form;
    const PtxOperand *to = operand_at(s, 0);
    bool pair = to->kind == PTX_OPERAND_PAIR;
    Comparison c;
    if (!prepare(s, form->types[0], &c)) return;
    Ref p = select_optional_dest(s, pair ? &to->items[0] : to, CLASS_PREDICATE);
    Ref q = pair ? select_optional_dest(s, &to->items[1], CLASS_PREDICATE) : REF_ABSENT;
    if (!pair && combination(form) == OP_setp_both && p != REF_ABSENT && !is_pair_type(c.type)) {
        LowerInsn *insn = select_emit(s, c.op);
        fill(insn, &c);
        insn->d = p;
        return;
    }
    Ref high, low = compare(s, &c, &high);
    if (!is_pair_type(c.type)) {
        combine(s, low, p, q);
        return;
    }
    combine(s, low, p, REF_ABSENT);
    combine(s, high, q, REF_ABSENT);
}

/* What set writes where the comparison holds. */
static bool true_value(PtxType type, uint64_t *value)
{
    switch (type) {
    case PTX_u32:
    case PTX_s32: *value = 0xffffffff; return true;
    case PTX_u16:
    case PTX_s16: *value = 0xffff; return true;
    case PTX_f32: *value = 0x3f800000; return true;
    case PTX_f16: *value = 0x3c00; return true;
    case PTX_bf16: *value = 0x3f80; return true;
    default: return false;
    }
}

static void set_pair(Select *s, const Comparison *c, PtxType to)
{
    Ref high, low = compare(s, c, &high);
    if (combination(s->insn->form) != OP_setp_both) {
        Ref p = lower_new_register(s->f, CLASS_PREDICATE), q = lower_new_register(s->f, CLASS_PREDICATE);
        combine(s, low, p, REF_ABSENT);
        combine(s, high, q, REF_ABSENT);
        low = p;
        high = q;
    }
    uint32_t ones = to == PTX_f16x2 ? 0x3c003c00 : to == PTX_bf16x2 ? 0x3f803f80 : 0xffffffff;
    Ref halves = select_compute(s, "set_x2", CLASS_32, low, high, REF_ABSENT);
    Ref d = select_dest(s, operand_at(s, 0), CLASS_32);
    LowerInsn *insn = select_emit(s, OP_and_b32);
    insn->flags |= FLAG_PURE;
    insn->d = d;
    insn->a = halves;
    insn->b = lower_constant(s->lower, CLASS_32, ones, 0);
}

void select_set(Select *s)
{
    const PtxForm *form = s->insn->form;
    PtxType to = form->types[0];
    uint64_t ones;
    Comparison c;
    if (!prepare(s, form->types[1], &c)) return;
    if (is_pair_type(c.type)) {
        set_pair(s, &c, to);
        return;
    }
    if (!true_value(to, &ones)) {
        select_unsupported(s, "");
        return;
    }
    Ref high, value = compare(s, &c, &high);
    if (combination(form) != OP_setp_both) {
        Ref combined = lower_new_register(s->f, CLASS_PREDICATE);
        combine(s, value, combined, REF_ABSENT);
        value = combined;
    }
    RegisterClass class = class_of(to);
    Ref d = select_dest(s, operand_at(s, 0), class);
    LowerInsn *insn = select_emit(s, class == CLASS_16 ? OP_selp_b16 : OP_selp_b32);
    insn->flags |= FLAG_PURE;
    insn->d = d;
    insn->a = lower_constant(s->lower, class, ones, 0);
    insn->b = lower_constant(s->lower, class, 0, 0);
    insn->c = value;
}
