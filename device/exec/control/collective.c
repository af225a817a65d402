/* Collectives of a warp: shfl, vote, match, redux, elect and bar.warp.sync, in their general form.
 *
 * A lane that comes to a .sync collective waits until every lane of its member mask that has not exited
 * waits at an instruction of the same kind with the same mask, even at another pc. The last arrival
 * carries the operation out for all, lane by lane, each with the operands of its own instruction and frame.
 * The common case, in which all members arrive together, is handled in exec/ops/warp.c for the operations
 * where that is worth it.
 */
#include <string.h>

#include "exec/control/collective.h"
#include "exec/checks/check.h"
#include "exec/control/group.h"

/* Whether g waits at a collective of the operation and the member mask of `like`, which waits at one. */
static bool same_kind(const Group *g, const Group *like)
{
    return g->state == GROUP_SYNC && g->member_mask == like->member_mask && g->pc->op == like->pc->op;
}

/* Fills *collective with the lanes of all groups that wait at the collective of `like`. */
static void gather_lanes(Warp *warp, const Group *like, Collective *collective)
{
    collective->lanes = 0;
    for (uint32_t k = 0; k < warp->group_count; k++) {
        const Group *g = &warp->groups[k];
        if (!same_kind(g, like)) continue;
        collective->lanes |= g->mask;
        for (uint32_t rest = g->mask; rest; rest &= rest - 1) {
            int l = __builtin_ctz(rest);
            collective->insn[l] = g->pc;
            collective->frame[l] = warp->registers + g->frame;
            collective->constants[l] = g->function->module->constants;
            collective->function[l] = g->function;
        }
    }
    collective->warp = warp;
    collective->members = like->member_mask;
}

/* Carries out the collective at which `like` waits, and releases the groups that wait at it, unless members
 * that have not exited are still missing. */
static void complete_if_all_here(Warp *warp, const Group *like)
{
    Collective collective;
    const Group key = *like; /* a copy: the release changes *like */
    gather_lanes(warp, &key, &collective);
    if (key.member_mask & warp->live & ~collective.lanes) return;
    collective_execute(&collective);
    for (uint32_t k = 0; k < warp->group_count; k++) {
        Group *g = &warp->groups[k];
        if (!same_kind(g, &key)) continue;
        g->state = GROUP_READY;
        g->pc++;
    }
    warp->parked = false;
}

void collective_exit(Warp *warp)
{
    for (uint32_t k = 0; k < warp->group_count; k++) {
        if (warp->groups[k].state == GROUP_SYNC) complete_if_all_here(warp, &warp->groups[k]);
    }
}

/* The running lanes whose own bit is in their member mask. */
static uint32_t members_here(const Warp *warp, const uint32_t *member)
{
    uint32_t found = 0;
    for (uint32_t rest = warp->mask; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        found |= member[l] & 1u << l;
    }
    return found;
}

/* Whether the running lanes' member masks name lanes that have not exited, but none of the running ones: to
 * hardware that is an illegal instruction. Always false with the random scheduler, where the named lanes may
 * just be late. */
static bool is_lost(const Warp *warp, const uint32_t *member)
{
    uint32_t named = 0;
    for (uint32_t rest = warp->mask; rest; rest &= rest - 1) named |= member[__builtin_ctz(rest)];
    return !warp->randomized && !(named & warp->mask) && (named & warp->live);
}

/* Keeps in the running group the lanes whose member mask is `wanted`, and the lanes `outside`, which are not
 * in their own masks. The others become a group that executes the instruction later. */
static void keep_same_mask(Warp *warp, const Insn *insn, const uint32_t *member, uint32_t wanted,
                           uint32_t outside)
{
    uint32_t same = outside;
    for (uint32_t rest = warp->mask; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        if (member[l] == wanted) same |= 1u << l;
    }
    if (same == warp->mask) return;
    group_fork(warp, warp->mask & ~same, insn);
    warp_set_mask(warp, same);
}

/* collective_enter() where every running lane is outside its own mask: they execute the operation at once,
 * among themselves. It is a fault when all lanes that their masks name are elsewhere. */
static const Insn *enter_outside(Warp *warp, const Insn *insn, const uint32_t *member)
{
    int first = __builtin_ctz(warp->mask);
    if (is_lost(warp, member))
        return exec_fault(warp, insn, first, CUDA_ERROR_ILLEGAL_INSTRUCTION,
                          "%s by lane %d, while the lanes of its member mask 0x%08x are elsewhere",
                          exec_op_names[insn->op], first, member[first]);
    collective_now(warp, insn);
    return insn + 1;
}

/* A group waits with the mask of its members. Lanes outside their own masks stay in it: they take part in the
 * operation, but no lane waits for them. */
const Insn *collective_enter(Warp *warp, const Insn *insn, Ref member_ref)
{
    const uint32_t *member = ROW(const uint32_t, warp, member_ref);
    uint32_t own = members_here(warp, member), outside = warp->mask & ~own;
    int first = outside ? __builtin_ctz(outside) : 0;
    if (outside && check_is_on(warp->block, CHECK_SYNC)
        && !exec_violation(warp, insn, first, CUDA_ERROR_LAUNCH_FAILED,
                           "%s by lane %d, which its member mask 0x%08x leaves out", exec_op_names[insn->op],
                           first, member[first]))
        return NULL;
    if (!own) return enter_outside(warp, insn, member);
    uint32_t wanted = member[__builtin_ctz(own)];
    keep_same_mask(warp, insn, member, wanted, outside);
    Group *g = warp->current;
    g->pc = insn;
    g->state = GROUP_SYNC;
    g->member_mask = wanted;
    g->waited = ++warp->turn;
    complete_if_all_here(warp, g);
    return group_next(warp);
}

void collective_now(Warp *warp, const Insn *insn)
{
    Collective collective = {.lanes = warp->mask, .members = warp->mask, .warp = warp};
    for (int l = 0; l < WARP_LANES; l++) {
        collective.insn[l] = insn;
        collective.frame[l] = warp_base(warp, REF_FRAME);
        collective.constants[l] = warp_base(warp, REF_CONST);
        collective.function[l] = warp->current->function;
    }
    collective_execute(&collective);
}
