"""The scans of a source take time in proportion to its length, whatever does not end in it."""

import time

import pytest

from pycuda._compile import attributes, includes, signatures, source, textures
from pycuda._kernels.user import parsing

SCANS = {
    "wrap": lambda text: source.wrap(text + "\n#include", extern_c=True, is_users=bool),
    "textures": lambda text: textures.annotate(text + " texture<float> x;"),
    "includes": includes._all_names,
    "signatures": lambda text: signatures.types(text + " __global__", (), "k"),
    "expressions": parsing._without_comments,
    "attributes": lambda text: attributes.moved(text + "} __align__(4);", attributes.names([text])),
}


@pytest.mark.parametrize("scan", SCANS)
@pytest.mark.parametrize("opening", ["/*", "#/*", 'R"(', '"', "'", "//", "{/*", "__has_include/*", "struct{"])
def test_a_scan_of_openings_without_an_end_takes_linear_time(scan, opening):
    """The text has 40 kB: quadratic scans took half a minute."""
    text, begin = opening * (40_000 // len(opening)), time.perf_counter()
    SCANS[scan](text)
    assert time.perf_counter() - begin < 5


@pytest.mark.parametrize("include", ['#/* {} */include "a.h"', '#include/* {} */"a.h"'])
def test_a_long_comment_in_an_include(include):
    """It is not looked through: the source is not cached, as if the name were a macro's."""
    assert includes._all_names(include.format("x")) == [("a.h", True)]
    assert (None, False) in includes._all_names(include.format("x" * 600))
