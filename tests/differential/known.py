"""Differences that are intended: each has a reason and the words of a page in docs/ that document it, except
for those that are faults of NumPy.

A row is (reason, page, words of the page, test). test(text of the call, our result or exception, NumPy's, the
Difference) returns whether the row explains the difference.
"""

import re

import numpy as np

import pycuda.driver as drv


def _says(got, *words):
    """Whether our result is an error with any of these words."""
    return isinstance(got, Exception) and any(word in str(got) for word in words)


def _values(found, test):
    """Whether values differ and test(our values, NumPy's) is true for all of them."""
    with np.errstate(all="ignore"):
        return found.pairs is not None and bool(np.all(test(*found.pairs)))


def _rounded_less(ours, numpys):
    """Where values are float16 and differ by a few roundings, or NumPy's overflowed."""
    ours, numpys, halves = ours.astype("f8"), numpys.astype("f8"), ours.dtype == np.float16
    return halves & (~np.isfinite(numpys) | (abs(ours - numpys) <= 0.15 * abs(numpys).max()))


def _out_of_range(text, ours, numpys):
    """Whether the differing values are of floats that an integer dtype cannot hold: NumPy's are x86's
    smallest integer, or ours the limits of uint64.
    """
    beyond = [float(np.iinfo(dtype).min) for dtype in "il"]
    if re.search(r"dtype='i|\.at\(|out=|astype", text) and np.isin(numpys.astype("f8"), beyond).all():
        return True
    return ".at(" in text and ours.dtype == np.uint64 and np.isin(ours, [0, np.iinfo(ours.dtype).max]).all()


KNOWN = [
    (
        "a[0] is a view without axes, which operators in place change",
        "docs/arrays.md", "`a[0]` is a 0-d array",
        lambda text, got, want, found: re.search(r"\[([-\d, ]+|\(\))\] \S+= ", text) is not None,
    ),
    (
        "integers to negative powers, in an array",
        "docs/arrays.md", "Integers to negative integer powers",
        lambda text, got, want, found: "Integers to negative integer powers" in str(want),
    ),
    (
        "a strided array is made contiguous",
        "docs/from/pycuda.md", "a contiguous copy",
        lambda text, got, want, found: "reshape" in text and str(found).endswith(": no shared memory"),
    ),
    (
        "NumPy's ufunc.at writes to read-only arrays",
        "docs/arrays.md", "is read-only",
        lambda text, got, want, found: ".at(" in text and _says(got, "read-only"),
    ),
    (
        "an array of one element is a number, whatever its axes",
        "docs/arrays.md", "whatever its shape",
        lambda text, got, want, found: text.startswith("float(") and "only 0-dimensional" in str(want),
    ),
    (
        "views of arrays in Fortran's order, as PyCUDA has them",
        "docs/arrays.md", "changes the length of the first axis",
        lambda text, got, want, found: ".view(" in text and "last axis must be contiguous" in str(want),
    ),
    (
        "a view begins at an address that the dtype can have",
        "docs/from/pycuda.md", "kernels read float64 at multiples of 8 bytes",
        lambda text, got, want, found: ".view(" in text and _says(got, "is not aligned"),
    ),
    (
        "of two errors one is raised",
        "docs/arrays.md", "Where a call has two errors",
        lambda text, got, want, found: isinstance(got, Exception) and isinstance(want, Exception) and (
            "read-only" in str(want)
            or "out of bounds for uint" in str(want)
            or _says(got, "Cannot cast array data", "out of bounds for uint")
        ),
    ),
    (
        "warnings follow from dtypes",
        "docs/arrays.md", "Warnings that would depend on values are not",
        lambda text, got, want, found: str(found).startswith("ComplexWarning"),
    ),
    (
        "out of range in a part of an array that has no elements",
        "docs/arrays.md", "also where no element is selected",
        lambda text, got, want, found: _says(got, "out of bounds") and bool(re.search("take|compress", text)),
    ),
    (
        "a number or a mask that does not fit, in an index with an array of none",
        "docs/arrays.md", "also where no element is selected",
        lambda text, got, want, found: _says(got, "is out of bounds for axis", "boolean axis is 0")
        and (want is None or getattr(want, "size", 1) == 0),
    ),
    (
        "an element is set to an array of one element",
        "docs/arrays.md", "takes a number or a 0-d array",
        lambda text, got, want, found: re.search(r"\[([-\d, ]+|\(\))\] = ", text) is not None
        and _says(got, "has the shape (1,)"),
    ),
    (
        "which of 0.0 and -0.0 is the result",
        "docs/arrays.md", "0.0 and -0.0 are equal",
        lambda text, got, want, found: re.search("max|min|clip|sort|nextafter", text) is not None
        and _values(found, lambda ours, numpys: ours == numpys),
    ),
    (
        "floats that an integer dtype cannot hold",
        "docs/arrays.md", "A float that an integer dtype cannot hold",
        lambda text, got, want, found: _values(
            found, lambda ours, numpys: _out_of_range(text, ours, numpys)
        ),
    ),
    (
        "half is rounded less often",
        "docs/arrays.md", "rounds each step",
        lambda text, got, want, found: re.search(
            r"cum|(add|subtract|multiply|hypot)2?\.(accumulate|reduce)|logaddexp|histogram", text
        ) is not None and _values(found, _rounded_less),
    ),
    (
        "powers of complex numbers that overflow, products with infinities",
        "docs/arrays.md", "so does overflow in long products",
        lambda text, got, want, found: re.search(r"\*\*|prod", text) is not None
        and _values(found, lambda ours, numpys: ~np.isfinite(ours) & ~np.isfinite(numpys)),
    ),
    (
        "an array is its own value",
        "docs/arrays.md", "the values are those before the call",
        lambda text, got, want, found: re.match(r"np.place\((\w+), \w+, \1\)", text) is not None,
    ),
    (
        "returns an empty array",
        "docs/arrays.md", "returns an empty array",
        lambda text, got, want, found: re.search(r"(quantile|percentile)\(\w+, \[\]", text) is not None
        and isinstance(want, IndexError) and not isinstance(got, Exception) and not got.size,
    ),
    (
        "the dtype of quantiles",
        "docs/arrays.md", "does not depend on values",
        lambda text, got, want, found: re.match(r"np.nan(quantile|percentile)", text) is not None
        and str(found).startswith("result: float64") and not np.isfinite(want).any(),
    ),
]  # fmt: skip

# (reason, test), as in KNOWN
FAULTS_OF_NUMPY = [
    (
        "NumPy 2.4 does not write most of 16 elements or more of an out= with gaps",
        lambda text, got, want, found: re.match(r"np.(isnan|isfinite|isinf|signbit)\(\w+, out=", text)
        is not None
        and isinstance(want, np.ndarray)
        and want.size >= 16
        and not want.flags.c_contiguous
        and found.pairs is not None,
    ),
    (
        "a broadcast operand of einsum is multiplied by the sum of the other: no NaN of inf - inf",
        lambda text, got, want, found: text.startswith("np.einsum(")
        and _values(found, lambda ours, numpys: np.isnan(ours) & np.isinf(numpys)),
    ),
    (
        "-inf to the power of 0.5 is a square root, NaN",
        lambda text, got, want, found: re.search(r"\*\*|power", text) is not None
        and _values(found, lambda ours, numpys: (ours == np.inf) & np.isnan(numpys)),
    ),
    (
        "zeros of the host take no memory before they are written",
        lambda text, got, want, found: isinstance(got, drv.MemoryError) and not isinstance(want, Exception),
    ),
]


def reason(text, got, want, difference):
    """The reason of the first row that explains a difference, or None."""
    for why, *_, test in KNOWN + FAULTS_OF_NUMPY:
        if test(text, got, want, difference):
            return why
    return None
