/* Sparse products: half of each row of a is zero and not stored. Each row is computed as a dense product:
 * that of its stored elements with the rows of b that its metadata choose.
 *
 * Four bits of metadata are two numbers: which two of four units of the row are stored. A unit has 16 bits,
 * or 8 if elements have 8 or 4 bits. So of halves two of four are stored, of tf32 numbers one of two, of
 * 4-bit numbers two pairs of eight.
 */
#include <string.h>

#include "exec/collective/product.h"

enum { CHOICE_BITS = 4 }; /* of metadata for four units */

/* The metadata for the four units of a row of a that bit `at` of the stored row is in, in the low bits.
 * With units of 16 bits a register has the metadata of a row in its lower half, and that of the row eight
 * further in its upper half; with units of 8 bits it has those of one row. */
static unsigned metadata_of(const MatrixProduct *p, const uint32_t *metadata, unsigned row, unsigned at)
{
    const unsigned unit = matrix_unit_bits(&p->a), below = row / 8;
    const unsigned choice = at % MATRIX_PART_BITS / (2 * unit);
    const unsigned part = p->selector * matrix_parts(&p->a) + at / MATRIX_PART_BITS;
    const unsigned lane = row % 8 * 4 + (unit == 16 ? part : 2 * part + below);
    return metadata[lane] >> (CHOICE_BITS * choice + (unit == 16 ? 16 * below : 0));
}

/* The row of b that goes with element k of a row of a. */
static unsigned chosen_row(const MatrixProduct *p, const uint32_t *metadata, unsigned row, unsigned k)
{
    const unsigned bits = matrix_type_bits(p->a.type), unit = matrix_unit_bits(&p->a), at = k * bits;
    const unsigned second = at / unit % 2, which = metadata_of(p, metadata, row, at) >> 2 * second & 3;
    return ((at / (2 * unit) * 4 + which) * unit + at % unit) / bits;
}

static void copy_columns(Matrix *to, unsigned at, const Matrix *from, unsigned start, unsigned count)
{
    memcpy(to->value + at, from->value + start, count * sizeof *to->value);
    memcpy(to->exponent + at, from->exponent + start, count * sizeof *to->exponent);
}

void matrix_multiply_sparse(const MatrixProduct *p, const uint32_t *metadata, const Matrix *a,
                            const Matrix *b, Matrix *c)
{
    const unsigned depth = p->a.columns, n = p->b.columns;
    MatrixProduct one = *p;
    Matrix x, y, sums;
    one.a.rows = one.c.rows = one.d.rows = 1;
    one.b.rows = p->a.columns;
    for (unsigned row = 0; row < p->a.rows; row++) {
        copy_columns(&x, 0, a, row * depth, depth);
        for (unsigned k = 0; k < depth; k++)
            copy_columns(&y, k * n, b, chosen_row(p, metadata, row, k) * n, n);
        copy_columns(&sums, 0, c, row * n, n);
        matrix_multiply_values(&one, &x, &y, &sums);
        copy_columns(c, row * n, &sums, 0, n);
    }
}
