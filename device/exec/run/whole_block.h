/* Blocks whose threads are numbered along x, of which nothing has run yet. */
#ifndef DEVICE_EXEC_RUN_WHOLE_BLOCK_H
#define DEVICE_EXEC_RUN_WHOLE_BLOCK_H

#include "exec/code/block_affine.h"
#include "exec/state/grid.h"

/* Whether a block may be run as a whole: nothing of it has run, its threads are numbered along x alone,
 * and neither a checker nor the random scheduler needs the instructions of each warp. */
static inline bool block_may_run_whole(const Block *block, const Worker *worker)
{
    return block->dims[1] == 1 && block->dims[2] == 1 && !block->warps[0].started && !block->checker
           && !worker->random;
}

/* The row of a value that is the same in all threads. */
static inline const uint8_t *block_value_row(const Block *block, Ref ref)
{
    const Grid *grid = block->grid;
    const uint32_t offset = ref & REF_OFFSET_MASK, base = ref >> REF_BASE_SHIFT;
    return base == REF_CONST   ? grid->function->module->constants + offset
           : base == REF_PARAM ? grid->param_rows + offset
                               : (const uint8_t *)block->rows + offset;
}

/* A source that is not a register, as an affine value: a value of the block, %tid.x, or absent (0). bits: its
 * width. */
static inline BlockAffine block_affine_of(const Block *block, Ref ref, unsigned bits)
{
    if (!ref_is_value(ref)) return (BlockAffine){0, ref >> REF_BASE_SHIFT == REF_WARP};
    const void *row = block_value_row(block, ref);
    return (BlockAffine){bits == 64 ? *(const int64_t *)row : (int64_t)*(const uint32_t *)row, 0};
}

#endif
