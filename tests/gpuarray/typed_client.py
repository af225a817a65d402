"""A program that uses arrays as users do, for type checkers: see test_typing.py, which also runs it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.gpuarray import GPUArray, to_gpu


def make(shape: tuple[int, ...], dtype: npt.DTypeLike) -> GPUArray:
    zeros = gpuarray.zeros(shape, dtype=np.float32)
    ones = gpuarray.ones(4, "i4", order="F")
    full: gpuarray.GPUArray = gpuarray.full(shape, 1.5, dtype)
    like = gpuarray.empty_like(zeros, np.complex64)
    numbers = gpuarray.arange(4, dtype=np.int32)
    grid = gpuarray.meshgrid(numbers, numbers, indexing="ij")
    points = gpuarray.linspace(0, 1, 5, dtype=np.float64)
    diagonal = gpuarray.eye(3, k=1, dtype=np.float32)
    assert (zeros.shape, ones.size, like.dtype, len(grid)) == (shape, 4, np.dtype(np.complex64), 2)
    assert points.size == 5 and diagonal.ndim == 2
    return gpuarray.GPUArray(shape, dtype) if full.size == 0 else full


def compute(a: GPUArray, stream: drv.Stream) -> npt.NDArray[Any]:
    total = gpuarray.sum(a, dtype=np.float64, stream=stream)
    ordered, places = gpuarray.sort(a), gpuarray.argsort(a, axis=0)
    top = gpuarray.topk(a, 2)
    joined = gpuarray.concatenate([a, ordered], axis=0)
    chosen = gpuarray.where(a > 1, a, 0)
    edges = gpuarray.histogram(a, bins=4, range=(0, 1))[1]
    counted = gpuarray.bincount(places.ravel(), minlength=3)
    taken = gpuarray.take(a, np.array([0, 1]))
    distinct = gpuarray.unique(a)
    parts = gpuarray.split(joined, 2)
    best: GPUArray = gpuarray.max(a)
    mean: GPUArray = a.mean(axis=0, keepdims=True) + gpuarray.mean(a)
    scanned = gpuarray.cumsum(a, axis=0) @ gpuarray.transpose(a)
    limited = gpuarray.clip(a, 0, 1) + gpuarray.round(a, 1) + gpuarray.maximum(a, 2)
    results = (total, top.values, chosen, edges, counted, taken, distinct, parts[0], best, mean, scanned)
    assert all(isinstance(each, GPUArray) for each in results)
    return limited.get()


def main() -> None:
    vector = gpuarray.vec.make_float3(1, 2, 3)
    blocks, threads = gpuarray.splay(1000)
    assert vector.dtype == gpuarray.vec.float3 and blocks[0] and threads[0]
    array = to_gpu(np.ones((2, 3), np.float32))
    assert make((2, 3), np.float32).size == array.size
    assert compute(array, drv.Stream()).shape == (2, 3)


if __name__ == "__main__":
    import pycuda.autoprimaryctx  # noqa: F401

    main()
