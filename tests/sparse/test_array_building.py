"""Sparse arrays made of matrices, dense arrays and index arrays, and arguments that are refused."""

import numpy as np
import pytest
from drawn import CLASSES, elements, few
from hypothesis import given
from hypothesis import strategies as st
from matrices import sparse

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.sparse import coo_array, csc_array, csr_array

EVERY = pytest.mark.parametrize("form", CLASSES)


def same(made, host):
    """Asserts that our array has the dtype, the shape and the elements of SciPy's."""
    assert made.dtype == host.dtype and made.shape == host.shape
    assert (made.get().toarray() == host.toarray()).all()


@few
@given(data=st.data())
def test_scipys_matrices_and_arrays(data):
    host = data.draw(elements(["f8", "c8"]))
    for form, cls in CLASSES.items():
        for given_form in "csr", "csc", "coo", "lil":
            for matrix in host.asformat(given_form), getattr(sparse, f"{given_form}_matrix")(host):
                made = cls(matrix)
                assert made.format == form
                same(made, host)


@few
@given(data=st.data())
def test_dense_matrices(data):
    host = data.draw(elements()).toarray()
    given = np.asfortranarray(host) if data.draw(st.booleans()) else host
    for cls in CLASSES.values():
        for matrix in given, gpuarray.to_gpu(given), gpuarray.to_gpu(given)[::-1][::-1]:
            made = cls(matrix)
            assert made.nnz == np.count_nonzero(host) and (made.get().toarray() == host).all()
            assert made.has_canonical_format or cls is coo_array


def test_nan_is_stored():
    made = csr_array(gpuarray.to_gpu(np.array([[np.nan, 0.0], [-0.0, np.inf]])))
    assert made.nnz == 2 and np.isnan(made.get()[0, 0])


@EVERY
def test_arrays_of_the_device(form):
    """GPUArrays are used without a copy, unless they have other dtypes or are not contiguous."""
    host = sparse.csr_array(np.arange(12.0).reshape(3, 4)).asformat(form)
    names = ("row", "col") if form == "coo" else ("indices", "indptr")
    arrays = [gpuarray.to_gpu(getattr(host, name)) for name in ("data", *names)]
    made = CLASSES[form](arrange(form, arrays), shape=(3, 4))
    same(made, host)
    assert made.data is arrays[0] and getattr(made, names[0]) is arrays[1]
    copied = CLASSES[form](arrange(form, arrays), shape=(3, 4), copy=True)
    copied.data.fill(0)
    same(made, host)
    spread = [gpuarray.to_gpu(np.repeat(each.get(), 2))[::2] for each in arrays]
    same(CLASSES[form](arrange(form, spread), shape=(3, 4)), host)
    short = [arrays[0], *(each.astype(np.uint8) for each in arrays[1:])]
    same(CLASSES[form](arrange(form, short), shape=(3, 4), dtype=np.float32), host.astype(np.float32))


def arrange(form, arrays):
    """The argument of a constructor of [data, row, col] ("coo") or [data, indices, indptr]."""
    return (arrays[0], tuple(arrays[1:])) if form == "coo" else tuple(arrays)


@EVERY
def test_rows_and_columns(form):
    """Made of (data, (row, column)), duplicates are summed as by SciPy, except in the COO format."""
    given = [1.0, 2.0, 4.0, 8.0], ([0, 2, 0, 1], [1, 0, 1, 3])
    made, host = CLASSES[form](given), getattr(sparse, f"{form}_array")(given)
    same(made, host)
    assert made.nnz == host.nnz == (4 if form == "coo" else 3)
    on_device = (
        gpuarray.to_gpu(np.array(given[0])),
        tuple(gpuarray.to_gpu(np.array(each)) for each in given[1]),
    )
    same(CLASSES[form](on_device, shape=(5, 6)), getattr(sparse, f"{form}_array")(given, shape=(5, 6)))


@EVERY
def test_arrays_without_stored_elements(form):
    for shape in (0, 0), (0, 4), (3, 0), (3, 4):
        made = CLASSES[form](shape, dtype=np.float32)
        same(made, sparse.csr_array(shape, dtype=np.float32))
        same(CLASSES[form](np.zeros(shape)), sparse.csr_array(shape))
        assert made.diagonal().get().tolist() == [0] * min(shape)


@EVERY
def test_arrays_are_made_of_our_arrays_of_each_format(form):
    host = sparse.csr_array(np.arange(12.0).reshape(3, 4))
    for other in CLASSES.values():
        same(CLASSES[form](other(host)), host)
        same(CLASSES[form](other(host), dtype=np.complex64), host.astype(np.complex64))


def test_without_a_shape_it_is_the_smallest_for_all_indices():
    assert csr_array(([1.0, 2.0], [3, 0], [0, 1, 1, 2])).shape == (3, 4)
    assert csc_array(([1.0, 2.0], [3, 0], [0, 1, 1, 2])).shape == (4, 3)
    assert coo_array(([1.0, 2.0], ([3, 0], [1, 7]))).shape == (4, 8)
    for empty in (([], [], [0, 0]), ([], ([], []))):
        with pytest.raises(ValueError, match="cannot infer dimensions from zero sized index arrays"):
            csr_array(empty)


def test_elements_after_the_last_row_are_left_out():
    made = csr_array(([1.0, 2.0, 3.0], [0, 1, 99], [0, 1, 2]), shape=(2, 2))
    assert made.nnz == 2 and made.get().toarray().tolist() == [[1, 0], [0, 2]]


# Arguments that are refused: (data, indices, indptr) for a shape of 2 rows and 5 columns, and the error's
# text.
BAD = {
    "decreasing": (([1.0, 2.0], [0, 1], [0, 2, 1]), "non-decreasing"),
    "not from 0": (([1.0, 2.0], [0, 1], [1, 1, 2]), "start with 0"),
    "too many": (([1.0, 2.0], [0, 1], [0, 1, 3]), "Last value of index pointer"),
    "too large": (([1.0, 2.0], [0, 5], [0, 1, 2]), r"indices must be >= 0 and < 5: 1 are not"),
    "negative": (([1.0, 2.0], [-1, -2], [0, 1, 2]), r"indices must be >= 0 and < 5: 2 are not"),
    "beyond 32 bits": (([1.0], [2**32 + 1], [0, 1, 1]), r"indices must be >= 0 and < 5: 1 are not"),
    "lengths": (([1.0, 2.0], [0], [0, 1, 1]), "indices and data should have the same size"),
    "pointers": (([1.0, 2.0], [0, 1], [0, 2]), "index pointer size 2 should be 3"),
}


@pytest.mark.parametrize("what", BAD)
def test_indices_and_starts_of_rows_that_do_not_fit_are_refused(what):
    given, text = BAD[what]
    for arrays in given, [gpuarray.to_gpu(np.array(each)) for each in given]:
        with pytest.raises(ValueError, match=text):
            csr_array(tuple(arrays), shape=(2, 5))
        with pytest.raises(ValueError, match=text):
            csc_array(tuple(arrays), shape=(5, 2))


@EVERY
@pytest.mark.parametrize(
    "rows, columns", [([0, 3], [0, 0]), ([0, 0], [4, 0]), ([-1, 0], [0, 0]), ([0, 0], [0, 2**40])]
)
def test_indices_beyond_the_shape_are_refused(form, rows, columns):
    with pytest.raises(ValueError, match=r"less than the shape \(3, 4\): 1 are not"):
        CLASSES[form](([1.0, 2.0], (rows, columns)), shape=(3, 4))


@EVERY
def test_wrong_axes_dtypes_and_shapes_are_refused(form):
    cls = CLASSES[form]
    for wrong, text in (
        (np.zeros(3), "two axes"),
        (np.zeros((2, 2, 2)), "two axes"),
        (([1.0], ([0], [0], [0])), "two axes"),
        (([[1.0]], ([0], [0])), "data has 2 axes"),
        (([1.0], ([[0]], [0])), "row has 2 axes"),
        (([1.0, 2.0], ([0], [0])), "same length"),
        ((-1, 3), "cannot be negative"),
        (np.zeros((2, 2), np.float16), "dtype float16 are not supported: use bool, integers, float32"),
    ):
        with pytest.raises(ValueError, match=text):
            cls(wrong)
    with pytest.raises(TypeError, match="row must be of integers, not of float64"):
        cls(([1.0], ([0.5], [0])))
    for shape, text in (((2, 2, 2), "two axes"), ((4, 4), "inconsistent shapes")):
        with pytest.raises(ValueError, match=text):
            cls(sparse.csr_array((3, 4)), shape=shape)


def test_without_a_check_no_index_is_read():
    """Neither the constructor nor a product waits for the indices to be examined: _facts, the result of that,
    is computed when a property needs it."""
    host = sparse.csr_array(np.arange(12.0).reshape(3, 4))
    arrays = [gpuarray.to_gpu(each) for each in (host.data, host.indices, host.indptr)]
    made = csr_array(tuple(arrays), shape=(3, 4), check=False)
    assert made._lines._facts is None
    x = np.arange(4.0)
    assert ((made @ gpuarray.to_gpu(x)).get() == host @ x).all() and made._lines._facts is None
    assert made.has_canonical_format and made._lines._facts is not None
    same(coo_array((arrays[0], (made.tocoo().row, arrays[1])), shape=(3, 4), check=False), host)


def test_an_array_made_during_a_capture():
    """The check of its indices waits, so it runs outside the capture, which stays valid and captures nothing
    of it."""
    host = sparse.csr_array(np.arange(12.0).reshape(3, 4))
    arrays = [gpuarray.to_gpu(each) for each in (host.data, host.indices, host.indptr)]
    drv.Context.synchronize()
    stream = drv.Stream()
    with stream.capture():
        made = csr_array(tuple(arrays), shape=(3, 4))
    same(made, host)


def test_without_scipy(run_python):
    """Only get(), which makes a sparse array of SciPy, needs SciPy."""
    run_python(
        """
        import sys
        sys.modules["scipy"] = None
        import numpy as np
        import pycuda.autoprimaryctx
        from pycuda import gpuarray
        from pycuda.sparse import coo_array, csr_array
        a = csr_array(([1.0, 2.0, 3.0], [0, 2, 1], [0, 2, 3]), shape=(2, 3))
        x = gpuarray.to_gpu(np.array([1.0, 10.0, 100.0]))
        assert (a @ x).get().tolist() == [201.0, 30.0] == (a.tocoo() @ x).get().tolist()
        assert coo_array(np.eye(3)).toarray().get().tolist() == np.eye(3).tolist()
        try:
            a.get()
        except ImportError as error:
            assert "pip install scipy" in str(error) and error.name == "scipy"
        else:
            raise AssertionError
        """,
        check=True,
    )
