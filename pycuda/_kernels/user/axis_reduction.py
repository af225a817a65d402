"""Reductions along axes: how a call is divided, and the source of its kernel.

Each result is made of `length` elements. How they are divided among threads depends on the shape and the
strides alone, so that a result has the same bits on every device. There are two divisions, chosen by which
axis is the fast one in memory:

    columns  the lanes of a warp have neighboring results; each thread has a run of consecutive elements of
    one rows     the lanes of a warp have neighboring elements of one result

If there are few results, each is split into parts, which a second launch combines.
"""

from __future__ import annotations

import math
import struct
from typing import NamedTuple

from pycuda._kernels.plans import layout
from pycuda._kernels.plans.axes import broadcast_strides, broadcasts
from pycuda._kernels.user import parsing
from pycuda._kernels.user.c_types import VectorArg, dtype_to_ctype
from pycuda._kernels.user.elementwise import module, prepared
from pycuda._kernels.user.reduction import ReductionText, expression, reduction_head

THREADS = 256
# Threads that fill a large GPU: 2048 for each of 128 multiprocessors. It is the same on every device, as the
# bits of results depend on it.
_ENOUGH_THREADS = 1 << 18
# The maximum number of parts of a result, so that the second launch, which combines them, is short.
_MAX_PARTS = 1024
# A column is split only if each thread still combines at least this many elements of it. And a row of more
# elements is shared by the lanes of a warp.
_MIN_RUN = 64
# The minimum number of elements of a part of a row: 32 for each lane.
_MIN_ROW_PART = 1024


class Division(NamedTuple):
    """How threads and blocks share the work."""

    # What the source depends on: (whether by rows, results of a block, whether indices have 64 bits, the
    # number of kept axes, the number of reduced axes).
    signature: tuple
    results: int
    length: int  # elements of a result
    parts: int  # of each result
    grid: tuple[int, int]
    geometry: bytes  # the structure of _geometry()


def _columns(results: int, length: int) -> tuple[int, int]:
    """How columns are divided: (results of a block, parts of each result)."""
    wide = THREADS if length <= _MIN_RUN or results >= _ENOUGH_THREADS else 32
    wide = min(wide, 1 << max(results - 1, 0).bit_length())
    runs = THREADS // wide
    parts = min(_ENOUGH_THREADS // max(results * runs, 1), length // (runs * _MIN_RUN), _MAX_PARTS)
    return wide, max(parts, 1)


def divide(operands, axes, split=True) -> Division:
    """The division of a reduction along these axes. The first operand gives the shape, to which the others
    are broadcast; ValueError when one cannot be. Without split each result is made in one piece.
    """
    shape = operands[0].shape
    strides = []
    for operand in operands:
        if not broadcasts(operand.shape, shape):
            raise ValueError(
                f"the argument {operand.name!r} of shape {operand.shape} does not broadcast to {shape}, the "
                f"shape of {operands[0].name!r}"
            )
        strides.append(broadcast_strides(operand, shape))
    kept_axes = [axis for axis in range(len(shape)) if axis not in axes]
    results = math.prod(shape[axis] for axis in kept_axes)
    length = math.prod(shape[axis] for axis in axes)
    kept, kept_steps = _merge_axes(shape, strides, kept_axes)
    reduced, reduced_steps = _merge_axes(shape, strides, sorted(axes))
    fast = min(map(abs, reduced_steps[0])) <= min(map(abs, kept_steps[0])) or results == 1
    rows = fast and length > _MIN_RUN
    if rows:
        parts = max(min(_ENOUGH_THREADS // 32 // max(results, 1), length // _MIN_ROW_PART, _MAX_PARTS), 1)
        block, grid = 1, (-(-results * parts // (THREADS // 32)), 1)
    else:
        block, parts = _columns(results, length)
        grid = -(-results // block), parts
    if not split:
        parts, grid = 1, (-(-results // (THREADS // 32)) if rows else grid[0], 1)
    wide = max(results, length) >= 2**31
    numbers = []
    for axis_length in (*kept, *reduced):
        numbers += [axis_length, *layout.divider(axis_length)]
    for steps in zip(kept_steps, reduced_steps, strict=True):
        numbers += [step for each in steps for step in each]
    numbers += [0] * (len(numbers) % 2)
    signature = rows, block, wide, len(kept), len(reduced)
    return Division(signature, results, length, parts, grid, struct.pack(f"{len(numbers)}q", *numbers))


def _merge_axes(shape, strides, axes):
    """(lengths, strides of each operand) of these axes, merged into as few as possible."""
    return layout.merge([shape[axis] for axis in axes], [[each[axis] for axis in axes] for each in strides])


def _geometry(vectors, kept: int, reduced: int) -> tuple[str, int]:
    """(definition of the structure that divide() packs as Division.geometry, its size in bytes)."""
    members = [f"pycuda::extent<{kept}> kept;", f"pycuda::extent<{reduced}> reduced;"]
    for vector in vectors:
        members.append(
            f"pycuda::steps<{kept}> {vector.name}_kept; pycuda::steps<{reduced}> {vector.name}_reduced;"
        )
    numbers = 3 * (kept + reduced) + len(vectors) * (kept + reduced)
    return f"struct __align__(16) pycuda_layout {{ {' '.join(members)} }};\n", 8 * (numbers + numbers % 2)


_COLUMNS = """
  const unsigned pycuda_run = threadIdx.x / {block};
  const size_t pycuda_result = blockIdx.x * (size_t){block} + threadIdx.x % {block};
  const size_t pycuda_share = (n + {runs} * gridDim.y - 1) / ({runs} * gridDim.y);
  const size_t pycuda_from = min((blockIdx.y * {runs} + pycuda_run) * pycuda_share, n);
  const size_t pycuda_to = min(pycuda_from + pycuda_share, n);
  out_type pycuda_sum = pycuda_neutral;
  if (pycuda_result < pycuda_results) {{
{names}
#pragma unroll 4
    for (size_t i = pycuda_from; i < pycuda_to; i++)
      pycuda_sum = pycuda_reduce(pycuda_sum, {value});
  }}
  if ({runs} > 1) {{
    PYCUDA_SHARED(out_type, pycuda_runs, {threads});
    pycuda::store_shared(pycuda_runs + threadIdx.x, pycuda_sum);
    __syncthreads();
    if (pycuda_run == 0)
#pragma unroll 1
      for (int k = 1; k < {runs}; k++)
        pycuda_sum = pycuda_reduce(pycuda_sum, pycuda::load_shared(pycuda_runs + k * {block} + threadIdx.x));
  }}
  if (pycuda_run == 0 && pycuda_result < pycuda_results)
    pycuda_out[pycuda_result * gridDim.y + blockIdx.y] = {result}(pycuda_sum);
"""

_ROWS = """
  const size_t pycuda_warp = blockIdx.x * (size_t){warps} + threadIdx.x / 32;
  const size_t pycuda_result = pycuda_warp / pycuda_parts, pycuda_part = pycuda_warp % pycuda_parts;
  if (pycuda_result >= pycuda_results) return;
  const size_t pycuda_share = ((n + pycuda_parts - 1) / pycuda_parts + 127) / 128 * 128;
  const size_t pycuda_from = min(pycuda_part * pycuda_share, n), pycuda_to = min(pycuda_from + pycuda_share,
  n); out_type pycuda_sum = pycuda_neutral;
{names}
  for (size_t pycuda_at = pycuda_from; pycuda_at < pycuda_to; pycuda_at += 128) {{
    out_type pycuda_rows[4];
#pragma unroll
    for (int pycuda_row = 0; pycuda_row < 4; pycuda_row++) {{
      const size_t i = pycuda_at + pycuda_row * 32 + threadIdx.x % 32;
      pycuda_rows[pycuda_row] = i < pycuda_to ? out_type({value}) : out_type(pycuda_neutral);
    }}
    pycuda_sum = pycuda_reduce(pycuda_sum, pycuda::reduce_rows(pycuda_rows, pycuda_reduce));
  }}
  if (threadIdx.x % 32 == 0) pycuda_out[pycuda_result * pycuda_parts + pycuda_part] = {result}(pycuda_sum);
"""


def build_axis_reduction(arguments, text: ReductionText, signature, final: bool, keep, options):
    """The prepared function of (arguments, results, length, parts, out, geometry). final: whether it writes
    results, and not partial results for a second launch.
    """
    rows, block, wide, kept, reduced = signature
    vectors = [argument for argument in arguments if isinstance(argument, VectorArg)]
    structure, size = _geometry(vectors, kept, reduced)
    result = "pycuda_result_type" if final else "out_type"
    declared = [
        f"const {dtype_to_ctype(a.dtype)} *pycuda_{a.name}" if a in vectors else a.declarator()
        for a in arguments
    ]
    declared += [
        "const size_t pycuda_results",
        "const size_t n",
        "const unsigned pycuda_parts",
        f"{result} *pycuda_out",
        "const pycuda_layout pycuda_at_",
    ]
    index = "true" if wide else "false"
    names = "".join(
        f"  const pycuda::strided<const {dtype_to_ctype(v.dtype)}, {reduced}, {index}> {v.name}(\n"
        f"    &pycuda::strided<const {dtype_to_ctype(v.dtype)}, {kept}, {index}>(\n"
        f"      pycuda_{v.name}, pycuda_at_.kept, pycuda_at_.{v.name}_kept)[pycuda_result],\n"
        f"    pycuda_at_.reduced, pycuda_at_.{v.name}_reduced);\n"
        for v in vectors
    )
    body = (_ROWS if rows else _COLUMNS).format(
        block=block,
        runs=THREADS // block,
        threads=THREADS,
        warps=THREADS // 32,
        names=names,
        value=expression("map_expr", text.map_expr, text.name),
        result=result,
    )
    source = f"""{reduction_head(arguments, text)}{structure}
extern "C" __global__ void __launch_bounds__({THREADS}) {text.name}({", ".join(declared)})
{{
{parsing.line(f"kernel {text.name}")}  const auto pycuda_reduce = [&](out_type a, out_type b) -> out_type {{
    return {expression("reduce_expr", text.reduce_expr, text.name)};
  }};
  const out_type pycuda_neutral = {expression("neutral", text.neutral, text.name)};
  (void)pycuda_parts;
{body}}}
"""
    return prepared(module(source, keep, options), text.name, arguments, f"LLIP{size}s")
