"""Compares the results of the device with those recorded on a GPU."""

from . import expected
from .inputs import WIDTH
from .runner import describe


def shown(form, rows, lane):
    """The results of a lane, in hex; rows: from rows_of()."""
    at, text = 0, []
    for name, kind in form.results:
        size = (
            rows.shape[1] if len(form.results) == 1 else max(WIDTH[kind], 32 if WIDTH[kind] == 1 else 8) // 8
        )
        text.append(f"{name}={rows[lane, at:at + size][::-1].tobytes().hex()}")
        at += size
    return " ".join(text)


def complaint(form, outputs, entry):
    """A text that says what differs; empty if the results agree."""
    rows = expected.rows_of(form, outputs)
    if entry.source != expected.sources_digest(form):
        return "the record is of another instruction or other inputs: run tools/record_ptx.py on a GPU"
    if entry.digest == expected.digest(rows):
        return ""
    lanes, groups = expected.differing_lanes(entry, rows)
    lines = [f"{form.text}  differs from the GPU's results"]
    for lane in lanes[:8]:
        lines.append(
            f"  lane {lane}: {describe(form, lane)} gave {shown(form, rows, lane)}, "
            f"GPU {shown(form, entry.sample, lane)}"
        )
    for group in groups[:8]:
        given = "; ".join(
            f"{describe(form, lane)} gave {shown(form, rows, lane)}" for lane in list(group)[:4]
        )
        lines.append(f"  lanes {group[0]} to {group[-1]}: {given}")
    # A byte has the marks of four groups; a mark shows 3 of 4 differing groups (expected.py).
    estimated, total = len(groups) * 4 // 3, len(entry.marks) * 4
    return "\n".join([*lines, f"  about {estimated} of {total} groups of lanes differ"])
