// Bessel functions of floats, included by pycuda-special.hpp.
#ifndef PYCUDA_SPECIAL_BESSEL_FLOAT_HPP
#define PYCUDA_SPECIAL_BESSEL_FLOAT_HPP

#include "pycuda-special-float.hpp"

namespace pycuda {

static __device__ __noinline__ void sine_and_cosine_of_large(float x, float *sine, float *cosine)
{
    sincosf(x, sine, cosine);
}

// sin(x) and cos(x) for x >= 0: up to 1e5 less a multiple of pi / 2, whose last bits are subtracted apart.
PYCUDA_INLINE void sine_and_cosine(float x, float &sine, float &cosine)
{
    if (x > 1e5f) {
        sine_and_cosine_of_large(x, &sine, &cosine);
        return;
    }
    const float n = rintf(x * 0.636619772f);
    const float r = fmaf(n, 1.7151245e-15f, fmaf(n, 4.371139e-08f, fmaf(n, -1.5707964f, x))), q = r * r;
    const float s = fmaf(polynomial(q, -0.16666655f, 0.008332188f, -0.00019517995f), q * r, r);
    const float c = polynomial(q, 1.0f, -0.5f, 0.041666646f, -0.0013887301f, 2.443067e-05f);
    const int quarter = (int)n;
    sine = quarter & 1 ? c : s;
    cosine = quarter & 1 ? s : c;
    if (quarter & 2) sine = -sine;
    if ((quarter + 1) & 2) cosine = -cosine;
}

// sqrt(1 / (pi x)) (difference (sin(x) - cos(x)) + sum (sin(x) + cos(x))), where `root` is 1 / sqrt(x).
PYCUDA_INLINE float bessel_wave(float x, float root, float difference, float sum)
{
    float sine, cosine;
    sine_and_cosine(x, sine, cosine);
    return 0.564189584f * root * fmaf(difference, sine - cosine, sum * (sine + cosine));
}

PYCUDA_INLINE double bessel_y0(double x) { return y0(x); }
PYCUDA_INLINE double bessel_y1(double x) { return y1(x); }

// Y_0(x): up to 5 by DLMF 10.8.1, with polynomials of x^2 less the middle of its range, from there by the
// asymptotic form 10.17.4.
PYCUDA_INLINE float bessel_y0(float x)
{
    if (x < 5.0f) {
        const float u = fmaf(x, x, -12.5f);
        const float j = polynomial(u, -0.24493597f, -0.01102653f, 0.0028904243f, -0.00011740071f,
                                   2.2265513e-06f, -2.5105697e-08f, 1.9059623e-10f, -1.0309104e-12f);
        const float rest = polynomial(u, 0.48372486f, -0.034612466f, -0.0030116895f, 0.0001989204f,
                                      -4.567708e-06f, 5.7786806e-08f, -4.7278104e-10f, 2.7353302e-12f,
                                      -1.12159275e-14f);
        return fmaf(logf(x), j, rest);
    }
    if (isinf(x)) return 0;
    const float root = rsqrtf(x), r = root * root, q = r * r;
    const float p = polynomial(q, 1.0f, -0.07030883f, 0.11114084f, -0.4799551f, 2.0448072f);
    const float o = r * polynomial(q, -0.124999456f, 0.073038846f, -0.20562622f, 0.7543082f);
    return bessel_wave(x, root, p, o);
}

// Y_1(x), as Y_0(x).
PYCUDA_INLINE float bessel_y1(float x)
{
    if (x == 0.0f) return -INFINITY;
    if (x < 5.0f) {
        const float u = fmaf(x, x, -12.5f);
        const float j = polynomial(u, 0.02205306f, -0.011561683f, 0.00070440426f, -1.7813372e-05f,
                                   2.5105714e-07f, -2.2718483e-09f, 1.4432122e-11f, -6.6633575e-14f);
        const float rest = polynomial(u, 0.1397494f, 0.007286921f, -0.0010439698f, 3.39696e-05f,
                                      -5.5021735e-07f, 5.469013e-09f, -3.7260382e-11f, 1.8027585e-13f);
        return fmaf(x, fmaf(logf(x), j, rest), -0.636619772f / x);
    }
    if (isinf(x)) return 0;
    const float root = rsqrtf(x), r = root * root, q = r * r;
    const float p = polynomial(q, 1.0f, 0.11718334f, -0.14305317f, 0.57237494f, -2.3745093f);
    const float o = r * polynomial(q, 0.37499937f, -0.102306224f, 0.2530836f, -0.89097905f);
    return bessel_wave(x, root, o, -p);
}

// exp(-|x|) I_N(x): a polynomial in x^2, for large x one in 1 / |x| (DLMF 10.25.2, 10.40.1).
template <int N> PYCUDA_INLINE float scaled_bessel_i(float x)
{
    const float y = fabsf(x);
    float value;
    if (y < 6.0f) {
        const float q = y * y;
        const float p =
            N ? y
                    * polynomial(q, 0.5f, 0.0625f, 0.0026041672f, 5.4253134e-05f, 6.7824385e-07f,
                                 5.6432015e-09f, 3.4120956e-11f, 1.3468104e-13f, 7.731301e-16f)
              : polynomial(q, 1.0f, 0.24999999f, 0.01562502f, 0.0004340189f, 6.7834185e-06f,
                           6.763927e-08f, 4.8107157e-10f, 2.0824497e-12f, 1.4530088e-14f);
        value = expf(-y) * p;
    } else {
        const float root = rsqrtf(y), r = root * root;
        value = root
                * (N ? polynomial(r, 0.3989423f, -0.14961019f, -0.046248674f, -0.053645205f,
                                  0.07822521f, -0.66927296f)
                     : polynomial(r, 0.39894226f, 0.049875207f, 0.02755706f, 0.041154098f,
                                  -0.07890596f, 0.58905584f));
    }
    return N && x < 0.0f ? -value : value;
}

}  // namespace pycuda

#endif
