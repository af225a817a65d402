"""Compares what the device gave with what the GPU gave, or with an exact reference and the manual's bound."""

import numpy as np

from . import expected
from .inputs import FLOATS, WIDTH
from .runner import describe, operand

NUMBERS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def numbers(bits, kind):
    """The values of an array of bits, as doubles (long doubles for f64); packed halves one after another."""
    if kind.endswith("x2"):
        halves = np.ascontiguousarray(bits).view(np.uint16)
        return numbers(halves, kind[:-2])
    if kind == "bf16":
        return numbers(bits.astype(np.uint32) << 16, "f32")
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return bits.view(NUMBERS[kind]).astype(np.longdouble if kind == "f64" else float)


def smallest_normal(kind):
    exponent, _ = FLOATS[kind.removesuffix("x2")]
    return 2.0 ** (2 - (1 << exponent - 1))


def error_allowed(form, kind, exact, sources):
    """What the manual allows, and the rounding of the result type where results are subnormal."""
    bound = form.bound
    allowed = bound.absolute + bound.relative * np.abs(exact)
    small = smallest_normal(kind)
    if ".ftz" in form.name or kind == "f32":
        allowed = np.where(np.abs(exact) < small, np.maximum(allowed, small), allowed)
    return np.maximum(allowed, small * 2.0 ** -FLOATS[kind.removesuffix("x2")][1])


def flushed(values, form, kind):
    if ".ftz" not in form.name:
        return values
    return np.where(np.abs(values) < smallest_normal(kind), np.copysign(0, values), values)


def beyond_bound(form, output):
    """Lanes whose error is above the bound, with the largest error as a part of the bound."""
    kind = form.results[0][1]
    sources = [numbers(operand(form, name, kind), kind) for name, kind in form.sources]
    with np.errstate(all="ignore"):
        exact = form.bound.reference(*(flushed(value, form, kind) for value in sources))
        got = numbers(output, kind)
        limit = float(np.finfo(np.float32).max) if kind != "f64" else float(np.finfo(float).max)
        if kind in ("f16", "f16x2"):
            limit = 65504.0
        part = np.abs(got - exact) / error_allowed(form, kind, exact, sources)
        counts = np.isfinite(exact) & np.isfinite(got) & (np.abs(exact) <= limit)
        if form.bound.holds:
            counts &= form.bound.holds(*sources)
    part = np.where(counts, part, 0).reshape(form.lanes, -1).max(1).astype(float)
    return np.flatnonzero(part > 1), part.max()


def class_of(values):
    """NaN, the infinities, the zeros, other signs."""
    return np.select(
        [np.isnan(values), values == 0],
        [3, np.copysign(2, values)],
        np.where(np.isinf(values), np.copysign(4, values), np.copysign(1, values)),
    )


def unlike_sample(form, output, entry):
    """Lanes of the sample where one of two is NaN, infinite or zero and the other is not, or signs differ."""
    kind = form.results[0][1]
    theirs = np.ascontiguousarray(entry.sample).view(output.dtype).ravel()
    ours = output[: len(theirs)]
    with np.errstate(all="ignore"):
        a, b = numbers(ours, kind), numbers(theirs, kind)
        sources = [numbers(operand(form, name, kind)[: len(theirs)], kind) for name, kind in form.sources]
        near = np.abs(a - b) <= 2 * error_allowed(form, kind, a, sources)
        unlike = (class_of(a) != class_of(b)) & ~near
        if form.bound.holds:
            unlike &= form.bound.holds(*sources) | np.isnan(a) | np.isnan(b) | np.isinf(a) | np.isinf(b)
    return np.flatnonzero(unlike.reshape(len(theirs), -1).any(1))


def shown(form, rows, lane):
    at, text = 0, []
    for name, kind in form.results:
        size = (
            rows.shape[1] if len(form.results) == 1 else max(WIDTH[kind], 32 if WIDTH[kind] == 1 else 8) // 8
        )
        text.append(f"{name}={rows[lane, at:at + size][::-1].tobytes().hex()}")
        at += size
    return " ".join(text)


def complaint(form, outputs, entry):
    """Nothing where the results agree, else a text that says what differs."""
    rows = expected.rows_of(form, outputs)
    if entry.source != expected.sources_digest(form):
        return "the record is of another instruction or other inputs: run tools/record_ptx.py on a GPU"
    if form.bound:
        return approximate_complaint(form, outputs[0], rows, entry)
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
    return "\n".join(
        lines + [f"  about {len(groups) * 4 // 3} of {len(entry.marks) * 4} groups of lanes differ"]
    )


def approximate_complaint(form, output, rows, entry):
    lanes, part = beyond_bound(form, output)
    lines = [
        f"  lane {lane}: {describe(form, lane)} gave {shown(form, rows, lane)}, beyond the manual's error"
        for lane in lanes[:8]
    ]
    lines += [
        f"  lane {lane}: {describe(form, lane)} gave {shown(form, rows, lane)}, "
        f"GPU {shown(form, entry.sample, lane)}"
        for lane in unlike_sample(form, output, entry)[:8]
    ]
    return "\n".join([f"{form.text}  (largest error {part:.3} of the bound)", *lines]) if lines else ""
