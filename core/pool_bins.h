/* The bins of a memory pool: sizes that share their leading bits share a bin.
 *
 * A bin is the exponent of the size (its highest bit) and the `bits` bits below that one, so there are
 * 2^bits bins to each power of two, and a block exceeds the request by less than one part in 2^bits. Every
 * block of a bin has the bin's largest size. All 64-bit sizes have a bin; 0 shares that of 1.
 */
#ifndef CORE_POOL_BINS_H
#define CORE_POOL_BINS_H

#include <stdbool.h>
#include <stddef.h>

enum { POOL_DEFAULT_BITS = 4, POOL_MAX_BITS = 8 };

/* floor(log2(n)); 0 for 0. */
unsigned pool_log2(size_t n);

/* The number of bins. */
unsigned pool_bin_count(unsigned bits);

/* The bin of a request of that size. */
unsigned pool_bin_number(unsigned bits, size_t size);

/* Bytes of a block of this bin, which is below pool_bin_count: at least 1. */
size_t pool_alloc_size(unsigned bits, unsigned bin);

#endif
