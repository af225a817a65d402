"""Arrays with more than 2^31 and 2^32 elements give what NumPy gives."""

import fcntl

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel
from pycuda.scan import InclusiveScanKernel

pytestmark = [
    pytest.mark.gpu("takes minutes on a CPU, and 20 GB"),
    pytest.mark.usefixtures("primary_context"),
    pytest.mark.timeout(600),
]

BEYOND_31, BEYOND_32 = 2**31 + 12_345, 2**32 + 12_345
SIZES = pytest.mark.parametrize("size", [BEYOND_31, BEYOND_32])


@pytest.fixture(autouse=True)
def alone(tmp_path_factory):
    """Holds a lock during the test: two of these tests at once would need more memory than a GPU has.
    tests/conftest.py has tests with this fixture run first."""
    with open(tmp_path_factory.getbasetemp().parent / "huge.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if drv.mem_get_info()[0] < 5 * BEYOND_32:
            pytest.skip("needs 20 GB of the GPU's memory")
        yield
        drv.default_memory_pool().free_held()


PERIOD = 251  # a prime: elements at a distance of a power of two differ, so that a wrong index is seen


def bytes_of(size, step=1):
    """`size` bytes with a period of PERIOD: 0, step, 2 * step and so on, modulo 256."""
    return np.resize((np.arange(PERIOD) * step % 256).astype(np.uint8), size)


def counts_of(a):
    """np.bincount(a, minlength=256) by parts: NumPy converts its operand to int64, eight times the memory."""
    return sum(np.bincount(part, minlength=256) for part in np.array_split(a, 64))


def agree(ours, expected):
    """Asserts equal shapes, dtypes and elements."""
    found = ours.get()
    assert found.shape == expected.shape and found.dtype == expected.dtype
    assert np.array_equal(found, expected)


@SIZES
def test_operators_of_huge_arrays(size):
    a, b = bytes_of(size), bytes_of(size, 7)
    ours, other = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
    agree(ours + other, a + b)
    ours += 3
    a += 3
    agree(ours, a)
    agree(gpuarray.where(ours > other, ours, other), np.where(a > b, a, b))


@SIZES
def test_views_with_steps_of_either_sign(size):
    a = bytes_of(size)
    ours = gpuarray.to_gpu(a)
    agree(ours[::-1] + 1, a[::-1] + np.uint8(1))
    agree(ours[5::2] + ours[4:-1:2], a[5::2] + a[4:-1:2])
    agree(ours[-1000:], a[-1000:])
    ours[2::3] = ours[1:-1:3] + 5
    a[2::3] = a[1:-1:3] + 5
    agree(ours, a)


def test_two_axes_whose_product_exceeds_32_bits():
    rows, columns = 65_537, 65_539  # just over 2**16 each
    a = bytes_of(rows * columns).reshape(rows, columns)
    ours = gpuarray.to_gpu(a)
    agree(ours.T.copy(), a.T)
    agree(ours + ours[7], a + a[7])
    agree(ours.sum(0, dtype=np.uint64), a.sum(0, dtype=np.uint64))
    agree(ours.max(1), a.max(1))
    agree(ours[:, :1] + ours[:1], a[:, :1] + a[:1])


@SIZES
def test_reductions_of_huge_arrays(size):
    a = bytes_of(size)
    a[-3] = 255
    ours = gpuarray.to_gpu(a)
    assert int(ours.sum(dtype=np.uint64).get()) == int(a.sum(dtype=np.uint64))
    assert int(ours.argmax().get()) == size - 3
    assert int(ours.max().get()) == 255
    assert int(gpuarray.dot(ours, ours, dtype=np.uint64).get()) == int(counts_of(a) @ np.arange(256) ** 2)


@SIZES
def test_scan(size):
    a = bytes_of(size)
    agree(gpuarray.to_gpu(a).cumsum(dtype=np.uint8), a.cumsum(dtype=np.uint8))


@SIZES
def test_integer_indices_and_masks(size):
    a = np.zeros(size, np.uint8)
    places = np.array([0, 1, 2**31 - 1, 2**31, 2**31 + 5, size - 2, size - 1])
    ours = gpuarray.to_gpu(a)
    ours[gpuarray.to_gpu(places)] = gpuarray.to_gpu(np.arange(1, 8, dtype=np.uint8))
    a[places] = np.arange(1, 8, dtype=np.uint8)
    agree(ours, a)
    agree(ours.take(gpuarray.to_gpu(places)), a.take(places))
    agree(gpuarray.nonzero(ours)[0], np.nonzero(a)[0])
    agree(ours[ours > 2], a[a > 2])
    assert int(ours[size - 1].get()) == 7


@SIZES
def test_bincount(size):
    a = bytes_of(size)
    agree(gpuarray.bincount(gpuarray.to_gpu(a), minlength=256), counts_of(a))


def test_sort_and_unique():
    a = bytes_of(BEYOND_31, 101)
    array = gpuarray.to_gpu(a)
    agree(gpuarray.sort(array), np.sort(a, kind="stable"))
    agree(gpuarray.unique(array), np.flatnonzero(counts_of(a)).astype(a.dtype))


@SIZES
def test_concatenate(size):
    a = bytes_of(size - 1000)
    ours = gpuarray.to_gpu(a)
    agree(gpuarray.concatenate([ours[:500], ours, ours[:500]]), np.concatenate([a[:500], a, a[:500]]))


@SIZES
def test_kernels_of_users(size):
    a = bytes_of(size)
    ours = gpuarray.to_gpu(a)
    out = gpuarray.empty_like(ours)
    # i >> 20 needs the upper bits of the index: an index of 32 bits would give another result.
    kernel = ElementwiseKernel("unsigned char *z, const unsigned char *x", "z[i] = x[i] + (i >> 20)", "upper")
    kernel(out, ours)
    agree(out, a + np.repeat(np.arange((size >> 20) + 1).astype(np.uint8), 1 << 20)[:size])
    large = ReductionKernel(np.uint64, "0", "a + b", "x[i] > 200", "const unsigned char *x")
    assert int(large(ours).get()) == int((a > 200).sum())
    InclusiveScanKernel(np.uint8, "a + b")(ours)
    agree(ours, a.cumsum(dtype=np.uint8))
