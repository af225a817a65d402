/* Products as cuBLAS defines them, on host memory: for tests on the CPU device. A call computes at once,
 * without waiting for queued work. If the environment variable HOST_CUBLAS_STATUS is set, every product
 * returns that status and computes nothing. */
#include <complex.h>
#include <stdint.h>
#include <stdlib.h>

typedef double complex Number;

/* cublasStatus_t, cudaDataType, cublasComputeType_t and cublasGemmAlgo_t, as far as they are used here. */
enum { SUCCESS = 0, INVALID_VALUE = 7, NOT_SUPPORTED = 15 };
enum { R_32F = 0, R_64F = 1, C_32F = 4, C_64F = 5 };
enum { COMPUTE_32F = 68, COMPUTE_64F = 70 };
enum { ALGORITHM_DEFAULT = -1 };
static int handles; /* the number of handles ever made */

static int compute_type_of(int type) { return type == R_32F || type == C_32F ? COMPUTE_32F : COMPUTE_64F; }

static Number load(const void *base, int type, long long i)
{
    switch (type) {
    case R_32F: return ((const float *)base)[i];
    case R_64F: return ((const double *)base)[i];
    case C_32F: return ((const float complex *)base)[i];
    default: return ((const double complex *)base)[i];
    }
}

static void store(void *base, int type, long long i, Number value)
{
    switch (type) {
    case R_32F: ((float *)base)[i] = (float)creal(value); break;
    case R_64F: ((double *)base)[i] = creal(value); break;
    case C_32F: ((float complex *)base)[i] = (float complex)value; break;
    default: ((double complex *)base)[i] = value;
    }
}

int cublasCreate_v2(void **handle)
{
    *handle = (void *)(uintptr_t)++handles;
    return SUCCESS;
}
int cublasDestroy_v2(void *handle) { return handle ? SUCCESS : INVALID_VALUE; }
int cublasSetStream_v2(void *handle, void *stream) { return (void)stream, handle ? SUCCESS : INVALID_VALUE; }
int cublasSetWorkspace_v2(void *handle, void *memory, size_t size)
{
    return handle && memory && (uintptr_t)memory % 256 == 0 && size ? SUCCESS : INVALID_VALUE;
}

int cublasGemmStridedBatchedEx(void *handle, int transa, int transb, int m, int n, int k, const void *alpha,
                               const void *a, int a_type, int lda, long long a_step, const void *b,
                               int b_type, int ldb, long long b_step, const void *beta, void *c, int c_type,
                               int ldc, long long c_step, int count, int compute, int algorithm)
{
    const char *status = getenv("HOST_CUBLAS_STATUS");
    if (status) return atoi(status);
    if (!handle || algorithm != ALGORITHM_DEFAULT || lda < (transa ? k : m) || ldb < (transb ? n : k)
        || ldc < m)
        return INVALID_VALUE;
    if (a_type != b_type || a_type != c_type || compute != compute_type_of(c_type)) return NOT_SUPPORTED;
    if (load(alpha, c_type, 0) != 1 || load(beta, c_type, 0) != 0) return NOT_SUPPORTED;
    for (long long z = 0; z < count; z++)
        for (long long i = 0; i < m; i++)
            for (long long j = 0; j < n; j++) {
                Number sum = 0;
                for (long long l = 0; l < k; l++)
                    sum += load(a, a_type, z * a_step + (transa ? l + i * lda : i + l * lda))
                           * load(b, b_type, z * b_step + (transb ? j + l * ldb : l + j * ldb));
                store(c, c_type, z * c_step + i + j * ldc, sum);
            }
    return SUCCESS;
}
