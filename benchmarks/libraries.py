"""The array libraries that are compared, behind one face: what makes arrays, and what waits."""

import numpy as np

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda import cumath


class Ours:
    name = "pycuda"
    functions = np  # NumPy's functions take GPUArrays
    math = cumath
    slices_backwards = True

    def array(self, host):
        return gpuarray.to_gpu(host)

    def wait(self):
        drv.Context.synchronize()


class NumPy:
    name = "numpy"
    functions = math = np
    slices_backwards = True

    def array(self, host):
        return host.copy()

    def wait(self):
        pass


class CuPy:
    name = "cupy"
    slices_backwards = True

    def __init__(self):
        import cupy

        self.functions = self.math = cupy

    def array(self, host):
        return self.functions.asarray(host)

    def wait(self):
        self.functions.cuda.runtime.deviceSynchronize()


class Torch:
    name = "torch"
    slices_backwards = False

    def __init__(self):
        import torch

        self.functions = self.math = torch

    def array(self, host):
        return self.functions.as_tensor(host, device="cuda")

    def wait(self):
        self.functions.cuda.synchronize()


def installed(on_gpu):
    """Ours first. On the CPU device NumPy is the peer, on a GPU the libraries that have arrays there."""
    found = [Ours()]
    for kind in (CuPy, Torch) if on_gpu else (NumPy,):
        try:
            found.append(kind())
        except ImportError:
            print(f"({kind.name} is not installed)")
    return found
