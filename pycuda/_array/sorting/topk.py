"""Top-k by the kernels of pycuda._kernels.builtin.topk: the first k elements of long rows, for small k."""

from __future__ import annotations

import numpy as np

from pycuda._array.core.memory import new
from pycuda._array.sorting.row_sort import Parts
from pycuda._kernels.builtin import sort
from pycuda._kernels.builtin import topk as kernels
from pycuda._kernels.plans.axes import vector_width

_BLOCK, _FIRST_BLOCK = (kernels.THREADS, 1, 1), (kernels.FIRST_THREADS, 1, 1)
_MIN_LENGTH = 1 << 15  # shorter rows are sorted as a whole


def suits(rows: int, length: int, k: int) -> bool:
    """Whether the kernels can take such rows and are quicker than a sort of the rows."""
    return k <= kernels.MAX_K and rows <= kernels.MAX_ROWS and _MIN_LENGTH <= length <= kernels.LONGEST


def first_of_rows(rows, k, descending, stream, allocator):
    """(values, indices) of the first k elements of each row of a packed array."""
    count, length = rows.shape
    plan = kernels.plan_topk(count, length, k)
    order = sort.order(rows.dtype, descending)
    functions = kernels.topk_kernels(order, vector_width(rows, [(count, length * rows.itemsize)]))
    pair = kernels.pair_size(rows.itemsize)
    scratch = Parts(
        allocator, count * kernels.GROUPS * pair, count * kernels.LIMIT_BYTES, count * plan.capacity * pair
    )
    samples, limits, pairs = scratch.parts
    values, indices = new((count, k), rows.dtype, allocator), new((count, k), np.int64, allocator)

    def run(function, blocks, block, *arguments):
        # Launch a kernel with so many blocks for each row.
        function.prepared_async_call((blocks, count), block, stream, rows, length, *arguments)

    run(functions.sample, kernels.GROUPS // kernels.THREADS, _BLOCK, plan.group_size, plan.step, samples)
    run(functions.find_limits, 1, _FIRST_BLOCK, samples, plan.rank, limits)
    run(functions.collect, kernels.collect_grid(length, rows.itemsize), _BLOCK, limits, pairs, plan.capacity)
    run(functions.collect_fallback, plan.parts, _FIRST_BLOCK, limits, pairs, plan.capacity, k)
    run(functions.finish, 1, _FIRST_BLOCK, limits, pairs, plan.capacity, k, plan.parts, values, indices)
    return values, indices
