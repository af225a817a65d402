"""Which kernels and variables code has, PTX or a cubin, and their C++ names.

Variables that compilers make for themselves (texts, tables of mathematical functions) do not count.
"""

from __future__ import annotations

import re
import struct

_ENTRY = re.compile(rb"^\s*(?:\.(?:visible|weak|extern)\s+)*\.entry\s+([\w$]+)", re.M)
_VARIABLE = re.compile(
    rb"^(?:\.(?:visible|weak|extern|common)\s+)*\.(?:global|const)\b"
    rb"[^={;]*?([\w$]+)\s*(?:\[[^={;]*\])?\s*[={;]",
    re.M,
)
_OWN = (b"$", b"__cudart", b"__nv", b"__unnamed", b".nv.")
_SYMBOL = struct.Struct("<IBBHQQ")
_OBJECT, _FUNCTION, _ENTRY_POINT = 1, 2, 0x10


def _symbols(cubin: bytes):
    """(name, kind, other) of each symbol of a cubin."""
    offset, size, count = struct.unpack_from("<Q", cubin, 40)[0], *struct.unpack_from("<HH", cubin, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", cubin, offset + size * each) for each in range(count)]
    for section in sections:
        if section[1] != 2:  # SHT_SYMTAB
            continue
        names = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], _SYMBOL.size):
            name, info, other = _SYMBOL.unpack_from(cubin, at)[:3]
            yield cubin[names + name : cubin.index(b"\0", names + name)], info & 15, other


def kernels(code: bytes) -> list[str]:
    """The names of the kernels; empty for other code."""
    if code.startswith(b"\x7fELF"):
        found = [name for name, kind, other in _symbols(code) if kind == _FUNCTION and other & _ENTRY_POINT]
    else:
        found = _ENTRY.findall(code)
    return [name.decode() for name in found]


def variables(code: bytes) -> list[str]:
    """The names of the variables; empty for other code."""
    if code.startswith(b"\x7fELF"):
        found = [name for name, kind, _ in _symbols(code) if kind == _OBJECT]
    else:
        found = _VARIABLE.findall(code)
    return [name.decode() for name in found if not name.startswith(_OWN)]


def squeezed(expression: str) -> str:
    """A C++ name without the white space that says nothing."""
    return re.sub(r"\s*([^\w\s])\s*", r"\1", " ".join(expression.split()))


def by_expression(expressions, names) -> dict[str, str]:
    """The names in the code of these C++ names, by the squeezed C++ names."""
    return dict(zip(map(squeezed, expressions), names, strict=True))
