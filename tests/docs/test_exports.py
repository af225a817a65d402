"""docs/cpu_device.md lists the driver functions that the CPU device exports without an implementation: they
return CUDA_ERROR_NOT_SUPPORTED.
"""

import re
import struct
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

pytestmark = pytest.mark.cpu("what the library of the CPU device exports")

PAGE = Path(__file__).parent.parent.parent / "docs" / "cpu_device.md"
WEAK, DYNAMIC_SYMBOLS = (
    2,
    11,
)  # of an ELF file: STB_WEAK, which functions without an implementation are; SHT_DYNSYM
E_SHOFF, E_SHENTSIZE = 40, 58  # offsets in the ELF header


def exports(path):
    """{name: whether it is weak} of the symbols that an ELF library exports."""
    data = Path(path).read_bytes()
    table = struct.unpack_from("<Q", data, E_SHOFF)[0]
    size, count = struct.unpack_from("<HH", data, E_SHENTSIZE)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + size * n) for n in range(count)]
    _, _, _, _, start, length, link, _, _, entry = next(s for s in sections if s[1] == DYNAMIC_SYMBOLS)
    names = sections[link][4]
    found = {}
    for at in range(start, start + length, entry):
        name, info, _, section = struct.unpack_from("<IBBH", data, at)
        if section:
            text = data[names + name : data.index(b"\0", names + name)].decode()
            found[text] = info >> 4 == WEAK
    return found


def listed():
    """The names on the page, where * stands for any letters."""
    text = PAGE.read_text().split("answer `CUDA_ERROR_NOT_SUPPORTED`", 1)[1].split("```", 1)[0]
    return [pattern for pattern in re.findall(r"`(cu\w[\w*]*)`", text)]


def matches(name, pattern):
    return fnmatchcase(name.removesuffix("_ptsz"), pattern)


def test_the_page_lists_exactly_the_functions_without_an_implementation(cpu_device_library):
    found, patterns = exports(cpu_device_library), listed()
    assert len(found) > 600 and len(patterns) > 2
    weak = {name for name, is_weak in found.items() if is_weak}
    named = {name for name in found if any(matches(name, pattern) for pattern in patterns)}
    assert weak - named == set()
    assert [name for name in named - weak if "_v" not in name] == []  # second versions have implementations
    assert [pattern for pattern in patterns if not any(matches(name, pattern) for name in weak)] == []
    assert [name for name in patterns if "*" not in name and not found[name]] == []
