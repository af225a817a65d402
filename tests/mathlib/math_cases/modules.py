"""The functions as PTX: one kernel for each function, compiled once and kept in ptx/, so that the device and
the GPU that made the record run the same instructions."""

import lzma
import re
from functools import cache

from . import table

KERNEL = """extern "C" __global__ void {entry}({parameters}, {result} *results)
{{
    const int lane = blockIdx.x * blockDim.x + threadIdx.x;
    {loads}
    {result} r;
    {statement}
    results[lane] = r;
}}
"""
# A whole kernel and a whole device function in the text of a PTX module; group 1 is the name.
ENTRY = re.compile(r"^\.visible \.entry (\w+)\(.*?^}", re.M | re.S)
FUNCTION = re.compile(r"^(?:\.\w+ )*\.func(?:\s*\([^)]*\))?\s+(\w+)\(.*?^}", re.M | re.S)


def source(group):
    """CUDA C++ of a group."""
    header = table.GROUPS[group][1]
    text = f"#include <{header}>\n" if header else ""
    for function in table.groups()[group]:
        arguments = [(name, table.TYPES[letter][0]) for name, letter in function.arguments]
        text += KERNEL.format(
            entry=function.entry,
            result=table.TYPES[function.result][0],
            parameters=", ".join(f"const {kind} *{name}_" for name, kind in arguments),
            loads=" ".join(f"const {kind} {name} = {name}_[lane];" for name, kind in arguments),
            statement=function.statement,
        )
    return text


def path(group):
    """The file of a group's PTX."""
    return table.FOLDER / "ptx" / f"{group.replace(' ', '_')}.ptx.xz"


def save(group, ptx):
    """Writes a group's PTX, compressed."""
    path(group).parent.mkdir(exist_ok=True)
    path(group).write_bytes(lzma.compress(ptx.encode(), preset=9 | lzma.PRESET_EXTREME))


@cache
def load(group):
    """A group's PTX."""
    return lzma.decompress(path(group).read_bytes()).decode()


@cache
def bodies(group):
    """{name: PTX} of the kernels and the device functions of a group."""
    text = load(group)
    return {match[1]: match[0] for pattern in (ENTRY, FUNCTION) for match in pattern.finditer(text)}


def reached(group, name):
    """The PTX of a kernel and of all functions that it calls, directly or not, sorted by name."""
    found, todo = {}, [name]
    while todo:
        current = todo.pop()
        if current in found or current not in bodies(group):
            continue
        found[current] = bodies(group)[current]
        words = set(re.findall(r"\w+", found[current]))
        todo += [word for word in words if word != current and word in bodies(group)]
    return "".join(found[current] for current in sorted(found))
