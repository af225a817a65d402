"""The scans of a source take time in proportion to its length, also if a comment, string or block does not
end.
"""

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
    """The text has 40 kB, for which a quadratic scan takes half a minute."""
    text, begin = opening * (40_000 // len(opening)), time.perf_counter()
    SCANS[scan](text)
    assert time.perf_counter() - begin < 5


@pytest.mark.parametrize("include", ['#/* {} */include "a.h"', '#include/* {} */"a.h"'])
def test_a_long_comment_in_an_include(include):
    """A long comment is not searched: the include counts as computed (None), so that the source is not
    cached.
    """
    assert includes._all_names(include.format("x")) == [("a.h", True)]
    assert (None, False) in includes._all_names(include.format("x" * 600))
