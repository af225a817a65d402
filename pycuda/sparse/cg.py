"""Conjugate gradients, after J. R. Shewchuk, An Introduction to the Conjugate Gradient Method Without the
Agonizing Pain (1994), appendix B3. The host queues iterations and looks at numbers that are some iterations
old, so that the device never waits for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pycuda import gpuarray
from pycuda._base.public_names import documented_init as _documented_init
from pycuda.elementwise import ElementwiseKernel
from pycuda.gpuarray import GPUArray
from pycuda.sparse.inner import AsyncInnerProduct
from pycuda.sparse.operator import IdentityOperator, OperatorBase
from pycuda.sparse.packeted import PacketedSpMV
from pycuda.tools import PageLockedMemoryPool, context_dependent_memoize, dtype_to_ctype

# Every _CHECK iterations the host looks at the size of a residual that is at least _CHECK iterations old, so
# that it need not wait for the device.
_CHECK = 10
# Every _REAL iterations the residual is computed by the operator, instead of being updated: updates
# accumulate rounding errors.
_REAL = 20
_MIN_ITERATIONS, _ITERATIONS_PER_ROW = 61, 10  # of the default of max_iterations


class ConvergenceError(RuntimeError):
    """The residual did not become small enough."""


@context_dependent_memoize
def _lc2_kernel(dtype: np.dtype[Any], a_on_device: bool, b_on_device: bool) -> ElementwiseKernel:
    """out = a x + b y; factors are numbers or arrays of one number."""
    t = dtype_to_ctype(dtype)
    a, b = (("*", "[i]") if on_device else ("", "") for on_device in (a_on_device, b_on_device))
    arguments = f"{t} *out, {t} {a[0]}a, {t} *x, {t} {b[0]}b, {t} *y"
    return ElementwiseKernel(arguments, f"out[i] = a{a[1]} * x[i] + b{b[1]} * y[i]", "lc2")


@context_dependent_memoize
def _guarded_div_kernel(dtype: np.dtype[Any]) -> ElementwiseKernel:
    """out = a / b, and 0 where b is 0."""
    t = dtype_to_ctype(dtype)
    expression = f"out[i] = b[i] == {t}(0) ? {t}(0) : a[i] / b[i]"
    return ElementwiseKernel(f"{t} *out, {t} *a, {t} *b", expression, "guarded_div")


def _inner_left(vector: GPUArray) -> GPUArray:
    """The left operand of an inner product: dot() does not conjugate."""
    return vector.conj() if vector.dtype.kind == "c" else vector


@_documented_init
class CGStateContainer:
    """The vectors of a run of conjugate gradients.

    Parameters
    ----------
    operator : OperatorBase
        Symmetric (Hermitian when complex) and positive definite.
    precon : OperatorBase, optional
        An approximate inverse of it, of the same kind; by default the identity.
    pagelocked_allocator : callable, optional
        Returns a page-locked array for a shape and a dtype; by default from a pool.

    Attributes
    ----------
    x, residual, d : GPUArray
        The solution so far, the right side less the operator's result for it, the direction of search.
    real_delta_queue : list of AsyncInnerProduct
        Sizes of residuals that were made with the operator, not yet looked at.
    """

    def __init__(
        self, operator: OperatorBase, precon: OperatorBase | None = None,
        pagelocked_allocator: Callable[..., np.ndarray[Any, Any]] | None = None,
    ) -> None:  # fmt: skip
        if operator.shape[0] != operator.shape[1]:
            raise ValueError(f"the operator has the shape {operator.shape}: it must be square")
        self.operator = operator
        self.precon = IdentityOperator(operator.dtype, operator.shape[0]) if precon is None else precon
        if pagelocked_allocator is None:
            pagelocked_allocator = PageLockedMemoryPool().allocate
        self.pagelocked_allocator = pagelocked_allocator

    def lc2(self, a: Any, x: GPUArray, b: Any, y: GPUArray, out: GPUArray | None = None) -> GPUArray:
        """a x + b y.

        Parameters
        ----------
        a : number or 0-d GPUArray
        x : GPUArray
        b : number or 0-d GPUArray
        y : GPUArray
            It has the shape and dtype of x.
        out : GPUArray, optional
            May be x or y.
        """
        out = gpuarray.empty(x.shape, x.dtype, allocator=x.allocator) if out is None else out
        on_device = (isinstance(a, GPUArray), isinstance(b, GPUArray))
        _lc2_kernel(x.dtype, *on_device)(out, a, x, b, y)
        return out

    def guarded_div(self, a: GPUArray, b: GPUArray) -> GPUArray:
        """a / b, and 0 where b is 0."""
        out = gpuarray.empty(a.shape, a.dtype, allocator=a.allocator)
        _guarded_div_kernel(a.dtype)(out, a, b)
        return out

    def reset(self, rhs: GPUArray, x: GPUArray | None = None) -> None:
        """Begin with a right side.

        Parameters
        ----------
        rhs : GPUArray
        x : GPUArray, optional
            Where to begin, and where the solution will be; by default a new array of zeros.
        """
        if rhs.dtype != self.operator.dtype:
            raise TypeError(f"rhs is of {rhs.dtype}, the operator of {self.operator.dtype}")
        if rhs.shape != (self.operator.shape[0],):
            raise ValueError(
                f"rhs has the shape {rhs.shape}, an operator of shape {self.operator.shape} needs "
                f"({self.operator.shape[0]},)"
            )
        self.rhs = rhs
        self.x = gpuarray.zeros(rhs.shape, rhs.dtype, allocator=rhs.allocator) if x is None else x
        self.residual = self.lc2(1, rhs, -1, self.operator(self.x))
        self.d = self._own_copy(self.precon(self.residual))
        delta = self._delta(self.d)
        self.real_delta_queue = [delta]
        self.delta = delta.gpu_result
        self._rhs_delta = delta if x is None else self._product(rhs, self.precon(rhs))

    def _own_copy(self, vector: GPUArray) -> GPUArray:
        """The vector, or a copy if it is the residual itself, which the identity operator returns: d and the
        residual are changed in place."""
        return vector.copy() if vector is self.residual else vector

    def _product(self, left: GPUArray, right: GPUArray) -> AsyncInnerProduct:
        """The inner product of two vectors, on its way to the host."""
        return AsyncInnerProduct(_inner_left(left), right, self.pagelocked_allocator)

    def _delta(self, preconditioned: GPUArray) -> AsyncInnerProduct:
        """The squared size of the residual r, r^H M^-1 r, where `preconditioned` is M^-1 r."""
        return self._product(self.residual, preconditioned)

    def _latest_delta(self) -> AsyncInnerProduct:
        """The size of the residual where a run begins."""
        return self.real_delta_queue[-1] if self.real_delta_queue else self._delta(self.precon(self.residual))

    def one_iteration(self, compute_real_residual: bool = False) -> None:
        """Queue one step.

        Parameters
        ----------
        compute_real_residual : bool
            Make the residual with the operator, not from the one before; its size goes to real_delta_queue.
        """
        q = self.operator(self.d)
        alpha = self.guarded_div(self.delta, gpuarray.dot(_inner_left(self.d), q))
        self.lc2(1, self.x, alpha, self.d, out=self.x)
        if compute_real_residual:
            self.residual = self.lc2(1, self.rhs, -1, self.operator(self.x))
        else:
            self.lc2(1, self.residual, -alpha, q, out=self.residual)
        s = self.precon(self.residual)
        before = self.delta
        if compute_real_residual:
            delta = self._delta(s)
            self.real_delta_queue.append(delta)
            self.delta = delta.gpu_result
        else:
            self.delta = gpuarray.dot(_inner_left(self.residual), s)
        self.lc2(1, s, self.guarded_div(self.delta, before), self.d, out=self.d)

    def run(
        self, max_iterations: int | None = None, tol: float = 1e-7,
        debug_callback: Callable[..., object] | None = None,
    ) -> GPUArray:  # fmt: skip
        """Iterate until the residual is small enough.

        Parameters
        ----------
        max_iterations : int, optional
            By default ten times the number of rows, at least 61.
        tol : float
            What the residual's norm must fall to, relative to that where this run begins or, if larger, to
            the right side's.
        debug_callback : callable, optional
            Called with ("it", "it+residual" or "end", number of iteration, x, residual, d, last known delta).

        Returns
        -------
        GPUArray
            x.

        Raises
        ------
        ConvergenceError

        Notes
        -----
        The number of iterations does not depend on how fast the device is.
        """
        if max_iterations is None:
            max_iterations = max(_MIN_ITERATIONS, _ITERATIONS_PER_ROW * self.operator.shape[0])
        call = debug_callback or (lambda *args: None)
        limit = _Limit(tol, self._latest_delta(), self._rhs_delta)
        self.real_delta_queue = []
        queued_in: list[int] = []  # the iteration in which each entry of real_delta_queue was queued
        for iteration in range(max_iterations):
            last = iteration == max_iterations - 1
            real = iteration % min(_REAL, self.operator.shape[0] or 1) == 0 or last
            self.one_iteration(real)
            if real:
                queued_in.append(iteration)
            call("it+residual" if real else "it", iteration, self.x, self.residual, self.d, limit.delta)
            if iteration % _CHECK and not last:
                continue
            while queued_in and (last or queued_in[0] <= iteration - _CHECK):
                queued_in.pop(0)
                if limit.reached(self.real_delta_queue.pop(0)):
                    call("end", iteration, self.x, self.residual, self.d, limit.delta)
                    return self.x
        raise ConvergenceError(limit.failure(max_iterations))


class _Limit:
    """Decides whether a residual is small enough, relative to the run's first residual or to the right-hand
    side, whichever is larger. If a run starts near the solution, its first residual is about as small as
    rounding errors, and no later one would be small enough relative to it alone. All sizes are squares."""

    def __init__(self, tol: float, first: AsyncInnerProduct, rhs: AsyncInnerProduct) -> None:
        self.tol, self.first, self.rhs = tol, first, rhs
        self.delta: Any = None  # the last size that reached() looked at

    def scale(self) -> Any:
        """The squared size to which the tolerance is relative; waits for it."""
        return max(abs(self.first.wait()), abs(self.rhs.wait()))

    def reached(self, product: AsyncInnerProduct) -> bool:
        """Wait for the squared residual and return whether it is below the tolerance. ConvergenceError if it
        is not finite.
        """
        self.delta = product.wait()
        if not np.isfinite(self.delta):
            raise ConvergenceError(
                f"conjugate gradients: the residual became {self.delta}: is the operator positive definite, "
                "and are all of its elements finite?"
            )
        return bool(abs(self.delta) <= self.tol**2 * self.scale())

    def failure(self, iterations: int) -> str:
        """The message of the error after that many iterations."""
        if self.delta is None:
            return f"conjugate gradients: max_iterations is {iterations}: nothing was done"
        ratio = np.sqrt(abs(self.delta) / self.scale())
        return (
            f"conjugate gradients: after {iterations} iterations the residual is {ratio:.3g} of the initial "
            f"one or of the right-hand side, and tol is {self.tol:g}: allow more iterations or a larger tol"
        )


def solve_pkt_with_cg(
    pkt_spmv: PacketedSpMV,
    b: GPUArray,
    precon: OperatorBase | None = None,
    x: GPUArray | None = None,
    tol: float = 1e-7,
    max_iterations: int | None = None,
    debug: bool = False,
    pagelocked_allocator: Callable[..., np.ndarray[Any, Any]] | None = None,
) -> tuple[GPUArray, int, int]:
    """The solution of A x = b by conjugate gradients.

    Parameters
    ----------
    pkt_spmv : PacketedSpMV
        Of a symmetric (Hermitian when complex) and positive definite matrix.
    b : GPUArray
    precon : OperatorBase, optional
        An approximate inverse in the numbering of `pkt_spmv` (see `PacketedSpMV.permute`).
    x : GPUArray, optional
        Where to begin; it is not changed.
    tol : float
        What the residual's norm must fall to, relative to that of the first or, if larger, of b.
    max_iterations : int, optional
    debug : bool
        Print the residual's square whenever one is known.
    pagelocked_allocator : callable, optional
        Returns a page-locked array for a shape and a dtype; by default from a pool.

    Returns
    -------
    tuple
        (x, number of iterations, how many of them made the residual with the operator).

    Raises
    ------
    ConvergenceError
    """
    counts = {"it": 0, "it+residual": 0, "end": 0}

    def count(what: str, iteration: int, x: object, residual: object, d: object, delta: Any) -> None:
        counts[what] += 1
        if debug and what != "it":
            print(f"iteration {iteration}: {'not computed yet' if delta is None else delta}")

    state = CGStateContainer(pkt_spmv, precon, pagelocked_allocator)
    state.reset(pkt_spmv.permute(b), None if x is None else pkt_spmv.permute(x))
    result = pkt_spmv.unpermute(state.run(max_iterations, tol, count))
    return result, counts["it"] + counts["it+residual"], counts["it+residual"]
