"""What tests of docs/limits/ share: the tables' values, and the names that a library exports."""

import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "ptx"))

import limits_pages as pages
from acceptance import judges, statements, tables

ROOT = pages.ROOT
DYNAMIC_SYMBOLS = 11  # SHT_DYNSYM of an ELF file
E_SHOFF, E_SHENTSIZE = 40, 58  # offsets in the ELF header


def exports(path):
    """The set of the symbols that an ELF library exports."""
    data = Path(path).read_bytes()
    table = struct.unpack_from("<Q", data, E_SHOFF)[0]
    size, count = struct.unpack_from("<HH", data, E_SHENTSIZE)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + size * n) for n in range(count)]
    _, _, _, _, start, length, link, _, _, entry = next(s for s in sections if s[1] == DYNAMIC_SYMBOLS)
    names, found = sections[link][4], set()
    for at in range(start, start + length, entry):
        name, _, _, section = struct.unpack_from("<IBBH", data, at)
        if section:
            found.add(data[names + name : data.index(b"\0", names + name)].decode())
    return found


def with_variants(symbols, exported):
    """{export: its symbol} of these symbols and of their variants for per-thread streams."""
    suffixes = "", "_ptsz", "_ptds"
    return {name: symbol for symbol in symbols for name in map(symbol.__add__, suffixes) if name in exported}


def of_major(functions, major):
    """{name: Answer} of {name: [(major, Answer)]}."""
    return {name: dict(pairs)[major] for name, pairs in functions.items() if major in dict(pairs)}


__all__ = ["ROOT", "exports", "judges", "of_major", "pages", "statements", "tables", "with_variants"]
