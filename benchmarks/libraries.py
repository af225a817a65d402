"""The array libraries that are compared, with one interface:

name                a column of the tables
functions, math     the modules of its functions, and of mathematical ones
slices_backwards    whether x[::-1] is supported
array(host)         an array of the library with the elements of a NumPy array
share(array)        an array of the library in the memory of a GPUArray; NumPy: a copy on the host
wait()              returns when all queued work is done
"""

import ctypes
import shutil
import subprocess

import numpy as np
from common import HERE, RESULTS, seconds, table

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda import cumath


class Ours:
    """PyCUDA."""

    name = "pycuda"
    functions = np  # NumPy's functions take GPUArrays
    math = cumath
    slices_backwards = True

    def array(self, host):
        return gpuarray.to_gpu(host)

    def share(self, array):
        return array

    def wait(self):
        drv.Context.synchronize()


class NumPy:
    name = "numpy"
    functions = math = np
    slices_backwards = True

    def array(self, host):
        return host.copy()

    def share(self, array):
        return array.get()

    def wait(self):
        pass


class CuPy:
    name = "cupy"
    slices_backwards = True

    def __init__(self):
        import cupy

        self.functions = self.math = cupy
        # CUB makes CuPy fastest; without CUPY_ACCELERATORS it may not be on.
        cupy._core.set_reduction_accelerators(["cub"])
        cupy._core.set_routine_accelerators(["cub"])

    def array(self, host):
        return self.functions.asarray(host)

    def share(self, array):
        return self.functions.from_dlpack(array)

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

    def share(self, array):
        return self.functions.from_dlpack(array)

    def wait(self):
        self.functions.cuda.synchronize()


class Cuda:
    """Plain CUDA C++ and CUB: the functions of cub.cu, on arrays of ours. ImportError without nvcc."""

    name = "CUDA"

    def __init__(self):
        nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
        if not nvcc:
            raise ImportError("nvcc is not installed")
        RESULTS.mkdir(exist_ok=True)
        library, source = RESULTS / "libcub.so", HERE / "cub.cu"
        if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
            options = ["-O3", "-w", "-arch=native", "-shared", "-Xcompiler", "-fPIC"]
            subprocess.run([nvcc, *options, source, "-o", library], check=True)
        self._library = ctypes.CDLL(str(library))

    def array(self, host):
        return gpuarray.to_gpu(host)

    def share(self, array):
        return array

    def wait(self):
        drv.Context.synchronize()

    def call(self, name, x, y, n):
        """A call of cub.cu's function of this name, with x, y, an array for the result, and n."""
        function, out = getattr(self._library, name), gpuarray.empty_like(x)
        addresses = [ctypes.c_void_p(array.ptr) for array in (x, y, out)]

        def call(keep=(x, y, out)):
            error = function(*addresses, ctypes.c_size_t(n))
            if error:
                raise RuntimeError(f"cudaError {error} in {name} of cub.cu")

        return call


def installed(on_gpu, *more):
    """The installed libraries, ours first. On a GPU these are CuPy, torch and the classes in `more`; on the
    CPU device NumPy.
    """
    found = [Ours()]
    for kind in (CuPy, Torch, *more) if on_gpu else (NumPy,):
        try:
            found.append(kind())
        except ImportError:
            print(f"({kind.name} is not installed)")
    return found


def milliseconds(library, name, hosts, call):
    """Milliseconds of call(library, *operands), with operands made of the NumPy arrays `hosts`. None, and a
    line is printed, if the library does not support the call.
    """
    try:
        operands = [library.array(host) for host in hosts]
        return seconds(lambda: call(library, *operands), library.wait) * 1e3
    except (AttributeError, MemoryError, NotImplementedError, RuntimeError, TypeError, drv.Error) as error:
        print(f"({library.name}, {name}: {type(error).__name__})")
        return None


def compare(title, libraries, work, another="", measure=None):
    """Prints and keeps a table of milliseconds, with a column for each library, ours first.

    `work` is {name: (make, call)}: make() returns the operands as NumPy arrays, call(library, *operands)
    computes. A last column `another` has the milliseconds that measure(name, hosts, call) returns.
    """
    rows = []
    for name, (make, call) in work.items():
        hosts = make()
        found = [milliseconds(library, name, hosts, call) for library in libraries]
        best = min((each for each in found[1:] if each), default=None)
        ratio = f"{best / found[0]:.2f}" if found[0] and best else ""
        if measure:
            found.append(measure(name, hosts, call))
        rows.append([name, *[f"{each:.3f}" if each else "-" for each in found], ratio])
    names = [library.name for library in libraries] + ([another] if measure else [])
    table(title, ["ms", *names, "x best peer"], rows)
