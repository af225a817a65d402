/* Packs virtual registers into rows of the frame: linear scan over the live ranges.
 *
 * A frame consists of pools (ir.h), each of slots for rows of one size; a predicate is one word. Rows of
 * different sizes never share memory: lanes that took another path may still need their values, which only
 * rows of one size have at the same place. Ranges that share an instruction never share a row, so that a
 * handler may write a destination before it has read all its sources.
 */
#include "exec/code/affine.h"
#include "lower/ir.h"

#include <string.h>

enum { ROW_ALIGN = 128, FRAME_LIMIT = 1 << 27 };
#define NO_REGISTER UINT32_MAX

/* The slots of a pool, a bit for each: 1 is free. It has as many words as were needed so far. */
typedef struct SlotSet {
    uint64_t *free;
    uint32_t words, words_capacity;
    uint32_t used;          /* slots of the pool: the highest one ever taken, + 1 */
    uint32_t offset;        /* of the pool in the frame */
} SlotSet;

typedef struct Packing {
    LowerFunction *f;
    SlotSet pools[FRAME_POOLS];
    uint32_t *starting, *ending; /* by instruction: the first register whose range starts, or ends, there */
    uint32_t *next_starting, *next_ending; /* by register: the next one of that instruction, or NO_REGISTER */
    uint32_t *place; /* by register: its first slot */
} Packing;

/* The pool of each class, and the slots that a register takes there. */
static const uint8_t class_pool[] = {[CLASS_PREDICATE] = POOL_PREDICATE,
                                     [CLASS_16] = POOL_16,
                                     [CLASS_32] = POOL_32,
                                     [CLASS_64] = POOL_64,
                                     [CLASS_128] = POOL_64,
                                     [CLASS_AFFINE_32] = POOL_AFFINE_32,
                                     [CLASS_AFFINE_64] = POOL_AFFINE_64};
static const uint8_t class_slots[] = {
    [CLASS_PREDICATE] = 1, [CLASS_16] = 1,        [CLASS_32] = 1,       [CLASS_64] = 1,
    [CLASS_128] = 2,       [CLASS_AFFINE_32] = 1, [CLASS_AFFINE_64] = 1};
static const uint16_t slot_bytes[FRAME_POOLS] = {[POOL_PREDICATE] = 4,
                                                 [POOL_16] = 128,
                                                 [POOL_32] = 128,
                                                 [POOL_64] = 256,
                                                 [POOL_AFFINE_32] = AFFINE_BYTES + 128,
                                                 [POOL_AFFINE_64] = AFFINE_BYTES + 256};
/* Where a row is in its slot. */
static const uint16_t row_offset[FRAME_POOLS] =
    {[POOL_AFFINE_32] = AFFINE_BYTES, [POOL_AFFINE_64] = AFFINE_BYTES};

static SlotSet *slots_of(Packing *p, uint32_t r) { return &p->pools[class_pool[p->f->classes[r]]]; }

/* The bits at which `count` free slots start, 1 or an aligned pair. Of single ones, those next to a used slot
 * are given alone if there are any, so that pairs stay free. */
static uint64_t run_starts(uint64_t free, uint32_t count)
{
    static const uint64_t even_bits = UINT64_C(0x5555555555555555);
    uint64_t pairs = free & (free >> 1) & even_bits;
    if (count == 2) return pairs;
    uint64_t lone = free & ~(pairs | pairs << 1);
    return lone ? lone : free;
}

static void grow_slots(Arena *arena, SlotSet *set)
{
    set->free = arena_grow(arena, set->free, set->words, &set->words_capacity, sizeof *set->free);
    set->free[set->words++] = ~UINT64_C(0);
}

/* Takes `count` slots, 1 or 2, of the pool. Returns the first. */
static uint32_t take_slots(Arena *arena, SlotSet *set, uint32_t count)
{
    uint64_t starts = 0;
    uint32_t w = 0;
    while (w < set->words && !(starts = run_starts(set->free[w], count))) w++;
    if (!starts) {
        grow_slots(arena, set);
        starts = run_starts(set->free[w], count);
    }
    uint32_t bit = (uint32_t)__builtin_ctzll(starts), slot = w * 64 + bit;
    set->free[w] &= ~(((UINT64_C(1) << count) - 1) << bit);
    if (slot + count > set->used) set->used = slot + count;
    return slot;
}

static void free_slots(SlotSet *set, uint32_t slot, uint32_t count)
{
    set->free[slot / 64] |= ((UINT64_C(1) << count) - 1) << (slot % 64);
}

/* Lists the registers whose range starts, and ends, at each instruction. Unused registers are in no list. */
static void list_ranges(Packing *p)
{
    LowerFunction *f = p->f;
    size_t bytes = (size_t)f->insn_count * sizeof(uint32_t);
    p->starting = ARENA_ARRAY(f->scratch, uint32_t, f->insn_count);
    p->ending = ARENA_ARRAY(f->scratch, uint32_t, f->insn_count);
    p->next_starting = ARENA_ARRAY(f->scratch, uint32_t, f->register_count);
    p->next_ending = ARENA_ARRAY(f->scratch, uint32_t, f->register_count);
    /* NO_REGISTER, as all its bytes are 0xff. */
    if (bytes) memset(p->starting, 0xff, bytes);
    if (bytes) memset(p->ending, 0xff, bytes);
    for (uint32_t r = f->register_count; r-- > 0;) {
        LiveRange range = f->ranges[r];
        if (range.first > range.last || range.last == UINT32_MAX) continue; /* empty */
        p->next_starting[r] = p->starting[range.first];
        p->starting[range.first] = r;
        p->next_ending[r] = p->ending[range.last];
        p->ending[range.last] = r;
    }
}

static void linear_scan(Packing *p)
{
    LowerFunction *f = p->f;
    for (uint32_t i = 0; i < f->insn_count; i++) {
        for (uint32_t r = p->starting[i]; r != NO_REGISTER; r = p->next_starting[r])
            p->place[r] = take_slots(f->scratch, slots_of(p, r), class_slots[f->classes[r]]);
        for (uint32_t r = p->ending[i]; r != NO_REGISTER; r = p->next_ending[r])
            free_slots(slots_of(p, r), p->place[r], class_slots[f->classes[r]]);
    }
}

/* Finds the rows of all registers in the frame. Those of unused registers mean nothing. */
static void find_rows(Packing *p)
{
    LowerFunction *f = p->f;
    f->rows = ARENA_ARRAY(f->scratch, Ref, f->register_count);
    for (uint32_t r = 0; r < f->register_count; r++) {
        uint32_t pool = class_pool[f->classes[r]];
        f->rows[r] =
            REF_MAKE(REF_FRAME, p->pools[pool].offset + p->place[r] * slot_bytes[pool] + row_offset[pool]);
    }
}

/* Visitor: replaces a virtual register by its row in the frame. */
static void rename_register(void *closure, Ref *ref, bool read, bool written)
{
    const LowerFunction *f = closure;
    (void)read;
    (void)written;
    *ref = f->rows[ref_number(*ref)];
}

/* Places the pools one after another; false if the frame gets too large. */
static bool place_pools(Packing *p)
{
    uint64_t bytes = 0;
    for (int i = 0; i < FRAME_POOLS; i++) {
        p->pools[i].offset = (uint32_t)bytes;
        uint64_t size = ((uint64_t)p->pools[i].used * slot_bytes[i] + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
        bytes += size;
        if (bytes > FRAME_LIMIT) return false;
        p->f->pools[i] = (uint32_t)size;
    }
    p->f->frame_size = (uint32_t)bytes;
    uint32_t narrow = p->pools[POOL_16].used + p->pools[POOL_32].used + p->pools[POOL_AFFINE_32].used;
    uint32_t wide = p->pools[POOL_64].used + p->pools[POOL_AFFINE_64].used;
    p->f->peak_rows = narrow + 2 * wide;
    return true;
}

bool lower_registers(LowerFunction *f)
{
    Packing p = {.f = f};
    p.place = ARENA_ZEROS(f->scratch, uint32_t, f->register_count);
    list_ranges(&p);
    linear_scan(&p);
    if (!place_pools(&p)) return false;
    find_rows(&p);
    for (uint32_t i = 0; i < f->insn_count; i++) lower_visit(f, &f->insns[i], rename_register, f);
    return true;
}
