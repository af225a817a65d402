/* Affine values of all threads of a one-dimensional block, as affine rows (affine.h) are of a warp:
 * value(thread) = base + stride * thread, modulo the width of the row. */
#ifndef DEVICE_EXEC_CODE_BLOCK_AFFINE_H
#define DEVICE_EXEC_CODE_BLOCK_AFFINE_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/code/code.h"

typedef struct BlockAffine {
    int64_t base, stride; /* as a row has them: a base of 32 bits is unsigned, a stride signed */
} BlockAffine;

/* The bits of the result and the sources of an operation on affine rows (1: a predicate); 0 for other
 * operations. */
extern const uint8_t affine_bits[OP_COUNT][4];

/* Computes the result of an operation. False where it is not affine: for example, a source that is widened
 * must not wrap between the first thread and the last. */
bool block_affine_compute_any(unsigned op, uint32_t threads, BlockAffine a, BlockAffine b, BlockAffine c,
                              BlockAffine *result);
static inline bool block_affine_compute(unsigned op, uint32_t threads, BlockAffine a, BlockAffine b,
                                        BlockAffine c, BlockAffine *result)
{
    if (op != OP_affine_add_b64) return block_affine_compute_any(op, threads, a, b, c, result);
    *result = (BlockAffine){(int64_t)((uint64_t)a.base + (uint64_t)b.base),
                            (int64_t)((uint64_t)a.stride + (uint64_t)b.stride)};
    return true; /* half of all operations are these sums */
}

/* Computes the result of a comparison. False if it is not the same in all threads, or that is not certain. */
bool block_affine_compare(unsigned op, uint32_t threads, BlockAffine a, BlockAffine b, bool *result);

/* A load or store of `count` elements in each thread, at an affine address. */
typedef struct BlockAccess {
    bool write;
    uint8_t element, count; /* bytes of an element */
    const Ref *rows; /* of each element */
} BlockAccess;
/* Fills *access for a load or store of global memory. False for other instructions. */
bool block_access(const CodeFunction *function, const Insn *i, BlockAccess *access);

#endif
