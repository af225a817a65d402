"""Whether a factorization failed for a matrix: LAPACK's info, which the host reads and waits for, or NaN."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from pycuda import _driver
from pycuda._array.core import captures
from pycuda._array.core.creation import full
from pycuda._array.core.elementwise import apply
from pycuda._array.core.flags import ErrorCheck

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray

_wanted = contextvars.ContextVar("pycuda.linalg.checks", default=True)


@contextlib.contextmanager
def without_checks() -> Iterator[None]:
    """Factorizations that do not wait: what fails is NaN, and no exception.

    numpy.linalg raises LinAlgError for a matrix that is singular, is not positive definite, or whose
    eigenvalues do not converge. To do so for arrays on the device, the host waits until it is known. In the
    block it does not: the results for such a matrix are NaN, those for the others are right. So functions of
    numpy.linalg and pycuda.linalg can be captured in a graph.

    Some results depend on what the host would read: ``numpy.linalg.eig`` gives complex arrays always,
    ``numpy.linalg.lstsq`` gives residuals whatever the rank, ``numpy.polyfit`` does not warn of it,
    ``numpy.roots`` takes the first coefficient for one that is not 0, and ``pycuda.linalg`` takes infinities
    and NaNs.

    Examples
    --------
    >>> import numpy as np
    >>> import pycuda.linalg
    >>> import pycuda.gpuarray as gpuarray
    >>> import pycuda.autoprimaryctx
    >>> a = gpuarray.to_gpu(np.array([[[1.0, 1], [1, 1]], [[2, 0], [0, 4]]]))
    >>> with pycuda.linalg.without_checks():
    ...     print(np.linalg.inv(a)[:, 0, 0])
    [nan 0.5]
    """
    token = _wanted.set(False)
    try:
        yield
    finally:
        _wanted.reset(token)


def are_wanted() -> bool:
    """Whether failures are raised: not within without_checks()."""
    return _wanted.get()


def refuse_in_capture(name: str) -> None:
    """LogicError if the current stream is captured and the host would have to read info, as outside of
    without_checks(). name: that of the function of NumPy.
    """
    if are_wanted():
        captures.refuse(
            name,
            "the host must read whether the factorization failed",
            instead="in pycuda.linalg.without_checks() it can be, and what fails is NaN",
        )


def linalg_error(text: str) -> ErrorCheck:
    """A `with` block around launches of kernels that fill the results of matrices that fail with NaN. They
    report it by the block's address; its end waits for them and raises LinAlgError with this text. Within
    without_checks() it does nothing.
    """
    return ErrorCheck(are_wanted(), _driver.current_stream(), lambda: np.linalg.LinAlgError(text))


def new_info(batch, allocator=None) -> GPUArray:
    """LAPACK's info, an int32 of 0 for each matrix of a stack with the axes `batch`."""
    return full(batch, 0, np.int32, allocator)


def fill_failed(info, *results) -> None:
    """NaN for the matrices whose info is not 0; each result has the axes of info, and others after them."""
    failed = apply("not_equal", info, 0)
    for each in results:
        if each.size:
            mask = failed.reshape(*info.shape, *(1,) * (each.ndim - info.ndim)) if info.ndim else failed
            apply("where", mask, np.nan, each, out=each)


def first_info(info, diagonals=None) -> int:
    """The first info that is not 0, or 0 if all are: waits for the device.

    diagonals: those of U, for LU factorizations, where info is the number of a zero pivot, from 1. cuSOLVER,
    unlike LAPACK, also reports a pivot that is NaN: an info whose pivot is not 0 is ignored.
    """
    found = np.ravel(info.get()) if info.size else np.zeros(1, np.int32)
    if diagonals is not None and found.any():
        reported = diagonals.get().reshape(found.size, -1)[np.arange(found.size), np.maximum(found, 1) - 1]
        found = np.where(reported == 0, found, 0)
    return int(found[np.argmax(found != 0)])


def raise_if_failed(info, text: str | Callable[[int], str], *results, diagonals=None) -> None:
    """LinAlgError with this text if a matrix failed; within without_checks() its results become NaN instead.

    text: the message, or a function that makes it of the first info that is not 0. diagonals: as for
    first_info().
    """
    if not are_wanted():
        fill_failed(info, *results)
        return
    failed = first_info(info, diagonals)
    if failed:
        raise np.linalg.LinAlgError(text if isinstance(text, str) else text(failed))
