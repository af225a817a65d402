/* Cache policies, with the bits that a GPU gives them. The device ignores policies, but programs may
 * compare them with constants. */
#include "exec/async/policy.h"
#include "exec/numbers/lanes.h"

#define PRIORITIES(mods) ((u64)((mods) & POLICY_MODS) << POLICY_MODS_SHIFT)
#define INTERLEAVED (2ull << 59)
#define BLOCKS (3ull << 59)

/* A fraction of all accesses, in sixteenths less one. */
LANE_FN u64 fraction_bits(f32 fraction)
{
    const f32 below = (fraction - 0x1p-23f) * 16;
    return (u64)(below > 15 ? 15 : below >= 0 ? (u32)below : 0) << 52;
}

LANES_1(createpolicy_fractional, u64, f32, INTERLEAVED | PRIORITIES(mods) | fraction_bits(a))

LANE_FN u32 log2_up(u32 x) { return x > 1 ? 32 - (u32)__builtin_clz(x - 1) : 0; }

/* A range in blocks of 4 KiB times 2^size, the size such that `total` bytes are at most 128 blocks.
 * primary: bytes at the range's start that have the primary priority. */
LANE_FN u64 range_bits(u64 address, u32 primary, u32 total)
{
    enum { MIN_SHIFT = 12, BLOCKS_SHIFT = 7 }; /* 4 KiB, 128 blocks */
    const u32 log = log2_up(total), least = MIN_SHIFT + BLOCKS_SHIFT, size = log > least ? log - least : 0;
    const u32 shift = MIN_SHIFT + size;
    const u32 first = (u32)(address >> shift),
              end = (u32)((address + primary + (1ull << shift) - 1) >> shift);
    const u32 count = end - first, max = size == 13 ? 1 : 127;
    return (u64)(count > 127 ? max : count < 1 && size != 13 ? 1 : count) << 37 | (u64)(first & 127) << 44
           | (u64)size << 52;
}

static const Insn *run_range(Warp *w, const Insn *i)
{
    const u64 *wide = ROW(const u64, w, i->a);
    const u32 *narrow = ROW(const u32, w, i->a), *primary = ROW(const u32, w, i->b);
    const u32 *total = ROW(const u32, w, i->c);
    u64 *d = ROW(u64, w, i->d), out[WARP_LANES];
    for (int l = 0; l < WARP_LANES; l++) {
        const u64 address = (i->mods & MEM_ADDR32 ? narrow[l] : wide[l]) + (u64)i->imm;
        out[l] = BLOCKS | PRIORITIES(i->mods) | range_bits(address, primary[l], total[l]);
    }
    LANES_LOOP d[l] = w->lanes[l] ? out[l] : d[l];
    return i + 1;
}

HANDLER(createpolicy_range, full) { return run_range(w, i); }
HANDLER(createpolicy_range, part) { return run_range(w, i); }
