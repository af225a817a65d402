/* Branches, ends, barriers, fences, and instructions that do nothing on the CPU device. */
#include "lower/select/select.h"

enum { MAX_BARRIERS = 16 };

/* Makes the guard the predicate of a branch, ret or exit, instead of an instruction before it. */
static void take_guard(const Select *s, LowerInsn *insn)
{
    insn->a = s->guard;
    insn->mods = s->guard_flag ? MODS_NEGATE : 0;
    insn->guard = REF_ABSENT;
    insn->flags = 0;
}

void select_bra(Select *s)
{
    const PtxOperand *target = operand_at(s, 0);
    if (target->kind != PTX_OPERAND_LABEL) {
        select_unsupported(s, "a branch to anything but a label");
        return;
    }
    LowerInsn *insn = select_emit(s, OP_bra);
    take_guard(s, insn);
    insn->target = target->label->id;
    insn->flags = FLAG_BRANCH | (s->guard == REF_ABSENT ? FLAG_ENDS : 0);
}

void select_brx(Select *s)
{
    const PtxOperand *table = operand_at(s, 1);
    if (table->kind != PTX_OPERAND_TABLE || !table->table->labels) {
        select_unsupported(s, "a branch without a list of targets");
        return;
    }
    GuardedBlock guarded = select_guarded_begin(s);
    uint32_t count = table->table->count;
    LowerTable *list = ARENA_ZEROS(s->f->scratch, LowerTable, 1);
    list->count = count;
    list->targets = ARENA_ARRAY(s->f->scratch, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) list->targets[i] = table->table->labels[i]->id;
    Ref index = select_source(s, operand_at(s, 0), PTX_u32);
    LowerInsn *insn = select_emit(s, OP_brx_idx);
    insn->a = index;
    insn->flags |= FLAG_TABLE | FLAG_ENDS;
    insn->table = list;
    select_guarded_end(s, guarded);
}

/* ret and exit */
void select_end(Select *s)
{
    if (s->insn->form->opcode == PTX_OP_ret) select_return_results(s);
    LowerInsn *insn = select_emit(s, s->insn->form->opcode == PTX_OP_ret ? OP_ret : OP_exit);
    take_guard(s, insn);
    if (s->guard == REF_ABSENT) insn->flags = FLAG_ENDS;
}

void select_trap(Select *s) { select_emit(s, s->insn->form->opcode == PTX_OP_trap ? OP_trap : OP_brkpt); }

void select_nothing(Select *s) { (void)s; }

void select_nanosleep(Select *s)
{
    GuardedBlock guarded = select_guarded_begin(s);
    Ref time = select_source(s, operand_at(s, 0), PTX_u32);
    select_emit(s, OP_nanosleep)->a = time;
    select_guarded_end(s, guarded);
}

void select_fence(Select *s)
{
    const PtxForm *form = s->insn->form;
    bool sequential = form->opcode == PTX_OP_membar || ptx_has(form, PTX_MOD_sc);
    LowerInsn *insn = select_emit(s, sequential ? OP_fence_sc : OP_fence);
    insn->mods = ptx_has(form, PTX_MOD_cta) ? FENCE_BLOCK : 0;
}

/* Raises barrier_count to include the barrier that an operand names; to all
 * barriers if the number is in a register. */
static void note_barrier(Select *s, const PtxOperand *o)
{
    uint32_t count = MAX_BARRIERS;
    if (o->kind == PTX_OPERAND_IMMEDIATE && o->bits >= MAX_BARRIERS)
        select_error(s, o->column, "the number of a barrier must be 0 to 15");
    else if (o->kind == PTX_OPERAND_IMMEDIATE)
        count = (uint32_t)o->bits + 1;
    if (count > s->barrier_count) s->barrier_count = count;
}

/* BAR_UNALIGNED for barrier without .aligned, at which lanes arrive one by one; bar is always aligned. */
static uint16_t barrier_mods(const Select *s)
{
    bool unaligned = s->insn->form->opcode == PTX_OP_barrier && !ptx_has(s->insn->form, PTX_MOD_aligned);
    return unaligned ? BAR_UNALIGNED : 0;
}

/* bar.red d, barrier{, threads}, predicate */
static void select_bar_red(Select *s)
{
    const PtxForm *form = s->insn->form;
    bool popc = ptx_has(form, PTX_MOD_popc);
    uint16_t op = popc ? OP_bar_red_popc : ptx_has(form, PTX_MOD_and) ? OP_bar_red_and : OP_bar_red_or;
    uint32_t last = s->insn->operand_count - 1u;
    note_barrier(s, operand_at(s, 1));
    Ref d = select_dest(s, operand_at(s, 0), popc ? CLASS_32 : CLASS_PREDICATE);
    Ref a = select_source(s, operand_at(s, 1), PTX_u32);
    Ref b = last > 2 ? select_source(s, operand_at(s, 2), PTX_u32) : REF_ABSENT;
    Ref c = select_predicate(s, operand_at(s, last));
    LowerInsn *insn = select_emit(s, op);
    insn->mods |= barrier_mods(s);
    insn->d = d;
    insn->a = a;
    insn->b = b;
    insn->c = c;
}

/* bar.sync and bar.arrive barrier{, threads}; bar.warp.sync mask */
static void select_bar_plain(Select *s)
{
    bool warp = ptx_has(s->insn->form, PTX_MOD_warp), arrive = ptx_has(s->insn->form, PTX_MOD_arrive);
    if (!warp) note_barrier(s, operand_at(s, 0));
    Ref a = select_source(s, operand_at(s, 0), PTX_u32);
    Ref b = s->insn->operand_count > 1 ? select_source(s, operand_at(s, 1), PTX_u32) : REF_ABSENT;
    LowerInsn *insn = select_emit(s, warp ? OP_bar_warp_sync : arrive ? OP_bar_arrive : OP_bar_sync);
    insn->mods |= barrier_mods(s);
    insn->a = a;
    insn->b = b;
}

void select_bar(Select *s)
{
    const PtxForm *form = s->insn->form;
    GuardedBlock guarded = select_guarded_begin(s);
    if (ptx_has(form, PTX_MOD_cluster))
        select_emit(s, ptx_has(form, PTX_MOD_arrive) ? OP_cluster_arrive : OP_cluster_wait);
    else if (ptx_has(form, PTX_MOD_red))
        select_bar_red(s);
    else
        select_bar_plain(s);
    select_guarded_end(s, guarded);
}
