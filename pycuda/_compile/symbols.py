"""Which kernels and variables code has, PTX or a cubin, and their C++ names.

Variables that compilers make for themselves (strings, tables of mathematical functions) do not count.
"""

from __future__ import annotations

import re
import struct

_ENTRY = rb"(?m)^\s*(?:\.(?:visible|weak|extern)\s+)*\.entry\s+([\w$]+)"
_VARIABLE = (
    rb"(?m)^(?:\.(?:visible|weak|extern|common)\s+)*\.(?:global|const)\b"
    rb"[^={;]*?([\w$]+)\s*(?:\[[^={;]*\])?\s*[={;]"
)
_COMPILERS_OWN = (b"$", b"__cudart", b"__nv", b"__unnamed", b".nv.")  # how their names begin
# Of ELF: Elf64_Shdr, Elf64_Sym; a section's type; a symbol's types. And NVIDIA's bit of st_other for kernels.
_SECTION = struct.Struct("<4xI16xQQI")
_SYMBOL = struct.Struct("<IBBHQQ")
_SHT_SYMTAB = 2
_OBJECT, _FUNCTION = 1, 2
_ENTRY_POINT = 0x10
# Offsets in the ELF header: e_shoff; e_shentsize and e_shnum.
_SECTIONS_OFFSET, _SECTIONS_SIZE = 40, 58


def _symbols(cubin: bytes):
    """(name, type, st_other) of each symbol of a cubin."""
    (offset,) = struct.unpack_from("<Q", cubin, _SECTIONS_OFFSET)
    size, count = struct.unpack_from("<HH", cubin, _SECTIONS_SIZE)
    # The fields of Elf64_Shdr that count here: sh_type, sh_offset, sh_size, sh_link.
    sections = [_SECTION.unpack_from(cubin, offset + size * each) for each in range(count)]
    for kind, begin, length, link in sections:
        if kind != _SHT_SYMTAB:
            continue
        names = sections[link][1]
        for at in range(begin, begin + length, _SYMBOL.size):
            name, info, other = _SYMBOL.unpack_from(cubin, at)[:3]
            yield cubin[names + name : cubin.index(b"\0", names + name)], info & 15, other


def kernels(code: bytes) -> list[str]:
    """The names of the kernels; empty for other code."""
    if code.startswith(b"\x7fELF"):
        found = [name for name, kind, other in _symbols(code) if kind == _FUNCTION and other & _ENTRY_POINT]
    else:
        found = re.findall(_ENTRY, code)
    return [name.decode() for name in found]


def variables(code: bytes) -> list[str]:
    """The names of the variables; empty for other code."""
    if code.startswith(b"\x7fELF"):
        found = [name for name, kind, _ in _symbols(code) if kind == _OBJECT]
    else:
        found = re.findall(_VARIABLE, code)
    return [name.decode() for name in found if not name.startswith(_COMPILERS_OWN)]


def squeezed(expression: str) -> str:
    """A C++ name without the white space that does not separate words."""
    return re.sub(r"\s*([^\w\s])\s*", r"\1", " ".join(expression.split()))


def by_expression(expressions, names) -> dict[str, str]:
    """A dict from squeezed C++ expressions to names in the code."""
    return dict(zip(map(squeezed, expressions), names, strict=True))
