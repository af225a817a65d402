// The work of bandwidth.py, shapes.py and random_numbers.py in plain CUDA C++ and by CUB. Each exported
// function queues its kernel on the default stream, and returns the runtime's error.
#include <cub/cub.cuh>
#include <curand_kernel.h>

enum {
    THREADS = 256, // of a block
    TILE = 32,     // transpose: the side of a block's tile
    ROWS = 8,      // transpose: the rows of the tile that the threads copy at a time
};

// Temporary storage for CUB. A call without it only returns how many bytes it needs.
static void *room;
static size_t room_bytes;

template <class Call> static int with_room(Call call)
{
    size_t bytes = 0;
    if (cudaError_t error = call(nullptr, bytes)) return error;
    if (bytes > room_bytes) {
        cudaFree(room);
        if (cudaError_t error = cudaMalloc(&room, bytes)) return error;
        room_bytes = bytes;
    }
    return call(room, bytes);
}

// out = of(x, y); n counts float4.
template <class Of> __global__ void each(const float4 *x, const float4 *y, float4 *out, size_t n, Of of)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    const float4 a = x[i], b = y[i];
    out[i] = make_float4(of(a.x, b.x), of(a.y, b.y), of(a.z, b.z), of(a.w, b.w));
}

struct Add {
    __device__ float operator()(float a, float b) const { return a + b; }
};
struct Sine {
    __device__ float operator()(float a, float) const { return sinf(a); }
};

// n is a multiple of 4 * THREADS.
template <class Of> static int of_each(const float *x, const float *y, float *out, size_t n, Of of)
{
    each<<<n / 4 / THREADS, THREADS>>>((const float4 *)x, (const float4 *)y, (float4 *)out, n / 4, of);
    return cudaGetLastError();
}

__global__ void transposed(const float *x, float *out, size_t side)
{
    __shared__ float tile[TILE][TILE + 1];
    size_t column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    for (int k = 0; k < TILE; k += ROWS) tile[threadIdx.y + k][threadIdx.x] = x[(row + k) * side + column];
    __syncthreads();
    column = blockIdx.y * TILE + threadIdx.x, row = blockIdx.x * TILE + threadIdx.y;
    for (int k = 0; k < TILE; k += ROWS) out[(row + k) * side + column] = tile[threadIdx.x][threadIdx.y + k];
}

enum Kind { UNIFORM, NORMAL, FAST_NORMAL };

// Two normal numbers by Box and Muller's method, with the hardware's approximations of logarithm, root, sine
// and cosine, as with -use_fast_math: less exact than cuRAND's.
__device__ float2 fast_normals(unsigned x, unsigned y)
{
    const float square = -2 * __logf(fmaf(x, 0x1p-32f, 0x1p-33f));
    float radius, sine, cosine;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(radius) : "f"(square));
    __sincosf(fmaf(y, 0x1p-32f, 0x1p-33f) * 6.2831855f, &sine, &cosine);
    return make_float2(radius * sine, radius * cosine);
}

// Random numbers by Philox; n counts float4.
template <Kind KIND> __global__ void random(float4 *out, size_t n)
{
    const size_t first = (size_t)blockIdx.x * THREADS + threadIdx.x;
    curandStatePhilox4_32_10_t state;
    curand_init(1, first, 0, &state);
    for (size_t i = first; i < n; i += (size_t)gridDim.x * THREADS) {
        if (KIND == FAST_NORMAL) {
            const uint4 x = curand4(&state);
            const float2 a = fast_normals(x.x, x.y), b = fast_normals(x.z, x.w);
            out[i] = make_float4(a.x, a.y, b.x, b.y);
        } else {
            out[i] = KIND == NORMAL ? curand_normal4(&state) : curand_uniform4(&state);
        }
    }
}

template <Kind KIND> static int by_philox(float *out, size_t n)
{
    const size_t blocks = (n / 4 + THREADS - 1) / THREADS;
    random<KIND><<<blocks < 2048 ? blocks : 2048, THREADS>>>((float4 *)out, n / 4);
    return cudaGetLastError();
}

// XORWOW, whose states are initialized once and continued by each call, as a generator does it.
enum { STATES = 2048 * THREADS };
static curandStateXORWOW_t *states;

__global__ void initialize_states(curandStateXORWOW_t *states)
{
    const int g = blockIdx.x * THREADS + threadIdx.x;
    curand_init(1, g, 0, states + g);
}

template <bool NORMAL> __global__ void xorwow(curandStateXORWOW_t *states, float4 *out, size_t n)
{
    const size_t first = (size_t)blockIdx.x * THREADS + threadIdx.x;
    curandStateXORWOW_t state = states[first];
    for (size_t i = first; i < n; i += STATES) {
        float4 v;
        if (NORMAL) {
            const float2 a = curand_normal2(&state), b = curand_normal2(&state);
            v = make_float4(a.x, a.y, b.x, b.y);
        } else {
            v.x = curand_uniform(&state), v.y = curand_uniform(&state);
            v.z = curand_uniform(&state), v.w = curand_uniform(&state);
        }
        out[i] = v;
    }
    states[first] = state;
}

template <bool NORMAL> static int by_xorwow(float *out, size_t n)
{
    if (!states) {
        if (cudaError_t error = cudaMalloc(&states, STATES * sizeof(*states))) return error;
        initialize_states<<<STATES / THREADS, THREADS>>>(states);
    }
    xorwow<NORMAL><<<STATES / THREADS, THREADS>>>(states, (float4 *)out, n / 4);
    return cudaGetLastError();
}

__global__ void gathered(const float *x, const int4 *numbers, float4 *out, size_t n)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    const int4 at = numbers[i];
    out[i] = make_float4(x[at.x], x[at.y], x[at.z], x[at.w]);
}

__global__ void reversed(const float4 *x, float4 *out, size_t n)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    const float4 a = x[n - 1 - i];
    out[i] = make_float4(a.w, a.z, a.y, a.x);
}

extern "C" {

int add(const float *x, const float *y, float *out, size_t n) { return of_each(x, y, out, n, Add()); }
int sine(const float *x, const float *y, float *out, size_t n) { return of_each(x, x, out, n, Sine()); }
int fill(const float *x, const float *y, float *out, size_t n) { return cudaMemsetAsync(out, 1, 4 * n); }

int sum(const float *x, const float *y, float *out, size_t n)
{
    return with_room(
        [=](void *room, size_t &bytes) { return cub::DeviceReduce::Sum(room, bytes, x, out, n); });
}

int scan(const float *x, const float *y, float *out, size_t n)
{
    return with_room(
        [=](void *room, size_t &bytes) { return cub::DeviceScan::InclusiveSum(room, bytes, x, out, n); });
}

int sort(const float *x, const float *y, float *out, size_t n)
{
    return with_room(
        [=](void *room, size_t &bytes) { return cub::DeviceRadixSort::SortKeys(room, bytes, x, out, n); });
}

int transpose(const float *x, const float *y, float *out, size_t side)
{
    const dim3 blocks(side / TILE, side / TILE), threads(TILE, ROWS);
    transposed<<<blocks, threads>>>(x, out, side);
    return cudaGetLastError();
}

int uniform(const float *x, const float *y, float *out, size_t n) { return by_philox<UNIFORM>(out, n); }
int normal(const float *x, const float *y, float *out, size_t n) { return by_philox<NORMAL>(out, n); }
int normal_fast(const float *x, const float *y, float *out, size_t n)
{
    return by_philox<FAST_NORMAL>(out, n);
}
int uniform_xorwow(const float *x, const float *y, float *out, size_t n) { return by_xorwow<false>(out, n); }
int normal_xorwow(const float *x, const float *y, float *out, size_t n) { return by_xorwow<true>(out, n); }

// out = x[y] with n indices y; n is a multiple of 4 * THREADS.
int take(const float *x, const int *y, float *out, size_t n)
{
    gathered<<<n / 4 / THREADS, THREADS>>>(x, (const int4 *)y, (float4 *)out, n / 4);
    return cudaGetLastError();
}

int backwards(const float *x, const float *y, float *out, size_t n)
{
    reversed<<<n / 4 / THREADS, THREADS>>>((const float4 *)x, (float4 *)out, n / 4);
    return cudaGetLastError();
}

}
