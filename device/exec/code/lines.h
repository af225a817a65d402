/* Lines: what affine rows are for a warp, for all threads of a block in its one dimension: value(thread) =
 * base + stride * thread, modulo the width of the row. */
#ifndef DEVICE_EXEC_CODE_LINES_H
#define DEVICE_EXEC_CODE_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/code/ops.h"

typedef struct Line {
    int64_t base, stride; /* as a row has them: a base of 32 bits is unsigned, a stride signed */
} Line;

/* Bits of result and sources of an operation on affine rows (1: a predicate); 0 of other operations. */
extern const uint8_t line_bits[OP_COUNT][4];

/* The result of an operation on affine rows; false where it is not a line: what is widened, for one, must not
 * wrap on the way from the first thread to the last. */
bool line_compute_any(unsigned op, uint32_t threads, Line a, Line b, Line c, Line *result);
static inline bool line_compute(unsigned op, uint32_t threads, Line a, Line b, Line c, Line *result)
{
    if (op != OP_affine_add_b64) return line_compute_any(op, threads, a, b, c, result);
    *result = (Line){(int64_t)((uint64_t)a.base + (uint64_t)b.base),
                     (int64_t)((uint64_t)a.stride + (uint64_t)b.stride)};
    return true; /* half of what is computed are such sums */
}

/* What a comparison gives in all threads; false where they differ, or may. */
bool line_compare(unsigned op, uint32_t threads, Line a, Line b, bool *result);

#endif
