"""How the package's own kernels are compiled."""

from __future__ import annotations

from collections.abc import Iterable

from pycuda._compile.arguments import NVCC, PLAIN
from pycuda._compile.modules import CudaModule, loaded
from pycuda._compile.requests import Request, checked


def compiled(text: str, options: Iterable[str] = ()) -> CudaModule:
    """The module of kernels that use no textures and nothing of the CUDA runtime."""
    return loaded(checked(Request(text, NVCC, [PLAIN, *options], False, True, None, None, None, ())))
