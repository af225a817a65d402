"""Random arrays by NumPy's names and by cuRAND's."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import pycuda.numpy as xp
from pycuda.curandom import XORWOWRandomNumberGenerator, rand
from pycuda.gpuarray import GPUArray
from pycuda.numpy.random import Generator, default_rng


def pi(rng: Generator, count: int) -> float:
    x, y = rng.random(count, dtype=np.float32), rng.random(count, dtype=np.float32)
    assert_type(x, GPUArray[np.float32])
    return 4 * float(xp.mean(x * x + y * y < 1))


def main() -> None:
    rng = default_rng(1)
    assert abs(pi(rng, 10_000) - np.pi) < 0.1
    assert_type(rng.random(3), GPUArray[np.float64])
    assert_type(rng.standard_normal((2, 2)).get(), NDArray[np.float64])
    assert_type(rng.normal(0.0, 2.0, size=3), GPUArray[np.float64])
    assert_type(rng.integers(0, 5, 3), GPUArray[np.int64])
    assert_type(rng.integers(0, 5, 3, dtype=np.uint8), GPUArray[np.uint8])
    assert_type(rng.poisson(3.0, 4), GPUArray[np.int64])
    assert_type(rng.permutation(5), GPUArray[np.int64])
    assert_type(rng.bytes(4), bytes)
    assert_type(rng.spawn(2), list[Generator])

    generator = XORWOWRandomNumberGenerator()
    assert_type(generator.gen_uniform(4, np.float32), GPUArray)
    assert_type(rand((2, 3)), GPUArray)


if __name__ == "__main__":
    import pycuda.autoinit  # noqa: F401

    main()
