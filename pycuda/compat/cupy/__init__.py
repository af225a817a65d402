"""CuPy's names: ``import pycuda.compat.cupy as cp`` in a program written for CuPy.

NumPy's names are those of pycuda.numpy. What CuPy has of its own is here: kernels in its notation
(ElementwiseKernel, ReductionKernel, RawKernel, RawModule), streams, events and devices (`cuda`), the
functions of `random`, the memory pool. What CuPy has and neither module has raises AttributeError.

Where no context is current, the first use makes the primary context of the default device current, as
pycuda.autoprimaryctx does. Data flow: names are looked up here, arrays are pycuda.gpuarray.GPUArray.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pycuda.numpy
from pycuda.compat.cupy import cuda, random  # noqa: F401 - attributes of the module
from pycuda.compat.cupy._context import require
from pycuda.compat.cupy._elementwise_kernel import ElementwiseKernel
from pycuda.compat.cupy._memory import MemoryPool, get_default_memory_pool, get_default_pinned_memory_pool
from pycuda.compat.cupy._raw_kernel import RawKernel, RawModule
from pycuda.compat.cupy._reduction_kernel import ReductionKernel
from pycuda.gpuarray import GPUArray

#: The class of arrays.
ndarray = GPUArray

__all__ = [
    "ElementwiseKernel",
    "MemoryPool",
    "RawKernel",
    "RawModule",
    "ReductionKernel",
    "asnumpy",
    "fuse",
    "get_array_module",
    "get_default_memory_pool",
    "get_default_pinned_memory_pool",
    "ndarray",
]


def __getattr__(name: str) -> Any:
    """What pycuda.numpy has under this name."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require()
    return getattr(pycuda.numpy, name)


def __dir__() -> list[str]:
    return sorted({*__all__, "cuda", "random", *dir(pycuda.numpy)})


def asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True) -> Any:
    """A copy in host memory.

    Parameters
    ----------
    a : GPUArray, or data in host memory
    stream : Stream, optional
        The host waits for this stream before the copy.
    order : {"C", "F", "A", "K"}, optional
    out : numpy.ndarray, optional
        The array to which the elements are copied, and which is returned.
    blocking : bool, optional
        The host always waits for the copy.

    Returns
    -------
    numpy.ndarray
    """
    if stream is not None:
        stream.synchronize()
    host = a.get() if isinstance(a, GPUArray) else np.asarray(a)
    if out is None:
        return np.asarray(host, order=order)  # type: ignore[call-overload]
    out[...] = host
    return out


def get_array_module(*args: Any) -> Any:
    """This module if one of the arguments is a GPUArray, else numpy.

    Parameters
    ----------
    *args
        Arrays, or anything else.

    Returns
    -------
    module
    """
    if any(isinstance(each, GPUArray) for each in args):
        import pycuda.compat.cupy

        return pycuda.compat.cupy
    return np


def fuse(*args: Any, **keywords: Any) -> Callable[..., Any]:
    """A decorator that leaves the function as it is: its operations run one after another.

    Parameters
    ----------
    *args
        The function, where it is used without parentheses.
    **keywords
        `kernel_name`, as CuPy takes it, which changes nothing.

    Returns
    -------
    callable
    """
    unknown = set(keywords) - {"kernel_name"}
    if unknown:
        raise TypeError(f"fuse() takes no {', '.join(sorted(unknown))}=")
    return args[0] if args and callable(args[0]) else lambda function: function
