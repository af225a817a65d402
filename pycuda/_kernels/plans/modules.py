"""How the package's own kernels are compiled."""

from __future__ import annotations

from collections.abc import Iterable

from pycuda._compile.build import PLAIN
from pycuda._compile.modules import SourceModule


def compiled(text: str, options: Iterable[str] = ()) -> SourceModule:
    """The module of kernels that use no textures and nothing of the CUDA runtime."""
    return SourceModule(text, options=[PLAIN, *options], no_extern_c=True)
