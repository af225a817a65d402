/* Arithmetic and logic: the operation's name is made of the mnemonic's words, looked up once for each form.
 *
 * The name is opcode[_half][_mode][_flags][_variant]_type. An operation on integers that does not depend on
 * the sign is named with b16, b32 ... A modifier that no name has is done around the operation: .ftz flushes
 * the sources and the result, .sat and .relu clamp the result.
 */
#include "lower/select/select.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 96 };

/* How a form is computed. */
struct AluPattern {
    uint16_t op, mods;       /* op is OP_COUNT if the form is not supported */
    uint16_t before;         /* run on each source that is flushed; OP_COUNT: none */
    uint16_t after[3];       /* run on the result, in this order */
    uint8_t after_count;
    bool pure;               /* FLAG_PURE: does not use the carry */
    bool names_no_rounding;  /* FLAG_NO_ROUNDING */
};

typedef struct Name {
    char text[NAME_SIZE];
    size_t length;
} Name;

/* Adds "_" and the letters and digits of a part, in lower case. A name that gets too long
 * stays as it is, and is that of no operation. */
static void name_add(Name *name, const char *part)
{
    if (name->length + strlen(part) + 2 > NAME_SIZE) return;
    name->text[name->length++] = '_';
    for (; *part; part++)
        if (isalnum((unsigned char)*part)) name->text[name->length++] = (char)tolower((unsigned char)*part);
    name->text[name->length] = '\0';
}

/* Whether a modifier is not a word of the name: those of a variant, and those done around the operation. */
static bool outside_name(PtxModifier m, bool is_float_type)
{
    if (m == PTX_MOD_sat) return is_float_type;
    return m == PTX_MOD_ftz || m == PTX_MOD_relu || m == PTX_MOD_approx || m == PTX_MOD_full
           || m == PTX_MOD_noftz || ptx_modifiers[m].group == PTX_GROUP_ROUND;
}

/* The modifiers of a form in the order in which names have them: by group, flags last. */
static void name_add_modifiers(Name *name, const PtxForm *form)
{
    static const uint8_t order[] = {PTX_GROUP_HALF,    PTX_GROUP_MODE,      PTX_GROUP_BOUNDARY,
                                    PTX_GROUP_COMPARE, PTX_GROUP_OPERATION, PTX_GROUP_FLAG};
    bool is_float_type = is_float(form->types[0]);
    for (size_t g = 0; g < sizeof order; g++)
        for (unsigned w = 0; w < PTX_MOD_WORDS; w++)
            for (uint64_t set = form->set[w]; set; set &= set - 1) {
                PtxModifier m = (PtxModifier)(w * 64 + (unsigned)__builtin_ctzll(set));
                if (ptx_modifiers[m].group == order[g] && !outside_name(m, is_float_type))
                    name_add(name, ptx_modifiers[m].spelling);
            }
}

/* Adds the types that the operation's name has. Mostly that is the first of the form. */
static void name_add_type(Name *name, const PtxForm *form)
{
    PtxType type = form->types[0];
    char bits[16];
    switch (form->opcode) {
    case PTX_OP_slct:
    case PTX_OP_selp:
        snprintf(bits, sizeof bits, "b%u", ptx_type_bits(type));
        name_add(name, bits);
        if (form->opcode == PTX_OP_slct) name_add(name, ptx_types[form->types[1]].name);
        return;
    case PTX_OP_dp4a:
    case PTX_OP_dp2a:
        name_add(name, ptx_types[type].name);
        type = form->types[1];
        break;
    case PTX_OP_vset2:
    case PTX_OP_vset4: type = form->types[0] == form->types[1] ? form->types[0] : PTX_TYPE_NONE; break;
    case PTX_OP_vabsdiff2:
    case PTX_OP_vabsdiff4:
    case PTX_OP_vadd2:
    case PTX_OP_vadd4:
    case PTX_OP_vsub2:
    case PTX_OP_vsub4: type = form->types[1] == form->types[2] ? form->types[1] : PTX_TYPE_NONE; break;
    }
    name_add(name, type == PTX_TYPE_NONE ? "mixed" : ptx_types[type].name);
}

/* The operation of that stem whose name does not have the sign of an integer type: for .s32 that of b32. For
 * an untyped one, .b32, it is that of u32. OP_COUNT if there is none. */
static uint16_t find_sign_free(const char *stem, PtxType type)
{
    char name[NAME_SIZE + 16];
    const char *text = ptx_types[type].name;
    if (is_float(type) || !strchr("bsu", text[0])) return OP_COUNT;
    snprintf(name, sizeof name, "%s_%c%s", stem, ptx_types[type].class == PTX_BITS ? 'u' : 'b', text + 1);
    return lower_find_op(name);
}

/* Words of names for the rounding, flushing or precision of an operation. VARIANT names an operation that has
 * the word, so that renaming it does not compile. */
typedef enum Variant { PLAIN, ROUND, FTZ, ROUND_FTZ, APPROX, APPROX_FTZ, FULL, FULL_FTZ } Variant;
#define VARIANT(opcode, word, type) (OP_##opcode##_##word##_##type != OP_COUNT ? "_" #word : "")
static const char *const variants[] = {
    [PLAIN] = "",
    [ROUND] = VARIANT(add, round, f32),
    [FTZ] = VARIANT(add, ftz, f32),
    [ROUND_FTZ] = VARIANT(div, round_ftz, f32),
    [APPROX] = VARIANT(div, approx, f32),
    [APPROX_FTZ] = VARIANT(div, approx_ftz, f32),
    [FULL] = VARIANT(div, full, f32),
    [FULL_FTZ] = VARIANT(div, full_ftz, f32),
};

/* The operation of a form in that variant; OP_COUNT if there is none. */
static uint16_t find_with(const PtxForm *form, Variant variant)
{
    Name name = {.length = 0};
    bool fused = form->opcode == PTX_OP_mad && is_float(form->types[0]);
    name_add(&name, ptx_opcode_names[fused ? PTX_OP_fma : form->opcode]);
    memmove(name.text, name.text + 1, name.length--); /* the first "_" */
    name_add_modifiers(&name, form);
    size_t capacity = sizeof name.text - name.length;
    name.length += (size_t)snprintf(name.text + name.length, capacity, "%s", variants[variant]);
    char stem[NAME_SIZE];
    snprintf(stem, sizeof stem, "%s", name.text);
    name_add_type(&name, form);
    uint16_t op = lower_find_op(name.text);
    PtxType type = form->types[0];
    bool video = form->opcode == PTX_OP_vadd2 || form->opcode == PTX_OP_vadd4 || form->opcode == PTX_OP_vsub2
                 || form->opcode == PTX_OP_vsub4;
    if (video) type = PTX_u32;
    return op != OP_COUNT ? op : find_sign_free(stem, type);
}

#define OF_TYPE(stem, type) [PTX_##type] = OP_##stem##_##type
#define OF_HALVES(stem) OF_TYPE(stem, f16), OF_TYPE(stem, f16x2), OF_TYPE(stem, bf16), OF_TYPE(stem, bf16x2)
static const uint16_t flush_ops[PTX_TYPE_COUNT] = {OF_HALVES(flush), OF_TYPE(flush, f32),
                                                   OF_TYPE(flush, f32x2)};
static const uint16_t sat_ops[PTX_TYPE_COUNT] = {OF_HALVES(sat), OF_TYPE(sat, f32), OF_TYPE(sat, f64)};
/* relu of integers is the maximum of the result and 0. */
static const uint16_t relu_ops[PTX_TYPE_COUNT] = {OF_HALVES(relu), OF_TYPE(max, s32), OF_TYPE(max, s16x2)};

static uint16_t flush_op(PtxType type) { return op_or_none(flush_ops[type]); }
uint16_t select_sat_op(PtxType type) { return op_or_none(sat_ops[type]); }
uint16_t select_relu_op(PtxType type) { return op_or_none(relu_ops[type]); }

/* Adds an operation on the result. If there is none (OP_COUNT), the form is not supported. */
static void add_step_after(AluPattern *pattern, uint16_t op)
{
    pattern->after[pattern->after_count++] = op;
    if (op == OP_COUNT) pattern->op = OP_COUNT;
}

/* Chooses the operation of a form: of the variants that can be it, the one whose name says most. *flushes:
 * whether the operation itself does what .ftz says. */
static uint16_t choose_operation(const PtxForm *form, bool approximate, bool *flushes)
{
    bool ftz = ptx_has(form, PTX_MOD_ftz), full = ptx_has(form, PTX_MOD_full);
    bool rounds = rounding_mods(form) != MODS_RN;
    uint16_t op = OP_COUNT;
    if (ftz && approximate) op = find_with(form, full ? FULL_FTZ : APPROX_FTZ);
    if (ftz && op == OP_COUNT) op = find_with(form, rounds ? ROUND_FTZ : FTZ);
    *flushes = op != OP_COUNT;
    if (op == OP_COUNT && approximate) op = find_with(form, full ? FULL : APPROX);
    if (op == OP_COUNT) op = find_with(form, rounds ? ROUND : PLAIN);
    return op;
}

/* Fills the pattern of a form: its operation, and those on its sources and its result. */
static void fill_pattern(const PtxForm *form, AluPattern *r)
{
    PtxType type = form->types[0];
    bool approximate = ptx_has(form, PTX_MOD_full) || ptx_has(form, PTX_MOD_approx), flushes;
    *r = (AluPattern){.op = OP_COUNT, .mods = rounding_mods(form), .before = OP_COUNT};
    r->op = choose_operation(form, approximate, &flushes);
    if (ptx_has(form, PTX_MOD_ftz) && !flushes && form->opcode == PTX_OP_slct) {
        r->before = flush_op(form->types[1]);
    } else if (ptx_has(form, PTX_MOD_ftz) && !flushes && type != PTX_f64) {
        r->before = flush_op(type);
        add_step_after(r, r->before);
    }
    if (ptx_has(form, PTX_MOD_sat) && is_float(type)) add_step_after(r, select_sat_op(type));
    if (ptx_has(form, PTX_MOD_relu)) add_step_after(r, select_relu_op(type));
    bool carries = ptx_has(form, PTX_MOD_cc) || form->opcode == PTX_OP_addc || form->opcode == PTX_OP_subc
                   || form->opcode == PTX_OP_madc;
    r->pure = !carries;
    bool sum = form->opcode == PTX_OP_add || form->opcode == PTX_OP_sub;
    bool product = form->opcode == PTX_OP_mul || (form->opcode == PTX_OP_div && approximate);
    r->names_no_rounding = (sum || product) && is_float(type) && !form->group[PTX_GROUP_ROUND];
}

/* The pattern of the instruction's form, filled at its first use in the module. */
static const AluPattern *pattern_of(Select *s)
{
    Lower *lower = s->lower;
    const PtxForm *form = s->insn->form;
    if (!lower->alu_patterns[form->id]) {
        AluPattern *pattern = ARENA_ARRAY(&lower->scratch, AluPattern, 1);
        fill_pattern(form, pattern);
        lower->alu_patterns[form->id] = pattern;
    }
    return lower->alu_patterns[form->id];
}

bool select_has_operation(Select *s) { return pattern_of(s)->op != OP_COUNT; }

/* Source number `index`, flushed if the pattern says so: of slct only the one that it tests. */
static Ref flush_source(Select *s, const AluPattern *pattern, Ref source, uint32_t index)
{
    const PtxForm *form = s->insn->form;
    enum { TESTED = 3 };
    bool is_slct = form->opcode == PTX_OP_slct;
    if (pattern->before == OP_COUNT || (is_slct && index != TESTED)) return source;
    LowerInsn *flush = select_temp(s, pattern->before, class_of(is_slct ? form->types[1] : form->types[0]));
    flush->a = source;
    return flush->d;
}

/* Source number `index` as the operation reads it: sums and products of .f32 widen halves first, exactly. */
static Ref alu_source(Select *s, const AluPattern *pattern, uint32_t index)
{
    const PtxForm *form = s->insn->form;
    PtxType type = form->operand_types[index];
    Ref source = select_source(s, &s->insn->operands[index], type);
    bool half = type == PTX_f16 || type == PTX_bf16;
    if (half && form->types[0] == PTX_f32)
        return select_compute(s, type == PTX_f16 ? OP_cvt_f32_f16 : OP_cvt_f32_bf16, CLASS_32, source,
                              REF_ABSENT, REF_ABSENT);
    return flush_source(s, pattern, source, index);
}

/* Runs the operations on the result, of which the last writes d. */
static void finish_result(Select *s, const AluPattern *pattern, Ref value, Ref d, RegisterClass class)
{
    for (uint32_t i = 0; i < pattern->after_count; i++) {
        bool last = i + 1 == pattern->after_count;
        LowerInsn *insn = last ? select_emit(s, pattern->after[i]) : select_temp(s, pattern->after[i], class);
        insn->flags |= FLAG_PURE;
        insn->a = value;
        if (!is_float(s->insn->form->types[0])) insn->b = lower_constant(s->lower, class, 0, 0); /* .relu */
        if (last) insn->d = d;
        value = insn->d;
    }
}

void select_alu(Select *s)
{
    const PtxForm *form = s->insn->form;
    const AluPattern *pattern = pattern_of(s);
    if (pattern->op == OP_COUNT || s->insn->operand_count > PTX_TYPED_OPERANDS) {
        select_unsupported(s, "");
        return;
    }
    Ref sources[4] = {REF_ABSENT, REF_ABSENT, REF_ABSENT, REF_ABSENT};
    for (uint32_t i = 1; i < s->insn->operand_count && i < PTX_TYPED_OPERANDS; i++)
        sources[i - 1] = alu_source(s, pattern, i);
    RegisterClass class = class_of(form->operand_types[0]);
    Ref d = select_dest(s, operand_at(s, 0), class);
    LowerInsn *insn = pattern->after_count ? select_temp(s, pattern->op, class) : select_emit(s, pattern->op);
    if (pattern->pure) insn->flags |= FLAG_PURE;
    if (pattern->names_no_rounding) insn->flags |= FLAG_NO_ROUNDING;
    insn->mods = pattern->mods;
    insn->a = sources[0];
    insn->b = sources[1];
    insn->c = sources[2];
    insn->e = sources[3];
    if (!pattern->after_count)
        insn->d = d;
    else
        finish_result(s, pattern, insn->d, d, class);
}

/* min and max of two or three sources. */
void select_minmax(Select *s)
{
    const PtxForm *form = s->insn->form;
    const AluPattern *pattern = pattern_of(s);
    PtxType type = form->types[0];
    RegisterClass class = class_of(type);
    if (pattern->op == OP_COUNT) {
        select_unsupported(s, "");
        return;
    }
    Ref value = alu_source(s, pattern, 1);
    uint32_t count = s->insn->operand_count;
    Ref d = select_dest(s, operand_at(s, 0), class);
    for (uint32_t i = 2; i < count; i++) {
        Ref other = flush_source(s, pattern, select_source(s, &s->insn->operands[i], type), i);
        bool last = i + 1 == count && !pattern->after_count;
        LowerInsn *insn = last ? select_emit(s, pattern->op) : select_temp(s, pattern->op, class);
        insn->flags |= FLAG_PURE;
        insn->a = value;
        insn->b = other;
        if (last) insn->d = d;
        value = insn->d;
    }
    finish_result(s, pattern, value, d, class);
}
