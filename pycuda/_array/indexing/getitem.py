"""Indexing with arrays of numbers and of truths, and assignment to any index, as NumPy has them.

Of numbers that occur twice in an assignment one wins, it is not said which. Indices that are on the device
are checked there: see pycuda._array.indexing.gather.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pycuda._array.core import captures
from pycuda._array.core.memory import check_writable, new, overlap
from pycuda._array.core.operands import fit, is_number
from pycuda._array.indexing.gather import (
    MODES,
    Numbers,
    broadcast_strides,
    combined,
    gather,
    gathers,
    host_numbers,
    on_device,
    pick,
)
from pycuda._array.indexing.mask import coordinates_of_true, offsets_of_true, pick_true
from pycuda._array.reduction.reduce import normalized_axes
from pycuda._driver import GPUArray
from pycuda._kernels.builtin import elements

if TYPE_CHECKING:
    from pycuda._array.core.types import Array, HostOrDevice, Stream

_BAD_ITEM = "an index is an integer, a slice, ..., None, or an array of integers or truths"


class _Index(NamedTuple):
    """An index read: a view made by its slices and integers, and what picks along axes of that."""

    view: GPUArray
    picked: list  # ((axes of the view), array of numbers or truths)
    place: int  # the axis of the result where the axes of the arrays are


def _read_item(item):
    """Slices, None, ... as they are; integers as int; anything else as an array of integers or truths."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, bool | np.bool_):
        return np.asarray(item)
    if not isinstance(item, GPUArray):
        if isinstance(item, int | np.integer) or (
            hasattr(item, "__index__") and not hasattr(item, "__array__")
        ):
            return operator.index(item)
        if isinstance(item, str | bytes | float | complex):
            raise IndexError(f"{_BAD_ITEM}, not {type(item).__name__}")
        item = np.asarray(item)
        item = item.astype(np.intp) if item.size == 0 and item.dtype == np.float64 else item
    if item.dtype.kind == "U":
        raise IndexError("fields are views one by one: a list of names is no index")
    if item.dtype.kind not in "biu":
        raise IndexError(f"{_BAD_ITEM}, not one of {item.dtype}")
    return item


def _axes_taken(item) -> int:
    if item is None or item is Ellipsis:
        return 0
    is_mask = isinstance(item, GPUArray | np.ndarray) and item.dtype.kind == "b"
    return item.ndim if is_mask else 1


def _completed(items, ndim: int) -> list:
    """The items with slices in place of the ellipsis, or after the last. One that stands for no axis stays:
    it parts arrays as slices do.
    """
    taken = sum(map(_axes_taken, items))
    dots = [position for position, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index has one ellipsis at most")
    if taken > ndim:
        raise IndexError(f"too many indices: the array has {ndim} axes, {taken} were indexed")
    at = dots[0] if dots else len(items)
    slices = [slice(None)] * (ndim - taken)
    return [*items[:at], *(slices or items[at : at + 1]), *items[at + 1 :]]


def _read(a, index) -> _Index:
    items = _completed(
        [_read_item(item) for item in (index if isinstance(index, tuple) else (index,))], a.ndim
    )
    basic, picked, axis, outside = [], [], 0, 0
    place, gaps, last = None, 0, None
    for position, item in enumerate(items):
        if item is Ellipsis:
            continue
        if item is None or isinstance(item, slice):
            basic.append(item)
            axis, outside = axis + 1, outside + 1
            continue
        # Integers count as arrays here: whether all stand together says where the axes of arrays go.
        if last is not None and position != last + 1:
            gaps += 1
        place, last = outside if place is None else place, position
        if isinstance(item, int):
            basic.append(item)
            continue
        if item.dtype.kind == "b" and item.ndim == 0:
            # One truth is an axis of length 1 or 0.
            basic.append(None)
            truth = bool(item.get() if isinstance(item, GPUArray) else item)
            picked.append(((axis,), np.zeros(int(truth), np.intp)))
            axis += 1
            continue
        taken = _axes_taken(item)
        basic += [slice(None)] * taken
        picked.append((tuple(range(axis, axis + taken)), item))
        axis += taken
    return _Index(a[tuple(basic)], picked, 0 if gaps else place or 0)


def _check_mask(mask, view, axes) -> None:
    for number, axis in enumerate(axes):
        if mask.shape[number] != view.shape[axis]:
            raise IndexError(
                f"a mask of length {mask.shape[number]} along an axis of length {view.shape[axis]}"
            )


def _parts(read: _Index, stream) -> tuple[list[Numbers], tuple[int, ...]]:
    """The arrays of an index as numbers on the device, and the shape that they broadcast to."""
    view, parts, host = read.view, [], []
    for axes, item in read.picked:
        strides = [view.strides[axis] for axis in axes]
        if item.dtype.kind == "b":
            _check_mask(item, view, axes)
        if isinstance(item, GPUArray):
            if item.dtype.kind == "b":
                parts.append(Numbers(offsets_of_true(item, strides, stream), "OFFSET"))
            else:
                parts.append(Numbers(item, "RAISE", view.shape[axes[0]], strides[0]))
        else:
            found = np.nonzero(item) if item.dtype.kind == "b" else [item]
            for number, axis, stride in zip(found, axes, strides, strict=True):
                host.append(host_numbers(number, view.shape[axis], "RAISE") * stride)
    try:
        shape = np.broadcast_shapes(*(part.array.shape for part in parts), *(each.shape for each in host))
        offsets = sum(host[1:], host[0]) if host else None
    except ValueError:
        shapes = [part.array.shape for part in parts] + [each.shape for each in host]
        if fit(*shapes):
            raise
        raise IndexError(f"arrays of an index do not broadcast together: {shapes}") from None
    if offsets is not None:
        parts.append(Numbers(on_device(offsets, stream), "OFFSET"))
    return parts, shape


class _Target(NamedTuple):
    """What an index with arrays stands for."""

    view: GPUArray
    numbers: Numbers
    shape: tuple[int, ...]
    strides: tuple[tuple[int, int], ...]  # of each axis of the shape: in the view, in the numbers

    def axes(self, other):
        """For pick: with the strides of an array of this shape, or that broadcasts to it."""
        steps = broadcast_strides(other, self.shape)
        return [
            (length, *strides, step)
            for length, strides, step in zip(self.shape, self.strides, steps, strict=True)
        ]


def _target(a, index, stream=None, write=False) -> _Target:
    read = _read(a, index)
    parts, shape = _parts(read, stream)
    numbers = combined(parts, shape, stream, write)
    used = {axis for axes, _ in read.picked for axis in axes}
    view = read.view
    kept = [(view.shape[axis], (view.strides[axis], 0)) for axis in range(view.ndim) if axis not in used]
    steps = broadcast_strides(numbers.array, shape)
    middle = [(length, (0, step)) for length, step in zip(shape, steps, strict=True)]
    whole = kept[: read.place] + middle + kept[read.place :]
    return _Target(view, numbers, tuple(each[0] for each in whole), tuple(each[1] for each in whole))


def _fits_whole(mask, a) -> bool:
    """Whether a mask chooses single elements, which a kernel may take as they lie."""
    aligned = a.size and a._address % min(a.itemsize & -a.itemsize, 8) == 0
    return bool(aligned) and mask.shape == a.shape and a.ndim > 0 and a.flags.c_contiguous


def getitem(a, index) -> GPUArray:
    """a[index] for an index with arrays: a new array."""
    if gathers(a, index) and index.dtype.kind in "iu":
        return gather(a, index, allocator=a.allocator)
    mask = index[0] if isinstance(index, tuple) and len(index) == 1 else index
    if isinstance(mask, GPUArray) and mask.dtype.kind == "b" and _fits_whole(mask, a):
        return pick_true(a, mask)
    target = _target(a, index)
    result = new(target.shape, a.dtype, a.allocator)
    pick(target.view, target.numbers, target.axes(result), result)
    return result


# ---- assignment


def _as_scalar(value, dtype):
    """A number of this dtype for anything that is one on the host; None for the rest."""
    if isinstance(value, GPUArray):
        return None
    host = np.asarray(value)
    return np.asarray(value, dtype=dtype).reshape(())[()] if host.size == 1 else None


def _check_broadcast(shape, to) -> tuple[int, ...]:
    """The shape without needless leading axes. ValueError when it does not broadcast."""
    extra = max(len(shape) - len(to), 0)
    short = shape[extra:]
    if math.prod(shape[:extra]) != 1 or any(
        length not in (1, wanted) for length, wanted in zip(short[::-1], to[::-1], strict=False)
    ):
        raise ValueError(f"values of shape {shape} do not broadcast to {to}")
    return short


def _values_for(value, a, shape, stream=None) -> GPUArray:
    """The value as an array of the dtype of `a` which broadcasts to the shape and does not lie in `a`."""
    from pycuda._array.core.elementwise import apply

    if not isinstance(value, GPUArray):
        host = np.asarray(value)
        host = host if host.dtype == a.dtype else np.asarray(value, dtype=a.dtype)
        return on_device(host.reshape(_check_broadcast(host.shape, shape)), stream)
    short = _check_broadcast(value.shape, shape)
    if value.dtype != a.dtype or overlap(value, a):
        value = apply(
            "copy", value, out=new(value.shape, a.dtype, a.allocator), stream=stream, casting="unsafe"
        )
    return value if value.shape == short else value.reshape(short)


def assign(view, value, stream=None) -> None:
    """Every element of a view, of any strides, from a number or an array that broadcasts to it."""
    from pycuda._array.core.elementwise import apply

    if view.dtype.names and not isinstance(value, GPUArray):
        value = np.asarray(value, view.dtype)  # tuples are elements
    number = _as_scalar(value, view.dtype)
    if number is None:
        shape = value.shape if isinstance(value, GPUArray) else np.shape(value)
        short = _check_broadcast(shape, view.shape)
        if not isinstance(value, GPUArray):
            host = np.asarray(value)
            host = (host if host.dtype == view.dtype else np.asarray(value, dtype=view.dtype)).reshape(short)
            if short == view.shape and view.flags.forc and not captures.is_captured(stream):
                return view.set(host, stream=stream) if view.size else None
            value = on_device(host, stream)
        elif value.shape != short:
            value = value.reshape(short)
    if view.size == 0:
        return check_writable(view)
    if elements.kind(view.dtype) == "V":
        return _assign_raw(view, value if number is None else on_device(np.asarray(number)), stream)
    apply("copy", value if number is None else number, out=view, stream=stream, casting="unsafe")
    return None


def _assign_raw(view, value, stream) -> None:
    """Elements that kernels only move."""
    if value.dtype != view.dtype:
        raise TypeError(f"elements of {value.dtype} do not become {view.dtype}")
    steps = broadcast_strides(value, view.shape)
    axes = [
        (length, stride, 0, step)
        for length, stride, step in zip(view.shape, view.strides, steps, strict=True)
    ]
    zero = on_device(np.zeros((), np.int64), stream)
    pick(view, Numbers(zero, "OFFSET"), axes, value, True, stream)


def _assign_masked(a, index, value) -> bool:
    """a[mask] = number, without asking how many are true. False for anything else."""
    from pycuda._array.core.elementwise import apply

    mask = index[0] if isinstance(index, tuple) and len(index) == 1 else index
    if not isinstance(mask, GPUArray) or mask.dtype.kind != "b" or not 0 < mask.ndim <= a.ndim:
        return False
    number = _as_scalar(value, a.dtype)
    if number is None or elements.kind(a.dtype) == "V":
        return False
    _check_mask(mask, a, range(mask.ndim))
    check_writable(a)
    if a.size:
        mask = mask.reshape(mask.shape + (1,) * (a.ndim - mask.ndim))
        apply("where", mask, number, a, out=a)
    return True


def _refuse_sequence(a, items, value) -> None:
    """ValueError for anything with axes that is assigned to one element, which integers alone name."""
    if is_number(value) or len(items) != a.ndim or a.dtype.names or not all(map(_is_integer, items)):
        return
    if np.ndim(value):
        raise ValueError(
            f"one element is set, and the value has the shape {np.shape(value)}: setting an array element "
            "with a sequence. value[0] is an element, a[0, ...] = value sets a view"
        )


def setitem(a, index, value) -> None:
    """a[index] = value."""
    if isinstance(index, str):
        return assign(a[index], value)
    items = index if isinstance(index, tuple) else (index,)
    if not any(_is_array_item(item) for item in items):
        view = a[index]
        _refuse_sequence(a, items, value)
        assign(view, value)
    elif not _assign_masked(a, index, value):
        check_writable(a)
        target = _target(a, index, write=True)
        values = _values_for(value, a, target.shape)
        pick(target.view, target.numbers, target.axes(values), values, True)


def _is_integer(item) -> bool:
    return isinstance(item, int | np.integer) and not isinstance(item, bool)


def _is_array_item(item) -> bool:
    return not (item is None or item is Ellipsis or isinstance(item, slice) or _is_integer(item))


# ---- functions


def _numbers(indices) -> GPUArray | np.ndarray:
    if not isinstance(indices, GPUArray):
        indices = np.asarray(indices)
        indices = indices.astype(np.intp) if indices.size == 0 else indices
    if indices.dtype.kind not in "iu":
        raise TypeError(f"indices are integers, not {indices.dtype}")
    return indices


def _read_mode(mode: str) -> str:
    try:
        return MODES[mode]
    except KeyError:
        raise ValueError(f"mode is {mode!r}: it may be raise, wrap or clip") from None


def _along(indices, length: int, step: int, mode: str, stream) -> Numbers:
    """Indices along an axis of this length and stride as numbers on the device."""
    if length == 0 and indices.size:
        raise IndexError("cannot take elements from an axis of length 0")
    if isinstance(indices, GPUArray):
        return Numbers(indices, mode, length, step)
    return Numbers(on_device(host_numbers(indices, length, mode) * step, stream), "OFFSET")


def _into(result, out, stream):
    from pycuda._array.core.memory import write_back

    if not isinstance(out, GPUArray):
        raise TypeError(f"out is a GPUArray, not {type(out).__name__}")
    if out.shape != result.shape:
        raise ValueError(f"out has the shape {out.shape}, the result has {result.shape}")
    return write_back(result, out, stream)


def take(self, indices, axis=None, out=None, mode="raise", *, stream=None, allocator=None) -> GPUArray:
    """Elements by number along an axis, or of the flattened array, as numpy.take."""
    indices, mode = _numbers(indices), _read_mode(mode)
    if axis is None or self.ndim == 0:
        self, axis = self.ravel(), axis or 0
    (axis,) = normalized_axes(operator.index(axis), self.ndim)
    if out is None and gathers(self, indices):
        return gather(self, indices, mode, stream=stream, allocator=allocator or self.allocator)
    numbers = _along(indices, self.shape[axis], self.strides[axis], mode, stream)
    shape = (*self.shape[:axis], *indices.shape, *self.shape[axis + 1 :])
    if isinstance(out, GPUArray):
        check_writable(out)
    # Numbers that are checked while elements are moved leave out as it is where one is wrong.
    checked = numbers.mode != "RAISE"
    fits = checked and isinstance(out, GPUArray) and out.shape == shape and out.dtype == self.dtype
    direct = fits and not overlap(out, self) and not overlap(out, numbers.array)
    result = out if direct else new(shape, self.dtype, allocator or self.allocator)
    kept = [(stride, 0) for stride in self.strides]
    strides = [*kept[:axis], *((0, step) for step in numbers.array.strides), *kept[axis + 1 :]]
    axes = [(length, *pair, step) for length, pair, step in zip(shape, strides, result.strides, strict=True)]
    pick(self, numbers, axes, result, False, stream)
    return result if direct or out is None else _into(result, out, stream)


def _values_along(a, indices, axis):
    """For the functions _along_axis: (a and indices, axis), flattened where axis is None."""
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("without an axis the indices have one axis")
        return a.ravel(), 0
    (axis,) = normalized_axes(operator.index(axis), a.ndim)
    if indices.ndim != a.ndim:
        raise ValueError(f"indices have {indices.ndim} axes, the array has {a.ndim}")
    return a, axis


def take_along_axis(
    a: Array, indices: HostOrDevice, axis: int | None = -1, *, mode: str = "raise", stream: Stream = None
) -> GPUArray:
    """The elements along an axis whose numbers are in `indices`, as numpy.take_along_axis: one array of
    numbers for each place along the other axes. mode as for take().
    """
    indices, mode = _numbers(indices), _read_mode(mode)
    a, axis = _values_along(a, indices, axis)
    others = np.broadcast_shapes(
        *(
            tuple(1 if each == axis else n for each, n in enumerate(shape))
            for shape in (a.shape, indices.shape)
        )
    )
    shape = tuple(indices.shape[axis] if each == axis else n for each, n in enumerate(others))
    numbers = _along(indices, a.shape[axis], a.strides[axis], mode, stream)
    result = new(shape, a.dtype, a.allocator)
    steps, places = broadcast_strides(a, shape), broadcast_strides(numbers.array, shape)
    axes = [
        (n, 0 if each == axis else steps[each], places[each], result.strides[each])
        for each, n in enumerate(shape)
    ]
    pick(a, numbers, axes, result, False, stream)
    return result


def put(
    self: Array, indices: HostOrDevice, values: Any, mode: str = "raise", *, stream: Stream = None
) -> None:
    """self.ravel()[indices] = values, values repeated as needed, as numpy.put. In place for any strides."""
    from pycuda._array.core.elementwise import apply

    check_writable(self)
    indices = _numbers(indices)
    if not isinstance(values, GPUArray):
        values = np.asarray(values, self.dtype)
    if indices.size == 0 or values.size == 0:
        return
    flat = self if self.ndim == 1 else self.ravel()
    numbers = _along(indices.reshape(-1), flat.size, flat.strides[0], _read_mode(mode), stream)
    values = values.reshape(-1)
    if values.size not in (1, indices.size):
        repeated = np.arange(indices.size) % values.size
        values = take(values, repeated, stream=stream) if isinstance(values, GPUArray) else values[repeated]
    values = _values_for(values, flat, (indices.size,), stream)
    numbers = combined([numbers], (indices.size,), stream, write=True)
    step = 0 if values.size == 1 else values.strides[0]
    pick(flat, numbers, [(indices.size, 0, numbers.array.strides[0], step)], values, True, stream)
    if not overlap(flat, self):
        apply("copy", flat.reshape(self.shape), out=self, stream=stream)


def nonzero(a: Array, *, stream: Stream = None) -> tuple[GPUArray, ...]:
    """The indices of the elements that are not 0, one array of int64 for each axis, as numpy.nonzero."""
    if a.ndim == 0:
        raise ValueError("an array without axes has no indices: use a.reshape(1)")
    return coordinates_of_true(a, stream)


def compress(self, condition, axis=None, out=None, *, stream=None) -> GPUArray:
    """The elements along an axis where the condition is true, as numpy.compress."""
    condition = condition if isinstance(condition, GPUArray) else np.asarray(condition)
    if condition.ndim != 1:
        raise ValueError("the condition has one axis")
    if isinstance(condition, GPUArray) and out is None and (axis is None or self.ndim == 1):
        flat = self.ravel()
        if _fits_whole(condition, flat):
            normalized_axes(operator.index(axis or 0), 1)
            return pick_true(flat, condition, stream, what="compress()")
    if isinstance(condition, GPUArray):
        (numbers,) = coordinates_of_true(condition, stream, what="compress()")
    else:
        (numbers,) = np.nonzero(condition)
    return take(self, numbers, axis, out, stream=stream)
