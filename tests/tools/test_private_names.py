"""Names that PyCUDA keeps to itself and programs use all the same."""

import pytest

from pycuda import tools


def test_rounding_of_integers():
    assert [tools._int_ceiling(7, 4), tools._int_ceiling(8, 4), tools._int_ceiling(2.5)] == [8, 8, 3]
    assert [tools._int_floor(7, 4), tools._int_floor(8, 4), tools._int_floor(2.5)] == [4, 8, 2]
    assert tools._exact_div(12, 4) == 3
    with pytest.raises(AssertionError, match="5 does not divide 12"):
        tools._exact_div(12, 5)
