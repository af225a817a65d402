/* Immediates as rows: a copy of a value for each lane, made once for each value and class. */
#include "exec/code/affine.h"
#include "lower/module.h"

#include <string.h>

enum { ROW_ALIGN = 64, FIRST_SLOTS = 256 };

/* A predicate needs one word, and takes as much as keeps rows aligned. */
static const uint16_t row_bytes[] = {[CLASS_PREDICATE] = ROW_ALIGN,
                                     [CLASS_16] = WARP_LANES * 2,
                                     [CLASS_32] = WARP_LANES * 4,
                                     [CLASS_64] = WARP_LANES * 8,
                                     [CLASS_128] = WARP_LANES * 16};

static uint32_t hash_value(RegisterClass class, uint64_t low, uint64_t high)
{
    /* Odd numbers with well mixed bits. */
    static const uint64_t mix_high = 0x9e3779b97f4a7c15, mix_all = 0xff51afd7ed558ccd;
    uint64_t hash = (low ^ (high * mix_high) ^ (uint64_t)class << 56) * mix_all;
    return (uint32_t)(hash >> 32);
}

static void fill_32(uint8_t *row, uint32_t value)
{
    for (size_t l = 0; l < WARP_LANES; l++) memcpy(row + l * 4, &value, 4);
}

static void fill_64(uint8_t *row, uint64_t value)
{
    for (size_t l = 0; l < WARP_LANES; l++) memcpy(row + l * 8, &value, 8);
}

static void fill_row(uint8_t *row, RegisterClass class, uint64_t low, uint64_t high)
{
    uint32_t word = (uint32_t)low;
    uint16_t half = (uint16_t)low;
    switch (class) {
    case CLASS_PREDICATE: memset(row, low ? 0xff : 0, row_bytes[class]); break;
    case CLASS_16:
        for (size_t l = 0; l < WARP_LANES; l++) memcpy(row + l * 2, &half, 2);
        break;
    case CLASS_32: fill_32(row, word); break;
    default:
        fill_64(row, low);
        if (class == CLASS_128) fill_64(row + row_bytes[CLASS_64], high); /* high halves after the low ones */
    }
}

/* Whether rows of the class have an Affine before them. */
static bool is_affine(RegisterClass class) { return class == CLASS_32 || class == CLASS_64; }

/* Space for a row; jumps to on_failure if there are too many. */
static Ref add_row(Lower *lower, RegisterClass class)
{
    Constants *c = &lower->constants;
    uint32_t start = c->size + (is_affine(class) ? AFFINE_BYTES : 0), need = start + row_bytes[class];
    if (need > REF_OFFSET_MASK) longjmp(*lower->scratch.on_failure, 1);
    c->size = need;
    return REF_MAKE(REF_CONST, start);
}

static void grow_table(Lower *lower)
{
    Constants *c = &lower->constants, old = *c;
    c->table_size = old.table_size ? old.table_size * 2 : FIRST_SLOTS;
    c->table = ARENA_ZEROS(&lower->scratch, ConstantRow, c->table_size);
    for (uint32_t i = 0; i < old.table_size; i++) {
        const ConstantRow *row = &old.table[i];
        if (!row->class) continue;
        uint32_t at = hash_value(row->class - 1, row->low, row->high);
        while (c->table[at &= c->table_size - 1].class) at++;
        c->table[at] = *row;
    }
}

Ref lower_constant(Lower *lower, RegisterClass class, uint64_t low, uint64_t high)
{
    static const uint64_t masks[] = {[CLASS_PREDICATE] = 1,
                                     [CLASS_16] = UINT16_MAX,
                                     [CLASS_32] = UINT32_MAX,
                                     [CLASS_64] = UINT64_MAX,
                                     [CLASS_128] = UINT64_MAX};
    Constants *c = &lower->constants;
    low &= masks[class];
    if (class != CLASS_128) high = 0;
    if (c->count * 2 >= c->table_size) grow_table(lower);
    uint32_t at = hash_value(class, low, high) & (c->table_size - 1);
    for (; c->table[at].class; at = (at + 1) & (c->table_size - 1)) {
        const ConstantRow *row = &c->table[at];
        if (row->class == class + 1 && row->low == low && row->high == high) return row->ref;
    }
    Ref ref = add_row(lower, class);
    c->table[at] = (ConstantRow){low, high, ref, (uint8_t)(class + 1)};
    c->count++;
    return ref;
}

void lower_finish_constants(Lower *lower)
{
    const Constants *c = &lower->constants;
    uint8_t *bytes = arena_alloc(lower->keep, c->size ? c->size : ROW_ALIGN, ROW_ALIGN);
    for (uint32_t n = 0; n < c->table_size; n++) {
        const ConstantRow *row = &c->table[n];
        if (!row->class) continue;
        RegisterClass class = (RegisterClass)(row->class - 1);
        uint8_t *at = bytes + (row->ref & REF_OFFSET_MASK);
        fill_row(at, class, row->low, row->high);
        if (is_affine(class)) affine_set_uniform(at, row->low);
    }
    lower->code->constants = bytes;
    lower->code->constants_size = c->size;
}
