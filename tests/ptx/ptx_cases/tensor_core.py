"""A model of the sums of a tensor core of sm_90, in integers; and floats of eight bits, which it converts to
halves."""

import numpy as np

KEPT = 25  # bits below the first one that a tensor core keeps of each term


def same(found, wanted):
    """Whether all bits are the same; NaNs may differ."""
    words = np.uint32 if wanted.dtype == np.float32 else np.uint16
    return ((found.view(words) == wanted.view(words)) | (np.isnan(found) & np.isnan(wanted))).all()


def decoded(byte, kind):
    """The numbers of floats of eight bits ("e4m3" or "e5m2")."""
    if kind == "e5m2":
        return np.asarray(np.uint16(byte) << np.uint16(8)).view(np.float16).astype(float)
    sign, exponent, fraction = byte >> 7, byte >> 3 & 15, byte & 7
    size = np.where(exponent, (8 + fraction) * 2.0 ** (exponent.astype(int) - 10), fraction * 2.0**-9)
    return np.where(byte & 127 == 127, np.nan, np.where(sign, -size, size))


def stored_exponent(x):
    """The exponent of a half; subnormal ones have the minimum, zero has None."""
    return max(np.frexp(x)[1] - 1, -14) if x else None


def cut_off(x):
    """The number rounded to a float, towards zero."""
    near = np.float32(x)
    return near if abs(float(near)) <= abs(x) or np.isinf(x) else np.nextafter(near, np.float32(0))


def core_sum(first, terms, sums):
    """The tensor core's sum of `first` and the products of pairs of halves, all truncated at the same bit.

    sums: "f32" or "f16", the type of `first` and of the sum."""
    plain = float(first) + sum(float(x) * float(y) for x, y in terms)
    if not np.isfinite(plain):
        return np.float32(plain) if sums == "f32" else np.float16(plain)
    min_exponent = -14 if sums == "f16" else -126
    exponents = [stored_exponent(x) + stored_exponent(y) for x, y in terms if x and y]
    if first:
        exponents.append(max(np.frexp(float(first))[1] - 1, min_exponent))
    unit = 2.0 ** (KEPT - max(exponents, default=0))
    total = int(float(first) * unit) + sum(int(float(x) * float(y) * unit) for x, y in terms)
    value = total / unit
    with np.errstate(over="ignore"):
        return cut_off(value) if sums == "f32" else np.float16(value)


def emulated(a, b, c, sums):
    """a @ b + c: of every four columns of a, the products of the first two are summed, then those of the last
    two are added to that sum; then c is added. sums: as for core_sum()."""
    number = np.float32 if sums == "f32" else np.float16
    result = np.zeros(c.shape, number)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            value = number(0)
            for part in (0, 2):
                at = [k for k in range(a.shape[1]) if k % 4 in (part, part + 1)]
                value = core_sum(value, [(a[i, k], b[k, j]) for k in at], sums)
            with np.errstate(all="ignore"):
                result[i, j] = number(c[i, j]) + value
    return result
