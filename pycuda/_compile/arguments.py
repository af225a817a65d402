"""What callers give, as what the compilers take. What is none of it is refused by the argument's name."""

from __future__ import annotations

import os

TARGETS = ("cubin", "ptx", "fatbin")


def _wrong(what: str, value, may_be: str) -> TypeError:
    return TypeError(f"{what} is {value!r}: it may be {may_be}")


def _sequence(value, what: str, of: str) -> tuple:
    """The items of a sequence; a string is one item and not a sequence of letters."""
    if isinstance(value, list | tuple):
        return tuple(value)
    if isinstance(value, str | bytes | os.PathLike):
        return (value,)
    if isinstance(value, dict):
        raise _wrong(what, value, f"a sequence of {of}")
    try:
        return tuple(value)
    except TypeError:
        raise _wrong(what, value, f"a sequence of {of}") from None


def options(value, what: str = "options") -> tuple[str, ...]:
    """A sequence of str; one str is one option."""
    items = _sequence(value, what, "str")
    for number, item in enumerate(items):
        if not isinstance(item, str):
            raise _wrong(f"{what}[{number}]", item, "a str")
    return items


def folders(value, what: str = "include_dirs") -> tuple[str, ...]:
    """A sequence of paths; None is an empty one, one path is one folder."""
    items = () if value is None else _sequence(value, what, "paths")
    return tuple(path(item, f"{what}[{number}]") for number, item in enumerate(items))


def path(value, what: str) -> str:
    """A str of a str, bytes or path object."""
    if isinstance(value, str):
        return value
    if not isinstance(value, bytes | os.PathLike):
        raise _wrong(what, value, "a path")
    return os.fsdecode(value)


class _Unnamed(str):
    """nvcc's name where the caller gave none."""


NVCC = _Unnamed("nvcc")  # the default of parameters


def command(value) -> str | None:
    """The path of nvcc that the caller gave; None where he gave none."""
    text = path(value, "nvcc")
    return None if isinstance(value, _Unnamed) else text


def source(value) -> str:
    """Text, or bytes of UTF-8."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray):
        return value.decode()
    raise _wrong("source", value, "CUDA C in a str or bytes")


def target(value) -> None:
    """One of TARGETS."""
    if value not in TARGETS:
        raise ValueError(f"target is {value!r}: it may be cubin, ptx or fatbin")


def name(value, what: str) -> None:
    """A str or nothing."""
    if value is not None and not isinstance(value, str):
        raise _wrong(what, value, 'a str such as "sm_90", or None')


def cache_folder(value) -> None:
    """cache_dir."""
    if value is None or value is False:
        return
    if not isinstance(value, str | bytes | os.PathLike):
        raise _wrong("cache_dir", value, "the path of a folder, None for the usual one, or False for none")
