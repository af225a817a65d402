"""Sine, cosine and exponential integrals."""

from __future__ import annotations

import numpy as np

from pycuda import gpuarray
from pycuda.elementwise import ElementwiseKernel
from pycuda.tools import context_dependent_memoize

# E1 in double precision: a power series where it converges fast and does not cancel, along the negative axis
# its asymptotic series, elsewhere a continued fraction (Abramowitz and Stegun 5.1.11, 5.1.51, 5.1.22). The
# last two compute E1(z) * exp(z), and exp1 multiplies by exp(-z).
_SOURCE = r"""
// A complex number.
struct E1 { double x, y; };

__device__ E1 times(E1 a, E1 b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
__device__ E1 inverse(E1 a)
{
    double scale = 1 / (a.x * a.x + a.y * a.y);
    return {a.x * scale, -a.y * scale};
}
// |re| + |im|, for comparisons of magnitudes.
__device__ double size(E1 a) { return fabs(a.x) + fabs(a.y); }

__device__ E1 power_series(E1 z)
{
    E1 sum = {0, 0}, term = {-1, 0};
    for (int k = 1; k < 1000; k++) {
        term = times(term, {-z.x / k, -z.y / k});
        sum.x += term.x / k;
        sum.y += term.y / k;
        if (size(term) < 1e-17 * k * size(sum)) break;
    }
    const double euler_gamma = 0.57721566490153286061;
    return {sum.x - euler_gamma - log(hypot(z.x, z.y)), sum.y - atan2(z.y, z.x)};
}

__device__ E1 asymptotic_series(E1 z)
{
    E1 sum = {1, 0}, term = {1, 0}, step = inverse(z);
    for (int k = 1; k < 40; k++) {
        term = times(term, {-k * step.x, -k * step.y});
        sum.x += term.x;
        sum.y += term.y;
        if (size(term) < 1e-17) break;
    }
    return times(sum, step);
}

// Lentz's method: c and d are ratios of successive numerators and denominators.
__device__ E1 continued_fraction(E1 z)
{
    E1 b = {z.x + 1, z.y}, d = inverse(b), c = {1e300, 0}, product = d;
    for (int k = 1; k < 1000; k++) {
        double a = -double(k) * k;
        b.x += 2;
        d = inverse({a * d.x + b.x, a * d.y + b.y});
        c = inverse(c);
        c = {b.x + a * c.x, b.y + a * c.y};
        E1 factor = times(c, d);
        product = times(product, factor);
        if (fabs(factor.x - 1) + fabs(factor.y) < 1e-16) break;
    }
    return product;
}

__device__ E1 exp1(E1 z)
{
    bool along_negative_axis = z.x < -2 * fabs(z.y);
    double length = hypot(z.x, z.y);
    if (length < 5 || (along_negative_axis && length < 40)) return power_series(z);
    E1 found = along_negative_axis ? asymptotic_series(z) : continued_fraction(z);
    double scale = exp(-z.x), sine, cosine;
    sincos(z.y, &sine, &cosine);
    found = times(found, {scale * cosine, -scale * sine});
    // On the branch cut the sign of the zero says on which side z is.
    if (along_negative_axis && z.y == 0) found.y = -copysign(3.14159265358979323846, z.y);
    return found;
}

__device__ E1 expi(E1 z)
{
    E1 found = exp1({-z.x, -z.y});
    double jump = z.y != 0 || z.x > 0 ? copysign(3.14159265358979323846, z.y) : 0;
    return {-found.x, jump - found.y};
}
"""
_TYPES = {"float32": "float", "float64": "double", "complex64": "float", "complex128": "double"}


@context_dependent_memoize
def _complex_kernel(name: str, dtype: str) -> ElementwiseKernel:
    """The kernel that stores exp1 or expi of z[i] in e[i]."""
    number = f"pycuda::complex<{_TYPES[dtype]}>"
    body = f"E1 found = {name}({{z[i].real(), z[i].imag()}}); e[i] = {number}(found.x, found.y)"
    return ElementwiseKernel(f"{number} *z, {number} *e", body, f"skcuda_{name}", preamble=_SOURCE)


@context_dependent_memoize
def _sici_kernel(dtype: str) -> ElementwiseKernel:
    """The kernel that stores Si of x[i] in s[i] and Ci in c[i]: E1(ix) = -Ci(x) + i (Si(x) - pi /
    2), x > 0.
    """
    number = _TYPES[dtype]
    body = """
        E1 found = exp1({0, fabs((double)x[i])});
        s[i] = x[i] == 0 ? 0 : copysign(1.57079632679489661923 + found.y, (double)x[i]);
        c[i] = -found.x
    """
    return ElementwiseKernel(f"{number} *x, {number} *s, {number} *c", body, "skcuda_sici", preamble=_SOURCE)


def _required_dtype(array, kind: str) -> str:
    """The name of the array's dtype; ValueError if it is not of this kind, in single or double precision."""
    if array.dtype.kind != kind or array.dtype.name not in _TYPES:
        names = [each for each in _TYPES if np.dtype(each).kind == kind]
        raise ValueError(f"the dtype is {array.dtype}, must be {' or '.join(names)}")
    return array.dtype.name


def sici(x_gpu):
    """The sine and cosine integrals of real numbers, as a tuple of arrays.

    Examples
    --------
    >>> import numpy as np
    >>> import pycuda.autoinit
    >>> import pycuda.gpuarray as gpuarray
    >>> import skcuda.special
    >>> si, ci = skcuda.special.sici(gpuarray.to_gpu(np.array([1.0, 2])))
    >>> print(si.get().round(6), ci.get().round(6))
    [0.946083 1.605413] [0.337404 0.422981]
    """
    kernel = _sici_kernel(_required_dtype(x_gpu, "f"))
    si, ci = gpuarray.empty_like(x_gpu), gpuarray.empty_like(x_gpu)
    kernel(x_gpu, si, ci)
    return si, ci


def exp1(z_gpu):
    """The exponential integral E1 of complex numbers."""
    kernel, result = _complex_kernel("exp1", _required_dtype(z_gpu, "c")), gpuarray.empty_like(z_gpu)
    kernel(z_gpu, result)
    return result


def expi(z_gpu):
    """The exponential integral Ei of complex numbers."""
    kernel, result = _complex_kernel("expi", _required_dtype(z_gpu, "c")), gpuarray.empty_like(z_gpu)
    kernel(z_gpu, result)
    return result
