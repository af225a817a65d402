"""Assignment by masks and by indices: place, putmask, copyto, put_along_axis, compared with NumPy."""

import numpy as np
import pytest
from against import same
from drawing import arrays, few
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.usefixtures("primary_context")


DTYPES = ["f4", "i4", "?"]


rng = np.random.default_rng(2)


@few
@given(data=st.data())
def test_functions_that_assign_to_some_elements(data):
    pair = data.draw(arrays(DTYPES, max_ndim=3))
    mask = rng.random(pair[0].shape) < 0.5
    values = np.arange(1, data.draw(st.integers(1, 5)) + 1)

    def check(function):
        """Compares arrays after function(array, mask, values) changed them."""

        def call(a, m, v):
            a = a.copy()
            function(a, m, v.astype(a.dtype))
            return a

        same(call, pair, mask, values)

    check(lambda a, m, v: np.place(a, m, v))
    check(lambda a, m, v: np.putmask(a, m, v))
    check(lambda a, m, v: np.copyto(a, v[0], where=m))
    # Different indices only: which of two values for one element is stored is undefined.
    check(lambda a, m, v: np.put(a, [0, -1][: a.size], v))
    check(lambda a, m, v: a.flat.__setitem__(slice(None), v))


def test_copyto_casts_options():
    ints, floats = np.arange(4), np.arange(4) + 0.5
    same(lambda a, b: (np.copyto(a, b), a), ints, floats)
    same(lambda a, b: (np.copyto(a, b, "unsafe"), a), ints, floats)
    same(lambda a, b: (np.copyto(b, a), b), ints, floats)
    same(lambda a: (np.copyto(a, 7), a), floats)
    same(lambda a, b: (np.copyto(a, b[:, None]), a), ints, floats)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_put_along_axis(axis):
    host, numbers = rng.normal(size=(3, 4)), np.array([[2, 0, 1]])
    numbers = numbers.T if axis else numbers[:, [0, 1, 2, 0]] % 3
    same(lambda a, n: (np.put_along_axis(a, n, 7, axis), a), host, numbers)
    same(lambda a, n, v: (np.put_along_axis(a, n, v, axis), a), host, numbers, numbers * 2.0)
