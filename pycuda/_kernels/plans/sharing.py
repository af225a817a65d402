"""Arrays of one call that share memory, some of which the kernel writes to.

If two arguments are the same array, and the text uses both as x[i], nothing needs to be done: the thread that
writes element i is the one that has read it. Otherwise the result would depend on the order of threads. An
array that is only read is then copied before the launch, so that all reads see the old values. Two arrays
that are written are refused, unless conditions in the text may keep the accesses apart. Arrays whose
addresses the text takes are passed unchecked, as in PyCUDA.
"""

from __future__ import annotations

from typing import NamedTuple

from pycuda._driver import _share_memory


class Vector(NamedTuple):
    """A vector argument of a call."""

    name: str
    use: object  # how the text uses it: parsing.Use
    array: object
    linear: bool  # whether element i is found i elements after the first

    def limits(self, indices: range) -> tuple[int, int]:
        """(the first element that the kernel accesses, the one after the last), for these values of i."""
        if not (self.linear and self.use.indexed):
            return 0, self.array.size
        low, high = min(indices[0], indices[-1]), max(indices[0], indices[-1]) + 1
        return max(low, 0), min(high, self.array.size)


class Sharing(NamedTuple):
    """How the vectors of a call share memory."""

    # For each vector the number of the first vector that is the same array; None if two vectors share memory
    # in another way and one of them is written.
    same: tuple[int, ...] | None
    # The vectors to copy before the launch: (number of the vector, how many of its first elements, None for
    # all).
    copies: tuple[tuple[int, int | None], ...]


def _flat_view(array):
    """The elements of a contiguous array in the order of memory, as a view of one axis."""
    return (array if array.flags.c_contiguous else array.T).reshape(-1)


def copy(array, count: int | None, stream):
    """A copy of the array, or of its first elements."""
    return (array if count is None else _flat_view(array)[:count]).copy(stream=stream)


def check_written(vector: Vector) -> None:
    """ValueError if the array is written to and several of its elements share memory."""
    use = vector.use
    if use.stored and use.subscripted and _share_memory(vector.array, None):
        raise ValueError(
            f"several elements of the argument {vector.name!r} share memory: it cannot be written to"
        )


def _accessed_part(vector: Vector, indices: range):
    """The part of the array that the kernel accesses, as an array. None if it accesses nothing."""
    low, high = vector.limits(indices)
    if high <= low:
        return None
    return vector.array if high - low == vector.array.size else _flat_view(vector.array)[low:high]


def _are_one(a: Vector, b: Vector) -> bool:
    """Whether element i of `a` and element i of `b` are the same memory, for every i."""
    if a.array._address != b.array._address or a.array.itemsize != b.array.itemsize:
        return False
    alike = a.array.shape == b.array.shape and a.array.strides == b.array.strides
    return (a.linear and b.linear) or (alike and not a.linear and not b.linear)


def _read_only(use) -> bool:
    return use.subscripted and not use.written


def _are_written_by_all(a, b, conditional: bool) -> bool:
    """Whether the kernel writes to both vectors at every index."""
    certain = (a.assigned and b.assigned) or not conditional
    return certain and a.indexed and b.indexed and a.stored and b.stored


def _to_copy(vectors, j: int, k: int, conditional: bool) -> set[int]:
    """Which of two vectors that share memory is to be copied: {the number of one that is only read}. An empty
    set if both are written, but conditions in the text may keep the accesses apart; otherwise ValueError."""
    a, b = vectors[j], vectors[k]
    if _read_only(a.use):
        return {j}
    if _read_only(b.use):
        return {k}
    if _are_written_by_all(a.use, b.use, conditional):
        raise ValueError(
            f"the arguments {a.name!r} and {b.name!r} share memory, other than element by element, and both "
            "are written to"
        )
    return set()


def find_shared_memory(vectors: list[Vector], indices: range, conditional: bool) -> Sharing:
    """How the vectors of a call share memory. indices: the values of i, at least one. conditional: whether
    the text has conditions. ValueError if two vectors that share memory are both written at every index.
    """
    parts = [_accessed_part(vector, indices) for vector in vectors]
    same, copies, disjoint = list(range(len(vectors))), set(), True
    for k, b in enumerate(vectors):
        for j, a in enumerate(vectors[:k]):
            if parts[j] is None or parts[k] is None or not _share_memory(parts[j], parts[k]):
                continue
            is_same = _are_one(a, b)
            if is_same and a.array.dtype == b.array.dtype:
                same[k] = min(same[k], same[j])
            elif a.use.written or b.use.written:
                disjoint = False
                copies |= set() if is_same else _to_copy(vectors, j, k, conditional)
    return Sharing(
        tuple(same) if disjoint else None,
        tuple((k, _accessed_count(vectors[k], indices)) for k in sorted(copies)),
    )


def _accessed_count(vector: Vector, indices: range) -> int | None:
    """How many of the vector's first elements hold everything that the kernel accesses; None for all."""
    _, high = vector.limits(indices)
    return high if high < vector.array.size else None
