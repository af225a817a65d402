"""Dtypes of results are those of the array API standard's tables. Arrays are empty, so that no kernel
runs."""

import itertools

import numpy as np
import pytest

import pycuda.numpy as xp

pytestmark = pytest.mark.usefixtures("primary_context")

SIGNED, UNSIGNED = ["int8", "int16", "int32", "int64"], ["uint8", "uint16", "uint32", "uint64"]
REAL, COMPLEX = ["float32", "float64"], ["complex64", "complex128"]
INTEGERS, FLOATS = SIGNED + UNSIGNED, REAL + COMPLEX
NUMBERS = INTEGERS + FLOATS
ALL = ["bool", *NUMBERS]


def promoted(first, second):
    """The common dtype of two dtypes by the standard's tables; None if they have no row."""
    for kinds in (SIGNED, UNSIGNED, REAL, COMPLEX):
        if first in kinds and second in kinds:
            return max(first, second, key=kinds.index)
    if {first, second} == {"bool"}:
        return "bool"
    if {first, second} <= {*FLOATS}:
        real, other = (first, second) if first in REAL else (second, first)
        return max(COMPLEX[REAL.index(real)], other, key=COMPLEX.index)
    if {first, second} <= {*INTEGERS}:
        signed, other = (first, second) if first in SIGNED else (second, first)
        needed = UNSIGNED.index(other) + 1
        return SIGNED[max(needed, SIGNED.index(signed))] if needed < len(SIGNED) else None
    return None


PAIRS = [pair for pair in itertools.product(ALL, ALL) if promoted(*pair)]
# (dtypes of operands, dtype of the result or None if it is the promoted one, functions)
BINARY = [
    (NUMBERS, None, "add multiply subtract pow"),
    (REAL, None, "atan2 copysign hypot logaddexp nextafter"),
    (INTEGERS, None, "bitwise_left_shift bitwise_right_shift"),
    (["bool", *INTEGERS], None, "bitwise_and bitwise_or bitwise_xor"),
    (FLOATS, None, "divide"),
    (INTEGERS + REAL, None, "floor_divide remainder maximum minimum"),
    (INTEGERS + REAL, "bool", "greater greater_equal less less_equal"),
    (ALL, "bool", "equal not_equal"),
    (["bool"], "bool", "logical_and logical_or logical_xor"),
]
UNARY = [
    (NUMBERS, None, "negative positive square sign"),
    (INTEGERS + REAL, None, "abs"),
    (FLOATS, None, """acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 reciprocal sin
        sinh sqrt tan tanh"""),
    (["bool", *INTEGERS], None, "bitwise_invert"),
    (INTEGERS + REAL, None, "ceil floor trunc"),
    (NUMBERS, None, "round conj"),
    (NUMBERS, "bool", "isfinite isinf isnan"),
    (["bool"], "bool", "logical_not"),
    (REAL, "bool", "signbit"),
]  # fmt: skip
OPERATORS = {
    "add": "__add__", "multiply": "__mul__", "subtract": "__sub__", "pow": "__pow__", "divide": "__truediv__",
    "floor_divide": "__floordiv__", "remainder": "__mod__", "bitwise_and": "__and__", "less": "__lt__",
    "bitwise_or": "__or__", "bitwise_xor": "__xor__", "equal": "__eq__", "greater_equal": "__ge__",
    "bitwise_left_shift": "__lshift__", "bitwise_right_shift": "__rshift__",
}  # fmt: skip


def empty(dtype):
    """An array without elements, of this dtype."""
    return xp.empty(0, dtype=getattr(xp, dtype))


def rows(table):
    """[(function, dtypes of operands, dtype of the result or None)]"""
    return [(name, dtypes, result) for dtypes, result, names in table for name in names.split()]


def test_the_tables_are_numpys():
    """NumPy and pycuda.numpy promote as promoted() says."""
    # Of bool one pair, of 8 integers all except for 8 of uint64 with a signed one, of 4 floats all.
    assert len(PAIRS) == 1 + 8 * 8 - 8 + 4 * 4
    for first, second in PAIRS:
        assert np.promote_types(first, second) == promoted(first, second)
        assert xp.result_type(empty(first), empty(second)) == promoted(first, second)
        assert xp.result_type(getattr(xp, first), empty(second)) == promoted(first, second)


@pytest.mark.parametrize("name, dtypes, result", rows(BINARY))
def test_functions_of_two_arrays(name, dtypes, result):
    function, pairs = getattr(xp, name), [pair for pair in PAIRS if {*pair} <= {*dtypes}]
    assert pairs
    for first, second in pairs:
        wanted = result or promoted(first, second)
        assert function(empty(first), empty(second)).dtype == wanted, (first, second)
        if name in OPERATORS:
            assert getattr(empty(first), OPERATORS[name])(empty(second)).dtype == wanted


@pytest.mark.parametrize("name, dtypes, result", rows(UNARY))
def test_functions_of_one_array(name, dtypes, result):
    if name in ("ceil", "floor", "trunc") and np.lib.NumpyVersion(np.__version__) < "2.1.0":
        dtypes = REAL  # integers become float64 there
    for dtype in dtypes:
        assert getattr(xp, name)(empty(dtype)).dtype == (result or dtype), dtype


def test_parts_of_complex_numbers():
    for real, dtype in zip(REAL, COMPLEX, strict=True):
        for name in ("abs", "real", "imag"):
            assert getattr(xp, name)(empty(dtype)).dtype == real


@pytest.mark.parametrize("dtype", ALL)
def test_python_scalars_take_the_dtype_of_the_array(dtype):
    scalars = {"b": [True], "i": [1], "u": [1], "f": [1, 1.5], "c": [1, 1.5, 2j]}[np.dtype(dtype).kind]
    for number in scalars:
        function = xp.logical_and if dtype == "bool" else xp.multiply
        assert function(empty(dtype), number).dtype == dtype
        assert function(number, empty(dtype)).dtype == dtype
        assert xp.where(empty("bool"), empty(dtype), number).dtype == dtype
        assert xp.result_type(empty(dtype), number) == dtype
        if dtype != "bool":
            assert (empty(dtype) * number).dtype == (number - empty(dtype)).dtype == dtype
    if dtype in REAL:
        assert (empty(dtype) + 1j).dtype == COMPLEX[REAL.index(dtype)]


@pytest.mark.parametrize("first, second", PAIRS)
def test_other_functions_of_two_arrays(first, second):
    one, other, wanted = empty(first), empty(second), promoted(first, second)
    assert xp.where(empty("bool"), one, other).dtype == wanted
    assert xp.concat([one, other]).dtype == xp.stack([one, other]).dtype == wanted
    assert xp.tensordot(one, other, axes=0).dtype == wanted
    if first != "bool":
        assert xp.matmul(one[:, None], other[None, :]).dtype == wanted
        assert xp.linalg.outer(one, other).dtype == wanted


@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
def test_dtypes_of_sums_and_products(name):
    for dtype in NUMBERS:
        default = "int64" if dtype in SIGNED else "uint64" if dtype in UNSIGNED else dtype
        assert getattr(xp, name)(empty(dtype)).dtype == default
        given = "float64" if dtype in REAL else dtype
        assert getattr(xp, name)(empty(dtype), dtype=getattr(xp, given)).dtype == given


def test_other_reductions():
    for dtype in ALL:
        assert xp.any(empty(dtype)).dtype == xp.all(empty(dtype)).dtype == "bool"
        assert xp.count_nonzero(empty(dtype)).dtype == xp.nonzero(empty(dtype))[0].dtype == "int64"
        assert xp.isin(empty(dtype), empty(dtype)).dtype == "bool"
        assert xp.unique_values(empty(dtype)).dtype == dtype
    for dtype in INTEGERS + REAL:
        assert xp.argsort(empty(dtype)).dtype == "int64" and xp.sort(empty(dtype)).dtype == dtype
    for dtype in ("uint8", "float32"):
        one = xp.ones(1, dtype=getattr(xp, dtype))
        assert xp.max(one).dtype == xp.min(one).dtype == dtype
        assert xp.argmax(one).dtype == xp.argmin(one).dtype == "int64"
    assert xp.mean(one).dtype == xp.std(one).dtype == xp.var(one).dtype == "float32"


@pytest.mark.parametrize("real, dtype", [*zip(REAL, COMPLEX, strict=True)])
def test_linear_algebra_and_transforms(real, dtype, factorizations):
    for kind in (real, dtype):
        a = xp.eye(2, dtype=getattr(xp, kind))
        others = {"matrix_rank": "int64", "svdvals": real, "eigvalsh": real, "eigvals": dtype}
        for name in "cholesky inv pinv matrix_rank svdvals eigvalsh eigvals det".split():
            assert getattr(xp.linalg, name)(a).dtype == others.get(name, kind), name
        assert xp.linalg.solve(a, a).dtype == xp.linalg.qr(a).Q.dtype == xp.linalg.svd(a).U.dtype == kind
        assert xp.linalg.eigh(a).eigenvalues.dtype == xp.linalg.svd(a).S.dtype == real
        assert xp.linalg.eig(a).eigenvalues.dtype == xp.linalg.eig(a).eigenvectors.dtype == dtype
        assert xp.linalg.vector_norm(a).dtype == xp.linalg.matrix_norm(a).dtype == real
        assert xp.linalg.slogdet(a).logabsdet.dtype == real
        assert xp.linalg.trace(a).dtype == kind
        assert xp.fft.fft(a).dtype == xp.fft.ifftn(a).dtype == dtype
    assert xp.fft.rfft(a.real).dtype == dtype
    assert xp.fft.irfft(a).dtype == xp.fft.hfft(a).dtype == real
    assert xp.fft.fftfreq(4, dtype=getattr(xp, real)).dtype == real
    assert xp.fft.fftfreq(4).dtype == xp.fft.rfftfreq(4).dtype == "float64"
