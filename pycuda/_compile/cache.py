"""Compiled code on disk.

A file is named by the digest of everything its content depends on, and opens with a checksum of that content:
a truncated or damaged file reads as absent. Files are written beside their place and renamed, so that a
reader in another process sees a whole file or none. A folder that cannot be used costs one warning, never a
compilation.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings

try:
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

_MAGIC = b"pycuda-cache-1\n"
_SUM_SIZE = 16
_warned: set[str] = set()


def digest(*parts: bytes) -> str:
    """Hex digest of a sequence of byte strings; their lengths count, so that no two sequences read alike."""
    state = blake2b(digest_size=24)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()


def _user_cache_folder() -> str:
    if sys.platform.startswith("linux"):
        base = os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.expanduser("~/.cache")
        return os.path.join(base, "pycuda")
    import platformdirs

    return platformdirs.user_cache_dir("pycuda", "pycuda")


def is_off(cache_dir) -> bool:
    return cache_dir is False or "PYCUDA_DISABLE_CACHE" in os.environ


def folder(cache_dir=None) -> str | None:
    """The cache folder for this cache_dir argument, or None when caching is off."""
    if is_off(cache_dir):
        return None
    if cache_dir is None:
        cache_dir = os.environ.get("PYCUDA_CACHE_DIR") or os.path.join(
            _user_cache_folder(), "compiler-cache-v2"
        )
    return os.path.abspath(os.fspath(cache_dir))


def read(where: str, name: str) -> bytes | None:
    """The content of one entry, or None when it is absent or damaged."""
    try:
        with open(os.path.join(where, name), "rb") as file:
            data = file.read()
    except OSError:
        return None
    start = len(_MAGIC) + _SUM_SIZE
    content = data[start:]
    if (
        not data.startswith(_MAGIC)
        or blake2b(content, digest_size=_SUM_SIZE).digest() != data[len(_MAGIC) : start]
    ):
        return None
    return content


def _warn_once(where: str, problem: OSError) -> None:
    if where in _warned:
        return
    _warned.add(where)
    warnings.warn(
        f"the compiler cache folder {where} cannot be written ({problem.strerror or problem}): "
        "kernels are compiled again in every process. PYCUDA_CACHE_DIR names another folder, "
        "PYCUDA_DISABLE_CACHE=1 turns the cache off.",
        stacklevel=2,
    )


def write(where: str, name: str, content: bytes) -> None:
    """Store one entry. Failure is a warning, once a folder."""
    data = _MAGIC + blake2b(content, digest_size=_SUM_SIZE).digest() + content
    # Unique among the threads and processes that share the folder, network file systems apart.
    temporary = os.path.join(where, f".{name}.{os.getpid()}.{os.urandom(6).hex()}")
    try:
        os.makedirs(where, exist_ok=True)
        try:
            with open(temporary, "xb") as file:
                file.write(data)
            os.replace(temporary, os.path.join(where, name))
        except OSError:
            _remove(temporary)
            raise
    except OSError as problem:
        _warn_once(where, problem)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
