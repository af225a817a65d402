/* Products of sparse matrices as cuSPARSE defines them, on host memory: for tests on the CPU device. A call
 * computes at once, without waiting for queued work. If the environment variable HOST_CUSPARSE_STATUS is set,
 * every product returns that status and computes nothing. */
#include <complex.h>
#include <stdint.h>
#include <stdlib.h>

typedef double complex Number;

enum { SUCCESS = 0, INVALID_VALUE = 3, NOT_SUPPORTED = 10 }; /* cusparseStatus_t */
enum { INT32 = 2, INT64 = 3 }; /* cusparseIndexType_t */
enum { R_32F = 0, R_64F = 1, C_32F = 4, C_64F = 5 }; /* cudaDataType */
enum { BY_ROWS = 2 }; /* cusparseOrder_t */
enum { CSR_ALG1 = 2, CSR_ALG2 = 3 }; /* of cusparseSpMVAlg_t */
enum { FIRST_SPMM_ALGORITHM = 4 }; /* of those for CSR in cusparseSpMMAlg_t */
enum { WORKSPACE = 1000 }; /* the size in bytes that every product requests */

/* A sparse matrix, or a dense matrix or vector, whose rows are `pitch` elements apart. */
typedef struct Description {
    int64_t rows, columns, count, pitch; /* count: of stored elements */
    const void *starts, *indices; /* NULL for dense ones */
    void *values;
    int index, type; /* the types of starts and indices, and of values */
} Description;

static Number load(const void *base, int type, int64_t i)
{
    switch (type) {
    case R_32F: return ((const float *)base)[i];
    case R_64F: return ((const double *)base)[i];
    case C_32F: return ((const float complex *)base)[i];
    default: return ((const double complex *)base)[i];
    }
}

static void store(void *base, int type, int64_t i, Number value)
{
    switch (type) {
    case R_32F: ((float *)base)[i] = (float)creal(value); break;
    case R_64F: ((double *)base)[i] = creal(value); break;
    case C_32F: ((float complex *)base)[i] = (float complex)value; break;
    default: ((double complex *)base)[i] = value;
    }
}

static int64_t index_at(const void *base, int type, int64_t i)
{
    return type == INT32 ? ((const int32_t *)base)[i] : ((const int64_t *)base)[i];
}

int cusparseCreate(void **handle)
{
    *handle = malloc(1);
    return SUCCESS;
}
int cusparseDestroy(void *handle) { return free(handle), SUCCESS; }
int cusparseSetStream(void *handle, void *stream) { return (void)stream, handle ? SUCCESS : INVALID_VALUE; }

/* Stores a new copy of `given` in *made, which a Destroy function frees. */
static int describe(Description **made, Description given)
{
    if (!given.values || given.rows < 1 || given.columns < 1) return INVALID_VALUE;
    *made = malloc(sizeof given);
    **made = given;
    return SUCCESS;
}

int cusparseCreateCsr(Description **made, int64_t rows, int64_t columns, int64_t count, void *starts,
                      void *indices, void *values, int starts_type, int indices_type, int base, int type)
{
    if (starts_type != indices_type || (starts_type != INT32 && starts_type != INT64) || base || !indices
        || index_at(starts, starts_type, rows) != count)
        return INVALID_VALUE;
    return describe(made, (Description){.rows = rows,
                                        .columns = columns,
                                        .count = count,
                                        .starts = starts,
                                        .indices = indices,
                                        .values = values,
                                        .index = starts_type,
                                        .type = type});
}
int cusparseCreateDnVec(Description **made, int64_t size, void *values, int type)
{
    return describe(made,
                    (Description){.rows = size, .columns = 1, .pitch = 1, .values = values, .type = type});
}
int cusparseCreateDnMat(Description **made, int64_t rows, int64_t columns, int64_t pitch, void *values,
                        int type, int order)
{
    if (order != BY_ROWS || pitch < columns) return INVALID_VALUE;
    return describe(
        made,
        (Description){.rows = rows, .columns = columns, .pitch = pitch, .values = values, .type = type});
}

static int destroy(Description *made) { return free(made), SUCCESS; }
int cusparseDestroySpMat(Description *made) { return destroy(made); }
int cusparseDestroyDnVec(Description *made) { return destroy(made); }
int cusparseDestroyDnMat(Description *made) { return destroy(made); }

/* y = a @ x, whose alpha must be 1 and beta 0. */
static int multiply(const void *alpha, const Description *a, const Description *x, const void *beta,
                    const Description *y, int type)
{
    const char *status = getenv("HOST_CUSPARSE_STATUS");
    if (status) return atoi(status);
    if (a->type != type || x->type != type || y->type != type) return NOT_SUPPORTED;
    if (a->columns != x->rows || a->rows != y->rows || x->columns != y->columns) return INVALID_VALUE;
    if (load(alpha, type, 0) != 1 || load(beta, type, 0) != 0) return NOT_SUPPORTED;
    for (int64_t row = 0; row < a->rows; row++)
        for (int64_t column = 0; column < x->columns; column++) {
            Number sum = 0;
            for (int64_t i = index_at(a->starts, a->index, row); i < index_at(a->starts, a->index, row + 1);
                 i++)
                sum += load(a->values, type, i)
                       * load(x->values, type, index_at(a->indices, a->index, i) * x->pitch + column);
            store(y->values, type, row * y->pitch + column, sum);
        }
    return SUCCESS;
}

int cusparseSpMV_bufferSize(void *handle, int transposed, const void *alpha, Description *a, Description *x,
                            const void *beta, Description *y, int type, int algorithm, size_t *size)
{
    *size = WORKSPACE;
    return handle && alpha && a && x && beta && y && type >= 0
                   && (algorithm == CSR_ALG1 || algorithm == CSR_ALG2) && !transposed
               ? SUCCESS
               : INVALID_VALUE;
}
int cusparseSpMV(void *handle, int transposed, const void *alpha, Description *a, Description *x,
                 const void *beta, Description *y, int type, int algorithm, void *workspace)
{
    if (!handle || transposed || (algorithm != CSR_ALG1 && algorithm != CSR_ALG2) || !workspace)
        return INVALID_VALUE;
    return multiply(alpha, a, x, beta, y, type);
}

int cusparseSpMM_bufferSize(void *handle, int transposed, int other, const void *alpha, Description *a,
                            Description *x, const void *beta, Description *y, int type, int algorithm,
                            size_t *size)
{
    *size = WORKSPACE;
    return handle && alpha && a && x && beta && y && type >= 0 && algorithm >= FIRST_SPMM_ALGORITHM
                   && !transposed && !other
               ? SUCCESS
               : INVALID_VALUE;
}
int cusparseSpMM(void *handle, int transposed, int other, const void *alpha, Description *a, Description *x,
                 const void *beta, Description *y, int type, int algorithm, void *workspace)
{
    if (!handle || transposed || other || algorithm < FIRST_SPMM_ALGORITHM || !workspace)
        return INVALID_VALUE;
    return multiply(alpha, a, x, beta, y, type);
}
