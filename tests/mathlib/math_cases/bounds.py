"""How far the functions may be off that are not defined to the bit: the largest errors that the CUDA
programming guide gives, in units of the last place of the result, and for some an absolute error besides.

Two values that each keep a bound may differ by twice as much: so ours and the GPU's. A reference in a wider
type, where there is one, is compared with besides.
"""

import math
from dataclasses import dataclass

import numpy as np

FLOAT = """rsqrtf 2 cbrtf 1 rcbrtf 1 rhypotf 2 rnorm3df 2 rnorm4df 2 rnormf 2 expf 2 exp2f 2 exp10f 2
expm1f 1 tanf 4 asinf 2 acosf 2 atanf 2 sinhf 3 coshf 2 tanhf 2 asinhf 3 acoshf 4 atanhf 3 powf
4 erff 2 erfcf 4 erfinvf 2 erfcinvf 4 erfcxf 4 normcdff 5 normcdfinvf 5 lgammaf 6 tgammaf 5 j0f
9 j1f 9 y0f 9 y1f 9 jnf 9 ynf 24 cyl_bessel_i0f 6 cyl_bessel_i1f 6 __fdividef 2 __frsqrt_rn 1
__log2f 2 __log10f 3 __logf 3 __tanhf 1"""
DOUBLE = """rsqrt 1 cbrt 1 rcbrt 1 hypot 2 rhypot 1 norm3d 2 rnorm3d 1 norm4d 2 rnorm4d 1 norm 2 rnorm 1 log
1 log2 1 log10 1 log1p 1 tan 2 asin 2 acos 2 atan 2 cosh 1 tanh 1 asinh 3 acosh 3 atanh 2 pow 2
erf 2 erfc 5 erfinv 5 erfcinv 6 erfcx 4 normcdf 5 normcdfinv 8 lgamma 4 tgamma 10 j0 7 j1 7 y0 7
y1 7 jn 7 yn 24 cyl_bessel_i0 6 cyl_bessel_i1 6"""
HALF_ULPS = 2  # rounded from a better result
EPSILON = {"f": 2.0**-23, "d": 2.0**-52, "h": 2.0**-10, "b": 2.0**-7}
SMALLEST = {"f": 2.0**-149, "d": 2.0**-1074, "h": 2.0**-24, "b": 2.0**-133}
LARGEST = {"f": 3.4028234663852886e38, "d": 1.7976931348623157e308, "h": 65504.0, "b": 3.3895313892515355e38}


@dataclass(frozen=True)
class Bound:
    ulps: float
    absolute: float = 0.0
    holds: object = None  # where the guide gives an error; everywhere without
    more: object = None  # further units in the last place, by argument


def pairs(text):
    words = text.split()
    return {name: float(ulps) for name, ulps in zip(words[::2], words[1::2], strict=True)}


def near(limit):
    return lambda a, *_: np.abs(a) <= limit


BOUNDS = {name: Bound(ulps) for name, ulps in (pairs(FLOAT) | pairs(DOUBLE)).items()}
# Far from zero, and between poles, only an absolute error is given.
BOUNDS |= {name: Bound(BOUNDS[name].ulps, 2.2e-6) for name in ("j0f", "j1f", "y0f", "y1f", "jnf", "ynf")}
BOUNDS |= {name: Bound(BOUNDS[name].ulps, 5e-12) for name in ("j0", "j1", "y0", "y1", "jn", "yn")}
BOUNDS["lgammaf"] = Bound(6, holds=lambda a: (a > -2.26) | (a < -10.01))
BOUNDS["lgamma"] = Bound(4, holds=lambda a: (a > -2.26) | (a < -23.01))
# The intrinsics.
BOUNDS["__sinf"] = Bound(0, 2.0**-21.41, near(math.pi))
BOUNDS["__cosf"] = Bound(0, 2.0**-21.19, near(math.pi))
BOUNDS["__sincosf"] = Bound(0, 2.0**-21.19, near(math.pi))
BOUNDS["__tanf"] = Bound(8, 2.0**-20, near(1.2))
BOUNDS["__tanhf"] = Bound(2.0**12)
BOUNDS["__fdividef"] = Bound(2, holds=lambda a, b: (np.abs(b) >= 2.0**-126) & (np.abs(b) <= 2.0**126))
BOUNDS["fdividef"] = BOUNDS["__fdividef"]
BOUNDS["__expf"] = Bound(2, more=lambda a: np.floor(np.abs(1.173 * a)))
BOUNDS["__exp10f"] = Bound(2, more=lambda a: np.floor(np.abs(2.97 * a)))
BOUNDS["__logf"] = Bound(3, 2.0**-21.41)
BOUNDS["__log2f"] = Bound(2, 2.0**-22)
BOUNDS["__log10f"] = Bound(3, 2.0**-24)
# exp2(b * log2(a)): the error of the logarithm counts as often as the exponent is large.
BOUNDS["__powf"] = Bound(4, more=lambda a, b: np.abs(b) * (2 + 2 * np.abs(np.log2(np.abs(a)))))


def bound_of(function):
    if function.result in "hHbB":
        return Bound(HALF_ULPS, 2.0**-10.9 if function.name.endswith("tanh_approx") else 0.0)
    return BOUNDS[function.name.split()[0]]


def rounds_alike(function):
    """Whether rounding to a half leaves nothing of the error of float instructions: all but tanh's, which is
    made for halves."""
    return function.result in "hHbB" and not function.name.endswith("tanh_approx")


def on_scalars(function):
    def one(value):
        try:
            return function(value)
        except (OverflowError, ValueError):
            return math.nan

    return np.vectorize(one, otypes=[float])


# What doubles give, by the name without the f of float; not near enough to judge the double functions.
REFERENCES = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "cosh": np.cosh,
    "erf": on_scalars(math.erf),
    "erfc": on_scalars(math.erfc),
    "exp": np.exp,
    "exp10": lambda a: np.power(10.0, a),
    "exp2": np.exp2,
    "expm1": np.expm1,
    "lgamma": on_scalars(math.lgamma),
    "pow": np.power,
    "rcbrt": lambda a: 1 / np.cbrt(a),
    "rhypot": lambda a, b: 1 / np.hypot(a, b),
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "sinh": np.sinh,
    "tan": np.tan,
    "tanh": np.tanh,
    "tgamma": on_scalars(math.gamma),
    "__log": np.log,
    "__log2": np.log2,
    "__log10": np.log10,
    "__sin": np.sin,
    "__cos": np.cos,
    "__fdivide": np.divide,
    "__exp": np.exp,
    "fdivide": np.divide,
    "hexp": np.exp,
    "hexp2": np.exp2,
    "hexp10": lambda a: np.power(10.0, a),
    "hlog": np.log,
    "hlog2": np.log2,
    "hlog10": np.log10,
    "hrcp": lambda a: 1 / a,
    "hrsqrt": lambda a: 1 / np.sqrt(a),
    "hsqrt": np.sqrt,
    "htanh": np.tanh,
    "__hdiv": np.divide,
}


def reference_of(function):
    """Computes a function of float or half in double; none for others."""
    if function.result == "f" and set(function.signature) == {"f"}:
        return REFERENCES.get(function.name.removesuffix("f"))
    return REFERENCES.get(function.name) if function.result in "hb" else None
