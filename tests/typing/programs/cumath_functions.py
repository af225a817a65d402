"""Functions of elements by PyCUDA's names."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import pycuda.driver as drv
from pycuda import cumath, gpuarray
from pycuda.gpuarray import GPUArray


def length(x: GPUArray[np.float64], y: GPUArray[np.float64]) -> GPUArray[np.float64]:
    return cumath.sqrt(x * x + y * y)


def main() -> None:
    x = gpuarray.to_gpu(np.linspace(0.1, 0.9, 5))
    assert_type(cumath.sin(x), GPUArray[np.float64])
    circle = length(cumath.cos(x), cumath.sin(x))
    assert_type(circle.get(), NDArray[np.float64])
    np.testing.assert_allclose(circle.get(), np.ones(5))

    stream = drv.Stream()
    into = gpuarray.empty_like(x)
    assert_type(cumath.exp(x, out=into, stream=stream), GPUArray[np.float64])
    stream.synchronize()
    np.testing.assert_allclose(cumath.log(into).get(), x.get())

    whole = gpuarray.to_gpu(np.arange(3, dtype=np.int32))
    assert_type(cumath.sqrt(whole), GPUArray)
    significands, exponents = cumath.frexp(x)
    assert_type(significands, GPUArray)
    np.testing.assert_array_equal(cumath.ldexp(significands, exponents).get(), x.get())
    np.testing.assert_array_equal(cumath.fmod(x, 0.5).get(), np.fmod(x.get(), 0.5))


if __name__ == "__main__":
    import pycuda.autoinit  # noqa: F401

    main()
