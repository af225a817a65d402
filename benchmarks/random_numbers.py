"""GB/s of random numbers: every generator and rand, with cuRAND's device interface, CuPy's and torch's.

2^28 float32 on a GPU, 2^20 on the CPU device with NumPy's; another exponent as argument. Generators are
made before the clock starts: what is measured is filling an array.
"""

import sys

import numpy as np
from arrays import ON_GPU, seconds
from common import table
from libraries import Cuda

import pycuda.driver as drv
from pycuda import curandom, gpuarray
from pycuda.numpy.random import default_rng

# Named as in docs/random.md.
OURS = ["XORWOW", "MRG32k3a", "Philox4x32_10", "Sobol32", "ScrambledSobol32", "Sobol64", "ScrambledSobol64"]


# Each yields (name, uniform, normal) for n numbers: two calls, or None for one that the generator does not
# have.


def ours(n):
    x = gpuarray.empty(n, np.float32)
    yield "pycuda rand", lambda: curandom.rand(n), None
    for name in OURS:
        generator = getattr(curandom, f"{name}RandomNumberGenerator")()
        uniform = lambda of=generator: of.fill_uniform(x)  # noqa: E731
        yield f"pycuda {name}", uniform, lambda of=generator: of.fill_normal(x)


def ours_by_numpys_names(n):
    rng, x = default_rng(1), gpuarray.empty(n, np.float32)
    uniform = lambda: rng.random(dtype=np.float32, out=x)  # noqa: E731
    yield "pycuda numpy.random", uniform, lambda: rng.standard_normal(dtype=np.float32, out=x)


def cuda(n):
    library, x = Cuda(), gpuarray.empty(n, np.float32)
    yield "CUDA Philox4x32_10", library.call("uniform", x, x, n), library.call("normal", x, x, n)
    yield "CUDA Philox4x32_10, normal by -use_fast_math", None, library.call("normal_fast", x, x, n)
    names = "uniform_xorwow", "normal_xorwow"
    yield "CUDA XORWOW", *(library.call(name, x, x, n) for name in names)


def cupy(n):
    from cupy import random

    for kind in "XORWOW", "MRG32k3a", "Philox4x3210":
        generator = random.Generator(getattr(random, kind)(1))
        yield (
            f"cupy {kind}",
            lambda of=generator: of.random(n, dtype=np.float32),
            lambda of=generator: of.standard_normal(n, dtype=np.float32),
        )
    state = random.RandomState(1)
    yield (
        "cupy RandomState (cuRAND's XORWOW)",
        lambda: state.random_sample(n, dtype=np.float32),
        lambda: state.standard_normal(n, dtype=np.float32),
    )


def torch(n):
    import torch

    x = torch.empty(n, device="cuda")
    yield "torch", x.uniform_, x.normal_


def numpy(n):
    for kind in "PCG64", "Philox":
        generator, x = np.random.Generator(getattr(np.random, kind)(1)), np.empty(n, np.float32)
        yield (
            f"numpy {kind}",
            lambda of=generator, out=x: of.random(dtype=np.float32, out=out),
            lambda of=generator, out=x: of.standard_normal(dtype=np.float32, out=out),
        )


def main():
    exponent = int(sys.argv[1]) if len(sys.argv) > 1 else 28 if ON_GPU else 20
    n, rows = 1 << exponent, []
    sources = (ours, ours_by_numpys_names, *((cuda, cupy, torch) if ON_GPU else (numpy,)))
    for source in sources:
        try:
            for name, *calls in source(n):
                times = [seconds(call, drv.Context.synchronize) if call else None for call in calls]
                rows.append([name, *(f"{4 * n / time / 1e9:.2f}" if time else "-" for time in times)])
        except ImportError as error:
            print(f"({error})")
    table(f"Random numbers, 2^{exponent} float32", ["GB/s", "uniform", "normal"], rows)


if __name__ == "__main__":
    main()
