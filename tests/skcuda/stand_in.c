/* A few functions of cuBLAS, cuFFT and cuSOLVER with NVIDIA's parameters, on host memory. Instead of NVIDIA's
 * results most give numbers whose decimal digits are the arguments that they got, as the comments say: the
 * tests compare them with the arguments of their calls. */
#include <complex.h>
#include <stddef.h>
#include <stdint.h>

/* What the functions return, by the libraries' values. */
enum { SUCCESS = 0 };
enum { CUBLAS_NOT_INITIALIZED = 1, CUBLAS_INVALID_VALUE = 7 };
enum { CUFFT_INVALID_PLAN = 1, CUFFT_INVALID_VALUE = 4 };
enum { CUSOLVER_INVALID_VALUE = 3 };

/* The handles are addresses of no memory, wider than 32 bits, so that a caller must pass all of a pointer. */
static void *const cublas_handle = (void *)(uintptr_t)0x123456789a;
static void *const cusolver_handle = (void *)(uintptr_t)0x987654321;
static void *const syevj_info = (void *)(uintptr_t)0xabcdef123;
enum { PLAN = 77 };

static int cublas_status(const void *handle)
{
    return handle == cublas_handle ? SUCCESS : CUBLAS_NOT_INITIALIZED;
}

int cublasCreate_v2(void **handle)
{
    *handle = cublas_handle;
    return SUCCESS;
}

int cublasDestroy_v2(void *handle) { return cublas_status(handle); }

int cublasSetStream_v2(void *handle, void *stream)
{
    (void)stream;
    return cublas_status(handle);
}

int cublasGetVersion_v2(void *handle, int *version)
{
    *version = 130100;
    return cublas_status(handle);
}

/* The position of the largest element, counted from 1 as in cuBLAS. */
int cublasIdamax_v2(void *handle, int n, const double *x, int incx, int *result)
{
    *result = 1;
    for (int i = 1; i < n; i++)
        if (x[i * incx] > x[(*result - 1) * incx]) *result = i + 1;
    return cublas_status(handle);
}

/* c[0] = 100 transa + 10 transb + the sum of the sizes, c[1] = alpha a[0] + beta b[0]. The name has no _v2:
 * callers must find functions of both kinds. */
int cublasZgemm(void *handle, int transa, int transb, int m, int n, int k, const double complex *alpha,
                const double complex *a, int lda, const double complex *b, int ldb,
                const double complex *beta, double complex *c, int ldc)
{
    if (!handle || m < 0) return CUBLAS_INVALID_VALUE;
    c[0] = 100 * transa + 10 * transb + m + n + k + lda + ldb + ldc;
    c[1] = *alpha * a[0] + *beta * b[0];
    return SUCCESS;
}

/* c[0] = 1000 trans + 100 uplo + 10 alpha + beta; alpha and beta are real, the matrices complex. */
int cublasCherk_v2(void *handle, int uplo, int trans, int n, int k, const float *alpha,
                   const float complex *a, int lda, const float *beta, float complex *c, int ldc)
{
    (void)a, (void)n, (void)k, (void)lda, (void)ldc;
    c[0] = *alpha * 10 + *beta + 100 * (float)uplo + 1000 * (float)trans;
    return cublas_status(handle);
}

static int cufft_status(int plan) { return plan == PLAN ? SUCCESS : CUFFT_INVALID_PLAN; }

int cufftCreate(int *plan)
{
    *plan = PLAN;
    return SUCCESS;
}

int cufftDestroy(int plan) { return cufft_status(plan); }

int cufftSetAutoAllocation(int plan, int allocate)
{
    return allocate ? cufft_status(plan) : CUFFT_INVALID_VALUE;
}

int cufftSetStream(int plan, void *stream)
{
    (void)stream;
    return cufft_status(plan);
}

/* Takes plans of two axes without a layout; *size = type, n[0], n[1] and batch, two digits for each of the
 * last three. */
int cufftMakePlanMany(int plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                      int ostride, int odist, int type, int batch, size_t *size)
{
    if (plan != PLAN || rank != 2 || inembed || onembed || istride != 1 || ostride != 1 || idist || odist)
        return CUFFT_INVALID_VALUE;
    *size = (size_t)(1000000 * type + 10000 * n[0] + 100 * n[1] + batch);
    return SUCCESS;
}

/* out[0] = in[0] times the direction, which is -1 or 1. */
int cufftExecZ2Z(int plan, double complex *in, double complex *out, int direction)
{
    out[0] = in[0] * direction;
    return cufft_status(plan);
}

/* The plan's number = 1000 n + 10 type + batch. */
int cufftPlan1d(int *plan, int n, int type, int batch)
{
    *plan = 1000 * n + 10 * type + batch;
    return SUCCESS;
}

static int cusolver_status(int is_valid) { return is_valid ? SUCCESS : CUSOLVER_INVALID_VALUE; }

int cusolverDnCreate(void **handle)
{
    *handle = cusolver_handle;
    return SUCCESS;
}

int cusolverDnDestroy(void *handle) { return cusolver_status(handle == cusolver_handle); }

/* *lwork = 1000 jobz + 100 uplo + 10 n + lda. */
int cusolverDnDsyevj_bufferSize(void *handle, int jobz, int uplo, int n, const double *a, int lda,
                                const double *w, int *lwork, void *params)
{
    *lwork = 1000 * jobz + 100 * uplo + 10 * n + lda;
    return cusolver_status(handle == cusolver_handle && a && w && params == syevj_info);
}

int cusolverDnCreateSyevjInfo(void **info)
{
    *info = syevj_info;
    return SUCCESS;
}

int cusolverDnDestroySyevjInfo(void *info) { return cusolver_status(info == syevj_info); }

int cusolverDnXsyevjSetTolerance(void *info, double tolerance)
{
    return cusolver_status(info && tolerance == 1e-7);
}

/* s[0] = 1000 jobu + jobvt, as characters; *info = lwork. rwork must be NULL. */
int cusolverDnDgesvd(void *handle, signed char jobu, signed char jobvt, int m, int n, double *a, int lda,
                     double *s, double *u, int ldu, double *vt, int ldvt, double *work, int lwork,
                     double *rwork, int *info)
{
    (void)m, (void)n, (void)lda, (void)ldu, (void)ldvt, (void)u, (void)vt, (void)work, (void)a;
    s[0] = jobu * 1000 + jobvt;
    *info = lwork;
    return cusolver_status(handle && !rwork);
}
