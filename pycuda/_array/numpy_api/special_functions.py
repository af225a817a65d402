"""The functions of pycuda.numpy.special: a ufunc for each row of SCIPY_FUNCTIONS, and functions of these."""

from __future__ import annotations

import functools
import math
import re
from typing import TYPE_CHECKING, Any

from pycuda._array.numpy_api.host_data import as_operand
from pycuda._array.numpy_api.ufunc_objects import OwnUfunc, Ufunc
from pycuda._kernels.builtin.functions import SCIPY_FUNCTIONS

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray

# Other names of functions.
_SAME = {"digamma": "psi"}


class SpecialUfunc(Ufunc):
    """A ufunc by the name of one of scipy.special's."""

    def __init__(self, name: str) -> None:
        row = SCIPY_FUNCTIONS[name]
        operands = {*re.findall(r"\b[a-c]\b", row.body["f"])}
        super().__init__(OwnUfunc(name, len(operands)))
        self.__module__ = "pycuda.numpy.special"
        self.__doc__ = f"scipy.special.{name}, element by element on the device."
        self._row = row.name


@functools.cache
def _of_row(name: str) -> SpecialUfunc:
    return SpecialUfunc(name)


def special_ufunc(name: str) -> SpecialUfunc:
    """The ufunc of this name of scipy.special's.

    Raises
    ------
    AttributeError
        There is none.
    """
    row = _SAME.get(name, name)
    if row not in SCIPY_FUNCTIONS:
        raise AttributeError(
            f"module 'pycuda.numpy.special' has no attribute {name!r}; call scipy.special.{name} with copies "
            "in host memory, which array.get() makes"
        )
    return _of_row(row)


def special_names() -> list[str]:
    """The names in pycuda.numpy.special."""
    return sorted({*SCIPY_FUNCTIONS, *_SAME, "multigammaln", "polygamma", "zeta"} - {"riemann_zeta"})


def zeta(x: Any, q: Any = None, out: GPUArray | None = None) -> GPUArray:
    """scipy.special.zeta: the sum of (k + q)^-x over k = 0, 1, 2, ...; without q Riemann's function.

    Parameters
    ----------
    x, q : GPUArray, number, or data in host memory
        Of real numbers. They broadcast against each other.
    out : GPUArray, optional

    Returns
    -------
    GPUArray
        float32 where the operands are, else float64. With q it is NaN for x < 1.

    Notes
    -----
    Sums and their tails by Euler-Maclaurin (DLMF 25.11.5), for negative x the reflection (DLMF 25.4.1).

    Examples
    --------
    >>> import pycuda.numpy as xp
    >>> import pycuda.autoprimaryctx
    >>> round(float(xp.special.zeta(2.0)), 6)
    1.644934
    """
    return special_ufunc("riemann_zeta")(x, out=out) if q is None else special_ufunc("zeta")(x, q, out=out)


def polygamma(n: Any, x: Any) -> GPUArray:
    """scipy.special.polygamma: the n-th derivative of psi.

    Parameters
    ----------
    n, x : GPUArray, number, or data in host memory
        n of whole numbers that are not negative. They broadcast against each other.

    Returns
    -------
    GPUArray
        Of float64.

    Notes
    -----
    DLMF 25.11.12: (-1)^(n + 1) n! zeta(n + 1, x).

    Examples
    --------
    >>> import pycuda.numpy as xp
    >>> import pycuda.autoprimaryctx
    >>> round(float(xp.special.polygamma(1, 1.0)), 6)
    1.644934
    """
    import pycuda.numpy as xp

    n, x = xp.asarray(n, dtype=xp.float64), xp.asarray(x, dtype=xp.float64)
    value = special_ufunc("gamma")(n + 1) * special_ufunc("zeta")(n + 1, x)
    return xp.where(n == 0, special_ufunc("psi")(x), xp.where(n % 2 == 0, -value, value))


def multigammaln(a: Any, d: int) -> GPUArray:
    """scipy.special.multigammaln: the logarithm of the multivariate gamma function.

    Parameters
    ----------
    a : GPUArray, number, or data in host memory
        Greater than (d - 1) / 2.
    d : int
        The dimension, from 1.

    Returns
    -------
    GPUArray

    Raises
    ------
    ValueError
        For a `d` that is not a positive integer, and elements of `a` that are too small, for which the
        result is waited for.

    Notes
    -----
    DLMF 35.3.4.

    Examples
    --------
    >>> import pycuda.numpy as xp
    >>> import pycuda.autoprimaryctx
    >>> round(float(xp.special.multigammaln(3.0, 2)), 6)
    1.550195
    """
    import pycuda.numpy as xp

    a, dimension = as_operand(a, numbers=True), int(d)
    if dimension != d or dimension < 1:
        raise ValueError(f"d must be a positive integer (dimension), not {d}")
    if bool(xp.any(a <= (dimension - 1) / 2)):
        raise ValueError(f"a must be greater than (d - 1) / 2 = {(dimension - 1) / 2}")
    value = dimension * (dimension - 1) / 4 * math.log(math.pi)
    for j in range(dimension):
        value = special_ufunc("gammaln")(a - j / 2) + value
    return value
