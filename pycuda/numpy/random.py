"""Random arrays by the names of NumPy's Generator: ``rng = pycuda.numpy.random.default_rng(seed)``.

Numbers are made on the device by Philox 4x32-10: the same seed gives the same numbers on every device, an
element's number depends on the seed, on the number of the call and on the element's place. They are not those
of numpy.random with that seed. Generators by cuRAND's names are in pycuda.curandom.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.random import SeedSequence

from pycuda import _driver
from pycuda._array.core.creation import arange
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.elementwise import apply
from pycuda._array.core.operands import result_or_out
from pycuda._array.numpy_api.likes import asarray
from pycuda._array.random import distributions
from pycuda._array.random.distributions import checked_parameter
from pycuda._base.public_names import documented_init as _documented_init

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

    from pycuda._array.core.types import Array, DTypeOf, HostOrDevice, Scalar
    from pycuda.gpuarray import GPUArray

    _Size = int | Sequence[int] | None
    _Parameter = float | HostOrDevice

__all__ = ["Generator", "SeedSequence", "default_rng"]


def __dir__() -> list[str]:
    return __all__


def _is_not_negative(value: Any) -> Any:
    return value >= 0


def _is_positive(value: Any) -> Any:
    return value > 0


@_documented_init
class Generator:
    """Makes random arrays, by the methods of numpy.random.Generator.

    Parameters are numbers, lists or arrays, which broadcast with `size`; without `size` the result has their
    shape, and is 0-d if they are numbers. Numbers and lists are checked as NumPy checks them. Arrays on the
    device are not checked: where a parameter is invalid the number is NaN or 0.

    Parameters
    ----------
    seed : SeedSequence
        See default_rng, which makes generators.
    """

    def __init__(self, seed: SeedSequence) -> None:
        if not isinstance(seed, SeedSequence):
            raise TypeError(f"seed must be a SeedSequence, not {type(seed).__name__}: use default_rng()")
        self._draws = distributions.Draws(seed)

    def __repr__(self) -> str:
        return f"<pycuda.numpy.random.Generator(Philox4x32_10) of {self._draws.seed_sequence.entropy}>"

    @property
    def seed_sequence(self) -> SeedSequence:
        """What the generator was seeded with."""
        return self._draws.seed_sequence

    def spawn(self, n_children: int) -> list[Generator]:
        """Generators whose numbers are independent of this one's and of each other's.

        Parameters
        ----------
        n_children : int
        """
        return [type(self)(each) for each in self._draws.seed_sequence.spawn(n_children)]

    # ---- uniform numbers

    @overload
    def random(
        self, size: _Size = None, dtype: type[np.float64] = ..., out: Any = None
    ) -> GPUArray[np.float64]: ...
    @overload
    def random(self, size: _Size = None, *, dtype: DTypeOf[Scalar], out: Any = None) -> GPUArray[Scalar]: ...
    @overload
    def random(self, size: _Size = None, dtype: DTypeLike = ..., out: Any = None) -> GPUArray: ...

    def random(self, size: _Size = None, dtype: DTypeLike = np.float64, out: Any = None) -> GPUArray:
        """Uniform numbers in [0, 1).

        Parameters
        ----------
        size : int or sequence of int, optional
        dtype : dtype, optional
            float64 or float32.
        out : GPUArray, optional
            Of that dtype, which is filled.
        """
        dtype = distributions.float_dtype(dtype)
        return distributions.new_numbers(self._draws, "Uniform", size, 0.0, 1.0, dtype, out)

    def uniform(
        self, low: _Parameter = 0.0, high: _Parameter = 1.0, size: _Size = None
    ) -> GPUArray[np.float64]:
        """Uniform numbers in [low, high).

        Parameters
        ----------
        low, high : number or array, optional
        size : int or sequence of int, optional
        """
        low, high = distributions.parameter(low), distributions.parameter(high)
        difference = distributions.difference(high, low)
        return distributions.new_numbers(self._draws, "Uniform", size, low, difference)

    @overload
    def integers(
        self,
        low: _Parameter,
        high: _Parameter | None = None,
        size: _Size = None,
        dtype: type[np.int64] = ...,
        endpoint: bool = False,
    ) -> GPUArray[np.int64]: ...
    @overload
    def integers(
        self,
        low: _Parameter,
        high: _Parameter | None = None,
        size: _Size = None,
        *,
        dtype: DTypeOf[Scalar],
        endpoint: bool = False,
    ) -> GPUArray[Scalar]: ...
    @overload
    def integers(
        self,
        low: _Parameter,
        high: _Parameter | None = None,
        size: _Size = None,
        dtype: DTypeLike = ...,
        endpoint: bool = False,
    ) -> GPUArray: ...

    def integers(
        self, low: _Parameter, high: _Parameter | None = None, size: _Size = None,
        dtype: DTypeLike = np.int64, endpoint: bool = False,
    ) -> GPUArray:  # fmt: skip
        """Integers from low to high - 1, all with the same probability.

        Parameters
        ----------
        low : int or array of int
            The smallest number. Without `high` it is the upper bound, and the numbers begin at 0.
        high : int or array of int, optional
        size : int or sequence of int, optional
        dtype : dtype, optional
            Of integers, or bool.
        endpoint : bool, optional
            Whether `high` is one of the numbers, too.
        """
        return distributions.integers(self._draws, low, high, size, dtype, endpoint)

    def bytes(self, length: int) -> bytes:
        """Random bytes on the host.

        Parameters
        ----------
        length : int
        """
        return self.integers(0, 256, operator.index(length), np.uint8).get().tobytes()

    # ---- distributions

    @overload
    def standard_normal(
        self, size: _Size = None, dtype: type[np.float64] = ..., out: Any = None
    ) -> GPUArray[np.float64]: ...
    @overload
    def standard_normal(
        self, size: _Size = None, *, dtype: DTypeOf[Scalar], out: Any = None
    ) -> GPUArray[Scalar]: ...
    @overload
    def standard_normal(self, size: _Size = None, dtype: DTypeLike = ..., out: Any = None) -> GPUArray: ...

    def standard_normal(self, size: _Size = None, dtype: DTypeLike = np.float64, out: Any = None) -> GPUArray:
        """Normal numbers of mean 0 and standard deviation 1.

        Parameters
        ----------
        size : int or sequence of int, optional
        dtype : dtype, optional
            float64 or float32.
        out : GPUArray, optional
        """
        dtype = distributions.float_dtype(dtype)
        return distributions.new_numbers(self._draws, "Normal", size, 0.0, 1.0, dtype, out)

    def normal(
        self, loc: _Parameter = 0.0, scale: _Parameter = 1.0, size: _Size = None
    ) -> GPUArray[np.float64]:
        """Normal numbers.

        Parameters
        ----------
        loc, scale : number or array, optional
            Mean and standard deviation.
        size : int or sequence of int, optional
        """
        loc, scale = distributions.parameter(loc), checked_parameter("scale", scale, _is_not_negative, "< 0")
        return distributions.new_numbers(self._draws, "Normal", size, loc, scale)

    def lognormal(
        self, mean: _Parameter = 0.0, sigma: _Parameter = 1.0, size: _Size = None
    ) -> GPUArray[np.float64]:
        """Numbers whose logarithms are normal.

        Parameters
        ----------
        mean, sigma : number or array, optional
            Of the logarithms.
        size : int or sequence of int, optional
        """
        mean, sigma = (
            distributions.parameter(mean),
            checked_parameter("sigma", sigma, _is_not_negative, "< 0"),
        )
        return apply("exp", distributions.new_numbers(self._draws, "Normal", size, mean, sigma))

    @overload
    def standard_exponential(
        self, size: _Size = None, dtype: type[np.float64] = ..., method: str = ..., out: Any = None
    ) -> GPUArray[np.float64]: ...
    @overload
    def standard_exponential(
        self, size: _Size = None, *, dtype: DTypeOf[Scalar], method: str = ..., out: Any = None
    ) -> GPUArray[Scalar]: ...
    @overload
    def standard_exponential(
        self, size: _Size = None, dtype: DTypeLike = ..., method: str = ..., out: Any = None
    ) -> GPUArray: ...

    def standard_exponential(
        self, size: _Size = None, dtype: DTypeLike = np.float64, method: str = "zig", out: Any = None
    ) -> GPUArray:
        """Exponential numbers of mean 1.

        Parameters
        ----------
        size : int or sequence of int, optional
        dtype : dtype, optional
            float64 or float32.
        method : {"zig", "inv"}, optional
            Both invert the distribution function.
        out : GPUArray, optional
        """
        if method not in ("zig", "inv"):
            raise ValueError(f"method is {method!r}: it must be 'zig' or 'inv'")
        dtype = distributions.float_dtype(dtype)
        return distributions.new_numbers(self._draws, "Exponential", size, 1.0, 0.0, dtype, out)

    def exponential(self, scale: _Parameter = 1.0, size: _Size = None) -> GPUArray[np.float64]:
        """Exponential numbers.

        Parameters
        ----------
        scale : number or array, optional
            The mean.
        size : int or sequence of int, optional
        """
        scale = checked_parameter("scale", scale, _is_not_negative, "< 0")
        return distributions.new_numbers(self._draws, "Exponential", size, scale)

    @overload
    def standard_gamma(
        self, shape: _Parameter, size: _Size = None, dtype: type[np.float64] = ..., out: Any = None
    ) -> GPUArray[np.float64]: ...
    @overload
    def standard_gamma(
        self, shape: _Parameter, size: _Size = None, *, dtype: DTypeOf[Scalar], out: Any = None
    ) -> GPUArray[Scalar]: ...
    @overload
    def standard_gamma(
        self, shape: _Parameter, size: _Size = None, dtype: DTypeLike = ..., out: Any = None
    ) -> GPUArray: ...

    def standard_gamma(
        self, shape: _Parameter, size: _Size = None, dtype: DTypeLike = np.float64, out: Any = None
    ) -> GPUArray:
        """Numbers of the gamma distribution with scale 1.

        Parameters
        ----------
        shape : number or array
        size : int or sequence of int, optional
        dtype : dtype, optional
            float64 or float32.
        out : GPUArray, optional
        """
        shape, dtype = (
            checked_parameter("shape", shape, _is_not_negative, "< 0"),
            distributions.float_dtype(dtype),
        )
        return distributions.new_numbers(self._draws, "Gamma", size, shape, 1.0, dtype, out)

    def gamma(self, shape: _Parameter, scale: _Parameter = 1.0, size: _Size = None) -> GPUArray[np.float64]:
        """Numbers of the gamma distribution.

        Parameters
        ----------
        shape, scale : number or array
        size : int or sequence of int, optional
        """
        shape, scale = (
            checked_parameter("shape", shape, _is_not_negative, "< 0"),
            checked_parameter("scale", scale, _is_not_negative, "< 0"),
        )
        return distributions.new_numbers(self._draws, "Gamma", size, shape, scale)

    def chisquare(self, df: _Parameter, size: _Size = None) -> GPUArray[np.float64]:
        """Numbers of the chi-square distribution.

        Parameters
        ----------
        df : number or array
            Degrees of freedom.
        size : int or sequence of int, optional
        """
        df = checked_parameter("df", df, _is_positive, "<= 0")
        return distributions.new_numbers(self._draws, "Gamma", size, distributions.half(df), 2.0)

    def beta(self, a: _Parameter, b: _Parameter, size: _Size = None) -> GPUArray[np.float64]:
        """Numbers of the beta distribution.

        Parameters
        ----------
        a, b : number or array
        size : int or sequence of int, optional
        """
        a, b = (
            checked_parameter("a", a, _is_positive, "<= 0"),
            checked_parameter("b", b, _is_positive, "<= 0"),
        )
        return distributions.new_numbers(self._draws, "Beta", size, a, b)

    def laplace(
        self, loc: _Parameter = 0.0, scale: _Parameter = 1.0, size: _Size = None
    ) -> GPUArray[np.float64]:
        """Numbers of the Laplace distribution.

        Parameters
        ----------
        loc, scale : number or array, optional
        size : int or sequence of int, optional
        """
        center, width = (
            distributions.parameter(loc),
            checked_parameter("scale", scale, _is_not_negative, "< 0"),
        )
        shape = distributions.shape_of(size, center, width)
        return center + width * (self.standard_exponential(shape) - self.standard_exponential(shape))

    def logistic(
        self, loc: _Parameter = 0.0, scale: _Parameter = 1.0, size: _Size = None
    ) -> GPUArray[np.float64]:
        """Numbers of the logistic distribution.

        Parameters
        ----------
        loc, scale : number or array, optional
        size : int or sequence of int, optional
        """
        center, width = (
            distributions.parameter(loc),
            checked_parameter("scale", scale, _is_not_negative, "< 0"),
        )
        shape = distributions.shape_of(size, center, width)
        ratio = self.standard_exponential(shape) / self.standard_exponential(shape)
        return center + width * apply("log", ratio)

    def gumbel(
        self, loc: _Parameter = 0.0, scale: _Parameter = 1.0, size: _Size = None
    ) -> GPUArray[np.float64]:
        """Numbers of the Gumbel distribution.

        Parameters
        ----------
        loc, scale : number or array, optional
        size : int or sequence of int, optional
        """
        center, width = (
            distributions.parameter(loc),
            checked_parameter("scale", scale, _is_not_negative, "< 0"),
        )
        numbers = self.standard_exponential(distributions.shape_of(size, center, width))
        return center - width * apply("log", numbers)

    def rayleigh(self, scale: _Parameter = 1.0, size: _Size = None) -> GPUArray[np.float64]:
        """Numbers of the Rayleigh distribution.

        Parameters
        ----------
        scale : number or array, optional
        size : int or sequence of int, optional
        """
        width = checked_parameter("scale", scale, _is_not_negative, "< 0")
        numbers = self.standard_exponential(distributions.shape_of(size, width))
        return width * apply("sqrt", 2 * numbers)

    def weibull(self, a: _Parameter, size: _Size = None) -> GPUArray[np.float64]:
        """Numbers of the Weibull distribution with scale 1.

        Parameters
        ----------
        a : number or array
        size : int or sequence of int, optional
        """
        exponent = checked_parameter("a", a, _is_positive, "<= 0")
        return self.standard_exponential(distributions.shape_of(size, exponent)) ** (1 / exponent)

    def pareto(self, a: _Parameter, size: _Size = None) -> GPUArray[np.float64]:
        """Numbers of the Pareto II distribution, which begins at 0.

        Parameters
        ----------
        a : number or array
        size : int or sequence of int, optional
        """
        exponent = checked_parameter("a", a, _is_positive, "<= 0")
        return apply("expm1", self.standard_exponential(distributions.shape_of(size, exponent)) / exponent)

    def power(self, a: _Parameter, size: _Size = None) -> GPUArray[np.float64]:
        """Numbers in [0, 1] whose density is a power, of exponent a - 1.

        Parameters
        ----------
        a : number or array
        size : int or sequence of int, optional
        """
        exponent = checked_parameter("a", a, _is_positive, "<= 0")
        return apply("exp", self.standard_exponential(distributions.shape_of(size, exponent)) / -exponent)

    def standard_cauchy(self, size: _Size = None) -> GPUArray[np.float64]:
        """Numbers of the Cauchy distribution.

        Parameters
        ----------
        size : int or sequence of int, optional
        """
        return self.standard_normal(size) / self.standard_normal(size)

    def standard_t(self, df: _Parameter, size: _Size = None) -> GPUArray[np.float64]:
        """Numbers of Student's distribution.

        Parameters
        ----------
        df : number or array
            Degrees of freedom.
        size : int or sequence of int, optional
        """
        freedom = checked_parameter("df", df, _is_positive, "<= 0")
        shape = distributions.shape_of(size, freedom)
        return self.standard_normal(shape) / apply("sqrt", self.chisquare(freedom, shape) / freedom)

    def geometric(self, p: _Parameter, size: _Size = None) -> GPUArray[np.int64]:
        """Numbers of trials up to the first success, as int64.

        Parameters
        ----------
        p : number or array
            The probability of each.
        size : int or sequence of int, optional
        """
        chance = checked_parameter(
            "p", p, lambda each: (each > 0) & (each <= 1), "<= 0, p > 1 or p contains NaNs"
        )
        numbers = self.standard_exponential(distributions.shape_of(size, chance))
        trials = apply("ceil", numbers / -apply("log1p", -chance))
        return apply("maximum", trials, 1.0).astype(np.int64)

    def negative_binomial(self, n: _Parameter, p: _Parameter, size: _Size = None) -> GPUArray[np.int64]:
        """Numbers of failures before n successes, as int64.

        Parameters
        ----------
        n : number or array
        p : number or array
            The probability of a success.
        size : int or sequence of int, optional
        """
        successes = checked_parameter("n", n, _is_positive, "<= 0")
        chance = checked_parameter(
            "p", p, lambda each: (each > 0) & (each <= 1), "<= 0, p > 1 or p contains NaNs"
        )
        return self.poisson(self.gamma(successes, (1 - chance) / chance, size))

    def dirichlet(self, alpha: HostOrDevice, size: _Size = None) -> GPUArray[np.float64]:
        """Vectors of numbers whose sum is 1.

        Parameters
        ----------
        alpha : array
            A number for each element of a vector.
        size : int or sequence of int, optional
        """
        weights = checked_parameter("alpha", alpha, _is_positive, "<= 0")
        numbers = self.standard_gamma(
            alpha, (*distributions.shape_of(() if size is None else size), weights.size)
        )
        return numbers / numbers.sum(axis=-1, keepdims=True)

    def binomial(self, n: _Parameter, p: _Parameter, size: _Size = None) -> GPUArray[np.int64]:
        """Numbers of successes, as int64.

        Parameters
        ----------
        n : int or array of int
            Of trials.
        p : number or array
            The probability of each.
        size : int or sequence of int, optional
        """
        n = checked_parameter("n", n, _is_not_negative, "< 0")
        p = checked_parameter("p", p, lambda each: (each >= 0) & (each <= 1), "< 0, p > 1 or p is NaN")
        return distributions.new_numbers(self._draws, "Binomial", size, n, p, np.int64)

    def poisson(self, lam: _Parameter = 1.0, size: _Size = None) -> GPUArray[np.int64]:
        """Poisson numbers, as int64.

        Parameters
        ----------
        lam : number or array, optional
            The mean.
        size : int or sequence of int, optional
        """
        lam = checked_parameter(
            "lam", lam, lambda each: (each >= 0) & (each < 9.2e18), "< 0, too large or NaN"
        )
        return distributions.new_numbers(self._draws, "Poisson", size, lam, 0.0, np.int64)

    def multivariate_normal(
        self, mean: HostOrDevice, cov: HostOrDevice, size: _Size = None, check_valid: str = "warn",
        tol: float = 1e-8, *, method: str = "svd",
    ) -> GPUArray[np.float64]:  # fmt: skip
        """Vectors of normal numbers with covariances.

        Parameters
        ----------
        mean : array
            Of length N.
        cov : array
            N rows and columns: symmetric, positive semidefinite.
        size : int or sequence of int, optional
            How many vectors, as a shape; the result has one more axis, of length N.
        check_valid : {"warn", "raise", "ignore"}, optional
            What is done if `cov` is not positive semidefinite. The host reads whether it is, for the methods
            "svd" and "eigh"; "cholesky" raises in any case.
        tol : float, optional
            The tolerance of that check.
        method : {"svd", "eigh", "cholesky"}, optional
            The factorization of the matrix.
        """
        from pycuda._array.random import multivariate

        shape = distributions.shape_of(() if size is None else size)
        mean = asarray(mean)
        factor = multivariate.covariance_factor(mean, asarray(cov), check_valid, tol, method)
        numbers = self.standard_normal((*shape, mean.size))
        return apply("add", numbers @ factor, mean)

    # ---- orders

    @takes_arrays
    def choice(
        self, a: int | HostOrDevice, size: _Size = None, replace: bool = True, p: HostOrDevice | None = None,
        axis: int = 0, shuffle: bool = True,
    ) -> GPUArray:  # fmt: skip
        """Elements of an array, or numbers below an int, at random.

        Parameters
        ----------
        a : int or array
        size : int or sequence of int, optional
        replace : bool, optional
            Whether an element may be chosen again.
        p : array, optional
            The probability of each. The call waits for the stream to check them.
        axis : int, optional
            Along which elements are chosen.
        shuffle : bool, optional
            As in NumPy; the order is always random.
        """
        numbers = isinstance(a, int | np.integer)
        population: GPUArray | None = None if numbers else asarray(a)
        if population is not None and population.ndim == 0:
            raise ValueError("a must be a sequence or an integer, not a 0-d array")
        count = int(a) if population is None else population.shape[axis]  # type: ignore[arg-type]
        shape = distributions.shape_of(() if size is None else size)
        total = int(np.prod(shape, dtype=np.int64))
        if count <= 0 and total:
            raise ValueError("a cannot be empty unless no samples are taken")
        if p is not None:
            p = distributions.checked_probabilities(p, count, total, replace)
        indices = distributions.random_indices(self._draws, max(count, 1), shape, replace, p)
        return indices if population is None else population.take(indices, axis, mode="wrap")

    @takes_arrays
    @overload
    def permutation(self, x: int, axis: int = 0) -> GPUArray[np.int64]: ...
    @overload
    def permutation(self, x: GPUArray[Scalar], axis: int = 0) -> GPUArray[Scalar]: ...
    @overload
    def permutation(self, x: HostOrDevice, axis: int = 0) -> GPUArray: ...

    def permutation(self, x: int | HostOrDevice, axis: int = 0) -> GPUArray:
        """A copy with the elements along an axis in a random order; of an int the numbers below it.

        Parameters
        ----------
        x : int or array
        axis : int, optional
        """
        if isinstance(x, int | np.integer):
            return self.permuted(arange(int(x), dtype=np.dtype(np.int64)))
        array: GPUArray = asarray(x)
        order = distributions.random_indices(
            self._draws, array.shape[axis], (array.shape[axis],), False, None
        )
        return array.take(order, axis, mode="wrap") if array.size else array.copy()

    @takes_arrays
    def permuted(self, x: HostOrDevice, *, axis: int | None = None, out: Any = None) -> GPUArray:
        """A copy with the elements in a random order. Along an axis each row gets an order of its own.

        Parameters
        ----------
        x : array
        axis : int, optional
        out : GPUArray, optional
        """
        array: GPUArray = asarray(x)
        flat = array.ravel() if axis is None else array
        result = distributions.permute_rows(self._draws, flat, 0 if axis is None else axis)
        return result_or_out(result.reshape(array.shape), out)

    @takes_arrays
    def shuffle(self, x: Array, axis: int = 0) -> None:
        """Bring the elements along an axis into a random order.

        Parameters
        ----------
        x : GPUArray
        axis : int, optional
        """
        if not isinstance(x, _driver.GPUArray):
            raise TypeError(f"shuffle changes a GPUArray, not {type(x).__name__}")
        x[...] = self.permutation(x, axis)


def default_rng(
    seed: int | Sequence[int] | np.ndarray[Any, Any] | SeedSequence | Generator | None = None,
) -> Generator:
    """A generator of random arrays.

    Parameters
    ----------
    seed : int, sequence of int, SeedSequence or Generator, optional
        The numbers depend on it alone. Without a seed they depend on the operating system's entropy; a
        generator is returned as it is.

    Returns
    -------
    Generator

    Examples
    --------
    >>> import pycuda.numpy as xp
    >>> import pycuda.autoprimaryctx
    >>> rng = xp.random.default_rng(7)
    >>> rng.integers(0, 10, 5).shape
    (5,)
    """
    if isinstance(seed, Generator):
        return seed
    return Generator(seed if isinstance(seed, SeedSequence) else SeedSequence(seed))
