"""Compares what the device gave with what the GPU gave: to the bit, or within what the guide allows."""

import numpy as np

from . import bounds, inputs, modules, record

NUMBERS = {"f": np.float32, "d": np.float64, "h": np.float16}
ELEMENT = {"H": "h", "B": "b"}


def numbers(bits, letter):
    """As doubles (long doubles of doubles); the halves of pairs one after another."""
    kind = ELEMENT.get(letter, letter)
    if kind in "hb":
        bits = np.ascontiguousarray(bits).view(np.uint16)
    if kind == "b":
        bits, kind = bits.astype(np.uint32) << 16, "f"
    if kind not in NUMBERS:
        return bits.view(np.int32).astype(float)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return np.ascontiguousarray(bits).view(NUMBERS[kind]).astype(np.longdouble if kind == "d" else float)


def allowed(function, values, exact, times, rounding):
    """The error allowed of each result: so many times the bound, and rounding units in the last place."""
    bound, kind = bounds.bound_of(function), ELEMENT.get(function.result, function.result)
    ulps = bound.ulps + (bound.more(*values) if bound.more else 0)
    with np.errstate(all="ignore"):
        magnitude = np.exp2(np.floor(np.log2(np.abs(exact)))) * bounds.EPSILON[kind]
    unit = np.where(
        np.isfinite(magnitude), np.maximum(magnitude, bounds.SMALLEST[kind]), bounds.SMALLEST[kind]
    )
    if function.result == "f" and function.name.startswith("__"):
        unit = np.maximum(unit, 2.0**-126)  # intrinsics may give a zero for what is subnormal
    return (times * ulps + rounding) * unit + times * bound.absolute


def classes_differ(ours, theirs, slack, kind):
    """NaN, infinite, or on the other side of zero; not where the other value is within reach."""
    largest = bounds.LARGEST[ELEMENT.get(kind, kind)]
    bounded = [np.clip(values, -largest, largest) for values in (ours, theirs)]
    near = np.abs(bounded[0] - bounded[1]) <= slack
    return (np.isnan(ours) != np.isnan(theirs)) | ((np.isinf(ours) != np.isinf(theirs)) & ~near)


def beyond(function, values, ours, theirs, times, rounding=0.0):
    """Which results are further from the others than allowed."""
    bound = bounds.bound_of(function)
    with np.errstate(all="ignore"):
        slack = allowed(function, values, theirs, times, rounding)
        wrong = np.abs(ours - theirs) > slack
        wrong &= np.isfinite(ours) & np.isfinite(theirs)
        wrong |= classes_differ(ours, theirs, slack, function.result)
        if bound.holds:
            wrong &= bound.holds(*values)
    return wrong


def argument_values(function, step):
    found = []
    for array, (_, letter) in zip(inputs.arguments(function), function.arguments, strict=True):
        chosen = array[::step]
        found.append(chosen.astype(float) if letter in "ne" else numbers(chosen, letter))
    return found


def approximate_complaint(function, results, entry):
    kind = function.result
    step = max(record.EVERY * len(results) // inputs.LANES, 1)
    theirs = numbers(entry.sample.view(results.dtype), kind)
    wrong = beyond(function, argument_values(function, step), numbers(results[::step], kind), theirs, 2)
    lines = []
    for place in np.flatnonzero(wrong)[:6]:
        lane = place * step // (2 if kind in ELEMENT else 1)
        given = entry.sample.view(results.dtype)[lane // step]
        lines.append(f"  {inputs.describe(function, lane)} gave {results[lane]:#x}, the GPU {given:#x}")
    return lines + reference_complaint(function, results)


def reference_complaint(function, results):
    reference = bounds.reference_of(function)
    if not reference:
        return []
    values = argument_values(function, 1)
    with np.errstate(all="ignore"):
        exact = np.asarray(reference(*values), float)
    ours = numbers(results, function.result)
    known = np.isfinite(exact) & (np.abs(exact) <= bounds.LARGEST[function.result])
    # The guide counts from the correctly rounded result.
    wrong = known & np.isfinite(ours) & beyond(function, values, ours, np.where(known, exact, ours), 1, 0.5)
    return [
        f"  {inputs.describe(function, lane)} gave {results[lane]:#x} {ours[lane]:.9g} for {exact[lane]:.9g}"
        for lane in np.flatnonzero(wrong)[:6]
    ]


def exact_complaint(function, results, entry):
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
    elif modules.is_approximate(function, group):
        lines = approximate_complaint(function, results, entry)
    else:
        lines = exact_complaint(function, results, entry)
    return "\n".join([f"{group}: {function.name} ({function.signature})", *lines]) if lines else ""
