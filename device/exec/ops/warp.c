/* Collectives of a warp whose members all execute already; others wait in exec/control/collective.c. */
#include "exec/collective/matrix.h"
#include "exec/control/collective.h"
#include "exec/ops/exchange.h"
#include "exec/control/group.h"

#define BOTH(name, body) \
    HANDLER(name, full) { body } \
    HANDLER(name, part) { body }

/* Whether the executing lanes are all lanes that the collective waits for, with one member mask. A
 * constant mask is the same in all lanes. */
LANE_FN bool all_here(const Warp *w, Ref member_ref)
{
    const uint32_t *member = ROW(const uint32_t, w, member_ref);
    uint32_t wanted = member[__builtin_ctz(w->mask)];
    if ((wanted & w->live) != w->mask) return false;
    if (member_ref >> REF_BASE_SHIFT == REF_CONST) return true;
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        if (member[__builtin_ctz(rest)] != wanted) return false;
    }
    return true;
}

/* Goes on to the next instruction, where groups that have executed this one may wait: they join. Forms
 * without a member mask never wait for other groups, and may be guarded, so that no group may join after
 * them. */
LANE_FN const Insn *advance(Warp *w, const Insn *i, Ref member_ref)
{
    return member_ref == REF_ABSENT || (uintptr_t)(i + 1) < w->next_pc ? i + 1 : group_rejoin(w, i + 1);
}

/* The general form reports the synchronization to the checker. */
BOTH(bar_warp_sync, return all_here(w, i->a) && !w->block->checker ? advance(w, i, i->a)
                                                                    : collective_enter(w, i, i->a);)

/* --- shfl ---------------------------------------------------------------------------------------------- */

/* Writes d and e of the executing lanes, `mask`. */
LANE_FN void shuffle_lanes(Warp *w, const Insn *i, unsigned op, uint32_t mask)
{
    const uint32_t *a = ROW(const uint32_t, w, i->a);
    const uint32_t *b = ROW(const uint32_t, w, i->b), *c = ROW(const uint32_t, w, i->c);
    uint32_t *d = ROW(uint32_t, w, i->d);
    _Alignas(64) int32_t sources[WARP_LANES], valid[WARP_LANES];
    _Alignas(64) uint32_t out[WARP_LANES];
    LANES_LOOP {
        bool inside;
        sources[l] = shuffle_source(op, l, b[l], c[l], mask, &inside);
        valid[l] = inside ? -1 : 0;
    }
    for (int l = 0; l < WARP_LANES; l++) out[l] = a[sources[l]];
    LANES_LOOP d[l] = w->lanes[l] ? out[l] : d[l];
    if (i->e != REF_ABSENT) pred_store(w, i->e, word_of_32(valid));
}

enum { WHOLE_WARP = 31 }; /* the clamp word of a butterfly that no segment stops */

/* A shuffle that swaps lanes whose numbers differ by a constant xor mask; false, and nothing done, for
 * others. */
LANE_FN bool butterfly(Warp *w, const Insn *i)
{
    const bool constant = i->b >> REF_BASE_SHIFT == REF_CONST && i->c >> REF_BASE_SHIFT == REF_CONST;
    if (!constant || *ROW(const uint32_t, w, i->c) != WHOLE_WARP) return false;
    exchange(ROW(const uint32_t, w, i->a), *ROW(const uint32_t, w, i->b) & 31, ROW(uint32_t, w, i->d));
    if (i->e != REF_ABSENT) PRED(w, i->e) = FULL_MASK;
    return true;
}

LANE_FN const Insn *shuffle(Warp *w, const Insn *i, unsigned op)
{
    Ref member = w->current->function->refs[i->more];
    if (member != REF_ABSENT && !all_here(w, member)) return collective_enter(w, i, member);
    if (!w->full) shuffle_lanes(w, i, op, w->mask);
    else if (op != OP_shfl_bfly || !butterfly(w, i)) shuffle_lanes(w, i, op, FULL_MASK);
    return advance(w, i, member);
}

BOTH(shfl_up, return shuffle(w, i, OP_shfl_up);)
BOTH(shfl_down, return shuffle(w, i, OP_shfl_down);)
BOTH(shfl_bfly, return shuffle(w, i, OP_shfl_bfly);)
BOTH(shfl_idx, return shuffle(w, i, OP_shfl_idx);)

/* --- vote ---------------------------------------------------------------------------------------------- */

#define VOTE(name) \
    LANE_FN const Insn *vote_##name(Warp *w, const Insn *i) \
    { \
        uint32_t votes; \
        if (i->b != REF_ABSENT && !all_here(w, i->b)) return collective_enter(w, i, i->b); \
        votes = pred_lanes(w, i->a, i->mods) & w->mask; \
        pred_store(w, i->d, vote_value(OP_vote_##name, votes, w->mask) ? FULL_MASK : 0); \
        return advance(w, i, i->b); \
    } \
    BOTH(vote_##name, return vote_##name(w, i);)
VOTE(all)
VOTE(any)
VOTE(uni)

LANE_FN const Insn *ballot(Warp *w, const Insn *i)
{
    uint32_t *d = ROW(uint32_t, w, i->d), votes;
    if (i->b != REF_ABSENT && !all_here(w, i->b)) return collective_enter(w, i, i->b);
    votes = pred_lanes(w, i->a, i->mods) & w->mask;
    LANES_LOOP d[l] = w->lanes[l] ? votes : d[l];
    return advance(w, i, i->b);
}

BOTH(vote_ballot, return ballot(w, i);)

/* --- the rest, always in the general form -------------------------------------------------------------- */

static const Insn *run_collective(Warp *w, const Insn *i)
{
    if (i->b != REF_ABSENT && !all_here(w, i->b)) return collective_enter(w, i, i->b);
    collective_now(w, i);
    return advance(w, i, i->b);
}

BOTH(match_any_b32, return run_collective(w, i);)
BOTH(match_any_b64, return run_collective(w, i);)
BOTH(match_all_b32, return run_collective(w, i);)
BOTH(match_all_b64, return run_collective(w, i);)
BOTH(redux_add_b32, return run_collective(w, i);)
BOTH(redux_min_u32, return run_collective(w, i);)
BOTH(redux_min_s32, return run_collective(w, i);)
BOTH(redux_max_u32, return run_collective(w, i);)
BOTH(redux_max_s32, return run_collective(w, i);)
BOTH(redux_and_b32, return run_collective(w, i);)
BOTH(redux_or_b32, return run_collective(w, i);)
BOTH(redux_xor_b32, return run_collective(w, i);)
BOTH(elect, return run_collective(w, i);)

BOTH(mma, return matrix_enter(w, i);)
BOTH(wgmma, return matrix_enter(w, i);)
BOTH(wmma_load, return matrix_enter(w, i);)
BOTH(wmma_store, return matrix_enter(w, i);)
BOTH(ldmatrix, return matrix_enter(w, i);)
BOTH(stmatrix, return matrix_enter(w, i);)
BOTH(movmatrix, return matrix_enter(w, i);)

HANDLER(activemask, full)
{
    uint32_t *d = ROW(uint32_t, w, i->d);
    LANES_LOOP d[l] = FULL_MASK;
    return i + 1;
}

HANDLER(activemask, part)
{
    uint32_t *d = ROW(uint32_t, w, i->d);
    LANES_LOOP d[l] = w->lanes[l] ? w->mask : d[l];
    return i + 1;
}
