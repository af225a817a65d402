/* cuSOLVER's functions, and trsm of cuBLAS, on host memory: for tests on the CPU device. They check the
 * arguments that LAPACK does not check, and call the LAPACK whose functions the test passes to host_lapack().
 * A call computes at once, without waiting for queued work. Memory that a function may overwrite is filled
 * with bytes of 255, which are NaN. */
#include <complex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_VALUE = 3 }; /* cusolverStatus_t */

enum { R_32F = 0, R_64F = 1, C_32F = 4, C_64F = 5 }; /* cudaDataType; a complex type is its real one + 4 */

enum {
    DEVICE_SIZE = 1000, /* bytes of the device workspace that functions request, */
    HOST_SIZE = 24, /* bytes of the host workspace */
    ORGQR_LWORK = 50, /* elements of the workspace that orgqr and ungqr request */
    MAX_FUNCTIONS = 64, /* of LAPACK */
    MAX_MATRICES = 8192, /* of a batch: cuSOLVER's limit */
    LARGEST_OF_GESVDJ = 32 /* rows or columns that gesvdjBatched takes */
};

/* A matrix whose first element has one of these values makes gesvdj and gesvdp fail to converge, or makes
 * gesvdp report that it shifted the singular values. */
enum { NOT_CONVERGING = 4321, SHIFTED = 4322 };

#ifndef VERSION
#define VERSION 12004
#endif

typedef void Fortran(void *, ...);

static struct {
    char name[16];
    Fortran *function;
} functions[MAX_FUNCTIONS];

/* Called by the test for each function of LAPACK that is used, by its name, such as "dpotrf". */
void host_lapack(const char *name, Fortran *function)
{
    int i = 0;
    while (functions[i].function) i++;
    snprintf(functions[i].name, sizeof functions[i].name, "%s", name);
    functions[i].function = function;
}

/* The function of LAPACK for a cudaDataType; the name is without the letter of the type, such as "potrf". */
static Fortran *find(const char *name, int type)
{
    char full[16];
    snprintf(full, sizeof full, "%c%s", "sd..cz"[type], name); /* indexed by cudaDataType */
    for (int i = 0; i < MAX_FUNCTIONS && functions[i].function; i++)
        if (strcmp(functions[i].name, full) == 0) return functions[i].function;
    abort();
}

static int is_complex(int type) { return type >= C_32F; }
static int real_of(int type) { return type % C_32F; }
static int complex_of(int type) { return C_32F + real_of(type); }
static size_t size_of(int type) { return (real_of(type) == R_64F ? 8 : 4) * (is_complex(type) ? 2 : 1); }

/* Whether the workspaces have the requested sizes. Overwrites them. */
static int are_workspaces(void *device, size_t device_size, void *host, size_t host_size)
{
    if (!device || !host || device_size != DEVICE_SIZE || host_size != HOST_SIZE) return 0;
    memset(device, 255, device_size);
    memset(host, 255, host_size);
    return 1;
}

/* Sets the sizes of the workspaces. HOST_CUSOLVER_WORKSPACE in the environment is another size for the
 * device's. */
static int sizes(void *handle, void *params, size_t *device, size_t *host)
{
    const char *wanted = getenv("HOST_CUSOLVER_WORKSPACE");
    *device = wanted ? (size_t)strtoull(wanted, NULL, 10) : DEVICE_SIZE;
    *host = HOST_SIZE;
    return handle && params ? SUCCESS : INVALID_VALUE;
}

/* LAPACK's own workspaces, large enough for all tests. */
#define WORK_LENGTH 100000
static char work[WORK_LENGTH * sizeof(double complex)];
static double real_work[WORK_LENGTH];
static int work_length = WORK_LENGTH;

int cusolverGetVersion(int *version) { return *version = VERSION, SUCCESS; }
int cusolverDnCreate(void **handle) { return *handle = functions, SUCCESS; }
int cusolverDnDestroy(void *handle) { return handle ? SUCCESS : INVALID_VALUE; }
int cusolverDnSetStream(void *handle, void *stream) { return (void)stream, handle ? SUCCESS : INVALID_VALUE; }
int cusolverDnCreateParams(void **params) { return *params = work, SUCCESS; }

int cusolverDnXpotrf_bufferSize(void *handle, void *params, int uplo, int64_t n, int type, const void *a,
                                int64_t lda, int compute, size_t *device, size_t *host)
{
    if (uplo < 0 || uplo > 1 || n < 1 || lda < n || !a || type != compute) return INVALID_VALUE;
    return sizes(handle, params, device, host);
}

int cusolverDnXpotrf(void *handle, void *params, int uplo, int64_t n, int type, void *a, int64_t lda,
                     int compute, void *device, size_t device_size, void *host, size_t host_size, int *info)
{
    int size = (int)n, leading = (int)lda;
    if (!handle || !params || type != compute || !are_workspaces(device, device_size, host, host_size))
        return INVALID_VALUE;
    find("potrf", type)(uplo ? "U" : "L", &size, a, &leading, info);
    return SUCCESS;
}

int cusolverDnXgetrf_bufferSize(void *handle, void *params, int64_t m, int64_t n, int type, const void *a,
                                int64_t lda, int compute, size_t *device, size_t *host)
{
    if (m < 1 || n < 1 || lda < m || !a || type != compute) return INVALID_VALUE;
    return sizes(handle, params, device, host);
}

int cusolverDnXgetrf(void *handle, void *params, int64_t m, int64_t n, int type, void *a, int64_t lda,
                     int64_t *pivots, int compute, void *device, size_t device_size, void *host,
                     size_t host_size, int *info)
{
    int rows = (int)m, columns = (int)n, leading = (int)lda;
    int order[1000];
    if (!handle || !params || type != compute || !are_workspaces(device, device_size, host, host_size))
        return INVALID_VALUE;
    find("getrf", type)(&rows, &columns, a, &leading, order, info);
    for (int i = 0; i < rows && i < columns; i++) {
        double pivot = type == R_64F ? ((double *)a)[i + i * lda] : 0;
        if (pivot != pivot && !*info) *info = i + 1; /* cuSOLVER reports NaN, LAPACK does not */
        pivots[i] = order[i];
    }
    return SUCCESS;
}

int cusolverDnXgeqrf_bufferSize(void *handle, void *params, int64_t m, int64_t n, int type, const void *a,
                                int64_t lda, int tau_type, const void *tau, int compute, size_t *device,
                                size_t *host)
{
    if (m < 1 || n < 1 || lda < m || !a || !tau || type != tau_type || type != compute) return INVALID_VALUE;
    return sizes(handle, params, device, host);
}

int cusolverDnXgeqrf(void *handle, void *params, int64_t m, int64_t n, int type, void *a, int64_t lda,
                     int tau_type, void *tau, int compute, void *device, size_t device_size, void *host,
                     size_t host_size, int *info)
{
    int rows = (int)m, columns = (int)n, leading = (int)lda;
    if (!handle || !params || type != compute || type != tau_type
        || !are_workspaces(device, device_size, host, host_size))
        return INVALID_VALUE;
    find("geqrf", type)(&rows, &columns, a, &leading, tau, work, &work_length, info);
    return SUCCESS;
}

#define ORGQR(letter, name, type) \
    int cusolverDn##letter##name##_bufferSize(void *handle, int m, int n, int k, const void *a, int lda, \
                                              const void *tau, int *lwork) \
    { \
        return *lwork = ORGQR_LWORK, handle && a && tau && lda >= m && k <= n ? SUCCESS : INVALID_VALUE; \
    } \
    int cusolverDn##letter##name(void *handle, int m, int n, int k, void *a, int lda, const void *tau, \
                                 void *memory, int lwork, int *info) \
    { \
        if (!handle || lwork != ORGQR_LWORK || !memory) return INVALID_VALUE; \
        find(#name, type)(&m, &n, &k, a, &lda, (void *)tau, work, &work_length, info); \
        return SUCCESS; \
    }
ORGQR(S, orgqr, R_32F)
ORGQR(D, orgqr, R_64F)
ORGQR(C, ungqr, C_32F)
ORGQR(Z, ungqr, C_64F)

int cusolverDnXgesvd_bufferSize(void *handle, void *params, signed char jobu, signed char jobvt, int64_t m,
                                int64_t n, int type, const void *a, int64_t lda, int s_type, const void *s,
                                int u_type, const void *u, int64_t ldu, int vt_type, const void *vt,
                                int64_t ldvt, int compute, size_t *device, size_t *host)
{
    if (m < n || lda < m || ldu < m || ldvt < n || !a || !s || s_type != real_of(type) || jobu != jobvt
        || (jobu != 'N' && (!u || !vt)) || u_type != type || vt_type != type || compute != type)
        return INVALID_VALUE;
    return sizes(handle, params, device, host);
}

int cusolverDnXgesvd(void *handle, void *params, signed char jobu, signed char jobvt, int64_t m, int64_t n,
                     int type, void *a, int64_t lda, int s_type, void *s, int u_type, void *u, int64_t ldu,
                     int vt_type, void *vt, int64_t ldvt, int compute, void *device, size_t device_size,
                     void *host, size_t host_size, int *info)
{
    int rows = (int)m, columns = (int)n, leading = (int)lda, of_u = (int)ldu, of_vt = (int)ldvt;
    if (!handle || !params || s_type != real_of(type) || u_type != vt_type || type != compute
        || !are_workspaces(device, device_size, host, host_size))
        return INVALID_VALUE;
    if (is_complex(type))
        find("gesvd", type)(&jobu, &jobvt, &rows, &columns, a, &leading, s, u, &of_u, vt, &of_vt, work,
                            &work_length, real_work, info);
    else
        find("gesvd", type)(&jobu, &jobvt, &rows, &columns, a, &leading, s, u, &of_u, vt, &of_vt, work,
                            &work_length, info);
    return SUCCESS;
}

int cusolverDnXsyevd_bufferSize(void *handle, void *params, int jobz, int uplo, int64_t n, int type,
                                const void *a, int64_t lda, int w_type, const void *w, int compute,
                                size_t *device, size_t *host)
{
    if (jobz < 0 || jobz > 1 || uplo < 0 || uplo > 1 || n < 1 || lda < n || !a || !w
        || w_type != real_of(type) || type != compute)
        return INVALID_VALUE;
    return sizes(handle, params, device, host);
}

int cusolverDnXsyevd(void *handle, void *params, int jobz, int uplo, int64_t n, int type, void *a,
                     int64_t lda, int w_type, void *w, int compute, void *device, size_t device_size,
                     void *host, size_t host_size, int *info)
{
    int size = (int)n, leading = (int)lda;
    const char *job = jobz ? "V" : "N", *triangle = uplo ? "U" : "L";
    if (!handle || !params || w_type != real_of(type) || type != compute
        || !are_workspaces(device, device_size, host, host_size))
        return INVALID_VALUE;
    if (is_complex(type))
        find("heev", type)((void *)job, triangle, &size, a, &leading, w, work, &work_length, real_work, info);
    else
        find("syev", type)((void *)job, triangle, &size, a, &leading, w, work, &work_length, info);
    return SUCCESS;
}

#if VERSION >= 11701
int cusolverDnXsyevBatched_bufferSize(void *handle, void *params, int jobz, int uplo, int64_t n, int type,
                                      const void *a, int64_t lda, int w_type, const void *w, int compute,
                                      size_t *device, size_t *host, int64_t number)
{
    int status = cusolverDnXsyevd_bufferSize(handle, params, jobz, uplo, n, type, a, lda, w_type, w, compute,
                                             device, host);
    *device *= (size_t)number;
    return lda != n || number < 1 || number > MAX_MATRICES ? INVALID_VALUE : status;
}

int cusolverDnXsyevBatched(void *handle, void *params, int jobz, int uplo, int64_t n, int type, void *a,
                           int64_t lda, int w_type, void *w, int compute, void *device, size_t device_size,
                           void *host, size_t host_size, int *info, int64_t number)
{
    int status = device_size == DEVICE_SIZE * (size_t)number ? SUCCESS : INVALID_VALUE;
    for (int64_t i = 0; i < number && status == SUCCESS; i++)
        status = cusolverDnXsyevd(handle, params, jobz, uplo, n, type,
                                  (char *)a + (size_t)(i * n * n) * size_of(type), lda, w_type,
                                  (char *)w + (size_t)(i * n) * size_of(w_type), compute, device, DEVICE_SIZE,
                                  host, host_size, info + i);
    return status;
}
#endif

static char jacobi_parameters;
int cusolverDnCreateGesvdjInfo(void **info) { return *info = &jacobi_parameters, SUCCESS; }

/* Stores the adjoint of the n x n matrix `from` in `to`. */
static void adjoint(int type, int n, const char *from, char *to)
{
    size_t size = size_of(type);
    for (int i = 0; i < n * n; i++) {
        char *place = to + (size_t)(i / n + i % n * n) * size;
        memcpy(place, from + (size_t)i * size, size);
        if (type == C_32F) *(float complex *)place = conjf(*(float complex *)place);
        if (type == C_64F) *(double complex *)place = conj(*(double complex *)place);
    }
}

/* One matrix of gesvdjBatched: overwrites u and v, which have the vectors as columns if with_vectors. */
static void gesvdj(int type, int with_vectors, int m, int n, char *a, char *s, char *u, char *v, int *info)
{
    char *job = with_vectors ? "A" : "N", vt[LARGEST_OF_GESVDJ * LARGEST_OF_GESVDJ * sizeof(double complex)];
    double first = real_of(type) == R_64F ? *(double *)a : *(float *)a;
    memset(u, 255, (size_t)(m * m) * size_of(type));
    memset(v, 255, (size_t)(n * n) * size_of(type));
    if (is_complex(type))
        find("gesvd", type)(job, job, &m, &n, a, &m, s, u, &m, vt, &n, work, &work_length, real_work, info);
    else
        find("gesvd", type)(job, job, &m, &n, a, &m, s, u, &m, vt, &n, work, &work_length, info);
    if (with_vectors) adjoint(type, n, vt, v);
    if (first == NOT_CONVERGING) *info = (m < n ? m : n) + 1;
}

int cusolverDnXgesvdp_bufferSize(void *handle, void *params, int jobz, int econ, int64_t m, int64_t n,
                                 int type, const void *a, int64_t lda, int s_type, const void *s, int u_type,
                                 const void *u, int64_t ldu, int v_type, const void *v, int64_t ldv,
                                 int compute, size_t *device, size_t *host)
{
    if (jobz != 1 || econ < 0 || econ > 1 || m < n || lda < m || ldu < m || ldv < n || !a || !s || !u || !v
        || real_of(type) != R_64F || s_type != R_64F || u_type != type || v_type != type || compute != type)
        return INVALID_VALUE;
    return sizes(handle, params, device, host);
}

int cusolverDnXgesvdp(void *handle, void *params, int jobz, int econ, int64_t m, int64_t n, int type, void *a,
                      int64_t lda, int s_type, void *s, int u_type, void *u, int64_t ldu, int v_type, void *v,
                      int64_t ldv, int compute, void *device, size_t device_size, void *host,
                      size_t host_size, int *info, double *shift)
{
    int rows = (int)m, columns = (int)n, leading = (int)lda, of_u = (int)ldu, of_vt = (int)ldv;
    int is_shifted = *(double *)a == SHIFTED, fails = *(double *)a == NOT_CONVERGING;
    char *job = econ ? "S" : "A", *vt = malloc((size_t)(n * n) * size_of(type));
    if (!handle || !params || !jobz || s_type != R_64F || u_type != v_type || type != compute || ldv != n
        || !vt || !are_workspaces(device, device_size, host, host_size))
        return INVALID_VALUE;
    if (is_complex(type))
        find("gesvd", type)(job, job, &rows, &columns, a, &leading, s, u, &of_u, vt, &of_vt, work,
                            &work_length, real_work, info);
    else
        find("gesvd", type)(job, job, &rows, &columns, a, &leading, s, u, &of_u, vt, &of_vt, work,
                            &work_length, info);
    adjoint(type, columns, vt, v);
    free(vt);
    if (fails) *info = 1;
    *shift = is_shifted ? 1 : 0;
    if (is_shifted || fails) memset(s, 255, sizeof(double));
    return SUCCESS;
}

#define GESVDJ(letter, type) \
    int cusolverDn##letter##gesvdjBatched_bufferSize( \
        void *handle, int jobz, int m, int n, const void *a, int lda, const void *s, const void *u, int ldu, \
        const void *v, int ldv, int *lwork, void *params, int number) \
    { \
        int largest = m < n ? n : m; \
        *lwork = 7 * number; \
        if (jobz < 0 || jobz > 1 || m < 1 || n < 1 || largest > LARGEST_OF_GESVDJ || lda != m || ldu != m \
            || ldv != n || number < 1 || number > MAX_MATRICES) \
            return INVALID_VALUE; \
        return handle && a && s && u && v && params == &jacobi_parameters ? SUCCESS : INVALID_VALUE; \
    } \
    int cusolverDn##letter##gesvdjBatched(void *handle, int jobz, int m, int n, char *a, int lda, char *s, \
                                          char *u, int ldu, char *v, int ldv, void *memory, int lwork, \
                                          int *info, void *params, int number) \
    { \
        size_t size = size_of(type), rank = (size_t)(m < n ? m : n); \
        int asked, status = cusolverDn##letter##gesvdjBatched_bufferSize( \
                       handle, jobz, m, n, a, lda, s, u, ldu, v, ldv, &asked, params, number); \
        if (status != SUCCESS || !memory || lwork != asked) return INVALID_VALUE; \
        memset(memory, 255, (size_t)lwork *size); \
        for (size_t i = 0; i < (size_t)number; i++) \
            gesvdj(type, jobz, m, n, a + i * (size_t)(m * n) * size, s + i * rank * size_of(real_of(type)), \
                   u + i * (size_t)(m * m) * size, v + i * (size_t)(n * n) * size, info + i); \
        return SUCCESS; \
    }
GESVDJ(S, R_32F)
GESVDJ(D, R_64F)
GESVDJ(C, C_32F)
GESVDJ(Z, C_64F)

#if VERSION >= 11702
int cusolverDnXgeev_bufferSize(void *handle, void *params, int jobvl, int jobvr, int64_t n, int type,
                               const void *a, int64_t lda, int w_type, const void *w, int vl_type,
                               const void *vl, int64_t ldvl, int vr_type, const void *vr, int64_t ldvr,
                               int compute, size_t *device, size_t *host)
{
    if (jobvl != 0 || vl || jobvr != (vr != NULL) || n < 1 || lda < n || ldvl < n || ldvr < n || !a || !w
        || w_type != complex_of(type) || vl_type != type || vr_type != type || type != compute)
        return INVALID_VALUE;
    return sizes(handle, params, device, host);
}

/* Joins eigenvalues of a real matrix, n real parts and then n imaginary parts, to complex numbers. */
static void join(int type, int n, const void *parts, void *w)
{
    for (int i = 0; i < n; i++)
        if (type == R_32F)
            ((float complex *)w)[i] = ((const float *)parts)[i] + I * ((const float *)parts)[n + i];
        else
            ((double complex *)w)[i] = ((const double *)parts)[i] + I * ((const double *)parts)[n + i];
}

int cusolverDnXgeev(void *handle, void *params, int jobvl, int jobvr, int64_t n, int type, void *a,
                    int64_t lda, int w_type, void *w, int vl_type, void *vl, int64_t ldvl, int vr_type,
                    void *vr, int64_t ldvr, int compute, void *device, size_t device_size, void *host,
                    size_t host_size, int *info)
{
    int size = (int)n, leading = (int)lda, left = (int)ldvl, right = (int)ldvr;
    char *parts = (char *)real_work, *job = jobvr ? "V" : "N";
    if (!handle || !params || jobvl || w_type < C_32F || vl_type != vr_type || type != compute
        || !are_workspaces(device, device_size, host, host_size))
        return INVALID_VALUE;
    if (is_complex(type)) {
        find("geev", type)("N", job, &size, a, &leading, w, vl, &left, vr, &right, work, &work_length,
                           real_work, info);
        return SUCCESS;
    }
    find("geev", type)("N", job, &size, a, &leading, parts, parts + n * size_of(type), vl, &left, vr, &right,
                       work, &work_length, info);
    join(type, size, parts, w);
    return SUCCESS;
}
#endif

int cublasCreate_v2(void **handle) { return *handle = functions, SUCCESS; }
int cublasDestroy_v2(void *handle) { return handle ? SUCCESS : INVALID_VALUE; }
int cublasSetStream_v2(void *handle, void *stream) { return (void)stream, handle ? SUCCESS : INVALID_VALUE; }
int cublasSetWorkspace_v2(void *handle, void *memory, size_t size)
{
    return handle && memory && size ? SUCCESS : INVALID_VALUE;
}

#define TRSM(letter, type) \
    int cublas##letter##trsm_v2(void *handle, int side, int uplo, int trans, int diag, int m, int n, \
                                const void *alpha, const void *a, int lda, void *b, int ldb) \
    { \
        if (!handle || side || uplo < 0 || uplo > 1 || trans < 0 || trans > 2 || lda < m || ldb < m) \
            return INVALID_VALUE; \
        find("trsm", type)("L", uplo ? "U" : "L", &"NTC"[trans], diag ? "U" : "N", &m, &n, (void *)alpha, \
                           (void *)a, &lda, b, &ldb); \
        return SUCCESS; \
    }
TRSM(S, R_32F)
TRSM(D, R_64F)
TRSM(C, C_32F)
TRSM(Z, C_64F)
