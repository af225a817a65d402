"""The source of scan kernels whose items are computed, and whose results are used, by a user's text.

    one pass    each tile: items are computed, scanned, and given to the output statement
    two passes  results are stored first; a second kernel runs the output statement

The second way is needed where the statement uses the last result, or writes to elements that the items of
other tiles are computed from. What a scan does is in pycuda-scan.hpp.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from pycuda._kernels.user import parsing
from pycuda._kernels.user.c_types import Argument, VectorArg, dtype_to_ctype
from pycuda._kernels.user.elementwise import module
from pycuda._kernels.user.scan import (
    ScanTiling,
    flagged_bytes,
    flagged_item,
    scan_tiling,
    user_expression,
)

# The maximum number of items of a thread in a tile: enough loads to hide their latency.
_MAX_CHUNKS = 8
_STATE = """size_t pycuda_n, unsigned pycuda_tiles, unsigned *pycuda_counter,
  unsigned long long *pycuda_counts, unsigned long long *pycuda_entries, void *pycuda_values,
  unsigned pycuda_launch"""
_STATE_CODES = "LIPPPPI"
_SIZE = "  const index_type N = (index_type)pycuda_n;\n  (void)N;\n"


class Fetch(NamedTuple):
    """A name for element i + offset of a vector."""

    name: str
    vector: str
    offset: int


class GenericScanText(NamedTuple):
    """The user's text of a scan, and its arguments."""

    dtype: np.dtype
    index_dtype: np.dtype
    arguments: list[Argument]
    fetches: list[Fetch]
    name: str
    input_expr: str
    scan_expr: str
    neutral: str
    output_statement: str
    is_segment_start_expr: str | None
    preamble: str

    @property
    def vectors(self) -> list[Argument]:
        return [argument for argument in self.arguments if isinstance(argument, VectorArg)]

    @property
    def item_bytes(self) -> int:
        """The maximum bytes of what is combined: a value, in a scan with segments with a flag."""
        size = self.dtype.itemsize
        return size if self.is_segment_start_expr is None else flagged_bytes(size)

    def tiling(self) -> ScanTiling:
        """ValueError if items are too large for a scan."""
        return scan_tiling(1, self.item_bytes, _MAX_CHUNKS)


def read_fetches(given, vectors, name: str) -> list[Fetch]:
    """The checked input_fetch_exprs of a kernel. TypeError or ValueError for wrong ones."""
    known = {vector.name for vector in vectors}
    fetches = []
    for each in given or ():
        try:
            fetch = Fetch(*each)
        except TypeError:
            raise TypeError(
                f"{name}: an input_fetch_expr is {each!r}: it must be (name, array argument, offset)"
            ) from None
        if not (isinstance(fetch.name, str) and re.fullmatch(r"[A-Za-z_]\w*", fetch.name)):
            raise ValueError(f"{name}: {fetch.name!r} of input_fetch_exprs is not a name")
        if fetch.vector not in known:
            raise ValueError(f"{name}: {fetch.vector!r} of input_fetch_exprs is not an array argument")
        if fetch.offset not in (0, -1):
            raise ValueError(f"{name}: input_fetch_exprs has the offset {fetch.offset!r}: it must be 0 or -1")
        fetches.append(fetch)
    return fetches


class Reading(NamedTuple):
    """What is known from the text of a scan."""

    inputs: parsing.Analysis  # of the expressions that values are computed by
    outputs: dict  # the Use of each vector in the output statement, by name
    conditional: bool  # whether there may be a condition in the output statement
    fetched: dict  # the offsets at which a vector is fetched, by name
    stateful: bool  # whether the module has variables
    uses_last: bool
    uses_before: bool
    named: frozenset  # the words of the expressions for values
    outputs_named: frozenset  # those of the output statement
    complete: bool  # whether all uses are in the text, not in headers

    def reads(self, name: str) -> bool:
        """Whether values may be computed from this vector."""
        return name in self.fetched or name in self.named

    def in_place(self, read: str, written: str) -> bool:
        """Whether an element of one vector is read for the index alone for which that of the other one is
        written, if both are the same memory."""
        here_alone = self.inputs.uses[read].indexed and -1 not in self.fetched.get(read, ())
        return here_alone and self.outputs[written].indexed

    def least_size(self, name: str, size: int) -> int:
        """The elements that a vector must have for a scan of `size` values."""
        by_values = name in self.named and self.inputs.uses[name].indexed and not self.inputs.conditional
        by_output = name in self.outputs_named and self.outputs[name].indexed and not self.conditional
        if self.complete and (by_values or by_output):
            return size
        return max((size + offset for offset in self.fetched.get(name, ())), default=0)


def analyse(text: GenericScanText) -> Reading:
    """The Reading of a scan's texts."""
    names = [vector.name for vector in text.vectors]
    expressions = [text.input_expr, text.is_segment_start_expr or ""]
    inputs = parsing.analyse(names, expressions, text.preamble)
    outputs = parsing.analyse(names, [text.output_statement], text.preamble)
    # A macro of the preamble, or of a header that it includes, may be used anywhere.
    complete = "#include" not in text.preamble
    hidden = [text.preamble, *([] if complete else [*names, "prev_item"])]
    words, outputs_words = (
        frozenset(re.findall(r"\w+", " ".join([*texts, *hidden])))
        for texts in (expressions, [text.output_statement])
    )
    fetched: dict[str, set[int]] = {}
    for fetch in text.fetches:
        fetched.setdefault(fetch.vector, set()).add(fetch.offset)
    return Reading(
        inputs,
        outputs.uses,
        outputs.conditional,
        fetched,
        outputs.stateful,
        "last_item" in outputs_words,
        "prev_item" in outputs_words,
        words,
        outputs_words,
        complete,
    )


def _fetching(text: GenericScanText) -> str:
    """Declarations of the fetched elements."""
    types = {vector.name: dtype_to_ctype(vector.dtype) for vector in text.vectors}
    return "".join(
        f"    const {types[vector]} {name} = "
        + (f"{vector}[i];\n" if offset == 0 else f"pycuda_at ? {vector}[i - 1] : {types[vector]}();\n")
        + f"    (void){name};\n"
        for name, vector, offset in text.fetches
    )


def _combining(text: GenericScanText) -> str:
    """The type of items, how an item is made and how two are combined."""
    segmented = text.is_segment_start_expr is not None
    two = f"""
  const auto pycuda_two = [&](scan_type a, scan_type b, bool across_seg_boundary) -> scan_type {{
    (void)across_seg_boundary;
    return {user_expression("scan_expr", text.scan_expr, text.name)};
  }};
"""
    item = "pycuda_item" if segmented else "scan_type"
    value = user_expression("input_expr", text.input_expr, text.name)
    made = f"scan_type({value})"
    if segmented:
        starts = user_expression("is_segment_start_expr", text.is_segment_start_expr, text.name)
        made = f"pycuda_item{{{made}, !!({starts})}}"
    make = f"""  const auto pycuda_make = [&](size_t pycuda_at) -> {item} {{
    const index_type i = (index_type)pycuda_at;
    (void)i;
{_fetching(text)}    return {made};
  }};
"""
    if not segmented:
        return f"""{two}{make}
  const auto pycuda_combine = [&](scan_type a, scan_type b) -> scan_type {{
    return pycuda_two(a, b, false);
  }};
"""
    # An expression that says itself what is done at a boundary is called there, too.
    across = re.search(r"\bacross_seg_boundary\b", text.scan_expr + text.preamble) is not None
    value = "pycuda_two(a.value, b.value, b.starts != 0)"
    if not across:
        value = "b.starts ? b.value : pycuda_two(a.value, b.value, false)"
    return f"""{two}{make}
  const auto pycuda_combine = [&](const pycuda_item &a, const pycuda_item &b) -> pycuda_item {{
    pycuda_item c = {{{value}, b.starts}};
    c.starts |= a.starts;
    return c;
  }};
"""


def _output(text: GenericScanText) -> str:
    """The output statement as a function of (index, result, result before it)."""
    return f"""  const auto pycuda_output = [&](size_t pycuda_at, scan_type item, scan_type prev_item) {{
    const index_type i = (index_type)pycuda_at;
    (void)i; (void)item; (void)prev_item;
    {parsing.line(f"output_statement of {text.name}")}{text.output_statement}
;{parsing.line(f"kernel {text.name}")}
  }};
"""


def _declarations(text: GenericScanText, *more: str) -> str:
    return ", ".join([*(argument.declarator() for argument in text.arguments), *more])


def _neutral(text: GenericScanText) -> str:
    return f"""  const scan_type pycuda_neutral = {user_expression("neutral", text.neutral, text.name)};
  (void)pycuda_neutral;
"""


def _scan(text: GenericScanText, tiling: ScanTiling, name: str, outputs: str, give: str, *more: str) -> str:
    """A kernel that scans, with parameters `more` before those of the scan. outputs: declarations; give: the
    statements for a result, of pycuda_at, pycuda_result and pycuda_before."""
    segmented = text.is_segment_start_expr is not None
    item = "pycuda_item" if segmented else "scan_type"
    member = ".value" if segmented else ""
    first = "!has || item.starts" if segmented else "!has"
    return f"""
extern "C" __global__ void __launch_bounds__({tiling.threads}) {name}({_declarations(text, *more, _STATE)})
{{
{_SIZE}{_neutral(text)}{_combining(text)}{outputs}
  const pycuda::scan_state pycuda_state = {{pycuda_counter, pycuda_counts, pycuda_entries, pycuda_values,
                                           pycuda_launch}};
  pycuda::generic_scan<{tiling.threads}, {tiling.slots}, {tiling.chunks}, {item}>(
    pycuda_n, pycuda_tiles, pycuda_state, pycuda_make, pycuda_combine,
    [&](size_t pycuda_at, bool has, const {item} &before, const {item} &item, const {item} &with) {{
      (void)item;
      const scan_type pycuda_before = {first} ? pycuda_neutral : before{member};
      const scan_type pycuda_result = with{member};
      (void)pycuda_before;
      {give}
    }});
}}
"""


def _one_pass(text: GenericScanText, tiling: ScanTiling) -> str:
    give = "pycuda_output(pycuda_at, pycuda_result, pycuda_before);"
    return _scan(text, tiling, text.name, _output(text), give)


def _two_passes(text: GenericScanText, tiling: ScanTiling) -> str:
    """The kernels NAME_items, which stores results and those before them, and NAME_output."""
    give = """pycuda_items[pycuda_at] = pycuda_result;
      if (pycuda_befores) pycuda_befores[pycuda_at] = pycuda_before;"""
    stored = "scan_type *pycuda_items", "scan_type *pycuda_befores"
    return f"""{_scan(text, tiling, f"{text.name}_items", "", give, *stored)}
extern "C" __global__ void {text.name}_output({_declarations(text, *stored, "size_t pycuda_n")})
{{
  const scan_type last_item = pycuda_items[pycuda_n - 1];
  (void)last_item;
{_SIZE}{_output(text)}
  for (size_t pycuda_at = (size_t)blockIdx.x * blockDim.x + threadIdx.x; pycuda_at < pycuda_n;
       pycuda_at += (size_t)gridDim.x * blockDim.x) {{
    const scan_type pycuda_result = pycuda_items[pycuda_at];
    pycuda_output(pycuda_at, pycuda_result, pycuda_befores ? pycuda_befores[pycuda_at] : pycuda_result);
  }}
}}
"""


def generic_scan_source(text: GenericScanText, ways: tuple[int, ...]) -> str:
    """The kernels for the ways among 1 and 2 passes."""
    tiling = text.tiling()
    kernels = "".join((_one_pass if way == 1 else _two_passes)(text, tiling) for way in ways)
    return f"""{parsing.headers(text.arguments, text.dtype)}#include <scan/pycuda-scan-generic.hpp>
{parsing.line(f"preamble of {text.name}")}{text.preamble}
{parsing.line(f"kernel {text.name}")}
{parsing.size_checks(text.arguments)}
typedef {dtype_to_ctype(text.dtype)} scan_type;
typedef {dtype_to_ctype(text.index_dtype)} index_type;
static_assert(sizeof(scan_type) == {text.dtype.itemsize}, "the type does not have the size of its dtype");
{"" if text.is_segment_start_expr is None else flagged_item(text.dtype.itemsize)}{kernels}"""


class BuiltScan(NamedTuple):
    """A module, and the launching functions of its kernels, None where it does not have them."""

    module: Any
    one_pass: Any
    items: Any
    output: Any


def build_generic_scan(text: GenericScanText, ways: tuple[int, ...], options) -> BuiltScan:
    """The kernels of generic_scan_source(), compiled for the current context."""
    compiled = module(generic_scan_source(text, ways), keep=False, options=options)
    codes = "".join(argument.struct_char for argument in text.arguments)

    def launcher(name, more):
        return compiled.get_function(name)._prepare_strided(codes + more).prepared_async_call

    return BuiltScan(
        compiled,
        launcher(text.name, _STATE_CODES) if 1 in ways else None,
        launcher(f"{text.name}_items", "PP" + _STATE_CODES) if 2 in ways else None,
        launcher(f"{text.name}_output", "PPL") if 2 in ways else None,
    )
