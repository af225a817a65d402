"""Arguments of callers converted for the compilers. An error names the argument."""

from __future__ import annotations

import os
import re

TARGETS = ("cubin", "ptx", "fatbin")
PLAIN = "-DPYCUDA_PLAIN"  # an option of kernels that use no textures and nothing of the CUDA runtime
_FILE_NAME = r"[^\s;{}#()]+\.(?:cu|cuh|c|cc|cpp|cxx|h|hpp|ptx|cubin|fatbin)"


def _type_error(what: str, value, may_be: str) -> TypeError:
    return TypeError(f"{what} is {value!r}: it must be {may_be}")


def _as_sequence(value, what: str, of: str) -> tuple:
    """The items of a sequence; a string is one item and not a sequence of letters. TypeError for others:
    `what` is the argument's name, `of` what it must be a sequence of."""
    if isinstance(value, list | tuple):
        return tuple(value)
    if isinstance(value, str | bytes | os.PathLike):
        return (value,)
    if isinstance(value, dict):
        raise _type_error(what, value, f"a sequence of {of}")
    try:
        return tuple(value)
    except TypeError:
        raise _type_error(what, value, f"a sequence of {of}") from None


def options(value, what: str = "options") -> tuple[str, ...]:
    """A sequence of str; one str is one option."""
    items = _as_sequence(value, what, "str")
    for number, item in enumerate(items):
        if not isinstance(item, str):
            raise _type_error(f"{what}[{number}]", item, "a str")
    return items


def folders(value, what: str = "include_dirs") -> tuple[str, ...]:
    """A sequence of paths; None is an empty one, one path is one folder."""
    items = () if value is None else _as_sequence(value, what, "paths")
    return tuple(path(item, f"{what}[{number}]") for number, item in enumerate(items))


def path(value, what: str) -> str:
    """A str, bytes or path object as a str; TypeError for others. what: the argument's name."""
    if isinstance(value, str):
        return value
    if not isinstance(value, bytes | os.PathLike):
        raise _type_error(what, value, "a path")
    return os.fsdecode(value)


class _DefaultName(str):
    """The type of NVCC, by which command() knows the default from a "nvcc" that the caller passed."""


NVCC = _DefaultName("nvcc")  # the default of parameters named nvcc


def command(value) -> str | None:
    """The path of nvcc that the caller passed; None when the caller left the default."""
    text = path(value, "nvcc")
    return None if isinstance(value, _DefaultName) else text


def text(value, what: str) -> str:
    """The value if it is a str, or str(value) of an object with a text of its own, as code generators have
    them. TypeError for others: built-in types, classes, paths, arrays and objects without a __str__."""
    if isinstance(value, str):
        return value
    kind = type(value)
    if (
        kind.__module__ == "builtins"
        or kind.__str__ is object.__str__
        or isinstance(value, type | os.PathLike)
        or hasattr(value, "dtype")
    ):
        raise _type_error(what, value, "CUDA C in a str, or an object with a __str__ that gives it")
    return str(value)


def source(value) -> str:
    """A source given as text or as bytes of UTF-8, without the byte order mark that some editors put first.
    ValueError for the name of a file, which is a common mistake."""
    whole = (value.decode() if isinstance(value, bytes | bytearray) else text(value, "source")).removeprefix(
        "\ufeff"
    )
    if "{" not in whole and re.fullmatch(_FILE_NAME, whole):
        raise ValueError(
            f"the source is {whole!r}, which looks like the name of a file: SourceModule(open(path).read()) "
            "compiles what is in it"
        )
    return whole


def target(value) -> None:
    """ValueError unless the value is one of TARGETS."""
    if value not in TARGETS:
        raise ValueError(f"target is {value!r}: it must be cubin, ptx or fatbin")


def name(value, what: str) -> None:
    """TypeError unless the value is a str or None."""
    if value is not None and not isinstance(value, str):
        raise _type_error(what, value, 'a str such as "sm_90", or None')


def cache_folder(value) -> None:
    """TypeError unless the value can be a cache_dir: a path, None or False."""
    if value is None or value is False:
        return
    if not isinstance(value, str | bytes | os.PathLike):
        raise _type_error(
            "cache_dir", value, "the path of a folder, None for the usual one, or False for none"
        )
