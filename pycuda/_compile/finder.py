"""NVRTC, nvcc and the CUDA headers of this machine.

Wheels are searched first, then the folders that environment variables name and the usual ones, and only then
cuda-pathfinder is asked, as importing it takes as long as compiling a small kernel. The result is stored in
the cache folder of compiled code. Later processes check it by stat, so that a process that finds all its
kernels in the cache neither searches nor loads a compiler.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import NamedTuple

from . import cache
from .files import absolute, is_of_system, passing, real
from .includes import signature
from .installation import fingerprint, site_folders

_TOOLKIT_VARIABLES = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CONDA_PREFIX")
_LIBRARY = r"libnvrtc\.so(?:\.(\d+)[\d.]*)?$"
_LIBRARY_FOLDERS = ("lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib")
# The folders of headers: (cuda-pathfinder's name, a header by which the folder is recognized, the folder in a
# toolkit, the wheel of CUDA 12 that has it).
_HEADERS = (
    ("cudart", "cuda_runtime_api.h", "include", "cuda_runtime"),
    ("cccl", "cuda/std/version", "include/cccl", "cuda_cccl"),
    ("curand", "curand_kernel.h", "include", "curand"),
)

_found: dict = {}  # the Compiler by fingerprint
_recorded: set = set()  # (name, folder) of the records that this process has read or written


class Compiler(NamedTuple):
    """One NVRTC: its file, its version, and where its headers are."""

    path: str
    version: tuple[int, int]
    identity: str  # changes when the file does
    folders: tuple[str, ...]  # of headers
    headers: str  # changes when the contents of these folders do


def _libraries_in(folder: str) -> list[tuple[int, str]]:
    """(major version, path) of the NVRTC libraries in a folder. A file without a number in its name has
    version 0, so that others are preferred.
    """
    names: list[str] = []
    with passing:
        names = os.listdir(folder)
    matches = [(match, name) for name in sorted(names, key=len) if (match := re.match(_LIBRARY, name))]
    return [(int(match[1] or 0), os.path.join(folder, name)) for match, name in matches]


def _libraries_of_wheels() -> list[str]:
    """The paths of NVRTC libraries in wheels, the newest first."""
    found = []
    for site in site_folders():
        nvidia = os.path.join(site, "nvidia")
        if os.path.isdir(nvidia):
            for name in os.listdir(nvidia):
                found += _libraries_in(os.path.join(nvidia, name, "lib"))
    return [path for _, path in sorted(found, reverse=True)]


def _toolkits():
    """Folders that may hold NVRTC: those of toolkits and conda, then that of the toolkit to which nvcc
    belongs."""
    roots = [os.environ[name] for name in _TOOLKIT_VARIABLES if os.environ.get(name)]
    roots += ["/usr/local/cuda", "/opt/cuda"]
    nvcc = find_nvcc("nvcc")
    if nvcc:
        roots.append(os.path.dirname(os.path.dirname(real(nvcc))))
    for root in dict.fromkeys(roots):
        yield from (os.path.join(root, folder) for folder in _LIBRARY_FOLDERS)


# ---- cuda-pathfinder, which is imported only when it is needed


def library_path(name: str) -> str:
    """The path of a library ("cublas"), which cuda-pathfinder loads. ImportError, RuntimeError or OSError
    when it is not found.
    """
    from cuda.pathfinder import load_nvidia_dynamic_lib

    path = load_nvidia_dynamic_lib(name).abs_path  # DynamicLibNotFoundError is a RuntimeError
    if path is None:
        raise OSError(f"lib{name} is loaded, but its path is not known")
    return path


def _pathfinder_folder(library: str) -> str | None:
    """The folder of a library's headers, None when it is not found."""
    with passing, contextlib.suppress(ImportError, RuntimeError, ValueError, LookupError):
        from cuda.pathfinder import find_nvidia_header_directory

        return find_nvidia_header_directory(library)
    return None


def _candidates():
    """Paths of NVRTC, the preferred first."""
    named = os.environ.get("PYCUDA_NVRTC")
    if named:
        yield named
        return
    yield from _libraries_of_wheels()
    for folder in dict.fromkeys(_toolkits()):
        yield from (path for _, path in _libraries_in(folder))
    with passing, contextlib.suppress(ImportError, RuntimeError):
        yield library_path("nvrtc")
    yield from ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")


def _open_all(newest_major: int | None):
    """(version, path, None) of the first NVRTC that is not newer than the driver; else of the first that can
    be opened at all; else (None, None, what went wrong with the first).
    """
    from . import nvrtc

    other, problem, tried = None, None, set()
    for path in _candidates():
        if real(path) in tried:
            continue
        tried.add(real(path))
        try:
            version = nvrtc.open_library(path)
        except OSError as error:
            if not is_of_system(error):
                raise
            message = str(error)  # mostly begins with the path
            problem = problem or (message if message.startswith(path) else f"{path}: {message}")
            continue
        if newest_major is None or version[0] <= newest_major:
            return version, path, None
        other = other or (version, path, None)
    return other or (None, None, problem)


def _header_folder(roots, row) -> str | None:
    """The first folder that has the header of a row of _HEADERS: below a root, in a wheel next to one, or
    where cuda-pathfinder finds it. None if there is none.
    """
    library, marker, inside, wheel = row
    for root in roots:
        for folder in (os.path.join(root, inside), os.path.join(os.path.dirname(root), wheel, "include")):
            if os.path.isfile(os.path.join(folder, marker)):
                return folder
    return _pathfinder_folder(library)


def _headers_of(path: str) -> list[str]:
    """The folders of the CUDA headers: of the installation that this NVRTC belongs to, else found
    anywhere."""
    roots = [os.path.dirname(os.path.dirname(each)) for each in (real(path), absolute(path))]
    roots += [os.environ[name] for name in _TOOLKIT_VARIABLES if os.environ.get(name)] + ["/usr/local/cuda"]
    folders = [_header_folder(roots, row) for row in _HEADERS]
    return list(dict.fromkeys(folder for folder in folders if folder))


def _header_identity(folders) -> str:
    """The paths of the folders, with the signature of the header by which each is recognized."""
    return repr(
        [(folder, [signature(os.path.join(folder, row[1])) for row in _HEADERS]) for folder in folders]
    )


def _record(compiler: Compiler) -> bytes:
    """The compiler as it is stored in the cache folder; _from_record() reads it."""
    lines = [
        compiler.path,
        f"{compiler.version[0]}.{compiler.version[1]}",
        compiler.identity,
        compiler.headers,
        *compiler.folders,
    ]
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def _file_identity(path: str, version) -> str:
    return f"nvrtc {version[0]}.{version[1]} {signature(path)}"


def is_current(compiler: Compiler) -> bool:
    """Whether the compiler's file is still the one that was found."""
    return _file_identity(compiler.path, compiler.version) == compiler.identity


def _from_record(data: bytes | None) -> Compiler | None:
    """The compiler of a record; None if there is no record, or files have changed since."""
    if data is None:
        return None
    path, number, identity, headers, *folders = data.decode("utf-8", "surrogateescape").split("\n")
    major, minor = number.split(".")
    version = int(major), int(minor)
    compiler = Compiler(path, version, identity, tuple(folders), headers)
    return compiler if is_current(compiler) and _header_identity(folders) == headers else None


def _search(newest_major: int | None):
    """(Compiler, None), or (None, what went wrong)."""
    version, path, problem = _open_all(newest_major)
    if path is None:
        return None, problem
    folders = _headers_of(path)
    return Compiler(
        path, version, _file_identity(path, version), tuple(folders), _header_identity(folders)
    ), None


def _store_record(name: str, compiler: Compiler, where: str) -> None:
    """Write the record of this name for other processes, unless this process knows that the folder has it."""
    if (name, where) not in _recorded and os.path.isabs(compiler.path):
        _recorded.add((name, where))
        if not os.path.exists(os.path.join(where, name)):
            cache.write(where, name, _record(compiler))


def find_nvrtc(newest_major: int | None, where: str | None):
    """(Compiler, None), or (None, what went wrong). newest_major: the newest major version of CUDA that the
    driver supports, None if there is no limit; where: the cache folder, or None.
    """
    key = fingerprint(newest_major)
    name = f"compiler.{key}"
    compiler, problem = _found.get(key), None
    if compiler is None and where:
        compiler = _from_record(cache.read(where, name))
        if compiler:
            _recorded.add((name, where))
    if compiler is None:
        compiler, problem = _search(newest_major)
    if compiler:
        _found[key] = compiler
        if where:
            _store_record(name, compiler, where)
    return compiler, problem


def find_nvcc(nvcc: str) -> str | None:
    """The path of the nvcc command that a caller names; None if there is none. "nvcc" is searched in toolkits
    too."""
    from shutil import which

    found = which(nvcc)
    if found or nvcc != "nvcc":
        return found
    roots = [os.environ[name] for name in _TOOLKIT_VARIABLES if os.environ.get(name)] + [
        "/usr/local/cuda",
        "/opt/cuda",
    ]
    return next((path for root in roots if (path := which(os.path.join(root, "bin", "nvcc")))), None)


def what_to_install(driver_major: int | None) -> str:
    """The sentence that says what to install, for errors about a missing compiler."""
    extra = "cu12" if driver_major in (11, 12) else "cu13"
    other = "cu12" if extra == "cu13" else "cu13"
    return (
        f"install NVIDIA's run-time compiler with: pip install pycuda[{extra}] (or pycuda[{other}]), or "
        "install a CUDA toolkit. PYCUDA_NVRTC=PATH names a libnvrtc to use."
    )
