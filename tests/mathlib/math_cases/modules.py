"""The functions as PTX: one kernel a function, compiled once and kept in ptx/, so that both sides of a
comparison run the same instructions."""

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
    return table.FOLDER / "ptx" / f"{group.replace(' ', '_')}.ptx.xz"


def save(group, ptx):
    path(group).parent.mkdir(exist_ok=True)
    path(group).write_bytes(lzma.compress(ptx.encode(), preset=9 | lzma.PRESET_EXTREME))


@cache
def load(group):
    return lzma.decompress(path(group).read_bytes()).decode()


@cache
def bodies(group):
    """{name of a kernel or function: its PTX}"""
    text = load(group)
    return {match[1]: match[0] for pattern in (ENTRY, FUNCTION) for match in pattern.finditer(text)}


def reached(group, name):
    """A kernel's PTX with that of all it calls."""
    known, todo = {}, [name]
    while todo:
        one = todo.pop()
        if one in known or one not in bodies(group):
            continue
        known[one] = bodies(group)[one]
        todo += [
            word for word in set(re.findall(r"\w+", known[one])) if word != one and word in bodies(group)
        ]
    return "".join(known[one] for one in sorted(known))
