"""The memory layout of the vectors of one call, and its description for a kernel.

The first vector gives the number of elements. Vectors that are all C-contiguous, or all F-contiguous, are
walked in the order of memory: the kernel gets plain pointers, as PyCUDA passes them. Any others are walked in
C order: element i of each is found through strides, and one with fewer elements that is only read as x[i] is
broadcast, as by NumPy. If the value of i does not matter, vectors with strides are walked in the order of
memory.
"""

from __future__ import annotations

import math
import struct
from functools import lru_cache
from typing import NamedTuple

from pycuda._driver import _collapse_axes, _divider
from pycuda._kernels.plans.axes import broadcast_strides, broadcasts
from pycuda.compyte.array import is_c_contiguous_strides, is_f_contiguous_strides

# Fewer elements than this are counted in 32 bits.
_NARROW = 2**31


class Operand(NamedTuple):
    """A vector of a call: its name, how it is used (user.Use), its form."""

    name: str
    use: object
    shape: tuple
    strides: tuple
    itemsize: int

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class Walk(NamedTuple):
    """How a kernel finds the elements of a call.

    signature is what the kernel's source depends on: whether indices need 64 bits; the number of axes of each
    group of vectors that share a shape; and for each vector the number of its group, or None for a plain
    pointer. geometry is the kernel's argument that describes the groups; b"" if all vectors are plain
    pointers.
    """

    size: int
    signature: tuple
    geometry: bytes

    @property
    def plain(self) -> bool:
        return not self.geometry


_PLAIN = (False, (), ())


@lru_cache(1024)
def _contiguous(shape, strides, itemsize) -> tuple[bool, bool]:
    """Whether C-contiguous, whether F-contiguous."""
    return (
        is_c_contiguous_strides(strides, itemsize, shape),
        is_f_contiguous_strides(strides, itemsize, shape),
    )


def _operand_form(operand: Operand) -> tuple[bool, bool]:
    return _contiguous(operand.shape, operand.strides, operand.itemsize)


def is_broadcast(operand: Operand, shape) -> bool:
    """Whether a shorter operand is broadcast to this shape: it is only read, at an index."""
    return operand.use.indexed and not operand.use.written and broadcasts(operand.shape, shape)


def _broadcast_or_none(operand: Operand, first: Operand, guarded: bool):
    """Strides by which an operand with fewer elements than the first one is broadcast. None if it cannot be,
    but may be short: `guarded` (a condition of the user's may keep i within it), or it is not used as x[i].
    Otherwise ValueError.
    """
    strides = broadcast_strides(operand, first.shape) if is_broadcast(operand, first.shape) else None
    if strides is None and operand.use.indexed and not guarded:
        reason = "it is written" if operand.use.written else "it does not broadcast"
        raise ValueError(
            f"the argument {operand.name!r} has shape {operand.shape}, the first vector {first.name!r} "
            f"{first.shape}: the kernel goes through all {first.size} elements, and {reason}"
        )
    return strides


def merge(shape, strides, sort=False):
    """(lengths, strides of each vector) of the fewest axes with the same order of elements. sort: the order
    of elements is that of memory. strides: a tuple for each vector.
    """
    axes, _ = _collapse_axes(list(zip(shape, *strides, strict=True)), len(strides), sort)
    lengths, *steps = zip(*axes, strict=True)
    return lengths, steps


def divider(length: int) -> tuple[int, int]:
    """(magic, shift) so that for k < 2^31: k / length == (((k * magic) >> 32) + k) >> shift. (0, 0) for a
    length of _NARROW or more, by which kernels divide in 64 bits.
    """
    return _divider(length) if 0 < length < _NARROW else (0, 0)


class _Groups:
    """Groups of vectors, each of which shares the axes along which its vectors are walked."""

    def __init__(self):
        self.axes: list[int] = []  # the number of axes of each group
        self.numbers: list[int] = []  # for each axis of each group: length, magic, shift
        self.of: dict[int, int] = {}  # the group of each vector, by its position
        self.steps: dict[int, tuple[int, ...]] = {}  # the strides of each vector
        self.wide = False  # whether indices need 64 bits

    def add(self, lengths, members, steps) -> None:
        """Add a group: of the vectors at the positions `members`, with these lengths of (merged) axes and, in
        `steps`, each vector's strides."""
        self.wide = self.wide or math.prod(lengths) >= _NARROW
        for length in lengths:
            self.numbers += [length, *divider(length)]
        for position, own in zip(members, steps, strict=True):
            self.of[position] = len(self.axes)
            self.steps[position] = own
        self.axes.append(len(lengths))

    def walk(self, size: int, count: int) -> Walk:
        """The Walk of `count` vectors."""
        if not self.axes:
            return Walk(size, _PLAIN, b"")
        numbers = self.numbers + [step for position in sorted(self.of) for step in self.steps[position]]
        numbers += [0] * (len(numbers) % 2)  # a multiple of 16 bytes, which is the structure's alignment
        signature = self.wide, tuple(self.axes), tuple(self.of.get(position) for position in range(count))
        return Walk(size, signature, struct.pack(f"{len(numbers)}q", *numbers))


def geometry_bytes(signature) -> int:
    """Bytes of the geometry of Walks with this signature."""
    _, axes, groups = signature
    numbers = 3 * sum(axes) + sum(axes[group] for group in groups if group is not None)
    return 8 * (numbers + numbers % 2)


def _check_pointer(operand: Operand, forms) -> None:
    """RuntimeError if the text uses the operand as a pointer and it is not C-contiguous. forms:
    _operand_form()."""
    if not operand.use.subscripted and not forms[0]:
        raise RuntimeError(
            f"the argument {operand.name!r} is used as a pointer, or its elements' addresses are: for "
            "that the arrays must be contiguous, all in the same order"
        )


def arrange(operands, *, order_free=False, guarded=False, plain_only=False) -> Walk:
    """The Walk for these operands, the first of which gives the number of elements.

    order_free: the value of i does not matter. guarded: the text may keep i within a shorter vector.
    plain_only: the kernel takes nothing but pointers. ValueError when a vector is too short, RuntimeError
    when it would have to be contiguous.
    """
    first, size = operands[0], operands[0].size
    forms = [_operand_form(operand) for operand in operands]
    spread = {}
    for position, operand in enumerate(operands):
        if operand.size < size:
            strides = _broadcast_or_none(operand, first, guarded)
            if strides is not None:
                spread[position] = strides
    if not spread and (all(c for c, _ in forms) or all(f for _, f in forms)):
        return Walk(size, _PLAIN, b"")
    if plain_only:
        raise RuntimeError(
            "only contiguous arrays of one order and shape can be used: the preamble declares variables of "
            "the module, and another layout would need another module"
        )
    return _walk_with_strides(operands, forms, spread, order_free)


def _walk_with_strides(operands, forms, spread, order_free) -> Walk:
    """The Walk over operands that are not all plain. spread: the strides of broadcast operands, by
    position."""
    first, groups = operands[0], _Groups()
    # The strides of the operands that are walked together, in one group, by position.
    together = {
        position: spread.get(position, operand.strides)
        for position, operand in enumerate(operands)
        if position in spread or (operand.shape == first.shape and operand.use.subscripted)
    }
    # Whether elements may be walked in the order of memory.
    free = (
        order_free
        and len(together) == len(operands)
        and all(operand.use.indexed for operand in operands)
        and not any(c for position, (c, _) in enumerate(forms) if position not in spread)
    )
    if not free:
        for position, operand in enumerate(operands):
            _check_pointer(operand, forms[position])
            if forms[position][0] and position not in spread:
                together.pop(position, None)
    if together:
        lengths, steps = merge(first.shape, list(together.values()), sort=free)
        dense = [(operands[position].itemsize,) for position in together]
        if free and steps == dense:
            return Walk(first.size, _PLAIN, b"")
        groups.add(lengths, together, steps)
    for position, operand in enumerate(operands):
        if position not in together and not forms[position][0]:
            lengths, steps = merge(operand.shape, [operand.strides])
            groups.add(lengths, [position], steps)
    return groups.walk(first.size, len(operands))
