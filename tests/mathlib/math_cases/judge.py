"""Compares a device's results with those recorded on a GPU, bit by bit."""

import numpy as np

from . import inputs, record


def difference(function, results, entry):
    """A list of lines that say which results differ from an Entry (record.py), empty if all agree."""
    results = record.settled(function, results)
    if record.digest(results.tobytes(), 8) == entry.digest_of_all:
        return []
    parts = np.flatnonzero(record.checksums(results) != entry.checksums)
    size = len(results) // record.PARTS
    lines = [f"  {len(parts)} of {record.PARTS} parts of the inputs differ from the GPU"]
    for part in parts[:4]:  # enough to see a pattern; the record does not say which lanes of a part differ
        first, last = part * size, (part + 1) * size - 1
        shown = "; ".join(
            f"{inputs.describe(function, lane)} gave {results[lane]:#x}" for lane in range(first, first + 3)
        )
        lines.append(f"  inputs {first} to {last}: {shown}; ...")
    return lines


def complaint(function, group, results, entry):
    """A text that says how the results differ from the record, empty if they agree.

    entry: the function's Entry, or None if nothing was recorded.
    """
    if entry is None:
        lines = ["  not recorded yet: run tools/record_ptx.py on a GPU"]
    elif entry.basis != record.basis(function, group):
        lines = ["  the record is of other PTX or other inputs: run tools/record_ptx.py on a GPU"]
    else:
        lines = difference(function, results, entry)
    return "\n".join([f"{group}: {function.name} ({function.signature})", *lines]) if lines else ""
