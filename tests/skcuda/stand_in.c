/* A few functions of cuBLAS, cuFFT and cuSOLVER with NVIDIA's parameters, on host memory: they show what
 * arguments a call passes. */
#include <complex.h>
#include <stddef.h>

static void *stream_set;

int cublasCreate_v2(void **handle) { return *handle = (void *)0x123456789a, 0; }
int cublasDestroy_v2(void *handle) { return handle == (void *)0x123456789a ? 0 : 1; }
int cublasSetStream_v2(void *handle, void *stream) { return stream_set = stream, handle ? 0 : 1; }
int cublasGetVersion_v2(void *handle, int *version) { return *version = 130100, handle ? 0 : 1; }

int cublasIdamax_v2(void *handle, int n, const double *x, int incx, int *result)
{
    *result = 1;
    for (int i = 1; i < n; i++)
        if (x[i * incx] > x[(*result - 1) * incx]) *result = i + 1;
    return handle == (void *)0x123456789a ? 0 : 1;
}

/* c[0] = what the enumerations are; c[1] = alpha a[0] + beta b[0]. Not one of the second version. */
int cublasZgemm(void *handle, int transa, int transb, int m, int n, int k, const double complex *alpha,
                const double complex *a, int lda, const double complex *b, int ldb,
                const double complex *beta, double complex *c, int ldc)
{
    if (!handle || m < 0) return 7;
    c[0] = 100 * transa + 10 * transb + m + n + k + lda + ldb + ldc;
    c[1] = *alpha * a[0] + *beta * b[0];
    return 0;
}

int cublasCherk_v2(void *handle, int uplo, int trans, int n, int k, const float *alpha,
                   const float complex *a, int lda, const float *beta, float complex *c, int ldc)
{
    (void)a, (void)n, (void)k, (void)lda, (void)ldc;
    c[0] = *alpha * 10 + *beta + 100 * (float)uplo + 1000 * (float)trans;
    return handle ? 0 : 1;
}

int cufftCreate(int *plan) { return *plan = 77, 0; }
int cufftDestroy(int plan) { return plan == 77 ? 0 : 1; }
int cufftSetAutoAllocation(int plan, int allocate) { return plan == 77 && allocate ? 0 : 1; }
int cufftSetStream(int plan, void *stream) { return stream_set = stream, plan == 77 ? 0 : 1; }
int cufftMakePlanMany(int plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                      int ostride, int odist, int type, int batch, size_t *size)
{
    if (plan != 77 || rank != 2 || inembed || onembed || istride != 1 || ostride != 1 || idist || odist)
        return 4;
    *size = (size_t)(1000000 * type + 10000 * n[0] + 100 * n[1] + batch);
    return 0;
}
int cufftExecZ2Z(int plan, double complex *in, double complex *out, int direction)
{
    return out[0] = in[0] * direction, plan == 77 ? 0 : 1;
}
int cufftPlan1d(int *plan, int n, int type, int batch) { return *plan = 1000 * n + 10 * type + batch, 0; }

int cusolverDnCreate(void **handle) { return *handle = (void *)0x987654321, 0; }
int cusolverDnDestroy(void *handle) { return handle == (void *)0x987654321 ? 0 : 1; }
int cusolverDnDsyevj_bufferSize(void *handle, int jobz, int uplo, int n, const double *a, int lda,
                                const double *w, int *lwork, void *params)
{
    *lwork = 1000 * jobz + 100 * uplo + 10 * n + lda;
    return handle == (void *)0x987654321 && a && w && params == (void *)0xabcdef123 ? 0 : 3;
}
int cusolverDnCreateSyevjInfo(void **info) { return *info = (void *)0xabcdef123, 0; }
int cusolverDnDestroySyevjInfo(void *info) { return info == (void *)0xabcdef123 ? 0 : 3; }
int cusolverDnXsyevjSetTolerance(void *info, double tolerance) { return info && tolerance == 1e-7 ? 0 : 3; }
int cusolverDnDgesvd(void *handle, signed char jobu, signed char jobvt, int m, int n, double *a, int lda,
                     double *s, double *u, int ldu, double *vt, int ldvt, double *work, int lwork,
                     double *rwork, int *info)
{
    (void)m, (void)n, (void)lda, (void)ldu, (void)ldvt, (void)u, (void)vt, (void)work, (void)a;
    s[0] = jobu * 1000 + jobvt;
    return *info = lwork, handle && !rwork ? 0 : 3;
}
