/* cvt, composed of steps of which at most one rounds the result.
 *
 * The source is read into the natural row of its type: that of its size, with 8 bits in a row of 16. Between
 * most types the value is converted by way of a wider integer, f32 or f64. At the end it is extended to the
 * register that it goes to.
 */
#include "lower/select/select.h"

typedef struct Conversion {
    Select *s;
    const PtxForm *form;
    PtxType to, from;
    bool ftz, sat, relu;
    Ref value;             /* the value so far */
} Conversion;

static PtxType integer_type(unsigned bits, bool with_sign)
{
    switch (bits) {
    case 8: return with_sign ? PTX_s8 : PTX_u8;
    case 16: return with_sign ? PTX_s16 : PTX_u16;
    case 32: return with_sign ? PTX_s32 : PTX_u32;
    default: return with_sign ? PTX_s64 : PTX_u64;
    }
}

/* How an operation of alu.def rounds: cvt to nearest or, to integers, toward zero; cvt_round as its mods say;
 * cvt_odd to odd; cvt_rni to the nearest integer. */
typedef enum How { HOW_cvt, HOW_cvt_round, HOW_cvt_odd, HOW_cvt_rni } How;

static const struct {
    uint8_t how, to, from;
    uint16_t op;
} conversions[] = {
#define OP(name)
#define CVT(how, to, from) {HOW_##how, PTX_##to, PTX_##from, OP_##how##_##to##_##from},
#include "exec/code/alu.def"
#undef OP
};

/* The operation of a row; OP_COUNT if there is none. Of the types the result's comes first, as in names. */
static uint16_t conversion_op(How how, PtxType to, PtxType from)
{
    for (size_t i = 0; i < sizeof conversions / sizeof *conversions; i++)
        if (conversions[i].how == how && conversions[i].to == to && conversions[i].from == from)
            return conversions[i].op;
    return OP_COUNT;
}

/* value = op(value, b), of type `result`. Does nothing after an error. */
static void step_with(Conversion *c, uint16_t op, PtxType result, Ref b, uint16_t mods)
{
    if (c->s->failed) return;
    c->value = select_compute(c->s, op, class_of(result), c->value, b, REF_ABSENT);
    if (!c->s->failed) c->s->f->insns[c->s->f->insn_count - 1].mods = mods;
}

static void step(Conversion *c, uint16_t op, PtxType result) { step_with(c, op, result, REF_ABSENT, 0); }

/* value = value of type `from`, converted to `to`. */
static void convert(Conversion *c, How how, PtxType to, PtxType from, uint16_t mods)
{
    step_with(c, conversion_op(how, to, from), to, REF_ABSENT, mods);
}

/* ---- integers ---- */

/* From a natural row of an integer to the natural row of fewer bits; nothing if it is the same. */
static void cut_bits(Conversion *c, unsigned from_bits, unsigned to_bits)
{
    if (to_bits <= 16 && from_bits > 16)
        step(c, from_bits == 32 ? OP_cvt_b16_b32 : OP_cvt_b16_b64, PTX_u16);
    else if (to_bits == 32 && from_bits == 64)
        step(c, OP_cvt_b32_b64, PTX_u32);
}

/* From a natural row of integers of type `from` to that of more bits. A
 * value of 8 bits is extended to its row of 16. */
static void extend_row(Conversion *c, PtxType from, unsigned to_bits)
{
    bool with_sign = is_signed(from);
    unsigned bits = ptx_type_bits(from);
    if (to_bits < 16) to_bits = 16;
    if (bits >= to_bits) return;
    convert(c, HOW_cvt, integer_type(to_bits, with_sign), integer_type(bits, with_sign), 0);
}

/* Clamps a value of type `from` to the range of `to`, in 64 bits. */
static void saturate_to(Conversion *c, PtxType from, PtxType to)
{
    unsigned bits = ptx_type_bits(to);
    bool to_signed = is_signed(to);
    uint64_t max = to_signed    ? (UINT64_C(1) << (bits - 1)) - 1
                   : bits == 64 ? UINT64_MAX
                                : (UINT64_C(1) << bits) - 1;
    uint64_t min = to_signed ? ~max : 0;
    Lower *lower = c->s->lower;
    extend_row(c, from, 64);
    if (!is_signed(from)) {
        step_with(c, OP_min_u64, PTX_u64, lower_constant(lower, CLASS_64, max, 0), 0);
        return;
    }
    step_with(c, OP_max_s64, PTX_s64, lower_constant(lower, CLASS_64, min, 0), 0);
    if (bits < 64) step_with(c, OP_min_s64, PTX_s64, lower_constant(lower, CLASS_64, max, 0), 0);
}

/* Under .sat the value is clamped where it may not fit; then it is cut or extended to the row of `to`. */
static void integer_to_integer(Conversion *c)
{
    unsigned from_bits = ptx_type_bits(c->from), to_bits = ptx_type_bits(c->to);
    if (c->sat && (to_bits < from_bits || is_signed(c->from) != is_signed(c->to))) {
        saturate_to(c, c->from, c->to);
        from_bits = 64; /* the value has now */
    } else {
        if (to_bits > 8) extend_row(c, c->from, to_bits);
        if (to_bits > from_bits) from_bits = to_bits;
    }
    cut_bits(c, from_bits, to_bits);
    if (to_bits == 8) extend_row(c, c->to, 16);
}

/* ---- floats ---- */

/* The source as a float: one of half precision becomes f32, exactly; subnormals of f32 are flushed under .ftz
 * unless the result is f16. Returns the type of the value so far. */
static PtxType source_to_float(Conversion *c)
{
    if (c->ftz && c->from == PTX_f32 && c->to != PTX_f16) step(c, OP_ftz_f32, PTX_f32);
    if (c->from != PTX_f16 && c->from != PTX_bf16) return c->from;
    convert(c, HOW_cvt, PTX_f32, c->from, 0);
    return PTX_f32;
}

/* .rni .rzi .rmi .rpi: rounds to an integral value of the same type. `to_integer`: an integer follows, for
 * which .rzi needs no step, since cvt rounds toward zero by itself. */
static void make_integral(Conversion *c, PtxType type, bool to_integer)
{
    bool wide = type == PTX_f64;
    switch (c->form->group[PTX_GROUP_INTROUND]) {
    case PTX_MOD_rni: step(c, wide ? OP_rint_f64 : OP_rint_f32, type); break;
    case PTX_MOD_rmi: step(c, wide ? OP_floor_f64 : OP_floor_f32, type); break;
    case PTX_MOD_rpi: step(c, wide ? OP_ceil_f64 : OP_ceil_f32, type); break;
    case PTX_MOD_rzi:
        if (!to_integer) step(c, wide ? OP_trunc_f64 : OP_trunc_f32, type);
        break;
    default: break;
    }
}

/* By one operation that rounds to nearest, or one that makes the value integral and one that converts it. */
static void float_to_integer(Conversion *c)
{
    PtxType from = source_to_float(c);
    bool nearest = c->form->group[PTX_GROUP_INTROUND] == PTX_MOD_rni;
    if (nearest && conversion_op(HOW_cvt_rni, c->to, from) != OP_COUNT) {
        convert(c, HOW_cvt_rni, c->to, from, 0);
        return;
    }
    make_integral(c, from, true);
    convert(c, HOW_cvt, c->to, from, 0);
}

/* From f32, f64 or an integer of 32 or 64 bits to f16 or bf16, as if rounded once. Integers first become f32,
 * rounded to odd, which keeps what the second rounding needs. The operation for f64 takes any rounding. */
static void to_half(Conversion *c, PtxType from)
{
    uint16_t round = rounding_mods(c->form);
    if (from == PTX_f64) {
        convert(c, HOW_cvt, c->to, from, round);
        return;
    }
    if (from != PTX_f32) convert(c, HOW_cvt_odd, PTX_f32, from, 0);
    convert(c, round == MODS_RN ? HOW_cvt : HOW_cvt_round, c->to, PTX_f32, round);
}

/* .ftz, .sat and .relu. */
static void clamp_result(Conversion *c)
{
    if (c->ftz && c->to == PTX_f32) step(c, OP_flush_f32, PTX_f32);
    if (c->sat) step(c, select_sat_op(c->to), c->to);
    if (c->relu) step(c, select_relu_op(c->to), c->to);
}

static void integer_to_float(Conversion *c)
{
    uint16_t round = rounding_mods(c->form);
    PtxType from = ptx_type_bits(c->from) < 32 ? integer_type(32, is_signed(c->from)) : c->from;
    extend_row(c, c->from, 32);
    bool exact = c->to == PTX_f64 && ptx_type_bits(from) == 32;
    if (c->to == PTX_f16 || c->to == PTX_bf16)
        to_half(c, from);
    else
        convert(c, round == MODS_RN || exact ? HOW_cvt : HOW_cvt_round, c->to, from, exact ? 0 : round);
    clamp_result(c);
}

static void float_to_float(Conversion *c)
{
    uint16_t round = rounding_mods(c->form);
    if (c->to == PTX_f64 && c->from == PTX_f16) {
        step(c, OP_cvt_f64_f16, PTX_f64);
        clamp_result(c);
        return;
    }
    PtxType from = source_to_float(c);
    make_integral(c, from, false);
    if (c->to == PTX_f16 || c->to == PTX_bf16)
        to_half(c, from);
    else if (c->to == PTX_f64 && from == PTX_f32)
        step(c, OP_cvt_f64_f32, PTX_f64);
    else if (c->to == PTX_f32 && from == PTX_f64)
        convert(c, round == MODS_RN ? HOW_cvt : HOW_cvt_round, PTX_f32, PTX_f64, round);
    clamp_result(c);
}

/* ---- packed types: one operation, its modifiers in mods ---- */

static uint16_t packed_mods(const PtxForm *form)
{
    uint16_t mods = form->group[PTX_GROUP_ROUND] == PTX_MOD_rna ? MODS_RNA : rounding_mods(form);
    if (ptx_has(form, PTX_MOD_relu)) mods |= MODS_RELU;
    if (ptx_has(form, PTX_MOD_satfinite)) mods |= MODS_SATFINITE;
    return mods;
}

/* cvt of packed types, by one operation. */
static void select_packed(Select *s)
{
    const PtxForm *form = s->insn->form;
    PtxType to = form->types[0], from = form->types[1];
    uint16_t op = form->type_count > 2 ? OP_COUNT : conversion_op(HOW_cvt, to, from);
    bool stochastic = form->group[PTX_GROUP_ROUND] == PTX_MOD_rs;
    if (op == OP_COUNT || stochastic || ptx_has(form, PTX_MOD_sat) || s->insn->operand_count > 3) {
        select_unsupported(s, "");
        return;
    }
    Ref a = select_source(s, operand_at(s, 1), from);
    Ref b = s->insn->operand_count > 2 ? select_source(s, operand_at(s, 2), from) : REF_ABSENT;
    Ref d = select_dest(s, operand_at(s, 0), class_of(to));
    LowerInsn *insn = select_emit(s, op);
    insn->flags |= FLAG_PURE;
    insn->mods = packed_mods(form);
    insn->d = d;
    insn->a = a;
    insn->b = b;
}

/* To one half under .satfinite: as the lower half of a packed conversion, whose upper half is 0. */
static void saturated_half(Conversion *c)
{
    uint16_t op = conversion_op(HOW_cvt, c->to == PTX_f16 ? PTX_f16x2 : PTX_bf16x2, PTX_f32);
    Ref value = c->value;
    c->value = lower_constant(c->s->lower, CLASS_32, 0, 0);
    step_with(c, op, PTX_b32, value, packed_mods(c->form));
    cut_bits(c, 32, 16);
}

/* Whether select_cvt() converts the type by steps: not packed, not of 4 to 8 bits as a float. */
static bool is_scalar(PtxType type)
{
    if (!is_float(type)) return ptx_type_bits(type) >= 8 && ptx_type_bits(type) <= 64;
    return type == PTX_f16 || type == PTX_bf16 || type == PTX_f32 || type == PTX_f64;
}

/* Writes the result. If the register is wider than its type, the result is extended. */
static void deliver_result(Conversion *c)
{
    Select *s = c->s;
    const PtxOperand *to = operand_at(s, 0);
    RegisterClass natural = class_of(c->to);
    RegisterClass have =
        to->kind == PTX_OPERAND_REGISTER ? select_class(s, REF_MAKE(REF_FRAME, to->reg)) : natural;
    if (have > natural && have <= CLASS_64)
        extend_row(c, integer_type(natural == CLASS_16 ? 16 : 32, is_signed(c->to)),
                   have == CLASS_64 ? 64 : 32);
    Ref d = select_dest(s, to, have);
    select_deliver(s, d, c->value);
}

void select_cvt(Select *s)
{
    const PtxForm *form = s->insn->form;
    if (ptx_has(form, PTX_MOD_pack)) {
        select_pack(s);
        return;
    }
    Conversion c = {.s = s,
                    .form = form,
                    .to = form->types[0],
                    .from = form->types[1],
                    .ftz = ptx_has(form, PTX_MOD_ftz),
                    .sat = ptx_has(form, PTX_MOD_sat),
                    .relu = ptx_has(form, PTX_MOD_relu)};
    if (!is_scalar(c.to) || !is_scalar(c.from)) {
        select_packed(s);
        return;
    }
    PtxModifier round = form->group[PTX_GROUP_ROUND];
    bool packed_rounding = round == PTX_MOD_rna || round == PTX_MOD_rs;
    if (form->type_count != 2 || packed_rounding || s->insn->operand_count != 2) {
        select_unsupported(s, "");
        return;
    }
    c.value = select_source(s, operand_at(s, 1), c.from);
    if (s->failed) return;
    if (ptx_has(form, PTX_MOD_satfinite)) {
        saturated_half(&c);
    } else if (is_float(c.to)) {
        if (is_float(c.from))
            float_to_float(&c);
        else
            integer_to_float(&c);
    } else if (is_float(c.from)) {
        float_to_integer(&c);
    } else {
        integer_to_integer(&c);
    }
    deliver_result(&c);
}
