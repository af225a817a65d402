/* Sums, minima and maxima of floating-point numbers, as atomic operations and reductions compute them. */
#ifndef DEVICE_EXEC_NUMBERS_ATOMIC_H
#define DEVICE_EXEC_NUMBERS_ATOMIC_H

#include "exec/numbers/half.h"

/* Values are passed as their bits. */
#define HALF_ATOMIC(F) \
    LANE_FN uint16_t add_##F(uint16_t x, uint16_t b) \
    { \
        return (uint16_t)f32_to_##F(F##_to_f32(x) + F##_to_f32(b)); \
    } \
    LANE_FN uint16_t min_##F(uint16_t x, uint16_t b) \
    { \
        return (uint16_t)f32_to_##F(min_f32(F##_to_f32(x), F##_to_f32(b))); \
    } \
    LANE_FN uint16_t max_##F(uint16_t x, uint16_t b) \
    { \
        return (uint16_t)f32_to_##F(max_f32(F##_to_f32(x), F##_to_f32(b))); \
    }
HALF_ATOMIC(f16)
HALF_ATOMIC(bf16)
#undef HALF_ATOMIC

/* On global memory atom.add.f32 flushes subnormal numbers, as on a GPU; on shared memory, and in bulk
 * reductions, they are kept. */
LANE_FN uint32_t add_f32(uint32_t x, uint32_t b, bool keep_subnormal)
{
    const f32 p = f32_from(x), q = f32_from(b);
    return f32_bits(canonical(keep_subnormal ? p + q : flush(flush(p) + flush(q))));
}

/* A NaN that is in global memory keeps its bits, even if it is signaling. */
LANE_FN uint64_t add_f64(uint64_t x, uint64_t b, bool shared)
{
    const f64 p = f64_from(x);
    return !shared && p != p ? x : f64_bits(p + f64_from(b));
}

#endif
