"""The source of reduction kernels: one that reduces in one launch, and PyCUDA's two stages, for clients."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pycuda._kernels.plans import layout
from pycuda._kernels.plans.axes import elements_per_access
from pycuda._kernels.user import parsing
from pycuda._kernels.user.c_types import ScalarArg, VectorArg, dtype_to_ctype
from pycuda._kernels.user.elementwise import layout_of, module, prepared

THREADS = 256
# The rows of vectors, one vector for each lane, that a warp has in registers: REDUCE_ROWS of
# pycuda-reduce.hpp.
ROWS = 4
# The maximum number of blocks of a launch. Each has a tile, and the last one combines the results of all. So
# many blocks fill a large GPU 4 times.
BLOCKS = 4096
# Threads of a block of PyCUDA's two stages.
BLOCK_SIZE = 512

_SIZE, _SEQ_COUNT = ScalarArg(np.uintp, "n"), ScalarArg(np.uint32, "seq_count")


class ReductionText(NamedTuple):
    """The user's text of a reduction."""

    dtype_out: np.dtype
    accumulator: np.dtype  # of partial results; a result is converted from it
    neutral: str
    reduce_expr: str
    map_expr: str
    name: str
    preamble: str


class ReductionTiling(NamedTuple):
    """How a block reads its tile."""

    vector: int  # elements of an access

    @property
    def step(self) -> int:
        """The elements that a block loads at a time, which is the smallest tile."""
        return THREADS * ROWS * self.vector

    def tile(self, size: int) -> int:
        """The length of a tile for `size` elements: the smallest power of two times `step` for which there
        are at most BLOCKS tiles. The bits of results depend on it."""
        rounds = -(-size // (self.step * BLOCKS))
        return self.step << max(rounds - 1, 0).bit_length()


def reduction_tiling(vectors, uses) -> ReductionTiling:
    """The tiling for these vectors: the widest access holds whole elements of the largest dtype."""
    sizes = [v.dtype.itemsize for v in vectors if uses[v.name].indexed]
    return ReductionTiling(elements_per_access(max(sizes)) if sizes else 1)


def expression(what: str, text: str, name: str) -> str:
    """The user's expression in brackets, between directives, so that the compiler counts its lines on their
    own."""
    return f"({parsing.line(f'{what} of {name}')}{text}{parsing.line(f'kernel {name}')})"


def _full_step_parts(arguments, uses, tiling: ReductionTiling):
    """(declarations of parameters, texts that whole_source() inserts, by name), for plain pointers. The
    texts: "outside" before the loops, "fits" a condition for full steps, "load" and "lane" in the loop over
    full steps, "tail" in the loop over the rest.
    """
    declarations, texts = [], dict.fromkeys(("load", "lane", "outside", "tail", "fits"), "")
    for argument in arguments:
        if not isinstance(argument, VectorArg):
            declarations.append(argument.declarator())
            continue
        use, ctype, name = uses[argument.name], dtype_to_ctype(argument.dtype), argument.name
        const = "" if use.written else "const "
        if use.written or not use.indexed:
            declarations.append(f"{const}{ctype} *{name}")
            continue
        declarations.append(f"{const}{ctype} *pycuda_{name}")
        held = f"pycuda_lanes_{name}"
        lanes = f"pycuda::lanes<{ctype}, {tiling.vector}, {ROWS}>"
        texts["load"] += (
            f"      {lanes} {held};\n      {held}.load(pycuda_{name} + pycuda_first, {32 * tiling.vector});\n"
        )
        texts["lane"] += (
            f"          const pycuda::here<{const}{ctype}> "
            f"{name}({held}(pycuda_row * {tiling.vector} + pycuda_k));\n"
        )
        texts["tail"] += f"          {const}{ctype} *const {name} = pycuda_{name};\n"
        texts["fits"] += f" && {lanes}::fit(pycuda_{name})"
    return declarations, texts


def _strided_parts(arguments, signature):
    """(declarations, texts, definition of the structure that describes the arrays) for strided arrays of a
    Walk's signature. Declarations and texts: as of _full_step_parts()."""
    vectors = [argument for argument in arguments if isinstance(argument, VectorArg)]
    structure, names = layout_of(vectors, signature)
    through = {v.name for v, group in zip(vectors, signature[2], strict=True) if group is not None}
    declarations = [
        f"{dtype_to_ctype(a.dtype)} *pycuda_{a.name}" if a.name in through else a.declarator()
        for a in arguments
    ]
    texts = {**dict.fromkeys(("load", "lane", "tail"), ""), "outside": names, "fits": " && false"}
    return declarations, texts, structure


def reduction_head(arguments, text: ReductionText) -> str:
    """The source before a kernel: headers, the user's preamble, the types of partial and final results."""
    return f"""{parsing.headers(arguments, text.dtype_out)}#include <base/pycuda-streaming.hpp>
#include <base/pycuda-strided.hpp>
#include <reduce/pycuda-reduce.hpp>
#define BLOCK_SIZE {THREADS}
{parsing.line(f"preamble of {text.name}")}{text.preamble}
{parsing.line(f"kernel {text.name}")}
{parsing.size_checks(arguments)}
typedef {dtype_to_ctype(text.accumulator)} out_type;
typedef {dtype_to_ctype(text.dtype_out)} pycuda_result_type;
static_assert(sizeof(pycuda_result_type) == {text.dtype_out.itemsize}, "the result has not its dtype's size");
"""


def whole_source(arguments, text: ReductionText, uses, tiling: ReductionTiling, signature=None) -> str:
    """The kernel of one launch. Its parameters: the arguments, n, pycuda_tile, pycuda_out, pycuda_counter,
    pycuda_parts and, with a signature, pycuda_at.
    """
    structure = ""
    if signature is None:
        declarations, texts = _full_step_parts(arguments, uses, tiling)
    else:
        declarations, texts, structure = _strided_parts(arguments, signature)
    declarations += [
        "const size_t n", "const size_t pycuda_tile", "pycuda_result_type *pycuda_out",
        "unsigned *pycuda_counter", "out_type *pycuda_parts",
    ]  # fmt: skip
    if signature is not None:
        declarations.append("const pycuda_layout pycuda_at")
    value = expression("map_expr", text.map_expr, text.name)
    row = 32 * tiling.vector
    fast = (
        ""
        if signature is not None
        else f"""
    if (pycuda_fits && pycuda_from + {ROWS * row} <= pycuda_to) {{
{texts["load"]}#pragma unroll
      for (int pycuda_row = 0; pycuda_row < {ROWS}; pycuda_row++) {{
#pragma unroll
        for (int pycuda_k = 0; pycuda_k < {tiling.vector}; pycuda_k++) {{
          const size_t i = pycuda_first + pycuda_row * {row} + pycuda_k;
          (void)i;
{texts["lane"]}          const out_type pycuda_value = {value};
          pycuda_rows[pycuda_row] = pycuda_reduce(pycuda_rows[pycuda_row], pycuda_value);
        }}
      }}
    }} else"""
    )
    return f"""{reduction_head(arguments, text)}{structure}
extern "C" __global__ void __launch_bounds__({THREADS}) {text.name}({", ".join(declarations)})
{{
  const unsigned seq_count = pycuda_tile / {THREADS};
  (void)seq_count;
{texts["outside"]}
  const auto pycuda_reduce = [&](out_type a, out_type b) -> out_type {{
    return {expression("reduce_expr", text.reduce_expr, text.name)};
  }};
  const out_type pycuda_neutral = {expression("neutral", text.neutral, text.name)};
  const unsigned pycuda_lane = threadIdx.x % 32;
  size_t pycuda_from = blockIdx.x * pycuda_tile + threadIdx.x / 32 * (pycuda_tile / {THREADS // 32});
  const size_t pycuda_to = min(pycuda_from + pycuda_tile / {THREADS // 32}, n);
  out_type pycuda_sum = pycuda_neutral;
  const bool pycuda_fits = true{texts["fits"]};
  (void)pycuda_fits;
  for (; pycuda_from < pycuda_to; pycuda_from += {ROWS * row}) {{
    const size_t pycuda_first = pycuda_from + pycuda_lane * {tiling.vector};
    out_type pycuda_rows[{ROWS}];
#pragma unroll
    for (int pycuda_row = 0; pycuda_row < {ROWS}; pycuda_row++) pycuda_rows[pycuda_row] = pycuda_neutral;
{fast}
    {{
#pragma unroll 1
      for (int pycuda_k = 0; pycuda_k < {tiling.vector}; pycuda_k++) {{
#pragma unroll
        for (int pycuda_row = 0; pycuda_row < {ROWS}; pycuda_row++) {{
          // What lies past the end is made of the last element and dropped: where the compiler joins a
          // product and a sum it does so here as it does above.
          const size_t pycuda_place = pycuda_first + pycuda_row * {row} + pycuda_k;
          const bool pycuda_is_one = pycuda_place < pycuda_to;
          const size_t i = pycuda_is_one ? pycuda_place : pycuda_to - 1;
          (void)i;
{texts["tail"]}          const out_type pycuda_value = {value};
          const out_type pycuda_next = pycuda_reduce(pycuda_rows[pycuda_row], pycuda_value);
          pycuda_rows[pycuda_row] = pycuda::choose(pycuda_is_one, pycuda_next, pycuda_rows[pycuda_row]);
        }}
      }}
    }}
    pycuda_sum = pycuda_reduce(pycuda_sum, pycuda::reduce_rows(pycuda_rows, pycuda_reduce));
  }}
  pycuda::reduce_blocks(pycuda_sum, pycuda_neutral, pycuda_out, pycuda_counter, pycuda_parts, pycuda_reduce);
}}
"""


def build_whole(arguments, text: ReductionText, uses, tiling: ReductionTiling, signature, keep, options):
    """(module, prepared function) of whole_source()."""
    compiled = module(whole_source(arguments, text, uses, tiling, signature), keep, options)
    extra = "LLPPP" + (f"{layout.geometry_bytes(signature)}s" if signature is not None else "")
    return compiled, prepared(compiled, text.name, arguments, extra)


# ---- PyCUDA's two stages


def stage_source(
    out_type: str, block_size: int, neutral, reduce_expr, map_expr, arguments, name, preamble
) -> str:
    """PyCUDA's kernel: each block leaves one value of seq_count * block_size elements."""
    arguments = parsing.read_arguments(arguments)
    declarations = [f"{out_type} *out", *(argument.declarator() for argument in arguments)]
    declarations += [_SEQ_COUNT.declarator(), _SIZE.declarator()]
    return f"""{parsing.headers(arguments)}#include <base/pycuda-exchange.hpp>
#define BLOCK_SIZE {block_size}
{parsing.line(f"preamble of {name}")}{preamble}
{parsing.line(f"kernel {name}")}
typedef {out_type} out_type;
extern "C" __global__ void __launch_bounds__({block_size}) {name}({", ".join(declarations)})
{{
  const auto pycuda_reduce = [&](out_type a, out_type b) -> out_type {{
    return {expression("reduce_expr", reduce_expr, name)};
  }};
  PYCUDA_SHARED(out_type, pycuda_parts, BLOCK_SIZE);
  const unsigned tid = threadIdx.x;
  size_t i = (size_t)blockIdx.x * BLOCK_SIZE * seq_count + tid;
  out_type acc = {expression("neutral", neutral, name)};
  for (unsigned s = 0; s < seq_count && i < n; s++, i += BLOCK_SIZE)
    acc = pycuda_reduce(acc, {expression("map_expr", map_expr, name)});
  pycuda::store_shared(pycuda_parts + tid, acc);
  __syncthreads();
  for (unsigned half = BLOCK_SIZE / 2; half > 0; half /= 2) {{
    if (tid < half) {{
      acc = pycuda_reduce(acc, pycuda::load_shared(pycuda_parts + tid + half));
      pycuda::store_shared(pycuda_parts + tid, acc);
    }}
    __syncthreads();
  }}
  if (tid == 0) out[blockIdx.x] = acc;
}}
"""


def get_reduction_module(
    out_type,
    block_size,
    neutral,
    reduce_expr,
    map_expr,
    arguments,
    name="reduce_kernel",
    keep=False,
    options=None,
    preamble="",
):
    """Compile one of PyCUDA's reduction stages.

    Parameters
    ----------
    out_type : str
        The C type of the result.
    block_size : int
        Threads of a block, a power of two.
    neutral, reduce_expr, map_expr : str
        As `ReductionKernel` takes them.
    arguments : str or list of VectorArg and ScalarArg
    name, keep, options, preamble
        As `ReductionKernel` takes them.

    Returns
    -------
    pycuda.compiler.SourceModule
        With one kernel, of ``(out, arguments..., unsigned seq_count, size_t n)``.
    """
    source = stage_source(out_type, block_size, neutral, reduce_expr, map_expr, arguments, name, preamble)
    return module(source, keep, options)


def get_reduction_kernel_and_types(
    stage,
    out_type,
    block_size,
    neutral,
    reduce_expr,
    map_expr=None,
    arguments=None,
    name="reduce_kernel",
    keep=False,
    options=None,
    preamble="",
):
    """The prepared function of a reduction stage, and the format codes of its arguments.

    Parameters
    ----------
    stage : int
        1 reads the arguments, 2 what stage 1 has left, an array before the arguments.
    out_type, block_size, neutral, reduce_expr, map_expr, arguments, name, keep, options, preamble
        As for `get_reduction_module`. Without map_expr stage 1 reads an argument named ``in``.

    Returns
    -------
    (function, codes)
        The codes are those of the arguments: "P" for a pointer. The function takes a pointer to the results
        before them, and ``seq_count`` and ``n`` after them.
    """
    if stage not in (1, 2):
        raise ValueError(f"stage is {stage!r}: it must be 1 or 2")
    arguments = default_arguments(arguments, out_type)
    if stage == 2:
        map_expr = "pycuda_reduction_inp[i]"
        first = VectorArg(parsing.NAME_TO_DTYPE[out_type], "pycuda_reduction_inp")
        arguments = [first, *arguments]
    elif map_expr is None:
        map_expr = "in[i]"
    compiled = get_reduction_module(
        out_type, block_size, neutral, reduce_expr, map_expr, arguments, name, keep, options, preamble
    )
    codes = [argument.struct_char for argument in arguments]
    return compiled.get_function(name)._prepare_strided("P" + "".join(codes) + "IL"), codes


def default_arguments(arguments, out_type: str) -> list:
    """The arguments as a list; if they are None, an array named "in"."""
    return parsing.read_arguments(f"{out_type} *in" if arguments is None else arguments)
