"""NVIDIA's pages about the functions of the driver: a page for each group of functions.

`python docs/vendor.py FOLDER` writes the groups of the headers in that folder to driver_groups.txt, a group a
line, so that the pages can be built where no toolkit is.
"""

import re
import sys
import textwrap
from pathlib import Path

TABLE = Path(__file__).with_name("driver_groups.txt")
OTHER_NAMES = {"cuGraphInstantiateWithFlags": "cuGraphInstantiate"}  # that of drivers before CUDA 12
HEADERS = "cuda.h", "cudaGL.h", "cudaProfiler.h"
ADDRESS = "https://docs.nvidia.com/cuda/cuda-driver-api/group__{}.html"


def groups_in(header):
    """{group: sorted names of its functions} of the text of a header."""
    found, group = {}, None
    for opened, name in re.findall(r"\\defgroup (\w+)|CUDAAPI\s+(cu\w+)\(", header):
        group = opened or group
        if name:
            found.setdefault(group, set()).add(re.sub(r"_v\d$|_ptsz$", "", name))
    return {group: sorted(names) for group, names in found.items() if group}


def table():
    """{name of a function: group}."""
    rows = (line.split(": ") for line in TABLE.read_text().splitlines() if not line.startswith("#"))
    return {name: group for group, names in rows for name in names.split()}


def address(name, groups):
    """The address of the page that describes a function, or None."""
    group = groups.get(OTHER_NAMES.get(name, name))
    return ADDRESS.format(group.replace("_", "__")) if group else None


def linked(line, groups):
    """A line of reStructuredText in which functions of the driver are links to NVIDIA's pages."""

    def link(match):
        target = address(match[0], groups)
        return f"`{match[0]} <{target}>`__" if target else match[0]

    return re.sub(r"(?<![\w`.:/])cu[A-Z]\w+", link, line)


def main():
    found = {}
    for header in HEADERS:
        found |= groups_in((Path(sys.argv[1]) / header).read_text())
    lines = ["# Written by docs/vendor.py: groups of functions in the driver's headers, each has a page."]
    seen = set()
    for group, names in found.items():
        # What another version of the header declares again, after its groups, is in the table already.
        names = [name for name in names if name not in seen]
        seen.update(names)
        begin = f"{group}: "
        lines += textwrap.wrap(" ".join(names), 100, initial_indent=begin, subsequent_indent=begin)
    TABLE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
