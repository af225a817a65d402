/* The functions themselves are NVRTC's own; here are the constants, and their names in namespace std. */
#ifndef PYCUDA_MATH_H
#define PYCUDA_MATH_H

#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440

#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
#ifndef HUGE_VALF
#define HUGE_VALF __int_as_float(0x7f800000)
#endif
#ifndef HUGE_VAL
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000LL)
#endif
#define MAXFLOAT 3.402823466385288598e+38F

typedef float float_t;
typedef double double_t;

extern "C++" {
namespace std {
using ::abs; using ::fabs; using ::fabsf; using ::sqrt; using ::sqrtf; using ::cbrt; using ::cbrtf;
using ::hypot; using ::hypotf; using ::pow; using ::powf; using ::exp; using ::expf; using ::exp2;
using ::exp2f; using ::expm1; using ::expm1f; using ::log; using ::logf; using ::log2; using ::log2f;
using ::log10; using ::log10f; using ::log1p; using ::log1pf; using ::logb; using ::logbf; using ::ilogb;
using ::ilogbf; using ::sin; using ::sinf; using ::cos; using ::cosf; using ::tan; using ::tanf;
using ::asin; using ::asinf; using ::acos; using ::acosf; using ::atan; using ::atanf; using ::atan2;
using ::atan2f; using ::sinh; using ::sinhf; using ::cosh; using ::coshf; using ::tanh; using ::tanhf;
using ::asinh; using ::asinhf; using ::acosh; using ::acoshf; using ::atanh; using ::atanhf; using ::erf;
using ::erff; using ::erfc; using ::erfcf; using ::tgamma; using ::tgammaf; using ::lgamma; using ::lgammaf;
using ::floor; using ::floorf; using ::ceil; using ::ceilf; using ::trunc; using ::truncf; using ::round;
using ::roundf; using ::lround; using ::lroundf; using ::llround; using ::llroundf; using ::rint;
using ::rintf; using ::lrint; using ::lrintf; using ::llrint; using ::llrintf; using ::nearbyint;
using ::nearbyintf; using ::fmod; using ::fmodf; using ::remainder; using ::remainderf; using ::remquo;
using ::remquof; using ::modf; using ::modff; using ::frexp; using ::frexpf; using ::ldexp; using ::ldexpf;
using ::scalbn; using ::scalbnf; using ::scalbln; using ::scalblnf; using ::copysign; using ::copysignf;
using ::nextafter; using ::nextafterf; using ::fdim; using ::fdimf; using ::fmax; using ::fmaxf;
using ::fmin; using ::fminf; using ::fma; using ::fmaf; using ::nan; using ::nanf; using ::isnan;
using ::isinf; using ::isfinite; using ::signbit;
}
}

#endif
