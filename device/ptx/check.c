/* Operands against the rows: count, kind, and type by PTX's rules (manual, section 9.4).
 *
 * A register fits a type of its size if both are of one class, or one of the two is untyped (.bN). Loads,
 * stores and conversions take wider registers, too. Where several rows have the same modifiers, the first
 * that fits is taken; if none does, the message is about the last of the right length.
 */
#include <stdio.h>
#include <string.h>

#include "ptx/parser.h"

/* Why an operand does not fit: `wanted` and `got` make the message. */
typedef struct PtxMismatch {
    uint32_t index;         /* of the operand */
    uint32_t column;
    const char *wanted;     /* text, or NULL: a value of `type` */
    PtxType type;
    const PtxOperand *got;
} PtxMismatch;

typedef struct PtxCheck {
    PtxParser *p;
    const PtxRule *rule;
    PtxMismatch *bad;
} PtxCheck;

/* Records a mismatch in c->bad, of a value of `type` or, if not NULL, of what `wanted` says. Returns false,
 * for the caller to return. */
static bool ptx_mismatch(PtxCheck *c, const PtxOperand *got, PtxType type, const char *wanted)
{
    c->bad->got = got;
    c->bad->type = type;
    c->bad->wanted = wanted;
    return false;
}

static bool ptx_is_packed_integer(PtxType type)
{
    return type == PTX_u16x2 || type == PTX_s16x2 || type == PTX_u8x4 || type == PTX_s8x4;
}

/* Whether a register of type `have` can be an operand of type `want` of the same size. Untyped ones (.bN) fit
 * any but predicates, and integers each other. Packed integers fit only themselves and untyped ones. A
 * register of .f16x2 counts as untyped, except for operands of other floats. */
static bool ptx_class_fits(PtxType want, PtxType have)
{
    unsigned a = ptx_types[want].class, b = ptx_types[have].class;
    if (want == have) return true;
    if (a == PTX_PREDICATE || b == PTX_PREDICATE) return false;
    if (a == PTX_BITS || b == PTX_BITS || (have == PTX_f16x2 && a != PTX_FLOAT)) return true;
    return a != PTX_FLOAT && b != PTX_FLOAT && !ptx_is_packed_integer(want) && !ptx_is_packed_integer(have);
}

/* As ptx_class_fits(), for registers of any size. Wider ones fit if the rule is relaxed; those of floats then
 * fit only untyped operands. */
static bool ptx_type_fits(const PtxOperandRule *rule, PtxType want, PtxType have)
{
    if (want == PTX_TYPE_NONE) return true;
    unsigned want_bits = ptx_type_bits(want), have_bits = ptx_type_bits(have);
    if (!ptx_class_fits(want, have)) return false;
    if (want_bits == have_bits) return true;
    if (!rule->relaxed || want_bits > have_bits) return false;
    return ptx_types[want].class == PTX_BITS || ptx_types[have].class != PTX_FLOAT;
}

/* Whether an immediate can be an operand of type `want`; NONE stands for any type. */
static bool ptx_immediate_fits(PtxType want, const PtxOperand *operand)
{
    bool is_float = operand->type == PTX_f32 || operand->type == PTX_f64;
    switch (ptx_types[want].class) {
    case PTX_FLOAT: return is_float && (want == PTX_f32 || want == PTX_f64);
    case PTX_BITS:
        return !is_float || want == PTX_TYPE_NONE
               || ptx_type_bits(want) == ptx_type_bits((PtxType)operand->type);
    default: return !is_float && !ptx_is_packed_integer(want);
    }
}

/* Whether an immediate is one of the numbers that the rule takes. */
static bool ptx_number_fits(const PtxOperandRule *rule, const PtxOperand *operand)
{
    return (!rule->limit || operand->bits < rule->limit) && (!rule->exact || operand->bits == rule->exact);
}

static bool ptx_mismatched_number(PtxCheck *c, const PtxOperandRule *rule, const PtxOperand *operand)
{
    enum { SIZE = 48 };
    char *wanted = ptx_new(c->p, SIZE);
    if (rule->limit)
        snprintf(wanted, SIZE, "a number from 0 to %u", (unsigned)rule->limit - 1);
    else
        snprintf(wanted, SIZE, "the number %u", (unsigned)rule->exact);
    return ptx_mismatch(c, operand, PTX_TYPE_NONE, wanted);
}

static bool ptx_check_register(PtxCheck *c, const PtxOperandRule *rule, const PtxOperand *operand)
{
    if (!ptx_type_fits(rule, (PtxType)rule->type, (PtxType)operand->type))
        return ptx_mismatch(c, operand, (PtxType)rule->type, NULL);
    if (operand->negated && operand->type != PTX_pred)
        return ptx_mismatch(c, operand, (PtxType)rule->type, "an operand without '-'");
    if (operand->selector.unit) return ptx_mismatch(c, operand, (PtxType)rule->type, "a whole register");
    return true;
}

/* A 16-bit mov takes the lower half of a 32-bit special register, as PTX before 2.0 had them; %gridid had 16
 * bits once, and 32 later. */
static bool ptx_special_fits(const PtxOperandRule *rule, const PtxOperand *operand)
{
    PtxType want = (PtxType)rule->type, have = (PtxType)operand->type;
    bool older = operand->special == PTX_SPECIAL_gridid && ptx_types[want].class <= PTX_SIGNED
                 && ptx_type_bits(want) >= 16 && ptx_type_bits(want) <= 64;
    bool lower_half = have == PTX_u32 && ptx_type_bits(want) == 16 && ptx_types[want].class <= PTX_SIGNED;
    return older || ptx_type_fits(rule, want, have) || lower_half;
}

/* One value: a register, a number, a special register in mov and cvt, or a sink in a vector. */
static bool ptx_check_value(PtxCheck *c, const PtxOperandRule *rule, const PtxOperand *operand)
{
    PtxType type = (PtxType)rule->type;
    switch (operand->kind) {
    case PTX_OPERAND_REGISTER: return ptx_check_register(c, rule, operand);
    case PTX_OPERAND_IMMEDIATE:
        if (rule->register_only) return ptx_mismatch(c, operand, type, "a register");
        if (!ptx_immediate_fits(type, operand)) return ptx_mismatch(c, operand, type, NULL);
        return ptx_number_fits(rule, operand) || ptx_mismatched_number(c, rule, operand);
    case PTX_OPERAND_SPECIAL:
        if (!c->rule->accepts_special)
            return ptx_mismatch(c, operand, type, "a register or a number (mov reads special registers)");
        return ptx_special_fits(rule, operand) || ptx_mismatch(c, operand, type, NULL);
    case PTX_OPERAND_SINK: return (rule->sink && rule->vector != 1) || ptx_mismatch(c, operand, type, NULL);
    default: return ptx_mismatch(c, operand, type, NULL);
    }
}

/* A vector of the length the rule gives (0: any), each part of its type. */
static bool ptx_check_vector(PtxCheck *c, const PtxOperandRule *rule, const PtxOperand *operand,
                             bool destination)
{
    if (operand->kind != PTX_OPERAND_VECTOR || !operand->count)
        return ptx_mismatch(c, operand, (PtxType)rule->type, "a vector in braces");
    if (rule->vector > 1 && operand->count != rule->vector)
        return ptx_mismatch(c, operand, (PtxType)rule->type,
                            rule->vector == 2   ? "a vector of 2"
                            : rule->vector == 4 ? "a vector of 4"
                                                : "a vector of 8");
    unsigned size = 0;
    for (uint32_t i = 0; i < operand->count; i++) {
        const PtxOperand *item = &operand->items[i];
        if (item->kind == PTX_OPERAND_SINK && (destination || rule->sink)) continue;
        if (destination && item->kind != PTX_OPERAND_REGISTER)
            return ptx_mismatch(c, item, (PtxType)rule->type, "a register");
        if (!ptx_check_value(c, rule, item)) return false;
        if (item->kind == PTX_OPERAND_REGISTER && size && ptx_type_bits((PtxType)item->type) != size)
            return ptx_mismatch(c, item, (PtxType)rule->type, "registers of one size in the vector");
        if (item->kind == PTX_OPERAND_REGISTER) size = ptx_type_bits((PtxType)item->type);
    }
    return true;
}

static bool ptx_wants_vector(const PtxOperandRule *rule, const PtxOperand *operand)
{
    return rule->vector > 1
           || (operand->kind == PTX_OPERAND_VECTOR
               && (rule->vector == 0 || (rule->braces && operand->count == 1)));
}

static bool ptx_check_source(PtxCheck *c, const PtxOperandRule *rule, const PtxOperand *operand)
{
    if (ptx_wants_vector(rule, operand)) return ptx_check_vector(c, rule, operand, false);
    return ptx_check_value(c, rule, operand);
}

/* A register for the result, or where the rule allows it a vector, a sink, or a pair with a predicate. */
static bool ptx_check_destination(PtxCheck *c, const PtxOperandRule *rule, const PtxOperand *operand)
{
    static const PtxOperandRule predicate = {.type = PTX_pred, .vector = 1};
    if (operand->kind == PTX_OPERAND_PAIR && rule->pair) {
        PtxOperandRule single = *rule;
        single.pair = single.pair_only = false;
        return ptx_check_destination(c, &single, &operand->items[0])
               && ((operand->items[1].kind == PTX_OPERAND_SINK && !rule->pair_only)
                   || ptx_check_destination(c, &predicate, &operand->items[1]));
    }
    if (rule->pair_only) return ptx_mismatch(c, operand, PTX_TYPE_NONE, "a pair d|p with a predicate");
    if (ptx_wants_vector(rule, operand)) return ptx_check_vector(c, rule, operand, true);
    if (operand->kind == PTX_OPERAND_SINK && rule->sink) return true;
    if (operand->kind != PTX_OPERAND_REGISTER || operand->negated)
        return ptx_mismatch(c, operand, (PtxType)rule->type, "a register for the result");
    return ptx_check_register(c, rule, operand);
}

static bool ptx_same_space(PtxSpace a, PtxSpace b)
{
    bool a_shared = a == PTX_SPACE_SHARED || a == PTX_SPACE_SHARED_CTA || a == PTX_SPACE_SHARED_CLUSTER;
    bool b_shared = b == PTX_SPACE_SHARED || b == PTX_SPACE_SHARED_CTA || b == PTX_SPACE_SHARED_CLUSTER;
    bool a_param = a == PTX_SPACE_PARAM || a == PTX_SPACE_PARAM_ENTRY || a == PTX_SPACE_PARAM_FUNC;
    bool b_param = b == PTX_SPACE_PARAM || b == PTX_SPACE_PARAM_ENTRY || b == PTX_SPACE_PARAM_FUNC;
    return a == b || (a_shared && b_shared) || (a_param && b_param);
}

static bool ptx_is_ordered(const PtxForm *form)
{
    unsigned order = form->group[PTX_GROUP_SEMANTICS];
    return order && order != PTX_MOD_weak;
}

/* Whether the instruction accesses shared memory only, although its addresses are generic. It uses their
 * lower half, so that a register of 32 bits will do. */
static bool ptx_shared_alone(const PtxForm *form)
{
    return form->opcode == PTX_OP_ldmatrix || form->opcode == PTX_OP_stmatrix
           || (form->opcode == PTX_OP_cp && ptx_has(form, PTX_MOD_mbarrier));
}

/* Whether an instruction for `space` (NONE: generic) can name a variable of state space `home` as its
 * address. Generic ones reach constants only by a plain load. */
static bool ptx_space_fits(const PtxForm *form, PtxSpace space, PtxSpace home)
{
    bool plain_load = form->opcode == PTX_OP_ld && !ptx_is_ordered(form);
    if (space != PTX_SPACE_NONE) return ptx_same_space(space, home);
    if (home == PTX_SPACE_CONST) return plain_load;
    return home != PTX_SPACE_PARAM && home != PTX_SPACE_REG;
}

/* An address in brackets, or in ld and st a[3] without them. Generic and global ones are 64 bits wide. */
static bool ptx_check_address(PtxCheck *c, const PtxOperandRule *rule, const PtxOperand *operand)
{
    PtxSpace space = (PtxSpace)rule->space;
    unsigned opcode = c->rule->form.opcode;
    bool bare = operand->kind == PTX_OPERAND_VARIABLE && operand->indexed
                && (opcode == PTX_OP_ld || opcode == PTX_OP_ldu || opcode == PTX_OP_st);
    if (operand->kind != PTX_OPERAND_ADDRESS && !bare)
        return ptx_mismatch(c, operand, PTX_TYPE_NONE, "an address in brackets");
    if (operand->unified && c->rule->form.opcode != PTX_OP_ld)
        return ptx_mismatch(c, operand, PTX_TYPE_NONE, "an address without '.unified', which is for ld");
    if (bare || operand->base == PTX_BASE_VARIABLE) {
        if (!ptx_space_fits(&c->rule->form, space, (PtxSpace)operand->variable->space))
            return ptx_mismatch(c, operand, PTX_TYPE_NONE,
                                "a variable in the state space of the instruction");
        return true;
    }
    if (operand->base == PTX_BASE_NONE) return true;
    const PtxTypeInfo *info = &ptx_types[operand->type];
    if (info->class == PTX_FLOAT || info->class == PTX_PREDICATE || info->bits < 16 || info->bits > 64)
        return ptx_mismatch(c, operand, PTX_TYPE_NONE, "an address in an integer register");
    if (ptx_is_generic_or_global(space) && info->bits != 64
        && !(info->bits == 32 && ptx_shared_alone(&c->rule->form)))
        return ptx_mismatch(c, operand, PTX_TYPE_NONE, "an address of 64 bits");
    return true;
}

/* Coordinates of a texture are of the type that the mnemonic ends with, a layer before them is an integer. */
static bool ptx_check_coordinates(PtxCheck *c, const PtxOperand *place)
{
    const PtxForm *form = &c->rule->form;
    bool layered = ptx_has(form, PTX_MOD_a1d) || ptx_has(form, PTX_MOD_a2d) || ptx_has(form, PTX_MOD_acube);
    for (uint32_t i = 0; place->kind == PTX_OPERAND_VECTOR && i < place->count; i++) {
        PtxType want = i == 0 && layered ? PTX_u32 : (PtxType)form->types[1];
        const PtxOperand *item = &place->items[i];
        if (item->kind == PTX_OPERAND_REGISTER && !ptx_class_fits(want, (PtxType)item->type))
            return ptx_mismatch(c, item, want, NULL);
    }
    return true;
}

/* [map, {coordinates}]: a coordinate of 32 bits for each dimension of the tensor. With .tile::gather4 and
 * scatter4, which name four rows, any number of them. */
static bool ptx_check_tensor_place(PtxCheck *c, const PtxOperand *operand)
{
    static const PtxModifier dimensions[] = {PTX_MOD_1d, PTX_MOD_2d, PTX_MOD_3d, PTX_MOD_4d, PTX_MOD_5d};
    const PtxForm *form = &c->rule->form;
    const PtxOperand *map = &operand->items[0], *place = &operand->items[1];
    bool rows = ptx_has(form, PTX_MOD_tile_gather4) || ptx_has(form, PTX_MOD_tile_scatter4);
    uint32_t count = 0;
    while (!ptx_has(form, dimensions[count++])) continue; /* every such form has one of them */
    if (map->offset
        || (map->kind == PTX_OPERAND_VARIABLE && map->variable->space != PTX_SPACE_GLOBAL
            && map->variable->space != PTX_SPACE_CONST))
        return ptx_mismatch(c, map, PTX_TYPE_NONE, "a tensor map in global or constant memory");
    if (operand->count != 2 || place->kind != PTX_OPERAND_VECTOR || (!rows && place->count != count))
        return ptx_mismatch(c, place, PTX_TYPE_NONE, "a coordinate in braces for each dimension");
    for (uint32_t i = 0; i < place->count; i++) {
        const PtxOperand *item = &place->items[i];
        bool number = item->kind == PTX_OPERAND_IMMEDIATE && ptx_immediate_fits(PTX_s32, item);
        bool held = item->kind == PTX_OPERAND_REGISTER || item->kind == PTX_OPERAND_SPECIAL;
        if (!number && !(held && ptx_type_bits((PtxType)item->type) == 32))
            return ptx_mismatch(c, item, PTX_s32, NULL);
    }
    return true;
}

/* A texture, surface or tensor map with coordinates: [a, {b, c}]. */
static bool ptx_check_tuple(PtxCheck *c, const PtxOperand *operand)
{
    if (operand->kind != PTX_OPERAND_TUPLE)
        return ptx_mismatch(c, operand, PTX_TYPE_NONE, "[name, coordinates]");
    const PtxOperand *first = &operand->items[0];
    bool handle = first->kind == PTX_OPERAND_REGISTER && ptx_type_bits((PtxType)first->type) == 64
                  && ptx_types[first->type].class != PTX_FLOAT;
    if (first->kind != PTX_OPERAND_VARIABLE && !handle)
        return ptx_mismatch(c, first, PTX_b64, "a variable or a 64-bit handle");
    if (c->rule->form.opcode == PTX_OP_cp) return ptx_check_tensor_place(c, operand);
    for (uint32_t i = 1; i < operand->count; i++)
        if (operand->items[i].kind != PTX_OPERAND_REGISTER && operand->items[i].kind != PTX_OPERAND_VECTOR)
            return ptx_mismatch(c, &operand->items[i], PTX_TYPE_NONE, "coordinates in registers");
    return c->rule->form.opcode != PTX_OP_tex
           || ptx_check_coordinates(c, &operand->items[operand->count - 1]);
}

/* The vector of mov d, {a, b} or, as the destination, of mov {d, e}, a: its parts together have the size of
 * `type`. Immediates and sinks have no size of their own, but that of the registers in the vector. */
static bool ptx_check_packed(PtxCheck *c, PtxType type, const PtxOperand *operand, bool destination)
{
    unsigned bits = 0, each = 0, sizeless = 0, specials = 0;
    for (uint32_t i = 0; i < operand->count; i++) {
        const PtxOperand *item = &operand->items[i];
        bool is_register =
            item->kind == PTX_OPERAND_REGISTER || (item->kind == PTX_OPERAND_SPECIAL && !destination);
        bool is_sizeless = destination ? item->kind == PTX_OPERAND_SINK : item->kind == PTX_OPERAND_IMMEDIATE;
        if (!is_register && !is_sizeless) return ptx_mismatch(c, item, type, "registers in the vector");
        if (is_register) each = ptx_type_bits((PtxType)item->type);
        bits += is_register ? each : 0;
        sizeless += !is_register;
        specials += item->kind == PTX_OPERAND_SPECIAL;
    }
    if (specials && sizeless)
        return ptx_mismatch(c, operand, type, "no number next to a special register in the vector");
    bits += sizeless * each;
    if (ptx_types[type].class != PTX_BITS || bits != ptx_type_bits(type) || operand->count < 2)
        return ptx_mismatch(c, operand, type, "a vector that fills the other operand");
    return true;
}

/* What mov and cvta read: values, addresses of variables and functions, vectors to pack. */
static bool ptx_check_mov(PtxCheck *c, const PtxOperandRule *rule, const PtxOperand *operand)
{
    const PtxTypeInfo *info = &ptx_types[rule->type];
    bool integral = info->class != PTX_FLOAT && info->class != PTX_PREDICATE;
    if (operand->kind == PTX_OPERAND_VECTOR) return ptx_check_packed(c, (PtxType)rule->type, operand, false);
    if (operand->kind == PTX_OPERAND_FUNCTION)
        return (integral && info->bits == 64) || ptx_mismatch(c, operand, (PtxType)rule->type, NULL);
    if (operand->kind == PTX_OPERAND_VARIABLE) {
        unsigned space = operand->variable->space;
        bool wide = space == PTX_SPACE_GLOBAL || space == PTX_SPACE_CONST;
        return (integral && (info->bits == 64 || (info->bits == 32 && !wide)) && space != PTX_SPACE_REG)
               || ptx_mismatch(c, operand, (PtxType)rule->type, NULL);
    }
    return ptx_check_value(c, rule, operand);
}

static bool ptx_check_video(PtxCheck *c, const PtxOperandRule *rule, const PtxOperand *operand,
                            bool destination)
{
    if (operand->kind == PTX_OPERAND_IMMEDIATE && !destination && !rule->register_only)
        return ptx_immediate_fits(PTX_u32, operand) || ptx_mismatch(c, operand, PTX_u32, NULL);
    if (operand->kind != PTX_OPERAND_REGISTER || ptx_type_bits((PtxType)operand->type) != 32
        || ptx_types[operand->type].class == PTX_FLOAT)
        return ptx_mismatch(c, operand, PTX_u32, NULL);
    return true;
}

/* Checks an operand by the shape of its rule. The first one is a
 * destination where its shape may be either. */
static bool ptx_check_operand(PtxCheck *c, const PtxOperandRule *rule, const PtxOperand *operand, bool first)
{
    switch (rule->shape) {
    case PTX_SHAPE_DESTINATION: return ptx_check_destination(c, rule, operand);
    case PTX_SHAPE_SOURCE: return ptx_check_source(c, rule, operand);
    case PTX_SHAPE_ADDRESS: return ptx_check_address(c, rule, operand);
    case PTX_SHAPE_TUPLE: return ptx_check_tuple(c, operand);
    case PTX_SHAPE_VECTOR: return ptx_check_vector(c, rule, operand, first);
    case PTX_SHAPE_MOV: return ptx_check_mov(c, rule, operand);
    case PTX_SHAPE_MOV_DESTINATION:
        return operand->kind == PTX_OPERAND_VECTOR ? ptx_check_packed(c, (PtxType)rule->type, operand, true)
                                                   : ptx_check_destination(c, rule, operand);
    case PTX_SHAPE_VIDEO: return ptx_check_video(c, rule, operand, first);
    case PTX_SHAPE_IMMEDIATE:
        if (operand->kind != PTX_OPERAND_IMMEDIATE || !ptx_immediate_fits(PTX_s64, operand))
            return ptx_mismatch(c, operand, PTX_TYPE_NONE, "an integer constant");
        return ptx_number_fits(rule, operand) || ptx_mismatched_number(c, rule, operand);
    default: return operand->kind == PTX_OPERAND_LABEL || ptx_mismatch(c, operand, PTX_TYPE_NONE, "a label");
    }
}

/* bar a{, b} and bar.red d, a{, b}, p: barrier a is one of 16, and the number b
 * of threads that arrive counts whole warps. */
static bool ptx_check_barrier(PtxCheck *c, const PtxInsn *insn)
{
    const PtxForm *form = insn->form;
    enum { BARRIERS = 16 };
    uint32_t red = ptx_has(form, PTX_MOD_red);
    const PtxOperand *number = &insn->operands[red], *threads = number + 1;
    if (ptx_has(form, PTX_MOD_warp) || ptx_has(form, PTX_MOD_cluster)) return true;
    if (number->kind == PTX_OPERAND_IMMEDIATE && number->bits >= BARRIERS)
        return ptx_mismatch(c, number, PTX_TYPE_NONE, "a barrier from 0 to 15");
    uint32_t count_if_all = red ? 4 : 2;
    bool counted = insn->operand_count == count_if_all && threads->kind == PTX_OPERAND_IMMEDIATE;
    if (counted && threads->bits % PTX_WARP_SIZE)
        return ptx_mismatch(c, threads, PTX_TYPE_NONE, "a number of threads that is a multiple of 32");
    return true;
}

/* An arrival at an mbarrier of another block gives no state: its destination is a sink. */
static bool ptx_check_arrival(PtxCheck *c, const PtxInsn *insn)
{
    const PtxForm *form = insn->form;
    bool arrives = ptx_has(form, PTX_MOD_arrive) || ptx_has(form, PTX_MOD_arrive_drop);
    if (!arrives || form->spaces[0] != PTX_SPACE_SHARED_CLUSTER) return true;
    c->bad->index = 0;
    return insn->operands[0].kind == PTX_OPERAND_SINK
           || ptx_mismatch(c, &insn->operands[0], PTX_TYPE_NONE, "'_'");
}

/* Whether the operands fit the rules of a signature. An optional one that does not fit is taken to be
 * absent. */
static bool ptx_check_signature(PtxCheck *c, const PtxSignature *signature, const PtxInsn *insn)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < signature->count && at < insn->operand_count; i++) {
        const PtxOperandRule *rule = &signature->operands[i];
        c->bad->index = at;
        if (ptx_check_operand(c, rule, &insn->operands[at], i == 0))
            at++;
        else if (!rule->optional)
            return false;
    }
    if (insn->form->opcode == PTX_OP_bar || insn->form->opcode == PTX_OP_barrier)
        return at == insn->operand_count && (!at || ptx_check_barrier(c, insn));
    if (insn->form->opcode == PTX_OP_mbarrier && !ptx_check_arrival(c, insn)) return false;
    return at == insn->operand_count;
}

/* Writes what an operand is, for "found ..."; an address is named by its register or variable. */
static void ptx_describe(PtxParser *p, const PtxOperand *operand, char *text, size_t size)
{
    static const char *const kinds[] = {
        [PTX_OPERAND_SPECIAL] = "a special register",
        [PTX_OPERAND_VARIABLE] = "a variable",
        [PTX_OPERAND_FUNCTION] = "a function",
        [PTX_OPERAND_LABEL] = "a label",
        [PTX_OPERAND_ADDRESS] = "an address",
        [PTX_OPERAND_SINK] = "'_'",
        [PTX_OPERAND_VECTOR] = "a vector",
        [PTX_OPERAND_PAIR] = "a pair",
        [PTX_OPERAND_TUPLE] = "an address with coordinates",
        [PTX_OPERAND_LIST] = "a list",
    };
    const PtxTypeInfo *info = &ptx_types[operand->type];
    const PtxRegister *reg = operand->kind == PTX_OPERAND_REGISTER || operand->base == PTX_BASE_REGISTER
                                 ? (const PtxRegister *)p->registers.items + operand->reg
                                 : NULL;
    /* %tid without a component: the parser made it a vector, whose items all have its column. */
    bool whole = operand->kind == PTX_OPERAND_VECTOR && operand->count
                 && operand->items[0].kind == PTX_OPERAND_SPECIAL
                 && operand->items[0].column == operand->column;
    if (whole)
        snprintf(text, size, "all of %%%s (.x, .y, .z or .w is missing)",
                 ptx_specials[operand->items[0].special].name);
    else if (operand->kind == PTX_OPERAND_IMMEDIATE)
        snprintf(text, size, "%s",
                 operand->type == PTX_f32 || operand->type == PTX_f64 ? "a floating-point constant"
                                                                      : "an integer constant");
    else if (reg && reg->number != PTX_NOT_NUMBERED)
        snprintf(text, size, "%.60s%u of type .%s", reg->name, (unsigned)reg->number, info->name);
    else if (reg)
        snprintf(text, size, "%.60s of type .%s", reg->name, info->name);
    else if (operand->kind == PTX_OPERAND_VARIABLE || operand->base == PTX_BASE_VARIABLE)
        snprintf(text, size, "%.60s in .%s", operand->variable->name,
                 ptx_space_names[operand->variable->space]);
    else
        snprintf(text, size, "%s",
                 operand->kind < sizeof kinds / sizeof *kinds && kinds[operand->kind] ? kinds[operand->kind]
                                                                                      : "something else");
}

/* Fails because no row of the mnemonic has so many operands. */
static _Noreturn void ptx_fail_count(PtxParser *p, const PtxRule *rule, const PtxInsn *insn)
{
    uint32_t min = UINT32_MAX, max = 0;
    for (uint32_t i = 0; i < rule->signature_count; i++) {
        min = rule->signatures[i].required < min ? rule->signatures[i].required : min;
        max = rule->signatures[i].count > max ? rule->signatures[i].count : max;
    }
    if (min == max)
        ptx_fail(p, insn->line, insn->column, "'%s' takes %u operand%s, found %u", rule->form.spelling,
                 (unsigned)min, min == 1 ? "" : "s", (unsigned)insn->operand_count);
    ptx_fail(p, insn->line, insn->column, "'%s' takes %u to %u operands, found %u", rule->form.spelling,
             (unsigned)min, (unsigned)max, (unsigned)insn->operand_count);
}

static _Noreturn void ptx_fail_operand(PtxParser *p, const PtxRule *rule, const PtxInsn *insn,
                                       const PtxMismatch *bad)
{
    char got[128], wanted[96];
    uint32_t column = bad->got->column ? bad->got->column : insn->column;
    ptx_describe(p, bad->got, got, sizeof got);
    if (bad->wanted)
        snprintf(wanted, sizeof wanted, "%s", bad->wanted);
    else if (bad->type == PTX_TYPE_NONE)
        snprintf(wanted, sizeof wanted, "one value");
    else
        snprintf(wanted, sizeof wanted, "a value of type .%s", ptx_types[bad->type].name);
    ptx_fail(p, insn->line, column, "operand %u of '%s': expected %s, found %s", (unsigned)bad->index + 1,
             rule->form.spelling, wanted, got);
}

void ptx_check(PtxParser *p, const PtxRule *rule, const PtxInsn *insn)
{
    PtxMismatch bad = {0}, last = {0};
    PtxCheck check = {p, rule, &bad};
    if (rule->form.opcode == PTX_OP_call) {
        ptx_check_call(p, insn);
        return;
    }
    for (uint32_t i = 0; i < rule->signature_count; i++) {
        const PtxSignature *signature = &rule->signatures[i];
        if (insn->operand_count < signature->required || insn->operand_count > signature->count) continue;
        bad = (PtxMismatch){0};
        if (ptx_check_signature(&check, signature, insn)) return;
        last = bad;
    }
    if (!last.got) ptx_fail_count(p, rule, insn);
    ptx_fail_operand(p, rule, insn, &last);
}
