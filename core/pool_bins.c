/* See pool_bins.h. */
#include "core/pool_bins.h"

enum { SIZE_BITS = 8 * sizeof(size_t) };

/* A negative count shifts the other way. */
static size_t shift_left(size_t value, int count) { return count >= 0 ? value << count : value >> -count; }

unsigned pool_log2(size_t n) { return n ? SIZE_BITS - 1 - (unsigned)__builtin_clzll(n) : 0; }

unsigned pool_bin_count(unsigned bits) { return SIZE_BITS << bits; }

unsigned pool_bin_number(unsigned bits, size_t size)
{
    unsigned exponent = pool_log2(size);
    size_t leading = shift_left(size, (int)bits - (int)exponent);
    return exponent << bits | (unsigned)(leading & (((size_t)1 << bits) - 1));
}

size_t pool_alloc_size(unsigned bits, unsigned bin)
{
    size_t one = (size_t)1 << bits, leading = one | (bin & (one - 1));
    int rest = (int)(bin >> bits) - (int)bits;
    size_t head = shift_left(leading, rest);
    return rest > 0 ? head | (((size_t)1 << rest) - 1) : head;
}
