"""What the CPU device writes to the file of PYCUDA_CPU_REPORT: a line for each fault, counts at the end."""

from __future__ import annotations

import collections
from typing import NamedTuple


class Report(NamedTuple):
    """The events in the processes that wrote to the file."""

    faults: list[str]
    launches: int
    unfreed: int


def read(path: str, start: int = 0) -> tuple[Report, int]:
    """(what was written from this offset on, the offset where it ends)"""
    with open(path, "rb") as file:
        file.seek(start)
        text = file.read()
    lines = text.decode("utf-8", errors="replace").splitlines()
    rows = [line.partition(" ")[::2] for line in lines]
    counts: collections.Counter[str] = collections.Counter()
    for what, value in rows:
        if what not in ("fault", "site"):
            counts[what] += int(value)
    sites = dict(value.split(" ", 1) for what, value in rows if what == "site")
    faults = [value.split(" ", 1) for what, value in rows if what == "fault"]
    texts = [f"{text} (launched by {sites[launch]})" if launch in sites else text for launch, text in faults]
    return Report(texts, counts["launches"], counts["unfreed"]), start + len(text)
