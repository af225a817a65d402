"""Functions of integers at the limits of each dtype, compared with NumPy."""

import numpy as np
import pytest
from special import evaluate, outputs, show_wrong

from pycuda._kernels.builtin.functions import TABLE

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, about division by 0

OF_INTEGERS = [row.name for row in TABLE.values() if isinstance(row.rule, np.ufunc) and "i" in row.body]


@pytest.mark.parametrize("index", range(len(OF_INTEGERS)), ids=OF_INTEGERS)
def test_integers_at_their_limits(index):
    """Operands are the minimum and the maximum of a dtype, their neighbors and small numbers, in all pairs.
    Each function is tested with int32 and with one further dtype."""
    name = OF_INTEGERS[index]
    for char in {"bBhHIqQ"[index % 7], "i"}:
        limits = np.iinfo(char)
        numbers = [*range(10), 63, 64, 65, limits.max // 2 + 1, limits.max - 1, limits.max]
        numbers += [limits.min, limits.min // 2]
        numbers += [-1, -2, -3, -7] if limits.min else []
        axis = np.unique(np.array(numbers, char))
        pairs = [np.repeat(axis, len(axis)), np.tile(axis, len(axis))]
        operands = [axis] if TABLE[name].rule.nin == 1 else pairs
        if TABLE[name].rule.nin == 3 or TABLE[name].rule.types[0].startswith("e"):
            continue  # clip, and functions that compute floats
        if name == "power":
            operands[1] = np.where(operands[1] < 0, 2, operands[1]).astype(char)
        if name == "reciprocal":
            operands = [axis[axis != 0]]  # the result of 1 / 0 depends on the host's processor
        want, got = TABLE[name].rule(*operands), evaluate(name, operands)
        for one, other in zip(got, outputs(want), strict=True):
            assert one.dtype == other.dtype
            show_wrong(one != other, one, other, operands)
