"""Elementwise functions, operators and NumPy's protocols, compared with NumPy."""

import copy
import itertools
import operator
import pickle

import numpy as np
import pytest

from pycuda import cumath, gpuarray
from pycuda._array.core.elementwise import apply
from pycuda._kernels.builtin.functions import TABLE

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, about what is divided by 0

CHARS = "?bBilefdFD"
LENGTH = 37
# By the itemsize of half, float and double: how much CUDA and NumPy may differ, relative to the result.
TOLERANCE = {2: 2e-3, 4: 3e-6, 8: 1e-13}
UFUNCS = [row for row in TABLE.values() if isinstance(row.rule, np.ufunc)]


def sample(dtype, seed=0):
    """LENGTH numbers of a dtype, of both signs if it has them; floats with special values, complex ones
    finite."""
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, LENGTH).astype(bool)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return rng.integers(max(limits.min, -50), min(limits.max, 100), LENGTH).astype(dtype)
    if dtype.kind == "f":
        special = [0, -0.0, np.inf, -np.inf, np.nan, 1]
        return np.concatenate([rng.normal(size=LENGTH - 6) * 3, special]).astype(dtype)
    return (rng.normal(size=LENGTH) * 3 + 1j * rng.normal(size=LENGTH)).astype(dtype)


def check(got, want):
    """Asserts the same dtype and shape, and values that are equal, or within TOLERANCE if they are not
    integers."""
    got = got.get()
    assert got.dtype == want.dtype and got.shape == want.shape
    if want.dtype.kind in "fc":
        size = want.dtype.itemsize // (2 if want.dtype.kind == "c" else 1)
        np.testing.assert_allclose(got, want, rtol=TOLERANCE[size], atol=1e-7)
    else:
        np.testing.assert_array_equal(got, want)


def operands_for(row, char):
    """The operands of this row's function: arrays of NumPy of this dtype, with values for which it is
    defined."""
    operands = [sample(char, seed) for seed in range(row.rule.nin)]
    if row.name == "ldexp":
        operands[1] = (np.arange(LENGTH) % 11 - 5).astype(np.int32)
    if row.name in ("power", "float_power") and np.dtype(char).kind in "iu":
        operands[1] = (operands[1] % 5).astype(char)
    return operands


@pytest.mark.parametrize("index", range(len(UFUNCS)), ids=[row.name for row in UFUNCS])
def test_function(index):
    """Each function is tested with up to three dtypes, so that all functions together cover CHARS. What NumPy
    refuses is refused."""
    row = UFUNCS[index]
    for char in {CHARS[index % len(CHARS)], "f" if index % 2 else "i", "d"}:
        operands = operands_for(row, char)
        arrays = [gpuarray.to_gpu(each) for each in operands]
        with np.errstate(all="ignore"):
            try:
                want = row.rule(*operands)
            except (TypeError, ValueError):
                want = None
        if want is None:
            with pytest.raises(TypeError):
                apply(row.name, *arrays)
            continue
        got = apply(row.name, *arrays)
        if not isinstance(want, tuple):
            got, want = (got,), (want,)
        for one, other in zip(got, want, strict=True):
            check(one, other)


LAYOUTS = {
    "columns": lambda a: a.T,
    "steps": lambda a: a[:, ::2],
    "backwards": lambda a: a[::-1],
    "row": lambda a: a[:1],
    "column": lambda a: a[:, :1],
    "one": lambda a: a[1, 2],
    "odd": lambda a: a.reshape(-1)[1:13],
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_operands_of_any_layout(name):
    host = np.arange(36, dtype=np.float32).reshape(6, 6)
    array, view = gpuarray.to_gpu(host), LAYOUTS[name]
    check(view(array) * 2.5 + 1, view(host) * np.float32(2.5) + 1)
    other = view(host)
    if other.ndim == 2:  # an operand with another layout, of the view's shape or broadcast with it
        full = host[:, : other.shape[1]] if other.shape[1] > 1 else host
        check(gpuarray.to_gpu(full) - view(array), full - other)


def test_many_axes():
    host = np.arange(2**8, dtype=np.int16).reshape((2,) * 8)
    array = gpuarray.to_gpu(host)
    axes = (7, 0, 5, 2, 3, 4, 1, 6)
    check(array.transpose(axes) + array, host.transpose(axes) + host)


def test_out_may_overlap_an_operand_and_is_checked():
    host = np.arange(10, dtype=np.float32)
    array = gpuarray.to_gpu(host)
    check(apply("add", array[:-1], 1, out=array[1:]), host[:-1] + 1)
    check(array, np.concatenate([[0], host[:-1] + 1]).astype(np.float32))
    with pytest.raises(ValueError, match="could not be broadcast"):
        apply("add", array, 1, out=array[1:])
    with pytest.raises(TypeError, match="Cannot cast ufunc"):
        apply("add", array, 1, out=gpuarray.zeros(10, np.int32))
    with pytest.raises(ValueError, match="broadcast"):
        array + array[1:]
    with pytest.raises(TypeError, match="to_gpu"):
        apply("add", array, host)
    assert (gpuarray.zeros((0, 3), np.float32) + 1).shape == (0, 3)


OPERATORS = "add sub mul truediv floordiv mod pow and_ or_ xor lshift rshift".split()


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name):
    function = getattr(operator, name)
    host = np.arange(1, 9, dtype=np.int32)
    array = gpuarray.to_gpu(host)
    # The operator of NumPy 2.0 ignores the dtype of an exponent.
    numpys = np.power if name == "pow" else function
    for other in (3, np.int64(2)):
        check(function(array, other), numpys(host, other))
        check(function(other, array), function(other, host))
    check(function(array, array % 4), function(host, host % 4))


def test_in_place():
    host = np.arange(6, dtype=np.float32)
    array = original = gpuarray.to_gpu(host)
    array += 1
    array *= array
    array /= 2
    assert array is original
    check(array, (host + 1) ** 2 / np.float32(2))
    numbers = gpuarray.to_gpu(np.arange(3))
    with pytest.raises(TypeError, match="Cannot cast ufunc"):
        numbers += 0.5


COMPARISONS = (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge)


@pytest.mark.parametrize("value", [300, -1, 2, 2.5, np.float32(1)])
def test_comparison_with_a_number(value):
    host = np.arange(4, dtype=np.uint8)
    array = gpuarray.to_gpu(host)
    for compare in COMPARISONS:
        check(compare(array, value), compare(host, value))


BEYOND = (256, -129, 2**31, -(2**31) - 1, 2**63, -(2**63) - 1, 2**64, -(2**64), 10**400, -(10**400))


@pytest.mark.parametrize("char", "bBiQefF")
def test_python_ints_beyond_the_dtype(char):
    """Arithmetic with them raises, or takes them as floats, as in NumPy; comparisons of integers are
    exact."""
    host = np.array([0, 1, 2, 3], char)
    array = gpuarray.to_gpu(host)
    for value in BEYOND:
        arithmetic = (operator.add, operator.floordiv, operator.pow, np.maximum)
        for function in (*arithmetic, *COMPARISONS, np.less, np.equal):
            for is_first in (False, True):
                operands = (value, host) if is_first else (host, value)
                ours = (value, array) if is_first else (array, value)
                try:
                    want = function(*operands)
                except (OverflowError, TypeError, ValueError) as problem:
                    with pytest.raises(type(problem)):
                        function(*ours)
                else:
                    check(function(*ours), want)


def test_python_ints_beyond_all_floats_raise():
    """NumPy raises too, even if the array has only infinities and NaNs."""
    array = gpuarray.to_gpu(np.array([1, np.inf, np.nan], np.float32))
    for function in (*COMPARISONS, operator.pow, operator.ipow):
        with pytest.raises(OverflowError):
            function(array, 10**400)


def test_negative_powers_of_integers():
    array = gpuarray.to_gpu(np.array([1, 2], np.int8))
    for base, exponent in ((array, -1), (array, np.int64(-3)), (array == 1, -1)):
        with pytest.raises(ValueError, match="negative integer powers"):
            base**exponent
    check(array ** np.uint8(3), np.array([1, 8], np.int16))
    check(array**-1.0, np.array([1, 0.5], np.float64))


def test_clip_with_limits_beyond_the_dtype():
    host = np.array([0, 100, 255], np.uint8)
    array = gpuarray.to_gpu(host)
    for limits in ((-1, 300), (-1, 50), (200, 2**70)):
        # NumPy 2.0 refuses such limits.
        wide = host.astype(np.int16).clip(limits[0], min(limits[1], 300))
        check(array.clip(*limits), wide.astype(np.uint8))
    with pytest.raises(OverflowError):
        array.clip(300, None)


def test_comparisons_of_signed_with_unsigned_integers():
    left, right = np.array([-1, 2, 3]), np.array([2**64 - 1, 2, 1], np.uint64)
    check(gpuarray.to_gpu(left) < gpuarray.to_gpu(right), left < right)
    check(gpuarray.to_gpu(left) == gpuarray.to_gpu(right), left == right)


IN_PLACE = "iadd isub imul itruediv ifloordiv imod ipow imatmul iand ior ixor ilshift irshift".split()


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_operators_keep_the_array(name):
    dtype = np.int32 if name in ("iand", "ior", "ixor", "ilshift", "irshift") else np.float64
    function = getattr(operator, name)
    host, other = (np.arange(9).astype(dtype).reshape(3, 3) % k + 1 for k in (4, 3))
    array, on_device = gpuarray.to_gpu(host), gpuarray.to_gpu(other)
    for left, right in ((np.s_[:], np.s_[:]), (np.s_[:, ::-1], np.s_[::-1]), (np.s_[:], np.s_[:])):
        view, alias, expected = array[left], array[left], host[left]
        assert function(view, on_device[right]) is view
        function(expected, other[right])
        check(alias, expected)  # another view of the same memory
    check(array, host)
    function(on_device, on_device)  # both operands are one array
    function(other, other.copy())
    check(on_device, other)


def test_in_place_product_of_matrices():
    host = np.arange(12, dtype=np.float32).reshape(4, 3)
    array = gpuarray.to_gpu(host)
    row, other = array[1], np.arange(9, dtype=np.float64).reshape(3, 3)
    row @= gpuarray.to_gpu(other)
    host[1] @= other
    check(array, host)
    with pytest.raises(ValueError, match="inplace matrix multiplication requires"):
        array @= gpuarray.to_gpu(other)[0]
    with pytest.raises(ValueError, match="Output operand 0 has a mismatch"):
        array @= gpuarray.to_gpu(other)[:, :2]
    for number in 3, 2.5, np.float32(2), True:
        with pytest.raises(ValueError, match="does not have enough dimensions"):
            array @= number
        with pytest.raises(ValueError, match="does not have enough dimensions"):
            number @ array


def test_methods_of_arrays():
    host = np.array([[1.25, -2.5], [3.75, 8]], np.float32)
    array = gpuarray.to_gpu(host)
    check(array.astype(np.int16), host.astype(np.int16))
    check(array.copy().fill(3), np.full_like(host, 3))
    check(array.clip(-1, 4), host.clip(-1, 4))
    check(array.round(1), host.round(1))
    check(array.mul_add(2, array, 3), 2 * host + 3 * host)
    assert array.item(0, 1) == -2.5 and array[1, 1].item() == 8 and array.tolist() == host.tolist()
    assert float(array[0, 0]) == 1.25 and int(array[1, 1]) == 8 and complex(array[1, 1]) == 8
    assert operator.index(gpuarray.to_gpu(np.array(5))) == 5
    for made in (pickle.loads(pickle.dumps(array)), copy.copy(array), copy.deepcopy(array)):
        check(made, host)
    z = np.array([1 + 2j, 3 - 4j], np.complex64)
    check(gpuarray.to_gpu(z).real, z.real)
    check(gpuarray.to_gpu(z).imag, z.imag)
    check(gpuarray.to_gpu(z).conj(), z.conj())


def test_a_0d_array_of_an_integer_is_an_address_for_the_driver():
    """An array with one integer has __index__ too, but the driver's functions take its address, not its
    value."""
    import pycuda.driver as drv

    array, target = gpuarray.to_gpu(np.array(7)), np.zeros((), np.int64)
    drv.memcpy_dtoh(target, array)
    assert target == 7


def test_numpys_functions_and_protocols():
    host = np.linspace(0, 1, 8, dtype=np.float32)
    array = gpuarray.to_gpu(host)
    check(np.sin(array), np.sin(host))
    check(np.add(1, array), np.add(1, host))
    check(np.add.reduce(array), np.add.reduce(host))
    check(np.sum(array), np.sum(host))
    check(np.concatenate([array, array]), np.concatenate([host, host]))
    with pytest.raises(TypeError):
        np.add(array, host)
    with pytest.raises(TypeError, match=r"get\(\)"):
        np.asarray(array)
    with pytest.raises(TypeError):
        np.datetime_as_string(array)


FUNCTIONS = "fabs ceil floor exp log log10 sqrt sin cos tan asin acos atan sinh cosh tanh".split()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_cumath(name):
    host = np.linspace(0.1, 0.9, 9, dtype=np.float32)
    array = gpuarray.to_gpu(host)
    numpy_name = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}.get(name, name)
    check(getattr(cumath, name)(array), getattr(np, numpy_name)(host))
    out = gpuarray.empty_like(array)
    assert getattr(cumath, name)(array, out=out) is out
    with pytest.warns(DeprecationWarning):
        getattr(cumath, name)(array, out)


def test_cumath_pairs():
    host = np.array([1.5, -2.25, 7], np.float64)
    array = gpuarray.to_gpu(host)
    for name in ("frexp", "modf"):
        for got, want in zip(getattr(cumath, name)(array), getattr(np, name)(host), strict=True):
            np.testing.assert_array_equal(got.get(), want)
    significand, exponent = cumath.frexp(array)
    check(cumath.ldexp(significand, exponent), host)
    check(cumath.fmod(array, array * 0 + 2), np.fmod(host, 2))


@pytest.mark.parametrize("char", "?bHi")
def test_cumath_of_integers(char):
    """Results are floats of NumPy's dtype, and are not truncated to integers."""
    host = np.array([0, 1, 1], char)
    array = gpuarray.to_gpu(host)
    for name in "fabs ceil floor exp sqrt acos".split():
        want = getattr(np, {"acos": "arccos"}.get(name, name))(host)
        got = getattr(cumath, name)(array)
        assert got.dtype == want.dtype, name
        np.testing.assert_allclose(got.get(), want, rtol=2e-3, err_msg=name)
    (significand, _), want = cumath.frexp(array), np.frexp(host)
    assert significand.dtype == want[0].dtype
    for got, part in zip(cumath.modf(array), np.modf(host), strict=True):
        check(got, part)
    with pytest.raises(TypeError):
        cumath.sqrt(array, out=gpuarray.empty_like(array))


@pytest.mark.parametrize(
    "shapes", [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((), (3,))]
)
def test_numpys_dot(shapes):
    """np.dot is the matrix product, gpuarray.dot the sum over all elements."""
    left, right = (np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape) for shape in shapes)
    check(np.dot(gpuarray.to_gpu(left), gpuarray.to_gpu(right)), np.dot(left, right))


@pytest.mark.parametrize("dtype", ["?", "b", "e", "f", "d", "D"])
@pytest.mark.parametrize("shape", [(100, 70), (16, 300), (3, 40, 50), (2, 3, 33, 65)], ids=str)
def test_operands_with_different_fastest_axes(shape, dtype):
    """Kernels for them work by tiles along the fastest axis of each operand; no shape here is a multiple of a
    tile."""
    rng = np.random.default_rng(5)
    host = (rng.standard_normal(shape) * 50).astype(dtype)
    array = gpuarray.to_gpu(host)
    for order in itertools.permutations(range(len(shape))):
        transposed, view = host.transpose(order), array.transpose(order)
        other = (rng.standard_normal(transposed.shape) * 50).astype(dtype)
        on_device = gpuarray.to_gpu(other)
        assert ((view == on_device).get() == (transposed == other)).all()
        assert ((view[..., ::-1] != on_device).get() == (transposed[..., ::-1] != other)).all()
        on_device[...] = view
        np.testing.assert_array_equal(on_device.get(), transposed)


def packed(view):
    """A copy of a GPUArray in C order."""
    result = gpuarray.empty(view.shape, view.dtype)
    result[...] = view
    return result


@pytest.mark.parametrize("size", [1, 2, 3, 6, 8, 12, 16, 24])
def test_copies_into_another_order_keep_all_bits(size):
    """Elements of every size, among them NaNs with payloads."""
    dtype = {1: "u1", 2: "f2", 8: "f8", 16: "c16"}.get(size, f"V{size}")
    host = np.random.default_rng(1).integers(0, 256, 40 * 30 * size, np.uint8).view(dtype).reshape(40, 30)
    array = gpuarray.to_gpu(host)
    for view, expected in (
        (packed(array.T), host.T),
        (packed(array[::-1, ::2]), host[::-1, ::2]),
        (packed(array[3:, ::-3]), host[3:, ::-3]),
    ):
        assert view.get().tobytes() == np.ascontiguousarray(expected).tobytes()


def test_functions_of_numbers():
    for name, number in (("exp", 2.5), ("sqrt", 2), ("floor", 2.5), ("sin", 1j), ("fabs", np.float32(-2))):
        result = getattr(cumath, name)(number)
        expected = getattr(np, name)(number)
        assert result.shape == () and result.dtype == expected.dtype
        np.testing.assert_allclose(result.get(), expected, rtol=1e-6)
    with pytest.raises(TypeError, match="list"):
        cumath.exp([1.0])
