"""Flat indices and indices along axes, and bits in bytes, compared with NumPy."""

import numpy as np
import pytest
from against import same

pytestmark = pytest.mark.usefixtures("primary_context")


rng = np.random.default_rng(2)


def test_flat_indices_and_indices_along_axes():
    shape = (3, 4, 5)
    numbers = rng.integers(0, 60, (2, 7))
    for order in "CF":
        same(lambda n, o=order: np.unravel_index(n, shape, o), numbers)
        parts = np.unravel_index(numbers, shape, order)
        same(lambda *p, o=order: np.ravel_multi_index(p, shape, order=o), *parts)
    same(lambda n: np.unravel_index(n + 60, shape), numbers)  # out of bounds
    for mode in ("raise", "wrap", "clip", ("wrap", "clip", "wrap")):
        same(lambda *p, m=mode: np.ravel_multi_index(p, (2, 3, 4), m), *np.unravel_index(numbers, shape))
    same(lambda n, m: np.ix_(n, m), numbers[0], numbers[1] > 20)
    same(np.argwhere, np.array(5))


@pytest.mark.parametrize("bitorder", ["big", "little"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_packbits_and_unpackbits(axis, bitorder):
    host = rng.integers(0, 3, (5, 11))
    same(lambda a: np.packbits(a, axis, bitorder), host)
    bits = rng.integers(0, 256, (3, 4)).astype(np.uint8)
    for count in (None, 5, 40, -2):
        same(lambda a, c=count: np.unpackbits(a, axis, c, bitorder), bits)
