"""The types of kernels' parameters, read from the source.

Arguments of launches are compared with them (PYCUDA_CHECK_ARGUMENTS), and structures are recognized by them.
This is not a parser of C++: only simple declarations are recognized, and the types of others count as
unknown.
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from .tokens import HIDDEN

# Type codes: two bytes, a letter for the kind and the size (see types()).
_ELEMENTS = {
    "float": b"f\x04",
    "double": b"f\x08",
    **dict.fromkeys(("short", "short int", "unsigned short", "int16_t", "uint16_t"), b"i\x02"),
    **dict.fromkeys(("int", "signed int", "unsigned", "unsigned int", "int32_t", "uint32_t"), b"i\x04"),
    **dict.fromkeys(
        (
            "long",
            "unsigned long",
            "long long",
            "unsigned long long",
            "long long int",
            "unsigned long long int",
            "int64_t",
            "uint64_t",
            "size_t",
        ),
        b"i\x08",
    ),
}
_UNKNOWN = b"\0\0"
_STRUCTURE = b"s\0"
_TABLES = {b"f": b"G", b"i": b"J"}
_TABLE = b"p\0"
_NUMBERS = "char uchar short ushort int uint long ulong longlong ulonglong float double".split()
_VECTORS = frozenset(f"{number}{count}" for number in _NUMBERS for count in (1, 2, 3, 4)).union(
    ("dim3", "cuComplex", "cuFloatComplex", "cuDoubleComplex")
)
_QUALIFIERS = r"\b(?:const|volatile|__restrict__|__restrict|restrict|__grid_constant__)\b"
_PARAMETER = r"\s*((?:\w+\s+)*\w+)\s*(?:((?:\*\s*){1,2})|\s)(\w+)\s*"
_COMPLEX = r"\s*(?:\w+\s*::\s*)*complex\s*<\s*(?:float|double)\s*>\s*\w+\s*"
_STRUCTURES = r"""(?x)
    \b(?:struct|union|class)\s+(?:(?:__align__|alignas)\s*\([^()]*\)\s*)?(\w+)\s*(?::[^:{};][^{};]*)?\{
    | \btypedef\s+(?:struct|union)\b[^{};]*\{[^{}]*\}\s*(\w+)\s*;"""
_DEFINED = r"(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)|-D\s*(\w+)|--define-macro[= ]\s*(\w+)"
_KERNEL = r"\b__global__\b((?:\s|\w|__launch_bounds__\s*\([^()]*\))*?)\b(\w+)\s*\(([^()]*)\)\s*[{;]"


def _type(parameter: str, defined: frozenset[str], structures: frozenset[str]) -> bytes:
    """The code of a parameter's type, from its declaration; _UNKNOWN if it is not simple, or the source
    defines a macro of a name in it. defined: the names of macros; structures: those of structures.
    """
    plain = re.sub(_QUALIFIERS, " ", parameter)
    if defined.intersection(re.findall(r"\w+", plain)):
        return _UNKNOWN
    if re.fullmatch(_COMPLEX, plain):
        return _STRUCTURE
    match = re.fullmatch(_PARAMETER, plain)
    if match is None:
        return _UNKNOWN
    name = " ".join(match[1].split())
    element = _ELEMENTS.get(name, _UNKNOWN)
    if match[2] and match[2].count("*") == 2:
        return _TABLE if element == _UNKNOWN else _TABLES[element[:1]] + element[1:]
    if match[2]:
        return element.upper()
    return _STRUCTURE if name.removeprefix("struct ") in structures else element


class _Parameters(NamedTuple):
    """The parameters of a kernel, as a source declares them."""

    types: bytes  # of types()
    names: tuple[str, ...]  # empty where one has none


def _names(parameters: list[str]) -> tuple[str, ...]:
    """The names in the declarations: each is the last word, but for the lengths of an array."""
    found = [re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$", each) for each in parameters]
    return tuple(match[1] if match else "" for match in found)


@functools.lru_cache(maxsize=32)
def _kernels(source: str, options: tuple[str, ...]) -> dict[str, _Parameters | None]:
    """The parameters of each kernel by the kernel's name; None if two declarations have different types."""
    if 'R"' in source:  # a raw string may contain anything
        return {}
    text = re.sub(f"(?xs){HIDDEN}", " ", source)
    defined = frozenset(
        name for names in re.findall(_DEFINED, "\n".join((text, " ".join(options)))) for name in names if name
    )
    structures = _VECTORS.union(
        *(filter(None, names) for names in re.findall(_STRUCTURES, text)),
    )
    found: dict[str, _Parameters | None] = {}
    for _, name, parameters in re.findall(_KERNEL, text):
        listed = [] if parameters.strip() in ("", "void") else parameters.split(",")
        made = _Parameters(b"".join(_type(each, defined, structures) for each in listed), _names(listed))
        before = found.get(name, made)
        found[name] = made if before is not None and before.types == made.types else None
    return {name: made for name, made in found.items() if not defined.intersection((name, "__global__"))}


def types(source: str, options: tuple[str, ...], name: str) -> bytes | None:
    """The types of a kernel's parameters.

    Parameters
    ----------
    source : str
    options : tuple of str
    name : str

    Returns
    -------
    bytes or None
        Two bytes for each parameter: "f" or "i" and the size of a number; "F" or "I" and the size of the
        number that a pointer points to, "G" or "J" that of a pointer to pointers, "p" and a zero for one to
        pointers to other elements; "s" and a zero for a structure; two zeros if the type is unknown.
        None if the source does not have the kernel, or declares it in two ways.
    """
    found = _kernels(source, options).get(name)
    return None if found is None else found.types


class Reader(NamedTuple):
    """What a Function calls when it needs the types of its parameters, or, for messages, their names."""

    source: str
    options: tuple[str, ...]
    kernel: str

    def __call__(self) -> bytes | None:
        """types() of the kernel."""
        return types(*self)

    def names(self) -> tuple[str, ...] | None:
        """The names of the kernel's parameters; None if they are not known."""
        found = _kernels(self.source, self.options).get(self.kernel)
        return None if found is None or not all(found.names) else found.names
