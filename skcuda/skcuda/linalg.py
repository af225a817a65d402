"""Linear algebra. Matrices may be row-major or column-major. Where scikit-cuda overwrites an argument with
the result, so do these functions; other arguments stay as they are.

`handle` is one of cuBLAS: with its stream functions queue there. `lib` may be "cusolver" or "cula", which
makes no difference.
"""

from __future__ import annotations

import functools
import inspect
import sys

import numpy as np
from numpy.linalg import LinAlgError  # noqa: F401  what these functions raise

import pycuda.linalg
from pycuda import gpuarray

from ._rows import letter
from ._streams import queued_on
from .misc import init, shutdown  # noqa: F401  scikit-cuda has them here, too


def _queued(function):
    """A decorator: the function queues its work on the stream of its argument `handle`, and raises ValueError
    for an unknown `lib`. A function may lack either parameter.
    """
    names = [*inspect.signature(function).parameters]
    # The places of both arguments if they are positional: maxsize, which none has, without the parameter.
    places = {name: names.index(name) if name in names else sys.maxsize for name in ("handle", "lib")}

    @functools.wraps(function)
    def call(*arguments, **keywords):
        handle, lib = (
            arguments[place] if place < len(arguments) else keywords.get(name)
            for name, place in places.items()
        )
        if lib not in (None, "cula", "cusolver"):
            raise ValueError(f"lib is {lib!r}, must be 'cula' or 'cusolver'")
        with queued_on(getattr(handle, "stream", None)):
            return function(*arguments, **keywords)

    return call


def _in_columns(a) -> bool:
    """Whether a matrix is column-major, and not row-major as well."""
    return a.flags.f_contiguous and not a.flags.c_contiguous


def _laid_out_as(a, *others):
    """A copy of the array, column-major if all others are, else row-major."""
    return a.copy("F" if all(map(_in_columns, others)) else "C")


def _operand(a, trans: str):
    """A matrix, transposed if trans is "T", conjugated as well if it is "C"."""
    kind = letter("trans", trans)
    if kind == "n" or a.ndim == 1:
        return a
    return a.T.conj() if kind == "c" else a.T


def _require_square(a) -> None:
    """ValueError unless the array is a square matrix."""
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"the array has the shape {a.shape}, must be a square matrix")


def _overwrite_if(a, result, overwrite: bool):
    """The result, in the memory of the argument if it is overwritten."""
    if not overwrite:
        return result
    a[...] = result
    return a


# ---- products


@_queued
def dot(x_gpu, y_gpu, transa="N", transb="N", handle=None, out=None):
    """The product of matrices or vectors; of two vectors a number.

    Parameters
    ----------
    x_gpu, y_gpu : GPUArray
        Of one dtype.
    transa, transb : {"N", "T", "C"}, optional
        "T": of the transposed matrix, "C": of the conjugate transposed.
    handle : int, optional
    out : GPUArray, optional
        For the result.
    """
    if x_gpu.ndim == y_gpu.ndim == 1:
        return np.dot(x_gpu, y_gpu).get()[()]
    if out is None and x_gpu.ndim == y_gpu.ndim == 2 and _in_columns(x_gpu) and _in_columns(y_gpu):
        x, y = _operand(x_gpu, transa), _operand(y_gpu, transb)
        out = gpuarray.empty((x.shape[0], y.shape[1]), np.result_type(x.dtype, y.dtype), order="F")
    return np.matmul(_operand(x_gpu, transa), _operand(y_gpu, transb), out=out)


@_queued
def add_dot(a_gpu, b_gpu, c_gpu, transa="N", transb="N", alpha=1.0, beta=1.0, handle=None):
    """c_gpu becomes alpha * (a_gpu @ b_gpu) + beta * c_gpu, and is returned; parameters as in dot."""
    product = np.matmul(_operand(a_gpu, transa), _operand(b_gpu, transb))
    number = c_gpu.dtype.type
    c_gpu[...] = number(alpha) * product + number(beta) * c_gpu if beta else number(alpha) * product
    return c_gpu


@_queued
def mdot(*args, **kwargs):
    """The product of several matrices, in the order of multiplications that has the fewest."""
    unknown = kwargs.keys() - {"handle"}
    if unknown or not args:
        raise TypeError(f"mdot takes arrays and a handle, not {', '.join(unknown) or 'nothing'}")
    return np.linalg.multi_dot(args) if len(args) > 1 else args[0]


@_queued
def dot_diag(d_gpu, a_gpu, trans="N", overwrite=False, handle=None):
    """The product of a diagonal matrix, given as a vector, with a matrix.

    Parameters
    ----------
    d_gpu : GPUArray
        A vector.
    a_gpu : GPUArray
        A matrix with as many rows; columns if trans is "T": the result is then (diag(d) @ a.T).T.
    trans : {"N", "T"}, optional
    overwrite : bool, optional
        The result is stored in a_gpu.
    handle : int, optional
    """
    d = d_gpu.reshape(-1)
    axis = 0 if letter("trans", trans) == "n" else 1
    if a_gpu.ndim != 2 or a_gpu.shape[axis] != d.size:
        raise ValueError(f"shapes {d_gpu.shape} and {a_gpu.shape} do not fit")
    column_or_row = d[:, None] if axis == 0 else d[None]
    return _overwrite_if(a_gpu, column_or_row * a_gpu, overwrite)


# ---- matrices


@_queued
def add_diag(d_gpu, a_gpu, overwrite=False, handle=None):
    """a_gpu + diag(d_gpu), stored in a_gpu if it is overwritten."""
    _require_square(a_gpu)
    if d_gpu.size != len(a_gpu):
        raise ValueError(f"the vector has {d_gpu.size} elements, the diagonal {len(a_gpu)}")
    result = a_gpu if overwrite else a_gpu.copy()
    places = gpuarray.arange(len(a_gpu), dtype=np.int64)
    result[places, places] += d_gpu.reshape(-1)
    return result


@_queued
def transpose(a_gpu, handle=None):
    """The transposed matrix, a copy."""
    return _laid_out_as(a_gpu.T, a_gpu)


@_queued
def hermitian(a_gpu, handle=None):
    """The conjugate transposed matrix, a copy."""
    return _laid_out_as(a_gpu.T.conj(), a_gpu)


def conj(x_gpu, overwrite=False):
    """The complex conjugate, stored in x_gpu if it is overwritten."""
    return np.conj(x_gpu, out=x_gpu if overwrite else None)


def diag(v_gpu):
    """The matrix with this diagonal, a vector or a matrix with one column; of other matrices the diagonal."""
    if v_gpu.ndim > 2:
        raise ValueError(f"the array has {v_gpu.ndim} axes, must have 1 or 2")
    if v_gpu.ndim == 1 or v_gpu.shape[1] == 1:
        return np.diag(v_gpu.reshape(-1))
    return np.diag(v_gpu).copy()


def eye(N, dtype=np.float32):
    """The identity matrix with N rows."""
    return gpuarray.eye(N, dtype=dtype)


@_queued
def tril(a_gpu, overwrite=False, handle=None):
    """The lower triangle of a square matrix, zeros above it; in a_gpu if it is overwritten."""
    _require_square(a_gpu)
    return _overwrite_if(a_gpu, np.tril(a_gpu), overwrite)


@_queued
def triu(a_gpu, k=0, overwrite=False, handle=None):
    """The triangle of a square matrix above diagonal k, zeros below it; in a_gpu if it is overwritten."""
    _require_square(a_gpu)
    return _overwrite_if(a_gpu, np.triu(a_gpu, int(k)), overwrite)


def multiply(x_gpu, y_gpu, overwrite=False):
    """The product of the elements, stored in y_gpu if it is overwritten."""
    if x_gpu.shape != y_gpu.shape:
        raise ValueError(f"shapes {x_gpu.shape} and {y_gpu.shape} differ")
    return np.multiply(x_gpu, y_gpu, out=y_gpu if overwrite else None)


@_queued
def scale(alpha, x_gpu, alpha_real=False, handle=None) -> None:
    """x_gpu is multiplied by a number: by the number's real part if alpha_real."""
    if isinstance(alpha, complex):
        alpha = alpha.real if alpha_real else x_gpu.dtype.type(alpha)
    x_gpu *= alpha


@_queued
def vander(a_gpu, n=None, handle=None):
    """The matrix of the powers 0 to n - 1 of a vector's elements; n is its length by default."""
    return np.vander(a_gpu.reshape(-1), n, increasing=True).copy("F")


# ---- numbers


@_queued
def norm(x_gpu, handle=None) -> float:
    """The square root of the sum of squares of all elements."""
    return float(np.linalg.norm(x_gpu.reshape(-1)))


@_queued
def trace(x_gpu, handle=None):
    """The sum of the diagonal."""
    if x_gpu.ndim != 2:
        raise ValueError(f"the array has {x_gpu.ndim} axes, must have 2")
    return np.trace(x_gpu, dtype=x_gpu.dtype).get()[()]


@_queued
def det(a_gpu, overwrite=False, workspace_gpu=None, ipiv_gpu=None, handle=None, lib="cusolver"):
    """The determinant; `workspace_gpu` and `ipiv_gpu` are not needed."""
    _require_square(a_gpu)
    return np.linalg.det(a_gpu).get()[()]


# ---- inverses and factorizations


@_queued
def inv(a_gpu, overwrite=False, ipiv_gpu=None, lib="cusolver"):
    """The inverse, stored in a_gpu if it is overwritten.

    Parameters
    ----------
    a_gpu : GPUArray
        A square matrix.
    overwrite : bool, optional
    ipiv_gpu : GPUArray, optional
        Not needed; must be a vector of as many int32.
    lib : str, optional

    Raises
    ------
    LinAlgError
        The matrix is singular.
    ValueError
        It is not square, or ipiv_gpu is not as said.
    """
    _require_square(a_gpu)
    if ipiv_gpu is not None and (ipiv_gpu.dtype != np.int32 or ipiv_gpu.shape != a_gpu.shape[:1]):
        raise ValueError(f"ipiv_gpu must be a vector of {len(a_gpu)} int32")
    return _overwrite_if(a_gpu, _laid_out_as(np.linalg.inv(a_gpu), a_gpu), overwrite)


@_queued
def pinv(a_gpu, rcond=1e-15, lib="cusolver"):
    """The Moore-Penrose pseudoinverse; singular values up to rcond times the largest count as 0."""
    return _laid_out_as(np.linalg.pinv(a_gpu, rcond=rcond), a_gpu)


@_queued
def svd(a_gpu, jobu="A", jobvt="A", lib="cusolver"):
    """The singular value decomposition: a = (u * s) @ vh.

    Parameters
    ----------
    a_gpu : GPUArray
        A matrix of the shape (m, n).
    jobu, jobvt : {"A", "S", "O", "N"}, optional
        "A": u has m columns (vh n rows); "S": it has min(m, n); "O": it has min(m, n) and is stored in a_gpu,
        which must be square; "N": it is not returned.
    lib : str, optional

    Returns
    -------
    u, s, vh : GPUArray
        Without those that are not wanted.
    """
    jobu, jobvt = letter("jobu", jobu), letter("jobvt", jobvt)
    if "o" in (jobu, jobvt) and (jobu == jobvt or a_gpu.shape[0] != a_gpu.shape[1]):
        raise ValueError("one of jobu and jobvt may be 'O', and then for a square matrix only")
    if jobu == jobvt == "n":
        return np.linalg.svdvals(a_gpu)
    u, s, vh = np.linalg.svd(a_gpu, full_matrices="a" in (jobu, jobvt))
    parts = (jobu, u if jobu == "a" else u[:, : s.size]), (jobvt, vh if jobvt == "a" else vh[: s.size])
    u, vh = (_overwrite_if(a_gpu, _laid_out_as(part, a_gpu), job == "o") for job, part in parts)
    return (*(() if jobu == "n" else (u,)), s, *(() if jobvt == "n" else (vh,)))


def _cholesky_factor(a_gpu, uplo: str):
    """(a, factor, lower): a view of the matrix that the memory holds column by column, which is the
    transposed of a row-major one; its Cholesky factor, zeros in the other triangle; whether that is the lower
    one.
    """
    _require_square(a_gpu)
    a = a_gpu if _in_columns(a_gpu) else a_gpu.T
    lower = letter("uplo", uplo) == "l"
    part = np.tril if lower else np.triu
    return a, part(pycuda.linalg.cho_factor(a, lower)[0]), lower


@_queued
def cho_factor(a_gpu, uplo="L", lib="cusolver") -> None:
    """The Cholesky factor overwrites a triangle of a_gpu: with uplo "L" the lower, with "U" the upper one.

    As in cuSOLVER, memory is read column by column: of a row-major matrix "L" is therefore the upper
    triangle, and by default the result is that of scipy.linalg.cho_factor.
    """
    a, factor, lower = _cholesky_factor(a_gpu, uplo)
    a[...] = factor + (np.triu(a, 1) if lower else np.tril(a, -1))


@_queued
def cholesky(a_gpu, uplo="L", lib="cusolver") -> None:
    """The Cholesky factor overwrites a_gpu as by cho_factor, and the other triangle becomes 0."""
    a, factor, _ = _cholesky_factor(a_gpu, uplo)
    a[...] = factor


@_queued
def cho_solve(a_gpu, b_gpu, uplo="L", lib="cusolver") -> None:
    """b_gpu becomes the solution x of a x = b, and a_gpu the Cholesky factor as in cho_factor.

    A row-major matrix counts as its transposed, which makes a difference for complex numbers.
    """
    a, factor, lower = _cholesky_factor(a_gpu, uplo)
    b_gpu[...] = pycuda.linalg.cho_solve((factor, lower), b_gpu)
    a[...] = factor + (np.triu(a, 1) if lower else np.tril(a, -1))


@_queued
def qr(a_gpu, mode="reduced", handle=None, lib="cusolver"):
    """The QR decomposition, column-major.

    Parameters
    ----------
    a_gpu : GPUArray
        A matrix.
    mode : {"reduced", "economic", "r"}, optional
        (q, r), q alone, or r alone.
    handle : int, optional
    lib : str, optional
    """
    if mode not in ("reduced", "economic", "r"):
        raise ValueError(f"mode is {mode!r}, must be 'reduced', 'economic' or 'r'")
    if mode == "r":
        return np.linalg.qr(a_gpu, "r").copy("F")
    q, r = np.linalg.qr(a_gpu)
    return q.copy("F") if mode == "economic" else (q.copy("F"), r.copy("F"))


def _is_hermitian(a) -> bool:
    """Whether a square matrix is Hermitian, within rounding errors."""
    error = abs(a - a.T.conj()).max()
    return bool(error <= 100 * np.finfo(a.dtype).eps * abs(a).max())


@_queued
def eig(a_gpu, jobvl="N", jobvr="V", imag="F", lib="cusolver"):
    """Eigenvalues and eigenvectors, column-major.

    Parameters
    ----------
    a_gpu : GPUArray
        A square matrix. Of a Hermitian one eigenvalues are real and ascend.
    jobvl, jobvr : {"V", "N"}, optional
        Whether left and right eigenvectors are computed.
    imag : {"F", "T"}, optional
        Of a real matrix with complex eigenvalues: "T" returns them, "F" their real parts.
    lib : str, optional

    Returns
    -------
    vr, w, vl : GPUArray
        Right eigenvectors (columns), eigenvalues, left eigenvectors, without those that are not wanted.
    """
    _require_square(a_gpu)
    left, right = (letter("jobz", job) == "v" for job in (jobvl, jobvr))
    if _is_hermitian(a_gpu):
        w, vr = np.linalg.eigh(a_gpu) if left or right else (np.linalg.eigvalsh(a_gpu), None)
        vl = vr
    else:
        w, vr = np.linalg.eig(a_gpu) if left or right else (np.linalg.eigvals(a_gpu), None)
        vl = _left_eigenvectors(vr) if left else None
    if a_gpu.dtype.kind == "f" and w.dtype.kind == "c" and imag.upper() == "F":
        w = w.real
    wanted = ([vr.copy("F")] if right else []) + [w] + ([vl.copy("F")] if left else [])
    return tuple(wanted) if len(wanted) > 1 else w


def _left_eigenvectors(vr):
    """The left eigenvectors as columns of length 1, from the matrix of the right ones."""
    vl = np.linalg.inv(vr).T.conj()
    return vl / np.linalg.norm(vl, axis=0)


@_queued
def dmd(a_gpu, k=None, modes="exact", return_amplitudes=False, return_vandermonde=False, handle=None):
    """Dynamic mode decomposition: a[:, :-1] = (f * b) @ v.

    Parameters
    ----------
    a_gpu : GPUArray
        A matrix of the shape (m, n), whose columns are snapshots.
    k : int, optional
        The number of modes; n - 1 by default.
    modes : {"exact", "standard"}, optional
    return_amplitudes, return_vandermonde : bool, optional
    handle : int, optional

    Returns
    -------
    f : GPUArray
        The modes, as columns.
    b : GPUArray
        The amplitudes, if they are wanted.
    v : GPUArray
        The Vandermonde matrix of the eigenvalues, if it is wanted.
    omega : GPUArray
        The logarithms of the eigenvalues.

    References
    ----------
    Tu et al., "On dynamic mode decomposition: theory and applications", arXiv:1312.0041.
    """
    if modes not in ("exact", "standard"):
        raise ValueError(f"modes is {modes!r}, must be 'exact' or 'standard'")
    n = a_gpu.shape[1]
    if k is not None and not 0 < k <= n - 1:
        raise ValueError(f"k is {k}, must be from 1 to {n - 1}")
    before, after = a_gpu[:, :-1], a_gpu[:, 1:]
    u, s, vh = (each.copy() for each in np.linalg.svd(before, full_matrices=False))
    u, s, vh = u[:, :k], s[:k], vh[:k]
    weighted = after @ (vh.T.conj() / s)
    w, vectors = np.linalg.eig(u.T.conj() @ weighted)
    f = (weighted if modes == "exact" else u) @ vectors
    complex_w = w.astype(np.result_type(w.dtype, np.complex64))
    found = [f.copy("F")]
    if return_amplitudes:
        found.append(np.linalg.lstsq(f, a_gpu[:, 0].astype(f.dtype))[0])
    if return_vandermonde:
        found.append(np.vander(w, n - 1, increasing=True).copy("F"))
    return (*found, np.log(complex_w))


# ---- principal components


class PCA:
    """The principal components of samples, as columns of scores: left singular vectors times singular values.

    From each sample its mean is subtracted first, as in the algorithm that scikit-cuda uses.

    Parameters
    ----------
    n_components : int, optional
        How many; by default as many as there are.
    handle : int, optional
        Of cuBLAS: functions queue on its stream.
    epsilon, max_iter : optional
        Not needed: nothing is iterated.

    References
    ----------
    M. Andrecut, "Parallel GPU implementation of iterative PCA algorithms", arXiv:0811.1081.
    """

    def __init__(self, n_components=None, handle=None, epsilon=1e-7, max_iter=10000):
        self.set_n_components(n_components)
        self.h, self.epsilon, self.max_iter = handle, epsilon, max_iter

    def set_n_components(self, n_components) -> None:
        """Set how many components are returned; None: as many as there are."""
        if n_components is not None and n_components < 1:
            raise ValueError(f"n_components is {n_components}, must be None or more than 0")
        self.n_components = n_components

    def get_n_components(self):
        """How many components are returned, as set."""
        return self.n_components

    def fit_transform(self, X_gpu):
        """The components of a column-major matrix, float32 or float64, with a row for each sample."""
        if X_gpu.ndim != 2 or X_gpu.dtype not in (np.float32, np.float64):
            raise ValueError("X_gpu must be a matrix of float32 or float64")
        if X_gpu.flags.c_contiguous and not X_gpu.flags.f_contiguous:
            raise ValueError("X_gpu must be column-major (order='F')")
        with queued_on(getattr(self.h, "stream", None)):
            u, s, vh = np.linalg.svd(X_gpu - X_gpu.mean(axis=1, keepdims=True), full_matrices=False)
            count = min(self.n_components or s.size, s.size)
            # scikit-cuda's iteration for component k starts from column k of X, which gives the component the
            # sign by which that column's part along it (vh[k, k]) is positive.
            signs = np.where(vh.diagonal() < 0, X_gpu.dtype.type(-1), X_gpu.dtype.type(1))
            return ((u * (s * signs))[:, :count]).copy("F")
