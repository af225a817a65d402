"""Functions of cuBLAS by name, compared with SciPy's BLAS."""

import numpy as np
import pytest
import scipy.linalg.blas
import scipy.linalg.lapack
from devices import needs_library
from numpy.testing import assert_allclose

import pycuda.driver as drv
from pycuda import gpuarray
from skcuda import cublas

DTYPES = {"S": np.float32, "D": np.float64, "C": np.complex64, "Z": np.complex128}
N, K = 5, 2  # the size of square matrices; the number of super- or subdiagonals if they are banded
ALPHA, BETA = 0.75, -1.5


@pytest.fixture
def handle():
    needs_library("cublas")
    created = cublas.cublasCreate()
    yield created
    cublas.cublasDestroy(created)


def tolerance(dtype):
    """assert_allclose's keywords for results of a dtype."""
    return {"rtol": 2e-4, "atol": 2e-4} if np.dtype(dtype).char in "fF" else {"rtol": 1e-10, "atol": 1e-10}


def random(dtype, *shape, diagonal=0):
    """A column-major array of numbers in [-0.5, 0.5); `diagonal` is added to the main diagonal of a
    matrix."""
    generator = np.random.default_rng([ord(np.dtype(dtype).char), *shape])
    values = generator.random(shape) - 0.5
    if np.dtype(dtype).kind == "c":
        values = values + 1j * (generator.random(shape) - 0.5)
    if diagonal:
        values = values + diagonal * np.eye(*shape)
    return np.asfortranarray(values.astype(dtype))


def call(handle, name, *arguments):
    """Calls a function of cuBLAS; NumPy arrays among the arguments are passed as addresses of device copies.

    Returns ([the contents of each copy after the call], what the function returned).
    """
    copied = [gpuarray.to_gpu(each) if isinstance(each, np.ndarray) else each for each in arguments]
    passed = [each.gpudata if isinstance(each, gpuarray.GPUArray) else each for each in copied]
    result = getattr(cublas, name)(handle, *passed)
    return [each.get() for each in copied if isinstance(each, gpuarray.GPUArray)], result


def of_scipy(letter, name):
    """SciPy's BLAS function for a type letter (S, D, C, Z), as dgemm."""
    return getattr(scipy.linalg.blas, letter.lower() + name)


@pytest.mark.parametrize("letter", DTYPES)
def test_functions_that_write_vectors(handle, letter):
    """axpy, also with increments 2 and -1, copy, swap, scal, rot."""
    dtype = DTYPES[letter]
    x, y = random(dtype, 12), random(dtype, 12)
    close = tolerance(dtype)
    arrays, _ = call(handle, f"cublas{letter}axpy", 6, ALPHA, x, 2, y, -1)
    y_after = y.copy()
    y_after[:6] += np.array(ALPHA, dtype) * x[::2][::-1]
    assert_allclose(arrays[1], y_after, **close)
    assert_allclose(call(handle, f"cublas{letter}copy", 12, x, 1, y, 1)[0][1], x)
    swapped, _ = call(handle, f"cublas{letter}swap", 12, x, 1, y, 1)
    assert_allclose(swapped, [y, x])
    assert_allclose(call(handle, f"cublas{letter}scal", 12, ALPHA, x, 1)[0][0], dtype(ALPHA) * x, **close)
    rotated, _ = call(handle, f"cublas{letter}rot", 12, x, 1, y, 1, 0.6, 0.8)
    assert_allclose(rotated, [0.6 * x + 0.8 * y, 0.6 * y - 0.8 * x], **close)


@pytest.mark.parametrize("letter", DTYPES)
def test_functions_that_return_numbers(handle, letter):
    """asum, nrm2, amax, amin and the dot products; cuBLAS measures complex numbers by |re| + |im|."""
    dtype, close = DTYPES[letter], tolerance(DTYPES[letter])
    x, y = random(dtype, 12), random(dtype, 12)
    size = abs(x.real) + abs(x.imag)
    prefix = {"S": "S", "D": "D", "C": "Sc", "Z": "Dz"}[letter]  # the letter of the result's type comes first
    assert_allclose(call(handle, f"cublas{prefix}asum", 12, x, 1)[1], size.sum(), **close)
    assert_allclose(call(handle, f"cublas{prefix}nrm2", 6, x, 2)[1], np.linalg.norm(x[::2]), **close)
    assert call(handle, f"cublasI{letter.lower()}amax", 12, x, 1)[1] == size.argmax()
    assert call(handle, f"cublasI{letter.lower()}amin", 12, x, 1)[1] == size.argmin()
    for complex_name, want in ("dotu", x @ y), ("dotc", np.vdot(x, y)):
        name = complex_name if letter in "CZ" else "dot"
        result = call(handle, f"cublas{letter}{name}", 12, x, 1, y, 1)[1]
        assert isinstance(result, complex if letter in "CZ" else float)
        assert_allclose(result, want, **close)


@pytest.mark.parametrize("trans", "NTC")
@pytest.mark.parametrize("letter", DTYPES)
def test_matrix_times_vector(handle, letter, trans):
    """gemv on the first N rows of a taller matrix, which leaves the rest of y alone, and gbmv."""
    dtype, close = DTYPES[letter], tolerance(DTYPES[letter])
    scipy_trans = "NTC".index(trans)
    a, x, y = random(dtype, N + 1, K + 1), random(dtype, N + 1), random(dtype, N + 1)
    y_size, x_size = (N, K + 1) if trans == "N" else (K + 1, N)
    arrays, _ = call(handle, f"cublas{letter}gemv", trans, N, K + 1, ALPHA, a, N + 1, x, 1, BETA, y, 1)
    want = of_scipy(letter, "gemv")(ALPHA, a[:N], x[:x_size], beta=BETA, y=y[:y_size], trans=scipy_trans)
    assert_allclose(arrays[2][:y_size], want, **close)
    assert (arrays[2][y_size:] == y[y_size:]).all()
    band = random(dtype, 1 + K + 1, N)  # one subdiagonal, K superdiagonals and the main diagonal
    arrays, _ = call(
        handle, f"cublas{letter}gbmv", trans, N, N, 1, K, ALPHA, band, K + 2, x[:N], 1, BETA, y[:N], 1
    )
    want = of_scipy(letter, "gbmv")(
        N, N, 1, K, ALPHA, band, x[:N], beta=BETA, y=y[:N].copy(), trans=scipy_trans
    )
    assert_allclose(arrays[2], want, **close)


# (type letter, first letter of the names of functions for symmetric (s) or Hermitian (h) matrices)
SYMMETRIC = [("S", "s"), ("D", "s"), ("C", "h"), ("Z", "h")]


@pytest.mark.parametrize("uplo", "lU")
@pytest.mark.parametrize("letter, kind", SYMMETRIC)
def test_symmetric_matrix_times_vector(handle, letter, kind, uplo):
    """symv, sbmv, spmv or hemv, hbmv, hpmv."""
    dtype, close, lower = DTYPES[letter], tolerance(DTYPES[letter]), uplo in "lL"
    a, packed, band = random(dtype, N, N), random(dtype, N * (N + 1) // 2), random(dtype, K + 1, N)
    x, y = random(dtype, N), random(dtype, N)
    last_arguments = (x, 1, BETA, y, 1)
    for name, first_arguments, of_scipy_arguments in (
        ("ymv" if kind == "s" else "emv", (N, ALPHA, a, N), (ALPHA, a)),
        ("bmv", (N, K, ALPHA, band, K + 1), (K, ALPHA, band)),
        ("pmv", (N, ALPHA, packed), (N, ALPHA, packed)),
    ):
        arrays, _ = call(handle, f"cublas{letter}{kind}{name}", uplo, *first_arguments, *last_arguments)
        want = of_scipy(letter, kind + name)(*of_scipy_arguments, x, beta=BETA, y=y.copy(), lower=lower)
        assert_allclose(arrays[2], want, **close, err_msg=name)


@pytest.mark.parametrize("letter", DTYPES)
def test_outer_products(handle, letter):
    """ger, or gerc and geru."""
    dtype, close = DTYPES[letter], tolerance(DTYPES[letter])
    a, x, y = random(dtype, N, K), random(dtype, N), random(dtype, K)
    for name in ("gerc", "geru") if letter in "CZ" else ("ger",):
        arrays, _ = call(handle, f"cublas{letter}{name}", N, K, ALPHA, x, 1, y, 1, a, N)
        assert_allclose(arrays[2], of_scipy(letter, name)(ALPHA, x, y, a=a), **close)


@pytest.mark.parametrize("uplo", "lu")
@pytest.mark.parametrize("letter, kind", [*SYMMETRIC, ("C", "s")])
def test_updates_of_a_triangle(handle, letter, kind, uplo):
    """syr, syr2, spr, spr2 or her, her2, hpr, hpr2; of a complex symmetric matrix SciPy has syr alone."""
    dtype, close, lower = DTYPES[letter], tolerance(DTYPES[letter]), uplo == "l"
    a, x, y = random(dtype, N, N), random(dtype, N), random(dtype, N)
    if kind == "h":
        np.fill_diagonal(a, np.diagonal(a).real)  # of a Hermitian matrix
    packed = a.T[np.triu_indices(N) if lower else np.tril_indices(N)]
    full = "yr" if kind == "s" else "er"
    arrays, _ = call(handle, f"cublas{letter}{kind}{full}", uplo, N, ALPHA, x, 1, a, N)
    assert_allclose(arrays[1], of_scipy(letter, kind + full)(ALPHA, x, lower=lower, a=a), **close)
    if letter == "C" and kind == "s":
        return
    arrays, _ = call(handle, f"cublas{letter}{kind}{full}2", uplo, N, ALPHA, x, 1, y, 1, a, N)
    assert_allclose(arrays[2], of_scipy(letter, kind + full + "2")(ALPHA, x, y, lower=lower, a=a), **close)
    arrays, _ = call(handle, f"cublas{letter}{kind}pr", uplo, N, ALPHA, x, 1, packed)
    assert_allclose(arrays[1], of_scipy(letter, kind + "pr")(N, ALPHA, x, packed, lower=lower), **close)
    arrays, _ = call(handle, f"cublas{letter}{kind}pr2", uplo, N, ALPHA, x, 1, y, 1, packed)
    want = of_scipy(letter, kind + "pr2")(N, ALPHA, x, y, packed, lower=lower)
    assert_allclose(arrays[2], want, **close)


@pytest.mark.parametrize("uplo, trans, diag", ["lnn", "utn", "lcu", "unu"])
@pytest.mark.parametrize("letter", DTYPES)
def test_triangles_and_vectors(handle, letter, uplo, trans, diag):
    """trmv and trsv of triangular matrices, also banded (tb) and packed (tp)."""
    dtype, close = DTYPES[letter], tolerance(DTYPES[letter])
    options = {"lower": uplo == "l", "trans": "ntc".index(trans), "diag": diag == "u"}
    x = random(dtype, N)
    a, packed = random(dtype, N, N, diagonal=2), random(dtype, N * (N + 1) // 2) + dtype(2)
    band = np.asfortranarray(random(dtype, K + 1, N) + dtype(2))
    for name, arguments, of_scipy_arguments in (
        ("trmv", (N, a, N), (a,)),
        ("trsv", (N, a, N), (a,)),
        ("tbmv", (N, K, band, K + 1), (K, band)),
        ("tbsv", (N, K, band, K + 1), (K, band)),
        ("tpmv", (N, packed), (N, packed)),
        ("tpsv", (N, packed), (N, packed)),
    ):
        arrays, _ = call(handle, f"cublas{letter}{name}", uplo, trans, diag, *arguments, x, 1)
        want = of_scipy(letter, name)(*of_scipy_arguments, x.copy(), **options)
        assert_allclose(arrays[1], want, **close, err_msg=name)


@pytest.mark.parametrize("transb", "nTc")
@pytest.mark.parametrize("transa", "ntC")
@pytest.mark.parametrize("letter", DTYPES)
def test_gemm(handle, letter, transa, transb):
    dtype = DTYPES[letter]
    m, n, k = 4, 3, 5
    a = random(dtype, *((m, k) if transa == "n" else (k, m)))
    b, c = random(dtype, *((k, n) if transb == "n" else (n, k))), random(dtype, m, n)
    arrays, _ = call(
        handle, f"cublas{letter}gemm", transa, transb, m, n, k, ALPHA, a, len(a), b, len(b), BETA, c, m
    )
    numbers = {"trans_a": "ntc".index(transa.lower()), "trans_b": "ntc".index(transb.lower())}
    want = of_scipy(letter, "gemm")(ALPHA, a, b, beta=BETA, c=c, **numbers)
    assert_allclose(arrays[2], want, **tolerance(dtype))


@pytest.mark.parametrize("side", "lr")
@pytest.mark.parametrize("uplo", "lu")
@pytest.mark.parametrize("letter", DTYPES)
def test_products_that_read_one_triangle(handle, letter, uplo, side):
    """symm, hemm, trmm, trsm read the triangle uplo of a."""
    dtype, close = DTYPES[letter], tolerance(DTYPES[letter])
    m, n = 4, 3
    size, lower, right = (m if side == "l" else n), uplo == "l", side == "r"
    a = random(dtype, size, size, diagonal=2)
    b, c = random(dtype, m, n), random(dtype, m, n) + dtype(1)
    for name in ("symm", "hemm") if letter in "CZ" else ("symm",):
        arrays, _ = call(handle, f"cublas{letter}{name}", side, uplo, m, n, ALPHA, a, size, b, m, BETA, c, m)
        want = of_scipy(letter, name)(ALPHA, a, b, beta=BETA, c=c, side=right, lower=lower)
        assert_allclose(arrays[2], want, **close, err_msg=name)
    for trans, diag in ("n", "n"), ("c", "u"):
        options = {"side": right, "lower": lower, "trans_a": "ntc".index(trans), "diag": diag == "u"}
        flags = side, uplo, trans, diag
        arrays, _ = call(handle, f"cublas{letter}trmm", *flags, m, n, ALPHA, a, size, b, m, c, m)
        assert_allclose(arrays[2], of_scipy(letter, "trmm")(ALPHA, a, b, **options), **close)
        arrays, _ = call(handle, f"cublas{letter}trsm", *flags, m, n, ALPHA, a, size, b, m)
        assert_allclose(arrays[1], of_scipy(letter, "trsm")(ALPHA, a, b, **options), **close)


@pytest.mark.parametrize("trans", "nt")
@pytest.mark.parametrize("uplo", "lu")
@pytest.mark.parametrize("letter, kind", [*SYMMETRIC, ("Z", "s")])
def test_products_with_the_transpose(handle, letter, kind, uplo, trans):
    """syrk, syr2k or herk, her2k: a matrix times its own transpose, or two matrices with each other's."""
    dtype, close = DTYPES[letter], tolerance(DTYPES[letter])
    prefix = "sy" if kind == "s" else "he"
    if kind == "h" and trans == "t":
        trans = "c"
    a = random(dtype, *((N, K) if trans == "n" else (K, N)))
    b, c = np.asfortranarray(a + dtype(1)), random(dtype, N, N)
    if kind == "h":
        np.fill_diagonal(c, np.diagonal(c).real)
    options = {"lower": uplo == "l", "trans": "ntc".index(trans), "beta": BETA, "c": c}
    arrays, _ = call(handle, f"cublas{letter}{prefix}rk", uplo, trans, N, K, ALPHA, a, len(a), BETA, c, N)
    assert_allclose(arrays[1], of_scipy(letter, prefix + "rk")(ALPHA, a, **options), **close)
    arrays, _ = call(
        handle, f"cublas{letter}{prefix}r2k", uplo, trans, N, K, ALPHA, a, len(a), b, len(b), BETA, c, N
    )
    assert_allclose(arrays[2], of_scipy(letter, prefix + "r2k")(ALPHA, a, b, **options), **close)


@pytest.mark.parametrize("letter", DTYPES)
def test_sums_and_diagonal_products(handle, letter):
    """geam and dgmm."""
    dtype, close = DTYPES[letter], tolerance(DTYPES[letter])
    a, b, x = random(dtype, 4, 3), random(dtype, 3, 4), random(dtype, 4)
    out = np.zeros((4, 3), dtype, order="F")
    arrays, _ = call(handle, f"cublas{letter}geam", "n", "c", 4, 3, ALPHA, a, 4, BETA, b, 3, out, 4)
    assert_allclose(arrays[2], ALPHA * a + BETA * b.conj().T, **close)
    arrays, _ = call(handle, f"cublas{letter}dgmm", "l", 4, 3, a, 4, x, 1, out, 4)
    assert_allclose(arrays[2], x[:, None] * a, **close)
    arrays, _ = call(handle, f"cublas{letter}dgmm", "r", 4, 3, a, 4, x, 1, out, 4)
    assert_allclose(arrays[2], a * x[:3], **close)


def addresses(array):
    """A GPUArray of the addresses of the matrices in a stack."""
    step = array.strides[0]
    return gpuarray.to_gpu(array.ptr + step * np.arange(len(array), dtype=np.uint64))


@pytest.mark.parametrize("letter", DTYPES)
def test_batched_gemm(handle, letter):
    """Products of stacks of row-major matrices, which are column-major transposes: (b.T @ a.T).T is a @ b."""
    dtype, close = DTYPES[letter], tolerance(DTYPES[letter])
    count, m, n, k = 4, 3, 2, 5
    a, b = random(dtype, count, m, k).copy("C"), random(dtype, count, k, n).copy("C")
    a_gpu, b_gpu, c_gpu = map(gpuarray.to_gpu, (a, b, np.zeros((count, m, n), dtype)))
    a_matrices, b_matrices, c_matrices = map(addresses, (a_gpu, b_gpu, c_gpu))
    gemm = getattr(cublas, f"cublas{letter}gemmBatched")
    gemm(
        handle, "n", "n", n, m, k, 1, b_matrices.gpudata, n, a_matrices.gpudata, k, 0, c_matrices.gpudata, n,
        count,
    )  # fmt: skip
    assert_allclose(c_gpu.get(), a @ b, **close)


@pytest.mark.parametrize("with_pivots", [True, False])
@pytest.mark.parametrize("letter", DTYPES)
def test_batched_factorizations(handle, letter, with_pivots):
    """getrfBatched, and with its factors getriBatched and getrsBatched."""
    dtype, close = DTYPES[letter], tolerance(DTYPES[letter])
    count = 3
    a = np.array([random(dtype, N, N + i)[:, :N] for i in range(count)]) + 3 * np.eye(N, dtype=dtype)
    b = random(dtype, count, 2, N).copy("C")  # stacks on the device hold each matrix column by column
    factors, right = gpuarray.to_gpu(a.swapaxes(1, 2).copy()), gpuarray.to_gpu(b)
    inverse = gpuarray.zeros((count, N, N), dtype)
    factor_matrices, right_matrices, inverse_matrices = map(addresses, (factors, right, inverse))
    pivots = gpuarray.zeros((count, N), np.int32)
    order = pivots.gpudata if with_pivots else None
    # not 0 yet; getrs has a single one, in host memory
    infos, info = gpuarray.to_gpu(np.ones(count, np.int32)), np.ones(1, np.int32)
    getattr(cublas, f"cublas{letter}getrfBatched")(
        handle, N, factor_matrices.gpudata, N, order, infos.gpudata, count
    )
    assert (infos.get() == 0).all()
    if with_pivots:
        lu, want_pivots, _ = getattr(scipy.linalg.lapack, f"{letter.lower()}getrf")(a[1])
        assert_allclose(factors.get()[1].T, lu, **close)
        assert (pivots.get()[1] == want_pivots + 1).all()  # SciPy counts rows from 0
    getattr(cublas, f"cublas{letter}getriBatched")(
        handle, N, factor_matrices.gpudata, N, order, inverse_matrices.gpudata, N, infos.gpudata, count
    )
    assert_allclose(inverse.get().swapaxes(1, 2), np.linalg.inv(a), **close)
    getattr(cublas, f"cublas{letter}getrsBatched")(
        handle, "n", N, 2, factor_matrices.gpudata, N, order, right_matrices.gpudata, N, info, count
    )
    assert_allclose(right.get().swapaxes(1, 2), np.linalg.solve(a, b.swapaxes(1, 2)), **close)
    assert info[0] == 0


def test_batched_trsm(handle):
    a, b = np.array([random(float, N, N) + 2 * np.eye(N)] * 2), random(float, 2, 3, N).copy("C")
    a_gpu, b_gpu = gpuarray.to_gpu(a.swapaxes(1, 2).copy()), gpuarray.to_gpu(b)
    a_matrices, b_matrices = addresses(a_gpu), addresses(b_gpu)
    cublas.cublasDtrsmBatched(
        handle, "l", "l", "n", "n", N, 3, 1, a_matrices.gpudata, N, b_matrices.gpudata, N, 2
    )
    assert_allclose(np.tril(a) @ b_gpu.get().swapaxes(1, 2), b.swapaxes(1, 2))


def test_rotg():
    """rotg makes the rotation (c, s) that turns (a, b) to (r, 0)."""
    for a, b in (3.0, 4.0), (-4.0, 3.0), (0.0, 2.0), (0.0, 0.0):
        r, _, c, s = cublas.cublasDrotg(None, a, b)
        assert_allclose([c * a + s * b, c * b - s * a], [r, 0], atol=1e-15)
        assert_allclose((c, s), scipy.linalg.blas.drotg(a, b) if r else (1, 0))
    r, _, c, s = cublas.cublasZrotg(None, 3 + 1j, 1 - 2j)
    assert_allclose((c, s), scipy.linalg.blas.zrotg(3 + 1j, 1 - 2j))
    assert_allclose(c * (3 + 1j) + s * (1 - 2j), r)


@pytest.mark.parametrize("size", [1, 1e9, 1e-9])
def test_rotmg(size):
    """rotmg makes a matrix H that turns (x1, y1) to (x, 0) and keeps the norm weighted by d1 and d2.

    param is a flag and H's elements by columns; by the flag, some elements are constants, which are not
    stored. Weights far from 1 are scaled, which gives the flag -1.
    """
    for numbers in (1, 2, 3, 0.5), (1, 2, 0.5, 3), (2, 1, -1, 4), (1, 0, 1, 1), (-1, 1, 1, 1), (1, -3, 1, 2):
        d1, d2, x1, y1 = numbers[0] * size, numbers[1] / size, numbers[2], numbers[3]
        new_d1, new_d2, x, param = cublas.cublasDrotmg(None, d1, d2, x1, y1)
        want = scipy.linalg.blas.drotmg(d1, d2, x1, y1)
        assert param[0] == want[0]
        stored = {-2: [], -1: [1, 2, 3, 4], 0: [2, 3], 1: [1, 4]}[int(param[0])]
        assert_allclose(np.array(param)[stored], want[stored])
        if any(param[1:]):
            with_constants = {0.0: [1, *param[2:4], 1], 1.0: [param[1], -1, 1, param[4]]}
            h11, h21, h12, h22 = with_constants.get(param[0], param[1:])
            assert_allclose([h11 * x1 + h12 * y1, h21 * x1 + h22 * y1], [x, 0], atol=1e-12 * abs(x))
            weighted = new_d1 * h11**2 + new_d2 * h21**2, new_d1 * h12**2 + new_d2 * h22**2
            assert_allclose(weighted, (d1, d2))


@pytest.mark.parametrize("flag", [-2, -1, 0, 1])
def test_rotm(handle, flag):
    """rotm applies the matrix of test_rotmg() to two vectors, in each form that a flag stands for."""
    x, y = random(float, N), random(float, N)
    param = np.array([flag, 0.5, 0.25, -0.5, 2])
    x_gpu, y_gpu = gpuarray.to_gpu(x), gpuarray.to_gpu(y)
    cublas.cublasDrotm(handle, N, x_gpu.gpudata, 1, y_gpu.gpudata, 1, param)
    assert_allclose([x_gpu.get(), y_gpu.get()], scipy.linalg.blas.drotm(x, y, param))


def test_complex_vectors_scaled_by_real_numbers(handle):
    x = random(np.complex64, N)
    assert_allclose(call(handle, "cublasCsscal", N, 2, x, 1)[0][0], 2 * x)
    assert_allclose(call(handle, "cublasZdscal", N, 2, x.astype(complex), 1)[0][0], 2 * x)


def test_calls_run_in_the_order_of_the_handles_stream(handle):
    stream, x = drv.Stream(), gpuarray.to_gpu(np.ones(1000))
    cublas.cublasSetStream(handle, stream.handle)
    assert cublas.cublasGetStream(handle) == stream.handle
    with stream:
        for _ in range(10):
            x += 1  # 1, 2, 1, 2, ... only if both run in turn
            cublas.cublasDscal(handle, x.size, 0.5, x.gpudata, 1)
    stream.synchronize()
    assert_allclose(x.get(), 1)


def test_a_call_captured_in_a_graph(handle):
    stream, x = drv.Stream(), gpuarray.to_gpu(np.ones(100))
    cublas.cublasSetStream(handle, stream)
    cublas.cublasDscal(handle, x.size, 2, x.gpudata, 1)
    with stream.capture() as graph:
        cublas.cublasDscal(handle, x.size, 3, x.gpudata, 1)
    launched = graph.instantiate()
    for _ in range(2):
        launched.launch(stream)
    stream.synchronize()
    assert_allclose(x.get(), 2 * 3 * 3)  # capturing itself computes nothing


def test_exceptions(handle):
    a = gpuarray.zeros((3, 3), np.float32)
    with pytest.raises(cublas.cublasInvalidValue):
        cublas.cublasSgemm(handle, "n", "n", 3, 3, 3, 1, a.gpudata, 2, a.gpudata, 3, 0, a.gpudata, 3)
    with pytest.raises(ValueError, match="transa is 'x', must be one of n, t, c"):
        cublas.cublasSgemm(handle, "x", "n", 3, 3, 3, 1, a.gpudata, 3, a.gpudata, 3, 0, a.gpudata, 3)
    with pytest.raises(TypeError):
        cublas.cublasSgemm(handle, "n")
    with pytest.raises(cublas.cublasAllocFailed):
        cublas.cublasCheckStatus(3)
    with pytest.raises(cublas.cublasError):
        cublas.cublasCheckStatus(12345)
    cublas.cublasCheckStatus(0)


def test_a_destroyed_handle():
    needs_library("cublas")
    handle, x = cublas.cublasCreate(), gpuarray.zeros(3, np.float32)
    assert cublas.cublasGetVersion(handle) > 10000
    cublas.cublasDestroy(handle)
    with pytest.raises(cublas.cublasNotInitialized):
        cublas.cublasSasum(handle, 3, x.gpudata, 1)
