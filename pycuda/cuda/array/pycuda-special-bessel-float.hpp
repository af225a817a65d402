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
    const float s = fmaf(polynomial(q, -0.166666552f, 0.00833218824f, -0.00019517995f), q * r, r);
    const float c = polynomial(q, 1.0f, -0.5f, 0.0416666456f, -0.00138873013f, 2.44306702e-05f);
    const int quarter = (int)n;
    sine = quarter & 1 ? c : s;
    cosine = quarter & 1 ? s : c;
    if (quarter & 2) sine = -sine;
    if ((quarter + 1) & 2) cosine = -cosine;
}

PYCUDA_INLINE double bessel_y0(double x) { return y0(x); }
PYCUDA_INLINE double bessel_y1(double x) { return y1(x); }

// Y_0(x): up to 5 by DLMF 10.8.1, with polynomials of x^2 less the middle of its range, from there by the
// asymptotic form 10.17.4.
PYCUDA_INLINE float bessel_y0(float x)
{
    if (x < 5.0f) {
        const float u = fmaf(x, x, -12.5f);
        const float j = polynomial(u, -0.244935974f, -0.0110265296f, 0.00289042434f, -0.000117400712f,
                                   2.22655126e-06f, -2.51056971e-08f, 1.90596233e-10f, -1.03091038e-12f);
        const float rest = polynomial(u, 0.483724862f, -0.0346124656f, -0.00301168952f, 0.000198920403f,
                                      -4.56770795e-06f, 5.77868065e-08f, -4.72781037e-10f, 2.73533019e-12f,
                                      -1.12159275e-14f);
        return fmaf(logf(x), j, rest);
    }
    if (isinf(x)) return 0;
    const float root = rsqrtf(x), r = root * root, q = r * r;
    const float p = polynomial(q, 1.0f, -0.0703088269f, 0.11114084f, -0.479953617f, 2.04476643f);
    const float o = r * polynomial(q, -0.124999456f, 0.0730388537f, -0.205626816f, 0.754318595f);
    float sine, cosine;
    sine_and_cosine(x, sine, cosine);
    return 0.564189584f * root * fmaf(p, sine - cosine, o * (sine + cosine));
}

// Y_1(x), as Y_0(x).
PYCUDA_INLINE float bessel_y1(float x)
{
    if (x == 0.0f) return -INFINITY;
    if (x < 5.0f) {
        const float u = fmaf(x, x, -12.5f);
        const float j = polynomial(u, 0.0220530592f, -0.0115616834f, 0.000704404258f, -1.78133723e-05f,
                                   2.51057145e-07f, -2.27184827e-09f, 1.44321222e-11f, -6.66335747e-14f);
        const float rest = polynomial(u, 0.139749393f, 0.00728692114f, -0.00104396977f, 3.39696016e-05f,
                                      -5.50217351e-07f, 5.4690128e-09f, -3.72603823e-11f, 1.80275852e-13f);
        return fmaf(x, fmaf(logf(x), j, rest), -0.636619772f / x);
    }
    if (isinf(x)) return 0;
    const float root = rsqrtf(x), r = root * root, q = r * r;
    const float p = polynomial(q, 1.0f, 0.117183343f, -0.143053174f, 0.572374761f, -2.37450743f);
    const float o = r * polynomial(q, 0.374999374f, -0.10230618f, 0.253080726f, -0.890933931f);
    float sine, cosine;
    sine_and_cosine(x, sine, cosine);
    return 0.564189584f * root * fmaf(o, sine - cosine, -p * (sine + cosine));
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
                    * polynomial(q, 0.5f, 0.0625f, 0.00260416721f, 5.42531343e-05f, 6.7824385e-07f,
                                 5.64320146e-09f, 3.41209561e-11f, 1.34681044e-13f, 7.73130117e-16f)
              : polynomial(q, 1.0f, 0.249999985f, 0.0156250205f, 0.000434018904f, 6.78341848e-06f,
                           6.76392702e-08f, 4.81071571e-10f, 2.08244966e-12f, 1.45300879e-14f);
        value = expf(-y) * p;
    } else {
        const float root = rsqrtf(y), r = root * root;
        value = root
                * (N ? polynomial(r, 0.398942292f, -0.149610192f, -0.0462486744f, -0.0536452048f,
                                  0.0782252103f, -0.669272959f)
                     : polynomial(r, 0.398942262f, 0.0498752072f, 0.0275570601f, 0.0411540978f,
                                  -0.0789059624f, 0.589055836f));
    }
    return N && x < 0.0f ? -value : value;
}

}  // namespace pycuda

#endif
