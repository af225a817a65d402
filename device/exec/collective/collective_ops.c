/* What each collective of a warp computes, lane by lane (see collective.c for which lanes take part).
 * The fast path of shuffles and votes is in exec/ops/warp.c. */
#include "exec/checks/check.h"
#include "exec/collective/matrix.h"

#define EACH_LANE(l, mask) \
    for (uint32_t rest_##l = (mask), l = 0; rest_##l && (l = (uint32_t)__builtin_ctz(rest_##l), 1); \
         rest_##l &= rest_##l - 1)

static uint32_t *row_b32(const Collective *collective, uint32_t l, Ref ref)
{
    return (uint32_t *)(void *)collective_rows(collective, l, ref);
}

static uint32_t read_b32(const Collective *collective, uint32_t l, Ref ref)
{
    return row_b32(collective, l, ref)[l];
}

static uint64_t read_value(const Collective *collective, uint32_t l, bool is_64)
{
    Ref a = collective->insn[l]->a;
    return is_64 ? ((const uint64_t *)(const void *)collective_rows(collective, l, a))[l]
                 : read_b32(collective, l, a);
}

static bool read_pred(const Collective *collective, uint32_t l, Ref ref)
{
    bool negate = (collective->insn[l]->mods & MODS_NEGATE) != 0;
    return (*row_b32(collective, l, ref) >> l & 1) != negate;
}

static void write_b32(const Collective *collective, uint32_t l, Ref ref, uint32_t value)
{
    if (ref != REF_ABSENT) row_b32(collective, l, ref)[l] = value;
}

static void write_pred(const Collective *collective, uint32_t l, Ref ref, bool value)
{
    uint32_t *word;
    if (ref == REF_ABSENT) return;
    word = row_b32(collective, l, ref);
    *word = (*word & ~(1u << l)) | (uint32_t)value << l;
}

static void shuffle(const Collective *collective)
{
    uint32_t value[WARP_LANES], result[WARP_LANES];
    bool valid[WARP_LANES];
    EACH_LANE(l, collective->lanes) value[l] = read_b32(collective, l, collective->insn[l]->a);
    EACH_LANE(l, collective->lanes)
    {
        const Insn *i = collective->insn[l];
        uint32_t b = read_b32(collective, l, i->b), c = read_b32(collective, l, i->c);
        result[l] = value[shuffle_source(i->op, (int)l, b, c, collective->lanes, &valid[l])];
    }
    EACH_LANE(l, collective->lanes)
    {
        write_b32(collective, l, collective->insn[l]->d, result[l]);
        write_pred(collective, l, collective->insn[l]->e, valid[l]);
    }
}

static void vote(const Collective *collective, unsigned op)
{
    uint32_t votes = 0, value;
    EACH_LANE(l, collective->lanes) votes |= (uint32_t)read_pred(collective, l, collective->insn[l]->a) << l;
    value = vote_value(op, votes, collective->lanes);
    EACH_LANE(l, collective->lanes)
    {
        if (op == OP_vote_ballot)
            write_b32(collective, l, collective->insn[l]->d, value);
        else
            write_pred(collective, l, collective->insn[l]->d, value);
    }
}

static void match(const Collective *collective, bool is_64, bool match_all)
{
    uint64_t value[WARP_LANES];
    uint32_t same[WARP_LANES];
    EACH_LANE(l, collective->lanes) value[l] = read_value(collective, l, is_64);
    EACH_LANE(l, collective->lanes)
    {
        same[l] = 0;
        EACH_LANE(k, collective->lanes) same[l] |= (uint32_t)(value[k] == value[l]) << k;
    }
    EACH_LANE(l, collective->lanes)
    {
        bool alike = same[l] == collective->lanes;
        write_b32(collective, l, collective->insn[l]->d, match_all && !alike ? 0 : same[l]);
        if (match_all) write_pred(collective, l, collective->insn[l]->e, alike);
    }
}

static uint32_t combine(unsigned op, uint32_t x, uint32_t y)
{
    switch (op) {
    case OP_redux_add_b32: return x + y;
    case OP_redux_min_u32: return x < y ? x : y;
    case OP_redux_min_s32: return (int32_t)x < (int32_t)y ? x : y;
    case OP_redux_max_u32: return x > y ? x : y;
    case OP_redux_max_s32: return (int32_t)x > (int32_t)y ? x : y;
    case OP_redux_and_b32: return x & y;
    case OP_redux_or_b32: return x | y;
    default: return x ^ y;
    }
}

static void reduce(const Collective *collective, unsigned op)
{
    uint32_t first = (uint32_t)__builtin_ctz(collective->lanes),
             total = read_b32(collective, first, collective->insn[first]->a);
    EACH_LANE(l, collective->lanes & (collective->lanes - 1))
    total = combine(op, total, read_b32(collective, l, collective->insn[l]->a));
    EACH_LANE(l, collective->lanes) write_b32(collective, l, collective->insn[l]->d, total);
}

static void elect(const Collective *collective)
{
    uint32_t leader = (uint32_t)__builtin_ctz(collective->lanes);
    EACH_LANE(l, collective->lanes)
    {
        write_b32(collective, l, collective->insn[l]->d, leader);
        write_pred(collective, l, collective->insn[l]->e, l == leader);
    }
}

void collective_execute(const Collective *collective)
{
    unsigned op = collective->insn[__builtin_ctz(collective->lanes)]->op;
    switch (op) {
    case OP_shfl_up:
    case OP_shfl_down:
    case OP_shfl_bfly:
    case OP_shfl_idx: shuffle(collective); break;
    case OP_vote_all:
    case OP_vote_any:
    case OP_vote_uni:
    case OP_vote_ballot: vote(collective, op); break;
    case OP_match_any_b32: match(collective, false, false); break;
    case OP_match_any_b64: match(collective, true, false); break;
    case OP_match_all_b32: match(collective, false, true); break;
    case OP_match_all_b64: match(collective, true, true); break;
    case OP_elect: elect(collective); break;
    case OP_bar_warp_sync:
        if (collective->warp->block->checker) check_warp_sync(collective->warp, collective->lanes);
        break;
    case OP_mma:
    case OP_wgmma:
    case OP_wmma_load:
    case OP_wmma_store:
    case OP_ldmatrix:
    case OP_stmatrix:
    case OP_movmatrix: matrix_execute(collective); break;
    default: reduce(collective, op); break;
    }
}
