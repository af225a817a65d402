"""Where the toolkit's static libraries are."""

from __future__ import annotations

import os

from . import cache, finder
from .files import real


def _folders(cuda_libdir, nvcc):
    """Folders that may have the toolkit's static libraries, the preferred first."""
    if cuda_libdir is not None:
        yield cuda_libdir
    for name in ("CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(name):
            yield os.path.join(os.environ[name], "lib64")
    yield from filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep))
    compiler, _ = finder.find_nvrtc(None, cache.folder(None))
    if compiler is not None:
        yield os.path.dirname(real(compiler.path))
        yield os.path.dirname(compiler.path)
    yield "/usr/lib/x86_64-linux-gnu"
    path = finder.find_nvcc(nvcc)
    if path:
        yield os.path.join(os.path.dirname(os.path.dirname(real(path))), "lib64")
    yield "/usr/local/cuda/lib64"


def folder(cuda_libdir, nvcc, pattern) -> str:
    """The folder that has cudadevrt; RuntimeError if there is none. pattern: a file name with %s for the
    library."""
    for each in _folders(cuda_libdir, nvcc):
        if os.path.isfile(os.path.join(each, pattern % "cudadevrt")):
            return each
    raise RuntimeError("the folder of CUDA's static libraries was not found: cuda_libdir names it")
