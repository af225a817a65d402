/* cvt, composed of steps that are each exact or round once.
 *
 * The source is brought to the natural row of its type (8 and 16 bits in a 16-bit row), converted between
 * integers, f32 and f64 as the middle ground of all others, and the result widened to the register it goes
 * to.
 */
#include "lower/select.h"

#include <stdio.h>

typedef struct Conversion {
    Select *s;
    const PtxForm *form;
    PtxType to, from;
    bool ftz, sat, relu;
    Ref value;             /* so far */
} Conversion;

static bool is_float(PtxType type) { return ptx_types[type].class == PTX_FLOAT; }

static bool is_signed(PtxType type) { return ptx_types[type].class == PTX_SIGNED; }

static PtxType integer_type(unsigned bits, bool with_sign)
{
    switch (bits) {
    case 8: return with_sign ? PTX_s8 : PTX_u8;
    case 16: return with_sign ? PTX_s16 : PTX_u16;
    case 32: return with_sign ? PTX_s32 : PTX_u32;
    default: return with_sign ? PTX_s64 : PTX_u64;
    }
}

static void step_with(Conversion *c, const char *name, PtxType result, Ref b, uint16_t mods)
{
    if (c->s->failed) return;
    c->value = select_compute(c->s, name, class_of(result), c->value, b, REF_ABSENT);
    if (!c->s->failed) c->s->f->insns[c->s->f->insn_count - 1].mods = mods;
}

static void step(Conversion *c, const char *name, PtxType result) { step_with(c, name, result, REF_ABSENT, 0); }

/* <prefix>_<to> or <prefix>_<to>_<from> */
static void step_named(Conversion *c, const char *prefix, PtxType to, PtxType from, uint16_t mods)
{
    char name[64];
    if (from == PTX_TYPE_NONE)
        snprintf(name, sizeof name, "%s_%s", prefix, ptx_types[to].name);
    else
        snprintf(name, sizeof name, "%s_%s_%s", prefix, ptx_types[to].name, ptx_types[from].name);
    step_with(c, name, to, REF_ABSENT, mods);
}

/* ---- integers ---- */

static void cut(Conversion *c, unsigned from_bits, unsigned to_bits)
{
    static const char *const names[3][3] = {{NULL, "cvt_b16_b32", "cvt_b16_b64"}, {NULL, NULL, "cvt_b32_b64"}};
    if (to_bits == 64) return;
    unsigned to = to_bits <= 16 ? 0 : 1, from = from_bits <= 16 ? 0 : from_bits == 32 ? 1 : 2;
    if (names[to][from]) step(c, names[to][from], integer_type(to_bits <= 16 ? 16 : 32, false));
}

/* From a natural row of `from` to a natural row of more bits; 8 bits fill their 16-bit row by extension. */
static void extend(Conversion *c, PtxType from, unsigned to_bits)
{
    bool with_sign = is_signed(from);
    unsigned bits = ptx_type_bits(from);
    if (to_bits < 16) to_bits = 16;
    if (bits >= to_bits) return;
    step_named(c, "cvt", integer_type(to_bits, with_sign), integer_type(bits, with_sign), 0);
}

/* The bounds of `to` as a clamp in 64 bits. */
static void saturate(Conversion *c, PtxType from, PtxType to)
{
    unsigned bits = ptx_type_bits(to);
    bool to_signed = is_signed(to);
    uint64_t most = to_signed    ? (UINT64_C(1) << (bits - 1)) - 1
                    : bits == 64 ? UINT64_MAX
                                 : (UINT64_C(1) << bits) - 1;
    uint64_t least = to_signed ? ~most : 0;
    Lower *lower = c->s->lower;
    extend(c, from, 64);
    if (!is_signed(from)) {
        step_with(c, "min_u64", PTX_u64, lower_constant(lower, CLASS_64, most, 0), 0);
        return;
    }
    step_with(c, "max_s64", PTX_s64, lower_constant(lower, CLASS_64, least, 0), 0);
    if (bits < 64) step_with(c, "min_s64", PTX_s64, lower_constant(lower, CLASS_64, most, 0), 0);
}

static void integer_to_integer(Conversion *c)
{
    unsigned from_bits = ptx_type_bits(c->from), to_bits = ptx_type_bits(c->to);
    if (c->sat && (to_bits < from_bits || is_signed(c->from) != is_signed(c->to))) {
        saturate(c, c->from, c->to);
        from_bits = 64;
    } else {
        if (to_bits > 8) extend(c, c->from, to_bits);
        if (to_bits > from_bits) from_bits = to_bits;
    }
    cut(c, from_bits, to_bits);
    if (to_bits == 8) extend(c, c->to, 16);
}

/* ---- floats ---- */

static uint16_t rounding(const PtxForm *form)
{
    switch (form->group[PTX_GROUP_ROUND]) {
    case PTX_MOD_rz: return MODS_RZ;
    case PTX_MOD_rm: return MODS_RM;
    case PTX_MOD_rp: return MODS_RP;
    default: return MODS_RN;
    }
}

/* Source of half precision to f32, exactly; the f32 source flushed under .ftz, but not on its way to f16. */
static PtxType widen_half(Conversion *c)
{
    if (c->ftz && c->from == PTX_f32 && c->to != PTX_f16) step_named(c, "ftz", c->from, PTX_TYPE_NONE, 0);
    if (c->from != PTX_f16 && c->from != PTX_bf16) return c->from;
    step_named(c, "cvt", PTX_f32, c->from, 0);
    return PTX_f32;
}

/* .rni .rzi .rmi .rpi: to an integral value of the same type; toward zero is what cvt does by itself. */
static void make_integral(Conversion *c, PtxType type, bool to_integer)
{
    const char *name = NULL;
    switch (c->form->group[PTX_GROUP_INTROUND]) {
    case PTX_MOD_rni: name = "rint"; break;
    case PTX_MOD_rmi: name = "floor"; break;
    case PTX_MOD_rpi: name = "ceil"; break;
    case PTX_MOD_rzi: name = to_integer ? NULL : "trunc"; break;
    default: break;
    }
    if (name) step_named(c, name, type, PTX_TYPE_NONE, 0);
}

static void float_to_integer(Conversion *c)
{
    PtxType from = widen_half(c);
    bool nearest = c->form->group[PTX_GROUP_INTROUND] == PTX_MOD_rni;
    uint16_t direct = select_find("cvt_rni_%s_%s", ptx_types[c->to].name, ptx_types[from].name);
    if (nearest && direct != OP_COUNT) {
        step_named(c, "cvt_rni", c->to, from, 0);
        return;
    }
    make_integral(c, from, true);
    step_named(c, "cvt", c->to, from, 0);
}

/* From f32, f64 or an integer of 32 or 64 bits: rounded once. */
static void to_half(Conversion *c, PtxType from)
{
    uint16_t round = rounding(c->form);
    if (from == PTX_f64) {
        step_named(c, "cvt", c->to, from, round);
        return;
    }
    if (from != PTX_f32) step_named(c, "cvt_odd", PTX_f32, from, 0);
    step_named(c, round == MODS_RN ? "cvt" : "cvt_round", c->to, PTX_f32, round);
}

static void clamp_result(Conversion *c)
{
    if (c->ftz && c->to == PTX_f32) step_named(c, "flush", c->to, PTX_TYPE_NONE, 0);
    if (c->sat) step_named(c, "sat", c->to, PTX_TYPE_NONE, 0);
    if (c->relu) step_named(c, "relu", c->to, PTX_TYPE_NONE, 0);
}

static void integer_to_float(Conversion *c)
{
    uint16_t round = rounding(c->form);
    PtxType from = ptx_type_bits(c->from) < 32 ? integer_type(32, is_signed(c->from)) : c->from;
    extend(c, c->from, 32);
    bool exact = c->to == PTX_f64 && ptx_type_bits(from) == 32;
    if (c->to == PTX_f16 || c->to == PTX_bf16)
        to_half(c, from);
    else
        step_named(c, round == MODS_RN || exact ? "cvt" : "cvt_round", c->to, from, exact ? 0 : round);
    clamp_result(c);
}

static void float_to_float(Conversion *c)
{
    uint16_t round = rounding(c->form);
    if (c->to == PTX_f64 && c->from == PTX_f16) {
        step(c, "cvt_f64_f16", PTX_f64);
        clamp_result(c);
        return;
    }
    PtxType from = widen_half(c);
    make_integral(c, from, false);
    if (c->to == PTX_f16 || c->to == PTX_bf16)
        to_half(c, from);
    else if (c->to == PTX_f64 && from == PTX_f32)
        step(c, "cvt_f64_f32", PTX_f64);
    else if (c->to == PTX_f32 && from == PTX_f64)
        step_named(c, round == MODS_RN ? "cvt" : "cvt_round", PTX_f32, PTX_f64, round);
    clamp_result(c);
}

/* ---- packed types: one operation, its modifiers in mods ---- */

static uint16_t packed_mods(const PtxForm *form)
{
    uint16_t mods = form->group[PTX_GROUP_ROUND] == PTX_MOD_rna ? MODS_RNA : rounding(form);
    if (ptx_has(form, PTX_MOD_relu)) mods |= MODS_RELU;
    if (ptx_has(form, PTX_MOD_satfinite)) mods |= MODS_SATFINITE;
    return mods;
}

static void packed(Select *s)
{
    const PtxForm *form = s->insn->form;
    PtxType to = form->types[0], from = form->types[1];
    uint16_t op =
        form->type_count > 2 ? OP_COUNT : select_find("cvt_%s_%s", ptx_types[to].name, ptx_types[from].name);
    bool odd_rounding = form->group[PTX_GROUP_ROUND] == PTX_MOD_rs;
    if (op == OP_COUNT || odd_rounding || ptx_has(form, PTX_MOD_sat) || s->insn->operand_count > 3) {
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

static bool is_scalar(PtxType type)
{
    if (!is_float(type)) return ptx_type_bits(type) >= 8 && ptx_type_bits(type) <= 64;
    return type == PTX_f16 || type == PTX_bf16 || type == PTX_f32 || type == PTX_f64;
}

/* A register wider than the type it holds: the result is extended to it. */
static void deliver(Conversion *c)
{
    Select *s = c->s;
    const PtxOperand *to = operand_at(s, 0);
    RegisterClass natural = class_of(c->to);
    RegisterClass have =
        to->kind == PTX_OPERAND_REGISTER ? select_class(s, REF_MAKE(REF_FRAME, to->reg)) : natural;
    if (have > natural && have <= CLASS_64)
        extend(c, integer_type(natural == CLASS_16 ? 16 : 32, is_signed(c->to)), have == CLASS_64 ? 64 : 32);
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
        packed(s);
        return;
    }
    PtxModifier round = form->group[PTX_GROUP_ROUND];
    bool odd_rounding = round == PTX_MOD_rna || round == PTX_MOD_rs || ptx_has(form, PTX_MOD_satfinite);
    if (form->type_count != 2 || odd_rounding || s->insn->operand_count != 2) {
        select_unsupported(s, "");
        return;
    }
    c.value = select_source(s, operand_at(s, 1), c.from);
    if (s->failed) return;
    if (is_float(c.to)) {
        if (is_float(c.from))
            float_to_float(&c);
        else
            integer_to_float(&c);
    } else if (is_float(c.from)) {
        float_to_integer(&c);
    } else {
        integer_to_integer(&c);
    }
    deliver(&c);
}
