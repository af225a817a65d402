"""Messages to the user: warnings that point at the line of the call, and errors that say what to do."""

from __future__ import annotations

import re
import sys
import warnings

from pycuda._base.driver_extras import CompileError

from . import finder
from .source import NAME


def warn(message: str) -> None:
    """A UserWarning that points at the first caller outside pycuda."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "pycuda":
        frame = frame.f_back
        level += 1
    warnings.warn(message, stacklevel=level)


def compiler_output(text: str) -> None:
    """Warn with the messages of a compiler that succeeded, if there are any."""
    if text.strip():
        warn(f"The CUDA compiler succeeded, with this output:\n{text.strip()}")


def no_compiler(problem: str | None, driver_major: int | None) -> CompileError:
    found = f" ({problem})" if problem else ""
    return CompileError(f"no CUDA compiler was found{found}: {finder.what_to_install(driver_major)}", [])


def needs_nvcc(why: str, command) -> CompileError:
    return CompileError(
        f"{why}, and no nvcc that runs was found: it comes with the CUDA toolkit", list(command)
    )


def nvcc_missing(nvcc: str, driver_major: int | None) -> CompileError:
    """The error when the named nvcc does not exist."""
    return CompileError(
        f"the compiler {nvcc!r} cannot be run: no such command. Without nvcc={nvcc!r} kernels are "
        "compiled in process; "
        f"for that, {finder.what_to_install(driver_major)}",
        [nvcc],
    )


def instead_of_nvrtc(nvcc: str, reason: str) -> None:
    warn(f"NVRTC refuses this source, so {nvcc} compiled it, which takes longer ({reason})")


def names_a_line(problem: CompileError) -> bool:
    """Whether the compiler names a line, rather than something that it does not find or support."""
    return re.search(r"\(\d+\): error", (problem.stdout or "") + (problem.stderr or "")) is not None


def _hint(log: str, header: str | None, compiler, needs_nvcc: bool) -> str:
    """What may help, as the end of the error's message; an empty string if nothing is known. header: the
    header that was not found, or None."""
    if needs_nvcc:
        return (
            "\nThis is a limit of NVRTC. nvcc may compile it, and none that runs was found: it comes with "
            "the CUDA toolkit; nvcc=PATH names one."
        )
    if header and not compiler.folders:
        major = "cu12" if compiler.version[0] < 13 else "cu13"
        return f"\nCUDA's own headers were not found: pip install pycuda[{major}], or install a CUDA toolkit."
    if header:
        return f"\n{header} is in none of the include folders; include_dirs=[...] names more of them."
    if "linkage" in log and '"C"' in log:
        return (
            '\nThe source stands in an extern "C" block: no_extern_c=True leaves that out, and kernels then '
            'need extern "C" themselves.'
        )
    return ""


def failed(compiler, log: str, command, header: str | None, needs_nvcc: bool) -> CompileError:
    """The error when NVRTC does not compile the source."""
    version = ".".join(map(str, compiler.version))
    return CompileError(
        f"{NAME} does not compile (NVRTC {version}){_hint(log, header, compiler, needs_nvcc)}",
        list(command),
        "",
        log,
    )


def no_expressions(why: str) -> CompileError:
    return CompileError(
        "only NVRTC knows kernels by C++ expressions (name_expressions), and nvcc is to compile this: "
        f'{why}. Declare an extern "C" kernel for each',
        [],
    )


def misplaced_attribute(header: str, line: int) -> CompileError:
    """The error for an attribute on which NVRTC and nvcc disagree."""
    return CompileError(
        f"{header}({line}): an attribute after the closing brace of a class, which NVRTC and nvcc give to "
        "different things, so that sizes differ. Write it before the name: "
        "struct __align__(16) Name { ... }, or install nvcc",
        [],
    )


def nvcc_failed(outcome) -> CompileError:
    where = f"; its files are kept in {outcome.folder}" if outcome.folder else ""
    return CompileError(
        f"{NAME} does not compile (nvcc){where}", outcome.command, outcome.stdout, outcome.stderr
    )
