"""Constants by which Python divides the work of a kernel are equal to those in the kernel's header."""

import importlib
import re
from pathlib import Path

import pytest

CUDA = Path(__file__).resolve().parents[2] / "pycuda" / "cuda"
# (module of pycuda._kernels, constant in it, header of pycuda/cuda, constant in it)
ROWS = [
    ("builtin.axis_scan", "THREADS", "scan/pycuda-axis-scan.hpp", "SCAN_THREADS"),
    ("builtin.axis_scan", "TILED_THREADS", "scan/pycuda-axis-scan.hpp", "TILED_THREADS"),
    ("builtin.axis_scan", "_CHUNKS", "scan/pycuda-axis-scan.hpp", "SCAN_CHUNKS"),
    ("builtin.convolve", "THREADS", "array/pycuda-convolve.hpp", "SLIDE_THREADS"),
    ("builtin.cross", "THREADS", "array/pycuda-cross.hpp", "CROSS_THREADS"),
    ("builtin.gather", "STAGED_THREADS", "array/pycuda-gather.hpp", "STAGED_THREADS"),
    ("builtin.factorize", "LANES_THREADS", "array/pycuda-factorize-lanes.hpp", "LANES_THREADS"),
    ("builtin.histogram", "THREADS", "array/pycuda-histogram.hpp", "COUNT_THREADS"),
    ("builtin.interp", "THREADS", "array/pycuda-interp.hpp", "INTERP_THREADS"),
    ("builtin.interp", "_ROUNDS", "array/pycuda-interp.hpp", "INTERP_ROUNDS"),
    ("builtin.interp", "_BUCKETS", "array/pycuda-interp.hpp", "INTERP_BUCKETS"),
    ("builtin.matmul", "_DOUBLE_SIDE", "array/pycuda-matmul-double.hpp", "DOUBLE_SIDE"),
    ("builtin.matmul", "_DOUBLE_THREADS", "array/pycuda-matmul-double.hpp", "DOUBLE_THREADS"),
    ("builtin.matmul", "HALF_WARP", "array/pycuda-matmul-half.hpp", "HALF_WARP"),
    ("builtin.matmul", "_QUAD", "array/pycuda-matmul.hpp", "MATMUL_QUAD"),
    ("builtin.rearrange", "THREADS", "array/pycuda-rearrange.hpp", "REARRANGE_THREADS"),
    ("builtin.rearrange", "_ROUNDS", "array/pycuda-rearrange.hpp", "REARRANGE_ROUNDS"),
    ("builtin.rank", "BITS", "sort/pycuda-rank.hpp", "RANK_BITS"),
    ("builtin.rank", "LOADS", "sort/pycuda-rank.hpp", "RANK_LOADS"),
    ("builtin.rank", "MAX_RANKS", "sort/pycuda-rank.hpp", "MAX_RANKS"),
    ("builtin.rank", "PARTITION_ITEMS", "sort/pycuda-rank.hpp", "PARTITION_ITEMS"),
    ("builtin.rank", "PARTITION_THREADS", "sort/pycuda-rank.hpp", "PARTITION_THREADS"),
    ("builtin.rank", "THREADS", "sort/pycuda-rank.hpp", "RANK_THREADS"),
    ("builtin.reduction", "THREADS", "reduce/pycuda-axis-reduce.hpp", "THREADS"),
    ("builtin.search", "NEIGHBORS", "sort/pycuda-search.hpp", "NEIGHBORS"),
    ("builtin.search", "SEARCHED", "sort/pycuda-search.hpp", "SEARCHED"),
    ("builtin.search", "THREADS", "sort/pycuda-search.hpp", "SEARCH_THREADS"),
    ("builtin.select", "THREADS", "select/pycuda-select.hpp", "SELECT_THREADS"),
    ("builtin.select", "THREADS", "select/pycuda-changes.hpp", "CHANGES_THREADS"),
    ("builtin.sort", "DIGITS", "sort/pycuda-radix-sort.hpp", "DIGITS"),
    ("builtin.sort", "ROW_THREADS", "sort/pycuda-row-sort.hpp", "ROW_THREADS"),
    ("builtin.topk", "FIRST_THREADS", "sort/pycuda-topk.hpp", "FIRST_THREADS"),
    ("builtin.topk", "THREADS", "sort/pycuda-topk.hpp", "TOP_THREADS"),
    ("builtin.topk", "_BYTES", "sort/pycuda-topk.hpp", "TOP_BYTES"),
    ("random.generators", "DIMENSIONS", "random/pycuda-random-sobol.hpp", "SOBOL_DIMENSIONS"),
    ("random.generators", "RAND_THREADS", "random/pycuda-random-philox.hpp", "RAND_THREADS"),
    ("sparse.column_sorted", "_CHUNK", "sparse/pycuda-sparse-sorted.hpp", "SORTED_CHUNK"),
    ("sparse.rows", "CARRY_THREADS", "sparse/pycuda-sparse-rows.hpp", "CARRY_THREADS"),
    ("sparse.spmv", "THREADS", "sparse/pycuda-sparse.hpp", "SPARSE_THREADS"),
    ("sparse.structure", "THREADS", "sparse/pycuda-sparse-structure.hpp", "STRUCTURE_THREADS"),
]


@pytest.mark.parametrize(("module", "name", "header", "constant"), ROWS)
def test_python_and_the_header_agree(module, name, header, constant):
    value = getattr(importlib.import_module(f"pycuda._kernels.{module}"), name)
    assert re.findall(rf"\b{constant} = (\d+)\b", (CUDA / header).read_text()) == [str(value)]


def test_the_divider_of_c_and_of_kernels_have_the_same_fields():
    core = (CUDA.parents[1] / "core" / "layout" / "elementwise_layout.h").read_text()
    fields = re.search(r"struct Divider \{\s*uint32_t ([\w, ]+);", core)[1]
    device = (CUDA / "base" / "pycuda-elements.hpp").read_text()
    assert fields == re.search(r"struct Divider \{\s*unsigned ([\w, ]+);", device)[1]
