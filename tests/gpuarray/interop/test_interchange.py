"""Arrays of other libraries: taken wherever a GPUArray is, ordered after their streams, kept while needed."""

import copy
import gc
import pickle
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import cumath, gpuarray
from pycuda._driver import Stream
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel
from pycuda.scan import InclusiveScanKernel

# Kernels `add`, which adds a number to each element, and `spin`, which runs for a number of nanoseconds.
PTX = Path(__file__).parents[2].joinpath("driver", "late.ptx").read_bytes()
NON_BLOCKING = 1


class Foreign:
    """An array of another library, which has only __cuda_array_interface__, in the memory of a GPUArray
    (`array`). changes: entries of the interface that get another value."""

    def __init__(self, array, **changes):
        self.array = array
        interface = {"version": 3, "shape": array.shape, "typestr": array.dtype.str, "strides": None}
        interface |= {"data": (array.ptr if array.size else 0, False), "stream": None}
        if not array.flags.c_contiguous:
            interface["strides"] = array.strides
        self.__cuda_array_interface__ = {**interface, **changes}

    def __index__(self):
        raise TypeError("only tensors of one element are integers")


pytestmark = pytest.mark.usefixtures("nothing_in_flight")


@pytest.fixture
def theirs(host):
    return Foreign(gpuarray.to_gpu(host[::-1].copy()))


# ---- where they are taken


@pytest.mark.parametrize(
    "operation",
    [
        lambda a, t: a + t,
        lambda a, t: t + a,
        lambda a, t: t - a,
        lambda a, t: a**t,
        lambda a, t: t**a,
        lambda a, t: a // t,
        lambda a, t: divmod(t, a)[1],
        lambda a, t: a < t,
        lambda a, t: a == t,
    ],
)
def test_operators(host, ours, theirs, operation):
    expected = operation(host, host[::-1])
    result = operation(ours, theirs)
    assert type(result) is gpuarray.GPUArray and result.dtype == expected.dtype
    np.testing.assert_allclose(result.get(), expected, rtol=1e-6)


def test_matrix_product(host, ours, theirs):
    assert (ours @ Foreign(ours.T)).get().tolist() == (host @ host.T).tolist()
    assert (theirs @ ours.T).get().tolist() == (host[::-1] @ host.T).tolist()


def test_in_place(host, ours, theirs):
    ours += theirs
    assert (ours.get() == host + host[::-1]).all()
    ours[...] = theirs
    assert (ours.get() == host[::-1]).all()
    ours[1] = Foreign(gpuarray.to_gpu(np.full(4, 7, np.int16)))
    assert (ours.get()[1] == 7).all()
    ours.set(theirs)
    assert (ours.get() == host[::-1]).all()


def test_strided_operands(host, ours):
    for view in (ours[::-1], ours.T[::2].T, ours[:, ::-2], ours[1:2]):
        assert (
            (ours[:, : view.shape[1]] + Foreign(view)).get() == host[:, : view.shape[1]] + view.get()
        ).all()


def test_out_is_returned(host, ours, theirs):
    out = Foreign(gpuarray.zeros_like(ours))
    assert gpuarray.maximum(ours, theirs, out=out) is out
    assert (out.array.get() == np.maximum(host, host[::-1])).all()
    assert np.add(ours, theirs, out=out) is out
    assert (out.array.get() == host + host[::-1]).all()
    total = Foreign(gpuarray.zeros((), np.float32))
    assert ours.sum(out=total) is total
    assert total.array.get() == host.sum()


# Calls of a module's function (of gpuarray, and of NumPy) with one array.
CALLS = {
    "sum": lambda m, a: m.sum(a),
    "max": lambda m, a: m.max(a),
    "mean": lambda m, a: m.mean(a),
    "argmax": lambda m, a: m.argmax(a),
    "cumsum": lambda m, a: m.cumsum(a, 1),
    "clip": lambda m, a: m.clip(a, 2, 5),
    "transpose": lambda m, a: m.transpose(a),
    "reshape": lambda m, a: m.reshape(a, (2, 6)),
    "flip": lambda m, a: m.flip(a),
    "roll": lambda m, a: m.roll(a, 2, 1),
    "tile": lambda m, a: m.tile(a, 2),
    "repeat": lambda m, a: m.repeat(a, 2),
    "concatenate": lambda m, a: m.concatenate([a, a]),
    "stack": lambda m, a: m.stack((a, a), 1),
    "broadcast_to": lambda m, a: m.broadcast_to(a, (2, 3, 4)),
    "full_like": lambda m, a: m.full_like(a, 3),
    "zeros_like": lambda m, a: m.zeros_like(a),
    "nonzero": lambda m, a: m.nonzero(a)[1],
    "where": lambda m, a: m.where(a, a, 1),
    "tril": lambda m, a: m.tril(a),
    "round": lambda m, a: m.round(a),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions(host, ours, name):
    result = CALLS[name](gpuarray, Foreign(ours))
    expected = CALLS[name](np, host)
    assert result.shape == np.shape(expected)
    np.testing.assert_allclose(result.get(), expected, rtol=1e-6)


def test_mathematical_functions(host, ours):
    np.testing.assert_allclose(cumath.sin(Foreign(ours)).get(), np.sin(host), rtol=1e-6)
    np.testing.assert_allclose(np.sqrt(ours, out=Foreign(ours)).array.get(), np.sqrt(host), rtol=1e-6)


def test_every_public_function_takes_them():
    """The decorator that converts foreign arrays makes an object of another class than Python's functions. A
    public function without it is in `undecorated`: it takes no array, or converts arrays itself.
    """
    from types import FunctionType

    for module, undecorated in (gpuarray, {"from_dlpack", "get_common_dtype", "splay"}), (cumath, set()):
        functions = {name for name, value in vars(module).items() if isinstance(value, FunctionType)}
        assert {name for name in functions if name[0] != "_"} == undecorated


def test_decorated_functions_look_like_functions():
    """Functions such as gpuarray.sum have a signature, docstring, name and repr, can be pickled and bound."""
    import inspect

    assert list(inspect.signature(gpuarray.sum).parameters) == ["a", "dtype", "stream", "allocator"]
    assert gpuarray.sum.__doc__.startswith("The sum") and gpuarray.sum.__name__ == "sum"
    assert pickle.loads(pickle.dumps(gpuarray.sum)) is gpuarray.sum
    assert repr(cumath.sin) == "<function pycuda.cumath.sin>"
    assert inspect.isroutine(gpuarray.sum) and gpuarray.sum.__get__(5).__self__ == 5


def test_methods_and_indices(host, ours):
    numbers, mask = np.array([2, 0]), host > 5
    theirs, chosen = Foreign(gpuarray.to_gpu(numbers)), Foreign(gpuarray.to_gpu(mask))
    assert (ours[theirs].get() == host[numbers]).all()
    assert (ours[chosen].get() == host[mask]).all()
    assert (ours[1, theirs].get() == host[1, numbers]).all()
    assert (ours.take(theirs, 0).get() == host.take(numbers, 0)).all()
    assert (gpuarray.take(ours, theirs).get() == host.take(numbers)).all()
    ours[chosen] = 0
    assert (ours.get() == np.where(mask, 0, host)).all()


def test_user_kernels(host, ours, theirs):
    out = Foreign(gpuarray.zeros_like(ours))
    kernel = ElementwiseKernel("float *x, float *y, float *z", "z[i] = x[i] - y[i]", "difference")
    for _ in range(2):
        kernel(ours, theirs, out)
        assert (out.array.get() == host - host[::-1]).all()
    kernel(Foreign(ours.T), ours.T, Foreign(out.array.T))
    assert (out.array.get() == 0).all()
    squares = ReductionKernel(np.float32, "0", "a+b", "x[i]*x[i]", "const float *x", "squares")
    assert squares(theirs).get() == (host**2).sum()
    total = Foreign(gpuarray.zeros((), np.float32))
    assert squares(theirs, out=total) is total and total.array.get() == (host**2).sum()
    scan = InclusiveScanKernel(np.float32, "a+b")
    flat = Foreign(ours.reshape(12))
    assert scan(flat) is flat
    assert (ours.get().ravel() == host.cumsum()).all()


def test_copies(host, ours):
    assert (gpuarray.to_gpu(Foreign(ours)).get() == host).all()
    assert (gpuarray.GPUArray(ours.shape, ours.dtype, gpudata=Foreign(ours)).get() == host).all()


def test_empty_and_0d_arrays():
    empty = Foreign(gpuarray.empty((0, 3), np.float64))
    assert (gpuarray.zeros((0, 3), np.float64) + empty).shape == (0, 3)
    assert (gpuarray.to_gpu(np.array(2.0)) * Foreign(gpuarray.to_gpu(np.array(4.0)))).get() == 8


def test_structured_dtypes():
    host = np.array([(1, 2.5), (3, 4.5)], [("a", "i4"), ("b", "f8")])
    theirs = Foreign(gpuarray.to_gpu(host), typestr=host.dtype.str, descr=host.dtype.descr)
    ours = gpuarray.zeros(2, host.dtype)
    ours[...] = theirs
    assert (ours.get() == host).all()


# ---- what is refused


def test_host_arrays_are_refused(host, ours):
    for operation in (
        lambda: ours + host,
        lambda: host + ours,
        lambda: ours == host,
        lambda: gpuarray.maximum(ours, host),
        lambda: np.add(host, ours),
    ):
        with pytest.raises((TypeError, ValueError), match="to_gpu"):
            operation()
    assert ((ours + host[0, 0]).get() == host + 1).all()
    assert ((ours * np.array(2.0, np.float32)).get() == host * 2).all()


@pytest.mark.parametrize(
    "change, error, words",
    [
        ({"mask": 5}, TypeError, "mask"),
        ({"typestr": ">f4"}, ValueError, "order"),
        ({"typestr": "|O"}, TypeError, "Python objects"),
        ({"typestr": None}, TypeError, "typestr"),
        ({"typestr": "nonsense"}, TypeError, "nonsense"),
        ({"shape": None}, TypeError, "shape"),
        ({"shape": (-1, 4)}, ValueError, "negative"),
        ({"shape": (3, 1 << 62)}, ValueError, "too many"),
        ({"shape": ("a",)}, TypeError, "integer"),
        ({"strides": (4,)}, ValueError, "strides for"),
        ({"data": (0, False)}, ValueError, "address is 0"),
        ({"data": (0x1003, False)}, ValueError, "aligned"),
        ({"data": None}, TypeError, "data"),
        ({"stream": 0}, ValueError, "stream"),
        ({"stream": "x"}, TypeError, "stream"),
    ],
)
def test_malformed_arrays(ours, change, error, words):
    theirs = Foreign(ours, **change)
    for operation in (lambda: ours + theirs, lambda: gpuarray.sum(theirs), lambda: ours.set(theirs)):
        with pytest.raises(error, match=words):
            operation()


def test_read_only_memory(host, ours, theirs):
    fixed = Foreign(ours, data=(ours.ptr, True))
    assert (gpuarray.to_gpu(fixed).get() == host).all()
    kernel = ElementwiseKernel("float *x, float *y", "y[i] = x[i]", "copies")
    for operation in (
        lambda: gpuarray.maximum(theirs, theirs, out=fixed),
        lambda: np.add(ours, ours, out=fixed),
        lambda: ours.sum(axis=0, out=Foreign(ours[0], data=(ours.ptr, True))),
        lambda: ours.cumsum(axis=0, out=fixed),
        lambda: ours.take(np.arange(12).reshape(3, 4), out=fixed),
        lambda: gpuarray.matmul(ours, ours.T, out=Foreign(ours[:, :3], data=(ours.ptr, True))),
        lambda: kernel(theirs, fixed),
        lambda: InclusiveScanKernel(np.float32, "a+b")(Foreign(ours.ravel(), data=(ours.ptr, True))),
    ):
        with pytest.raises(ValueError, match="read-only"):
            operation()
    assert (ours.get() == host).all()


# ---- order and lifetime


class Gate:
    """A stream whose work waits, in a host function, until open() is called (or for 20 seconds)."""

    def __init__(self):
        self.opened, self.stream = threading.Event(), drv.Stream(NON_BLOCKING)
        self.stream.launch_host_func(self.opened.wait, 20)

    def open(self):
        """Lets the stream run, and waits for its work."""
        self.opened.set()
        self.stream.synchronize()


@pytest.fixture
def late():
    """(array of another library, gate): its owner has queued `+= 7` on the gate's stream, a non-blocking one,
    which no other stream waits for by default. All kernels that the tests use are loaded before, since a
    driver may wait for queued work when it loads code.
    """
    code = drv.module_from_buffer(PTX)
    array = gpuarray.zeros(16, np.int32)
    gpuarray.maximum(array, 5), array + array, COPIES(array, gpuarray.empty_like(array))
    gpuarray.maximum(array, 3, out=gpuarray.empty_like(array))
    code.get_function("add")(array, np.int32(0), block=(16, 1, 1))
    drv.Context.synchronize()
    gate = Gate()
    code.get_function("add")(array, np.int32(7), block=(16, 1, 1), stream=gate.stream)
    yield Foreign(array, stream=gate.stream.handle), gate
    gate.open()


COPIES = ElementwiseKernel("int *x, int *y", "y[i] = x[i]", "copies")  # from x to y


def test_operands_come_after_their_owners_work(late):
    theirs, gate = late
    result = theirs.array + theirs
    assert not gate.stream.is_done(), "the call waited"
    gate.open()
    assert set(result.get().tolist()) == {14}


def test_operands_on_another_stream(late):
    theirs, gate = late
    other = drv.Stream(NON_BLOCKING)
    result = gpuarray.maximum(theirs, 5, stream=other)
    assert not gate.stream.is_done(), "the call waited"
    gate.open()
    assert set(result.get(stream=other).tolist()) == {7}


def test_user_kernels_come_after_their_owners_work(late):
    theirs, gate = late
    out, other = gpuarray.empty(16, np.int32), drv.Stream(NON_BLOCKING)
    COPIES(theirs, out, stream=other)
    assert not gate.stream.is_done(), "the call waited"
    gate.open()
    assert set(out.get(stream=other).tolist()) == {7}


def test_the_owner_is_kept_until_the_work_is_done(late):
    """An owner that was dropped before would return its memory to its own pool, for later work on its own
    stream."""
    theirs, gate = late
    theirs = Foreign(theirs.array)
    reference, out = weakref.ref(theirs), gpuarray.empty(16, np.int32)
    gpuarray.maximum(theirs, 3, out=out, stream=gate.stream)
    del theirs
    assert not gate.stream.is_done() and reference() is not None
    gate.open()
    assert reference() is None and set(out.get().tolist()) == {7}


@pytest.mark.parametrize("size", [1 << 21, 16])
def test_an_owner_whose_work_is_done_is_released_with_its_view(size):
    """No later call is needed to learn that the work is done: neither for a large array, nor for a small one
    after which its stream is not used again.
    """
    stream, array = drv.Stream(NON_BLOCKING), gpuarray.zeros(size, np.int8)
    reference, view = weakref.ref(array), gpuarray.from_dlpack(array, stream=stream)
    copy = view.copy()
    drv.Context.synchronize()
    del array, view
    del stream
    assert reference() is None and copy.size == size


class OfVersion2(Foreign):
    """An array whose interface, of version 2, has no stream."""

    def __init__(self, array):
        super().__init__(array, version=2)
        del self.__cuda_array_interface__["stream"]


class OfVersion2AndDLPack(OfVersion2):
    """An array like those of jax: only __dlpack__() is given the consumer's stream. It opens the gate, so
    that its work is done before the consumer's. streams: those that it was given.
    """

    def __init__(self, array, gate):
        super().__init__(array)
        self.gate, self.streams = gate, []

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, *, stream, **keywords):
        self.streams.append(stream)
        self.gate.open()
        return self.array.__dlpack__(stream=-1, **keywords)


def test_dlpack_is_used_if_the_interface_has_no_stream(late):
    theirs, gate = late
    theirs, other = OfVersion2AndDLPack(theirs.array, gate), drv.Stream(NON_BLOCKING)
    result = gpuarray.maximum(theirs, 5, stream=other)
    assert set(result.get(stream=other).tolist()) == {7} and theirs.streams == [other.handle]


def test_launches_use_dlpack_if_the_interface_has_no_stream(late):
    theirs, gate = late
    add, theirs = drv.module_from_buffer(PTX).get_function("add"), OfVersion2AndDLPack(theirs.array, gate)
    add(theirs, np.int32(1), block=(16, 1, 1))
    assert set(theirs.array.get().tolist()) == {8} and len(theirs.streams) == 1


def test_an_array_without_stream_or_dlpack_is_of_the_default_stream():
    """`spin` delays the default stream, so that a consumer that does not wait for it would read zeros."""
    code, array = drv.module_from_buffer(PTX), gpuarray.zeros(16, np.int32)
    other = drv.Stream(NON_BLOCKING)
    gpuarray.maximum(array, 5, stream=other)
    drv.Context.synchronize()
    code.get_function("spin")(np.uint64(200_000_000), block=(1, 1, 1))
    code.get_function("add")(array, np.int32(7), block=(16, 1, 1))
    result = gpuarray.maximum(OfVersion2(array), 5, stream=other)
    assert set(result.get(stream=other).tolist()) == {7}


def test_large_owners_are_released_as_their_work_ends():
    stream, alive = drv.Stream(NON_BLOCKING), []
    memory = gpuarray.zeros(1 << 18, np.float32)
    for _ in range(8):
        theirs = Foreign(memory)
        alive.append(weakref.ref(theirs))
        gpuarray.sum(theirs, stream=stream)
        del theirs
        stream.synchronize()
    assert not [each for each in alive if each() is not None]


def test_on_the_owners_own_stream_nothing_is_kept():
    theirs = Foreign(gpuarray.zeros(4, np.float32), stream=1)
    reference = weakref.ref(theirs)
    view = gpuarray.transpose(theirs)
    assert view.base.base is theirs
    del theirs, view
    assert reference() is None


def test_owners_in_cycles_are_collected():
    theirs = Foreign(gpuarray.zeros(4, np.float32))
    theirs.view = gpuarray.transpose(theirs)
    reference = weakref.ref(theirs)
    del theirs
    gc.collect()
    drv.Context.synchronize()
    gc.collect()
    drv.Context.synchronize()
    assert reference() is None


def test_views_in_a_destroyed_context_release_their_owner():
    context = drv.Device(0).make_context()
    memory = gpuarray.zeros(4, np.float32)
    theirs = Foreign(memory)
    reference, view = weakref.ref(theirs), gpuarray.transpose(theirs)
    del theirs, memory
    context.pop()
    context.detach()
    del view
    assert reference() is None


def test_the_interface_has_the_stream_of_the_memory():
    """1 is the legacy default stream; memory of a pool is of the stream for which it was allocated."""
    assert gpuarray.zeros(4, np.float32).__cuda_array_interface__["stream"] == 1
    stream = Stream()
    from pycuda.tools import DeviceMemoryPool

    pool = DeviceMemoryPool()
    array = gpuarray.GPUArray(4, np.float32, gpudata=pool.allocate(16, stream))
    assert array.__cuda_array_interface__["stream"] == stream.handle
    assert array[1:].__cuda_array_interface__["stream"] == stream.handle
    assert gpuarray.GPUArray(4, np.float32, pool.allocate).__cuda_array_interface__["stream"] == 1


# ---- NumPy, copies, pickles


def test_conversions_to_arrays_of_numpy_are_refused(ours):
    for make in (
        lambda: np.asarray(ours),
        lambda: np.array(ours),
        lambda: np.array([ours, ours]),
        lambda: np.asarray(ours[0, 0]),
        lambda: np.zeros((3, 4)).__setitem__(..., ours),
    ):
        with pytest.raises(TypeError, match=r"get\(\)"):
            make()
    with pytest.raises(TypeError):
        memoryview(ours)


class Named(gpuarray.GPUArray):
    """A subclass whose objects have an attribute `name`."""


WAYS_TO_COPY = [
    copy.copy,
    copy.deepcopy,
    *(lambda a, p=p: pickle.loads(pickle.dumps(a, p)) for p in range(6)),
]


@pytest.mark.parametrize("make", WAYS_TO_COPY)
def test_copies_and_pickles(host, make):
    structure = np.zeros(3, [("a", "i4"), ("b", "f8")])
    for each in host, np.asfortranarray(host), host[:0], np.array(2.5), structure:
        array = gpuarray.to_gpu(each)
        again = make(array)
        assert type(again) is gpuarray.GPUArray and again.strides == array.strides
        assert again.dtype == each.dtype and again.get().tobytes() == each.tobytes()
        assert not array.size or again.ptr != array.ptr
    array = Named((3, 4), np.float32)
    array[...], array.name = gpuarray.to_gpu(host), ["x"]
    again = make(array)
    assert type(again) is Named and again.name == ["x"] and (again.get() == host).all()
    assert (again.name is array.name) == (make is copy.copy)


def test_pickles_out_of_band(host, ours):
    """With buffer_callback= the elements are one buffer, however often the array occurs."""
    buffers = []
    text = pickle.dumps({"a": ours, "b": [ours]}, 5, buffer_callback=buffers.append)
    assert len(buffers) == 1 and len(text) < 400
    again = pickle.loads(text, buffers=buffers)
    assert again["a"] is again["b"][0] and (again["a"].get() == host).all()


def test_deepcopy_copies_an_array_that_occurs_twice_once(ours):
    first, second = copy.deepcopy([ours, ours])
    assert first is second and first is not ours


def test_iteration_length_and_truth(host, ours):
    assert [row.get().tolist() for row in ours] == host.tolist() and len(ours) == 3
    assert bool(ours[0, 0]) and not bool(gpuarray.zeros((), np.float32)) and bool(ours[:1, :1])
    zero = gpuarray.zeros((), np.float32)
    for call in (lambda: iter(zero), lambda: len(zero)):
        with pytest.raises(TypeError, match=r"iteration over a 0-d array|len\(\) of unsized object"):
            call()
    for several in ours, ours[:0]:
        with pytest.raises(ValueError, match="ambiguous"):
            bool(several)


# ---- several devices

ELSEWHERE = """
import numpy as np
import pycuda.driver as drv
from pycuda import gpuarray

drv.init()
assert drv.Device.count() > 1
contexts = [drv.Device(i).make_context() for i in range(2)]
there = gpuarray.to_gpu(np.arange(4, dtype=np.float32))  # on the second device
contexts[1].pop()

class Foreign:
    def __init__(self):
        self.__cuda_array_interface__ = {**there.__cuda_array_interface__, "stream": None}

here = gpuarray.to_gpu(np.ones(4, np.float32))
for take in lambda: here + Foreign(), lambda: gpuarray.from_dlpack(there), lambda: gpuarray.sum(Foreign()):
    try:
        take()
    except ValueError as problem:
        assert "device 1" in str(problem) and "peer access" in str(problem)
    else:
        raise AssertionError("memory of another device was taken")
drv.Context.enable_peer_access(contexts[1])
assert (here + Foreign()).get().tolist() == [1, 2, 3, 4]
assert gpuarray.from_dlpack(there).ptr == there.ptr
assert there.__dlpack_device__() == (2, 1)
drv.Context.synchronize()
del there, here
contexts[0].pop()
"""


def test_memory_of_another_device(run_python):
    done = run_python(ELSEWHERE, env={"PYCUDA_CPU_DEVICES": "2"})
    if "Device.count() > 1" in done.stderr:
        pytest.skip("needs two devices")
    assert done.returncode == 0, done.stderr
