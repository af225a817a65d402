"""Differences that are meant: each has its reason and the words of the page in docs/ that says it.

A row is (reason, page, words of it, test). The test gets the text of the call, our result, NumPy's (or their
errors) and what was found different.
"""

import re


def _says(got, *words):
    return isinstance(got, Exception) and any(word in str(got) for word in words)


KNOWN = [
    (
        "a[0] is a view without axes, which operators in place change",
        "docs/arrays.md", "`a[0]` is an array without axes",
        lambda text, got, want, found: re.search(r"\[([-\d, ]+|\(\))\] \S+= ", text) is not None,
    ),
    (
        "norms of singular values need a factorisation",
        "docs/arrays.md", "what needs a factorisation",
        lambda text, got, want, found: _says(got, "singular values"),
    ),
    (
        "integers to negative powers, in an array",
        "docs/arrays.md", "Integers to negative integer powers",
        lambda text, got, want, found: "Integers to negative integer powers" in str(want),
    ),
    (
        "a strided array is made contiguous",
        "docs/from/pycuda.md", "a contiguous copy",
        lambda text, got, want, found: "reshape" in text and found.endswith(": no shared memory"),
    ),
    (
        "NumPy's ufunc.at writes to read-only arrays",
        "docs/arrays.md", "is read-only",
        lambda text, got, want, found: ".at(" in text and _says(got, "read-only"),
    ),
    (
        "an array of one element is a number, whatever its axes",
        "docs/arrays.md", "whatever its axes",
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
        "docs/arrays.md", "is read-only",
        lambda text, got, want, found: isinstance(got, Exception) and "read-only" in str(want),
    ),
    (
        "warnings follow from dtypes",
        "docs/arrays.md", "Warnings that would depend on values are not",
        lambda text, got, want, found: found.startswith("ComplexWarning"),
    ),
    (
        "out of range in a part of an array that has no elements",
        "docs/arrays.md", "also where no element is chosen",
        lambda text, got, want, found: _says(got, "out of bounds") and bool(re.search("take|compress", text)),
    ),
]  # fmt: skip


def reason(text, got, want, difference):
    """Why this difference is meant, or None."""
    for why, _, _, test in KNOWN:
        if test(text, got, want, difference):
            return why
    return None
