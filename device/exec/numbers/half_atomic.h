/* What atomic operations and reductions make of the halves x and b: their sum, the smaller, the larger. */
#ifndef DEVICE_EXEC_NUMBERS_HALF_ATOMIC_H
#define DEVICE_EXEC_NUMBERS_HALF_ATOMIC_H

#include "exec/numbers/half.h"

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

#endif
