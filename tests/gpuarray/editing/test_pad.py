"""pad, compared with NumPy."""

import numpy as np
import pytest
from against import same
from drawing import arrays, few, layouts, shapes
from hypothesis import given
from hypothesis import strategies as st

from pycuda._kernels.builtin import rearrange

pytestmark = pytest.mark.usefixtures("primary_context")


@few
@given(data=st.data())
def test_pad(data):
    pair = data.draw(arrays(["f4", "i4"], min_ndim=1, max_ndim=3))
    ndim = pair[0].ndim
    width = data.draw(st.one_of(
        st.integers(0, 7), st.tuples(*[st.tuples(st.integers(0, 7), st.integers(0, 7))] * ndim)
    ))  # fmt: skip
    modes = "constant edge linear_ramp maximum mean median minimum reflect symmetric wrap".split()
    mode = data.draw(st.sampled_from(modes))
    options = {}
    if mode == "constant" and data.draw(st.booleans()):
        options["constant_values"] = (3, 4)
    if mode == "linear_ramp" and data.draw(st.booleans()):
        options["end_values"] = -2
    if mode in ("reflect", "symmetric") and data.draw(st.booleans()):
        options["reflect_type"] = "odd"
    if mode in ("maximum", "mean", "median", "minimum") and data.draw(st.booleans()):
        options["stat_length"] = data.draw(st.integers(1, 3))
    same(lambda a: np.pad(a, width, mode, **options), pair, rtol=1e-5, atol=1e-4)


def test_pad_options():
    host = np.arange(6.0).reshape(2, 3)

    def function(line, width, axis, keywords):
        line[: width[0]] = keywords.get("value", 7)
        line[len(line) - width[1] :] = axis

    same(lambda a: np.pad(a, 1, function, value=3), host)
    same(lambda a: np.pad(a, ((1, 2), (0, 1)), "empty").shape, host)
    same(lambda a: np.pad(a, -1), host)
    same(lambda a: np.pad(a, 1, "nonsense"), host)
    same(lambda a: np.pad(a, 1, "edge", constant_values=3), host)
    if tuple(map(int, np.__version__.split(".")[:2])) >= (2, 2):
        same(lambda a: np.pad(a, {-1: (1, 2)}), host)


INDEXED = ["constant", "edge", "reflect", "symmetric", "wrap"]


@few
@given(
    st.sampled_from(["u1", "f2", "f4", "D", "V3", "V24"]),
    shapes(max_ndim=3),
    st.sampled_from(INDEXED),
    st.data(),
)
def test_elements_of_any_size_and_corners(dtype, shape, mode, data):
    dtype, rng = np.dtype(dtype), np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    host = rng.integers(0, 256, count, dtype=np.uint8).view(dtype).reshape(shape)
    if dtype.kind in "fc":
        host = np.nan_to_num(host)
    host, on_device = data.draw(layouts(host))
    max_width = 40 if host.size < 1000 else 3
    widths = data.draw(
        st.lists(st.tuples(*[st.integers(0, max_width)] * 2), min_size=host.ndim, max_size=host.ndim)
    )
    options = {}
    if mode == "constant" and dtype.kind != "V":
        options["constant_values"] = rng.integers(0, 100, (host.ndim, 2)).tolist()
    if not host.ndim:
        widths, options = 0, {}
    same(lambda a: np.pad(a, widths, mode, **options), (host, on_device))


@pytest.mark.parametrize("mode", INDEXED)
def test_kernels_for_results_of_more_than_2_31_elements(monkeypatch, mode):
    """The kernels with indices of 64 bits are chosen from _NARROW elements on: 1 chooses them here."""
    monkeypatch.setattr(rearrange, "_NARROW", 1)
    same(lambda a: np.pad(a, ((2, 9), (0, 1), (5, 4)), mode), np.arange(24.0).reshape(2, 3, 4))
