/* cp.async, cp.async.bulk and mbarriers. */
#include "exec/async/bulk.h"
#include "exec/async/mbarrier.h"
#include "exec/checks/check.h"
#include "lower/select/select.h"

/* --- copies -------------------------------------------------------------------------------------------- */

/* The logarithm of a copy's size in bytes, which cp.async.cg has of 16
 * bytes only; 0 and an error for other sizes. */
static uint16_t copy_size(Select *s)
{
    const PtxOperand *size = operand_at(s, 2);
    bool all_levels = ptx_has(s->insn->form, PTX_MOD_ca);
    bool fits = size->bits == 16 || (all_levels && (size->bits == 4 || size->bits == 8));
    if (fits) return (uint16_t)__builtin_ctzll(size->bits);
    select_error(s, size->column, all_levels ? "the size is 4, 8 or 16 bytes" : "the size is 16 bytes");
    return 0;
}

/* cp.async to, from, size{, bytes to copy or predicate to ignore the source}{, cache policy} */
static void select_copy_async(Select *s)
{
    const PtxForm *form = s->insn->form;
    uint32_t count = s->insn->operand_count - ptx_has(form, PTX_MOD_L2_cache_hint);
    const PtxOperand *extra = operand_at(s, 3);
    Address to, from;
    uint16_t size = copy_size(s);
    if (!size || !select_address(s, operand_at(s, 0), form->spaces[0], &to)
        || !select_address(s, operand_at(s, 1), form->spaces[1], &from))
        return;
    Ref bytes = REF_ABSENT, ignore = REF_ABSENT;
    if (count > 3 && extra->kind == PTX_OPERAND_REGISTER && extra->type == PTX_pred)
        ignore = select_predicate(s, extra);
    else if (count > 3)
        bytes = select_source(s, extra, PTX_u32);
    bool wide;
    Ref b = select_address_value(s, &to, &wide);
    LowerInsn *insn = select_emit(s, OP_cp_async);
    insn->a = from.row;
    insn->imm = from.offset;
    insn->b = b;
    insn->c = bytes;
    insn->e = ignore;
    insn->mods = (uint16_t)(size | (wide ? 0 : MEM_ADDR32));
}

Ref select_wide_address(Select *s, const PtxOperand *o, PtxSpace space, bool *shared)
{
    Address a;
    bool wide;
    if (!select_address(s, o, space, &a)) return REF_ABSENT;
    if (shared) *shared = a.space == PTX_SPACE_SHARED;
    if (a.row == REF_ABSENT) return lower_constant(s->lower, CLASS_64, (uint64_t)a.offset, 0);
    Ref value = select_address_value(s, &a, &wide);
    return wide ? value : select_compute(s, OP_cvt_u64_u32, CLASS_64, value, REF_ABSENT, REF_ABSENT);
}

/* The atomic operation of cp.reduce, or OP_cp_bulk for a copy; OP_COUNT if it is not supported. */
static uint16_t bulk_operation(const PtxForm *form)
{
    if (!ptx_has(form, PTX_MOD_reduce)) return OP_cp_bulk;
    uint16_t op = select_atomic_op(form->group[PTX_GROUP_OPERATION], form->types[0]);
    return bulk_combines(op) ? op : OP_COUNT;
}

/* cp.async.bulk to, from, bytes{, mbarrier at which they arrive}{, mask
 * of the cluster's blocks}{, cache policy} */
static void select_bulk(Select *s)
{
    const PtxForm *form = s->insn->form;
    uint32_t count = s->insn->operand_count - ptx_has(form, PTX_MOD_L2_cache_hint);
    bool arrives = ptx_has(form, PTX_MOD_mbarrier_complete_tx_bytes);
    bool multicast = ptx_has(form, PTX_MOD_multicast_cluster);
    bool from_shared = false, to_shared = false;
    uint16_t operation = bulk_operation(form);
    if (count != 3u + arrives + multicast || operation == OP_COUNT || ptx_has(form, PTX_MOD_cp_mask)
        || ptx_has(form, PTX_MOD_ignore_oob)) {
        select_unsupported(s, "a copy of parts");
        return;
    }
    Ref b = select_wide_address(s, operand_at(s, 0), form->spaces[0], &to_shared);
    Ref a = select_wide_address(s, operand_at(s, 1), form->spaces[1], &from_shared);
    Ref bytes = select_source(s, operand_at(s, 2), PTX_u32);
    Ref barrier = arrives ? select_wide_address(s, operand_at(s, 3), PTX_SPACE_SHARED, NULL) : REF_ABSENT;
    Ref ranks = multicast ? select_source(s, operand_at(s, 4), PTX_u32) : REF_ABSENT;
    LowerInsn *insn = select_emit(s, operation == OP_cp_bulk ? OP_cp_bulk : OP_cp_bulk_reduce);
    insn->a = a;
    insn->b = b;
    insn->c = bytes;
    insn->e = barrier;
    insn->imm = operation;
    insn->mods = (uint16_t)((from_shared ? BULK_FROM_SHARED : 0) | (to_shared ? BULK_TO_SHARED : 0)
                            | (multicast ? BULK_TO_BLOCKS : 0));
    if (!multicast) return;
    insn->more = lower_new_refs(s->f, &ranks, 1);
    insn->more_count = 1;
}

/* --- barriers ------------------------------------------------------------------------------------------ */

/* Appends an operation on the mbarrier at the address that operand `index` is; NULL after an error. */
static LowerInsn *emit_barrier(Select *s, uint16_t op, uint32_t index, uint16_t mods)
{
    Address a;
    if (!select_address(s, operand_at(s, index), s->insn->form->spaces[0], &a)) return NULL;
    if (a.space != PTX_SPACE_SHARED && a.space != PTX_SPACE_GLOBAL) {
        select_unsupported(s, "a barrier in this space");
        return NULL;
    }
    LowerInsn *insn = select_emit(s, op);
    insn->a = a.row;
    insn->imm = a.offset;
    insn->mods =
        (uint16_t)(mods | (a.narrow ? MEM_ADDR32 : 0) | (a.space == PTX_SPACE_SHARED ? MEM_SHARED : 0));
    return insn;
}

/* As emit_barrier(), with the count that follows the address, if there is one, as source b. */
static void barrier_with_count(Select *s, uint16_t op, uint32_t index, uint16_t mods, Ref d)
{
    bool given = s->insn->operand_count > index + 1;
    Ref b = given ? select_source(s, operand_at(s, index + 1), PTX_u32) : REF_ABSENT;
    LowerInsn *insn = emit_barrier(s, op, index, mods);
    if (!insn) return;
    insn->b = b;
    insn->d = d;
}

void select_complete_tx(Select *s, uint32_t bytes)
{
    LowerInsn *insn = emit_barrier(s, OP_mbarrier_tx, 2, MBARRIER_COMPLETE);
    if (insn) insn->b = lower_constant(s->lower, CLASS_32, bytes, 0);
}

/* arrive{_drop} {state,} mbarrier{, count} */
static void select_arrive(Select *s)
{
    const PtxForm *form = s->insn->form;
    bool has_state = operand_at(s, 0)->kind != PTX_OPERAND_ADDRESS;
    uint16_t mods = (uint16_t)((ptx_has(form, PTX_MOD_arrive_drop) ? MBARRIER_DROP : 0)
                               | (ptx_has(form, PTX_MOD_noComplete) ? MBARRIER_NO_COMPLETE : 0)
                               | (ptx_has(form, PTX_MOD_expect_tx) ? MBARRIER_EXPECT : 0));
    Ref d = has_state ? select_optional_dest(s, operand_at(s, 0), CLASS_64) : REF_ABSENT;
    barrier_with_count(s, OP_mbarrier_arrive, has_state, mods, d);
}

/* test_wait and try_wait d, mbarrier, state or parity. Lanes that wait are parked as a group, which cannot be
 * under a guard. The time limit of try_wait is a hint and ignored. */
static void select_wait(Select *s)
{
    bool parity = ptx_has(s->insn->form, PTX_MOD_parity);
    GuardedBlock guarded = select_guarded_begin(s);
    Ref d = select_dest(s, operand_at(s, 0), CLASS_PREDICATE);
    Ref b = select_source(s, operand_at(s, 2), parity ? PTX_u32 : PTX_b64);
    LowerInsn *insn = emit_barrier(s, OP_mbarrier_wait, 1, parity ? MBARRIER_PARITY : 0);
    if (insn) {
        insn->d = d;
        insn->b = b;
    }
    select_guarded_end(s, guarded);
}

static void select_pending(Select *s)
{
    Ref d = select_dest(s, operand_at(s, 0), CLASS_32);
    Ref a = select_source(s, operand_at(s, 1), PTX_b64);
    LowerInsn *insn = select_emit(s, OP_mbarrier_pending);
    insn->d = d;
    insn->a = a;
}

void select_mbarrier(Select *s)
{
    const PtxForm *form = s->insn->form;
    if (ptx_has(form, PTX_MOD_init))
        barrier_with_count(s, OP_mbarrier_init, 0, 0, REF_ABSENT);
    else if (ptx_has(form, PTX_MOD_inval))
        emit_barrier(s, OP_mbarrier_inval, 0, 0);
    else if (ptx_has(form, PTX_MOD_arrive) || ptx_has(form, PTX_MOD_arrive_drop))
        select_arrive(s);
    else if (ptx_has(form, PTX_MOD_test_wait) || ptx_has(form, PTX_MOD_try_wait))
        select_wait(s);
    else if (ptx_has(form, PTX_MOD_pending_count))
        select_pending(s);
    else
        barrier_with_count(s, OP_mbarrier_tx, 0, ptx_has(form, PTX_MOD_complete_tx) ? MBARRIER_COMPLETE : 0,
                           REF_ABSENT);
}

/* Appends the end of copies that the race checker sees as running: all but the last `kept` groups of them, or
 * COPIES_*. Without that checker it is nothing. */
static void end_copies(Select *s, uint32_t kept)
{
    if (s->lower->host->checks & CHECK_RACE) select_emit(s, OP_cp_async_end)->imm = kept;
}

/* Copies are done when they are issued, so there is nothing to wait for. The arrival at an mbarrier that a
 * copy would make is made by the thread. Without .noinc the mbarrier would first expect one more arrival, and
 * then get it: both are left out. */
void select_cp(Select *s)
{
    const PtxForm *form = s->insn->form;
    const PtxOperand *groups = operand_at(s, 0);
    if (ptx_has(form, PTX_MOD_tensor)) {
        select_tensor_copy(s);
    } else if (ptx_has(form, PTX_MOD_mbarrier)) {
        bool counted = ptx_has(form, PTX_MOD_noinc);
        end_copies(s, COPIES_ALL);
        LowerInsn *insn = emit_barrier(s, counted ? OP_mbarrier_arrive : OP_mbarrier_tx, 0, 0);
        if (insn && !counted) insn->b = lower_constant(s->lower, CLASS_32, 0, 0);
    } else if (ptx_has(form, PTX_MOD_wait_group)) {
        if ((int64_t)groups->bits < 0)
            select_error(s, groups->column, "the number of groups must not be negative");
        if (!ptx_has(form, PTX_MOD_bulk)) end_copies(s, (uint32_t)groups->bits);
    } else if (!ptx_has(form, PTX_MOD_bulk)
               && (ptx_has(form, PTX_MOD_wait_all) || ptx_has(form, PTX_MOD_commit_group))) {
        end_copies(s, ptx_has(form, PTX_MOD_wait_all) ? COPIES_ALL : COPIES_COMMIT);
    } else if (ptx_has(form, PTX_MOD_bulk) && form->space_count == 2) {
        select_bulk(s);
    } else if (ptx_has(form, PTX_MOD_ca) || ptx_has(form, PTX_MOD_cg)) {
        select_copy_async(s);
    }
}
