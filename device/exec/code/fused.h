/* Operands of the fused operations, which lower/passes/fuse.c makes and exec/ops/fused.c runs. */
#ifndef DEVICE_EXEC_CODE_FUSED_H
#define DEVICE_EXEC_CODE_FUSED_H

#include <stdint.h>

/* The immediate of fused_dot_shared_f32, after which three instructions (load, load, fma) follow mods
 * times. All first loads use one address operand, all second loads another one; their immediates are
 * within these bounds. */
typedef struct FusedDot {
    int16_t first_min, first_max, second_min, second_max;
} FusedDot;

static inline int64_t fused_dot_pack(FusedDot x)
{
    return (int64_t)((uint64_t)(uint16_t)x.first_min | (uint64_t)(uint16_t)x.first_max << 16
                     | (uint64_t)(uint16_t)x.second_min << 32 | (uint64_t)(uint16_t)x.second_max << 48);
}

static inline FusedDot fused_dot_unpack(int64_t imm)
{
    uint64_t bits = (uint64_t)imm;
    return (FusedDot){(int16_t)bits, (int16_t)(bits >> 16), (int16_t)(bits >> 32), (int16_t)(bits >> 48)};
}

#endif
