"""What the CPU device writes to the file of PYCUDA_CPU_REPORT: a line for each fault, counts at the end."""

from __future__ import annotations

import collections
from typing import NamedTuple


class Report(NamedTuple):
    """The events in the processes that wrote to the file."""

    faults: list[str]  # of kernels that have failed
    survived: list[str]  # after which kernels went on (PYCUDA_CPU_FAULTS=report)
    launches: int
    unfreed: int

    @property
    def all_faults(self) -> list[str]:
        return self.faults + self.survived


def read(path: str, start: int = 0) -> tuple[Report, int]:
    """(what was written from this offset on, the offset where it ends)"""
    with open(path, "rb") as file:
        file.seek(start)
        text = file.read()
    lines = text.decode("utf-8", errors="replace").splitlines()
    rows = [line.partition(" ")[::2] for line in lines]
    sites = dict(value.split(" ", 1) for what, value in rows if what == "site")
    texts: dict[str, list[str]] = {"fault": [], "survived": []}
    counts: collections.Counter[str] = collections.Counter()
    for what, value in rows:
        if what in texts:
            launch, fault = value.split(" ", 1)
            texts[what].append(f"{fault} (launched by {sites[launch]})" if launch in sites else fault)
        elif what != "site":
            counts[what] += int(value)
    report = Report(texts["fault"], texts["survived"], counts["launches"], counts["unfreed"])
    return report, start + len(text)
