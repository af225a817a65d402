/* Collectives of a warp: shfl, vote, match, redux, elect and bar.warp.sync, in their general form.
 *
 * A lane that comes to a .sync collective waits until every lane of its member mask that has not exited
 * waits at an instruction of the same kind with the same mask, even at another pc. The last arrival
 * carries the operation out for all, lane by lane, each with the operands of its own instruction and frame.
 * Handlers in exec/ops/warp.c take the common case, all members here already, for the operations worth it.
 */
#include <string.h>

#include "exec/control/collective.h"
#include "exec/checks/check.h"
#include "exec/control/group.h"

static bool same_kind(const Group *g, const Group *like)
{
    return g->state == GROUP_SYNC && g->member_mask == like->member_mask && g->pc->op == like->pc->op;
}

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

/* Carries out the operation once all members are here; true when groups were released. */
static bool complete_if_all_here(Warp *warp, Group *like)
{
    Collective collective;
    Group key = *like;
    gather_lanes(warp, like, &collective);
    if (key.member_mask & warp->live & ~collective.lanes) return false;
    collective_execute(&collective);
    for (uint32_t k = 0; k < warp->group_count; k++) {
        Group *g = &warp->groups[k];
        if (!same_kind(g, &key)) continue;
        g->state = GROUP_READY;
        g->pc++;
    }
    warp->parked = false;
    return true;
}

/* Called after exits: completes collectives whose missing lanes have all exited. */
void collective_exit(Warp *warp)
{
    for (uint32_t k = 0; k < warp->group_count; k++) {
        if (warp->groups[k].state == GROUP_SYNC && complete_if_all_here(warp, &warp->groups[k]))
            k = UINT32_MAX;
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

/* Whether all live lanes in the running lanes' member masks are elsewhere: to hardware that is an illegal
 * instruction. Never with the random scheduler, where lanes may simply be late. */
static bool is_lost(const Warp *warp, const uint32_t *member)
{
    uint32_t named = 0;
    for (uint32_t rest = warp->mask; rest; rest &= rest - 1) named |= member[__builtin_ctz(rest)];
    return !warp->randomized && !(named & warp->mask) && (named & warp->live);
}

/* Keeps running the lanes whose member mask is `wanted`, and the `outside` ones. The others become a group
 * that executes the instruction later. */
static void take_alike(Warp *warp, const Insn *insn, const uint32_t *member, uint32_t wanted,
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

/* Only lanes that are not members of their own masks have arrived. They take part at once; it is a fault when
 * all lanes that their masks name are elsewhere. */
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

/* All lanes that are here take part, members or not; others do not wait. */
const Insn *collective_enter(Warp *warp, const Insn *insn, Ref member_ref)
{
    const uint32_t *member = ROW(const uint32_t, warp, member_ref);
    uint32_t own = members_here(warp, member), outside = warp->mask & ~own;
    int first = outside ? __builtin_ctz(outside) : 0;
    if (outside && check_is_on(warp->block, CHECK_SYNC))
        return exec_fault(warp, insn, first, CUDA_ERROR_LAUNCH_FAILED,
                          "%s by lane %d, which its member mask 0x%08x leaves out", exec_op_names[insn->op],
                          first, member[first]);
    if (!own) return enter_outside(warp, insn, member);
    uint32_t wanted = member[__builtin_ctz(own)];
    take_alike(warp, insn, member, wanted, outside);
    Group *g = warp->current;
    g->pc = insn;
    g->state = GROUP_SYNC;
    g->member_mask = wanted;
    g->waited = ++warp->turn;
    complete_if_all_here(warp, g);
    return group_next(warp);
}

/* The lanes of a collective that has no member mask: those that execute now. */
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
