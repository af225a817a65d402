"""Fourier transforms by cuFFT. A plan is made once for a transform, its layout and a stream, and kept with
its workspace. When the workspaces of a context exceed a limit in bytes, the plans that were not used for the
longest time are dropped.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from pycuda import _driver
from pycuda._driver import _is_captured, _LibraryFunction, _outside_captures
from pycuda._kernels.plans.caches import ContextCache, current, of_stream

from .blas import CUDA_DATA_TYPES
from .shortage import no_room

_FORWARD, _INVERSE = -1, 1
_ALLOC_FAILED = 2  # cufftResult
# The maximum number of plans of a context: a plan without a workspace takes memory too.
_MAX_PLANS = 1024
# By default, workspaces may take one part in so many of the device's memory.
_DEFAULT_LIMIT_DIVISOR = 16

_do_not_allocate = _LibraryFunction("cufftSetAutoAllocation")
_make = _LibraryFunction("cufftXtMakePlanMany")
_execute = _LibraryFunction("cufftXtExec")


class FftLayout(NamedTuple):
    """Where elements are in memory, as cuFFT describes it. All distances are in elements."""

    embed: tuple[int, ...]  # embed[i] times the stride of axis i is the stride of axis i - 1
    stride: int  # of the last axis
    distance: int  # between consecutive transforms of a batch


class FftTransform(NamedTuple):
    """Everything that a plan depends on, except its stream. Types are names of dtypes."""

    sizes: tuple[int, ...]
    batch: int
    source: FftLayout
    source_type: str
    result: FftLayout
    result_type: str

    def __str__(self) -> str:
        sizes = " x ".join(map(str, self.sizes))
        return f"{self.batch} of {sizes} from {self.source_type} to {self.result_type}"


class _FftPlan:
    """A cuFFT plan that one stream uses, and its workspace. A thread calls acquire(), executes the plan, and
    calls release(); meanwhile other threads wait in acquire()."""

    def __init__(self, transform: FftTransform):
        sizes, batch, source, source_type, result, result_type = transform
        size = np.zeros(1, np.uint64)
        # The precision is given as a complex type: the one of the operands that is complex, or both are.
        computed = max(CUDA_DATA_TYPES[source_type], CUDA_DATA_TYPES[result_type])
        self.handle = _driver._LibraryHandle("cufft")
        _do_not_allocate(self.handle, 0)
        _make(
            self.handle, len(sizes), np.array(sizes, np.longlong),
            np.array(source.embed, np.longlong), source.stride, source.distance, CUDA_DATA_TYPES[source_type],
            np.array(result.embed, np.longlong), result.stride, result.distance, CUDA_DATA_TYPES[result_type],
            batch, size, computed,
        )  # fmt: skip
        self.size = int(size[0])
        self.workspace_size = max(self.size, 1)
        self.workspace: Any = None  # made by the first acquire() outside of a capture
        self.is_set = False  # whether the handle uses self.workspace: not after a capture
        self.used = 0  # the number of the last use, of all uses of plans
        self.lock = threading.Lock()

    def acquire(self, stream) -> Any:
        """Lock the plan until release() and return the workspace that its next executions use. If this fails,
        the plan is not locked."""
        self.lock.acquire()
        try:
            return self._prepare(stream)
        except BaseException:
            self.lock.release()
            raise

    def release(self) -> None:
        self.lock.release()

    def _prepare(self, stream) -> Any:
        """Make the handle use a workspace and return it: a new one for a capture, otherwise the plan's."""
        if _is_captured(stream):  # graphs may run at the same time, so each execution needs its own
            workspace, self.is_set = _driver.GPUArray(self.workspace_size, np.uint8), False
            self.handle.use(stream, workspace, self.workspace_size)
            return workspace
        if self.workspace is None:  # not from the pool, whose blocks keep the streams that use them alive
            self.workspace = _driver.mem_alloc(self.workspace_size)
        if not self.is_set:
            self.handle.use(stream, self.workspace, self.workspace_size)
            self.is_set = True
        return self.workspace


# ---- the plans of a context

_plans = ContextCache()  # for each stream a dict of plans by FftTransform
_uses = itertools.count(1)
_limits = ContextCache()  # what set_limit() was called with


def limit() -> int:
    """The bytes that the workspaces of the current context's plans may take together."""
    size = _limits.get(current())
    if size is None:
        return _driver.Context.get_device().total_memory() // _DEFAULT_LIMIT_DIVISOR
    return size


def set_limit(size: int | None) -> None:
    """Set the limit for the current context, and drop plans beyond it. None: the default."""
    _limits[current()] = size
    _evict()


def _by_stream() -> Iterator[dict[FftTransform, _FftPlan]]:
    """The plans of each stream of the current context."""
    by_stream, by_none = _plans.get(current(), ({}, {}))
    yield from list(by_stream.values())
    yield from list(by_none.values())


def kept_plans() -> list[tuple[FftTransform, _FftPlan]]:
    """The plans of the current context, the last used first."""
    found = [each for plans in _by_stream() for each in list(plans.items())]
    return sorted(found, key=lambda each: each[1].used, reverse=True)


def clear() -> int:
    """Forget the plans of the current context; returns how many there were."""
    count = len(kept_plans())
    for plans in _by_stream():
        plans.clear()
    return count


def _evict() -> None:
    """Drop the plans beyond the limit."""
    found = kept_plans()
    sizes = itertools.accumulate(plan.size for _, plan in found)
    max_size = limit()
    gone = {
        id(plan)
        for i, ((_, plan), size) in enumerate(zip(found, sizes, strict=True))
        if size > max_size or i >= _MAX_PLANS
    }
    for plans in _by_stream():
        for transform, plan in list(plans.items()):
            if id(plan) in gone:
                plans.pop(transform, None)


def _made_before(transform: FftTransform) -> _FftPlan:
    """The plan of any stream for this transform, for a captured stream that has none: making a plan uses the
    legacy default stream, which would invalidate the capture. LogicError if no stream has one.
    """
    for plans in _by_stream():
        if transform in plans:
            return plans[transform]
    raise _driver.LogicError(
        f"Fourier transform ({transform}): cuFFT makes no plan while the stream is captured; compute it once "
        "before the capture"
    )


def _plan(transform: FftTransform, stream) -> _FftPlan:
    """The stream's plan for the transform, which is made if there is none. The plan for a stream that pycuda
    did not make is not kept."""
    streams, key = of_stream(_plans, stream)
    plans = {} if streams is None else streams.setdefault(key, {})
    found = plans.get(transform)
    if found is None and _is_captured(stream):
        found = _made_before(transform)
    if found is None:
        found = plans[transform] = _outside_captures(_FftPlan, transform)
        found.used = next(_uses)
        _evict()
    found.used = next(_uses)
    return found


def _is_shortage(error: Exception) -> bool:
    """Whether one of the errors that _acquire_plan() catches means that memory is short."""
    return not isinstance(error, _driver.LibraryError) or error.code == _ALLOC_FAILED


def _acquire_plan(transform: FftTransform, stream) -> tuple[_FftPlan, Any]:
    """(plan, workspace); the caller must release() the plan. If memory is short, all kept plans are dropped
    and it is tried once more; then MemoryError."""
    for attempt in range(2):
        size = None
        try:
            plan = _plan(transform, stream)
            size = plan.size
            return plan, plan.acquire(stream)
        except (MemoryError, _driver.MemoryError, _driver.LibraryError) as error:
            if not _is_shortage(error):
                raise
            clear()
            if attempt:
                raise no_room(f"Fourier transform ({transform})", size) from error
    raise AssertionError


def queue(transform: FftTransform, calls: Sequence[tuple[int, int]], forward: bool, stream, arrays) -> None:
    """Queues the transform once for each of `calls`, (address of the source, address of the result).
    `arrays`: the arrays at these addresses, which are kept alive until the work is done."""
    plan, workspace = _acquire_plan(transform, stream)
    try:
        _driver._library_uses(stream, (*arrays, workspace, plan.handle))
        for source, result in calls:
            _execute(plan.handle, source, result, _FORWARD if forward else _INVERSE)
    finally:
        plan.release()
