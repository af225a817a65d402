"""LAPACK's factorizations by cuSOLVER and cuBLAS: pycuda._array.linear.lapack says what each takes. Each
matrix of a stack is a call of the library.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from pycuda import _driver
from pycuda._kernels.plans.caches import ContextCache, current, of_stream

from . import blas, finding
from .shortage import no_room

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray

# cudaDataType by the character of a dtype, and LAPACK's letter of it.
_TYPES = {"f": 0, "d": 1, "F": 4, "D": 5}
_LETTERS = {"f": "S", "d": "D", "F": "C", "D": "Z"}
_LEFT = 0


@functools.cache
def _function(name: str):
    return _driver._LibraryFunction(name)


def need() -> None:
    """LibraryNotFound unless the libraries are there."""
    finding.need("cublas")
    finding.need("cusolver")


# ---- what calls share

_handles, _spare = ContextCache(), ContextCache()


def _handle(stream):
    """The handle of cuSOLVER for a stream. A stream of others gets one for each call: nothing says when it is
    gone.
    """
    handles, key = of_stream(_handles, stream)
    if handles is None:
        made = _driver._LibraryHandle("cusolverDn")
        made.use(stream)
        return made
    found = handles.get(key)
    if found is None:
        found = blas.StreamHandle("cusolverDn", _spare.setdefault(current(), []))
        found.value.use(stream)
        handles[key] = found
    return found.value


@functools.cache
def _parameters() -> int:
    """cusolverDnParams_t with the library's defaults, which belongs to no context."""
    made = np.zeros(1, np.uint64)
    _function("cusolverDnCreateParams")(made)
    return int(made[0])


def _workspace(name: str, size: int) -> GPUArray:
    """Memory for a call, from the pool of arrays. MemoryError with amounts."""
    try:
        return _driver.GPUArray(max(size, 1), np.uint8)
    except _driver.MemoryError as error:
        raise no_room(name, size) from error


def _addresses(count: int, *arrays) -> list[tuple]:
    """The address of each of the `count` matrices in each array; None for an array that is None."""
    return [
        tuple(each if each is None else each.ptr + i * (each.nbytes // count) for each in arrays)
        for i in range(count)
    ]


def _type(array) -> int:
    return _TYPES[array.dtype.char]


def _uses(stream, *arrays) -> None:
    _driver._library_uses(stream, tuple(each for each in arrays if each is not None))


def _factorize(name: str, arrays, info, arguments, asked=None) -> None:
    """Calls the function for each matrix.

    arguments: those between cusolverDnParams_t and the workspaces, made of the addresses of its parts of the
    arrays; asked: those of the function that says how large the workspaces are, if they are others.
    """
    stream, count = _driver.current_stream(), info.size
    handle, parts, sizes = _handle(stream), _addresses(count, *arrays, info), np.zeros(2, np.uint64)
    first = (asked or arguments)(*parts[0][:-1])
    _function(f"{name}_bufferSize")(handle, _parameters(), *first, sizes[:1], sizes[1:])
    on_device, on_host = (int(each) for each in sizes)
    workspace, host_memory = _workspace(name, on_device), np.empty(max(on_host, 1), np.uint8)
    _uses(stream, *arrays, info, workspace)
    for *own, place in parts:
        _function(name)(
            handle, _parameters(), *arguments(*own), workspace.ptr, on_device, host_memory, on_host, place
        )


def _columns(shape, dtype) -> GPUArray:
    """A new stack of matrices, column by column."""
    *batch, rows, columns = shape
    return _driver.GPUArray((*batch, columns, rows), dtype).swapaxes(-1, -2)


# ---- LU


def getrf(a, pivots, info) -> None:
    (rows, columns), kind = a.shape[-2:], _type(a)
    _factorize(
        "cusolverDnXgetrf", (a, pivots), info,
        lambda a, pivots: (rows, columns, kind, a, rows, pivots, kind),
        lambda a, pivots: (rows, columns, kind, a, rows, kind),
    )  # fmt: skip


def getrs(lu, pivots, b, transposed) -> None:
    stream, kind, (rows, columns) = _driver.current_stream(), _type(b), b.shape[-2:]
    count, info = b.size // (rows * columns), _driver.GPUArray(1, np.int32)
    handle = _handle(stream)
    _uses(stream, lu, pivots, b, info)
    for factors, order, right in _addresses(count, lu, pivots, b):
        _function("cusolverDnXgetrs")(
            handle, _parameters(), transposed, rows, columns, kind, factors, rows, order,
            kind, right, rows, info.ptr,
        )  # fmt: skip


def trsm(a, b, upper, transposed, unit) -> None:
    stream, (rows, columns) = _driver.current_stream(), b.shape[-2:]
    function = _function(f"cublas{_LETTERS[b.dtype.char]}trsm_v2")
    handle, one = blas.handle(stream), np.ones(1, b.dtype)
    _uses(stream, a, b)
    for triangle, right in _addresses(b.size // (rows * columns), a, b):
        function(
            handle, _LEFT, int(upper), transposed, int(unit), rows, columns, one,
            triangle, rows, right, rows,
        )  # fmt: skip


# ---- Cholesky and QR


def potrf(a, upper, info) -> None:
    side, kind = a.shape[-1], _type(a)
    _factorize("cusolverDnXpotrf", (a,), info, lambda a: (int(upper), side, kind, a, side, kind))


def geqrf(a, tau) -> None:
    (rows, columns), kind = a.shape[-2:], _type(a)
    info = _driver.GPUArray(a.size // (rows * columns), np.int32)
    _factorize(
        "cusolverDnXgeqrf", (a, tau), info, lambda a, tau: (rows, columns, kind, a, rows, kind, tau, kind)
    )


def orgqr(q, tau) -> None:
    stream, (rows, columns), count = _driver.current_stream(), q.shape[-2:], tau.shape[-1]
    letter = _LETTERS[q.dtype.char]
    name = f"cusolverDn{letter}{'or' if letter in 'SD' else 'un'}gqr"
    handle, length = _handle(stream), np.zeros(1, np.int32)
    parts = _addresses(q.size // (rows * columns), q, tau)
    _function(f"{name}_bufferSize")(handle, rows, columns, count, parts[0][0], rows, parts[0][1], length)
    workspace, info = _workspace(name, int(length[0]) * q.itemsize), _driver.GPUArray(1, np.int32)
    _uses(stream, q, tau, workspace, info)
    for place, factors in parts:
        _function(name)(
            handle, rows, columns, count, place, rows, factors, workspace.ptr, int(length[0]), info.ptr
        )


# ---- singular values


def gesvd(a, s, u, vh, info) -> None:
    """The library takes matrices with at least as many rows as columns: of others the adjoint."""
    rows, columns = a.shape[-2:]
    if rows >= columns:
        _gesvd(a, s, u, vh, info)
        return
    adjoint = _columns((*a.shape[:-2], columns, rows), a.dtype)
    adjoint[...] = a.swapaxes(-1, -2).conj()
    if u is None:
        _gesvd(adjoint, s, None, None, info)
        return
    left, right = (_columns((*each.shape[:-2], *each.shape[:-3:-1]), a.dtype) for each in (vh, u))
    _gesvd(adjoint, s, left, right, info)
    u[...], vh[...] = right.swapaxes(-1, -2).conj(), left.swapaxes(-1, -2).conj()


def _gesvd(a, s, u, vh, info) -> None:
    (rows, columns), kind, real = a.shape[-2:], _type(a), _type(s)
    job = ord("N" if u is None else "A" if u.shape[-1] == rows else "S")
    least = columns

    def arguments(a, s, u, vh):
        return job, job, rows, columns, kind, a, rows, real, s, kind, u, rows, kind, vh, least, kind

    _factorize("cusolverDnXgesvd", (a, s, u, vh), info, arguments)


# ---- eigenvalues


def syevd(a, w, upper, vectors, info) -> None:
    side, kind, real = a.shape[-1], _type(a), _type(w)
    _factorize(
        "cusolverDnXsyevd", (a, w), info,
        lambda a, w: (int(vectors), int(upper), side, kind, a, side, real, w, kind),
    )  # fmt: skip


def geev(a, w, v, info) -> bool:
    """False where the library has no such function, before CUDA 12.8. v has the dtype of `a`: that of a real
    matrix has the real and the imaginary parts of a pair of eigenvectors in two columns, as LAPACK's.
    """
    side, kind, values = a.shape[-1], _type(a), _type(w)

    def arguments(a, w, v):
        vectors = int(v is not None)
        return 0, vectors, side, kind, a, side, values, w, kind, None, side, kind, v, side, kind

    try:
        _factorize("cusolverDnXgeev", (a, w, v), info, arguments)
    except NotImplementedError:
        return False
    return True
