"""Compiling in this process, by NVRTC."""

from __future__ import annotations

import os
import re

from pycuda import _driver

from .source import NAME, USERS_NAME

# A path in no folder, so that no file next to the source is included by chance.
_PROGRAM = f"/dev/null/{NAME}"
_UNKNOWN_OPTION = r"unrecogni[sz]ed option (\S+)"
_MISSING_HEADER = r'(?:could not|cannot) open source file "([^"]+)"'
_HOST_FUNCTION = "not allowed in JIT mode"
_ERROR = r"(?m)^(?P<file>[^\n(]*)\(\d+\): (?:catastrophic )?error: .*$"
# Messages about code that nvcc may compile: NVRTC does not have it, or it is for the host's compiler.
_NVCC_MAY_COMPILE = (
    r"NVRTC|JIT mode|runtime APIs are not declared|cuda::std::|namespace \"std\" has no member"
    r'|identifier "cuda[A-Z]\w*" is undefined'
)
_UNKNOWN_ARCH = r"(?i)invalid value for --gpu-architecture|unsupported gpu architecture"

_opened: dict[str, tuple[int, int]] = {}  # versions by path
_current: str | None = None  # the path of the NVRTC in use


def open_library(path: str) -> tuple[int, int]:
    """Load NVRTC from this path, make it the one in use, and return its version. OSError with the loader's
    message if it cannot be loaded."""
    global _current
    version = _driver._nvrtc_open(path)
    _opened[path] = version
    _current = path
    return _opened[path]


def _run_program(source: str, options, want: str, expressions, folder: str | None):
    """(code or None, messages, names) of one run. Messages name the source NAME, wherever it is."""
    program = os.path.join(folder, NAME) if folder else _PROGRAM
    code, log, names = _driver._nvrtc_compile(source, program, list(options), want, expressions)
    log = (log or "").replace(program, NAME).strip("\0\n")
    return code, log.replace(os.path.join(folder, USERS_NAME), NAME) if folder else log, names


def compile_source(path: str, source: str, options, want: str, expressions=(), folder: str | None = None):
    """(code, or None if NVRTC refuses the source; its messages; whether the source has functions for the
    host; the names in the code of the kernels and variables that the expressions name). want: "cubin" or
    "ptx"; folder: where the source is kept, or None.
    """
    if _current != path:
        open_library(path)
    code, log, names = _run_program(source, options, want, expressions, folder)
    has_host = code is None and _HOST_FUNCTION in log
    if has_host:
        # To nvcc functions without __device__ are for the host, and constexpr ones for the device too. NVRTC
        # compiles for no host, so all of them may be for the device.
        code, log, names = _run_program(source, [*options, "-default-device"], want, expressions, folder)
    return code, log, has_host, names


def refused_option(log: str) -> str | None:
    """The option that NVRTC did not accept, from its messages; None if there is none."""
    match = re.search(_UNKNOWN_OPTION, log)
    return match and match[1]


def missing_header(log: str) -> str | None:
    """The header that NVRTC did not find, from its messages; None if there is none."""
    match = re.search(_MISSING_HEADER, log)
    return match and match[1]


def refused_source(log: str, has_host: bool, toolkit) -> str | None:
    """The first error that nvcc might not have: one about what NVRTC does not have, or in a header of the
    toolkit; any error if the source has functions for the host (has_host). None if there is none. toolkit:
    the folders of its headers.
    """
    folders = tuple(os.path.join(folder, "") for folder in toolkit)
    errors, nvcc_may = list(re.finditer(_ERROR, log)), re.compile(_NVCC_MAY_COMPILE)
    for number, error in enumerate(errors):
        end = errors[number + 1].start() if number + 1 < len(errors) else len(log)
        if has_host or error["file"].startswith(folders) or nvcc_may.search(log, error.start(), end):
            return error[0].strip()
    return None


def refused_arch(log: str) -> bool:
    """Whether NVRTC's messages say that it does not know the architecture."""
    return re.search(_UNKNOWN_ARCH, log) is not None
