"""Names and parameters of the array API standard, version 2025.12: all calls that it allows are possible."""

import inspect
import re

import numpy as np
import pytest

import pycuda.numpy as xp
from pycuda.gpuarray import GPUArray

# The standard's signatures. Several names may have the same parameters.
SIGNATURES = """
arange(start, /, stop=None, step=1, *, dtype=None, device=None)
asarray(obj, /, *, dtype=None, device=None, copy=None)
empty(shape, *, dtype=None, device=None)
empty_like(x, /, *, dtype=None, device=None)
eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
from_dlpack(x, /, *, device=None, copy=None)
full(shape, fill_value, *, dtype=None, device=None)
full_like(x, /, fill_value, *, dtype=None, device=None)
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
meshgrid(*arrays, indexing="xy")
ones(shape, *, dtype=None, device=None)
ones_like(x, /, *, dtype=None, device=None)
tril(x, /, *, k=0)
triu(x, /, *, k=0)
zeros(shape, *, dtype=None, device=None)
zeros_like(x, /, *, dtype=None, device=None)

astype(x, dtype, /, *, copy=True, device=None)
broadcast_arrays(*arrays)
broadcast_shapes(*shapes)
broadcast_to(x, /, shape)
can_cast(from_, to, /)
finfo(type, /)
iinfo(type, /)
isdtype(dtype, kind)
result_type(*arrays_and_dtypes)

abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf
isnan log log1p log2 log10 logical_not negative positive real reciprocal round sign signbit sin sinh square
sqrt tan tanh trunc (x, /)
add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal
floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum
minimum multiply nextafter not_equal pow remainder subtract (x1, x2, /)
clip(x, /, min=None, max=None)

fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft (x, /, *, n=None, axis=-1, norm="backward")
fft.fftn fft.ifftn fft.rfftn fft.irfftn (x, /, *, s=None, axes=None, norm="backward")
fft.fftfreq fft.rfftfreq (n, /, *, d=1.0, dtype=None, device=None)
fft.fftshift fft.ifftshift (x, /, *, axes=None)

take(x, indices, /, *, axis=None)
take_along_axis(x, indices, /, *, axis=-1)

matmul linalg.matmul (x1, x2, /)
matrix_transpose linalg.matrix_transpose (x, /)
tensordot linalg.tensordot (x1, x2, /, *, axes=2)
vecdot linalg.vecdot (x1, x2, /, *, axis=-1)
linalg.cholesky(x, /, *, upper=False)
linalg.cross(x1, x2, /, *, axis=-1)
linalg.det linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.inv linalg.slogdet (x, /)
linalg.svdvals(x, /)
linalg.diagonal(x, /, *, offset=0)
linalg.matrix_norm(x, /, *, keepdims=False, ord="fro")
linalg.matrix_power(x, n, /)
linalg.matrix_rank linalg.pinv (x, /, *, rtol=None)
linalg.outer linalg.solve (x1, x2, /)
linalg.qr(x, /, *, mode="reduced")
linalg.svd(x, /, *, full_matrices=True)
linalg.trace(x, /, *, offset=0, dtype=None)
linalg.vector_norm(x, /, *, axis=None, keepdims=False, ord=2)

concat(arrays, /, *, axis=0)
expand_dims(x, /, axis)
flip(x, /, *, axis=None)
moveaxis(x, source, destination, /)
permute_dims(x, /, axes)
repeat(x, repeats, /, *, axis=None)
reshape(x, /, shape, *, copy=None)
roll(x, /, shift, *, axis=None)
squeeze(x, /, axis)
stack(arrays, /, *, axis=0)
tile(x, repetitions, /)
unstack(x, /, *, axis=0)

argmax argmin count_nonzero (x, /, *, axis=None, keepdims=False)
nonzero unique_all unique_counts unique_inverse unique_values (x, /)
searchsorted(x1, x2, /, *, side="left", sorter=None)
where(condition, x1, x2, /)
isin(x1, x2, /, *, invert=False)

argsort sort (x, /, *, axis=-1, descending=False, stable=True)

cumulative_prod cumulative_sum (x, /, *, axis=None, dtype=None, include_initial=False)
max mean min all any (x, /, *, axis=None, keepdims=False)
prod sum (x, /, *, axis=None, dtype=None, keepdims=False)
std var (x, /, *, axis=None, correction=0.0, keepdims=False)
diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
"""

METHODS = """
__array_namespace__(*, api_version=None)
__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)
__dlpack_device__()
to_device(device, /, *, stream=None)
"""
ATTRIBUTES = "dtype device mT ndim shape size T".split()
OPERATORS = """
    abs bool complex float getitem index int invert neg pos setitem eq ge gt le lt ne add and floordiv lshift
    matmul mod mul or pow rshift sub truediv xor radd rand rfloordiv rlshift rmatmul rmod rmul ror rpow
    rrshift rsub rtruediv rxor iadd iand ifloordiv ilshift imatmul imod imul ior ipow irshift
    isub itruediv ixor
    """.split()
CONSTANTS = "e inf nan newaxis pi __array_api_version__ __array_namespace_info__".split()
DTYPES = """bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64
    complex128""".split()


NUMPYS_OWN = "iinfo", "can_cast", "result_type"  # NumPy's functions themselves, some in C without a signature


def rows(text):
    """[(name, parameters as text)]"""
    found = re.findall(r"([^()]+?)\s*\((.*?)\)$", text, re.M)
    return [(name, f"({parameters})") for names, parameters in found for name in names.split()]


def find(name):
    """The attribute of pycuda.numpy by its name, which may have dots."""
    value = xp
    for part in name.split("."):
        value = getattr(value, part)
    return value


def parsed(parameters):
    """[inspect.Parameter] of parameters as text."""
    scope = {}
    exec(f"def function{parameters}: pass", scope)
    return [*inspect.signature(scope["function"]).parameters.values()]


def calls(parameters):
    """[(positional arguments, keywords)] for each kind of call that the standard's parameters allow; the
    values have no meaning."""
    given = parsed(parameters)
    several = [each for each in given if each.kind == each.VAR_POSITIONAL]
    first = [0 for each in given if each.kind == each.POSITIONAL_ONLY] + [0, 0, 0] * len(several)
    either = [each for each in given if each.kind == each.POSITIONAL_OR_KEYWORD]
    named = {each.name: each.default for each in given if each.kind == each.KEYWORD_ONLY}
    needed = [0 for each in given if each.kind == each.POSITIONAL_ONLY and each.default is each.empty]
    yield first + [0] * len(either), {}
    yield first + [0] * len(either), named
    yield first, {each.name: 0 for each in either} | named
    if not several:
        yield needed, {each.name: 0 for each in either if each.default is each.empty}


@pytest.mark.parametrize("name, parameters", rows(SIGNATURES), ids=lambda value: value)
def test_each_call_of_the_standard_is_possible(name, parameters):
    function = find(name)
    if name in NUMPYS_OWN:
        assert callable(function)
        return
    signature = inspect.signature(function)
    for arguments, keywords in calls(parameters):
        signature.bind(*arguments, **keywords)


def test_defaults_are_those_of_the_standard():
    """A default may also be None or np._NoValue, by which NumPy means the same value. correction= is NumPy's
    ddof=."""
    wrong = []
    for name, parameters in rows(SIGNATURES):
        if name in NUMPYS_OWN:
            continue
        ours = inspect.signature(find(name)).parameters
        for each in parsed(parameters):
            if each.kind != each.KEYWORD_ONLY or each.default is each.empty or each.name not in ours:
                continue
            default = ours[each.name].default
            is_numpys = default in (None, np._NoValue) or each.name in ("dtype", "correction")
            if default != each.default and not is_numpys:
                wrong.append(f"{name}: {each.name}={default!r}, not {each.default!r}")
    assert wrong == []


def test_each_name_is_there():
    assert len(rows(SIGNATURES)) == len({*rows(SIGNATURES)}) > 170
    for name in CONSTANTS + DTYPES:
        assert hasattr(xp, name)


@pytest.mark.parametrize("name, parameters", rows(METHODS), ids=lambda value: value)
def test_methods(name, parameters):
    signature = inspect.signature(getattr(GPUArray, name))
    for arguments, keywords in calls(parameters):
        signature.bind(None, *arguments, **keywords)


def test_attributes_and_operators():
    assert [name for name in ATTRIBUTES if not hasattr(GPUArray, name)] == []
    assert [name for name in OPERATORS if not hasattr(GPUArray, f"__{name}__")] == []


@pytest.mark.parametrize("name, parameters", rows(SIGNATURES), ids=lambda value: value)
def test_parameters_have_the_names_and_positions_of_the_standard(name, parameters):
    """Positional-only parameters may have other names."""
    if name in NUMPYS_OWN:
        return
    ours, theirs = inspect.signature(find(name)).parameters, parsed(parameters)
    for each, found in zip(theirs, [*ours.values()][: len(theirs)], strict=True):
        if each.kind == each.POSITIONAL_OR_KEYWORD:
            assert found.name == each.name and found.kind == each.kind
        if each.kind == each.KEYWORD_ONLY:
            assert ours[each.name].kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)
