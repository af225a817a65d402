/* Immediates as rows: 32 copies of a value, made once for each value and size. */
#include "exec/affine.h"
#include "lower/module.h"

#include <string.h>

static const uint16_t row_bytes[] =
    {[CLASS_PREDICATE] = 64, [CLASS_16] = 64, [CLASS_32] = 128, [CLASS_64] = 256, [CLASS_128] = 512};

static uint32_t hash_value(RegisterClass class, uint64_t low, uint64_t high)
{
    uint64_t hash = (low ^ (high * UINT64_C(0x9e3779b97f4a7c15)) ^ (uint64_t)class << 56);
    hash *= UINT64_C(0xff51afd7ed558ccd);
    return (uint32_t)(hash >> 32);
}

static void fill_row(uint8_t *row, RegisterClass class, uint64_t low, uint64_t high)
{
    uint16_t half = (uint16_t)low;
    uint32_t word = class == CLASS_PREDICATE ? (low ? UINT32_MAX : 0) : (uint32_t)low;
    for (size_t l = 0; l < 32; l++) {
        if (class == CLASS_16) memcpy(row + l * 2, &half, 2);
        if (class == CLASS_32) memcpy(row + l * 4, &word, 4);
        if (class >= CLASS_64) memcpy(row + l * 8, &low, 8);
        if (class == CLASS_128) memcpy(row + 256 + l * 8, &high, 8);
    }
    if (class == CLASS_PREDICATE)
        for (size_t l = 0; l < 16; l++) memcpy(row + l * 4, &word, 4);
}

static Ref add_row(Lower *lower, RegisterClass class, uint64_t low, uint64_t high)
{
    Constants *c = &lower->constants;
    uint32_t start = c->size + (class == CLASS_32 || class == CLASS_64 ? AFFINE_BYTES : 0);
    uint32_t need = start + row_bytes[class];
    if (need > REF_OFFSET_MASK) longjmp(*lower->scratch.on_failure, 1);
    if (need > c->capacity) {
        uint32_t capacity = c->capacity ? c->capacity * 2 : 16384;
        uint8_t *bytes = lower_arena_alloc(&lower->scratch, capacity, 64);
        if (c->size) memcpy(bytes, c->bytes, c->size);
        c->bytes = bytes;
        c->capacity = capacity;
    }
    Ref ref = REF_MAKE(REF_CONST, start);
    fill_row(c->bytes + start, class, low, high);
    if (start != c->size) affine_set_even(c->bytes + start, low);
    c->size = need;
    return ref;
}

static void grow_table(Lower *lower)
{
    Constants *c = &lower->constants, old = *c;
    c->table_size = old.table_size ? old.table_size * 2 : 256;
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
    static const uint64_t masks[] = {1, 0xffff, 0xffffffff, UINT64_MAX, UINT64_MAX};
    Constants *c = &lower->constants;
    low &= masks[class];
    if (class != CLASS_128) high = 0;
    if (c->count * 2 >= c->table_size) grow_table(lower);
    uint32_t at = hash_value(class, low, high) & (c->table_size - 1);
    for (; c->table[at].class; at = (at + 1) & (c->table_size - 1)) {
        const ConstantRow *row = &c->table[at];
        if (row->class == class + 1 && row->low == low && row->high == high) return row->ref;
    }
    Ref ref = add_row(lower, class, low, high);
    c->table[at] = (ConstantRow){low, high, ref, (uint8_t)(class + 1)};
    c->count++;
    return ref;
}

void lower_finish_constants(Lower *lower)
{
    Constants *c = &lower->constants;
    lower->code->constants = lower_arena_alloc(lower->keep, c->size ? c->size : 64, 64);
    lower->code->constants_size = c->size;
    if (c->size) memcpy(lower->code->constants, c->bytes, c->size);
}
