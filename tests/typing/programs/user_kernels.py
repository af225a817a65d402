"""ElementwiseKernel, ReductionKernel and scans."""

from typing import assert_type

import numpy as np

from pycuda import gpuarray
from pycuda.elementwise import ElementwiseKernel
from pycuda.gpuarray import GPUArray
from pycuda.reduction import ReductionKernel
from pycuda.scan import ExclusiveScanKernel, InclusiveScanKernel
from pycuda.tools import ScalarArg, VectorArg

axpy = ElementwiseKernel("float a, const float *x, float *y", "y[i] += a * x[i]", "axpy")
norm = ReductionKernel(
    np.float32, neutral="0", reduce_expr="a + b", map_expr="x[i] * x[i]", arguments="const float *x"
)


def main() -> None:
    x = gpuarray.to_gpu(np.arange(4, dtype=np.float32))
    y = gpuarray.ones(4, np.float32)
    axpy(2.0, x, y)
    axpy(1.0, x, y, range=slice(0, 2))
    np.testing.assert_array_equal(y.get(), [1, 4, 5, 7])

    arguments = [VectorArg(np.int32, "out"), ScalarArg(np.int32, "step")]
    count = ElementwiseKernel(arguments, "out[i] = i * step")
    numbers = gpuarray.empty(4, np.int32)
    count(numbers, 3)
    np.testing.assert_array_equal(numbers.get(), [0, 3, 6, 9])

    total = norm(x)
    assert_type(total, GPUArray)
    assert float(total) == 14
    assert_type(norm(x.reshape(2, 2), axis=1, keepdims=True), GPUArray)

    assert_type(InclusiveScanKernel(np.int32, "a + b")(numbers), GPUArray)
    ExclusiveScanKernel(np.int32, "a > b ? a : b", neutral=0)(numbers)
    np.testing.assert_array_equal(numbers.get(), [0, 0, 3, 9])


if __name__ == "__main__":
    import pycuda.autoinit  # noqa: F401

    main()
