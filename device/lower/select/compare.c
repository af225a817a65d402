/* setp and set: a comparison, combined with a predicate, into predicates or values. */
#include "lower/select/select.h"

/* The comparison of a form. lo ls hi hs are the unsigned lt le gt ge; lo and hi are in the group of
 * mul.lo. */
static PtxModifier comparison(const PtxForm *form)
{
    switch (form->group[PTX_GROUP_COMPARE]) {
    case PTX_MOD_NONE: return form->group[PTX_GROUP_HALF] == PTX_MOD_lo ? PTX_MOD_lt : PTX_MOD_gt;
    case PTX_MOD_ls: return PTX_MOD_le;
    case PTX_MOD_hs: return PTX_MOD_ge;
    default: return form->group[PTX_GROUP_COMPARE];
    }
}

/* Operations by comparison, then type. That of BY(how, type, name) has `name` for the type: equality of
 * integers depends on their size only, order on their sign, too. */
#define BY(how, type, name) [PTX_##type] = OP_setp_##how##_##name
#define FLOATS(how) \
    BY(how, f16, f16), BY(how, f16x2, f16x2), BY(how, bf16, bf16), BY(how, bf16x2, bf16x2), \
        BY(how, f32, f32), BY(how, f64, f64)
#define EQUALITY(how) \
    BY(how, b16, b16), BY(how, u16, b16), BY(how, s16, b16), BY(how, b32, b32), BY(how, u32, b32), \
        BY(how, s32, b32), BY(how, b64, b64), BY(how, u64, b64), BY(how, s64, b64)
#define ORDER(how) \
    BY(how, u16, u16), BY(how, s16, s16), BY(how, u32, u32), BY(how, s32, s32), BY(how, u64, u64), \
        BY(how, s64, s64)
#define COMPARISON(how, ...) \
    { \
        PTX_MOD_##how, OP_setp_##how##_ftz_f32, { FLOATS(how), __VA_ARGS__ } \
    }
#define UNORDERED(how) \
    { \
        PTX_MOD_##how, OP_setp_##how##_ftz_f32, { FLOATS(how) } \
    }
static const struct {
    uint16_t how, ftz_f32;
    uint16_t ops[PTX_TYPE_COUNT];
} comparisons[] = {
    COMPARISON(eq, EQUALITY(eq)),
    COMPARISON(ne, EQUALITY(ne)),
    COMPARISON(lt, ORDER(lt)),
    COMPARISON(le, ORDER(le)),
    COMPARISON(gt, ORDER(gt)),
    COMPARISON(ge, ORDER(ge)),
    UNORDERED(equ),
    UNORDERED(neu),
    UNORDERED(ltu),
    UNORDERED(leu),
    UNORDERED(gtu),
    UNORDERED(geu),
    UNORDERED(num),
    UNORDERED(nan),
};

static uint16_t comparison_op(PtxModifier how, PtxType type, bool ftz)
{
    size_t i = 0, count = sizeof comparisons / sizeof *comparisons;
    while (i < count && comparisons[i].how != how) i++;
    if (i == count) return OP_COUNT;
    return ftz && type == PTX_f32 ? comparisons[i].ftz_f32 : op_or_none(comparisons[i].ops[type]);
}

/* What flushes subnormal sources. Those of f32 are flushed by the comparison. */
static const uint16_t ftz_ops[PTX_TYPE_COUNT] = {[PTX_f16] = OP_ftz_f16, [PTX_f16x2] = OP_ftz_f16x2};

static Ref flush_subnormal(Select *s, Ref source, PtxType type, bool wanted)
{
    if (!wanted) return source;
    return select_compute(s, op_or_none(ftz_ops[type]), class_of(type), source, REF_ABSENT, REF_ABSENT);
}

static bool is_pair_type(PtxType type) { return type == PTX_f16x2 || type == PTX_bf16x2; }

typedef struct Comparison {
    uint16_t op;
    Ref a, b;
    PtxType type;
} Comparison;

/* Chooses the operation and reads its sources. False after an error. */
static bool prepare_comparison(Select *s, PtxType type, Comparison *c)
{
    const PtxForm *form = s->insn->form;
    bool ftz = ptx_has(form, PTX_MOD_ftz), flushes = ftz && ptx_type_bits(type) != 64 && type != PTX_f32;
    c->type = type;
    c->op = comparison_op(comparison(form), type, ftz);
    if (c->op == OP_COUNT) {
        select_unsupported(s, "");
        return false;
    }
    c->a = flush_subnormal(s, select_source(s, operand_at(s, 1), type), type, flushes);
    c->b = flush_subnormal(s, select_source(s, operand_at(s, 2), type), type, flushes);
    return true;
}

static void fill_comparison(LowerInsn *insn, const Comparison *c)
{
    insn->flags |= FLAG_PURE;
    insn->a = c->a;
    insn->b = c->b;
}

/* The result of a comparison in a new predicate. *high: absent, or of a pair type the result of the upper
 * half. */
static Ref compare_to_predicates(Select *s, const Comparison *c, Ref *high)
{
    Ref second = is_pair_type(c->type) ? lower_new_register(s->f, CLASS_PREDICATE) : REF_ABSENT;
    LowerInsn *insn = select_temp(s, c->op, CLASS_PREDICATE);
    fill_comparison(insn, c);
    if (second != REF_ABSENT) {
        insn->e = second;
        insn->flags |= FLAG_E_WRITTEN;
    }
    *high = second;
    return insn->d;
}

/* The operation that combines the comparison with a third source, or OP_setp_both if there is none. */
static uint16_t combination_op(const PtxForm *form)
{
    switch (form->group[PTX_GROUP_OPERATION]) {
    case PTX_MOD_and: return OP_setp_and;
    case PTX_MOD_or: return OP_setp_or;
    case PTX_MOD_xor: return OP_setp_xor;
    default: return OP_setp_both;
    }
}

/* d = value op q, e = !value op q, where op and q are those of the instruction; without them d = value, e =
 * !value. d and e may be absent. */
static void combine_predicates(Select *s, Ref value, Ref d, Ref e)
{
    uint16_t op = combination_op(s->insn->form);
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
    if (!prepare_comparison(s, form->types[0], &c)) return;
    Ref p = select_optional_dest(s, pair ? &to->items[0] : to, CLASS_PREDICATE);
    Ref q = pair ? select_optional_dest(s, &to->items[1], CLASS_PREDICATE) : REF_ABSENT;
    if (!pair && combination_op(form) == OP_setp_both && p != REF_ABSENT && !is_pair_type(c.type)) {
        LowerInsn *insn = select_emit(s, c.op);
        fill_comparison(insn, &c);
        insn->d = p;
        return;
    }
    Ref high, low = compare_to_predicates(s, &c, &high);
    if (!is_pair_type(c.type)) {
        combine_predicates(s, low, p, q);
        return;
    }
    combine_predicates(s, low, p, REF_ABSENT);
    combine_predicates(s, high, q, REF_ABSENT);
}

/* *value: what set writes where the comparison holds, 1.0 or all bits. False if it has no such type. */
static bool true_value(PtxType type, uint64_t *value)
{
    switch (type) {
    case PTX_u32:
    case PTX_s32: *value = UINT32_MAX; return true;
    case PTX_u16:
    case PTX_s16: *value = UINT16_MAX; return true;
    case PTX_f32: *value = F32_ONE; return true;
    case PTX_f16: *value = F16_ONE; return true;
    case PTX_bf16: *value = BF16_ONE; return true;
    default: return false;
    }
}

/* set of a pair type: each half has the value of its own comparison. */
static void set_pair(Select *s, const Comparison *c, PtxType to)
{
    Ref high, low = compare_to_predicates(s, c, &high);
    if (combination_op(s->insn->form) != OP_setp_both) {
        Ref p = lower_new_register(s->f, CLASS_PREDICATE), q = lower_new_register(s->f, CLASS_PREDICATE);
        combine_predicates(s, low, p, REF_ABSENT);
        combine_predicates(s, high, q, REF_ABSENT);
        low = p;
        high = q;
    }
    uint32_t ones = UINT32_MAX;
    if (to == PTX_f16x2) ones = F16_ONE << 16 | F16_ONE;
    if (to == PTX_bf16x2) ones = BF16_ONE << 16 | BF16_ONE;
    Ref halves = select_compute(s, OP_set_x2, CLASS_32, low, high, REF_ABSENT);
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
    if (!prepare_comparison(s, form->types[1], &c)) return;
    if (is_pair_type(c.type)) {
        set_pair(s, &c, to);
        return;
    }
    if (!true_value(to, &ones)) {
        select_unsupported(s, "");
        return;
    }
    Ref high, value = compare_to_predicates(s, &c, &high);
    if (combination_op(form) != OP_setp_both) {
        Ref combined = lower_new_register(s->f, CLASS_PREDICATE);
        combine_predicates(s, value, combined, REF_ABSENT);
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
