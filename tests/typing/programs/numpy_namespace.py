"""pycuda.numpy: results have the dtype of their operands, or their own, where that can be said."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import pycuda.numpy as xp
from pycuda.gpuarray import GPUArray
from pycuda.numpy import fft, linalg


def softmax(x: GPUArray[np.float32]) -> GPUArray[np.float32]:
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def ufuncs(a: GPUArray[np.float32], n: GPUArray[np.int32], z: GPUArray[np.complex128]) -> None:
    assert_type(xp.sin(a), GPUArray[np.float32])
    assert_type(xp.sqrt(z), GPUArray[np.complex128])
    assert_type(xp.sin(n), GPUArray)
    assert_type(xp.abs(z), GPUArray[np.float64])
    assert_type(xp.abs(n), GPUArray[np.int32])
    assert_type(xp.negative(n), GPUArray[np.int32])
    assert_type(xp.add(a, a), GPUArray[np.float32])
    assert_type(xp.add(a, 1.5), GPUArray[np.float32])
    assert_type(xp.multiply(2, n), GPUArray[np.int32])
    assert_type(xp.multiply(n, np.int64(2)), GPUArray)
    assert_type(xp.divide(a, 2), GPUArray[np.float32])
    assert_type(xp.maximum(n, n), GPUArray[np.int32])
    assert_type(xp.less(a, 0.5), GPUArray[np.bool_])
    assert_type(xp.isnan(a), GPUArray[np.bool_])
    assert_type(xp.divmod(n, 2), tuple[GPUArray, GPUArray])
    assert_type(xp.sin(np.ones(3)), GPUArray[np.float64])
    assert_type(xp.special.erf(a), GPUArray[np.float32])
    assert_type(xp.special.erf(xp.astype(a, np.float16)), GPUArray)
    assert_type(xp.special.beta(a, a), GPUArray[np.float32])


def creation(shape: tuple[int, int]) -> None:
    assert_type(xp.zeros(shape), GPUArray[np.float64])
    assert_type(xp.ones(shape, dtype=xp.float32), GPUArray[np.float32])
    assert_type(xp.arange(5), GPUArray[np.int_])
    assert_type(xp.arange(0.0, 1.0, 0.25), GPUArray[np.float64])
    assert_type(xp.arange(5, dtype=np.int8), GPUArray[np.int8])
    assert_type(xp.linspace(0, 1, 5), GPUArray[np.float64])
    assert_type(xp.full(shape, 3, np.uint8), GPUArray[np.uint8])
    assert_type(xp.eye(3), GPUArray[np.float64])


def functions(a: GPUArray[np.float32], mask: GPUArray[np.bool_]) -> None:
    assert_type(xp.sort(a), GPUArray[np.float32])
    assert_type(xp.argsort(a), GPUArray[np.intp])
    assert_type(xp.reshape(a, (2, 3)), GPUArray[np.float32])
    assert_type(xp.concatenate([a, a]), GPUArray[np.float32])
    assert_type(xp.stack((a, a), axis=1), GPUArray[np.float32])
    assert_type(xp.where(mask, a, a), GPUArray[np.float32])
    assert_type(xp.where(mask, a, 0.0), GPUArray[np.float32])
    assert_type(xp.where(mask), tuple[GPUArray[np.intp], ...])
    assert_type(xp.split(a, 2), list[GPUArray[np.float32]])
    assert_type(xp.astype(a, xp.int16), GPUArray[np.int16])
    assert_type(xp.unique(a), GPUArray[np.float32])
    assert_type(xp.unique_counts(a).counts, GPUArray[np.intp])
    assert_type(xp.count_nonzero(a), GPUArray[np.intp])
    assert_type(xp.allclose(a, a), GPUArray[np.bool_])
    assert_type(xp.mean(a), GPUArray[np.float32])
    assert_type(xp.mean(a, dtype=np.float64), GPUArray[np.float64])
    assert_type(xp.sum(mask), GPUArray)
    assert_type(xp.any(mask), GPUArray[np.bool_])
    assert_type(xp.cumsum(a), GPUArray[np.float32])
    assert_type(xp.tensordot(a, a, axes=1), GPUArray[np.float32])
    assert_type(xp.shape(a), tuple[int, ...])


def algebra(a: GPUArray[np.float64]) -> None:
    assert_type(linalg.inv(a), GPUArray[np.float64])
    assert_type(linalg.solve(a, a), GPUArray[np.float64])
    assert_type(linalg.norm(a).get(), NDArray[np.floating])
    q, r = linalg.qr(a)
    assert_type(q, GPUArray[np.float64])
    np.testing.assert_allclose((q @ r).get(), a.get())
    assert_type(linalg.svd(a).U, GPUArray[np.float64])
    assert_type(linalg.svd(a, compute_uv=False), GPUArray[np.floating])
    assert_type(linalg.eigh(a).eigenvectors, GPUArray[np.float64])
    assert_type(fft.rfft(a), GPUArray[np.complexfloating])
    assert_type(fft.fftfreq(4), GPUArray[np.float64])


def main() -> None:
    x = xp.asarray(np.array([[0, 1, 2], [2, 1, 0]], np.float32))
    assert_type(x, GPUArray[np.float32])
    y = softmax(x).get()
    assert_type(y, NDArray[np.float32])
    np.testing.assert_allclose(y.sum(axis=1), 1, rtol=1e-6)
    ufuncs(x, xp.astype(x, np.int32), xp.astype(x, np.complex128))
    creation((2, 2))
    functions(x.ravel(), x.ravel() > 1)
    algebra(xp.asarray(np.array([[2.0, 1.0], [1.0, 3.0]])))


if __name__ == "__main__":
    import pycuda.autoinit  # noqa: F401

    main()
