"""Choices between arrays: choose, select, piecewise, where, compared with NumPy."""

import numpy as np
import pytest
from against import same

pytestmark = pytest.mark.usefixtures("primary_context")


rng = np.random.default_rng(2)


def test_choose_and_select():
    number, a, b = rng.integers(0, 2, (3, 4)), rng.normal(size=(3, 4)), rng.integers(0, 9, 4)
    same(lambda n, a, b: np.choose(n, [a, b]), number, a, b)
    same(lambda n, a, b: n.choose([a, b, 7]), number, a, b)
    for mode in ("raise", "wrap", "clip"):
        same(lambda n, a, b, m=mode: np.choose(n * 3 - 1, [a, b], mode=m), number, a, b)
    same(lambda n, a, o: (np.choose(n, [a, a], out=o), o), number, a, np.zeros((3, 4)))
    same(lambda n, a, b: np.select([a > 1, a > 0, a > -1], [a, b, 3], -7), number, a, b)
    same(lambda n, a, b: np.select([n > 0], [b]), number, a, b)
    same(lambda n, a, b: np.select([n], [b]), number, a, b)
    same(lambda n, a, b: np.piecewise(a, [a < 0, a > 1], [lambda x: -x, 2, lambda x: x * 10]), number, a, b)
    same(lambda n, a, b: np.piecewise(a, [a < 0], [5, lambda x: x]), number, a, b)
    same(lambda n, a, b: np.where(a > 0), number, a, b)
    same(lambda n, a, b: np.where(a > 0, a, 1), number, a, b)
    same(lambda n, a, b: np.where(a > 0, a), number, a, b)
