"""scipy.special's ufuncs on GPUArrays, compared with SciPy, and their table in the documentation."""

import re
from pathlib import Path

import numpy as np
import pytest

from pycuda import gpuarray
from pycuda._kernels.builtin.functions import SCIPY_FUNCTIONS
from pycuda.compiler import compile

special = pytest.importorskip("scipy.special")
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of SciPy, about poles

PAGE = Path(__file__).parents[3] / "docs" / "special_functions.md"
COUNT = 3000
LINE, SMALL, POSITIVE, UNIT = (-30, 30), (-6, 6), (0, 30), (0, 1)
# (error of float, error of double, range of the operands, measure) of each function. Errors are in units in
# the last place; those of double include SciPy's own errors. The unit is that of the result or, with the
# measure "zero", that of 1 if the result is smaller (near their zeros such functions have a small absolute
# error, not a small relative one), with "operands" that of the largest operand.
BOUNDS = {
    "erf": (2, 3, SMALL),
    "erfc": (6, 40, SMALL),
    "erfinv": (3, 8, (-1, 1)),
    "erfcinv": (4, 10, (0, 2)),
    "erfcx": (5, 24, (-5, 50)),
    "ndtr": (6, 120, SMALL),
    "ndtri": (6, 10, UNIT),
    "log_ndtr": (7, 60, (-40, 10)),
    "gamma": (6, 12, LINE),
    "gammaln": (4, 10, (-8, 60), "zero"),
    "loggamma": (4, 10, (0, 60), "zero"),
    "psi": (3, 30, (0.01, 60), "zero"),
    "beta": (10, 20, (0, 40)),
    "betaln": (5, 120, (0, 40), "zero"),
    "betainc": (11, 600, UNIT),
    "fdtr": (1, 600, (0.1, 50)),
    "fdtrc": (1, 600, (0.1, 50)),
    "gammainc": (8, 1000, (0, 50)),
    "gammaincc": (9, 1000, (0, 50)),
    "zeta": (6, 10, (1, 60)),
    "riemann_zeta": (1, 60, (-15, 60), "zero"),
    "j0": (8, 8000, LINE, "zero"),
    "j1": (8, 8000, LINE, "zero"),
    "y0": (7, 8000, POSITIVE, "zero"),
    "y1": (4, 8000, POSITIVE, "zero"),
    "yn": (1, 8000, (5, 30), "zero"),
    "i0": (8, 10, (-50, 50)),
    "i1": (8, 20, (-50, 50)),
    "i0e": (4, 10, (-200, 200)),
    "i1e": (4, 16, (-200, 200)),
    "expit": (4, 4, LINE),
    "logit": (4, 4, UNIT),
    "log_expit": (4, 3, LINE),
    "xlogy": (3, 3, (0, 10)),
    "xlog1py": (3, 3, (0, 10)),
    "entr": (3, 4, (0, 10)),
    "rel_entr": (4, 4, (0, 10), "operands"),
    "kl_div": (4, 4, (0, 10), "operands"),
    "exp2": (3, 2, SMALL),
    "exp10": (3, 2, SMALL),
    "expm1": (2, 3, SMALL),
    "log1p": (2, 2, (-1, 30)),
    "cbrt": (2, 2, LINE),
}
EDGES = np.array([0, 1, 2, 0.5, 1e-300, 1e3, np.nan])
SIGNED = np.array([0, -0.0, 1, -1, -2, 2, 0.5, -0.5, 1e-300, 800, -800, np.nan])
# Functions of which SciPy's result for -0 is a zero of the other sign than ours.
EITHER_ZERO = {"erfinv", "erfcinv", "i1", "i1e"}
# The limits of functions at infinity, where SciPy has NaN.
AT_INFINITY = {"j0": 0, "j1": 0, "y0": 0, "y1": 0, "i0": np.inf, "i1": np.inf}


def scipys(name):
    """SciPy's ufunc of that name. scipy.special.zeta is not one, but a function that calls one of two."""
    return getattr(special._ufuncs, f"_{name}" if name.endswith("zeta") else name)


def drawn(name, char):
    """Random operands of a function, from the range in BOUNDS (a and b of betainc, n of yn from others)."""
    rng = np.random.default_rng(7)
    low, high = BOUNDS[name][2]
    operands = [rng.uniform(low, high, COUNT) for _ in range(scipys(name).nin)]
    if name == "betainc":
        operands[:2] = [rng.uniform(0.1, 50, COUNT) for _ in range(2)]
    if name == "yn":
        operands[0] = rng.integers(-9, 10, COUNT)
    return [each.astype(char) for each in operands]


def unit(name, want, operands):
    """The size of a unit in the last place for each element, by the function's measure in BOUNDS."""
    size = abs(want)
    if "zero" in BOUNDS[name]:
        size = np.maximum(size, 1)
    if "operands" in BOUNDS[name]:
        size = np.maximum(size, np.max(operands, axis=0))
    return np.spacing(size.astype(operands[0].dtype)).astype(float)


def test_each_function_has_a_bound_and_is_in_the_page():
    assert list(BOUNDS) == list(SCIPY_FUNCTIONS)
    assert re.findall(r"^\| `(\w+)\(", PAGE.read_text(), re.M) == list(SCIPY_FUNCTIONS)


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("name", SCIPY_FUNCTIONS)
def test_errors_are_within_the_bounds(name, char):
    operands = drawn(name, char)
    got = scipys(name)(*map(gpuarray.to_gpu, operands))
    assert type(got) is gpuarray.GPUArray and got.dtype == np.dtype(char)
    want = scipys(name)(*[each.astype(float) for each in operands])
    off = abs(got.get().astype(float) - want) / unit(name, want, operands)
    worst = off.argmax()
    assert off[worst] <= BOUNDS[name][char == "d"], [each[worst] for each in operands]


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("name", SCIPY_FUNCTIONS)
def test_special_values(name, char):
    function = scipys(name)
    axis = SIGNED if function.nin == 1 or name.startswith("xlog") else EDGES
    more = {1: (1e-40, 1e30)}.get(function.nin, () if name in ("fdtr", "fdtrc") else 1e-30)
    axis = np.append(axis, more).astype(char)
    operands = [each.ravel() for each in np.meshgrid(*(axis,) * function.nin)]
    if name in ("beta", "betaln"):  # SciPy has infinity for a pole and NaN
        operands = [each[~np.isnan(operands[0] + operands[1])] for each in operands]
    if name in ("fdtr", "fdtrc"):  # less exact for degrees of freedom near 0, as the documentation says
        operands = [each[np.minimum(operands[0], operands[1]) != 1e-300] for each in operands]
    want = function(*[each.astype(float) for each in operands]).astype(char)
    got = function(*map(gpuarray.to_gpu, operands)).get()
    ordinary = np.isfinite(want)
    np.testing.assert_array_equal(got[~ordinary], want[~ordinary])
    bound = 1e-6 if char == "f" else 2e-11 if name in ("yn", "fdtr", "fdtrc") else 2e-12
    least = 1e-310 if char == "d" else 3e-7 if "zero" in BOUNDS[name] else 3e-44
    if name in AT_INFINITY:  # oscillations
        least = bound = 1e-6 if char == "f" else 2e-11
    np.testing.assert_allclose(got[ordinary], want[ordinary], rtol=bound, atol=least)
    if name not in EITHER_ZERO:
        np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(want[got == 0]))


def test_nvcc_compiles_the_headers(nvcc):
    """NVRTC, which compiles the kernels of the other tests, accepts more."""
    text = """#define PYCUDA_OPERAND_AXES
    #include "array/pycuda-special.hpp"
    template <class T> __device__ T both(T a, T b, T c)
    {
        return pycuda::upper_gamma(a, b) + pycuda::incomplete_beta(a, b, c);
    }
    __global__ void k(float *x, double *y)
    {
        *x = both(x[0], x[1], x[2]);
        *y = both(y[0], y[1], y[2]);
    }"""
    assert compile(text, nvcc=nvcc, no_extern_c=True, target="ptx")


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("name", [name for name in SCIPY_FUNCTIONS if scipys(name).nin == 1])
def test_limits_at_infinity(name, char):
    x = np.array([np.inf, -np.inf])
    function = scipys(name)
    want, got = function(x), function(gpuarray.to_gpu(x.astype(char))).get()
    if name in AT_INFINITY:
        limit = AT_INFINITY[name]
        want = np.array([limit, -limit if name in ("j1", "i1") else limit], float)  # these are odd
        if name in ("y0", "y1"):  # not defined for negative numbers
            want[1] = np.nan
    np.testing.assert_array_equal(got, want)


def test_psi_at_its_root():
    x = 1.4616321449683622 + np.array([0, 1e-15, -1e-12, 1e-6, -0.25, 0.25])
    np.testing.assert_allclose(special.psi(gpuarray.to_gpu(x)).get(), special.psi(x), rtol=1e-13, atol=1e-17)


def test_psi_of_negative_numbers():
    x = np.array([-0.5, -1.25, -7.75, -18.1, -100.3])
    np.testing.assert_allclose(special.psi(gpuarray.to_gpu(x)).get(), special.psi(x), rtol=1e-12)
    # SciPy has -8307.346395623072; NIST's formula, computed with 40 digits, gives the value below.
    got = special.psi(gpuarray.to_gpu(np.array([-17.999879666889225]))).get()
    np.testing.assert_allclose(got, [-8307.346395628801], rtol=1e-15)


def test_betainc_of_large_parameters():
    a = np.array([1e3, 1e5, 1e6, 300.0, 1e-5])
    b = np.array([2e3, 1e5, 5.0, 1e6, 1e-5])
    x = np.array([0.34, 0.501, 0.999998, 3.1e-4, 0.3])
    got = special.betainc(*map(gpuarray.to_gpu, (a, b, x))).get()
    np.testing.assert_allclose(got, special.betainc(a, b, x), rtol=1e-11)
    huge = special.betainc(gpuarray.to_gpu(np.array([1e300])), 1e300, 0.5).get()
    assert np.isnan(huge).all()  # as the documentation says


@pytest.mark.parametrize("char", "fd")
def test_f_distribution_of_very_different_parameters(char):
    """Also where the ratio of the parameters is below the rounding error of 1, and for infinite x."""
    many = np.array([1e3, 1e8, 1e12, 1e15, 1e20], char)
    few, x = np.array([3], char), np.array([[2], [np.inf]], char)
    for function in (special.fdtr, special.fdtrc):
        for operands in ((few, many, x), (many, few, x), (many, many[::-1], x * 1e30)):
            got = function(*map(gpuarray.to_gpu, operands)).get()
            want = function(*(each.astype("d") for each in operands))
            np.testing.assert_allclose(got, want, rtol=2e-6 if char == "f" else 1e-11)


def test_gammaln_of_negative_numbers_near_zero_and_far_from_it():
    x = np.array([-1e-8, -1e-20, -1e-30, -1e-40, -1e20, -3e38, -3], np.float32)
    got = special.gammaln(gpuarray.to_gpu(x)).get()
    np.testing.assert_allclose(got, special.gammaln(x.astype("d")), rtol=1e-6)


def test_incomplete_gamma_functions_of_large_and_small_parameters():
    rng = np.random.default_rng(5)
    for a, bound in ((rng.uniform(50, 5000, 500), 2e-12), (10 ** rng.uniform(-6, 0, 500), 2e-14)):
        x = a * rng.uniform(0.8, 1.2, 500) if bound > 1e-13 else 10 ** rng.uniform(-6, 0, 500)
        for function in (special.gammainc, special.gammaincc):
            got = function(gpuarray.to_gpu(a), gpuarray.to_gpu(x)).get()
            np.testing.assert_allclose(got, function(a, x), rtol=bound)
    for x, want in ((0.9e30, 0), (1e30, 0.5), (1.1e30, 1)):
        for char in "fd":
            a, b = (gpuarray.to_gpu(np.array([each], char)) for each in (1e30, x))
            np.testing.assert_allclose(special.gammainc(a, b).get(), want, rtol=1e-6)
            np.testing.assert_allclose(special.gammaincc(a, b).get(), 1 - want, rtol=1e-6)


def test_zeta():
    """zeta(s) at negative numbers, at zeros of the function and from 0 to 1; zeta(s, q) with negative q."""
    s = np.array([-30, -15.5, -2, -1, -0.5, 0, 0.25, 0.999, 1.001, 30])
    np.testing.assert_allclose(special.zeta(gpuarray.to_gpu(s)).get(), special.zeta(s), rtol=1e-13)
    q = np.array([-9.5, -2.25, -0.5, 1e-3, 1e9])
    np.testing.assert_allclose(special.zeta(3.0, gpuarray.to_gpu(q)).get(), special.zeta(3.0, q), rtol=1e-13)
    assert np.isnan(special.zeta(3.0, gpuarray.to_gpu(np.array([-1e6 - 0.5]))).get()).all()


@pytest.mark.parametrize("char", "?bBhHiILeF")
def test_dtypes_of_operands_and_results(char):
    host = np.array([0, 1, 1], char)
    array = gpuarray.to_gpu(host)
    if char == "F":
        with pytest.raises(TypeError, match="complex numbers is not implemented"):
            special.erf(array)
        return
    for function, more in ((special.erf, ()), (special.xlogy, (2.5,)), (special.beta, (2,))):
        want, got = function(host, *more), function(array, *more)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got.get(), want, rtol=1e-6)
    assert special.betainc(2, 3, array.astype("f")).dtype == special.betainc(2, 3, host.astype("f")).dtype


def test_operands_and_keywords():
    """Broadcasting, strides, out=, where=, dtype=, outer; wrong ones are refused."""
    a, b = np.linspace(0.1, 3, 12).reshape(3, 4), np.linspace(0.5, 2, 4)
    x, y = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
    np.testing.assert_allclose(
        special.betainc(x[:, ::-1], y, 0.25).get(), special.betainc(a[:, ::-1], b, 0.25)
    )
    out = gpuarray.empty((3, 4), np.float64)
    assert special.xlogy(x, y, out=out) is out
    np.testing.assert_allclose(out.get(), special.xlogy(a, b))
    special.erf(x, out=out, where=x > 1)
    np.testing.assert_allclose(out.get(), np.where(a > 1, special.erf(a), special.xlogy(a, b)))
    single = x.astype("f")
    np.testing.assert_allclose(special.erf(single, dtype="d").get(), special.erf(a.astype("f"), dtype="d"))
    np.testing.assert_allclose(special.beta.outer(y, y).get(), special.beta.outer(b, b))
    for wrong in ({"dtype": "f"}, {"out": x.astype(int)}, {"dtype": "e"}):
        with pytest.raises(TypeError):
            special.erf(x.astype(int) if wrong == {"dtype": "f"} else x, casting="safe", **wrong)
    for refused in (lambda: special.kv(1, x), lambda: special.xlogy(x, b)):
        with pytest.raises(TypeError):
            refused()
    with pytest.raises(TypeError, match="xlogy.reduce does not"):
        # Not called by NumPy, whose reduce leaks the operand of an error.
        x.__array_ufunc__(special.xlogy, "reduce", x)
