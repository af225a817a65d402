"""Functions of integers at the limits of each dtype, against NumPy."""

import numpy as np
import pytest
from special import evaluate, outputs, show_wrong

from pycuda._kernels.builtin.functions import TABLE

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, about division by 0

OF_INTEGERS = [row.name for row in TABLE.values() if isinstance(row.rule, np.ufunc) and "i" in row.body]


@pytest.mark.parametrize("index", range(len(OF_INTEGERS)), ids=OF_INTEGERS)
def test_integers_at_their_limits(index):
    """The lowest and the highest numbers and their neighbors, in pairs; a dtype a function, and int32."""
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
            continue  # clip; functions of floats
        if name == "power":
            operands[1] = np.where(operands[1] < 0, 2, operands[1]).astype(char)
        if name == "reciprocal":
            operands = [axis[axis != 0]]  # NumPy's 1 / 0 is what the host makes of it
        want, got = TABLE[name].rule(*operands), evaluate(name, operands)
        for one, other in zip(got, outputs(want), strict=True):
            assert one.dtype == other.dtype
            show_wrong(one != other, one, other, operands)
