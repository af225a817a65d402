"""Compares what the device gave with what the GPU gave: to the bit."""

import numpy as np

from . import inputs, record


def difference(function, results, entry):
    """Lines that say which results differ from the record, none where all agree."""
    results = record.settled(function, results)
    if record.digest(results.tobytes(), 8) == entry.whole:
        return []
    parts = np.flatnonzero(record.marks(results) != entry.marks)
    size = len(results) // record.PARTS
    lines = [f"  {len(parts)} of {record.PARTS} parts of the inputs differ from the GPU"]
    for part in parts[:4]:
        shown = "; ".join(
            f"{inputs.describe(function, lane)} gave {results[lane]:#x}"
            for lane in range(part * size, part * size + 3)
        )
        lines.append(f"  inputs {part * size} to {(part + 1) * size - 1}: {shown}; ...")
    return lines


def complaint(function, group, results, entry):
    """Nothing where the results agree, else a text that says what differs."""
    if entry is None:
        lines = ["  not recorded yet: run tools/record_ptx.py on a GPU"]
    elif entry.basis != record.basis(function, group):
        lines = ["  the record is of other PTX or other inputs: run tools/record_ptx.py on a GPU"]
    else:
        lines = difference(function, results, entry)
    return "\n".join([f"{group}: {function.name} ({function.signature})", *lines]) if lines else ""
