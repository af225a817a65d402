"""Conversions of sparse arrays to other formats, dense arrays and dtypes, compared with SciPy."""

import numpy as np
import pytest
from drawn import CLASSES, FORMATS, few, pairs
from hypothesis import given
from hypothesis import strategies as st
from matrices import sparse

from pycuda import gpuarray
from pycuda.sparse import coo_array, csr_array


def same(made, host):
    """Asserts that our array is the same matrix as SciPy's, with the same dtype."""
    back = made.get()
    assert made.format == back.format and made.dtype == back.dtype == host.dtype
    assert made.shape == back.shape == host.shape and made.nnz == back.nnz
    assert (back.toarray() == host.toarray()).all()


@few
@given(data=st.data())
def test_every_format_to_every_other(data):
    host, made = data.draw(pairs())
    same(made, host)
    for form in CLASSES:
        for copy in False, True:
            other = made.asformat(form, copy=copy)
            assert other.format == form and type(other) is CLASSES[form]
            same(other, host)
            same(other.T, host.T)
    assert made.asformat(None) is made and made.tocoo().tocoo().nnz == made.nnz


@few
@given(data=st.data())
def test_to_dense(data):
    host, made = data.draw(pairs())
    for order in None, "C", "F":
        dense = made.toarray(order)
        assert (dense.get() == host.toarray()).all()
        assert dense.flags.f_contiguous if order == "F" else dense.flags.c_contiguous
    out = gpuarray.empty(host.shape, host.dtype)
    assert made.todense(out=out) is out and (out.get() == host.toarray()).all()


@few
@given(data=st.data())
def test_duplicates_are_summed(data):
    host, made = data.draw(pairs())
    made.sum_duplicates()
    host = host.copy()
    host.sum_duplicates()
    assert made.has_canonical_format and made.nnz == host.nnz
    same(made, host)
    if made.format == "coo":
        indices = list(zip(made.row.get().tolist(), made.col.get().tolist(), strict=True))
        assert indices == sorted(indices)
    else:
        for name in "data", "indices", "indptr":
            assert (getattr(made, name).get() == getattr(host, name)).all()


@few
@given(data=st.data())
def test_indices_are_sorted(data):
    host, made = data.draw(pairs())
    if made.format == "coo":
        return
    fresh = type(host)((host.data, host.indices, host.indptr), host.shape)  # without the remembered property
    assert made.has_sorted_indices == fresh.has_sorted_indices
    made.sort_indices()
    assert made.has_sorted_indices
    lines = np.repeat(np.arange(host.indptr.size - 1), np.diff(host.indptr))
    order = np.lexsort((host.indices, lines))
    assert (made.indices.get() == host.indices[order]).all() and (made.data.get() == host.data[order]).all()
    assert (made.indptr.get() == host.indptr).all()


@few
@given(data=st.data())
def test_diagonals(data):
    host, made = data.draw(pairs())
    for k in (0, 1, -2, data.draw(st.integers(-400, 400))):
        found = made.diagonal(k)
        assert found.dtype == host.dtype and (found.get() == host.tocsr().diagonal(k)).all()


def test_duplicates_are_summed_in_order():
    """Duplicates are added in the order of the elements: in float32 1e8 + 1 - 1e8 is 0, but 1e8 - 1e8 + 1 is
    1."""
    indices = [0, 1, 0, 1, 0, 1], [2, 0, 2, 0, 2, 0]
    values = np.array([1e8, 1e8, 1, -1e8, -1e8, 1], np.float32)
    made = csr_array((values, indices), shape=(2, 3))
    assert made.nnz == 2 and made.data.get().tolist() == [0, 1]
    made = coo_array((values, indices), shape=(2, 3))
    assert made.nnz == 6 and made.toarray().get().tolist() == [[0, 0, 0], [1, 0, 0]]
    assert made.tocsc().data.get().tolist() == [1, 0]


def test_many_duplicates_of_one_element():
    count = 100_000
    values = np.random.default_rng(1).integers(-9, 10, count)
    made = coo_array((values, (np.full(count, 3), np.full(count, 1))), shape=(5, 4)).tocsr()
    assert made.nnz == 1 and made.data.get().tolist() == [values.sum()]


def test_memory_is_shared_unless_copied():
    host = sparse.csr_array(np.arange(6.0).reshape(2, 3))
    for form in "csr", "csc":
        made = CLASSES[form](host)
        assert made.T.data is made.data and made.asformat(form) is made and made.tocoo().data is made.data
        for copied in (
            made.copy(),
            made.transpose(copy=True),
            made.tocoo(copy=True),
            CLASSES[form](made, copy=True),
        ):
            copied.data.fill(7)
        assert (made.get() != host).nnz == 0
    coo = made.tocoo()
    assert coo.T.T.data is coo.data
    coo.copy().data.fill(7)
    coo.tocsr(copy=True).data.fill(7)
    assert (coo.get() != host).nnz == 0


def test_astype_and_conj():
    host = sparse.csr_array(np.array([[1.5, 0], [-2.5, 300]]))
    made = csr_array(host)
    for dtype in "f", "D", "i", "h", "?":
        assert made.astype(dtype).dtype == dtype
        same(made.astype(dtype), host.astype(dtype))
    assert made.astype("d", copy=False) is made and made.astype("d") is not made
    with pytest.raises(TypeError, match="according to the rule 'same_kind'"):
        made.astype("i", casting="same_kind")
    with pytest.raises(ValueError, match="dtype float16 are not supported"):
        made.astype("e")
    complex_ones = made.astype("D") * (1 + 2j)
    same(complex_ones.conj(), (host.astype("D") * (1 + 2j)).conj())
    assert made.conj() is made


@pytest.mark.parametrize("form", CLASSES)
def test_products_with_scalars(form):
    host = sparse.csr_array(np.arange(6.0, dtype=np.float32).reshape(2, 3)).asformat(form)
    made = CLASSES[form](host)
    for number in 2, 2.5, np.float64(3), 1j, np.float32(2), True:
        same(made * number, host * number)
        same(number * made, number * host)
    same(-made, -host)
    assert (made / 2).dtype == np.float32 and ((made / 2).get().toarray() == host.toarray() / 2).all()
    assert (made.dot(2).get() != host * 2).nnz == 0
    x = gpuarray.to_gpu(np.arange(3, dtype=np.float32))
    assert (made.dot(x).get() == host @ x.get()).all()


@given(form=FORMATS)
def test_repr_and_length(form):
    made = CLASSES[form]((3, 4))
    assert repr(made) == f"<{form}_array of dtype float64 and shape (3, 4) with 0 stored elements>"
    with pytest.raises(TypeError, match="length is ambiguous"):
        len(made)


def test_conversions_that_are_refused():
    made = csr_array((3, 4))
    with pytest.raises(ValueError, match="Format lil is unknown"):
        made.asformat("lil")
    with pytest.raises(ValueError, match="axes"):
        made.transpose((0, 1))
    with pytest.raises(ValueError, match="out must be of shape"):
        made.toarray(out=gpuarray.zeros((4, 3), np.float64))
    with pytest.raises(ValueError, match="order cannot be specified"):
        made.toarray("C", gpuarray.zeros((3, 4), np.float64))
