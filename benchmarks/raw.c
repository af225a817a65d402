/* The floor that Python's calls are compared with: what the same calls cost from C, in the same process and
 * context.
 *
 * common.py builds this as a shared library and calls it through ctypes. The driver's functions are passed as
 * pointers, so that C calls the same driver as Python.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The driver's functions, as cuda.h declares them. */
typedef int (*Launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                      unsigned bz, unsigned shared, void *stream, void **params, void **extra);
typedef int (*Plain)(void);

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median over `rounds` of the nanoseconds of one of `burst` launches, each round after a synchronize.
 * Negative: a call failed with that error. */
double raw_launch(Launch launch, Plain synchronize, void *function, unsigned grid, unsigned block,
                  void **params, int burst, int rounds)
{
    double *times = malloc(sizeof *times * (size_t)rounds);
    int error = 0;
    for (int round = 0; round < rounds && !error; round++) {
        error = synchronize();
        double start = now();
        for (int i = 0; i < burst && !error; i++)
            error = launch(function, grid, 1, 1, block, 1, 1, 0, NULL, params, NULL);
        times[round] = (now() - start) / burst;
    }
    if (!error) error = synchronize();
    qsort(times, (size_t)rounds, sizeof *times, compare);
    double median = times[rounds / 2];
    free(times);
    return error ? -error : median;
}

typedef int (*AllocateAsync)(uint64_t *pointer, size_t size, void *stream);
typedef int (*FreeAsync)(uint64_t pointer, void *stream);
typedef int (*Allocate)(uint64_t *pointer, size_t size);
typedef int (*Free)(uint64_t pointer);

/* Nanoseconds of one allocation and its release on the default stream, by the driver's own pool. Negative:
 * a call failed with that error. */
double raw_allocate_async(AllocateAsync allocate, FreeAsync release, Plain synchronize, size_t size,
                          int burst)
{
    uint64_t pointer;
    int error = synchronize();
    double start = now();
    for (int i = 0; i < burst && !error; i++) {
        error = allocate(&pointer, size, NULL);
        if (!error) error = release(pointer, NULL);
    }
    double spent = (now() - start) / burst;
    return error ? -error : spent;
}

/* As raw_allocate_async(), without a pool. */
double raw_allocate(Allocate allocate, Free release, size_t size, int burst)
{
    uint64_t pointer;
    int error = 0;
    double start = now();
    for (int i = 0; i < burst && !error; i++) {
        error = allocate(&pointer, size);
        if (!error) error = release(pointer);
    }
    double spent = (now() - start) / burst;
    return error ? -error : spent;
}

/* Nanoseconds for one of `count` launches, until all are done. Negative: a call failed with that error. */
double raw_launch_and_wait(Launch launch, Plain synchronize, void *function, unsigned grid, unsigned block,
                           int count)
{
    int error = synchronize();
    double start = now();
    for (int i = 0; i < count && !error; i++)
        error = launch(function, grid, 1, 1, block, 1, 1, 0, NULL, NULL, NULL);
    if (!error) error = synchronize();
    double spent = (now() - start) / count;
    return error ? -error : spent;
}

typedef int (*ToDevice)(uint64_t to, const void *from, size_t size);
typedef int (*ToHost)(void *to, uint64_t from, size_t size);
typedef int (*Record)(void *event, void *stream);

/* Nanoseconds of one copy to the device. Negative: a call failed with that error. */
double raw_to_device(ToDevice copy, uint64_t device, const void *host, size_t size, int burst)
{
    int error = 0;
    double start = now();
    for (int i = 0; i < burst && !error; i++) error = copy(device, host, size);
    double spent = (now() - start) / burst;
    return error ? -error : spent;
}

/* Nanoseconds of one copy to the host. Negative: a call failed with that error. */
double raw_to_host(ToHost copy, void *host, uint64_t device, size_t size, int burst)
{
    int error = 0;
    double start = now();
    for (int i = 0; i < burst && !error; i++) error = copy(host, device, size);
    double spent = (now() - start) / burst;
    return error ? -error : spent;
}

/* Nanoseconds of recording an event in the default stream. Negative: a call failed with that error. */
double raw_record(Record record, Plain synchronize, void *event, int burst)
{
    int error = synchronize();
    double start = now();
    for (int i = 0; i < burst && !error; i++) error = record(event, NULL);
    double spent = (now() - start) / burst;
    return error ? -error : spent;
}

/* Nanoseconds of waiting for a context that has nothing to do. Negative: a call failed with that error. */
double raw_synchronize(Plain synchronize, int burst)
{
    int error = synchronize();
    double start = now();
    for (int i = 0; i < burst && !error; i++) error = synchronize();
    double spent = (now() - start) / burst;
    return error ? -error : spent;
}

typedef int (*GraphLaunch)(void *exec, void *stream);
typedef int (*Wait)(void *stream);

/* Nanoseconds of one of `burst` launches of a graph; if `wait` is not 0, with a wait after each. Negative: a
 * call failed with that error. */
double raw_graph_launch(GraphLaunch launch, Wait synchronize, void *exec, void *stream, int wait, int burst)
{
    int error = synchronize(stream);
    double start = now();
    for (int i = 0; i < burst && !error; i++) {
        error = launch(exec, stream);
        if (wait && !error) error = synchronize(stream);
    }
    double spent = (now() - start) / burst;
    if (!error) error = synchronize(stream);
    return error ? -error : spent;
}

typedef int (*ExecSetParams)(void *exec, void *node, const void *params);
typedef int (*NodeSetParams)(void *node, const void *params);
typedef int (*ExecUpdate)(void *exec, void *graph, void *info);

/* Nanoseconds of setting the arguments of a kernel in an executable graph. Negative: a call failed with that
 * error. */
double raw_graph_set(ExecSetParams set, void *exec, void *node, const void *params, int burst)
{
    int error = 0;
    double start = now();
    for (int i = 0; i < burst && !error; i++) error = set(exec, node, params);
    double spent = (now() - start) / burst;
    return error ? -error : spent;
}

/* As raw_graph_set(), by changing the node of the graph and updating the executable graph from it. */
double raw_graph_update(NodeSetParams set, ExecUpdate update, void *exec, void *graph, void *node,
                        const void *params, int burst)
{
    struct { /* CUgraphExecUpdateResultInfo */
        int result;
        void *from, *to;
    } info;
    int error = 0;
    double start = now();
    for (int i = 0; i < burst && !error; i++) {
        error = set(node, params);
        if (!error) error = update(exec, graph, &info);
    }
    double spent = (now() - start) / burst;
    return error ? -error : spent;
}

/* Functions of NVRTC, in the order of Nvrtc in compile_time.py. */
typedef struct Nvrtc {
    int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
    int (*compile)(void *, int, const char *const *);
    int (*size)(void *, size_t *);
    int (*code)(void *, char *);
    int (*destroy)(void **);
} Nvrtc;

/* Nanoseconds in which NVRTC compiles one source, to code in memory. Negative: a call failed with that
 * error. */
double raw_compile(const Nvrtc *nvrtc, const char *source, int option_count, const char *const *options)
{
    void *program = NULL;
    size_t size = 0;
    double start = now();
    int error = nvrtc->create(&program, source, "kernel.cu", 0, NULL, NULL);
    if (!error) error = nvrtc->compile(program, option_count, options);
    if (!error) error = nvrtc->size(program, &size);
    char *code = malloc(size + 1);
    if (!error) error = nvrtc->code(program, code);
    double spent = now() - start;
    free(code);
    nvrtc->destroy(&program);
    return error ? -error : spent;
}

/* Plain C versions of the interpreter benchmark's kernels. */
void raw_saxpy(long n, float s, const float *x, const float *y, float *z)
{
    for (long i = 0; i < n; i++) z[i] = s * x[i] + y[i];
}

void raw_mandelbrot(int size, int limit, int *out)
{
    for (int row = 0; row < size; row++)
        for (int column = 0; column < size; column++) {
            float cr = -2.0f + 3.0f * (float)column / (float)size,
                  ci = -1.5f + 3.0f * (float)row / (float)size;
            float zr = 0, zi = 0;
            int i = 0;
            while (i < limit && zr * zr + zi * zi < 4.0f) {
                float t = zr * zr - zi * zi + cr;
                zi = 2.0f * zr * zi + ci;
                zr = t;
                i++;
            }
            out[row * size + column] = i;
        }
}

void raw_matmul(int n, const float *a, const float *b, float *c)
{
    memset(c, 0, sizeof *c * (size_t)n * (size_t)n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) c[i * n + j] += a[i * n + k] * b[k * n + j];
}

enum {
    SIDE = 128, /* of the matrices of multiply() */
    PRODUCTS = 20, /* how many products it computes */
};

/* A thread's function: multiplies the first two of three matrices into the third, many times. */
static void *multiply(void *closure)
{
    float *matrices = closure;
    for (int i = 0; i < PRODUCTS; i++)
        raw_matmul(SIDE, matrices, matrices + SIDE * SIDE, matrices + 2 * SIDE * SIDE);
    return NULL;
}

/* Nanoseconds in which 1 or 2 threads multiply() matrices, each its own: work that scales as well as the
 * machine allows. */
double raw_multiply(int threads)
{
    size_t size = 3 * SIDE * SIDE;
    float *matrices = calloc(2 * size, sizeof *matrices);
    pthread_t other;
    double start = now();
    bool two = threads == 2 && pthread_create(&other, NULL, multiply, matrices + size) == 0;
    multiply(matrices);
    if (two) pthread_join(other, NULL);
    double spent = now() - start;
    free(matrices);
    return spent;
}
