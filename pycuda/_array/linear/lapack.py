"""LAPACK's factorizations under its names, for stacks of matrices that lie in memory column by column: by
NumPy on the CPU device, on a GPU by our own kernels for small matrices, else by cuSOLVER and cuBLAS.

They work in place where LAPACK does, and do nothing for arrays without elements. `info` is an int32 for each
matrix; one that fails gets another value than 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pycuda._array.core import captures
from pycuda._array.core.assign import assign
from pycuda._array.core.elementwise import apply
from pycuda._array.core.gather import take_along
from pycuda._array.core.memory import new
from pycuda._array.linear.matrices import new_columns, zero_unless_finite
from pycuda._libraries import host, host_lapack, small_lapack, solver

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


def is_by_numpy() -> bool:
    """Whether NumPy computes. Then matrices may have any layout, and the triangle that a factor does not have
    is 0.
    """
    return host.is_possible()


def _library():
    if host.is_possible():
        return host_lapack
    solver.require()
    return solver


def _factorizer(a):
    """The module that computes LU and Cholesky factorizations of such matrices, and solves with them."""
    if not host.is_possible() and small_lapack.can_factor(a):
        return small_lapack
    return _library()


def has_small(a, columns: int | None = None) -> bool:
    """Whether there are kernels, those of small_lapack, that factor such matrices and, unless `columns` is
    None, solve with so many right-hand sides.
    """
    if host.is_possible() or not a.size:
        return False
    return small_lapack.can_factor(a) if columns is None else small_lapack.can_solve(a, columns)


def gesv(a, x, info) -> None:
    """Overwrite x, the right-hand sides, by the solutions of a x = b, by NumPy. `a` is not changed."""
    if info.size:
        host_lapack.gesv(a, x, info)


def inverse(a, x, info) -> None:
    """Overwrite x by the inverse of `a`, by NumPy."""
    host_lapack.inverse(a, x, info)


def getrf(a, pivots, info) -> None:
    """a = P L U: the unit lower triangle L and the upper triangle U overwrite a. pivots: int64, the row,
    counted from 1, that each row was interchanged with.
    """
    if a.size:
        _factorizer(a).getrf(a, pivots, info)


def row_order(pivots, rows: int, inverse: bool = False) -> GPUArray:
    """The permutation that the interchanges of getrf make, int32: for each row of P^T a the row of a that is
    there; with `inverse`, for each row of a its place in P^T a.
    """
    order = new((*pivots.shape[:-1], rows), np.int32, pivots.allocator)
    if order.size:
        small_lapack.row_order(pivots, order, inverse)
    return order


def _reorder_rows(b, pivots, inverse: bool) -> None:
    """Interchange rows of b as getrf did those of its matrix, or with `inverse` undo that."""
    lines = b.swapaxes(-1, -2)
    order = row_order(pivots, b.shape[-2], inverse)
    assign(lines, take_along(lines, order[..., None, :], lines.ndim - 1, "CLIP", lines.shape))


def getrs(lu, pivots, b, transposed: int = 0) -> None:
    """b becomes the solution x of a x = b; transposed: 1 for the transposed of a, 2 for it conjugated.

    Without cuSOLVER's getrs, whose interchanges take longer than the rest for many right-hand sides.
    """
    if not b.size:
        return
    factorizer = _factorizer(lu)
    if factorizer is not solver:
        factorizer.getrs(lu, pivots, b, transposed)
    elif transposed:
        solver.trsm(lu, b, upper=True, transposed=transposed, unit=False)
        solver.trsm(lu, b, upper=False, transposed=transposed, unit=True)
        _reorder_rows(b, pivots, inverse=True)
    else:
        _reorder_rows(b, pivots, inverse=False)
        solver.trsm(lu, b, upper=False, transposed=0, unit=True)
        solver.trsm(lu, b, upper=True, transposed=0, unit=False)


def potrf(a, upper: bool, info) -> None:
    """The Cholesky factorization of Hermitian matrices, of which the upper or the lower triangle is read and
    becomes the factor. The other triangle may be overwritten. By NumPy or cuSOLVER.
    """
    if a.size:
        _library().potrf(a, upper, info)


def trsm(a, b, upper: bool, transposed: int, unit: bool) -> None:
    """b becomes the solution x of a x = b for a triangle of `a`, whose diagonal is 1 if unit."""
    if b.size:
        _factorizer(a).trsm(a, b, upper, transposed, unit)


def geqrf(a, tau) -> None:
    """a = Q R. R overwrites the diagonal of a and what is above, the vectors of Q's Householder reflectors
    what is below; tau gets the factors of the reflectors.
    """
    if a.size:
        _library().geqrf(a, tau)


def orgqr(q, tau) -> None:
    """Overwrite q, whose first columns are the reflectors of geqrf, by the first columns of their product Q:
    as many as q has.
    """
    if q.size:
        _library().orgqr(q, tau)


def _refuse_in_capture(name: str) -> None:
    captures.refuse(name, "cuSOLVER computes a part of it on the host")


def refuse_gesvd_in_capture(a) -> None:
    """LogicError where the current stream is captured and gesvd() of such matrices cannot be."""
    if a.size and not host.is_possible() and not solver.captures_gesvd(a):
        largest = solver.LARGEST_OF_GESVDJ
        _refuse_in_capture(f"numpy.linalg.svd of a matrix with more than {largest} rows or columns")


def refuse_syevd_in_capture(a) -> None:
    """LogicError where the current stream is captured and syevd() cannot be."""
    if a.size and captures.is_captured() and not host.is_possible() and not solver.captures_syevd():
        _refuse_in_capture("numpy.linalg.eigh before cuSOLVER 11.7.3")


def refuse_geev_in_capture(a) -> None:
    """LogicError where the current stream is captured and geev() cannot be."""
    if a.size and not host.is_possible():
        _refuse_in_capture("numpy.linalg.eig")


def gesvd(a, s, u, vh, info, may_wait: bool) -> None:
    """a = u s vh. The shapes of u and vh say how many singular vectors are computed; if they are None, none
    are. `a` is overwritten. may_wait: the host may wait for the result."""
    if not a.size:
        return
    library = _library()
    if library is host_lapack:
        library.gesvd(a, s, u, vh, info)
        return
    finite = zero_unless_finite(a)
    library.gesvd(a, s, u, vh, info, may_wait)
    apply("where", finite, info, -1, out=info)


def syevd(a, w, upper: bool, vectors: bool, info) -> None:
    """The eigenvalues w of a Hermitian matrix, of which a triangle is read; `a` becomes its eigenvectors, or
    is overwritten.
    """
    if a.size:
        _library().syevd(a, w, upper, vectors, info)


def _unpack_pairs(w, pairs, v) -> None:
    """Unpack LAPACK's real array `pairs` of the eigenvectors of a real matrix into the complex array v.

    Of two conjugate eigenvectors, which are neighbors, the first column of `pairs` has the real parts and the
    second the imaginary parts. The first one's eigenvalue is the one with the positive imaginary part.
    """
    imaginary = apply("imag", w)[..., None, :]
    first, second = apply("greater", imaginary, 0), apply("less", imaginary, 0)
    before, after = pairs.copy(), pairs.copy()  # in each column, what is in the one before or after it
    before[..., 1:], after[..., :-1] = pairs[..., :-1], pairs[..., 1:]
    v.real = apply("where", second, before, pairs)
    v.imag = apply("where", first, after, apply("where", second, -pairs, 0))


def _geev_by_host(a, w, v, info) -> None:
    """geev() on the host, with copies of the arrays, for which the call waits."""
    captures.refuse("numpy.linalg.eig", "the host computes it where cuSOLVER is older than CUDA 12.8")
    arrays = [each for each in (info, w, v) if each is not None]
    copies = [each.get() for each in arrays]
    host_lapack.geev_of_host(a.get(), *copies)
    for each, copy in zip(arrays, copies, strict=True):
        each[...] = copy


def geev(a, w, v, info) -> None:
    """The complex eigenvalues w, and eigenvectors v unless it is None; `a` is overwritten."""
    if not a.size:
        return
    library = _library()
    if library is host_lapack:
        library.geev(a, w, v, info)
        return
    pairs = v if v is None or v.dtype == a.dtype else new_columns(a.shape, a.dtype, a.allocator)
    if not library.geev(a, w, pairs, info):  # cuSOLVER does not have it
        _geev_by_host(a, w, v, info)
    elif pairs is not v:
        _unpack_pairs(w, pairs, v)
