"""Records of requests: which cache entry has a request's code, and by which files that was decided.

An entry's name is a digest of all that its code depends on: to find it, options are parsed, headers scanned
and a compiler is looked up (build.py). A record is named by the request alone. It has the entry's name, and
the stamps of the headers, of those that were not there too, of NVRTC, and of the modules that made the name.
While no stamp has changed, the entry is the request's, and a process that finds its kernels in the cache
imports nothing that compiles. Of files of this package and of NVRTC size and modification time count alone,
which an image of a container keeps.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import pycuda

from . import cache, installation
from .includes import stamp
from .target import CompileTarget

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


class CompiledCode(NamedTuple):
    """The result of a compilation."""

    code: bytes
    watched: list  # (path, stamp) of each file that the code depends on
    cacheable: bool  # whether the code depends on nothing but these files and the job
    compiler: tuple[int, int] | None  # NVRTC's version; None for nvcc
    names: tuple[str, ...] = ()  # of the job's expressions: their kernels' and variables' names in the code
    entry: str | None = None  # the name of the cache entry, if a record may name it
    installed: tuple = ()  # (path, stamp) of the files of this package and of NVRTC that a record is to watch


def without_names(compiled: CompiledCode, count: int) -> CompiledCode:
    """Split the content of a cache entry, which begins with a line for each of `count` names, into names and
    code."""
    *names, code = compiled.code.split(b"\n", count)
    return compiled._replace(code=code, names=tuple(name.decode() for name in names))


def name_of(key: tuple, device: CompileTarget | None) -> str:
    """The name of the record of the request with this key. It differs between installations of this package,
    whose headers differ, and when packages are installed or variables set by which NVRTC is found."""
    parts = (pycuda.VERSION_TEXT, _PACKAGE, installation.fingerprint(device and device.newest_major), key)
    return "request." + cache.digest(repr(parts).encode("utf-8", "surrogateescape"))


def _stamp_text(path: str, file_stamp, is_watched: bool) -> str:
    """A file's stamp as a record has it: "-" for a file that is not there. is_watched: whether the code
    depends on the file itself, as on a header."""
    if file_stamp is None:
        return "-"
    is_users = is_watched and not path.startswith(_PACKAGE)
    return ",".join(map(str, file_stamp if is_users else file_stamp[:2]))


def write(where: str, name: str, compiled: CompiledCode) -> None:
    """Store the record of this name, unless the code has no entry that a record may name. A folder that
    cannot be written to causes no warning: all that is in it can be used."""
    if compiled.entry is None or compiled.compiler is None:
        return
    major, minor = compiled.compiler
    files = [*compiled.watched, *compiled.installed]
    if any("\n" in path for path, _ in files):
        return
    watched = len(compiled.watched)
    lines = [f"{compiled.entry} {major} {minor} {len(compiled.names)} {watched}"]
    for number, (path, file_stamp) in enumerate(files):
        lines.append(f"{_stamp_text(path, file_stamp, number < watched)} {path}")
    cache.write(where, name, "\n".join(lines).encode("utf-8", "surrogateescape"), warns=False)


def read(where: str, name: str) -> CompiledCode | None:
    """The code that the record of this name leads to; None if there is no record, a file has changed, or the
    entry is gone."""
    data = cache.read(where, name)
    if data is None:
        return None
    head, *lines = data.decode("utf-8", "surrogateescape").split("\n")
    entry, *numbers = head.split(" ")
    major, minor, names, watched = map(int, numbers)
    files = []
    for number, line in enumerate(lines):
        noted, _, path = line.partition(" ")
        file_stamp = stamp(path)
        if _stamp_text(path, file_stamp, number < watched) != noted:
            return None
        files.append((path, file_stamp))
    content = cache.read(where, entry)
    if content is None:
        return None
    return without_names(CompiledCode(content, files[:watched], True, (major, minor)), names)
