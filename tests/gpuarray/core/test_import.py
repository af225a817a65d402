"""What `import pycuda.gpuarray` imports: what a program needs to make arrays, and nothing that compiles."""


def test_the_import_leaves_out_what_only_some_calls_need(run_python):
    program = """
import sys
import numpy as np

there = set(sys.modules)
import pycuda.gpuarray

new = set(sys.modules) - there
print(*sorted(name for name in new if name.startswith("pycuda.")))
print(*sorted(new & {"numpy.fft", "threading", "hashlib", "subprocess", "tempfile", "importlib.metadata"}))
"""
    done = run_python(program)
    ours, others = done.stdout.split("\n")[:2]
    assert done.returncode == 0 and not others
    ours = ours.split()
    assert "pycuda._driver" in ours and "pycuda._array.core.creation" in ours
    compilers = {
        f"pycuda._compile.{name}" for name in ("build", "finder", "nvrtc", "nvcc", "options", "source")
    }
    kernels = {
        f"pycuda._kernels.builtin.{name}" for name in ("matmul", "reduction", "axis_scan", "sort", "topk")
    }
    assert not [name for name in ours if name.startswith("pycuda._array.statistics")]
    assert not {*ours} & {*compilers, *kernels, "pycuda._libraries.blas", "pycuda.compiler"}


def test_names_that_are_imported_late_are_like_the_others(run_python):
    program = """
import pickle
from pycuda import gpuarray

for name in gpuarray._LATER:
    assert name in dir(gpuarray) and name in gpuarray.__all__ and name not in vars(gpuarray)
    function = getattr(gpuarray, name)
    assert function is vars(gpuarray)[name] is pickle.loads(pickle.dumps(function))
    assert (function.__module__, function.__name__) == ("pycuda.gpuarray", name) and function.__doc__
try:
    gpuarray.nothing
except AttributeError as problem:
    print(problem)
"""
    done = run_python(program)
    assert done.stdout == "module 'pycuda.gpuarray' has no attribute 'nothing'\n", done.stderr
