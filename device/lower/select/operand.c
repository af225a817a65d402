/* Operands to references: registers, immediates, special registers, addresses. */
#include "lower/select/select.h"

#include <string.h>

RegisterClass select_class(const Select *s, Ref ref) { return s->f->classes[ref_number(ref)]; }

static Ref register_ref(const PtxOperand *operand) { return REF_MAKE(REF_FRAME, operand->reg); }

/* The operations that read special registers. One that has none here, and is
 * neither a constant nor a row, is not supported. */
#define READ(name) [PTX_SPECIAL_##name] = OP_sreg_##name
static const uint16_t special_ops[PTX_SPECIAL_COUNT] = {
    READ(tid),
    READ(ntid),
    READ(ctaid),
    READ(nctaid),
    READ(laneid),
    READ(warpid),
    READ(nwarpid),
    READ(smid),
    READ(nsmid),
    READ(gridid),
    READ(lanemask_eq),
    READ(lanemask_le),
    READ(lanemask_lt),
    READ(lanemask_ge),
    READ(lanemask_gt),
    READ(current_graph_exec),
    READ(clock),
    READ(clock_hi),
    READ(clock64),
    READ(globaltimer),
    READ(globaltimer_lo),
    READ(globaltimer_hi),
    READ(total_smem_size),
    READ(dynamic_smem_size),
    READ(envreg),
    [PTX_SPECIAL_reserved_smem_offset_begin] = OP_sreg_reserved_smem,
    [PTX_SPECIAL_reserved_smem_offset_end] = OP_sreg_reserved_smem,
    [PTX_SPECIAL_reserved_smem_offset_] = OP_sreg_reserved_smem,
    READ(is_explicit_cluster),
    [PTX_SPECIAL_clusterid] = OP_sreg_cluster,
    [PTX_SPECIAL_nclusterid] = OP_sreg_cluster,
    [PTX_SPECIAL_cluster_ctaid] = OP_sreg_cluster,
    [PTX_SPECIAL_cluster_nctaid] = OP_sreg_cluster,
    [PTX_SPECIAL_cluster_ctarank] = OP_sreg_cluster,
    [PTX_SPECIAL_cluster_nctarank] = OP_sreg_cluster,
};

/* Whether a special register is a constant here, *value. The fourth component of vectors is 0. */
static bool special_constant(const PtxOperand *o, uint64_t *value)
{
    switch (o->special) {
    case PTX_SPECIAL_tid:
    case PTX_SPECIAL_ctaid:
    case PTX_SPECIAL_clusterid:
    case PTX_SPECIAL_cluster_ctaid:
    case PTX_SPECIAL_ntid:
    case PTX_SPECIAL_nctaid:
    case PTX_SPECIAL_nclusterid:
    case PTX_SPECIAL_cluster_nctaid: *value = 0; return o->component == 3;
    case PTX_SPECIAL_reserved_smem_offset_cap: *value = RESERVED_SHARED; return true;
    case PTX_SPECIAL_pm:
    case PTX_SPECIAL_pm64_:
    case PTX_SPECIAL_aggr_smem_size: *value = 0; return true;
    default: return false;
    }
}

/* The row of a special register that the warp or the block has as a row; absent if it has none. */
static Ref special_row(const PtxOperand *o)
{
    switch (o->special) {
    case PTX_SPECIAL_tid: return REF_ROW_32(REF_WARP, WARP_ROW_TID + o->component);
    case PTX_SPECIAL_laneid: return REF_ROW_32(REF_WARP, WARP_ROW_LANEID);
    case PTX_SPECIAL_ctaid: return REF_ROW_32(REF_BLOCK, BLOCK_ROW_CTAID + o->component);
    case PTX_SPECIAL_ntid: return REF_ROW_32(REF_BLOCK, BLOCK_ROW_NTID + o->component);
    case PTX_SPECIAL_nctaid: return REF_ROW_32(REF_BLOCK, BLOCK_ROW_NCTAID + o->component);
    default: return REF_ABSENT;
    }
}

/* The first of the special register's components in enum ClusterPlace. */
static uint32_t cluster_place(unsigned special)
{
    switch (special) {
    case PTX_SPECIAL_nclusterid: return CLUSTER_COUNT;
    case PTX_SPECIAL_cluster_ctaid: return CLUSTER_CTAID;
    case PTX_SPECIAL_cluster_nctaid: return CLUSTER_NCTAID;
    case PTX_SPECIAL_cluster_ctarank: return CLUSTER_RANK;
    case PTX_SPECIAL_cluster_nctarank: return CLUSTER_SIZE;
    default: return CLUSTER_ID;
    }
}

/* The immediate of the special register's operation in special_ops[]. */
static int64_t special_detail(Select *s, const PtxOperand *o, uint16_t op)
{
    if (op == OP_sreg_cluster) return o->component + cluster_place(o->special);
    if (op != OP_sreg_reserved_smem) return o->component;
    s->lower->code->reserves_shared = true;
    return o->special == PTX_SPECIAL_reserved_smem_offset_end ? RESERVED_SHARED
                                                              : o->component * (RESERVED_SHARED / 2);
}

/* The value of a special register: a constant, a row, or the result of an operation. */
static Ref read_special(Select *s, const PtxOperand *o)
{
    RegisterClass class = class_of(ptx_specials[o->special].type);
    uint64_t value;
    if (special_constant(o, &value)) return lower_constant(s->lower, class, value, 0);
    if (special_row(o) != REF_ABSENT) return special_row(o);
    uint16_t op = op_or_none(special_ops[o->special]);
    if (op == OP_COUNT) {
        select_error(s, o->column, "%%%s is not supported by the CPU device", ptx_specials[o->special].name);
        return lower_constant(s->lower, class, 0, 0);
    }
    LowerInsn *insn = select_temp(s, op, class);
    insn->imm = special_detail(s, o, op);
    /* Clocks are read even if the value has no use. */
    bool is_clock =
        strstr(ptx_specials[o->special].name, "clock") || strstr(ptx_specials[o->special].name, "timer");
    if (is_clock) insn->flags &= (uint16_t)~FLAG_PURE;
    return insn->d;
}

const CodeFunction *select_function(Select *s, const PtxOperand *o)
{
    const CodeFunction *code = s->lower->functions[o->function->id].code;
    if (!code) select_error(s, o->column, "unresolved symbol: function '%s' has no body", o->function->name);
    return code;
}

static Ref function_address(Select *s, const PtxOperand *o)
{
    return lower_constant(s->lower, CLASS_64, (uint64_t)(uintptr_t)select_function(s, o), 0);
}

/* A value of class `have` in a row of class `want`: cut, or extended with zeros. */
static Ref resize_register(Select *s, Ref ref, RegisterClass have, RegisterClass want, uint32_t column)
{
    static const uint16_t resizes[CLASS_128 + 1][CLASS_128 + 1] = {
        [CLASS_16][CLASS_32] = OP_cvt_u32_u16, [CLASS_16][CLASS_64] = OP_cvt_u64_u16,
        [CLASS_32][CLASS_16] = OP_cvt_b16_b32, [CLASS_32][CLASS_64] = OP_cvt_u64_u32,
        [CLASS_64][CLASS_16] = OP_cvt_b16_b64, [CLASS_64][CLASS_32] = OP_cvt_b32_b64};
    if (have == want) return ref;
    if (!resizes[have][want]) {
        select_error(s, column, "an operand of this width is not supported by the CPU device");
        return lower_new_register(s->f, want);
    }
    return select_compute(s, resizes[have][want], want, ref, REF_ABSENT, REF_ABSENT);
}

Ref select_predicate(Select *s, const PtxOperand *o)
{
    if (o->kind == PTX_OPERAND_IMMEDIATE)
        return lower_constant(s->lower, CLASS_PREDICATE, (o->bits != 0) ^ o->negated, 0);
    bool special = o->kind == PTX_OPERAND_SPECIAL && !o->negated;
    if (special && class_of(ptx_specials[o->special].type) == CLASS_PREDICATE) return read_special(s, o);
    if (o->kind != PTX_OPERAND_REGISTER || select_class(s, register_ref(o)) != CLASS_PREDICATE) {
        select_error(s, o->column, "a predicate is expected here");
        return lower_constant(s->lower, CLASS_PREDICATE, 0, 0);
    }
    if (!o->negated) return register_ref(o);
    return select_compute(s, OP_not_pred, CLASS_PREDICATE, register_ref(o), REF_ABSENT, REF_ABSENT);
}

Ref select_source(Select *s, const PtxOperand *o, PtxType type)
{
    RegisterClass class = class_of(type);
    Ref address;
    if (class == CLASS_PREDICATE) return select_predicate(s, o);
    if (o->selector.unit || o->negated) {
        select_error(s, o->column, "this operand form is not supported by the CPU device");
        return lower_constant(s->lower, class, 0, 0);
    }
    switch (o->kind) {
    case PTX_OPERAND_REGISTER:
        return resize_register(s, register_ref(o), select_class(s, register_ref(o)), class, o->column);
    case PTX_OPERAND_IMMEDIATE: return lower_constant(s->lower, class, ptx_immediate_bits(o, type), 0);
    case PTX_OPERAND_SPECIAL:
        return resize_register(s, read_special(s, o), class_of(ptx_specials[o->special].type), class,
                               o->column);
    case PTX_OPERAND_VARIABLE:
        address = select_variable_address(s, o, class);
        return ref_is_register(address) ? resize_register(s, address, CLASS_64, class, o->column) : address;
    case PTX_OPERAND_FUNCTION: return resize_register(s, function_address(s, o), CLASS_64, class, o->column);
    default:
        select_error(s, o->column, "this operand is not supported by the CPU device");
        return lower_constant(s->lower, class, 0, 0);
    }
}

Ref select_dest(Select *s, const PtxOperand *o, RegisterClass class)
{
    if (o->kind == PTX_OPERAND_SINK) return lower_new_register(s->f, class);
    if (o->kind == PTX_OPERAND_REGISTER && select_class(s, register_ref(o)) == class && !o->selector.unit)
        return register_ref(o);
    select_error(s, o->column, "a destination of this kind is not supported by the CPU device");
    return lower_new_register(s->f, class);
}

Ref select_optional_dest(Select *s, const PtxOperand *o, RegisterClass class)
{
    if (o->kind == PTX_OPERAND_SINK || o->kind == PTX_OPERAND_NONE) return REF_ABSENT;
    return select_dest(s, o, class);
}
