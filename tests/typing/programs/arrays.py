"""Arrays of a dtype that is known, and of one that is not."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from pycuda import gpuarray
from pycuda.gpuarray import GPUArray, to_gpu


def normalized(a: GPUArray[np.float32]) -> GPUArray[np.float32]:
    centered = a - gpuarray.sum(a) / a.size
    assert_type(centered, GPUArray[np.float32])
    return centered / gpuarray.max(abs(centered))


def made_of(shape: tuple[int, int], name: str) -> None:
    assert_type(gpuarray.zeros(shape), GPUArray[np.float64])
    assert_type(gpuarray.zeros(shape, np.int32), GPUArray[np.int32])
    assert_type(gpuarray.empty(shape, np.complex64), GPUArray[np.complex64])
    assert_type(GPUArray(shape, np.dtype(np.int8)), GPUArray[np.int8])
    assert_type(gpuarray.ones(shape, name), GPUArray)
    assert_type(gpuarray.arange(4, dtype=np.int32), GPUArray[np.int32])
    assert_type(gpuarray.full(shape, 2, np.float32), GPUArray[np.float32])
    assert_type(gpuarray.zeros_like(gpuarray.ones(shape)), GPUArray[np.float64])


def operators(a: GPUArray[np.float32], n: GPUArray[np.int32], z: GPUArray[np.complex64]) -> None:
    assert_type(2 * a + a**2 - 1.5, GPUArray[np.float32])
    assert_type(-a / a, GPUArray[np.float32])
    assert_type(n // 2 + n % 3, GPUArray[np.int32])
    assert_type(n & 3 | n << 1, GPUArray[np.int32])
    assert_type(n / 2, GPUArray)
    assert_type(a * np.float64(2), GPUArray)
    assert_type(abs(z), GPUArray[np.float32])
    assert_type(a > 1, GPUArray[np.bool_])
    assert_type((a > 1) & (a < 2), GPUArray[np.bool_])
    assert_type(a.reshape(2, 3) @ a.reshape(3, 2), GPUArray[np.float32])
    a += 1
    assert_type(a, GPUArray[np.float32])


def methods(a: GPUArray[np.float32]) -> None:
    assert_type(a[1:, None], GPUArray[np.float32])
    assert_type(a.reshape(3, 2).T.ravel().copy(), GPUArray[np.float32])
    assert_type(a.astype(np.int64), GPUArray[np.int64])
    assert_type(a.view(np.int32), GPUArray[np.int32])
    assert_type(a.sum(axis=0), GPUArray[np.float32])
    assert_type(a.sum(dtype=np.float64), GPUArray[np.float64])
    assert_type(a.argmax(), GPUArray[np.intp])
    assert_type(a.any(), GPUArray[np.bool_])
    assert_type(a.mean(), GPUArray[np.float32])
    assert_type(a.nonzero(), tuple[GPUArray[np.intp], ...])
    assert_type(a.dtype, np.dtype[np.float32])
    assert_type(a.get(), NDArray[np.float32])
    host: NDArray[np.float32] = np.empty(6, np.float32)
    assert_type(a.get(host), NDArray[np.float32])
    assert_type(a.shape, tuple[int, ...])


def functions(a: GPUArray[np.float32], unknown: GPUArray) -> None:
    assert_type(gpuarray.dot(a, a), GPUArray[np.float32])
    assert_type(gpuarray.sort(a), GPUArray[np.float32])
    assert_type(gpuarray.argsort(a), GPUArray[np.intp])
    assert_type(gpuarray.take(a, to_gpu(np.array([0, 1]))), GPUArray[np.float32])
    assert_type(gpuarray.if_positive(a, a, a), GPUArray[np.float32])
    assert_type(gpuarray.concatenate([a, a]), GPUArray[np.float32])
    assert_type(gpuarray.topk(a, 2).indices, GPUArray[np.intp])
    assert_type(gpuarray.sum(unknown), GPUArray)
    assert_type(unknown + 1, GPUArray)
    assert_type(unknown.get(), NDArray[Any])


def refused(a: GPUArray[np.float32]) -> None:
    """What a type checker finds before the program runs."""
    for wrong in (
        lambda: np.frombuffer(a),  # type: ignore[call-overload] # pyright: ignore
        lambda: a.rehsape(2, 3),  # type: ignore[attr-defined] # pyright: ignore
        lambda: a.set("text"),  # type: ignore[arg-type] # pyright: ignore
    ):
        try:
            wrong()
        except (TypeError, AttributeError):
            continue
        raise AssertionError("not refused")


def main() -> None:
    a = to_gpu(np.arange(6, dtype=np.float32))
    assert_type(a, GPUArray[np.float32])
    result = normalized(a).get()
    assert_type(result, NDArray[np.float32])
    np.testing.assert_allclose(result, [-1, -0.6, -0.2, 0.2, 0.6, 1], rtol=1e-6)
    made_of((2, 2), "int32")
    operators(a, a.astype(np.int32), a.astype(np.complex64))
    methods(a)
    functions(a, a)
    refused(a)


if __name__ == "__main__":
    import pycuda.autoinit  # noqa: F401

    main()
