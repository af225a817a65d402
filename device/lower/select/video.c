/* Video instructions, composed of ordinary ones. Parts of words are extracted, and widened so far that
 * nothing overflows. Then comes the operation; its result is clamped under .sat, and inserted into the
 * destination.
 *
 * New GPUs do not have such instructions either: their compiler composes them. Where its results differ from
 * the manual, mostly for unsigned words, ours are the GPU's. Comments at such places say "as GPUs do".
 *
 * The scalar instructions work on a word, or on one byte or half of it, in 64 bits. The SIMD instructions
 * work on two halves or four bytes, each in 32 bits; the few that compilers emit have operations of their own
 * (alu.c).
 */
#include "lower/select/select.h"

typedef struct Video {
    Select *s;
    const PtxForm *form;
    RegisterClass class; /* of the values computed with: CLASS_64 or CLASS_32 */
    bool a_signed, b_signed, d_signed;
} Video;

static unsigned width(const Video *v) { return v->class == CLASS_64 ? 64 : 32; }

/* A constant of 32 bits; one of v->class. */
static Ref word(Video *v, uint32_t value) { return lower_constant(v->s->lower, CLASS_32, value, 0); }
static Ref constant(Video *v, int64_t value)
{
    return lower_constant(v->s->lower, v->class, v->class == CLASS_64 ? (uint64_t)value : (uint32_t)value, 0);
}

/* An operation on rows of 32 bits and the same on rows of 64. */
typedef struct OpPair {
    uint16_t op_32, op_64;
} OpPair;
#define OF_WIDTH(stem) ((OpPair){OP_##stem##32, OP_##stem##64})

/* The operation of the pair for v->class, and its result. */
static uint16_t of_width(const Video *v, OpPair ops) { return v->class == CLASS_64 ? ops.op_64 : ops.op_32; }
static Ref compute(Video *v, OpPair ops, Ref a, Ref b, Ref c)
{
    return select_compute(v->s, of_width(v, ops), v->class, a, b, c);
}
static Ref compute_2(Video *v, OpPair ops, Ref a, Ref b) { return compute(v, ops, a, b, REF_ABSENT); }

static Video video_of(Select *s, RegisterClass class)
{
    const PtxForm *form = s->insn->form;
    bool compares = form->type_count == 2; /* vset gives 0 and 1 */
    return (Video){.s = s,
                   .form = form,
                   .class = class,
                   .a_signed = is_signed(form->types[!compares]),
                   .b_signed = is_signed(form->types[1 + !compares]),
                   .d_signed = !compares && is_signed(form->types[0])};
}

/* The whole word of an operand, without regard to its selector and sign. */
static Ref whole_word(Video *v, uint32_t index)
{
    PtxOperand operand = *operand_at(v->s, index);
    operand.selector = (PtxSelector){0};
    operand.negated = false;
    return select_source(v->s, &operand, PTX_b32);
}

static Ref video_destination(Video *v)
{
    PtxOperand operand = *operand_at(v->s, 0);
    operand.selector = (PtxSelector){0};
    return select_dest(v->s, &operand, CLASS_32);
}

/* `bits` bits of a word from bit `at` on, extended to 32. */
static Ref extract_field(Video *v, Ref from, unsigned at, unsigned bits, bool with_sign)
{
    if (bits == 32) return from;
    return select_compute(v->s, with_sign ? OP_bfe_s32 : OP_bfe_u32, CLASS_32, from, word(v, at),
                          word(v, bits));
}

/* The word `into` with the low `bits` bits of `part` inserted from bit `at` on. */
static Ref insert_field(Video *v, Ref into, Ref part, unsigned at, unsigned bits)
{
    Ref d = select_compute(v->s, OP_bfi_b32, CLASS_32, part, into, word(v, at));
    /* bfi has a fourth source, e, which select_compute() does not set. */
    if (!v->s->failed) v->s->f->insns[v->s->f->insn_count - 1].e = word(v, bits);
    return d;
}

static void clamp_value(Video *v, Ref *value, int64_t min, int64_t max)
{
    *value = compute_2(v, OF_WIDTH(max_s), *value, constant(v, min));
    *value = compute_2(v, OF_WIDTH(min_s), *value, constant(v, max));
}

/* Clamps to the range of integers of `bits` bits, with a sign if d's type has one. */
static void saturate(Video *v, Ref *value, unsigned bits)
{
    int64_t half = INT64_C(1) << (bits - 1);
    if (v->d_signed)
        clamp_value(v, value, -half, half - 1);
    else
        clamp_value(v, value, 0, 2 * half - 1);
}

/* ---- the operations ---- */

/* (a + b) / 2, with ties away from zero: 1 is added before the shift unless the sum is below zero. */
static Ref rounded_mean(Video *v, Ref a, Ref b)
{
    Ref sum = compute_2(v, OF_WIDTH(add_b), a, b),
        sign = compute_2(v, OF_WIDTH(shr_s), sum, word(v, width(v) - 1));
    Ref moved = compute_2(v, OF_WIDTH(add_b), compute_2(v, OF_WIDTH(add_b), sum, sign), constant(v, 1));
    return compute_2(v, OF_WIDTH(shr_s), moved, word(v, 1));
}

/* vset: 1 if the comparison holds, else 0. */
static Ref select_compare(Video *v, Ref a, Ref b)
{
    PtxModifier how = v->form->group[PTX_GROUP_COMPARE];
    OpPair ops = how == PTX_MOD_eq   ? OF_WIDTH(setp_eq_b)
                 : how == PTX_MOD_ne ? OF_WIDTH(setp_ne_b)
                 : how == PTX_MOD_lt ? OF_WIDTH(setp_lt_s)
                 : how == PTX_MOD_le ? OF_WIDTH(setp_le_s)
                 : how == PTX_MOD_gt ? OF_WIDTH(setp_gt_s)
                                     : OF_WIDTH(setp_ge_s);
    Ref holds = select_compute(v->s, of_width(v, ops), CLASS_PREDICATE, a, b, REF_ABSENT);
    return compute(v, OF_WIDTH(selp_b), constant(v, 1), constant(v, 0), holds);
}

static Ref select_shift(Video *v, Ref a, Ref count, bool left)
{
    bool wraps = ptx_has(v->form, PTX_MOD_wrap);
    Ref limit = word(v, wraps ? 31 : 32); /* .wrap takes the count modulo 32, .clamp has at most 32 */
    count = select_compute(v->s, wraps ? OP_and_b32 : OP_min_u32, CLASS_32, count, limit, REF_ABSENT);
    return compute_2(v, left ? OF_WIDTH(shl_b) : OF_WIDTH(shr_s), a, count);
}

/* The instruction's operation on widened values; the count of a shift is a word. */
static Ref select_operation(Video *v, Ref a, Ref b)
{
    switch (v->form->opcode) {
    case PTX_OP_vadd:
    case PTX_OP_vadd2:
    case PTX_OP_vadd4: return compute_2(v, OF_WIDTH(add_b), a, b);
    case PTX_OP_vsub:
    case PTX_OP_vsub2:
    case PTX_OP_vsub4: return compute_2(v, OF_WIDTH(sub_b), a, b);
    case PTX_OP_vabsdiff:
    case PTX_OP_vabsdiff2:
    case PTX_OP_vabsdiff4: return compute(v, OF_WIDTH(sad_s), a, b, constant(v, 0));
    case PTX_OP_vmin:
    case PTX_OP_vmin2:
    case PTX_OP_vmin4: return compute_2(v, OF_WIDTH(min_s), a, b);
    case PTX_OP_vmax:
    case PTX_OP_vmax2:
    case PTX_OP_vmax4: return compute_2(v, OF_WIDTH(max_s), a, b);
    case PTX_OP_vavrg2:
    case PTX_OP_vavrg4: return rounded_mean(v, a, b);
    case PTX_OP_vshl: return select_shift(v, a, b, true);
    case PTX_OP_vshr: return select_shift(v, a, b, false);
    default: return select_compare(v, a, b);
    }
}

/* ---- scalar ---- */

/* Whether a selector is that of one byte or half, or absent. */
static bool scalar_selector(const PtxSelector *selector)
{
    return !selector->unit
           || (selector->count == 1 && (unsigned)selector->digits < (selector->unit == 'b' ? 4 : 2));
}

/* How many bits of a word a selector means; *at: the first. */
static unsigned selected_bits(const PtxSelector *selector, unsigned *at)
{
    unsigned bits = selector->unit == 'b' ? 8 : selector->unit == 'h' ? 16 : 32;
    *at = selector->digits * bits;
    return bits;
}

/* An error at an operand. Returns false, for the caller to return. */
static bool operand_error(Select *s, uint32_t index, const char *why)
{
    select_error(s, operand_at(s, index)->column, "%s", why);
    return false;
}

/* Whether ptxas accepts the operands of a scalar instruction, and they have a meaning; an error if not. */
static bool scalar_operands(Select *s)
{
    bool is_vmad = s->insn->form->opcode == PTX_OP_vmad;
    for (uint32_t i = 0; i < s->insn->operand_count; i++) {
        const PtxOperand *o = operand_at(s, i);
        if (!scalar_selector(&o->selector) || (i == 3 && o->selector.unit))
            return operand_error(s, i,
                                 "'.b0' to '.b3', '.h0' or '.h1' of the first three operands is expected");
        if (o->negated && !is_vmad)
            return operand_error(s, i, "of these instructions vmad alone negates operands");
    }
    if (!operand_at(s, 0)->selector.unit) return true;
    if (is_vmad) return operand_error(s, 0, "vmad writes all of d, with no selector");
    if (s->insn->form->group[PTX_GROUP_OPERATION])
        return operand_error(s, 0, "d has a selector or a second operation follows, not both");
    return true;
}

/* The part of an operand that its selector means, extended to a word. */
static Ref part_word(Video *v, uint32_t index, bool with_sign)
{
    unsigned at, bits = selected_bits(&operand_at(v->s, index)->selector, &at);
    return extract_field(v, whole_word(v, index), at, bits, with_sign);
}

/* A word extended to 64 bits. */
static Ref widened_value(Video *v, Ref value, bool with_sign)
{
    return select_compute(v->s, with_sign ? OP_cvt_s64_s32 : OP_cvt_u64_u32, CLASS_64, value, REF_ABSENT,
                          REF_ABSENT);
}

static bool is_sum(const Video *v)
{
    return v->form->opcode == PTX_OP_vadd || v->form->opcode == PTX_OP_vsub;
}
static bool is_shift(const Video *v)
{
    return v->form->opcode == PTX_OP_vshl || v->form->opcode == PTX_OP_vshr;
}

/* .sat of a scalar instruction, as GPUs do. A shifted value keeps 34 bits and is clamped to a word, even if d
 * has a selector. For a part of d (bits < 32) a value below zero becomes the maximum. For an unsigned word a
 * value below zero becomes 0, but one that is too large is not clamped: its low word is used. */
static void saturate_scalar(Video *v, Ref *value, unsigned bits)
{
    if (is_shift(v)) {
        enum { DROPPED = 64 - 34 };
        Ref raised = compute_2(v, OF_WIDTH(shl_b), *value, word(v, DROPPED));
        *value = compute_2(v, OF_WIDTH(shr_s), raised, word(v, DROPPED));
        saturate(v, value, 32);
    } else if (bits < 32) {
        *value = compute_2(v, OF_WIDTH(min_u), *value, constant(v, (INT64_C(1) << (bits - v->d_signed)) - 1));
    } else if (!v->d_signed) {
        *value = compute_2(v, OF_WIDTH(max_s), *value, constant(v, 0));
    } else {
        saturate(v, value, 32);
    }
}

/* The low word of a value of 64 bits. */
static Ref low_word(Video *v, Ref value)
{
    return select_compute(v->s, OP_cvt_b32_b64, CLASS_32, value, REF_ABSENT, REF_ABSENT);
}

/* The second operation (.add, .min or .max), on the result of the first and c. c is widened by the sign of
 * d's type; in vset, of a's. As GPUs do, .min and .max take a sum or a clamped shift as a signed word,
 * whatever its type, and other results as 64 bits. */
static Ref second_operation(Video *v, Ref value)
{
    PtxModifier what = v->form->group[PTX_GROUP_OPERATION];
    bool with_sign = v->form->opcode == PTX_OP_vset ? v->a_signed : v->d_signed;
    bool one_word = is_sum(v) || (is_shift(v) && ptx_has(v->form, PTX_MOD_sat));
    OpPair smaller = with_sign ? OF_WIDTH(min_s) : OF_WIDTH(min_u);
    OpPair larger = with_sign ? OF_WIDTH(max_s) : OF_WIDTH(max_u);
    if (what == PTX_MOD_add)
        return select_compute(v->s, OP_add_b32, CLASS_32, low_word(v, value), whole_word(v, 3), REF_ABSENT);
    if (one_word) value = widened_value(v, low_word(v, value), true);
    return low_word(v, compute_2(v, what == PTX_MOD_min ? smaller : larger, value,
                                 widened_value(v, whole_word(v, 3), with_sign)));
}

/* c, with the result in the part that d's selector means. As GPUs do, .h1 gets the upper half of the result:
 * its lower half is replaced by that of c. */
static Ref merge_result(Video *v, Ref value, unsigned at, unsigned bits)
{
    Ref c = whole_word(v, 3);
    return bits == 16 && at == 16 ? insert_field(v, value, c, 0, 16) : insert_field(v, c, value, at, bits);
}

void select_video(Select *s)
{
    Video v = video_of(s, CLASS_64);
    unsigned at, bits = selected_bits(&operand_at(s, 0)->selector, &at);
    if (!scalar_operands(s)) return;
    Ref a = widened_value(&v, part_word(&v, 1, v.a_signed), v.a_signed), b = part_word(&v, 2, v.b_signed);
    Ref value = select_operation(&v, a, is_shift(&v) ? b : widened_value(&v, b, v.b_signed));
    if (ptx_has(v.form, PTX_MOD_sat)) saturate_scalar(&v, &value, bits);
    if (v.form->group[PTX_GROUP_OPERATION])
        value = second_operation(&v, value);
    else
        value = bits < 32 ? merge_result(&v, low_word(&v, value), at, bits) : low_word(&v, value);
    select_deliver(s, video_destination(&v), value);
}

static Ref negated(Video *v, Ref value, bool negate)
{
    return negate ? compute_2(v, OF_WIDTH(neg_b), value, REF_ABSENT) : value;
}

/* Whether vmad can have these negations: of the product (`minus`), of c (`minus_c`); an error if not. */
static bool vmad_signs(Select *s, bool minus, bool minus_c)
{
    if (minus && minus_c) return operand_error(s, 3, "the product or c is negated, not both");
    if ((minus || minus_c) && ptx_has(s->insn->form, PTX_MOD_po))
        return operand_error(s, minus_c ? 3 : 1, ".po and negated operands exclude each other");
    return true;
}

/* vmad: (a * b + c) >> scale; with .po, 1 is added to the sum. As GPUs do, words are multiplied and added as
 * signed numbers, whatever their type; only the shift and .sat depend on it. */
void select_vmad(Select *s)
{
    Video v = video_of(s, CLASS_64);
    bool minus = operand_at(s, 1)->negated != operand_at(s, 2)->negated, minus_c = operand_at(s, 3)->negated;
    if (!scalar_operands(s) || !vmad_signs(s, minus, minus_c)) return;
    Ref a = widened_value(&v, part_word(&v, 1, v.a_signed), true),
        b = widened_value(&v, part_word(&v, 2, v.b_signed), true);
    Ref value = negated(&v, compute_2(&v, OF_WIDTH(mul_lo_b), a, b), minus);
    value = compute_2(&v, OF_WIDTH(add_b), value,
                      negated(&v, widened_value(&v, whole_word(&v, 3), true), minus_c));
    if (ptx_has(v.form, PTX_MOD_po)) value = compute_2(&v, OF_WIDTH(add_b), value, constant(&v, 1));
    v.d_signed = v.a_signed || v.b_signed || minus || minus_c;
    unsigned scale = ptx_has(v.form, PTX_MOD_shr7) ? 7 : ptx_has(v.form, PTX_MOD_shr15) ? 15 : 0;
    if (scale) value = compute_2(&v, v.d_signed ? OF_WIDTH(shr_s) : OF_WIDTH(shr_u), value, word(&v, scale));
    if (ptx_has(v.form, PTX_MOD_sat)) saturate(&v, &value, 32);
    select_deliver(s, video_destination(&v), low_word(&v, value));
}

/* ---- two halves, four bytes ---- */

/* The part of operand `index` (1: a, 2: b) for part number `part` of d, extended.
 * Without a selector it has the same number. The digits of a selector, the last for part
 * 0, count the parts of a and then those of b. */
static Ref chosen_part(Video *v, uint32_t index, unsigned count, unsigned part, bool with_sign)
{
    const PtxSelector *selector = &operand_at(v->s, index)->selector;
    unsigned number = (index - 1) * count + part, bits = 32 / count;
    if (selector->unit) number = selector->digits >> 4 * (count - 1 - part) & 15;
    return extract_field(v, whole_word(v, 1 + number / count), number % count * bits, bits, with_sign);
}

/* Whether the selectors of a SIMD instruction of `count` parts are valid; an error if not. */
static bool part_selectors(Select *s, unsigned count)
{
    const char unit = count == 2 ? 'h' : 'b';
    for (uint32_t i = 0; i < 4; i++) {
        const PtxSelector *selector = &operand_at(s, i)->selector;
        unsigned digits = i ? count : selector->count;
        if (!selector->unit || ((char)selector->unit == unit && selector->count == digits && i < 3)) continue;
        select_error(s, operand_at(s, i)->column, "a selector of %u parts, '.%c', is expected", count, unit);
        return false;
    }
    return true;
}

/* The parts of d that are written, a bit for each. Its selector must name the highest first; an error if
 * not. */
static unsigned written_parts(Select *s, unsigned count)
{
    const PtxSelector *selector = &operand_at(s, 0)->selector;
    unsigned parts = 0;
    if (!selector->unit) return (1u << count) - 1;
    for (unsigned i = selector->count; i-- > 0;) {
        unsigned part = 1u << (selector->digits >> 4 * i & 15);
        if (part <= parts) operand_error(s, 0, "the parts of d are named once each, the highest first");
        parts |= part;
    }
    if (parts >> count) select_error(s, operand_at(s, 0)->column, "d has %u parts", count);
    return parts;
}

/* The result for one part. */
static Ref one_part(Video *v, unsigned count, unsigned part)
{
    Ref a = chosen_part(v, 1, count, part, v->a_signed), b = chosen_part(v, 2, count, part, v->b_signed);
    Ref value = select_operation(v, a, b);
    if (ptx_has(v->form, PTX_MOD_sat)) saturate(v, &value, 32 / count);
    return value;
}

/* A SIMD instruction part by part, into c or, with .add, added to it. */
static void select_parts(Select *s, unsigned count)
{
    Video v = video_of(s, CLASS_32);
    if (!part_selectors(s, count)) return;
    unsigned written = written_parts(s, count), bits = 32 / count;
    bool added = ptx_has(v.form, PTX_MOD_add);
    Ref result = whole_word(&v, 3);
    for (unsigned part = 0; part < count; part++) {
        if (!(written >> part & 1)) continue;
        Ref value = one_part(&v, count, part);
        result = added ? compute_2(&v, OF_WIDTH(add_b), result, value)
                       : insert_field(&v, result, value, part * bits, bits);
    }
    select_deliver(s, video_destination(&v), result);
}

/* Whether the instruction has no selectors, and an operation of its own. */
static bool is_plain(Select *s)
{
    for (uint32_t i = 0; i < s->insn->operand_count; i++)
        if (operand_at(s, i)->selector.unit) return false;
    return select_has_operation(s);
}

static void select_simd(Select *s, unsigned count)
{
    if (ptx_has(s->insn->form, PTX_MOD_sat) && ptx_has(s->insn->form, PTX_MOD_add))
        operand_error(s, 0, ".sat and .add exclude each other");
    else if (is_plain(s))
        select_alu(s);
    else
        select_parts(s, count);
}

void select_video2(Select *s) { select_simd(s, 2); }
void select_video4(Select *s) { select_simd(s, 4); }

/* cvt.pack d, a, b, c: a and b, clamped to the type of d's parts, in the upper and lower of two parts. Above
 * them are the low bits of c; parts of 16 bits fill d. */
void select_pack(Select *s)
{
    Video v = video_of(s, CLASS_32);
    PtxType to = v.form->types[0];
    unsigned bits = ptx_type_bits(to);
    v.d_signed = is_signed(to);
    Ref a = whole_word(&v, 1), b = whole_word(&v, 2);
    saturate(&v, &a, bits);
    saturate(&v, &b, bits);
    Ref high = bits == 16 ? word(&v, 0)
                          : select_compute(s, OP_shl_b32, CLASS_32, whole_word(&v, 3), word(&v, 2 * bits),
                                           REF_ABSENT);
    Ref value = insert_field(&v, insert_field(&v, high, b, 0, bits), a, bits, bits);
    select_deliver(s, video_destination(&v), value);
}
