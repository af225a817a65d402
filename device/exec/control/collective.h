/* One collective operation of a warp, ready to be carried out: which lanes, at which instruction, in which
 * frame. */
#ifndef DEVICE_EXEC_CONTROL_COLLECTIVE_H
#define DEVICE_EXEC_CONTROL_COLLECTIVE_H

#include "exec/state/block.h"

typedef struct Collective {
    uint32_t lanes, members;          /* the lanes that take part; the member mask they agree on */
    const Insn *insn[WARP_LANES];
    uint8_t *frame[WARP_LANES];
    uint8_t *constants[WARP_LANES];
    const CodeFunction *function[WARP_LANES];
    Warp *warp;
} Collective;

/* The rows of an operand as lane l sees it. */
static inline uint8_t *collective_rows(const Collective *collective, uint32_t l, Ref ref)
{
    uint32_t base = ref >> REF_BASE_SHIFT;
    uint8_t *rows = base == REF_FRAME   ? collective->frame[l]
                    : base == REF_CONST ? collective->constants[l]
                                        : warp_base(collective->warp, base);
    return rows + (ref & REF_OFFSET_MASK);
}

const Insn *collective_enter(Warp *warp, const Insn *insn, Ref member_ref);
void collective_exit(Warp *warp);
void collective_execute(const Collective *collective);
void collective_now(Warp *warp, const Insn *insn);

/* The lane whose value a shuffle by `lanes` gives to `lane`, by the rules of the ISA: b = lane, delta or
 * mask, c = clamp and segment mask. It is the lane itself if the source is out of its segment, which *valid
 * says, or not one of `lanes`. */
static inline int shuffle_source(unsigned op, int lane, uint32_t b, uint32_t c, uint32_t lanes, bool *valid)
{
    int bval = (int)(b & 31), cval = (int)(c & 31), segment = (int)(c >> 8 & 31);
    int max_lane = (lane & segment) | (cval & ~segment & 31), min_lane = lane & segment;
    int source = lane;
    switch (op) {
    case OP_shfl_up:
        source = lane - bval;
        *valid = source >= max_lane;
        break;
    case OP_shfl_down:
        source = lane + bval;
        *valid = source <= max_lane;
        break;
    case OP_shfl_bfly:
        source = lane ^ bval;
        *valid = source <= max_lane;
        break;
    default:
        source = min_lane | (bval & ~segment & 31);
        *valid = source <= max_lane;
        break;
    }
    return *valid && lanes >> (source & 31) & 1 ? source : lane;
}

/* What a vote by `lanes` gives to each of them: `votes` for vote.ballot, else 0 or 1. `votes`: the
 * lanes whose predicate is true. */
static inline uint32_t vote_value(unsigned op, uint32_t votes, uint32_t lanes)
{
    switch (op) {
    case OP_vote_all: return votes == lanes;
    case OP_vote_any: return votes != 0;
    case OP_vote_uni: return votes == 0 || votes == lanes;
    default: return votes;
    }
}

#endif
