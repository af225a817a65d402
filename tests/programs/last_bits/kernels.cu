// Kernels whose results depend on every rounding: products and sums that a compiler fuses, quotients, roots,
// functions.
#include <cuda_fp16.h>

#define KERNEL(name) extern "C" __global__ void name(const float *x, float *o, int n)
#define I (blockIdx.x * blockDim.x + threadIdx.x)
#define X(k) x[(I + (k)) % n]

KERNEL(mandelbrot)
{
    float cx = X(0) * 2 - 1.5f, cy = X(1) * 2 - 1, a = 0, b = 0;
    int turns = 0;
    for (; turns < 64 && a * a + b * b < 4.0f; turns++) {
        float t = a * a - b * b + cx;
        b = 2 * a * b + cy;
        a = t;
    }
    o[I] = a * b - turns;
}

KERNEL(bodies)
{
    float ax = 0, ay = 0, az = 0;
    for (int j = 0; j < 64; j++) {
        float dx = x[j] - X(0), dy = x[j + 1] - X(1), dz = x[j + 2] - X(2);
        float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
        float force = inverse * inverse * inverse;
        ax += dx * force;
        ay += dy * force;
        az += dz * force;
    }
    o[I] = ax - ay * az;
}

struct Vector {
    float x, y, z;
};
__device__ Vector cross(Vector a, Vector b)
{
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
__device__ float dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
KERNEL(vectors)
{
    Vector a = {X(0), X(3), X(9)}, b = {X(4), X(5), X(6)}, c = cross(a, b);
    for (int t = 0; t < 5; t++) {
        Vector d = cross(c, a);
        float s = dot(d, b) - dot(c, c);
        c = {d.x - s * c.x, d.y * s - c.y, s - d.z * c.z};
        float length = dot(c, c);
        c = {c.x / length, c.y / length, c.z / length};
    }
    o[I] = c.x - c.y * c.z;
}

struct Complex {
    float r, i;
};
__device__ Complex times(Complex a, Complex b) { return {a.r * b.r - a.i * b.i, a.r * b.i + a.i * b.r}; }
__device__ Complex over(Complex a, Complex b)
{
    float s = b.r * b.r + b.i * b.i;
    return {(a.r * b.r + a.i * b.i) / s, (a.i * b.r - a.r * b.i) / s};
}
KERNEL(complex_numbers)
{
    Complex z = {X(0), X(1)}, w = {X(2), X(3)};
    for (int t = 0; t < 6; t++) {
        Complex p = times(z, w), q = over(z, {w.r + 2, w.i});
        z = {p.r - q.r * w.i, p.i * q.i - w.r};
        w = times(q, q);
    }
    o[I] = z.r - z.i * w.r;
}

KERNEL(polynomial)
{
    float v = X(0), p = 1, q = v;
#pragma unroll
    for (int j = 0; j < 8; j++) p = p * v - (j + 1) * 0.37f;
    for (int j = 0; j < 20; j++) q = q * (2 - v * q);
    o[I] = p - q * v;
}

KERNEL(elimination)
{
    float m[4][4], determinant = 1;
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 4; c++) m[r][c] = x[(I * 16 + r * 4 + c) % n] + (r == c) * 3;
    for (int k = 0; k < 4; k++)
        for (int r = k + 1; r < 4; r++) {
            float f = m[r][k] / m[k][k];
            for (int c = k; c < 4; c++) m[r][c] -= f * m[k][c];
        }
    for (int k = 0; k < 4; k++) determinant *= m[k][k];
    o[I] = determinant;
}

KERNEL(variance)
{
    float mean = 0, squares = 0;
    for (int j = 1; j <= 32; j++) {
        float v = X(j * j), d = v - mean;
        mean += d / j;
        squares += d * (v - mean);
    }
    o[I] = squares / 31 - mean * mean;
}

KERNEL(branches)
{
    float a = X(0), b = X(1), c = X(2), p = a * b, q = a * c, r;
    if (c > 0.5f)
        r = p - c;
    else if (c > 0.25f)
        r = p * p - a;
    else
        r = c - p;
    for (int j = 0; j < 4; j++) {
        if (r > q)
            r = r * 0.5f - q;
        else
            r = q - r * 1.5f;
    }
    o[I] = r + p * q;
}

KERNEL(doubles)
{
    double a = X(0), b = X(1), c = X(2);
    for (int j = 0; j < 8; j++) {
        double t = a * b - c;
        c = t * t - a;
        a = (a * a + b * b) / (c * c + 1.0);
        b = sqrt(fabs(t * c - a * b));
    }
    o[I] = (float)((a - b * c) * 1e3 - floor(a * 1e3));
}

KERNEL(quaternions)
{
    float4 q = make_float4(X(0), X(1), X(2), X(3)), p = make_float4(X(5), X(6), X(7), X(8)), r;
    for (int j = 0; j < 6; j++) {
        r.w = q.w * p.w - q.x * p.x - q.y * p.y - q.z * p.z;
        r.x = q.w * p.x + q.x * p.w + q.y * p.z - q.z * p.y;
        r.y = q.w * p.y - q.x * p.z + q.y * p.w + q.z * p.x;
        r.z = q.w * p.z + q.x * p.y - q.y * p.x + q.z * p.w;
        float s = 1.0f / sqrtf(r.x * r.x + r.y * r.y + r.z * r.z + r.w * r.w);
        q = make_float4(r.x * s, r.y * s, r.z * s, r.w * s);
    }
    o[I] = q.x - q.y * q.z + q.w;
}

KERNEL(halves)
{
    __half a = __float2half(X(0)), b = __float2half(X(1)), c = __float2half(X(2));
    for (int j = 0; j < 5; j++) {
        __half t = __hsub(__hmul(a, b), c);
        c = __hadd(__hmul(t, t), a);
        b = __hsub(b, __hmul(c, a));
        a = a * b - t * c;
    }
    o[I] = __half2float(a) + __half2float(c);
}

KERNEL(pairs_of_halves)
{
    __half2 a = __floats2half2_rn(X(0), X(4)), b = __floats2half2_rn(X(1), X(9)), c = a;
    for (int j = 0; j < 5; j++) {
        c = a * b - c;
        b = c * c + a;
        a = a - b * c;
    }
    float2 f = __half22float2(a + c);
    o[I] = f.x - f.y;
}

__device__ float weight(float distance, float width)
{
    float q = distance / width, k = 1.0f / (3.1415927f * width * width * width), t = 2 - q;
    if (q < 1) return k * (1 - 1.5f * q * q + 0.75f * q * q * q);
    return q < 2 ? k * 0.25f * t * t * t : 0;
}
KERNEL(particles)
{
    float s = 0;
    for (int j = 0; j < 24; j++) {
        float dx = X(0) - x[j], dy = X(5) - x[j + 5];
        s += weight(sqrtf(dx * dx + dy * dy), 0.3f) * x[j + 9];
    }
    o[I] = s;
}

KERNEL(stencil)
{
    __shared__ float t[256];
    int l = threadIdx.x;
    t[l] = X(0);
    __syncthreads();
    for (int j = 0; j < 10; j++) {
        float v = t[l] - 0.1f * (2 * t[l] - t[(l + 1) & 255] - t[(l + 255) & 255]) * t[(l + 7) & 255];
        __syncthreads();
        t[l] = v;
        __syncthreads();
    }
    o[I] = t[l];
}

KERNEL(functions)
{
    float a = X(0) * 10 - 5, b = X(1);
    o[I] = sinf(a) * cosf(b) - expf(-a * a) * logf(b + 1) + powf(b + 0.5f, a) - atan2f(a, b) * tanf(b)
           - erff(a * b - b);
}

struct Base {
    __device__ virtual float of(float a, float b) = 0;
};
struct First : Base {
    __device__ float of(float a, float b) { return a * b - a; }
};
struct Second : Base {
    __device__ float of(float a, float b) { return b - a * a; }
};
__device__ __noinline__ float called(float a, float b, float c)
{
    float m = a * b;
    return m - c;
}
KERNEL(calls)
{
    First first;
    Second second;
    Base *base = I & 1 ? (Base *)&first : (Base *)&second;
    float v = X(0);
    for (int j = 0; j < 8; j++) v = called(base->of(v, X(j)), 0.7f, v * v);
    o[I] = v;
}

KERNEL(unrolled)
{
    float sum = 0, before = 0;
#pragma unroll 4
    for (int j = 0; j < 37; j++) {
        float t = X(j) * X(2 * j);
        sum = sum - before * 0.9f + t;
        before = t;
    }
    o[I] = sum - before;
}

KERNEL(rolled)
{
    float sum = 0, before = 1;
    int turns = (int)(X(0) * 40) + 3;
    for (int j = 0; j < turns; j++) {
        float t = before * X(j);
        sum += t;
        sum -= before * sum * 0.1f;
        before = t - sum * before;
    }
    o[I] = sum - before;
}

KERNEL(selections)
{
    float a = X(0), b = X(1), c = X(2), p = a * b, q = b * c, r = a * c;
    float s = p > q ? p - r : q - r, u = s < 0 ? -s * p : s * q, v = fmaxf(p - u, q - u) - fminf(r, p) * u;
    o[I] = v * u - p;
}
