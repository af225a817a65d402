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

/* The rows of an operand as lane l sees them: in its frame, with its module's constants. */
static inline uint8_t *collective_rows(const Collective *collective, uint32_t l, Ref ref)
{
    uint32_t base = ref >> REF_BASE_SHIFT;
    uint8_t *rows = base == REF_FRAME   ? collective->frame[l]
                    : base == REF_CONST ? collective->constants[l]
                                        : warp_base(collective->warp, base);
    return rows + (ref & REF_OFFSET_MASK);
}

/* The running lanes come to a .sync collective; member_ref: the operand with their member masks. The lanes
 * that are in their own mask, and have the same one as the first such lane, wait as one group; with them wait
 * the lanes that are outside their own masks. Lanes in another mask execute the instruction later. Returns
 * the instruction to go on with, NULL when the warp must wait or after a fault. */
const Insn *collective_enter(Warp *warp, const Insn *insn, Ref member_ref);
/* After lanes of the warp have exited: carries out the collectives that waited for these alone. */
void collective_exit(Warp *warp);
/* Computes the operation and writes its results; who waits is the caller's business. */
void collective_execute(const Collective *collective);
/* Executes a collective of exactly the running lanes, without waiting for others. */
void collective_now(Warp *warp, const Insn *insn);

/* The lane whose value a shuffle gives to `lane`, by the rules of the PTX manual: b = source lane, delta or
 * xor mask; c = clamp value in bits 0 to 4, segment mask in bits 8 to 12; lanes: those that take part. *valid
 * becomes whether the source is within the lane's segment. If it is not, or is not one of `lanes`, the result
 * is `lane` itself. */
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

/* What a vote by `lanes` gives to each of them: for vote.ballot `votes`, the lanes whose predicate is true;
 * for the other votes 0 or 1. */
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
