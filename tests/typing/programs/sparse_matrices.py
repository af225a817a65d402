"""Sparse arrays on the device."""

from typing import assert_type

import numpy as np

from pycuda import gpuarray
from pycuda.gpuarray import GPUArray
from pycuda.sparse import coo_array, csc_array, csr_array


def power(a: csr_array, x: GPUArray[np.float64], times: int) -> GPUArray:
    """The vector that is multiplied so many times."""
    result: GPUArray = x
    for _ in range(times):
        result = a @ result
    return result


def main() -> None:
    rows, columns = np.array([0, 1, 1]), np.array([0, 0, 1])
    placed = coo_array((gpuarray.to_gpu(np.array([1.0, 2.0, 3.0])), (rows, columns)), shape=(2, 2))
    a = placed.tocsr()
    assert_type(a, csr_array)
    assert_type(a.shape, tuple[int, int])
    assert_type(a.tocsc(), csc_array)
    assert_type(2 * a, csr_array)
    assert_type(a.data, GPUArray)
    assert_type(a.toarray(), GPUArray)
    np.testing.assert_array_equal(a.toarray().get(), [[1, 0], [2, 3]])
    np.testing.assert_array_equal(power(a, gpuarray.ones(2), 2).get(), [1, 17])


if __name__ == "__main__":
    import pycuda.autoinit  # noqa: F401

    main()
