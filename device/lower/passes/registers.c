/* Packs virtual registers into rows of the frame: linear scan over the live ranges.
 *
 * The frame starts with the predicates, one word each; then come the rows of 16, of 32 and of 64 bits; 128
 * bits take two rows of 64. Rows of different element sizes never share memory: lanes that went another way
 * may still need theirs, and only rows of one size keep a lane's value at the same place. Ranges that share
 * an instruction never share a row, so that a handler may write a destination before it has read all its
 * sources.
 */
#include "exec/code/affine.h"
#include "lower/ir.h"

#include <string.h>

enum { ROW_ALIGN = 128, FRAME_LIMIT = 1 << 27, POOLS = FRAME_POOLS };
#define NO_REGISTER UINT32_MAX

/* Slots as bits: set where free. Grows as far as it must. */
typedef struct SlotSet {
    uint64_t *free;
    uint32_t words, words_capacity;
    uint32_t used;          /* slots ever handed out: the size of the pool */
    uint32_t offset;        /* of the pool in the frame */
} SlotSet;

typedef struct Packing {
    LowerFunction *f;
    SlotSet pools[POOLS];
    uint32_t *starting, *ending; /* first register of each instruction's list */
    uint32_t *next_starting, *next_ending;
    uint32_t *place;        /* slot of each register */
} Packing;

/* The pool of each class, and the slots that one register takes there. */
static const uint8_t class_pool[] = {
    [CLASS_PREDICATE] = 0, [CLASS_16] = 1,        [CLASS_32] = 2,       [CLASS_64] = 3,
    [CLASS_128] = 3,       [CLASS_AFFINE_32] = 4, [CLASS_AFFINE_64] = 5};
static const uint8_t class_slots[] = {
    [CLASS_PREDICATE] = 1, [CLASS_16] = 1,        [CLASS_32] = 1,       [CLASS_64] = 1,
    [CLASS_128] = 2,       [CLASS_AFFINE_32] = 1, [CLASS_AFFINE_64] = 1};
static const uint16_t slot_bytes[POOLS] = {4, 128, 128, 256, AFFINE_BYTES + 128, AFFINE_BYTES + 256};
static const uint16_t row_offset[POOLS] = {[4] = AFFINE_BYTES, [5] = AFFINE_BYTES};

static SlotSet *slots_of(Packing *p, uint32_t r) { return &p->pools[class_pool[p->f->classes[r]]]; }

/* Bits at which an aligned run of count free slots starts. A single slot next to a used one is preferred, to
 * keep pairs whole. */
static uint64_t run_starts(uint64_t free, uint32_t count)
{
    uint64_t pairs = free & (free >> 1) & UINT64_C(0x5555555555555555);
    if (count == 2) return pairs;
    uint64_t lone = free & ~(pairs | pairs << 1);
    return lone ? lone : free;
}

static void grow_slots(Arena *arena, SlotSet *set)
{
    set->free = arena_grow(arena, set->free, set->words, &set->words_capacity, sizeof *set->free);
    set->free[set->words++] = ~UINT64_C(0);
}

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

static void give_slots(SlotSet *set, uint32_t slot, uint32_t count)
{
    set->free[slot / 64] |= ((UINT64_C(1) << count) - 1) << (slot % 64);
}

/* Lists of the registers whose range starts, and ends, at each instruction. */
static void list_ranges(Packing *p)
{
    LowerFunction *f = p->f;
    size_t bytes = (size_t)f->insn_count * sizeof(uint32_t);
    p->starting = ARENA_ARRAY(f->scratch, uint32_t, f->insn_count);
    p->ending = ARENA_ARRAY(f->scratch, uint32_t, f->insn_count);
    p->next_starting = ARENA_ARRAY(f->scratch, uint32_t, f->register_count);
    p->next_ending = ARENA_ARRAY(f->scratch, uint32_t, f->register_count);
    if (bytes) memset(p->starting, 0xff, bytes);
    if (bytes) memset(p->ending, 0xff, bytes);
    for (uint32_t r = f->register_count; r-- > 0;) {
        LiveRange range = f->ranges[r];
        if (range.first > range.last || range.last == UINT32_MAX) continue;
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
            give_slots(slots_of(p, r), p->place[r], class_slots[f->classes[r]]);
    }
}

static void rename_register(void *closure, Ref *ref, bool read, bool written)
{
    Packing *p = closure;
    (void)read;
    (void)written;
    uint32_t r = ref_number(*ref), pool = class_pool[p->f->classes[r]];
    *ref = REF_MAKE(REF_FRAME, p->pools[pool].offset + p->place[r] * slot_bytes[pool] + row_offset[pool]);
}

/* Sets the pools side by side; false when the frame grows too large. */
static bool place_pools(Packing *p)
{
    uint64_t bytes = 0;
    for (int i = 0; i < POOLS; i++) {
        p->pools[i].offset = (uint32_t)bytes;
        uint64_t size = ((uint64_t)p->pools[i].used * slot_bytes[i] + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
        bytes += size;
        if (bytes > FRAME_LIMIT) return false;
        p->f->pools[i] = (uint32_t)size;
    }
    p->f->frame_size = (uint32_t)bytes;
    p->f->peak_rows =
        p->pools[1].used + p->pools[2].used + p->pools[4].used + 2 * (p->pools[3].used + p->pools[5].used);
    return true;
}

bool lower_registers(LowerFunction *f)
{
    Packing p = {.f = f};
    p.place = ARENA_ZEROS(f->scratch, uint32_t, f->register_count);
    list_ranges(&p);
    linear_scan(&p);
    if (!place_pools(&p)) return false;
    for (uint32_t i = 0; i < f->insn_count; i++) lower_visit(f, &f->insns[i], rename_register, &p);
    return true;
}
