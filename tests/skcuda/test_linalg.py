"""Functions of skcuda.linalg, compared with NumPy and SciPy."""

import inspect

import numpy as np
import pytest
import scipy.linalg
from devices import needs_library
from numpy.testing import assert_allclose

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.gpuarray import to_gpu
from skcuda import cublas, linalg

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
every_dtype = pytest.mark.parametrize("dtype", DTYPES)
every_order = pytest.mark.parametrize("order", "CF")


@pytest.fixture
def factorizations():
    needs_library("cublas")
    needs_library("cusolver")


def random(dtype, *shape, order="C"):
    """An array of numbers in [-0.5, 0.5)."""
    generator = np.random.default_rng([ord(np.dtype(dtype).char), *shape])
    values = generator.random(shape) - 0.5
    if np.dtype(dtype).kind == "c":
        values = values + 1j * (generator.random(shape) - 0.5)
    return np.asarray(values, dtype, order=order)


def positive(dtype, n, order="C"):
    """A random positive definite matrix."""
    a = random(dtype, n, n)
    return np.asarray(a @ a.conj().T + n * np.eye(n), dtype, order=order)


def close(dtype):
    """assert_allclose's keywords for results of a dtype."""
    return {"rtol": 1e-3, "atol": 1e-4} if np.dtype(dtype).char in "fF" else {"rtol": 1e-9, "atol": 1e-10}


# ---- products


@every_dtype
def test_dot_of_vectors(dtype):
    x, y = random(dtype, 9), random(dtype, 9)
    result = linalg.dot(to_gpu(x), to_gpu(y))
    assert isinstance(result, np.generic) and result.dtype == dtype
    assert_allclose(result, x @ y, **close(dtype))


@every_order
@pytest.mark.parametrize("transa, transb", ["NN", "tn", "NT", "CT", "cc"])
@every_dtype
def test_dot_of_matrices(dtype, transa, transb, order):
    operation = {"n": lambda a: a, "t": lambda a: a.T, "c": lambda a: a.conj().T}
    a = random(dtype, *((4, 3) if transa == "N" else (3, 4)), order=order)
    b = random(dtype, *((3, 5) if transb in "Nn" else (5, 3)), order=order)
    want = operation[transa.lower()](a) @ operation[transb.lower()](b)
    result = linalg.dot(to_gpu(a), to_gpu(b), transa, transb)
    assert_allclose(result.get(), want, **close(dtype))
    assert result.flags.f_contiguous == (order == "F")
    out = gpuarray.empty((4, 5), dtype)
    assert linalg.dot(to_gpu(a), to_gpu(b), transa, transb, out=out) is out
    assert_allclose(out.get(), want, **close(dtype))


def test_dot_of_a_matrix_and_a_vector():
    a, x, y = random(float, 4, 3), random(float, 3), random(float, 4)
    assert_allclose(linalg.dot(to_gpu(a), to_gpu(x)).get(), a @ x)
    assert_allclose(linalg.dot(to_gpu(y), to_gpu(a)).get(), y @ a)
    assert_allclose(linalg.dot(to_gpu(a), to_gpu(y), transa="T").get(), a.T @ y)
    a_gpu = to_gpu(a)
    assert_allclose(linalg.dot(a_gpu[:, 0], a_gpu[:, 1]), a[:, 0] @ a[:, 1])


@every_order
@every_dtype
def test_add_dot(dtype, order):
    a, b, c = (random(dtype, *shape, order=order) for shape in ((3, 4), (3, 5), (4, 5)))
    c_gpu = to_gpu(c)
    assert linalg.add_dot(to_gpu(a), to_gpu(b), c_gpu, transa="C", alpha=2, beta=0.5) is c_gpu
    want = 2 * (a.conj().T @ b) + 0.5 * c
    assert_allclose(c_gpu.get(), want, **close(dtype))
    linalg.add_dot(to_gpu(a), to_gpu(b), c_gpu, "T", beta=0)
    assert_allclose(c_gpu.get(), a.T @ b, **close(dtype))


@every_dtype
def test_mdot(dtype):
    a, b, c = random(dtype, 4, 2), random(dtype, 2, 2), random(dtype, 2, 3)
    assert_allclose(linalg.mdot(*map(to_gpu, (a, b, c))).get(), a @ b @ c, **close(dtype))
    with pytest.raises(TypeError, match="other"):
        linalg.mdot(to_gpu(a), other=1)


@every_order
@every_dtype
def test_dot_diag(dtype, order):
    d, a = random(dtype, 5), random(dtype, 5, 3, order=order)
    a_gpu = to_gpu(a)
    assert_allclose(linalg.dot_diag(to_gpu(d), a_gpu).get(), np.diag(d) @ a, **close(dtype))
    assert_allclose(a_gpu.get(), a)
    assert linalg.dot_diag(to_gpu(d), a_gpu, overwrite=True) is a_gpu
    assert_allclose(a_gpu.get(), np.diag(d) @ a, **close(dtype))
    transposed = np.asarray(a.T, order=order)
    result = linalg.dot_diag(to_gpu(d), to_gpu(transposed), "t")
    assert_allclose(result.get(), (np.diag(d) @ transposed.T).T, **close(dtype))
    with pytest.raises(ValueError, match="do not fit"):
        linalg.dot_diag(to_gpu(d), to_gpu(transposed))


# ---- matrices


@every_order
@every_dtype
def test_add_diag(dtype, order):
    d, a = random(dtype, 4), random(dtype, 4, 4, order=order)
    a_gpu = to_gpu(a)
    assert_allclose(linalg.add_diag(to_gpu(d), a_gpu).get(), a + np.diag(d), **close(dtype))
    assert_allclose(a_gpu.get(), a)
    assert linalg.add_diag(to_gpu(d), a_gpu, overwrite=True) is a_gpu
    assert_allclose(a_gpu.get(), a + np.diag(d), **close(dtype))


@every_order
@every_dtype
def test_transpose_and_hermitian(dtype, order):
    a = random(dtype, 3, 5, order=order)
    for function, want in (linalg.transpose, a.T), (linalg.hermitian, a.conj().T):
        result = function(to_gpu(a))
        assert (result.get() == want).all()
        assert result.flags.f_contiguous == (order == "F")


@every_dtype
def test_conj(dtype):
    x = random(dtype, 3, 4)
    x_gpu = to_gpu(x)
    assert (linalg.conj(x_gpu).get() == x.conj()).all() and (x_gpu.get() == x).all()
    assert linalg.conj(x_gpu, overwrite=True) is x_gpu
    assert (x_gpu.get() == x.conj()).all()


@every_order
@every_dtype
def test_diag(dtype, order):
    v = random(dtype, 6)
    assert (linalg.diag(to_gpu(v)).get() == np.diag(v)).all()
    assert (linalg.diag(to_gpu(v[:, None])).get() == np.diag(v)).all()
    for shape in (4, 7), (7, 4):
        a = random(dtype, *shape, order=order)
        assert (linalg.diag(to_gpu(a)).get() == np.diag(a)).all()
    with pytest.raises(ValueError, match="3 axes"):
        linalg.diag(gpuarray.zeros((2, 2, 2), dtype))


def test_eye():
    assert (linalg.eye(5).get() == np.eye(5)).all() and linalg.eye(5).dtype == np.float32
    assert linalg.eye(3, np.complex64).dtype == np.complex64


@every_order
@every_dtype
def test_tril_and_triu(dtype, order):
    a = random(dtype, 5, 5, order=order)
    for function, want in (linalg.tril, np.tril(a)), (linalg.triu, np.triu(a)):
        a_gpu = to_gpu(a)
        assert (function(a_gpu).get() == want).all() and (a_gpu.get() == a).all()
        assert function(a_gpu, overwrite=True) is a_gpu
        assert (a_gpu.get() == want).all()
    assert (linalg.triu(to_gpu(a), k=1).get() == np.triu(a, 1)).all()
    with pytest.raises(ValueError, match="square"):
        linalg.tril(gpuarray.zeros((2, 3), dtype))


@every_dtype
def test_multiply_and_scale(dtype):
    x, y = random(dtype, 4, 4), random(dtype, 4, 4)
    x_gpu, y_gpu = to_gpu(x), to_gpu(y)
    assert_allclose(linalg.multiply(x_gpu, y_gpu).get(), x * y, **close(dtype))
    assert linalg.multiply(x_gpu, y_gpu, overwrite=True) is y_gpu
    assert_allclose(y_gpu.get(), x * y, **close(dtype))
    assert linalg.scale(2.4, x_gpu) is None
    assert_allclose(x_gpu.get(), 2.4 * x, **close(dtype))
    assert x_gpu.dtype == dtype
    with pytest.raises(ValueError, match="differ"):
        linalg.multiply(x_gpu, gpuarray.zeros(4, dtype))


def test_scale_by_complex_numbers():
    x = random(np.complex64, 5)
    x_gpu = to_gpu(x)
    linalg.scale(1 - 2j, x_gpu)
    assert_allclose(x_gpu.get(), (1 - 2j) * x, rtol=1e-6)
    linalg.scale(2, x_gpu, alpha_real=True)
    assert_allclose(x_gpu.get(), 2 * (1 - 2j) * x, rtol=1e-6)


@every_dtype
def test_vander(dtype):
    a = random(dtype, 4)
    for n in None, 3, 6:
        want = np.vander(a, n, increasing=True)
        assert_allclose(linalg.vander(to_gpu(a), n).get(), want, **close(dtype))


# ---- functions that return numbers


@every_dtype
def test_norm_and_trace(dtype):
    a = random(dtype, 5, 5)
    assert_allclose(linalg.norm(to_gpu(a)), np.linalg.norm(a), **close(dtype))
    assert isinstance(linalg.norm(to_gpu(a)), float)
    assert_allclose(linalg.trace(to_gpu(a)), np.trace(a), **close(dtype))
    with pytest.raises(ValueError, match="1 axes"):
        linalg.trace(gpuarray.zeros(3, dtype))


@every_order
@every_dtype
def test_det(factorizations, dtype, order):
    a = random(dtype, 5, 5, order=order)
    a_gpu = to_gpu(a)
    assert_allclose(linalg.det(a_gpu), np.linalg.det(a), **close(dtype))
    assert_allclose(linalg.det(a_gpu, overwrite=True), np.linalg.det(a), **close(dtype))
    with pytest.raises(ValueError, match="square"):
        linalg.det(gpuarray.zeros((2, 3), dtype))


# ---- inverses and factorizations


@every_order
@every_dtype
def test_inv(factorizations, dtype, order):
    a = (positive(dtype, 5) + random(dtype, 5, 5)).astype(dtype, order=order)
    a_gpu = to_gpu(a)
    result = linalg.inv(a_gpu)
    assert_allclose(result.get(), np.linalg.inv(a), **close(dtype))
    assert result.flags.f_contiguous == (order == "F") and (a_gpu.get() == a).all()
    assert linalg.inv(a_gpu, overwrite=True, ipiv_gpu=gpuarray.empty(5, np.int32)) is a_gpu
    assert_allclose(a_gpu.get(), np.linalg.inv(a), **close(dtype))


def test_what_inv_refuses(factorizations):
    with pytest.raises(linalg.LinAlgError):
        linalg.inv(gpuarray.zeros((3, 3), float))
    with pytest.raises(ValueError, match="square"):
        linalg.inv(gpuarray.zeros((3, 2), float))
    with pytest.raises(ValueError, match="ipiv_gpu must be a vector of 3 int32"):
        linalg.inv(linalg.eye(3), ipiv_gpu=gpuarray.empty(2, np.int32))
    with pytest.raises(ValueError, match="lib is 'magma'"):
        linalg.inv(linalg.eye(3), lib="magma")


@every_order
@every_dtype
def test_pinv(factorizations, dtype, order):
    for shape in (8, 4), (4, 4), (3, 6):
        a = random(dtype, *shape, order=order)
        assert_allclose(linalg.pinv(to_gpu(a)).get(), np.linalg.pinv(a), **close(dtype))


@every_order
@pytest.mark.parametrize("jobu, jobvt", ["AA", "ss", "AS", "SA"])
@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5)])
@every_dtype
def test_svd(factorizations, dtype, shape, jobu, jobvt, order):
    a = random(dtype, *shape, order=order)
    min_side = min(shape)
    u, s, vh = (each.get() for each in linalg.svd(to_gpu(a), jobu, jobvt))
    assert u.shape == (shape[0], shape[0] if jobu == "A" else min_side)
    assert vh.shape == (shape[1] if jobvt == "A" else min_side, shape[1])
    assert_allclose(s, np.linalg.svdvals(a), **close(dtype))
    assert_allclose((u[:, :min_side] * s) @ vh[:min_side], a, **close(dtype))


def test_svd_of_fewer_results_and_in_place(factorizations):
    """With the job "N" a factor is left out; with "O" it is written to the operand's memory."""
    a = random(float, 5, 5)
    assert_allclose(linalg.svd(to_gpu(a), "N", "N").get(), np.linalg.svdvals(a))
    u, s = linalg.svd(to_gpu(a), "A", "N")
    same_s, vh = linalg.svd(to_gpu(a), "N", "A")
    assert_allclose(s.get(), same_s.get())
    assert_allclose(abs(np.diag(u.get().T @ a @ vh.get().T)), s.get())
    for jobs in "OS", "SO":
        memory = to_gpu(a)
        u, s, vh = linalg.svd(memory, *jobs)
        assert (u if jobs == "OS" else vh) is memory
        assert_allclose((u.get() * s.get()) @ vh.get(), a)
    with pytest.raises(ValueError, match="square"):
        linalg.svd(gpuarray.zeros((3, 2), float), "O", "S")
    with pytest.raises(ValueError, match="one of jobu and jobvt"):
        linalg.svd(to_gpu(a), "O", "O")
    with pytest.raises(ValueError, match="jobu is 'x'"):
        linalg.svd(to_gpu(a), "x")


@every_order
@pytest.mark.parametrize("uplo", "LU")
@every_dtype
def test_cholesky(factorizations, dtype, uplo, order):
    """uplo names a triangle of the matrix that cuSOLVER sees: of a row-major array, the transpose."""
    a = positive(dtype, 5, order)
    lower = (uplo == "L") == (order == "F")  # the triangle of a
    want = scipy.linalg.cholesky(a, lower=lower)
    a_gpu = to_gpu(a)
    assert linalg.cholesky(a_gpu, uplo) is None
    assert_allclose(a_gpu.get(), want, **close(dtype))
    a_gpu = to_gpu(a)
    linalg.cho_factor(a_gpu, uplo)
    unchanged = np.triu(a, 1) if lower else np.tril(a, -1)
    assert_allclose(a_gpu.get(), want + unchanged, **close(dtype))


@every_order
@pytest.mark.parametrize("uplo", "LU")
@every_dtype
def test_cho_solve(factorizations, dtype, uplo, order):
    a, b = positive(dtype, 5, order), random(dtype, 5)
    a_gpu, b_gpu = to_gpu(a), to_gpu(b)
    assert linalg.cho_solve(a_gpu, b_gpu, uplo) is None
    as_columns = a if order == "F" else a.T  # the matrix that cuSOLVER sees
    assert_allclose(b_gpu.get(), np.linalg.solve(as_columns, b), **close(dtype))
    lower = (uplo == "L") == (order == "F")
    triangle = np.tril if lower else np.triu
    assert_allclose(triangle(a_gpu.get()), scipy.linalg.cholesky(a, lower=lower), **close(dtype))
    several = random(dtype, 5, 3, order="F")
    b_gpu = to_gpu(several)
    linalg.cho_solve(to_gpu(a), b_gpu, uplo)
    assert_allclose(b_gpu.get(), np.linalg.solve(as_columns, several), **close(dtype))


def test_a_matrix_that_is_not_positive_definite(factorizations):
    with pytest.raises(linalg.LinAlgError):
        linalg.cho_factor(to_gpu(np.diag([1.0, -1])))


@every_order
@every_dtype
def test_qr(factorizations, dtype, order):
    a = random(dtype, 9, 7, order=order)
    q, r = linalg.qr(to_gpu(a), "reduced")
    want_q, want_r = np.linalg.qr(a)
    assert q.flags.f_contiguous and r.flags.f_contiguous
    assert_allclose(q.get(), want_q, **close(dtype))
    assert_allclose(r.get(), want_r, **close(dtype))
    assert_allclose(linalg.qr(to_gpu(a), "economic").get(), want_q, **close(dtype))
    assert_allclose(linalg.qr(to_gpu(a), "r").get(), want_r, **close(dtype))
    with pytest.raises(ValueError, match="mode is 'full'"):
        linalg.qr(to_gpu(a), "full")


@every_dtype
def test_eigenvectors_of_a_hermitian_matrix(factorizations, dtype):
    a = positive(dtype, 5, "F")
    vr, w, vl = (each.get() for each in linalg.eig(to_gpu(a), "V", "V"))
    assert_allclose(w, np.linalg.eigvalsh(a), **close(dtype))
    assert_allclose(a @ vr, vr * w, **close(dtype))
    assert_allclose((vr * w) @ vl.conj().T, a, **close(dtype))
    vr, w_gpu = linalg.eig(to_gpu(a))
    assert vr.shape == (5, 5) and w_gpu.shape == (5,)
    w_gpu, vl = linalg.eig(to_gpu(a), "V", "N")
    assert w_gpu.shape == (5,) and vl.shape == (5, 5)
    assert_allclose(linalg.eig(to_gpu(a), "N", "N").get(), w, **close(dtype))


@every_dtype
def test_eigenvectors_of_other_matrices(factorizations, dtype):
    a = random(dtype, 5, 5, order="F")
    vr, w, vl = (each.get() for each in linalg.eig(to_gpu(a), "V", "V", imag="T"))
    assert_allclose(a @ vr, vr * w, **close(dtype))
    assert_allclose(vl.conj().T @ a, w[:, None] * vl.conj().T, **close(dtype))
    assert_allclose(np.linalg.norm(vl, axis=0), 1, **close(dtype))
    assert_allclose(linalg.eig(to_gpu(a), "N", "N").get().sum(), np.trace(a), **close(dtype))


def test_complex_eigenvalues_of_a_real_matrix(factorizations):
    a = to_gpu(np.array([[1, -2], [1, 3]], np.float32, order="F"))
    assert_allclose(np.sort_complex(linalg.eig(a, "N", "N", imag="T").get()), [2 - 1j, 2 + 1j], rtol=1e-6)
    w = linalg.eig(a, "N", "N").get()
    assert w.dtype == np.float32
    assert_allclose(w, 2, rtol=1e-6)


@pytest.mark.parametrize("modes", ["exact", "standard"])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_dmd(factorizations, dtype, modes):
    """The dynamic mode decomposition of 6 snapshots of 3 modes, each multiplied by its factor in w from one
    to the next."""
    w = np.array([0.5, 0.8, 0.95]) + (1j * np.array([0.2, -0.3, 0.1]) if dtype is np.complex128 else 0)
    a = np.asarray(random(dtype, 9, 3) @ np.vander(w, 6, increasing=True), dtype, order="F")
    f, b, v, omega = linalg.dmd(to_gpu(a), 3, modes, return_amplitudes=True, return_vandermonde=True)
    assert f.shape == (9, 3) and b.shape == (3,) and v.shape == (3, 5)
    assert_allclose((f.get() * b.get()) @ v.get(), a[:, :-1], atol=1e-8)
    assert_allclose(np.sort(np.exp(omega.get())), np.sort(w), rtol=1e-7)
    assert len(linalg.dmd(to_gpu(a), 3, modes, return_amplitudes=True)) == 3
    assert len(linalg.dmd(to_gpu(a), 3, modes)) == 2
    with pytest.raises(ValueError, match="k is 6, must be from 1 to 5"):
        linalg.dmd(to_gpu(a), 6)


# ---- principal components


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pca(factorizations, dtype):
    x = random(dtype, 30, 6, order="F")
    pca = linalg.PCA(n_components=3)
    scores = pca.fit_transform(to_gpu(x))
    assert scores.shape == (30, 3) and scores.dtype == dtype and scores.flags.f_contiguous
    centered = x - x.mean(axis=1, keepdims=True)
    u, s, _ = np.linalg.svd(centered, full_matrices=False)
    assert_allclose(abs(scores.get()), abs(u * s)[:, :3], **close(dtype))
    # the sign of component k: its product with column k is positive, as scikit-cuda's iteration has it
    assert (np.einsum("ik,ik->k", scores.get(), centered[:, :3]) > 0).all()
    assert abs(linalg.dot(scores[:, 0], scores[:, 1])) < 1e-4
    pca.set_n_components(10)
    assert pca.get_n_components() == 10 and pca.fit_transform(to_gpu(x)).shape == (30, 6)


def test_what_pca_refuses():
    pca = linalg.PCA()
    with pytest.raises(ValueError, match="column-major"):
        pca.fit_transform(gpuarray.zeros((4, 3), float))
    for wrong in gpuarray.zeros((2, 2, 2), float), gpuarray.zeros((4, 3), np.int64, order="F"):
        with pytest.raises(ValueError, match="must be a matrix of"):
            pca.fit_transform(wrong)
    with pytest.raises(ValueError, match="n_components is 0"):
        linalg.PCA(0)


# ---- streams and names


def test_work_is_queued_on_the_stream_of_the_handle():
    needs_library("cublas")
    handle, stream = cublas.cublasCreate(), drv.Stream()
    a = random(float, 50, 50)
    for stream_or_number in stream, stream.handle:
        cublas.cublasSetStream(handle, stream_or_number)
        with stream:
            a_gpu = to_gpu(a) * 2
        result = linalg.mdot(a_gpu, a_gpu, a_gpu, handle=handle)
        linalg.scale(2, result, handle=handle)
        stream.synchronize()
        assert_allclose(result.get(), 2 * 2**3 * (a @ a @ a))
    cublas.cublasDestroy(handle)


def test_documented_names():
    names = """add_diag add_dot cho_factor cho_solve cholesky conj det diag dmd dot_diag dot eig eye hermitian
        inv mdot multiply norm pinv qr scale svd PCA trace transpose tril triu vander init shutdown""".split()
    assert [name for name in names if not callable(getattr(linalg, name, None))] == []
    assert list(inspect.signature(linalg.svd).parameters) == ["a_gpu", "jobu", "jobvt", "lib"]
    linalg.init()
    linalg.shutdown()
