"""BLAS on the memory of the CPU device: for each function of cuBLAS one of its name without "cublas" and the
type letters (cublasSgemm, cublasDgemm: gemm).

Each takes a Memory and cuBLAS's parameters after the handle, where letters stand for enumerations ("n", "t",
"c"). It computes nothing yet, but returns (inputs, outputs, compute): two sequences of GPUArrays, which are
views of the caller's memory, and a function for `host.queue` to call when the stream gets there. `compute`
takes the inputs, then the outputs, as NumPy arrays of the same memory, and writes into the outputs; it
returns what the function of cuBLAS returns. An array that is both read and written is an output only.
"""

from __future__ import annotations

import ctypes
import inspect

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs

from ._host_solver import SCIPY_TRANS, lu_without_pivots
from ._memory import address_of

INVALID_VALUE = 7  # CUBLAS_STATUS_INVALID_VALUE


# ---- vectors


def _magnitude(x):
    """The magnitudes that BLAS compares and sums: of a complex number |re| + |im|."""
    return abs(x.real) + abs(x.imag) if x.dtype.kind == "c" else abs(x)


def amax(memory, n, x, incx):
    return (memory.vector(x, n, incx),), (), lambda x: int(_magnitude(x).argmax()) if n else -1


def amin(memory, n, x, incx):
    return (memory.vector(x, n, incx),), (), lambda x: int(_magnitude(x).argmin()) if n else -1


def asum(memory, n, x, incx):
    return (memory.vector(x, n, incx),), (), lambda x: _magnitude(x).sum().item()


def nrm2(memory, n, x, incx):
    return (memory.vector(x, n, incx),), (), lambda x: np.linalg.norm(x).item()


def dotu(memory, n, x, incx, y, incy):
    vectors = memory.vector(x, n, incx), memory.vector(y, n, incy)
    return vectors, (), lambda x, y: np.dot(x, y).item()


dot = dotu


def dotc(memory, n, x, incx, y, incy):
    vectors = memory.vector(x, n, incx), memory.vector(y, n, incy)
    return vectors, (), lambda x, y: np.vdot(x, y).item()


def axpy(memory, n, alpha, x, incx, y, incy):
    def compute(x, y):
        y += alpha * x

    return (memory.vector(x, n, incx),), (memory.vector(y, n, incy),), compute


def copy(memory, n, x, incx, y, incy):
    return (memory.vector(x, n, incx),), (memory.vector(y, n, incy),), lambda x, y: np.copyto(y, x)


def swap(memory, n, x, incx, y, incy):
    def compute(x, y):
        x[...], y[...] = y.copy(), x.copy()

    return (), (memory.vector(x, n, incx), memory.vector(y, n, incy)), compute


def scal(memory, n, alpha, x, incx):
    def compute(x):
        x *= alpha

    return (), (memory.vector(x, n, incx),), compute


def rot(memory, n, x, incx, y, incy, c, s):
    def compute(x, y):
        x[...], y[...] = c * x + s * y, c * y - np.conj(s) * x

    return (), (memory.vector(x, n, incx), memory.vector(y, n, incy)), compute


def rotm(memory, n, x, incx, y, incy, sparam):
    """The first element of sparam says which elements of the 2 x 2 matrix follow; the others are 0,
    1 or -1.
    """
    flag, h11, h21, h12, h22 = np.asarray(sparam, memory.dtype)
    if flag == -2:
        h11, h21, h12, h22 = 1, 0, 0, 1
    elif flag == 0:
        h11 = h22 = 1
    elif flag == 1:
        h21, h12 = -1, 1

    def compute(x, y):
        x[...], y[...] = h11 * x + h12 * y, h21 * x + h22 * y

    return (), (memory.vector(x, n, incx), memory.vector(y, n, incy)), compute


# ---- banded, packed and triangular storage as dense matrices


def _operand(a, trans: str):
    """op(a): the matrix itself, its transposed or its conjugate transposed."""
    return {"n": a, "t": a.T, "c": a.T.conj()}[trans]


def _triangle(a, uplo: str, diag: str = "n"):
    """One triangle of a matrix, zeros elsewhere; with diag "u" its diagonal is 1, whatever is in memory."""
    part = np.triu if uplo == "u" else np.tril
    if diag == "n":
        return part(a)
    return part(a, 1 if uplo == "u" else -1) + np.eye(len(a), dtype=a.dtype)


def _symmetric(a, uplo: str, hermitian: bool):
    """The symmetric or Hermitian matrix of which one triangle is in memory."""
    part = _triangle(a, uplo)
    full = part + (part.conj() if hermitian else part).T
    diagonal = np.diagonal(a).real if hermitian else np.diagonal(a)
    np.fill_diagonal(full, diagonal)
    return full


def _packed_indices(n: int, uplo: str):
    """(rows, columns): the indices of a packed triangle's elements, in their order in memory: column by
    column. NumPy orders those of a triangle row by row, so the indices of the other triangle are swapped.
    """
    rows, columns = np.tril_indices(n) if uplo == "u" else np.triu_indices(n)
    return columns, rows


def _unpack_triangle(ap, n: int, uplo: str):
    """The n x n matrix with a triangle from packed storage, zeros elsewhere."""
    a = np.zeros((n, n), ap.dtype)
    a[_packed_indices(n, uplo)] = ap
    return a


def _unbanded(ab, rows: int, lower: int, upper: int):
    """A band matrix as a dense one, with `lower` diagonals below the main one and `upper` above it. In memory
    each diagonal is a row of `ab`, the highest one first; element j of the row belongs to column j.
    """
    columns = ab.shape[1]
    a = np.zeros((rows, columns), ab.dtype)
    for offset in range(-lower, upper + 1):
        first, last = max(offset, 0), min(columns, rows + offset)
        if first < last:
            j = np.arange(first, last)
            a[j - offset, j] = ab[upper - offset, first:last]
    return a


def _one_sided(ab, n: int, k: int, uplo: str):
    """A band matrix with k diagonals on one side of the main one, as a dense triangle."""
    return _unbanded(ab, n, *((0, k) if uplo == "u" else (k, 0)))


def _add_scaled(y, product, alpha, beta) -> None:
    """y = alpha product + beta y. If beta is 0, y is not read: it may hold NaN."""
    y[...] = alpha * product if beta == 0 else alpha * product + beta * y


# ---- matrix times vector


def _times_vector(memory, array, dense, shape, alpha, x, incx, beta, y, incy, trans="n"):
    """y = alpha op(dense(a)) x + beta y, in the form of this module's functions: `array` is a view of the
    matrix as it is stored, and `dense` makes of it the matrix of this shape.
    """
    rows, columns = shape if trans == "n" else shape[::-1]

    def compute(a, x, y):
        _add_scaled(y, _operand(dense(a), trans) @ x, alpha, beta)

    return (array, memory.vector(x, columns, incx)), (memory.vector(y, rows, incy),), compute


def gemv(memory, trans, m, n, alpha, A, lda, x, incx, beta, y, incy):
    array = memory.matrix(A, m, n, lda)
    return _times_vector(memory, array, lambda a: a, (m, n), alpha, x, incx, beta, y, incy, trans)


def gbmv(memory, trans, m, n, kl, ku, alpha, A, lda, x, incx, beta, y, incy):
    array = memory.matrix(A, kl + ku + 1, n, lda)

    def dense(a):
        return _unbanded(a, m, kl, ku)

    return _times_vector(memory, array, dense, (m, n), alpha, x, incx, beta, y, incy, trans)


# Products with symmetric matrices differ from those with Hermitian ones in `dense` only, so each of these
# makes the function for one of them. The three are for full, banded and packed storage.


def _symmetric_vector(hermitian):
    """symv or hemv: y = alpha * A x + beta * y."""

    def symv(memory, uplo, n, alpha, A, lda, x, incx, beta, y, incy):
        def dense(a):
            return _symmetric(a, uplo, hermitian)

        array = memory.matrix(A, n, n, lda)
        return _times_vector(memory, array, dense, (n, n), alpha, x, incx, beta, y, incy)

    return symv


def _symmetric_band_vector(hermitian):
    """sbmv or hbmv: the same of a banded matrix."""

    def sbmv(memory, uplo, n, k, alpha, A, lda, x, incx, beta, y, incy):
        def dense(a):
            return _symmetric(_one_sided(a, n, k, uplo), uplo, hermitian)

        array = memory.matrix(A, k + 1, n, lda)
        return _times_vector(memory, array, dense, (n, n), alpha, x, incx, beta, y, incy)

    return sbmv


def _symmetric_packed_vector(hermitian):
    """spmv or hpmv: the same of a packed matrix."""

    def spmv(memory, uplo, n, alpha, AP, x, incx, beta, y, incy):
        def dense(a):
            return _symmetric(_unpack_triangle(a, n, uplo), uplo, hermitian)

        array = memory.vector(AP, n * (n + 1) // 2)
        return _times_vector(memory, array, dense, (n, n), alpha, x, incx, beta, y, incy)

    return spmv


symv, hemv = map(_symmetric_vector, (False, True))
sbmv, hbmv = map(_symmetric_band_vector, (False, True))
spmv, hpmv = map(_symmetric_packed_vector, (False, True))


# ---- outer products


def _outer(conjugated):
    """ger, geru or gerc: A += alpha * x y^T, or x y^H if conjugated."""

    def ger(memory, m, n, alpha, x, incx, y, incy, A, lda):
        def compute(x, y, a):
            a += alpha * np.outer(x, y.conj() if conjugated else y)

        return (memory.vector(x, m, incx), memory.vector(y, n, incy)), (memory.matrix(A, m, n, lda),), compute

    return ger


ger = geru = _outer(False)
gerc = _outer(True)


def _set_triangle(c, values, uplo: str, hermitian: bool) -> None:
    """Copy one triangle of `values` into c, whose other triangle stays as it is. The diagonal of a Hermitian
    matrix is made real.
    """
    where = _packed_indices(len(c), uplo)
    c[where] = values[where]
    if hermitian:
        np.fill_diagonal(c, np.diagonal(c).real)


def _rank_one(memory, uplo, n, alpha, vectors, hermitian, triangle):
    """A rank-1 or rank-2 update of a triangle, in the form of this module's functions.

    With one vector x the triangle becomes that of a + alpha x x', with two that of a + alpha x y' +
    (alpha x y')'; ' is the transposed, or the conjugate transposed if hermitian. `triangle` is (array,
    packed): the view of the matrix, and whether it is packed.
    """

    def compute(*views):
        *vectors, a = views
        x, y = vectors[0], vectors[-1]
        update = alpha * np.outer(x, y.conj() if hermitian else y)
        if len(vectors) == 2:
            update = update + (update.conj() if hermitian else update).T
        if packed:
            a += update[_packed_indices(n, uplo)]
        else:
            _set_triangle(a, a + update, uplo, hermitian)

    array, packed = triangle
    return vectors, (array,), compute


def _updates(hermitian):
    """(syr, syr2, spr, spr2), for symmetric or for Hermitian matrices."""

    def syr(memory, uplo, n, alpha, x, incx, A, lda):
        triangle = memory.matrix(A, n, n, lda), False
        return _rank_one(memory, uplo, n, alpha, (memory.vector(x, n, incx),), hermitian, triangle)

    def syr2(memory, uplo, n, alpha, x, incx, y, incy, A, lda):
        vectors = memory.vector(x, n, incx), memory.vector(y, n, incy)
        return _rank_one(memory, uplo, n, alpha, vectors, hermitian, (memory.matrix(A, n, n, lda), False))

    def spr(memory, uplo, n, alpha, x, incx, AP):
        triangle = memory.vector(AP, n * (n + 1) // 2), True
        return _rank_one(memory, uplo, n, alpha, (memory.vector(x, n, incx),), hermitian, triangle)

    def spr2(memory, uplo, n, alpha, x, incx, y, incy, AP):
        vectors = memory.vector(x, n, incx), memory.vector(y, n, incy)
        triangle = memory.vector(AP, n * (n + 1) // 2), True
        return _rank_one(memory, uplo, n, alpha, vectors, hermitian, triangle)

    return syr, syr2, spr, spr2


syr, syr2, spr, spr2 = _updates(False)
her, her2, hpr, hpr2 = _updates(True)


# ---- triangles


def _solve_triangular(a, b, alpha, side: str, uplo: str, trans: str, diag: str):
    """The solution x of op(a) x = alpha b (side "l") or x op(a) = alpha b (side "r"). It is infinite where
    the diagonal has zeros.
    """
    (trsm,) = get_blas_funcs(("trsm",), (a, b))
    right, lower, unit = side == "r", uplo == "l", diag == "u"
    return trsm(alpha, a, b, side=right, lower=lower, trans_a=SCIPY_TRANS[trans], diag=unit)


def _triangular_vector(array, dense, vector, uplo, trans, diag, solve):
    """In the form of this module's functions: x becomes op(dense(a)) x or, if `solve`, the solution y of
    op(dense(a)) y = x.
    """

    def compute(a, x):
        if solve:
            x[...] = _solve_triangular(dense(a), x[:, None], 1, "l", uplo, trans, diag)[:, 0]
        else:
            x[...] = _operand(_triangle(dense(a), uplo, diag), trans) @ x

    return (array,), (vector,), compute


def _triangular(solve):
    """The functions for dense, banded and packed triangles: they multiply or, if `solve`, solve a system."""

    def trmv(memory, uplo, trans, diag, n, A, lda, x, incx):
        array, vector = memory.matrix(A, n, n, lda), memory.vector(x, n, incx)
        return _triangular_vector(array, lambda a: a, vector, uplo, trans, diag, solve)

    def tbmv(memory, uplo, trans, diag, n, k, A, lda, x, incx):
        array, vector = memory.matrix(A, k + 1, n, lda), memory.vector(x, n, incx)
        return _triangular_vector(
            array, lambda a: _one_sided(a, n, k, uplo), vector, uplo, trans, diag, solve
        )

    def tpmv(memory, uplo, trans, diag, n, AP, x, incx):
        array, vector = memory.vector(AP, n * (n + 1) // 2), memory.vector(x, n, incx)
        return _triangular_vector(
            array, lambda a: _unpack_triangle(a, n, uplo), vector, uplo, trans, diag, solve
        )

    return trmv, tbmv, tpmv


trmv, tbmv, tpmv = _triangular(False)
trsv, tbsv, tpsv = _triangular(True)


# ---- matrix times matrix


def _matrix(memory, A, trans, rows, columns, leading):
    """A view of the operand A as it is stored; op(A) has the shape (rows, columns)."""
    if trans == "n":
        return memory.matrix(A, rows, columns, leading)
    return memory.matrix(A, columns, rows, leading)


def gemm(memory, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc):
    def compute(a, b, c):
        _add_scaled(c, _operand(a, transa) @ _operand(b, transb), alpha, beta)

    operands = _matrix(memory, A, transa, m, k, lda), _matrix(memory, B, transb, k, n, ldb)
    return operands, (memory.matrix(C, m, n, ldc),), compute


def _times_symmetric(hermitian):
    """symm or hemm: C = alpha * A B + beta * C, or B A, where A is symmetric or Hermitian."""

    def symm(memory, side, uplo, m, n, alpha, A, lda, B, ldb, beta, C, ldc):
        def compute(a, b, c):
            a = _symmetric(a, uplo, hermitian)
            _add_scaled(c, a @ b if side == "l" else b @ a, alpha, beta)

        size = m if side == "l" else n
        operands = memory.matrix(A, size, size, lda), memory.matrix(B, m, n, ldb)
        return operands, (memory.matrix(C, m, n, ldc),), compute

    return symm


symm, hemm = map(_times_symmetric, (False, True))


def _rank_k(hermitian):
    """(syrk, syr2k), for symmetric or for Hermitian matrices."""

    def turned(a):
        """The transposed, or the conjugate transposed matrix."""
        return a.conj().T if hermitian else a.T

    def syrk(memory, uplo, trans, n, k, alpha, A, lda, beta, C, ldc):
        def compute(a, c):
            a, values = _operand(a, trans), c.copy()
            _add_scaled(values, a @ turned(a), alpha, beta)
            _set_triangle(c, values, uplo, hermitian)

        return (_matrix(memory, A, trans, n, k, lda),), (memory.matrix(C, n, n, ldc),), compute

    def syr2k(memory, uplo, trans, n, k, alpha, A, lda, B, ldb, beta, C, ldc):
        def compute(a, b, c):
            a, b, values = _operand(a, trans), _operand(b, trans), c.copy()
            product = alpha * (a @ turned(b))
            _add_scaled(values, product + turned(product), 1, beta)
            _set_triangle(c, values, uplo, hermitian)

        operands = _matrix(memory, A, trans, n, k, lda), _matrix(memory, B, trans, n, k, ldb)
        return operands, (memory.matrix(C, n, n, ldc),), compute

    return syrk, syr2k


syrk, syr2k = _rank_k(False)
herk, her2k = _rank_k(True)


def trmm(memory, side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb, C, ldc):
    def compute(a, b, c):
        a = _operand(_triangle(a, uplo, diag), trans)
        c[...] = alpha * (a @ b if side == "l" else b @ a)

    size = m if side == "l" else n
    operands = memory.matrix(A, size, size, lda), memory.matrix(B, m, n, ldb)
    return operands, (memory.matrix(C, m, n, ldc),), compute


def trsm(memory, side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb):
    def compute(a, b):
        b[...] = _solve_triangular(a, b, alpha, side, uplo, trans, diag)

    size = m if side == "l" else n
    return (memory.matrix(A, size, size, lda),), (memory.matrix(B, m, n, ldb),), compute


def geam(memory, transa, transb, m, n, alpha, A, lda, beta, B, ldb, C, ldc):
    """An operand whose factor is 0 is not read; its address may be 0."""

    def compute(*views):
        *operands, c = views
        c[...] = sum(
            number * _operand(each, trans)
            for each, (number, trans) in zip(operands, used, strict=True)
        )  # fmt: skip

    given = (alpha, transa, A, lda), (beta, transb, B, ldb)
    used = [(number, trans) for number, trans, _, _ in given if number != 0]
    arrays = [
        _matrix(memory, each, trans, m, n, leading) for number, trans, each, leading in given if number != 0
    ]
    return arrays, (memory.matrix(C, m, n, ldc),), compute


def dgmm(memory, side, m, n, A, lda, x, incx, C, ldc):
    def compute(a, x, c):
        c[...] = x[:, None] * a if side == "l" else a * x

    vector = memory.vector(x, m if side == "l" else n, incx)
    return (memory.matrix(A, m, n, lda), vector), (memory.matrix(C, m, n, ldc),), compute


# ---- batches: arrays of addresses


def _batch(function):
    """The batched form of a function: its last argument is how many matrices there are, and its parameters A,
    B and C are arrays of as many addresses. The other parameters are the same for each matrix.
    """

    def batched(memory, *arguments):
        *arguments, count = arguments
        names = [*inspect.signature(function).parameters][1:]
        columns = [
            memory.pointers(value, count) if name in "ABC" else [value] * count
            for name, value in zip(names, arguments, strict=True)
        ]
        return _one_after_another([function(memory, *each) for each in zip(*columns, strict=True)])

    return batched


def _one_after_another(calls):
    """One (inputs, outputs, compute) made of several: the arrays of all, and a function that computes each of
    them in turn with its own arrays.
    """

    def compute(*views):
        inputs, outputs = iter(views[: len(all_inputs)]), iter(views[len(all_inputs) :])
        for each_inputs, each_outputs, each in calls:
            each(*(next(inputs) for _ in each_inputs), *(next(outputs) for _ in each_outputs))

    all_inputs = [array for inputs, _, _ in calls for array in inputs]
    return all_inputs, [array for _, outputs, _ in calls for array in outputs], compute


gemmBatched, trsmBatched = map(_batch, (gemm, trsm))


def getrfBatched(memory, n, A, lda, P, info, batchSize):
    """P is None (no interchanges) or memory for batchSize * n interchanges, which are counted from 1."""

    def compute(infos, *views):
        matrices, pivots = views[:batchSize], views[batchSize:]
        for i, a in enumerate(matrices):
            if pivots:
                (getrf,) = get_lapack_funcs(("getrf",), (a,))
                a[...], order, infos[i] = getrf(a)
                pivots[0][i] = order + 1
            else:
                a[...], infos[i] = lu_without_pivots(a)

    pivots = () if P is None else (memory.array(P, (batchSize, n), (n, 1), np.int32),)
    matrices = [memory.matrix(each, n, n, lda) for each in memory.pointers(A, batchSize)]
    return (), (memory.vector(info, batchSize, 1, np.int32), *matrices, *pivots), compute


def _pivots(memory, P, n, count):
    """(arrays, read): the inputs that hold the interchanges of `count` matrices, none if P is None, and a
    function that takes their NumPy arrays and returns the interchanges counted from 0, of the shape (count,
    n). If P is None, each row is interchanged with itself.
    """
    if P is None:
        return (), lambda views: np.tile(np.arange(n, dtype=np.int32), (count, 1))
    return (memory.array(P, (count, n), (n, 1), np.int32),), lambda views: views[0] - 1


def _solve_factored(a, pivots, b, trans):
    """The solution x of op(a) x = b, where getrf has factorized a."""
    (getrs,) = get_lapack_funcs(("getrs",), (a, b))
    return getrs(a, pivots, b, trans=SCIPY_TRANS[trans])[0]


def getrsBatched(memory, trans, n, nrhs, Aarray, lda, devIpiv, Barray, ldb, info, batchSize):
    """`info` is one int in host memory, which reports on the parameters only: it is set to 0 at once."""
    if address_of(info):
        ctypes.c_int.from_address(address_of(info)).value = 0
    pivots, read = _pivots(memory, devIpiv, n, batchSize)
    factors = [memory.matrix(each, n, n, lda) for each in memory.pointers(Aarray, batchSize)]
    right = [memory.matrix(each, n, nrhs, ldb) for each in memory.pointers(Barray, batchSize)]

    def compute(*views):
        # The views are batchSize factors, the pivots (one array or none), and batchSize right sides.
        order = read(views[batchSize:-batchSize])
        for a, each, b in zip(views[:batchSize], order, views[-batchSize:], strict=True):
            b[...] = _solve_factored(a, each, b, trans)

    return (*factors, *pivots), right, compute


def getriBatched(memory, n, A, lda, P, C, ldc, info, batchSize):
    """The inverses are the solutions for the columns of the identity. The infos are 0."""
    pivots, read = _pivots(memory, P, n, batchSize)
    factors = [memory.matrix(each, n, n, lda) for each in memory.pointers(A, batchSize)]
    inverses = [memory.matrix(each, n, n, ldc) for each in memory.pointers(C, batchSize)]
    infos = memory.vector(info, batchSize, 1, np.int32)

    def compute(*views):
        # The views are batchSize factors, the pivots (one array or none), batchSize inverses, and the infos.
        order = read(views[batchSize : len(views) - batchSize - 1])
        for a, each, c in zip(views[:batchSize], order, views[-batchSize - 1 : -1], strict=True):
            c[...] = _solve_factored(a, each, np.eye(n, dtype=a.dtype), "n")
        views[-1][...] = 0

    return (*factors, *pivots), (*inverses, infos), compute
