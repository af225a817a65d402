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
/* As matrix_multiply_values(), for a sparse a, which has half as many columns as b has rows, and
 * metadata. */
void matrix_multiply_sparse(const Collective *collective, const MatrixProduct *p, const Matrix *a,
                            const Matrix *b, Matrix *c);

#endif
