"""Results that are not views in NumPy have their own memory, even if nothing is to be computed: reductions
along axes of length 1 or over no axes, conversions to the dtype that an array has.

`test_numpy_names.py` checks this for one ordinary call of every function and method.
"""

import numpy as np
import pytest
from against import check_memory

from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")

HOST = {
    "m": np.array([[3, 1, 2, 5], [0.5, 4, -1, 2]], np.float32),
    "v": np.array([3, 1, 2, 5], np.float32),
    "i": np.array([3, 0, 2, 1]),
    "t": np.array([True, False, True, True]),
    "c": np.array([1 + 2j, 3 - 1j], np.complex64),
}
FOLDS = """add multiply maximum minimum fmax fmin logaddexp logaddexp2 hypot bitwise_and bitwise_or
bitwise_xor gcd lcm logical_and logical_or logical_xor""".split()
CALLS = """
+m | +i | +c | np.positive(m) | np.conj(m) | m.conj() | np.astype(m, m.dtype) | m.astype(m.dtype)
m.astype(m.dtype, copy=False) | i.round() | t.round() | np.round(i, 2) | np.round(m, 8) | np.fix(i)
np.trunc(i) | np.floor(t) | np.absolute(t) | np.rint(m) | np.real(m) | np.real(c) | np.squeeze(m[:1])
m.sum(axis=()) | m.max(axis=()) | m[:1].max(axis=0) | m[:1].sum(axis=0) | m[:1].cumsum(0)
t[None].any(axis=0) | m.flatten()
m[:1].mean(axis=0) | np.clip(m, None, 100) | np.ravel(m) | np.ravel(m.T) | m.T.reshape(8)
np.repeat(v, 1) | np.tile(v, 1) | np.roll(v, 0) | np.rot90(m, 4) | np.pad(v, 0) | np.concatenate([v])
np.concatenate([m], axis=None) | np.hstack([v]) | np.block([[m]]) | np.delete(v, []) | np.diff(v, n=0)
np.sort(v[:1]) | np.sort(m[:1], axis=0) | np.partition(v[:1], 0) | np.unique(v[:1]) | np.take(v, i) | v[i]
v[t] | v[...] | v[True] | np.where(t, v, v) | np.nan_to_num(i) | np.nan_to_num(v, copy=False)
np.real_if_close(c) | np.meshgrid(v, v, copy=False) | np.meshgrid(v) | np.triu(m, -5) | np.trim_zeros(v)
np.median(m[:1], axis=0) | np.quantile(m[:1], 0, axis=0) | np.nansum(m[:1], axis=0) | np.ptp(m[:1], axis=0)
np.average(m[:1], axis=0) | np.einsum("ij->ij", m) | np.einsum("ij->j", m[:1]) | np.unwrap(v[:1]) | np.copy(v)
np.array(v, like=v) | np.ascontiguousarray(v, like=v) | np.resize(v, (4,)) | np.modf(m) | i >> 0 | i | m ** 1
np.apply_over_axes(np.max, m[:1], 0) | np.linalg.norm(m[:1], axis=0) | np.convolve(v, v[:1])
m.swapaxes(0, 0)
"""


def check(call):
    """Asserts check_memory() for a function of the arrays in HOST, which it takes by name."""
    on_device = {name: gpuarray.to_gpu(array) for name, array in HOST.items()}
    check_memory(call(**on_device), call(**HOST), on_device, HOST)


@pytest.mark.filterwarnings("ignore:.*fix:DeprecationWarning")  # from NumPy 2.5 on
@pytest.mark.parametrize("calls", CALLS.strip().split("\n"))
def test_nothing_to_compute(calls):
    for text in calls.split(" | "):
        check(eval("lambda m, v, i, t, c: " + text, {"np": np}))


@pytest.mark.parametrize("name", FOLDS)
def test_folds_of_one_element(name):
    ufunc = getattr(np, name)
    for keywords in ({"axis": 0}, {"axis": 0, "keepdims": True}, {"axis": ()}):
        check(lambda i, u=ufunc, k=keywords, **others: u.reduce(i[None], **k))
    if name in ("fmax", "fmin", "maximum", "logaddexp", "hypot"):
        check(lambda m, u=ufunc, **others: u.reduce(m[:1]))
        check(lambda m, u=ufunc, **others: u.accumulate(m[:1]))
    if name.startswith("logical"):
        check(lambda t, u=ufunc, **others: u.reduceat(t, [0, 1, 2, 3], dtype=bool))
