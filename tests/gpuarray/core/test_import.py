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
    assert not {*ours} & {*compilers, *kernels, "pycuda._libraries.blas", "pycuda.compiler"}
