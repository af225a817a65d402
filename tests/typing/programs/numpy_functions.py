"""NumPy's own functions with GPUArrays: what NumPy's stubs say of them, and functions for any library."""

from types import ModuleType
from typing import Any

import numpy as np

from pycuda import gpuarray
from pycuda.gpuarray import GPUArray


def wave(a: GPUArray[np.float32]) -> GPUArray[np.float32]:
    """By NumPy's stubs a ufunc of one operand that is not an array of NumPy's returns Any."""
    result: GPUArray[np.float32] = np.sin(a)
    return np.square(result) + np.cos(a) ** 2  # type: ignore[no-any-return]


def centered(x: Any) -> Any:
    """Of any library's arrays."""
    namespace: ModuleType = x.__array_namespace__()
    return x - namespace.mean(x)


def main() -> None:
    a = gpuarray.to_gpu(np.linspace(0, 1, 5, dtype=np.float32))
    np.testing.assert_allclose(wave(a).get(), np.ones(5), rtol=1e-6)
    result: GPUArray[np.float32] = centered(a)
    np.testing.assert_allclose(result.get(), centered(a.get()), atol=1e-7)
    # Their stubs take no other library's arrays in functions of several operands, though the call works.
    total: GPUArray[np.float32] = np.sum(a)  # type: ignore[call-overload] # pyright: ignore
    assert float(total) == 2.5


if __name__ == "__main__":
    import pycuda.autoinit  # noqa: F401

    main()
