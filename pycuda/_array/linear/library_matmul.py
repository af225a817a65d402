"""Products of matrices by NVIDIA's library, if it is installed and takes the operands."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, NamedTuple

from pycuda import _driver
from pycuda._array.core.axes import starts
from pycuda._driver import _collapse_axes, _packed_strides
from pycuda._kernels.plans.axes import broadcast_strides
from pycuda._kernels.plans.caches import is_own_stream
from pycuda._libraries import blas

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray

# Up to so many multiplications our own kernel takes less time than cuBLAS on an H100, by dtype.char: (of the
# whole product, of each matrix of a stack).
_OWN_WORK = {"f": (1 << 27, 1 << 21), "d": (1 << 27, 1 << 16), "F": (1 << 22, 0), "D": (1 << 22, 0)}
_OWN_WORK_OF_HALVES = 1 << 27, 1 << 21
# Calls for one product whose axes before the last two are not a single one.
_MAX_CALLS = 64


class Strided(NamedTuple):
    """An array without its memory."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def is_packed(self, itemsize: int) -> bool:
        """Whether it is C-contiguous."""
        packed = _packed_strides(self.shape, itemsize)
        return all(
            length == 1 or stride == step
            for length, stride, step in zip(self.shape, self.strides, packed, strict=True)
        )

    def as_one_matrix(self, itemsize: int) -> Strided:
        """The strides of a contiguous array with all axes but the last joined to one."""
        columns = self.shape[-1]
        return Strided((math.prod(self.shape[:-1]), columns), (columns * itemsize, itemsize))


def _strided_of(array: GPUArray) -> Strided:
    return Strided(array.shape, array.strides)


@functools.lru_cache(1024)
def _layout(strided: Strided, itemsize: int) -> blas.MatrixLayout | None:
    """The layout of the last two axes, or None where cuBLAS has none like it."""
    return blas.layout(strided.shape[-2:], strided.strides[-2:], itemsize)


def _batch_axes(a: Strided, b: Strided, c: Strided) -> list[tuple[int, int, int, int]]:
    """(length, stride in a, in b, in c) of the axes before the last two, as few as possible."""
    batch = c.shape[:-2]
    strides = [broadcast_strides(each, (*batch, *each.shape[-2:]))[: len(batch)] for each in (a, b, c)]
    return _collapse_axes(list(zip(batch, *strides, strict=True)), len(strides))[0]


def _has_one_second(a: Strided, b: Strided, c: Strided) -> bool:
    """Whether a stack of matrices is multiplied by one matrix: it can then be taken as one matrix of all
    rows.
    """
    return len(c.shape) > 2 and math.prod(b.shape[:-2]) == 1 and a.shape[:-2] == c.shape[:-2]


class Calls(NamedTuple):
    """Calls of the library for one product, and where each begins in a, b and c, in bytes."""

    product: blas.MatrixProduct
    starts: list[tuple[int, int, int]]

    def queue(self, a: GPUArray, b: GPUArray, c: GPUArray, stream) -> None:
        _driver._library_uses(stream, (a, b, c))
        first = [_driver._first_address(each, False) for each in (a, b, c)]
        for start in self.starts:
            addresses = [address + offset for address, offset in zip(first, start, strict=True)]
            blas.gemm(self.product, c.dtype, addresses, stream)


@functools.lru_cache(1024)
def _plan(a: Strided, b: Strided, c: Strided, itemsize: int) -> Calls | None:
    """The calls for a product; None if the library does not take it."""
    if _has_one_second(a, b, c) and a.is_packed(itemsize) and c.is_packed(itemsize):
        a, b, c = a.as_one_matrix(itemsize), Strided(b.shape[-2:], b.strides[-2:]), c.as_one_matrix(itemsize)
    layouts = [_layout(each, itemsize) for each in (a, b, c)]
    sizes = *c.shape[-2:], a.shape[-1]
    axes = sorted(_batch_axes(a, b, c))
    steps = [step for _, *each in axes for step in each]
    if None in layouts or max(sizes) > blas.LARGEST or any(step < 0 or step % itemsize for step in steps):
        return None
    outer, inner = axes[:-1], axes[-1] if axes else (1, 0, 0, 0)
    if math.prod(length for length, *_ in outer) > _MAX_CALLS or inner[0] > blas.LARGEST:
        return None
    return Calls(blas.MatrixProduct(sizes, tuple(layouts), inner), starts(outer, 3))


def _as_taken(matrices: GPUArray, dtype, stream) -> GPUArray:
    """The matrices, or a copy of them that the library takes."""
    if matrices.dtype != dtype:
        return matrices.astype(dtype, stream=stream)
    return matrices if _layout(_strided_of(matrices), dtype.itemsize) else matrices.copy("C", stream)


def _is_faster_by_own_kernel(a: GPUArray, b: GPUArray, c: GPUArray) -> bool:
    in_all, in_each = _OWN_WORK.get(c.dtype.char, _OWN_WORK_OF_HALVES)
    inner = a.shape[-1]
    is_stack = math.prod(b.shape[:-2]) > 1
    return c.size * inner <= in_all or (is_stack and c.shape[-2] * c.shape[-1] * inner <= in_each)


def matmul_by_cublas(a: GPUArray, b: GPUArray, c: GPUArray, stream) -> tuple[bool, Calls | None]:
    """c = a @ b, with the last two axes as matrices: (whether it is queued, the calls if there were no
    copies). False, and c is as it was, where the library is not there, does not take the operands or the
    stream, or takes longer than our own kernel.
    """
    if not blas.has(c.dtype) or _is_faster_by_own_kernel(a, b, c):
        return False, None
    if stream is None:
        stream = _driver.current_stream()
    if not is_own_stream(stream):
        return False, None
    taken = [_as_taken(each, c.dtype, stream) for each in (a, b)]
    calls = _plan(*map(_strided_of, (*taken, c)), c.itemsize)
    if calls is None:
        return False, None
    calls.queue(*taken, c, stream)
    return True, calls if taken[0] is a and taken[1] is b else None
