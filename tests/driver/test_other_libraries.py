"""One process with torch, CuPy or numba: shared memory and context, every order of imports, exit code 0, no
word on stderr. For each that is installed and sees a GPU."""

import importlib.util
import itertools

import pytest

NEIGHBORS = {
    "torch": """
import torch
def theirs():
    return torch.arange(8, dtype=torch.float32, device="cuda")
def as_numpy(x):
    return x.cpu().numpy()
""",
    "cupy": """
import cupy
def theirs():
    return cupy.arange(8, dtype=cupy.float32)
def as_numpy(x):
    return cupy.asnumpy(x)
""",
    "numba": """
import numba.cuda, numpy
numba.config.CUDA_WARN_ON_IMPLICIT_COPY = 0
def theirs():
    return numba.cuda.to_device(numpy.arange(8, dtype=numpy.float32))
def as_numpy(x):
    return x.copy_to_host()
""",
}
OURS = """
import numpy as np
import pycuda.%s
import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule
"""
WORK = """
twice = SourceModule("__global__ void twice(float *a) { a[threadIdx.x] *= 2; }").get_function("twice")
x = theirs()
drv.Context.synchronize()
twice(x, block=(8, 1, 1))
drv.Context.synchronize()
assert (as_numpy(x) == 2 * np.arange(8)).all()
mine = gpuarray.to_gpu(np.ones(8, np.float32))
twice(mine, block=(8, 1, 1))
y = theirs()
drv.memcpy_dtod(int(y.__cuda_array_interface__["data"][0]), mine.gpudata, 32)
drv.Context.synchronize()
assert (as_numpy(y) == 2).all()
print("fine")
%s
"""
ENDINGS = ["", "del mine, twice", "del x, y", "raise SystemExit(0)"]


def sees_gpu(run_python, name):
    done = run_python(NEIGHBORS[name] + "as_numpy(theirs())\n", env={"PYTHONWARNINGS": "ignore"})
    return done.returncode == 0


# Whether they or we come first, how it ends, what makes our context.
CASES = [*itertools.product((True, False), ENDINGS, ["autoinit"]), (True, "", "autoprimaryctx")]


@pytest.mark.gpu("torch, CuPy and numba find NVIDIA's own driver only")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("name", NEIGHBORS)
def test_shares_the_primary_context(run_python, name, case):
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    first, ending, init = case
    parts = [NEIGHBORS[name], OURS % init]
    program = "".join(parts if first else parts[::-1]) + WORK % ending
    done = run_python(program, env={"PYTHONWARNINGS": "ignore"})
    if done.returncode and not sees_gpu(run_python, name):
        pytest.skip(f"{name} sees no GPU")
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")
