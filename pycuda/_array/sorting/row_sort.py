"""Rows of packed arrays sorted: by which kernels, in which memory."""

from __future__ import annotations

import numpy as np

from pycuda import _driver
from pycuda._array.core.memory import new
from pycuda._array.core.packed import packed_copy
from pycuda._kernels.builtin import sort as kernels
from pycuda._kernels.plans.axes import vector_width

_PASS_BLOCK, _DIGIT_BLOCK = (kernels.PASS_THREADS, 1, 1), (kernels.DIGITS, 1, 1)
# Bytes of the states of all passes, up to which each pass has its own and one memset clears them. Larger ones
# share memory, which is cleared before each pass.
_CLEARED_AT_ONCE = 1 << 25


_PART_ALIGNMENT = 16  # bytes: of the widest load of a kernel


class Parts:
    """New memory in parts of these sizes in bytes, which `parts` has as arrays of uint8."""

    def __init__(self, allocator, *sizes: int):
        self._starts = [0]
        for size in sizes:
            self._starts.append(self._starts[-1] + -(-size // _PART_ALIGNMENT) * _PART_ALIGNMENT)
        self._whole = new((self._starts[-1],), np.uint8, allocator)
        self.parts = [
            self._whole[start : start + size] for start, size in zip(self._starts[:-1], sizes, strict=True)
        ]

    def clear(self, count: int, stream) -> None:
        """Set the first `count` parts to 0."""
        _driver.memset_d32_async(self._whole, 0, self._starts[count] // 4, stream)


class Work:
    """A sort of the rows of arrays along the last axis. All arrays are packed.

    keys
        The array to sort.
    out : optional
        The array for the sorted keys; may be `keys`.
    values : optional
        An array whose elements are moved along with the keys. By default these are the indices of the keys in
        their row.
    values_out : optional
        The array for the moved values, of the dtype of `values`, or int64 for indices. None: no values are
        moved.
    passes : optional
        How many of the lowest bytes of the keys differ; by default all.
    stable
        Whether equal keys of different bits, such as zeros of both signs, keep their order. With `values_out`
        they always do.
    """

    def __init__(
        self, keys, out=None, values=None, values_out=None, *, descending=False, passes=None, stable=True
    ):
        self.keys, self.out, self.values, self.values_out = keys, out, values, values_out
        self.alone = values_out is None and not stable  # equal keys may be swapped
        self.length = keys.shape[-1]
        self.rows = keys.size // max(self.length, 1)
        order = kernels.order(keys.dtype, descending)
        self.order = order if passes is None else order._replace(passes=min(passes, order.passes))

    def run(self, stream=None, allocator=None) -> None:
        """Queue the kernels."""
        if self.keys.size == 0:
            return
        shape = kernels.row_shape(self.order, self.alone)
        if self.length <= shape.slots and self.values is None:
            out, places = (0 if each is None else each for each in (self.out, self.values_out))
            kernels.sort_rows(self.order, shape, self.keys, out, places, self.rows, self.length, stream)
        else:
            self._by_digits(stream, allocator or self.keys.allocator)

    # ---- long rows

    def _by_digits(self, stream, allocator) -> None:
        """Sorts long rows by a radix sort: counts all digits, then moves the keys and their values once for
        each byte.
        """
        itemsize, passes = self.keys.itemsize, self.order.passes
        carried = self._carried_dtype()
        moved = max(itemsize, carried.itemsize if carried is not None else 0)
        shape = kernels.pass_shape(self.rows, self.length, moved, carried is None)
        tiles = self.rows * shape.tiles
        width = 8 if shape.wide else 4
        state = tiles * kernels.DIGITS * width
        at_once = passes * state <= _CLEARED_AT_ONCE
        # Kernels get views of the memory, not addresses, so that the pool learns on which stream it is used.
        scratch = Parts(
            allocator,
            self.rows * passes * kernels.DIGITS * width,
            4 * passes,
            state * (passes if at_once else 1),
        )
        counts, counters, states = scratch.parts
        scratch.clear(3 if at_once else 2, stream)
        orders = kernels.pass_orders(self.order, self.alone)
        self._count(orders.given, counts, shape.wide, stream)
        keys = self._key_buffers(stream, allocator)
        values = self._value_buffers(carried, allocator)
        for number in range(passes):
            if at_once:
                states = scratch.parts[2][number * state :]
            else:
                _driver.memset_d32_async(states, 0, state // 4, stream)
            function = self._pass(orders, carried, number, shape)
            function.prepared_async_call(
                (tiles, 1), _PASS_BLOCK, stream, keys[number], keys[number + 1], values[number],
                values[number + 1], counts, states, counters[4 * number :],
                kernels.pass_plan(self.length, shape.tiles, number, passes),
            )  # fmt: skip

    def _count(self, order, counts, wide, stream) -> None:
        """Queue the kernels that count, for each byte of the keys, how often it has each value, and then make
        the counts running sums: where the keys with that byte begin.
        """
        keys = self.keys
        passes, device = self.order.passes, _driver.Context.get_device()
        max_shared = device.max_shared_memory_per_block_optin
        shape = kernels.count_shape(self.rows, self.length, passes, max_shared)
        vector = vector_width(keys, [(self.rows, self.length * keys.itemsize)])
        count, starts = kernels.counting(order, vector, wide, shape.threads, shape.copies)
        count.prepared_async_call(
            (self.rows * shape.splits, 1), (shape.threads, 1, 1), stream, keys, counts, self.length,
            shape.splits, shape.chunk, passes, shared_size=shape.shared(passes),
        )  # fmt: skip
        starts.prepared_async_call((self.rows * passes, 1), _DIGIT_BLOCK, stream, counts)

    def _carried_dtype(self):
        """The dtype of values while they are moved: indices are uint32 if the rows are short enough. None if
        no values are moved.
        """
        if self.values is not None:
            return self.values.dtype
        if self.values_out is None:
            return None
        return np.dtype(np.uint32 if self.length <= 1 << 32 else np.int64)

    def _pass(self, orders, carried, number, shape):
        """The kernel of one pass; carried: dtype of the values that move with the keys, or None."""
        last = number == self.order.passes - 1
        if carried is None:
            value = out = "NoValue"
        else:
            value = out = kernels.raw_value(carried)
            if last and carried != self.values_out.dtype:
                out = "long long"
        # The first pass converts keys to integers in their order, the last one converts them back.
        read, write = orders.first if number == 0 else "AsTheyAre", orders.last if last else "AsTheyAre"
        return kernels.radix_pass(
            orders.moved, value, out, shape.wide, shape.items, shape.resident, read, write
        )

    def _key_buffers(self, stream, allocator) -> list:
        """The array that each pass reads keys from, and the one that the last pass writes to; 0 for none."""
        passes, keys, out = self.order.passes, self.keys, self.out
        if out is None:
            buffers = [new(keys.shape, keys.dtype, allocator) for _ in range(min(passes - 1, 2))]
            return [keys, *(buffers[k % 2] for k in range(passes - 1)), 0]
        if passes % 2 and out._address == keys._address:
            keys = packed_copy(keys, stream, allocator)
        buffer = new(keys.shape, keys.dtype, allocator) if passes > 1 else None
        return [keys, *((out, buffer)[(passes - k) % 2] for k in range(1, passes + 1))]

    def _value_buffers(self, carried, allocator) -> list:
        """The array that each pass reads values from, and the one that the last pass writes to; 0 for
        none."""
        passes, out = self.order.passes, self.values_out
        first = 0 if self.values is None else self.values
        if out is None:
            return [first] + [0] * passes
        buffer = new(out.shape, carried, allocator) if passes > 1 else None
        return [first, *((out, buffer)[(passes - k) % 2] for k in range(1, passes + 1))]
