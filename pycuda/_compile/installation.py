"""What is installed on this machine, as far as it decides which compiler is found."""

from __future__ import annotations

import functools
import os
import sys

from . import cache
from .includes import signature

_ENVIRONMENT = (
    "PYCUDA_NVRTC",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_ROOT",
    "CONDA_PREFIX",
    "LD_LIBRARY_PATH",
    "PATH",
    "VIRTUAL_ENV",
)


def site_folders() -> list[str]:
    """The site-packages and dist-packages folders of sys.path."""
    return [each for each in dict.fromkeys(sys.path) if each.endswith("-packages")]


def fingerprint(newest_major: int | None) -> str:
    """A digest of what the result of a search for NVRTC depends on. The modification times of site folders
    are part of it, as they change when packages are installed or removed. newest_major: the newest major
    version of CUDA that the driver supports, None if there is no limit.
    """
    parts = [sys.prefix, str(newest_major)]
    parts += [os.environ.get(name, "") for name in _ENVIRONMENT]
    for folder in site_folders():
        parts += [folder, str(signature(folder)), str(signature(os.path.join(folder, "nvidia")))]
    return _digest(tuple(parts))


@functools.lru_cache(8)
def _digest(parts: tuple[str, ...]) -> str:
    return cache.digest(*(part.encode("utf-8", "surrogateescape") for part in parts))
