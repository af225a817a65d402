"""Elements of given ranks, found without sorting, and partitions about them."""

from __future__ import annotations

from pycuda._array.core.memory import new
from pycuda._array.sorting.row_sort import Parts
from pycuda._kernels.builtin import elements
from pycuda._kernels.builtin import rank as kernels
from pycuda._kernels.builtin.sort import order
from pycuda._kernels.plans.axes import ceil_div, vector_width

# A search finds MAX_RANKS ranks; for ranks that would take more than 4 searches rows are sorted.
_MAX_SEARCHED = 4 * kernels.MAX_RANKS
# The second axis of a grid, of which this is CUDA's limit, counts the rows.
_MAX_ROWS = (1 << 16) - 1
# Bytes of the state of a tile of the partition kernel.
_TILE_STATE_BYTES = 16


def can_find(rows, count: int) -> bool:
    """Whether the elements of `count` ranks of each row, along the last axis, are found by counting, not by
    sorting."""
    length = rows.shape[-1]
    return (
        elements.kind(rows.dtype) in "if"
        and kernels.MIN_LENGTH <= length <= kernels.LONGEST
        and 0 < count <= _MAX_SEARCHED
        and 0 < rows.size // length <= _MAX_ROWS
    )


def _find_group(keys, ranks, stream, allocator):
    """(found, states) for at most kernels.MAX_RANKS ranks in packed rows. found: for each row the elements of
    these ranks, then NaN if the row has one, otherwise any number. states: struct RankState of each row."""
    length, itemsize = keys.shape[-1], keys.itemsize
    rows = keys.size // length
    out = new((*keys.shape[:-1], len(ranks) + 1), keys.dtype, allocator)
    scratch = Parts(
        allocator, rows * kernels.state_bytes(itemsize), rows * kernels.COUNT_BYTES, length * rows * itemsize
    )
    states, counts, copies = scratch.parts
    scratch.clear(2, stream)  # states and counts
    vector = vector_width(keys, [(rows, length * itemsize)])
    source = keys
    for number, plan in enumerate(kernels.plans(length, ranks, itemsize)):
        function = kernels.find_ranks(order(keys.dtype), min(number, 2), vector if number < 2 else 1)
        function.prepared_async_call(
            kernels.find_grid(rows, length, vector), (kernels.THREADS, 1, 1), stream, source, copies, states,
            counts, out, plan,
        )  # fmt: skip
        source = keys if number == 0 else copies
    return out, states


def find_ranks(keys, ranks):
    """The elements of these ranks in packed rows, an array for each group of kernels.MAX_RANKS ranks. After
    the elements of a row there is NaN if the row has one, otherwise any number."""
    groups = [ranks[start : start + kernels.MAX_RANKS] for start in range(0, len(ranks), kernels.MAX_RANKS)]
    return [_find_group(keys, group, None, keys.allocator)[0] for group in groups]


def partition_rows(keys, rank: int, out, stream=None, allocator=None) -> None:
    """Write packed rows, partitioned about their element of this rank, to `out`, which is other memory."""
    allocator = allocator or keys.allocator
    length = keys.shape[-1]
    rows = keys.size // length
    found = _find_group(keys, [rank], stream, allocator)[1]
    tiles = ceil_div(length, kernels.PARTITION_THREADS * kernels.PARTITION_ITEMS)
    scratch = Parts(allocator, _TILE_STATE_BYTES * tiles * rows, 4)
    states, counter = scratch.parts
    scratch.clear(2, stream)
    kernels.partition_kernel(order(keys.dtype)).prepared_async_call(
        (tiles * rows, 1), (kernels.PARTITION_THREADS, 1, 1), stream, keys, out, found, states, counter,
        length, tiles,
    )  # fmt: skip
