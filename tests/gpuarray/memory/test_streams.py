"""Every function with a parameter stream= does all of its work on that stream: none is queued on the current
stream, and none waits for it.
"""

import inspect
import threading

import numpy as np
import pytest

import pycuda.curandom as curandom
import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda import cumath
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel
from pycuda.scan import InclusiveScanKernel
from pycuda.tools import set_allocator

pytestmark = pytest.mark.usefixtures("primary_context")

NON_BLOCKING = 1
# Functions whose parameter stream= is not (only) the stream of their work, or which others here call.
EXEMPT = {"from_dlpack", "__dlpack__", "get_async", "set_async", "to_gpu_async", "_axpbyz", "_axpbz", "_div"}
EXEMPT |= {"_elwise_multiply", "apply"}


class Operands:
    """Arrays for the calls. They are made before any stream is blocked."""

    def __init__(self):
        rng = np.random.default_rng(0)
        self.host = rng.random((40, 30)).astype(np.float32)
        self.a = gpuarray.to_gpu(self.host)
        self.t = self.a.T  # of which implicit copies are made
        self.b = gpuarray.to_gpu(self.host.T.copy())
        self.v = gpuarray.to_gpu(rng.random(1000).astype(np.float32))
        self.n = gpuarray.to_gpu(rng.integers(0, 30, (40, 30)))
        self.order = gpuarray.to_gpu(rng.permutation(1000).astype(np.int32))
        self.sorted = gpuarray.to_gpu(np.sort(self.v.get()))
        self.z = gpuarray.to_gpu((self.host + 1j * self.host).astype(np.complex64))
        self.mask = gpuarray.to_gpu(self.host[0] > 0.5)
        drv.Context.synchronize()


# Calls by name: of functions of pycuda.gpuarray (F), of methods (M) and of others. o: Operands; k: {"stream":
# ...} or nothing.
F = {
    "all": lambda o, **k: gpuarray.all(o.t, **k),
    "any": lambda o, **k: gpuarray.any(o.t, **k),
    "arange": lambda o, **k: gpuarray.arange(9, dtype=np.float32, **k),
    "argmax": lambda o, **k: gpuarray.argmax(o.t, 1, **k),
    "argmin": lambda o, **k: gpuarray.argmin(o.t, **k),
    "argpartition": lambda o, **k: gpuarray.argpartition(o.t, 3, **k),
    "argsort": lambda o, **k: gpuarray.argsort(o.t, None, **k),
    "bincount": lambda o, **k: gpuarray.bincount(o.n[:, 0], o.a[:, 1], **k),
    "clip": lambda o, **k: gpuarray.clip(o.t, 0.2, 0.7, **k),
    "compress": lambda o, **k: gpuarray.compress(o.mask, o.a, axis=1, **k),
    "concatenate": lambda o, **k: gpuarray.concatenate([o.t, o.a], axis=None, **k),
    "count_nonzero": lambda o, **k: gpuarray.count_nonzero(o.t, **k),
    "cumprod": lambda o, **k: gpuarray.cumprod(o.t, **k),
    "cumsum": lambda o, **k: gpuarray.cumsum(o.t, 0, **k),
    "dot": lambda o, **k: gpuarray.dot(o.t, o.a, **k),
    "empty_like": lambda o, **k: gpuarray.empty_like(o.t, **k).fill(3, **k),
    "extract": lambda o, **k: gpuarray.extract(o.t, o.t, **k),
    "eye": lambda o, **k: gpuarray.eye(5, k=1, **k),
    "flatnonzero": lambda o, **k: gpuarray.flatnonzero(o.t, **k),
    "full": lambda o, **k: gpuarray.full((3, 4), 7, **k),
    "full_like": lambda o, **k: gpuarray.full_like(o.t, 7, **k),
    "histogram": lambda o, **k: gpuarray.histogram(o.t, 5, **k),
    "hstack": lambda o, **k: gpuarray.hstack([o.t, o.t], **k),
    "identity": lambda o, **k: gpuarray.identity(4, **k),
    "if_positive": lambda o, **k: gpuarray.if_positive(o.t, o.t, o.b, **k),
    "lexsort": lambda o, **k: gpuarray.lexsort([o.v, o.sorted], **k),
    "linspace": lambda o, **k: gpuarray.linspace(0, 1, 9, dtype=np.float32, **k),
    "logical_and": lambda o, **k: gpuarray.logical_and(o.t, o.b, **k),
    "logical_not": lambda o, **k: gpuarray.logical_not(o.t, **k),
    "logical_or": lambda o, **k: gpuarray.logical_or(o.t, o.b, **k),
    "matmul": lambda o, **k: gpuarray.matmul(o.t, o.a, **k),
    "max": lambda o, **k: gpuarray.max(o.t, **k),
    "maximum": lambda o, **k: gpuarray.maximum(o.t, o.b, **k),
    "mean": lambda o, **k: gpuarray.mean(o.t, 1, **k),
    "meshgrid": lambda o, **k: gpuarray.meshgrid(o.v[:9], o.v[:5], **k),
    "min": lambda o, **k: gpuarray.min(o.t, **k),
    "minimum": lambda o, **k: gpuarray.minimum(o.t, o.b, **k),
    "multi_put": lambda o, **k: gpuarray.multi_put([o.v], o.order, dest_shape=(1000,), **k),
    "multi_take": lambda o, **k: gpuarray.multi_take([o.v], o.order, **k),
    "multi_take_put": lambda o, **k: gpuarray.multi_take_put([o.v], o.order, o.order, dest_shape=1000, **k),
    "nonzero": lambda o, **k: gpuarray.nonzero(o.t, **k),
    "ones": lambda o, **k: gpuarray.ones(9, **k),
    "ones_like": lambda o, **k: gpuarray.ones_like(o.t, **k),
    "partition": lambda o, **k: gpuarray.partition(o.t, 3, **k),
    "prod": lambda o, **k: gpuarray.prod(o.t, 0, **k),
    "put": lambda o, **k: gpuarray.put(o.v, o.order, o.sorted, **k),
    "repeat": lambda o, **k: gpuarray.repeat(o.t, 3, **k),
    "reshape": lambda o, **k: gpuarray.reshape(o.t, -1, **k),
    "roll": lambda o, **k: gpuarray.roll(o.t, 3, **k),
    "round": lambda o, **k: gpuarray.round(o.t, 1, **k),
    "searchsorted": lambda o, **k: gpuarray.searchsorted(o.sorted, o.t, **k),
    "sort": lambda o, **k: gpuarray.sort(o.t, 0, **k),
    "sort_by_key": lambda o, **k: gpuarray.sort_by_key(o.v, o.order, **k),
    "stack": lambda o, **k: gpuarray.stack([o.t, o.t], **k),
    "std": lambda o, **k: gpuarray.std(o.t, **k),
    "subset_dot": lambda o, **k: gpuarray.subset_dot(o.order, o.v, o.v, **k),
    "subset_max": lambda o, **k: gpuarray.subset_max(o.order, o.v, **k),
    "subset_min": lambda o, **k: gpuarray.subset_min(o.order, o.v, **k),
    "subset_sum": lambda o, **k: gpuarray.subset_sum(o.order, o.v, **k),
    "sum": lambda o, **k: gpuarray.sum(o.t, **k),
    "take": lambda o, **k: gpuarray.take(o.v, o.order, **k),
    "take_along_axis": lambda o, **k: gpuarray.take_along_axis(o.a, o.n, 1, **k),
    "tile": lambda o, **k: gpuarray.tile(o.t, (2, 2), **k),
    "topk": lambda o, **k: gpuarray.topk(o.t, 3, **k),
    "tri": lambda o, **k: gpuarray.tri(5, **k),
    "tril": lambda o, **k: gpuarray.tril(o.t, **k),
    "triu": lambda o, **k: gpuarray.triu(o.t, **k),
    "unique": lambda o, **k: gpuarray.unique(o.n, **k),
    "var": lambda o, **k: gpuarray.var(o.t, 1, **k),
    "vstack": lambda o, **k: gpuarray.vstack([o.t, o.t], **k),
    "where": lambda o, **k: gpuarray.where(o.t, o.t, o.b, **k),
    "zeros": lambda o, **k: gpuarray.zeros((3, 4), **k),
    "zeros_like": lambda o, **k: gpuarray.zeros_like(o.t, **k),
}
M = {
    "astype": lambda o, **k: o.t.astype(np.int32, "C", **k),
    "compress": lambda o, **k: o.a.compress(o.mask, 1, **k),
    "conj": lambda o, **k: o.z.T.conj(**k),
    "conjugate": lambda o, **k: o.z.conjugate(**k),
    "copy": lambda o, **k: o.a[::2, ::3].copy(**k),
    "fill": lambda o, **k: o.a.fill(3, **k),
    "flatten": lambda o, **k: o.t.flatten(**k),
    "get": lambda o, **k: o.t.get(**k),
    "mul_add": lambda o, **k: o.t.mul_add(2, o.b, 3, **k),
    "partition": lambda o, **k: o.v.partition(9, **k),
    "ravel": lambda o, **k: o.t.ravel(**k),
    "reshape": lambda o, **k: o.t.reshape(-1, **k),
    "reverse": lambda o, **k: o.t.reverse(**k),
    "set": lambda o, **k: o.a.set(o.host + 1, **k),
    "sort": lambda o, **k: o.t.sort(0, **k),
    "take": lambda o, **k: o.t.take(o.order, **k),
    "argsort": lambda o, **k: o.t.argsort(**k),
    "to_device": lambda o, **k: o.t.to_device("cpu", **k),
    "cumsum": lambda o, **k: o.t.cumsum(**k),
}
COPY = ElementwiseKernel("float *x, float *y", "x[i] = y[i] + 1", "copy_one")
TOTAL = ReductionKernel(np.float32, "0", "a+b", "x[i]", "float *x", "total")
SCAN = InclusiveScanKernel(np.float32, "fmaxf(a, b)")
OTHERS = {
    "elementwise": lambda o, **k: COPY(o.v[1:], o.v[:-1], **k),
    "reduction": lambda o, **k: TOTAL(o.t, **k),
    "reduction along": lambda o, **k: TOTAL(o.t, axis=1, **k),
    "scan": lambda o, **k: SCAN(o.v, "new", **k),
    "random": lambda o, **k: curandom.rand(100, **k).fill(1, **k),
    "linspace of double": lambda o, **k: gpuarray.linspace(0, 1, 9, **k),
    "max of all": lambda o, **k: o.a.max(**k),
    "sum into": lambda o, **k: o.a.sum(1, out=o.a[:, 3], **k),
    "cumsum into": lambda o, **k: gpuarray.cumsum(o.a, 1, out=o.a.T.reshape(30, 40).T, **k),
    "matmul into": lambda o, **k: gpuarray.matmul(o.t, o.a, out=o.a[:30], **k),
    "products into": lambda o, **k: o.v[1:].mul_add(1, o.v[:-1], 2, out=o.v[1:], **k),
}


def takes_stream(function):
    """Whether a function has a parameter `stream`."""
    try:
        return "stream" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def test_every_function_with_a_stream_is_tested_here():
    functions = {
        name for name in dir(gpuarray)
        if not name.startswith("_") and not isinstance(getattr(gpuarray, name), type)
        and callable(getattr(gpuarray, name)) and takes_stream(getattr(gpuarray, name))
    }  # fmt: skip
    methods = {
        name for name in dir(gpuarray.GPUArray) if takes_stream(getattr(gpuarray.GPUArray, name))
    }  # fmt: skip
    assert functions - EXEMPT <= F.keys()
    assert methods - EXEMPT <= M.keys() | F.keys()


def cumath_calls():
    """(name, call) for each function of cumath with a parameter `stream`. call(operands, **keywords)."""
    for name in dir(cumath):
        function = getattr(cumath, name)
        if name.startswith("_") or not takes_stream(function) or name == "apply":
            continue
        if name in ("fmod", "ldexp"):
            yield f"cumath.{name}", lambda o, f=function, **k: f(o.t, o.b, **k)
        else:
            yield f"cumath.{name}", lambda o, f=function, **k: f(o.t, **k)


CALLS = {
    **{f"gpuarray.{name}": call for name, call in F.items()},
    **{f"GPUArray.{name}": call for name, call in M.items()},
    **dict(cumath_calls()),
    **OTHERS,
}


class Poisoned:
    """An allocator of memory filled with 0xA5, none of which is used twice. A reused block could hold the
    expected result of an earlier call, and one freed on the current stream could be reused only after the
    work there.
    """

    def __init__(self):
        self.memory, self.used = drv.mem_alloc(1 << 24), 0
        drv.memset_d8(self.memory, 0xA5, 1 << 24)

    def allocate(self, size, stream):
        first = self.used
        self.used += -(-size // 512) * 512
        assert self.used <= 1 << 24
        return int(self.memory) + first

    def deallocate(self, address, size, stream):
        """Nothing: all memory is freed with the allocator."""


@pytest.fixture
def usual_pool():
    """Restores the default allocator after the test."""
    yield
    set_allocator(None)


def results_of(result, stream=None):
    """The arrays of a result (an array, a tuple or list, None), copied to the host on the stream."""
    if isinstance(result, gpuarray.GPUArray):
        return [result.get(stream=stream)]
    if isinstance(result, tuple | list):
        return [each for one in result for each in results_of(one, stream)]
    return [] if result is None else [np.asarray(result)]


def run(call, operands, **keywords):
    """(results of a call, then the operands that it may have changed in place), all copied to the host."""
    stream = keywords.get("stream")
    found = results_of(call(operands, **keywords), stream)
    return found + [each.get(stream=stream) for each in (operands.a, operands.v)]


@pytest.mark.usefixtures("usual_pool")
@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_queued_on_the_current_stream_or_waits_for_it(name):
    """The call gives its result although the current stream is blocked. It is made before, with either stream
    current, so that kernels are compiled and plans made.
    """
    call = CALLS[name]
    current, stream = drv.Stream(NON_BLOCKING), drv.Stream(NON_BLOCKING)
    expected = run(call, Operands())
    with current:
        run(call, Operands())
    run(call, Operands(), stream=stream)
    set_allocator(Poisoned())
    operands, opened = Operands(), threading.Event()
    guard = threading.Timer(30, opened.set)  # a call that waits fails the test instead of blocking it
    guard.start()
    try:
        with current:
            current.launch_host_func(opened.wait, 60)
            found = run(call, operands, stream=stream)
            stream.synchronize()
        assert not opened.is_set(), "the call waited for the current stream"
    finally:
        opened.set()
        guard.cancel()
        current.synchronize()
    assert len(found) == len(expected)
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got, want)


class Foreign:
    """A stream of another library, which has only __cuda_stream__()."""

    def __init__(self, stream):
        self.stream = stream

    def __cuda_stream__(self):
        return self.stream.__cuda_stream__()


def test_streams_of_other_libraries_and_the_default_one():
    operands, stream = Operands(), drv.Stream(NON_BLOCKING)
    for each in (Foreign(stream), drv.LEGACY_DEFAULT_STREAM):
        for call in (
            F["concatenate"],
            F["dot"],
            F["sum"],
            F["roll"],
            M["copy"],
            F["zeros"],
            OTHERS["elementwise"],
        ):
            want = results_of(call(operands))
            got = results_of(call(operands, stream=each), stream if isinstance(each, Foreign) else each)
            for one, other in zip(got, want, strict=True):
                np.testing.assert_array_equal(one, other)
        assert drv.current_stream() is None
    with pytest.raises(TypeError, match="stream must be a Stream or None"):
        gpuarray.concatenate([operands.t, operands.a], axis=None, stream=3)
    with stream, pytest.raises(ValueError):
        gpuarray.concatenate([operands.t, operands.a], stream=drv.LEGACY_DEFAULT_STREAM)
    assert drv.current_stream() is None


def test_streams_by_position_as_in_pycuda():
    host, stream = np.array([0, 1, 2], np.float32), drv.Stream()
    array = gpuarray.to_gpu(host)
    stream.wait_for_event(drv.Event().record())
    whole = array.astype(np.int32, stream)
    assert whole.dtype == np.int32 and (whole.get(stream=stream) == [0, 1, 2]).all()
    assert array.any(stream).get(stream=stream) and not array.all(stream).get(stream=stream)
