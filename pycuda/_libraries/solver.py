"""LAPACK's factorizations by cuSOLVER and cuBLAS. Each matrix of a stack is a call of the library, unless it
has a function for stacks. For the arguments of public functions see pycuda._array.linear.lapack.
"""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING

import numpy as np

from pycuda import _driver
from pycuda._driver import _is_captured

from . import blas, finding
from .blas import CUDA_DATA_TYPES
from .handles import Handles
from .shortage import no_room

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray

# LAPACK's letter of a dtype, by its character.
_LETTERS = {"f": "S", "d": "D", "F": "C", "D": "Z"}
_LEFT = 0  # cublasSideMode_t
_NO_VECTORS, _VECTORS = 0, 1  # cusolverEigMode_t

# Limits of a stack that one call takes: cusolverDnXsyevBatched fails for tens of thousands of matrices, and
# its workspace has the size of the stack.
_MAX_MATRICES, _MAX_ELEMENTS = 8192, 1 << 24
# The version (_version()) since which cusolverDnXsyevBatched is used: earlier ones give wrong eigenvectors
# unless its workspace is set to 0 before.
_SYEV_SINCE = 11703
# The maximum number of rows and of columns that the library's gesvdjBatched takes.
LARGEST_OF_GESVDJ = 32
# The number of rows and columns from which on cusolverDnXgesvdp takes less time than cusolverDnXgesvd on an
# H100, with vectors and without them.
_SMALLEST_OF_GESVDP, _SMALLEST_FOR_VALUES = 64, 192


@functools.cache
def _function(name: str):
    return _driver._LibraryFunction(name)


def require() -> None:
    """LibraryNotFound unless the libraries are there."""
    finding.require("cublas")
    finding.require("cusolver")


# ---- common to all calls

_handle = Handles("cusolverDn").of


@functools.cache
def _parameters() -> int:
    """A cusolverDnParams_t with the library's defaults. It belongs to no context."""
    made = np.zeros(1, np.uint64)
    _function("cusolverDnCreateParams")(made)
    return int(made[0])


@functools.cache
def _jacobi_parameters() -> int:
    """A gesvdjInfo_t with the library's defaults: singular values sorted, with the precision of the dtype. It
    belongs to no context.
    """
    made = np.zeros(1, np.uint64)
    _function("cusolverDnCreateGesvdjInfo")(made)
    return int(made[0])


@functools.cache
def _version() -> int:
    """The library's version: 11703 for 11.7.3."""
    found = np.zeros(1, np.int32)
    _function("cusolverGetVersion")(found)
    return int(found[0])


def _workspace(name: str, size: int) -> GPUArray:
    """Memory for a call, from the pool of arrays. A MemoryError says how much was needed and is free."""
    try:
        return _driver.GPUArray(max(size, 1), np.uint8)
    except _driver.MemoryError as error:
        raise no_room(name, size) from error


def _addresses(count: int, *arrays, step: int = 1) -> list[tuple]:
    """For each step-th of the `count` matrices of a stack, its addresses in the arrays: a tuple that has None
    for an array that is None.
    """
    places = [
        itertools.repeat(None)
        if each is None
        else range(each.ptr, each.ptr + each.nbytes, each.nbytes // count * step)
        for each in arrays
    ]
    return list(zip(*places, strict=False))


def _max_batch(a) -> int:
    """How many matrices like those of `a` one call takes."""
    return min(_MAX_MATRICES, _MAX_ELEMENTS // (a.shape[-2] * a.shape[-1]))


def _stacks(count: int, a, *arrays) -> list[tuple]:
    """For each call of a function for stacks: (addresses of its first matrix in the arrays, number of its
    matrices)."""
    max_batch = _max_batch(a)
    numbers = [min(max_batch, count - start) for start in range(0, count, max_batch)]
    return list(zip(_addresses(count, a, *arrays, step=max_batch), numbers, strict=True))


def _data_type(array) -> int:
    return CUDA_DATA_TYPES[array.dtype.name]


def _note_use(stream, *arrays) -> None:
    """Keep these arrays alive until the work that is queued next is done. None is ignored."""
    _driver._library_uses(stream, tuple(each for each in arrays if each is not None))


def _workspaces(name: str, handle, asked, *number) -> tuple:
    """(memory on the device, its size, memory on the host, its size) for calls of the function. asked: the
    arguments of the function that returns the sizes; number: of the matrices of a stack, if it takes one."""
    sizes = np.zeros(2, np.uint64)
    _function(f"{name}_bufferSize")(handle, _parameters(), *asked, sizes[:1], sizes[1:], *number)
    on_device, on_host = (int(each) for each in sizes)
    return _workspace(name, on_device), on_device, np.empty(max(on_host, 1), np.uint8), on_host


def _factorize(name: str, arrays, info, arguments, asked=None, results=None) -> None:
    """Call the function for each matrix.

    arguments: a function of the matrix's addresses in the arrays; it returns the arguments between
    cusolverDnParams_t and the workspaces. asked: the same for the library's function that returns the sizes
    of the workspaces, if its arguments differ. results: an array on the host with an element for each call,
    which the library's function takes as its last argument.
    """
    stream, function = _driver.current_stream(), _function(name)
    handle, parts = _handle(stream), _addresses(info.size, *arrays, info)
    workspace, *others = _workspaces(name, handle, (asked or arguments)(*parts[0][:-1]))
    _note_use(stream, *arrays, info, workspace)
    for i, (*own, place) in enumerate(parts):
        last = () if results is None else (results[i : i + 1],)
        function(handle, _parameters(), *arguments(*own), workspace.ptr, *others, place, *last)


def _factorize_stacks(name: str, arrays, info, arguments) -> None:
    """Call a function that takes stacks of matrices and, as its last argument, their number. arguments: as in
    _factorize()."""
    stream = _driver.current_stream()
    handle = _handle(stream)
    for (*places, place), number in _stacks(info.size, *arrays, info):
        own = arguments(*places)
        workspace, *others = _workspaces(name, handle, own, number)
        _note_use(stream, *arrays, info, workspace)
        _function(name)(handle, _parameters(), *own, workspace.ptr, *others, place, number)


def _columns(shape, dtype) -> GPUArray:
    """A new stack of matrices that are stored column by column."""
    *batch, rows, columns = shape
    return _driver.GPUArray((*batch, columns, rows), dtype).swapaxes(-1, -2)


# ---- LU


def getrf(a, pivots, info) -> None:
    """LU factorization by cusolverDnXgetrf. Two lists of arguments, as the query of its workspaces takes no
    pivots.
    """
    (rows, columns), kind = a.shape[-2:], _data_type(a)
    _factorize(
        "cusolverDnXgetrf", (a, pivots), info,
        lambda a, pivots: (rows, columns, kind, a, rows, pivots, kind),
        lambda a, pivots: (rows, columns, kind, a, rows, kind),
    )  # fmt: skip


def trsm(a, b, upper, transposed, unit) -> None:
    """cuBLAS's trsm for each matrix."""
    stream, (rows, columns) = _driver.current_stream(), b.shape[-2:]
    function = _function(f"cublas{_LETTERS[b.dtype.char]}trsm_v2")
    handle, one = blas.handle_of(stream), np.ones(1, b.dtype)
    _note_use(stream, a, b)
    for triangle, right in _addresses(b.size // (rows * columns), a, b):
        function(
            handle, _LEFT, int(upper), transposed, int(unit), rows, columns, one,
            triangle, rows, right, rows,
        )  # fmt: skip


# ---- Cholesky and QR


def potrf(a, upper, info) -> None:
    side, kind = a.shape[-1], _data_type(a)
    _factorize("cusolverDnXpotrf", (a,), info, lambda a: (int(upper), side, kind, a, side, kind))


def geqrf(a, tau) -> None:
    (rows, columns), kind = a.shape[-2:], _data_type(a)
    info = _driver.GPUArray(a.size // (rows * columns), np.int32)
    _factorize(
        "cusolverDnXgeqrf", (a, tau), info, lambda a, tau: (rows, columns, kind, a, rows, kind, tau, kind)
    )


def orgqr(q, tau) -> None:
    """Q from the reflectors, in their place."""
    stream, (rows, columns), count = _driver.current_stream(), q.shape[-2:], tau.shape[-1]
    letter = _LETTERS[q.dtype.char]
    name = f"cusolverDn{letter}{'or' if letter in 'SD' else 'un'}gqr"
    handle, length = _handle(stream), np.zeros(1, np.int32)
    parts = _addresses(q.size // (rows * columns), q, tau)
    _function(f"{name}_bufferSize")(handle, rows, columns, count, parts[0][0], rows, parts[0][1], length)
    workspace, info = _workspace(name, int(length[0]) * q.itemsize), _driver.GPUArray(1, np.int32)
    _note_use(stream, q, tau, workspace, info)
    for place, factors in parts:
        _function(name)(
            handle, rows, columns, count, place, rows, factors, workspace.ptr, int(length[0]), info.ptr
        )


# ---- singular values


def captures_gesvd(a) -> bool:
    """Whether gesvd() can be captured: for larger matrices cuSOLVER computes a part on the host."""
    return max(a.shape[-2:]) <= LARGEST_OF_GESVDJ


def gesvd(a, s, u, vh, info, may_wait: bool) -> None:
    """Singular values, and vectors unless u and vh are None. may_wait: whether the host may wait for the
    device.

    Stacks of small matrices, and small matrices that are captured, are computed by Jacobi's method. The
    functions for other matrices take only those with at least as many rows as columns: others are replaced by
    their adjoints.
    """
    rows, columns = a.shape[-2:]
    if captures_gesvd(a) and (info.size > 1 or _is_captured(_driver.current_stream())):
        _gesvdj(a, s, u, vh, info)
        return
    smallest = _SMALLEST_FOR_VALUES if u is None else _SMALLEST_OF_GESVDP
    by_polar = may_wait and min(rows, columns) >= smallest
    decompose = _gesvdp_or_gesvd if by_polar else _gesvd
    if rows >= columns:
        decompose(a, s, u, vh, info)
        return
    adjoint = _columns((*a.shape[:-2], columns, rows), a.dtype)
    adjoint[...] = a.swapaxes(-1, -2).conj()
    if u is None:
        decompose(adjoint, s, None, None, info)
        return
    left, right = (_columns((*each.shape[:-2], *each.shape[:-3:-1]), a.dtype) for each in (vh, u))
    decompose(adjoint, s, left, right, info)
    u[...], vh[...] = right.swapaxes(-1, -2).conj(), left.swapaxes(-1, -2).conj()


def _gesvdp_or_gesvd(a, s, u, vh, info) -> None:
    """gesvdp, or gesvd if that is not precise enough, fails or has too little memory."""
    try:
        if _gesvdp(a, s, u, vh, info):
            return
    except _driver.MemoryError:
        pass  # gesvd needs less memory
    _gesvd(a, s, u, vh, info)


def _gesvdp(a, s, u, vh, info) -> bool:
    """Singular values and vectors by the polar decomposition, in double precision. The host waits for them.

    Returns False, with `a` unchanged, if the function failed or its result is not precise: it shifts singular
    values near zero and returns by how much, which may be more than a rounding error. It is always called for
    vectors, as some versions of the library fail without them.
    """
    (*batch, rows, columns), dtype = a.shape, np.result_type(a.dtype, np.float64)
    copy, right = _columns(a.shape, dtype), _columns((*batch, columns, columns), dtype)
    copy[...] = a
    values = s if s.dtype == np.float64 else _driver.GPUArray(s.shape, np.float64)
    left = u if u is not None and u.dtype == dtype else _columns(a.shape if u is None else u.shape, dtype)
    is_economic, kind, real = int(left.shape[-1] < rows), _data_type(copy), _data_type(values)

    def arguments(a, s, u, v):
        sizes = is_economic, rows, columns
        return _VECTORS, *sizes, kind, a, rows, real, s, kind, u, rows, kind, v, columns, kind

    shifts = np.zeros(info.size)
    _factorize("cusolverDnXgesvdp", (copy, values, left, right), info, arguments, results=shifts)
    limits = np.finfo(a.dtype).eps * values[..., 0].get().ravel()
    if info.get().any() or not (shifts <= limits).all():
        return False
    if values is not s:
        s[...] = values
    if u is not None:
        vh[...] = right.swapaxes(-1, -2).conj()
        if left is not u:
            u[...] = left
    return True


def _gesvd(a, s, u, vh, info) -> None:
    """Singular values, and the vectors of u and vh unless they are None, of matrices with as many rows as
    columns or more.
    """
    (rows, columns), kind, real = a.shape[-2:], _data_type(a), _data_type(s)
    job = ord("N" if u is None else "A" if u.shape[-1] == rows else "S")
    min_side = columns

    def arguments(a, s, u, vh):
        return job, job, rows, columns, kind, a, rows, real, s, kind, u, rows, kind, vh, min_side, kind

    _factorize("cusolverDnXgesvd", (a, s, u, vh), info, arguments)


def _gesvdj(a, s, u, vh, info) -> None:
    """Singular values and vectors by Jacobi's method. The library returns V where LAPACK returns its adjoint,
    and writes all columns of U and V, whether they are wanted or not.
    """
    stream, (*batch, rows, columns) = _driver.current_stream(), a.shape
    name, vectors = f"cusolverDn{_LETTERS[a.dtype.char]}gesvdjBatched", u is not None
    has_all_columns = vectors and u.shape[-1] == rows
    left = u if has_all_columns else _columns((*batch, rows, rows), a.dtype)
    right = _columns((*batch, columns, columns), a.dtype)
    handle, length = _handle(stream), np.zeros(1, np.int32)
    for (*places, place), number in _stacks(info.size, a, s, left, right, info):
        matrices, values, left_vectors, right_vectors = places
        own = int(vectors), rows, columns, matrices, rows, values, left_vectors, rows, right_vectors, columns
        _function(f"{name}_bufferSize")(handle, *own, length, _jacobi_parameters(), number)
        size = int(length[0])
        workspace = _workspace(name, size * a.itemsize)
        _note_use(stream, a, s, left, right, info, workspace)
        _function(name)(handle, *own, workspace.ptr, size, place, _jacobi_parameters(), number)
    if not vectors:
        return
    if not has_all_columns:
        u[...] = left[..., : u.shape[-1]]
    vh[...] = right[..., : vh.shape[-2]].swapaxes(-1, -2).conj()


# ---- eigenvalues


def captures_syevd() -> bool:
    """Whether syevd() can be captured: by the batched function. For single matrices cuSOLVER computes a part
    on the host."""
    return _version() >= _SYEV_SINCE


def syevd(a, w, upper, vectors, info) -> None:
    """Eigenvalues of Hermitian matrices, and their vectors if `vectors`. Stacks, and captured calls, are
    computed by the batched function if the library's version is new enough, others matrix by matrix.
    """
    side, kind, real = a.shape[-1], _data_type(a), _data_type(w)

    def arguments(a, w):
        return int(vectors), int(upper), side, kind, a, side, real, w, kind

    is_stack = min(info.size, _max_batch(a)) > 1
    if (is_stack or _is_captured(_driver.current_stream())) and _version() >= _SYEV_SINCE:
        _factorize_stacks("cusolverDnXsyevBatched", (a, w), info, arguments)
    else:
        _factorize("cusolverDnXsyevd", (a, w), info, arguments)


def geev(a, w, v, info) -> bool:
    """Eigenvalues of general matrices, and right eigenvectors unless v is None. Returns False if the library
    has no such function, as before CUDA 12.8. v has the dtype of `a`: for a real matrix, two columns hold the
    real and the imaginary part of a pair of eigenvectors, as in LAPACK.
    """
    side, kind, values = a.shape[-1], _data_type(a), _data_type(w)

    def arguments(a, w, v):
        vectors = int(v is not None)
        return _NO_VECTORS, vectors, side, kind, a, side, values, w, kind, None, side, kind, v, side, kind

    try:
        _factorize("cusolverDnXgeev", (a, w, v), info, arguments)
    except NotImplementedError:
        return False
    return True
