"""Function: shape of a launch, keywords, streams, timing, attributes, the old stateful interface."""

import gc
import threading
import warnings

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.compiler import SourceModule

SOURCE = """
__global__ void shape(int *out)
{
    if (threadIdx.x + threadIdx.y + threadIdx.z + blockIdx.x + blockIdx.y + blockIdx.z == 0) {
        out[0] = gridDim.x; out[1] = gridDim.y; out[2] = gridDim.z;
        out[3] = blockDim.x; out[4] = blockDim.y; out[5] = blockDim.z;
    }
}
__global__ void add_one(int *a) { a[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
__global__ void nothing() {}
__global__ void reverse(int *a)
{
    extern __shared__ int buffer[];
    buffer[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = buffer[blockDim.x - 1 - threadIdx.x];
}
__global__ void set(int *a, int n, float x) { a[0] = n + (int)(x * 10); }
__global__ void __launch_bounds__(64) bounded(int *a) { a[threadIdx.x] = 1; }
"""


@pytest.fixture(scope="module")
def module():
    return SourceModule(SOURCE)


@pytest.fixture
def memory():
    return drv.to_device(np.zeros(64, np.int32))


def read(memory, count=64):
    """The first `count` ints of the memory, as an array."""
    return drv.from_device(memory, (count,), np.int32)


@pytest.mark.parametrize(
    ("grid", "block", "expected"),
    [
        ((1, 1), (1, 1, 1), [1, 1, 1, 1, 1, 1]),
        ((3,), (4, 1, 1), [3, 1, 1, 4, 1, 1]),
        ((3, 2), (4, 5, 2), [3, 2, 1, 4, 5, 2]),
        ((3, 2, 5), (1, 2, 3), [3, 2, 5, 1, 2, 3]),
        ([3, 2], [4, 2, 1], [3, 2, 1, 4, 2, 1]),
        ((np.int32(3), np.int64(2)), (np.uint8(4), 1, np.int16(1)), [3, 2, 1, 4, 1, 1]),
        (np.array([3, 2]), np.array([4, 1, 1]), [3, 2, 1, 4, 1, 1]),
    ],
)
def test_grid_and_block(module, memory, grid, block, expected):
    module.get_function("shape")(memory, grid=grid, block=block)
    assert read(memory, 6).tolist() == expected


def test_grid_defaults_to_one_block(module, memory):
    assert module.get_function("shape")(memory, block=(2, 1, 1)) is None
    assert read(memory, 6).tolist() == [1, 1, 1, 2, 1, 1]


@pytest.mark.parametrize("block", [None, ()])
def test_block_is_needed(module, block):
    with pytest.raises(ValueError, match="block"):
        module.get_function("nothing")(**({} if block == () else {"block": block}))


@pytest.mark.parametrize("block", [(1,), (1, 1), (1, 1, 1, 1), 5, "abc"])
def test_block_of_other_than_three(module, block):
    with pytest.raises((TypeError, ValueError, drv.LogicError), match="block"):
        module.get_function("nothing")(block=block)


@pytest.mark.parametrize("bad", [(1.0, 1, 1), (1, np.float32(1), 1), ("1", 1, 1), (None, 1, 1)])
def test_floats_in_block_and_grid(module, bad):
    with pytest.raises(TypeError):
        module.get_function("nothing")(block=bad)
    with pytest.raises(TypeError):
        module.get_function("nothing")(block=(1, 1, 1), grid=bad)


@pytest.mark.parametrize("bad", [(-1, 1, 1), (2**40, 1, 1)])
def test_grids_that_are_negative_or_too_large(module, bad):
    with pytest.raises((ValueError, OverflowError, drv.LogicError)):
        module.get_function("nothing")(block=(1, 1, 1), grid=bad)


def test_grid_of_four(module):
    with pytest.raises((ValueError, TypeError, drv.LogicError), match="grid"):
        module.get_function("nothing")(block=(1, 1, 1), grid=(1, 1, 1, 1))


@pytest.mark.parametrize(
    ("shape", "word"),
    [
        (dict(block=(0, 1, 1)), "block is 0 in x"),
        (dict(block=(1, 0, 1)), "block is 0 in y"),
        (dict(block=(1, 1, 0)), "block is 0 in z"),
        (dict(block=(1, 1, 1), grid=(0,)), "grid is 0 in x"),
        (dict(block=(1, 1, 1), grid=(1, 0)), "grid is 0 in y"),
        (dict(block=(1, 1, 1), grid=(1, 1, 0)), "grid is 0 in z"),
        (dict(block=(1, 1, 65)), "65 in z.*64"),
        (dict(block=(1025, 1, 1)), "1025.*1024"),
        (dict(block=(32, 33, 1)), "1056 threads.*1024"),
        (dict(block=(1, 1, 1), grid=(1, 65536)), "65536 in y.*65535"),
    ],
)
def test_shapes_the_device_refuses(module, shape, word):
    with pytest.raises(
        drv.LogicError, match=r"cuLaunchKernel failed: invalid argument - kernel 'nothing'.*" + word
    ):
        module.get_function("nothing")(**shape)
    module.get_function("nothing")(block=(1, 1, 1))
    drv.Context.synchronize()


def test_block_beyond_launch_bounds(module, memory):
    with pytest.raises((drv.LogicError, drv.LaunchError), match=r"'bounded'.*65 threads.*64"):
        module.get_function("bounded")(memory, block=(65, 1, 1))


def test_unknown_keyword(module):
    with pytest.raises(ValueError, match="blocks"):
        module.get_function("nothing")(block=(1, 1, 1), blocks=3)


def test_keywords_that_are_not_interned(module, memory):
    """Keywords are compared by value, not by identity only."""
    name = "".join(["bl", "ock"])
    module.get_function("shape")(memory, **{name: (2, 1, 1), str(b"grid", "ascii"): (3, 1)})
    assert read(memory, 6).tolist() == [3, 1, 1, 2, 1, 1]


def test_shared_memory(module):
    data = np.arange(32, dtype=np.int32)
    module.get_function("reverse")(drv.InOut(data), block=(32, 1, 1), shared=128)
    assert data.tolist() == list(range(31, -1, -1))


@pytest.mark.parametrize("shared", [-1, 1.5, "1"])
def test_bad_shared(module, shared):
    with pytest.raises((TypeError, ValueError, OverflowError)):
        module.get_function("nothing")(block=(1, 1, 1), shared=shared)


def test_too_much_shared_memory(module):
    with pytest.raises((drv.LogicError, drv.LaunchError), match="shared"):
        module.get_function("nothing")(block=(1, 1, 1), shared=1 << 30)


def test_stream(module):
    """Launches in a stream run in order, and a launch in another stream after it is synchronized."""
    stream, other = drv.Stream(), drv.Stream(drv.stream_flags.NON_BLOCKING)
    data = drv.to_device(np.zeros(64, np.int32))
    add_one = module.get_function("add_one")
    for _ in range(10):
        add_one(data, block=(32, 1, 1), grid=(2, 1), stream=stream)
    stream.synchronize()
    add_one(data, block=(32, 1, 1), grid=(2, 1), stream=other)
    other.synchronize()
    assert (read(data) == 11).all()


def test_stream_of_another_library(module, memory):
    class Foreign:
        def __init__(self, stream):
            self.stream = stream

        def __cuda_stream__(self):
            return 0, self.stream.handle

    stream = drv.Stream()
    module.get_function("add_one")(memory, block=(32, 1, 1), grid=(2, 1), stream=Foreign(stream))
    stream.synchronize()
    assert (read(memory) == 1).all()


@pytest.mark.parametrize("stream", [3.5, "stream", object()])
def test_wrong_types_as_stream(module, stream):
    with pytest.raises(TypeError):
        module.get_function("nothing")(block=(1, 1, 1), stream=stream)


def test_time_kernel(module, memory):
    seconds = module.get_function("add_one")(memory, block=(32, 1, 1), time_kernel=True)
    assert isinstance(seconds, float) and 0 <= seconds < 60
    assert module.get_function("add_one")(memory, block=(32, 1, 1), time_kernel=False) is None


def test_texrefs(module):
    module.get_function("nothing")(block=(1, 1, 1), texrefs=[])
    with pytest.raises(TypeError, match="texrefs"):
        module.get_function("nothing")(block=(1, 1, 1), texrefs=[1])


def test_from_a_thread_without_a_context(module, memory):
    failures = []

    def work():
        try:
            module.get_function("add_one")(memory, block=(32, 1, 1))
            drv.Context.synchronize()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not failures
    assert read(memory).sum() == 32


def test_attributes(module):
    """Attributes are properties of a function and the same by get_attribute(); all of the enum exist."""
    function = module.get_function("bounded")
    assert function.max_threads_per_block == 64
    assert function.get_attribute(drv.function_attribute.MAX_THREADS_PER_BLOCK) == 64
    for name in (
        "num_regs",
        "shared_size_bytes",
        "local_size_bytes",
        "const_size_bytes",
        "ptx_version",
        "binary_version",
    ):
        value = getattr(function, name)
        assert isinstance(value, int) and value >= 0
        assert function.get_attribute(getattr(drv.function_attribute, name.upper())) == value
    for name in dir(drv.function_attribute):
        if name.isupper() and name != "MAX":
            assert hasattr(drv.Function, name.lower())
    assert function.name == function.__name__ == "bounded"
    assert "bounded" in repr(function)


@pytest.mark.parametrize("name", ["no_such_thing", "NUM_REGS", "Num_Regs", "__len__", "names"])
def test_unknown_attributes(module, name):
    function = module.get_function("nothing")
    assert not hasattr(function, name)
    with pytest.raises(AttributeError, match=name):
        getattr(function, name)


def test_own_attributes_and_weak_references(module):
    import weakref

    function = module.get_function("nothing")
    function.tag = [1]
    reference = weakref.ref(function)
    assert function.tag == [1] and reference() is function
    function.cycle = function
    del function
    gc.collect()
    assert reference() is None


def test_set_attribute(module):
    function = module.get_function("reverse")
    function.set_attribute(drv.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, 4096)
    assert function.get_attribute(drv.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES) == 4096
    with pytest.raises(drv.LogicError, match="cuFuncSetAttribute"):
        function.set_attribute(drv.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 30)
    with pytest.raises(drv.LogicError, match="cuFuncGetAttribute"):
        function.get_attribute(12345)


def test_cache_config(module):
    module.get_function("nothing").set_cache_config(drv.func_cache.PREFER_L1)
    module.get_function("nothing").set_cache_config(2)
    module.get_function("nothing").set_shared_config(drv.shared_config.DEFAULT_BANK_SIZE)


def test_stateful_interface(module, memory):
    """`set` has parameters at offsets 0 (pointer), 8 (int) and 12 (float); it stores n + 10 x."""
    function = module.get_function("set")
    with pytest.warns(DeprecationWarning, match="param_set"):
        function.param_set(memory, np.int32(5), np.float32(1.5))
    with pytest.warns(DeprecationWarning, match="set_block_shape"):
        function.set_block_shape(1, 1, 1)
    with pytest.warns(DeprecationWarning, match="launch"):
        function.launch()
    assert read(memory, 1)[0] == 20
    with pytest.warns(DeprecationWarning):
        function.param_seti(8, 7)
        function.param_setf(12, 0.5)
        function.set_shared_size(16)
        function.launch_grid(2, 1)
    assert read(memory, 1)[0] == 12
    stream = drv.Stream()
    with pytest.warns(DeprecationWarning):
        function._param_setv(0, np.array([int(memory) + 4], np.intp))
        function._param_set_size(16)
        function._launch_grid_async(1, 1, stream)
    stream.synchronize()
    assert read(memory, 2).tolist() == [12, 12]


DEPRECATED = {
    "param_set": lambda memory: (memory, np.int32(5), np.float32(1.5)),
    "param_set_size": lambda memory: (16,),
    "param_seti": lambda memory: (8, 7),
    "param_setf": lambda memory: (12, 0.5),
    "param_setv": lambda memory: (0, np.array([int(memory)], np.intp)),
    "set_block_shape": lambda memory: (1, 1, 1),
    "set_shared_size": lambda memory: (16,),
    "launch": lambda memory: (),
    "launch_grid": lambda memory: (1, 1),
    "launch_grid_async": lambda memory: (1, 1, drv.Stream()),
}


@pytest.mark.parametrize("name", DEPRECATED)
def test_each_deprecated_method_warns_by_its_name(module, memory, name):
    """One warning a call, which names the caller's file; the method works nevertheless."""
    function = module.get_function("set")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function.param_set(memory, np.int32(5), np.float32(1.5))
        function.set_block_shape(1, 1, 1)
    with pytest.warns(DeprecationWarning, match=rf"Function\.{name} is deprecated") as caught:
        getattr(function, name)(*DEPRECATED[name](memory))
    assert len(caught) == 1 and caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function.launch()
    drv.Context.synchronize()
    assert read(memory, 1)[0] == {"param_seti": 22, "param_setf": 10}.get(name, 20)


@pytest.mark.driver(12040, "kernels report their parameters")
def test_stateful_interface_with_too_few_parameters(module):
    function = module.get_function("set")
    with pytest.warns(DeprecationWarning):
        function.param_seti(0, 7)
        function.param_set_size(4)
        with pytest.raises(TypeError, match=r"'set'.*16 bytes.*4"):
            function.launch()


def test_launch_of_packed_arguments(module, memory):
    from pycuda import _pvt_struct

    data = _pvt_struct.pack("Pif", int(memory), 3, 0.7)
    module.get_function("set")._launch_kernel((1, 1), (1, 1, 1), data, 0, None)
    assert read(memory, 1)[0] == 10


@pytest.mark.driver(12040, "kernels report their parameters")
def test_launch_of_too_few_packed_arguments(module, memory):
    from pycuda import _pvt_struct

    data = _pvt_struct.pack("Pif", int(memory), 3, 0.7)
    with pytest.raises(TypeError, match=r"16 bytes.*12"):
        module.get_function("set")._launch_kernel((1, 1), (1, 1, 1), data[:12], 0, None)


def test_numbas_launch_syntax_is_an_error_with_ours(module, memory):
    kernel = module.get_function("reverse")
    with pytest.raises(TypeError, match=r"reverse\(\.\.\., grid=.*, block=.*\), not reverse\[grid, block\]"):
        kernel[1, 32](memory)


def test_reprs_name_type_device_and_handle(module):
    stream, event = drv.Stream(drv.stream_flags.NON_BLOCKING), drv.Event(drv.event_flags.DISABLE_TIMING)
    assert repr(stream) == f"<pycuda.driver.Stream of device 0 at {stream.handle:#x}, non-blocking>"
    assert repr(event) == f"<pycuda.driver.Event of device 0 at {event.handle:#x}, without timing>"
    assert repr(drv.Event()).endswith(">") and "timing" not in repr(drv.Event())
    assert repr(drv.Context.get_current()).startswith("<pycuda.driver.Context primary of device 0 at 0x")
    handle = module.module.handle
    assert repr(module.module) == f"<pycuda.driver.Module of device 0 at {handle:#x}>"
