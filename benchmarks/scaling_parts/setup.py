"""What a part is given, how much time it has, and where its results go."""

import ctypes
import importlib.util
import json
import os
import statistics
import subprocess
import time
from pathlib import Path

from common import HERE, RESULTS, driver_library, show

FOLDER = RESULTS / "scaling"


class CannotRun(Exception):
    """Why a part does not run here."""


class Setup:
    """A part's task: how many devices, whether sizes are small, until when; and what it found.

    earlier: {part: data} of the parts that ran before.
    """

    def __init__(self, name, devices, small, seconds, earlier, out):
        self.name, self.devices, self.small, self.earlier = name, devices, small, earlier
        self.tables, self.data, self.notes = [], {}, []
        self._end, self._out = time.time() + seconds, Path(out)

    @property
    def end(self):
        """When the part should be done, as of time.time()."""
        return self._end

    def left(self):
        """Seconds that the part still has."""
        return self._end - time.time()

    def counts(self):
        """Numbers of devices to measure: powers of two, and all."""
        powers = [n for n in (2, 4, 8, 16) if n < self.devices]
        return [*powers, self.devices] if self.devices > 1 else []

    def table(self, title, header, rows):
        """Prints a table, and keeps it."""
        show(title, header, rows)
        self.tables.append({"title": title, "header": header, "rows": rows})
        self.write()

    def note(self, text):
        """Prints a line about what was left out, and keeps it."""
        print(f"  {self.name}: {text}", flush=True)
        self.notes.append(text)
        self.write()

    def write(self):
        """Writes what there is: a part that is ended by its time limit loses nothing."""
        found = {"tables": self.tables, "data": self.data, "notes": self.notes}
        self._out.write_text(json.dumps(found))


def needs(*packages):
    """Raises CannotRun unless all of these packages are installed."""
    for name in packages:
        if importlib.util.find_spec(name.partition(".")[0]) is None:
            raise CannotRun(f"{name} is not installed")


def has(package):
    """Whether a package is installed."""
    return importlib.util.find_spec(package) is not None


def build(name):
    """The library of a C file in benchmarks/, compiled if the file is newer."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    source, library = HERE / f"{name}.c", FOLDER / f"lib{name}.so"
    if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
        made = library.with_suffix(f".{os.getpid()}")  # another process may load the library meanwhile
        subprocess.run(["cc", "-O3", "-shared", "-fPIC", source, "-o", made], check=True)
        made.replace(library)
    return library


def driver_function(name):
    """The address of a function of the driver in use."""
    return ctypes.cast(getattr(driver_library(), name), ctypes.c_void_p)


def timed(call, count, synchronize):
    """(ns until `count` calls are queued, until they are done), each for one call."""
    synchronize()
    start = time.perf_counter_ns()
    for _ in range(count):
        call()
    queued = time.perf_counter_ns()
    synchronize()
    return (queued - start) / count, (time.perf_counter_ns() - start) / count


def in_turn(ways, rounds):
    """{way: (median ns queued, median ns done)} of {way: function that returns such a pair}: each is called
    once a round, after one that does not count. Another one is first in each round: what comes after a pause,
    or after a way that leaves the device warm, is so in turn.
    """
    times, order = {way: [] for way in ways}, [*ways]
    for number in range(rounds + 1):
        for way in order:
            pair = ways[way]()
            if number:
                times[way].append(pair)
        order.append(order.pop(0))
    return {way: tuple(map(statistics.median, zip(*pairs, strict=True))) for way, pairs in times.items()}


def power(size):
    """Bytes as text, as in 64 KiB."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:g} {unit}"
        size /= 1024
    return f"{size:g} GiB"
