"""The functions of cupy.random, by one generator of pycuda.numpy.random for all.

Numbers are those of Philox on the device, not CuPy's of that seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pycuda.compat.cupy._context import require
from pycuda.gpuarray import GPUArray
from pycuda.numpy.random import Generator, default_rng

__all__ = [
    "Generator",
    "choice",
    "default_rng",
    "exponential",
    "normal",
    "permutation",
    "poisson",
    "rand",
    "randint",
    "randn",
    "random",
    "random_sample",
    "seed",
    "shuffle",
    "standard_normal",
    "uniform",
]

_Size = int | Sequence[int] | None
_generators: dict[str, Generator] = {}  # "all": the generator of this module's functions, once it is made


def __dir__() -> list[str]:
    return __all__


def _generator() -> Generator:
    """The generator that all functions of this module use."""
    require()
    if "all" not in _generators:
        _generators["all"] = default_rng()
    return _generators["all"]


def _size(size: _Size) -> Any:
    return () if size is None else size


def seed(seed: int | None = None) -> None:
    """Replace the generator by a new one.

    Parameters
    ----------
    seed : int, optional
        Without it the operating system's entropy.
    """
    _generators["all"] = default_rng(seed)


def rand(*size: int, dtype: Any = float) -> GPUArray:
    """Uniform numbers in [0, 1).

    Parameters
    ----------
    *size : int
        The shape.
    dtype : dtype, optional
    """
    return _generator().random(size, np.dtype(dtype))


def randn(*size: int, dtype: Any = float) -> GPUArray:
    """Normal numbers of mean 0 and standard deviation 1.

    Parameters
    ----------
    *size : int
        The shape.
    dtype : dtype, optional
    """
    return _generator().standard_normal(size, np.dtype(dtype))


def random(size: _Size = None, dtype: Any = float) -> GPUArray:
    """Uniform numbers in [0, 1).

    Parameters
    ----------
    size : int or sequence of int, optional
    dtype : dtype, optional
    """
    return _generator().random(_size(size), np.dtype(dtype))


def random_sample(size: _Size = None, dtype: Any = float) -> GPUArray:
    """Uniform numbers in [0, 1), as `random`.

    Parameters
    ----------
    size : int or sequence of int, optional
    dtype : dtype, optional
    """
    return random(size, dtype)


def standard_normal(size: _Size = None, dtype: Any = float) -> GPUArray:
    """Normal numbers of mean 0 and standard deviation 1.

    Parameters
    ----------
    size : int or sequence of int, optional
    dtype : dtype, optional
    """
    return _generator().standard_normal(_size(size), np.dtype(dtype))


def normal(loc: Any = 0.0, scale: Any = 1.0, size: _Size = None, dtype: Any = float) -> GPUArray:
    """Normal numbers.

    Parameters
    ----------
    loc, scale : number or array, optional
        Mean and standard deviation.
    size : int or sequence of int, optional
    dtype : dtype, optional
    """
    return _generator().normal(loc, scale, size).astype(dtype, copy=False)


def uniform(low: Any = 0.0, high: Any = 1.0, size: _Size = None, dtype: Any = float) -> GPUArray:
    """Uniform numbers in [low, high).

    Parameters
    ----------
    low, high : number or array, optional
    size : int or sequence of int, optional
    dtype : dtype, optional
    """
    return _generator().uniform(low, high, size).astype(dtype, copy=False)


def randint(low: Any, high: Any = None, size: _Size = None, dtype: Any = int) -> GPUArray:
    """Integers from low to high - 1.

    Parameters
    ----------
    low : int
        Without `high` this is the upper bound, and the lower one is 0.
    high : int, optional
    size : int or sequence of int, optional
    dtype : dtype, optional
    """
    return _generator().integers(low, high, size, np.dtype(dtype))


def exponential(scale: Any = 1.0, size: _Size = None, dtype: Any = float) -> GPUArray:
    """Exponential numbers.

    Parameters
    ----------
    scale : number or array, optional
        The mean.
    size : int or sequence of int, optional
    dtype : dtype, optional
    """
    return _generator().exponential(scale, size).astype(dtype, copy=False)


def poisson(lam: Any = 1.0, size: _Size = None, dtype: Any = int) -> GPUArray:
    """Poisson numbers.

    Parameters
    ----------
    lam : number or array, optional
        The mean.
    size : int or sequence of int, optional
    dtype : dtype, optional
    """
    return _generator().poisson(lam, size).astype(dtype, copy=False)


def choice(a: Any, size: _Size = None, replace: bool = True, p: Any = None) -> GPUArray:
    """Elements of an array, or numbers below an int, at random.

    Parameters
    ----------
    a : int or array
    size : int or sequence of int, optional
    replace : bool, optional
        Whether an element may be chosen again.
    p : array, optional
        The probability of each.
    """
    return _generator().choice(a, size, replace, p)


def permutation(a: Any) -> GPUArray:
    """A copy with the rows in a random order; of an int the numbers below it.

    Parameters
    ----------
    a : int or array
    """
    return _generator().permutation(a)


def shuffle(a: Any) -> None:
    """Bring the rows into a random order.

    Parameters
    ----------
    a : GPUArray
    """
    _generator().shuffle(a)
