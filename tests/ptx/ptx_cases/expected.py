"""Recorded results of a GPU, stored compactly: for each form a hash of all results, and marks that show which
lanes differ.

There is one file for each family. The results of a form are cut into up to 1024 groups of lanes; a mark is
two bits of the hash of a group, so that three of four differing groups are found. The results of the first
lanes are stored as they are.
"""

import hashlib
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from .runner import array

FOLDER = Path(__file__).parent.parent / "expected"
GROUPS = 1024
SAMPLE = 8  # lanes whose results are stored


def rows_of(form, outputs):
    """The result bytes of each lane, one row for each. outputs: the arrays from runner.run()."""
    return np.concatenate([output.reshape(form.lanes, -1).view(np.uint8) for output in outputs], 1)


def digest(data):
    return hashlib.blake2b(np.ascontiguousarray(data).tobytes(), digest_size=12).digest()


def marks(rows):
    """Two bits for each group of lanes, four groups in a byte."""
    groups = np.ascontiguousarray(rows).reshape(min(GROUPS, len(rows)), -1)
    bits = np.array([zlib.crc32(group) >> 7 & 3 for group in groups], np.uint8)
    return bits[0::4] | bits[1::4] << 2 | bits[2::4] << 4 | bits[3::4] << 6


def unpacked(packed):
    """The two bits of each group, from marks()."""
    return np.stack([packed >> shift & 3 for shift in (0, 2, 4, 6)], 1).ravel()


@cache
def array_digest(kind, name, lanes, cancel):
    return digest(array(kind, name, lanes, cancel))


def sources_digest(form):
    """A digest of the operands and of the instruction with the statements around it."""
    data = b"".join(array_digest(kind, name, form.lanes, form.cancel) for name, kind in form.sources)
    around = f"{form.before}|{form.text}|{form.after}|{form.results}|{form.cell}|{form.lanes}"
    return hashlib.blake2b(data + around.encode(), digest_size=4).digest()


@dataclass
class Entry:
    source: bytes  # sources_digest(): differs if the record is of another form or of other inputs
    digest: bytes  # of all results
    marks: np.ndarray
    sample: np.ndarray  # result bytes of the first lanes


def entry(form, outputs):
    rows = rows_of(form, outputs)
    return Entry(sources_digest(form), digest(rows), marks(rows), rows[:SAMPLE])


def path(family, folder=FOLDER):
    return folder / (family.replace(" ", "_") + ".npz")


def save(family, entries, device, folder=FOLDER):
    """entries: {form name: Entry}"""
    names = sorted(entries)
    packed = [
        np.frombuffer(
            b"".join([entries[n].source, entries[n].digest])
            + entries[n].marks.tobytes()
            + entries[n].sample.tobytes(),
            np.uint8,
        )
        for n in names
    ]
    layout = [[len(entries[n].digest), len(entries[n].marks), *entries[n].sample.shape] for n in names]
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        path(family, folder),
        names=np.array("\n".join(names)),
        layout=np.array(layout, np.uint16),
        data=np.concatenate(packed),
        device=np.array(device),
    )


def load(family, folder=FOLDER):
    """{form name: Entry}; empty if nothing was recorded yet."""
    if not path(family, folder).exists():
        return {}
    with np.load(path(family, folder)) as file:
        names, layout, data = str(file["names"]).split("\n"), file["layout"].astype(int), file["data"]
    entries, at = {}, 0
    for name, (hashed, marked, lanes, size) in zip(names, layout, strict=False):
        cuts = np.cumsum([4, hashed, marked, lanes * size])
        source, whole, mark, sample, _ = np.split(data[at : at + cuts[-1]], cuts)
        entries[name] = Entry(source.tobytes(), whole.tobytes(), mark, sample.reshape(lanes, size))
        at += cuts[-1]
    return entries


def differing_lanes(entry, rows):
    """(lanes whose sample differs, groups of lanes whose marks differ). If the digests differ, both are empty
    only if all marks collide."""
    groups = np.flatnonzero(unpacked(entry.marks) != unpacked(marks(rows)))
    size = len(rows) // min(GROUPS, len(rows))
    lanes = np.flatnonzero((entry.sample != rows[: len(entry.sample)]).any(1))
    return lanes, [range(group * size, (group + 1) * size) for group in groups]
