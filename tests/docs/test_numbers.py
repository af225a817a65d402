"""Numbers on pages that describe how pycuda works are those in the code."""

import re
from pathlib import Path

import numpy as np
import pytest

from pycuda._array.sorting import greatest, topk
from pycuda._compile import progress
from pycuda._kernels.builtin import factorize, rank, sort
from pycuda._kernels.builtin import topk as top_kernels
from pycuda._kernels.random import generators, sobol
from pycuda._kernels.sparse import column_sorted, rows, spmv
from pycuda._kernels.user import elementwise

ROOT = Path(__file__).resolve().parents[2]


def setting(name):
    """The default of a setting of the CPU device that is a number."""
    rows = (ROOT / "device" / "api" / "base" / "settings.def").read_text()
    return int(re.search(rf"NUMBER\({name}, \w+, \d+, \d+, (\d+),", rows)[1])


def constant(path, pattern):
    """The integer that a pattern's group matches in a file of the project."""
    return int(re.search(pattern, (ROOT / path).read_text())[1])


def largest_square(itemsize):
    """The side of the largest matrix for which we have kernels of our own."""
    return max(side for side in range(200) if factorize.fits_shared_memory(side, side, itemsize))


# (page, words of it with # for each number, the numbers)
NUMBERS = [
    ("kernels", "Arrays of # elements or more", [elementwise.STREAMING_FROM]),
    ("sparse", "tiles of # elements and rows", [spmv.window(4)]),
    ("sparse", "elements and rows (# of elements of 8 bytes)", [spmv.window(8)]),
    ("sparse", "Rows of more than # elements have blocks of their own", [spmv._LONGEST_SHORT_ROW]),
    ("sparse", "those of more than # several", [spmv._PIECE]),
    ("sparse", "at least # elements of 4 or 8 bytes", [column_sorted.MIN_ELEMENTS]),
    ("sparse", "at most # columns", [column_sorted._MAX_COLUMNS]),
    ("sparse", "an x of more than # KiB", [column_sorted._CACHED >> 10]),
    ("sparse", "rows of more than # elements are summed in parts", [column_sorted._LONGEST]),
    ("sparse", "blocks that take # steps each", [spmv.window(4)]),
    ("sparse", "steps each (# where elements have 8 bytes)", [spmv.window(8)]),
    ("sparse", "neighboring columns, which take # steps", [rows._STEPS]),
    ("sparse", "Rows of more than # elements, where a matrix is multiplied of more than #",
     [rows.LONGEST, rows._PIECE]),
    (
        "order",
        "Rows of up to # elements (# of 8 bytes with indices, # of 16) are sorted in registers",
        [sort.row_shape(sort.order(np.dtype(each)), False).slots for each in "fdD"],
    ),
    ("order", "`partition` about one element of rows of 2^# elements", [rank.MIN_LENGTH.bit_length() - 1]),
    ("order", "`topk` of a row of 2^# elements or more", [topk._MIN_LENGTH.bit_length() - 1]),
    ("order", "For more than # elements rows have", [top_kernels.MAX_K]),
    ("order", "rows have 2^# or more", [greatest._MIN_LENGTH.bit_length() - 1]),
    (
        "order",
        "# sums of every # where the bin has more than # then",
        [256, 256, constant("pycuda/cuda/array/pycuda-histogram.hpp", r"OF_A_WARP = (\d+)")],
    ),
    ("random", "There are always # pseudo-random generators", [generators.GENERATORS]),
    ("random", "then those # later", [4 * generators.GENERATORS]),
    ("random", "There are always # quasi-random generators", [generators.DIMENSIONS]),
    ("random", "has #, after which they repeat", [sobol.LIMIT]),
    ("linear_algebra", "# x # of float32, # x # of float64 and complex64, # x # of complex128",
     [side for itemsize in (4, 8, 16) for side in 2 * [largest_square(itemsize)]]),
    ("compiler", "takes more than # seconds", [progress.AFTER]),
    ("cpu_device", "a cooperative grid has at most that many times the blocks that fit on one | #",
     [setting("PYCUDA_CPU_MULTIPROCESSORS")]),
    ("cpu_device", "`DEV_RUNTIME_PENDING_LAUNCH_COUNT` of them (#)",
     [constant("device/api/context/context.c", r"PENDING_LAUNCH_COUNT\] = (\d+)")]),
]  # fmt: skip


@pytest.mark.parametrize("page, words, numbers", NUMBERS, ids=[f"{row[0]}-{row[1]}" for row in NUMBERS])
def test_numbers_on_a_page_are_those_in_the_code(page, words, numbers):
    text = re.sub(r"[\s;]+", " ", (ROOT / "docs" / f"{page}.md").read_text())
    found = re.search(re.escape(words).replace(r"\#", r"([\d,]+)(?:st|nd|rd|th)?"), text)
    assert found, f"docs/{page}.md does not say it any more"
    assert [int(number.replace(",", "")) for number in found.groups()] == numbers
