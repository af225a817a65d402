/* Products of matrices whose fragments have been copied to arrays of values, in row-major order. */
#ifndef DEVICE_EXEC_COLLECTIVE_PRODUCT_H
#define DEVICE_EXEC_COLLECTIVE_PRODUCT_H

#include "exec/collective/matrix.h"

enum { MATRIX_MAX_ELEMENTS = 1024 };

/* A matrix of reals, with their exponents (see exponent_of in matrix.c), or of integers. */
typedef struct Matrix {
    union {
        double value[MATRIX_MAX_ELEMENTS];
        int64_t integer[MATRIX_MAX_ELEMENTS];
    };
    int32_t exponent[MATRIX_MAX_ELEMENTS];
} Matrix;

static inline bool matrix_is_real(unsigned type) { return type <= MATRIX_F64; }

/* c becomes a * b + c. Infinite elements and NaNs of a and b may be overwritten. The fragments of p say
 * sizes and types; a has as many columns as b has rows. */
void matrix_multiply_values(const MatrixProduct *p, Matrix *a, Matrix *b, Matrix *c);
/* As matrix_multiply_values(), for a sparse a, which has half as many columns as b has rows, and the metadata
 * of each lane. */
void matrix_multiply_sparse(const MatrixProduct *p, const uint32_t *metadata, const Matrix *a,
                            const Matrix *b, Matrix *c);

/* Copies a fragment to a matrix, or back; first: the number of its first register. */
void matrix_read_fragment(const Collective *collective, const Fragment *f, unsigned first, Matrix *m);
void matrix_write_fragment(const Collective *collective, const Fragment *f, unsigned first, const Matrix *m);
/* Copies each lane's register r, which has metadata. */
void matrix_metadata(const Collective *collective, unsigned r, uint32_t *metadata);
/* Stores the elements of a word as those of a matrix, from `first` on: down a column, or along a row. */
void matrix_take_word(const Fragment *f, Matrix *m, MatrixPlace first, bool down, uint32_t word);
/* Makes all elements of a matrix of that fragment's size and type zero. */
void matrix_clear(const Fragment *f, Matrix *m);

#endif
