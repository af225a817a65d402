"""Products of arrays, einsum, convolutions, norms, differences and gradients, compared with NumPy."""

import numpy as np
import pytest
from against import same
from drawing import arrays, few, numbers
from hypothesis import given
from hypothesis import strategies as st

from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")

rng = np.random.default_rng(5)


def draw(*shape, dtype="f8"):
    """Random numbers of a dtype."""
    return numbers(rng, shape, dtype)


SHAPES = [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2)), ((3, 4), (4, 2)), ((2, 3, 4), (4, 2)), ((), (3,)),
          ((3, 4), (5, 4, 2)), ((2, 3, 4), (5, 4, 2)), ((0, 4), (4, 2)), ((3, 0), (0, 2)), ((3, 4), (3, 4)),
          ((2, 3, 4), (4,))]  # fmt: skip


@pytest.mark.parametrize("dtypes", [("f8", "f8"), ("f4", "i4"), ("F", "F"), ("?", "?")], ids=str)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_dot_inner_outer_kron(shapes, dtypes):
    a, b = (draw(*shape, dtype=dtype) for shape, dtype in zip(shapes, dtypes, strict=True))
    for function in (np.dot, np.inner, np.outer, np.kron, np.vdot, lambda a, b: a.dot(b)):
        same(function, a, b, rtol=1e-4, atol=1e-3)


def test_scalars_and_out():
    a = draw(3, 4, dtype="f4")
    same(lambda a: np.dot(a, 2), a)
    same(lambda a: np.dot(a, np.float32(2)), a)
    same(lambda a: np.outer(a, 2.5), a)
    same(lambda a, o: (np.dot(a, a.T, out=o), o), a, np.zeros((3, 3), "f4"), rtol=1e-5, atol=1e-4)
    same(lambda a, o: (np.matmul(a, a.T, out=o), o), a, np.zeros((3, 3), "f8"), rtol=1e-5, atol=1e-4)
    same(lambda a: np.matmul(a, a.T, dtype="f8"), a, rtol=1e-5, atol=1e-4)
    same(lambda a: np.vecdot(a, a, axis=0), a, rtol=1e-5, atol=1e-4)
    with pytest.raises(TypeError, match="to_gpu"):
        np.dot(gpuarray.to_gpu(a), a.T)
    with pytest.raises(TypeError, match="to_gpu"):
        np.matmul(a, gpuarray.to_gpu(a.T))


@pytest.mark.parametrize("axes", [0, 1, 2, ([0, 1], [1, 0]), (1, 0), ([2], [0]), 3, ([0], [1, 0])], ids=str)
def test_tensordot(axes):
    same(lambda a, b: np.tensordot(a, b, axes), draw(2, 3, 4), draw(3, 2, 5), rtol=1e-12, atol=1e-12)
    same(lambda a, b: np.tensordot(a, b, axes), draw(4, 4, 3), draw(4, 4, 3), rtol=1e-12, atol=1e-12)


EINSUMS = """ij,jk->ik
ij,jk
ij->ji
ii
ii->i
ij->
ij->j
ij,ij->
ij,ij->i
ij,kj->ik
i,j->ij
i,i->i
bij,bjk->bik
bij,bij->b
...j,jk->...k
...ij,...jk
i...->...
ij,jk,kl->il
ij,jk,ki->
ij,jk,kl,lm->im
i,ij,j
abc,cbd->da
ij,j->ij
ij,->ij
ba,b
ijj->i
iji->j""".split("\n")


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("subscripts", EINSUMS)
def test_einsum(subscripts, optimize):
    names = subscripts.partition("->")[0].split(",")
    for dtype, rtol in (("f8", 1e-11), ("i4", 0)):
        operands = [
            draw(*[4] * len(name.replace("...", "xy")), dtype=dtype)  # an ellipsis stands for two axes
            for name in names
        ]
        same(lambda *a: np.einsum(subscripts, *a, optimize=optimize), *operands, rtol=rtol, atol=rtol)


def test_einsum_in_other_forms():
    a, b, row = draw(3, 4), draw(4, 5), draw(1, 4)
    near = {"rtol": 1e-12, "atol": 1e-12}
    same(lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [0, 2]), a, b, **near)
    same(lambda a, b: np.einsum(a, [0, 1], b, [1, 2]), a, b, **near)
    same(lambda a, r: np.einsum("ij,ij->i", a, r), a, row, **near)
    same(lambda a, r: np.einsum("ij,kj->ik", a, r[:, :1]), a, row, **near)
    same(lambda a, b: np.einsum("ij,jk", a, b, dtype="f8", order="F").flags.f_contiguous, a, b)
    same(lambda a, b, o: (np.einsum("ij,jk->ik", a, b, out=o), o), a, b, np.zeros((3, 5)), **near)
    same(lambda a: np.einsum("ij,ij->ij", a, a), a > 0)
    same(lambda a: np.einsum("ij->i", a), a > 0)
    same(lambda a: np.einsum("ij->i", a), draw(3, 40, dtype="i1"))
    for wrong in ("ij,jk->il", "ij->ij", "i,jk", "ij,jk->ii", "i1,jk", "ij,kk"):
        same(lambda a, b, wrong=wrong: np.einsum(wrong, a, b), a, b)
    same(lambda a, b: np.einsum_path("ij,jk,kl->il", a, b, b.T)[0], a, b)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("lengths", [(9, 4), (4, 9), (5, 5), (7, 1), (1, 1), (300, 6)])
def test_convolve_and_correlate(lengths, mode):
    for dtype in ("f8", "i4", "D"):
        a, v = (draw(length, dtype=dtype) for length in lengths)
        same(lambda a, v: np.convolve(a, v, mode), a, v, rtol=1e-11, atol=1e-11)
        same(lambda a, v: np.correlate(a, v, mode), a, v, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("dtype", ["f4", "i2", "?", "D", "e"])
@pytest.mark.parametrize("short", [15, 16, 17, 125, 126, 127, 135, 300])
def test_long_vectors(short, dtype):
    """More results than the 1152 of a block's tile, with factors of about as many elements as the 126 that a
    block loads at a time, or as many as a thread's 16."""
    rng = np.random.default_rng(short)
    a, v = (rng.integers(-4, 5, n).astype(dtype) for n in (short + 1152 + 7, short))
    for mode in ("full", "same", "valid"):
        same(lambda a, v, mode=mode: np.convolve(a, v, mode), a, v)
        same(lambda a, v, mode=mode: np.correlate(a[::-1], v[::-1], mode), a, v)


def test_values_that_are_not_finite_change_only_sums_that_have_them():
    a, v = np.ones(3000), np.ones(40)
    a[1500], a[0], a[-1], v[3] = np.nan, np.inf, np.inf, 0
    for mode in ("full", "same", "valid"):
        same(lambda a, v, mode=mode: np.convolve(a, v, mode), a, v)


@pytest.mark.parametrize("order", [None, 0, 1, -1, 2, 3, np.inf, -np.inf, "fro", 2.5])
@pytest.mark.parametrize("keepdims", [False, True])
def test_norm_and_vector_norm(order, keepdims):
    near = {"rtol": 1e-5, "atol": 1e-5}
    for dtype in ("f4", "i4", "D"):
        a = draw(3, 4, 5, dtype=dtype)
        for axis in (0, -1, (0, 1), (2, 0)):
            if isinstance(axis, tuple) and order == 2:
                continue  # of singular values: see test_least_squares.py
            same(lambda a, axis=axis: np.linalg.norm(a, order, axis, keepdims), a, **near)
    a = draw(3, 4)
    if order != 2:
        same(lambda a: np.linalg.norm(a, order), a, **near)
    same(lambda a: np.linalg.norm(a[0], order), a, **near)
    if order not in ("fro", None):
        same(lambda a: np.linalg.vector_norm(a, ord=order, keepdims=keepdims), a, **near)


@pytest.mark.parametrize("order", [0, 1, 2, 3, np.inf, -np.inf])
@few
@given(data=st.data())
def test_norms_in_any_layout(order, data):
    host, array = data.draw(arrays(["f4", "d", "F", "e", "i4"], min_ndim=1, max_ndim=2))
    if host.dtype.kind == "f" and host.size and data.draw(st.booleans()):
        places = np.random.default_rng(1).random(host.shape) < 0.05
        value = data.draw(st.sampled_from([np.nan, np.inf]))
        host = np.where(places, host.dtype.type(value), host)
        array[...] = gpuarray.to_gpu(host)
    axis = data.draw(st.integers(-host.ndim, host.ndim - 1))
    wide = host.astype("d") if host.dtype == "e" else host  # NumPy's sums in float16 would overflow
    if order == -np.inf and not host.shape[axis]:
        with pytest.raises(ValueError, match="no identity"):
            np.linalg.norm(array, order, axis)
        return
    got, want = np.linalg.norm(array, order, axis), np.linalg.norm(wide, order, axis)
    assert got.dtype == np.linalg.norm(np.ones(1, host.dtype), order).dtype
    bound = 2e-3 if host.dtype == "e" else 1e-5
    np.testing.assert_allclose(got.get(), want, rtol=bound)


def test_products_of_matrices():
    a, b, c, s = draw(3, 40), draw(40, 2), draw(2, 30), draw(4, 4)
    near = {"rtol": 1e-10, "atol": 1e-10}
    same(lambda *m: np.linalg.multi_dot(m), a, b, c, **near)
    same(lambda *m: np.linalg.multi_dot((m[0][0], *m[1:])), a, b, c, **near)
    same(lambda *m: np.linalg.multi_dot((*m, m[2][0])), a, b, c.T @ c, **near)
    for power in (0, 1, 2, 3, 7):
        same(lambda s, power=power: np.linalg.matrix_power(s, power), s, **near)
        same(lambda s, power=power: np.linalg.matrix_power(s, power), draw(2, 3, 3), **near)
    same(lambda a, b: np.cross(a, b), draw(5, 3), draw(5, 3), **near)
    same(lambda a, b: np.cross(a, b, 0, 1, 0), draw(3, 5), draw(5, 3), **near)


# ---- differences


@few
@given(data=st.data())
def test_diff(data):
    pair = data.draw(arrays(["f4", "i4", "?"], min_ndim=1, max_ndim=3))
    axis = data.draw(st.integers(-pair[0].ndim, pair[0].ndim - 1))
    n = data.draw(st.integers(0, 3))
    same(lambda a: np.diff(a, n, axis), pair, rtol=1e-5, atol=1e-4)
    same(lambda a: np.diff(a, n, axis, prepend=0), pair, rtol=1e-5, atol=1e-4)
    same(lambda a: np.diff(a, n, axis, append=a), pair, rtol=1e-5, atol=1e-4)


def test_ediff1d():
    a = draw(3, 4)
    same(np.ediff1d, a)
    same(lambda a: np.ediff1d(a, 9, a[0]), a)
    same(lambda a: np.ediff1d(a, 2.5), draw(4, dtype="i4"))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("shape", [(2,), (3,), (9,), (4, 5), (3, 4, 5)], ids=str)
def test_gradient(shape, order):
    near = {"rtol": 1e-5, "atol": 1e-5}
    for dtype in ("f4", "i4", "f8"):
        f = draw(*shape, dtype=dtype)
        same(lambda f: np.gradient(f, edge_order=order), f, **near)
        same(lambda f: np.gradient(f, 0.5, edge_order=order), f, **near)
        same(lambda f: np.gradient(f, axis=-1, edge_order=order), f, **near)
        x = np.cumsum(rng.random(shape[0]) + 0.5).astype("f8")
        same(lambda f, x: np.gradient(f, x, axis=0, edge_order=order), f, x, **near)
        if len(shape) == 2:
            same(lambda f: np.gradient(f, 2, 0.5, edge_order=order), f, **near)


def test_booleans_have_no_gradient():
    same(np.gradient, np.array([True, False, True]))


def test_trapezoid():
    y, x = draw(4, 7), np.cumsum(rng.random(7))
    trapezoid = getattr(np, "trapezoid", None) or np.trapz
    for dtype in ("f8", "i4"):
        y = y.astype(dtype)
        same(lambda y: trapezoid(y, dx=0.5), y, rtol=1e-12, atol=1e-12)
        same(lambda y, x: trapezoid(y, x), y, x, rtol=1e-12, atol=1e-12)
        same(lambda y, x: trapezoid(y, x[:4], axis=0), y, x, rtol=1e-12, atol=1e-12)


def test_unwrap():
    p = np.cumsum(draw(3, 40), axis=1)
    same(np.unwrap, p, rtol=1e-12, atol=1e-10)
    same(lambda p: np.unwrap(p, axis=0), p, rtol=1e-12, atol=1e-10)
    same(lambda p: np.unwrap(p, 4.0), p, rtol=1e-12, atol=1e-10)
    same(lambda p: np.unwrap(p, period=4), p, rtol=1e-12, atol=1e-10)
    same(lambda p: np.unwrap(p, period=10), (p * 5).astype("i4"))


def test_cumulative_sums_and_functions_of_vectors():
    a = draw(3, 5, dtype="i4")
    if hasattr(np, "cumulative_sum"):
        for initial in (False, True):
            same(lambda a, i=initial: np.cumulative_sum(a, axis=1, include_initial=i), a)
            same(lambda a, i=initial: np.cumulative_prod(a[0], include_initial=i), a)
        same(np.cumulative_sum, a)
    same(lambda a: np.vander(a, 4), a[0])
    same(lambda a: np.vander(a, increasing=True), a[0] * 0.5)
    same(lambda a: np.polyval([2, 0, -1], a), a * 0.5)
    same(np.sinc, a * 0.25, rtol=1e-12, atol=1e-12)
