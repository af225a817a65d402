"""Operations with operands of any layout at any address modulo 16, compared with NumPy: no kernel assumes
more alignment than its operand has."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import curandom, gpuarray
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel
from pycuda.scan import InclusiveScanKernel

DTYPES = ["i1", "i2", "f4", "f8", "c8", "c16"]
C_NAMES = ["signed char", "short", "float", "double", "pycuda::complex<float>", "pycuda::complex<double>"]
CAST_TO = {"f4": "f8", "c8": "c16", "c16": "c8"}  # the dtype of astype() by the operand's; "f4" for any other
SHAPES = [(1025,), (4097,), (7,), (33, 34), (5, 260), (130, 9), (4, 5, 33), (2, 70, 16)]
ALL, BACK = slice(None), slice(None, None, -1)
SLICES = [
    ALL,
    BACK,
    slice(1, None),
    slice(None, 0, -1),
    slice(None, None, 2),
    slice(None, None, -2),
    slice(1, 2),
]
CASES = 120  # random operands for each operation


def _double(x, z):
    name = C_NAMES[DTYPES.index(x.dtype.str[1:])]
    ElementwiseKernel(f"{name} *z, {name} *x", "z[i] = x[i] + x[i]")(z, x)
    return z


def _sum(x):
    name = C_NAMES[DTYPES.index(x.dtype.str[1:])]
    return ReductionKernel(
        x.dtype, neutral="0", reduce_expr="a+b", map_expr="x[i]", arguments=f"const {name} *x"
    )(x)


def _assign(to, value):
    to[...] = value
    return to


def _random(x):
    """Fills x; returns zeros, which are compared instead of the random numbers."""
    curandom.XORWOWRandomNumberGenerator().fill_uniform(x)
    values = x.get()
    assert ((values >= 0) & (values <= 1)).all()
    return gpuarray.zeros_like(x)


# Operations by name, as functions of x, y and k: x and y are arrays of one shape and of any layouts, k is an
# integer that chooses an axis or an order. SAME and REAL: one function for NumPy's arrays and for ours, REAL
# for dtypes that are not complex. OWN and SINGLE: (function for NumPy's arrays, function for ours), SINGLE
# for float32.
SAME = {
    "x + x": lambda x, y, k: x + x,
    "x * y": lambda x, y, k: x * y,
    "-x": lambda x, y, k: -x,
    "x += 1": lambda x, y, k: x.__iadd__(1),
    "out=x": lambda x, y, k: np.add(x, y, out=x),
    "x[...] = 7": lambda x, y, k: _assign(x, 7),
    "x[...] = y": lambda x, y, k: _assign(x, y),
    "astype": lambda x, y, k: x.astype(CAST_TO.get(x.dtype.str[1:], "f4")),
    "copy": lambda x, y, k: x.copy("CFKA"[k]),
    "flatten": lambda x, y, k: x.flatten("CFKA"[k]),
    "ravel": lambda x, y, k: x.ravel(),
    "reshape": lambda x, y, k: x.reshape(-1, order="CF"[k % 2]),
    "sum": lambda x, y, k: x.sum(),
    "sum of an axis": lambda x, y, k: x.sum(axis=k % x.ndim),
    "cumsum": lambda x, y, k: x.cumsum(axis=k % x.ndim),
    "take": lambda x, y, k: np.take(x, [0, x.size - 1, x.size // 2]),
    "where": lambda x, y, k: np.where(x != 0, x, y),
    "x[mask]": lambda x, y, k: x[x != 0],
    "count_nonzero": lambda x, y, k: np.count_nonzero(x),
    "matmul": lambda x, y, k: x.reshape(x.shape[0], -1)[:40] @ y.reshape(x.shape[0], -1)[:40].T,
}
REAL = {
    "sort": lambda x, y, k: np.sort(x, axis=k % x.ndim),
    "max": lambda x, y, k: x.max(),
    "argmin": lambda x, y, k: x.argmin(axis=k % x.ndim),
}
OWN = {
    "fill": (lambda x, y, k: _assign(x, 3), lambda x, y, k: x.fill(3)),
    "ElementwiseKernel": (lambda x, y, k: x + x, lambda x, y, k: _double(x, gpuarray.empty_like(x))),
    "ElementwiseKernel to x": (lambda x, y, k: _assign(x, y + y), lambda x, y, k: _double(y, x)),
    "ReductionKernel": (lambda x, y, k: x.sum(dtype=x.dtype), lambda x, y, k: _sum(x)),
    "InclusiveScanKernel": (
        lambda x, y, k: np.cumsum(x.ravel(), dtype=x.dtype),
        lambda x, y, k: InclusiveScanKernel(x.dtype, "a+b")(x.ravel(), gpuarray.empty(x.size, x.dtype)),
    ),
}
SINGLE = {"fill_uniform": (lambda x, y, k: np.zeros_like(x), lambda x, y, k: _random(x))}
# {name: (function for NumPy's arrays, function for ours, dtypes)}
OPERATIONS = {
    **{name: (one, one, DTYPES) for name, one in SAME.items()},
    **{name: (one, one, ["i1", "i2", "f4", "f8"]) for name, one in REAL.items()},
    **{name: (*pair, DTYPES) for name, pair in OWN.items()},
    **{name: (*pair, ["f4"]) for name, pair in SINGLE.items()},
}


class Placed:
    """The same random integers on the host and on the device, at a random offset modulo 16 in a larger block.

    host, array: the numbers, views of `around` (NumPy's, bytes) and of `block` (the GPUArray of the same
    bytes).
    """

    def __init__(self, rng, dtype, shape):
        dtype = np.dtype(dtype)
        alignment = dtype.itemsize // (2 if dtype.kind == "c" else 1)
        first = int(rng.integers(16)) // alignment * alignment
        end = first + int(np.prod(shape)) * dtype.itemsize
        self.around = np.zeros(end + 32, np.uint8)
        self.around[first:end] = rng.integers(-4, 5, shape).astype(dtype).reshape(-1).view(np.uint8)
        self.block = gpuarray.to_gpu(self.around)
        self.host = self.around[first:end].view(dtype).reshape(shape)
        self.array = self.block[first:end].view(dtype).reshape(shape)


def _laid_out(arrays, index, axes):
    """A view of each, with this index and these axes."""
    return [array[index].transpose(axes) for array in arrays]


def _drawn(rng, dtype):
    """(a Placed, (host array, GPUArray) of its numbers in a random layout, such a pair for a second operand).
    The second operand has the shape of the first, and its layout or that of a contiguous array with some axes
    reversed."""
    shape = SHAPES[rng.integers(len(SHAPES))]
    index = tuple(SLICES[i] for i in rng.integers(len(SLICES), size=len(shape)))
    axes = tuple(map(int, rng.permutation(len(shape))))
    first, second = Placed(rng, dtype, shape), Placed(rng, dtype, shape)
    x = _laid_out((first.host, first.array), index, axes)
    if rng.random() < 0.5:
        return first, x, _laid_out((second.host, second.array), index, axes)
    y = np.ascontiguousarray(second.host[index].transpose(axes))
    flipped = tuple(BACK if turn else ALL for turn in rng.integers(2, size=len(shape)))
    return first, x, [y[flipped], gpuarray.to_gpu(y)[flipped]]


@pytest.mark.parametrize("name", OPERATIONS)
def test_layouts(primary_context, name):
    """An operation gives NumPy's result for random strides, offsets and alignments, and leaves the memory
    around its operand as it was.
    """
    on_host, on_device, dtypes = OPERATIONS[name]
    for case in range(CASES):
        rng = np.random.default_rng([case, *name.encode()])
        dtype, k = dtypes[case % len(dtypes)], int(rng.integers(4))
        first, (host, array), (other, second) = _drawn(rng, dtype)
        description = f"case {case}: {dtype}, shape {host.shape}, strides {host.strides}, at {array.ptr % 16}"
        want, got = on_host(host, other, k), on_device(array, second, k)
        found = got.get() if isinstance(got, gpuarray.GPUArray) else got
        np.testing.assert_allclose(found, want, rtol=1e-5, err_msg=description)
        if name == "copy":
            assert got.flags.c_contiguous == want.flags.c_contiguous, description
            assert got.flags.f_contiguous == want.flags.f_contiguous, description
        if name in ("ravel", "reshape"):
            assert got.flags.c_contiguous, description
        if name != "fill_uniform":
            np.testing.assert_array_equal(first.block.get(), first.around, err_msg=description)


# ---- addresses that are not aligned


@pytest.mark.parametrize(
    "make",
    [
        lambda a: a[1:9].view("f8"),
        lambda a: gpuarray.GPUArray((3,), np.float64, base=a, gpudata=a.ptr + 4),
        lambda a: gpuarray.GPUArray((2,), np.float64, base=a, gpudata=a.ptr, strides=(12,)),
        lambda a: a.reshape(3, 3)[:, :2].view("f8"),
        lambda a: a.view("u1")[2:34].view("c8"),
    ],
    ids=["view", "gpudata", "strides", "view of rows", "complex"],
)
def test_arrays_that_are_not_aligned_for_their_dtype_are_refused(primary_context, make):
    array = gpuarray.to_gpu(np.arange(9, dtype=np.float32))
    with pytest.raises(ValueError, match=r"at 0x[0-9a-f]+ is not aligned for elements of"):
        make(array)
    drv.Context.synchronize()
    aligned = array[1:9].copy().view("f8")
    np.testing.assert_array_equal((aligned + 0).get(), array.get()[1:9].view("f8"))


class _Foreign:
    """Another library's array of two float64, `offset` bytes from the start of a GPUArray."""

    def __init__(self, array, offset, strides):
        self.kept = array
        self.__cuda_array_interface__ = {
            "shape": (2,), "typestr": "<f8", "data": (array.ptr + offset, False), "version": 3,
            "strides": strides,
        }  # fmt: skip


@pytest.mark.parametrize("offset, strides", [(4, None), (0, (12,))])
def test_foreign_arrays_that_are_not_aligned_are_refused(primary_context, offset, strides):
    array = gpuarray.zeros(9, np.float32)
    with pytest.raises(ValueError, match="not aligned for elements of float64"):
        gpuarray.zeros(2, np.float64) + _Foreign(array, offset, strides)


def test_ravel_and_reshape_to_one_axis_are_contiguous(primary_context):
    """The result is a copy if the operand's elements are not contiguous."""
    host = np.arange(8, dtype=np.float32)
    for index in (slice(None, None, 2), BACK):
        array = gpuarray.to_gpu(host)
        for flat in (array[index].ravel(), array[index].reshape(-1), array[index].reshape(-1, order="F")):
            assert flat.flags.c_contiguous
            flat += 1
            np.testing.assert_array_equal(flat.get(), host[index] + 1)
        np.testing.assert_array_equal(array.get(), host)
