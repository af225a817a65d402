/* Moves, packing and unpacking, lop3, conversions between address spaces, the stack pointer. */
#include "lower/select/select.h"

/* An operation that packs parts of `part` bits into a value of `bits` bits, extracts one or unpacks two. */
typedef struct PartOp {
    uint16_t bits, part, op;
} PartOp;

/* The operation for these sizes; OP_COUNT if the table has none. */
static uint16_t find_op(const PartOp *table, unsigned count, unsigned bits, unsigned part)
{
    for (unsigned i = 0; i < count; i++)
        if (table[i].bits == bits && table[i].part == part) return table[i].op;
    return OP_COUNT;
}
#define FIND_OP(table, bits, part) find_op(table, sizeof(table) / sizeof *(table), bits, part)
#define PACK(bits, part) {bits, part, OP_pack_b##bits##_b##part}
#define EXTRACT(bits, part) {bits, part, OP_extract_b##part##_b##bits}
#define UNPACK(bits, part) {bits, part, OP_unpack_b##part##_b##bits}
static const PartOp packs[] = {PACK(16, 8),  PACK(32, 8),  PACK(32, 16),
                               PACK(64, 16), PACK(64, 32), PACK(128, 64)};
static const PartOp extracts[] = {EXTRACT(16, 8), EXTRACT(32, 8), EXTRACT(32, 16), EXTRACT(64, 16),
                                  EXTRACT(64, 32)};
static const PartOp unpacks[] = {UNPACK(16, 8), UNPACK(32, 16), UNPACK(64, 32), UNPACK(128, 64)};

/* mov d, {a, b, ...} */
static void move_pack(Select *s, PtxType type)
{
    const PtxOperand *vector = operand_at(s, 1);
    unsigned bits = ptx_type_bits(type), part = bits / vector->count;
    uint16_t op = FIND_OP(packs, bits, part);
    if (op == OP_COUNT || vector->count > 4) {
        select_unsupported(s, "this packing");
        return;
    }
    PtxType part_type = part == 8 ? PTX_b8 : part == 16 ? PTX_b16 : part == 32 ? PTX_b32 : PTX_b64;
    Ref sources[4] = {REF_ABSENT, REF_ABSENT, REF_ABSENT, REF_ABSENT};
    for (uint32_t i = 0; i < vector->count; i++) sources[i] = select_source(s, &vector->items[i], part_type);
    Ref d = select_dest(s, operand_at(s, 0), class_of(type));
    LowerInsn *insn = select_emit(s, op);
    insn->flags |= FLAG_PURE;
    insn->d = d;
    insn->a = sources[0];
    insn->b = sources[1];
    insn->c = sources[2];
    insn->e = sources[3];
}

/* Part number `index`, of `part` bits, of a value of `bits` bits, by shifting. */
static void extract_part(Select *s, const PtxOperand *item, Ref value, unsigned bits, unsigned part,
                         unsigned index)
{
    uint16_t op = FIND_OP(extracts, bits, part);
    if (op == OP_COUNT) {
        select_unsupported(s, "this unpacking");
        return;
    }
    Ref d = select_dest(s, item, class_of_bits(part));
    LowerInsn *insn = select_emit(s, op);
    insn->flags |= FLAG_PURE;
    insn->d = d;
    insn->a = value;
    insn->imm = index * part;
}

/* mov {a, b, ...}, d: by one operation if there are two registers, else part by part. */
static void move_unpack(Select *s, PtxType type)
{
    const PtxOperand *vector = operand_at(s, 0);
    unsigned bits = ptx_type_bits(type), part = bits / vector->count;
    Ref value = select_source(s, operand_at(s, 1), type);
    bool both = vector->count == 2 && vector->items[0].kind == PTX_OPERAND_REGISTER
                && vector->items[1].kind == PTX_OPERAND_REGISTER;
    if (!both && bits != 128) { /* no operation extracts a part of 128 bits */
        for (uint32_t i = 0; i < vector->count; i++)
            if (vector->items[i].kind != PTX_OPERAND_SINK)
                extract_part(s, &vector->items[i], value, bits, part, i);
        return;
    }
    uint16_t op = FIND_OP(unpacks, bits, part);
    if (op == OP_COUNT || vector->count != 2) {
        select_unsupported(s, "this unpacking");
        return;
    }
    Ref low = select_dest(s, &vector->items[0], class_of_bits(part));
    Ref high = select_dest(s, &vector->items[1], class_of_bits(part));
    LowerInsn *insn = select_emit(s, op);
    insn->flags |= FLAG_PURE | FLAG_E_WRITTEN;
    insn->d = low;
    insn->e = high;
    insn->a = value;
}

/* mov.v2 {a, b}, {c, d}: everything is read before anything is written. */
static void move_vector(Select *s, PtxType type)
{
    const PtxOperand *to = operand_at(s, 0), *from = operand_at(s, 1);
    Ref values[4] = {REF_ABSENT, REF_ABSENT, REF_ABSENT, REF_ABSENT};
    for (uint32_t i = 0; i < to->count && i < 4; i++) {
        if (from->items[i].kind == PTX_OPERAND_SINK) continue;
        values[i] = lower_new_register(s->f, class_of(type));
        select_copy(s, values[i], select_source(s, &from->items[i], type));
    }
    for (uint32_t i = 0; i < to->count && i < 4; i++)
        if (values[i] != REF_ABSENT && to->items[i].kind != PTX_OPERAND_SINK)
            select_copy(s, select_dest(s, &to->items[i], class_of(type)), values[i]);
}

void select_mov(Select *s)
{
    PtxType type = s->insn->form->types[0];
    const PtxOperand *to = operand_at(s, 0), *from = operand_at(s, 1);
    if (s->insn->form->vector > 1) {
        move_vector(s, type);
    } else if (from->kind == PTX_OPERAND_VECTOR) {
        move_pack(s, type);
    } else if (to->kind == PTX_OPERAND_VECTOR) {
        move_unpack(s, type);
    } else {
        Ref value = select_source(s, from, type);
        select_deliver(s, select_dest(s, to, class_of(type)), value);
    }
}

/* lop3.b32 d, a, b, c, table; lop3.or.b32 d|p, a, b, c, table, q */
void select_lop3(Select *s)
{
    const PtxForm *form = s->insn->form;
    const PtxOperand *to = operand_at(s, 0);
    bool predicate = to->kind == PTX_OPERAND_PAIR;
    Ref sources[3];
    for (uint32_t i = 0; i < 3; i++) sources[i] = select_source(s, operand_at(s, i + 1), PTX_b32);
    Ref result = predicate ? REF_ABSENT : select_dest(s, to, CLASS_32);
    LowerInsn *insn = predicate ? select_temp(s, OP_lop3_b32, CLASS_32) : select_emit(s, OP_lop3_b32);
    insn->flags |= FLAG_PURE;
    insn->a = sources[0];
    insn->b = sources[1];
    insn->c = sources[2];
    insn->imm = (int64_t)(operand_at(s, 4)->bits & 0xff);
    if (!predicate) {
        insn->d = result;
        return;
    }
    Ref value = insn->d;
    Ref zero = lower_constant(s->lower, CLASS_32, 0, 0);
    Ref nonzero = select_compute(s, OP_setp_ne_b32, CLASS_PREDICATE, value, zero, REF_ABSENT);
    Ref q = select_predicate(s, operand_at(s, 5));
    Ref d = select_dest(s, &to->items[0], CLASS_32), p = select_dest(s, &to->items[1], CLASS_PREDICATE);
    LowerInsn *combine = select_emit(s, ptx_has(form, PTX_MOD_and) ? OP_and_pred : OP_or_pred);
    combine->flags |= FLAG_PURE;
    combine->d = p;
    combine->a = nonzero;
    combine->b = q;
    select_copy(s, d, value);
}

/* The operation of cvta, from an address in a space to a generic one, and with `to` of cvta.to, the other
 * way. OP_COUNT if both are the same: only shared and local memory have addresses that are not generic. */
static uint16_t cvta_op(PtxSpace space, bool to)
{
    if (space == PTX_SPACE_SHARED) return to ? OP_cvta_to_shared : OP_cvta_shared;
    if (space == PTX_SPACE_LOCAL) return to ? OP_cvta_to_local : OP_cvta_local;
    return OP_COUNT;
}

void select_cvta(Select *s)
{
    const PtxForm *form = s->insn->form;
    uint16_t op = cvta_op(select_space(s, form->spaces[0]), ptx_has(form, PTX_MOD_to));
    if (ptx_type_bits(form->types[0]) != 64) {
        select_unsupported(s, "a 32-bit generic address");
        return;
    }
    Ref source = select_source(s, operand_at(s, 1), PTX_b64);
    Ref d = select_dest(s, operand_at(s, 0), CLASS_64);
    if (op == OP_COUNT) {
        select_copy(s, d, source);
        return;
    }
    LowerInsn *insn = select_emit(s, op);
    insn->flags |= FLAG_PURE;
    insn->d = d;
    insn->a = source;
}

static uint16_t isspacep_op(PtxSpace space)
{
    switch (space) {
    case PTX_SPACE_SHARED:
    case PTX_SPACE_SHARED_CTA: return OP_isspacep_shared;
    case PTX_SPACE_SHARED_CLUSTER: return OP_isspacep_cluster;
    case PTX_SPACE_PARAM:
    case PTX_SPACE_PARAM_ENTRY: return OP_isspacep_param;
    case PTX_SPACE_GLOBAL: return OP_isspacep_global;
    case PTX_SPACE_CONST: return OP_isspacep_const;
    case PTX_SPACE_LOCAL: return OP_isspacep_local;
    default: return OP_COUNT;
    }
}

void select_isspacep(Select *s)
{
    uint16_t op = isspacep_op(s->insn->form->spaces[0]);
    if (op == OP_COUNT) {
        select_unsupported(s, "");
        return;
    }
    Ref a = select_source(s, operand_at(s, 1), PTX_b64);
    Ref d = select_dest(s, operand_at(s, 0), CLASS_PREDICATE);
    LowerInsn *insn = select_emit(s, op);
    insn->flags |= FLAG_PURE;
    insn->d = d;
    insn->a = a;
}

/* mapa d, a, rank; getctarank d, a */
void select_cluster_address(Select *s)
{
    const PtxForm *form = s->insn->form;
    PtxType type = form->types[0];
    bool maps = form->opcode == PTX_OP_mapa, shared = form->spaces[0] == PTX_SPACE_SHARED_CLUSTER;
    bool narrow = ptx_type_bits(type) == 32;
    if (narrow && !shared) {
        select_unsupported(s, "a 32-bit generic address");
        return;
    }
    Ref a = select_source(s, operand_at(s, 1), type);
    Ref rank = maps ? select_source(s, operand_at(s, 2), PTX_u32) : REF_ABSENT;
    Ref d = select_dest(s, operand_at(s, 0), maps ? class_of(type) : CLASS_32);
    LowerInsn *insn = select_emit(s, maps ? OP_mapa : OP_getctarank);
    insn->d = d;
    insn->a = a;
    insn->b = rank;
    insn->mods = (uint16_t)((narrow ? MEM_ADDR32 : 0) | (shared ? MEM_SHARED : 0));
}

/* alloca d, size {, align}; stacksave d; stackrestore a */
void select_stack(Select *s)
{
    enum { ALLOCA_ALIGN = 8 }; /* where the instruction names none */
    const PtxForm *form = s->insn->form;
    PtxType type = form->types[0];
    uint16_t mods = ptx_type_bits(type) == 32 ? MEM_ADDR32 : 0;
    bool restore = form->opcode == PTX_OP_stackrestore, alloca = form->opcode == PTX_OP_alloca;
    if (alloca && mods) {
        select_unsupported(s, "a 32-bit address");
        return;
    }
    Ref a = REF_ABSENT;
    if (restore) a = select_source(s, operand_at(s, 0), type);
    if (alloca) a = select_source(s, operand_at(s, 1), type);
    Ref d = restore ? REF_ABSENT : select_dest(s, operand_at(s, 0), class_of(type));
    LowerInsn *insn = select_emit(s, restore ? OP_stackrestore : alloca ? OP_alloca : OP_stacksave);
    insn->a = a;
    insn->d = d;
    insn->mods = mods;
    insn->imm = s->insn->operand_count > 2 ? (int64_t)operand_at(s, 2)->bits : ALLOCA_ALIGN;
}
