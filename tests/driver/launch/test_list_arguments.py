"""A list of arrays as the argument of a kernel that takes a pointer to pointers."""

import warnings

import numpy as np
import pytest

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

pytestmark = pytest.mark.usefixtures("primary_context")

SOURCE = """
__global__ void add_up(const float *const *parts, int count, float *out)
{
    float sum = 0;
    for (int k = 0; k < count; k++) sum += parts[k][threadIdx.x];
    out[threadIdx.x] = sum;
}
__global__ void fill(int **parts, int size)
{ for (int k = 0; k < size; k++) parts[blockIdx.x][k] = 100 * blockIdx.x + k; }
__global__ void addresses(half **parts, unsigned long long *out)
{ out[threadIdx.x] = (size_t)parts[threadIdx.x]; }
__global__ void two(int **a, int **b, int *out) { out[0] = a[0][0] * 10 + b[1][0]; }
struct pair { int *a; };
__global__ void others(float *plain, size_t number, pair structure) { }
"""


@pytest.fixture(scope="module")
def module():
    return SourceModule("#include <cuda_fp16.h>\n" + SOURCE)


def parts(count, size=32, dtype=np.float32):
    host = np.random.default_rng(count).integers(0, 100, (count, size)).astype(dtype)
    return host, [gpuarray.to_gpu(row) for row in host]


@pytest.mark.parametrize("container", [list, tuple])
@pytest.mark.parametrize("count", [1, 2, 128, 129, 1000])
def test_kernel_reads_the_arrays(module, container, count):
    host, arrays = parts(count)
    out = gpuarray.zeros(32, np.float32)
    for _ in range(3):
        module.get_function("add_up")(container(arrays), np.int32(count), out, block=(32, 1, 1))
    assert (out.get() == host.sum(axis=0)).all()


@pytest.mark.parametrize("call", ["prepared_call", "prepared_async_call", "prepared_timed_call"])
def test_prepared_calls(module, call):
    host, arrays = parts(5)
    out = gpuarray.zeros(32, np.float32)
    kernel = module.get_function("add_up").prepare("PiP")
    stream = drv.Stream()
    drv.Context.synchronize()
    first = ((1, 1), (32, 1, 1), stream) if call == "prepared_async_call" else ((1, 1), (32, 1, 1))
    timed = getattr(kernel, call)(*first, arrays, 5, out)
    assert call != "prepared_timed_call" or timed() >= 0
    stream.synchronize()
    assert (out.get() == host.sum(axis=0)).all()


def test_kernel_writes_the_arrays(module):
    """They may have different sizes and shapes; a view begins at its first element."""
    whole = gpuarray.zeros(20, np.int32)
    arrays = [gpuarray.zeros((2, 3), np.int32), whole[10:16], gpuarray.zeros(6, np.int32)]
    module.get_function("fill")(arrays, np.int32(6), block=(1, 1, 1), grid=(3, 1))
    assert [array.get().ravel().tolist() for array in arrays] == [
        [100 * k + i for i in range(6)] for k in range(3)
    ]
    assert not whole.get()[:10].any() and not whole.get()[16:].any()


def test_several_lists_and_the_addresses(module):
    class Sub(gpuarray.GPUArray):
        pass

    one = [gpuarray.to_gpu(np.full(3, value, np.int32)) for value in (4, 7)]
    out = gpuarray.zeros(1, np.int32)
    module.get_function("two")(one, one[::-1], out, block=(1, 1, 1))
    assert out.get()[0] == 44
    halves = [Sub(3, np.float16), gpuarray.zeros(0, np.float16), Sub(5, np.float16)[::-1]]
    found = gpuarray.zeros(3, np.uint64)
    module.get_function("addresses")(halves, found, block=(3, 1, 1))
    assert found.get().tolist() == [int(halves[0].gpudata), 0, halves[2].ptr]


def test_a_list_may_change_after_the_launch(module):
    host, arrays = parts(3)
    out = gpuarray.zeros(32, np.float32)
    stream = drv.Stream()
    drv.Context.synchronize()
    module.get_function("add_up")(arrays, np.int32(3), out, block=(32, 1, 1), stream=stream)
    arrays.clear()
    assert (out.get_async(stream=stream) is not None) and stream.synchronize() is None
    assert (out.get() == host.sum(axis=0)).all()


SLOW = """
__global__ void slow(const int *const *parts, int count, int *out)
{
    const long long start = clock64();
    while (clock64() - start < 3000000) { }
    int sum = 0;
    for (int k = 0; k < count; k++) sum += parts[k][0];
    out[0] = sum;
}
"""


@pytest.mark.parametrize("how", ["plain", "prepared"])
def test_memory_of_table_and_arrays_waits_for_the_kernel(how):
    """All is dropped while the kernel waits, and new arrays of the sizes are made and written by another
    stream, which would get the memory if the pool did not know of its use."""
    kernel = SourceModule(SLOW).get_function("slow").prepare("PiP")
    busy, other = drv.Stream(), drv.Stream()
    out = gpuarray.zeros(1, np.int32)
    for round_ in range(3):
        arrays = [gpuarray.to_gpu(np.full(16, k + round_, np.int32)) for k in range(20)]
        drv.Context.synchronize()
        if how == "plain":
            kernel(arrays, np.int32(20), out, block=(1, 1, 1), stream=busy)
        else:
            kernel.prepared_async_call((1, 1), (1, 1, 1), busy, arrays, 20, out)
        del arrays
        with other:
            news = [gpuarray.empty(16, np.int32) for _ in range(30)]
            news += [gpuarray.empty(20, np.uint64) for _ in range(10)]
            for each in news:
                each.fill(77, stream=other)
        busy.synchronize()
        assert out.get()[0] == sum(range(20)) + 20 * round_


def launches(module, name, *args):
    """The two ways to launch with these arguments, of which none may be done."""
    kernel = module.get_function(name)
    yield lambda: kernel(*args, block=(1, 1, 1))
    codes = "".join("P" if isinstance(each, list | gpuarray.GPUArray) else each.dtype.char for each in args)
    kernel.prepare(codes)
    yield lambda: kernel.prepared_call((1, 1), (1, 1, 1), *args)


def refused(module, error, match, name, *args):
    for launch in launches(module, name, *args):
        with pytest.raises(error, match=match):
            launch()


def test_wrong_items_are_refused(module):
    _, arrays = parts(3)
    out, count = gpuarray.zeros(32, np.float32), np.int32(3)
    for wrong, named in [
        (3, "int"),
        (None, "NoneType"),
        (np.zeros(3), "ndarray"),
        (drv.In(np.zeros(3)), "In"),
    ]:
        for position in (0, 2):
            given = arrays[:]
            given[position] = wrong
            match = (
                rf"#0 of kernel 'add_up' .*: item {position} of the list is .*{named}, it must be a GPUArray"
            )
            refused(module, TypeError, match, "add_up", given, count, out)
    double = [arrays[0], gpuarray.zeros(32, np.float64)]
    refused(module, TypeError, "item 0 has float32, item 1 float64", "add_up", double, count, out)
    refused(module, ValueError, "argument 0 of kernel 'add_up' is an empty list", "add_up", [], count, out)


def test_freed_memory_is_refused(module):
    _, arrays = parts(3)
    out, count = gpuarray.zeros(32, np.float32), np.int32(3)
    arrays[1].gpudata.free()
    refused(module, drv.LogicError, "item 1 of a list: .*freed", "add_up", arrays, count, out)


def test_parts_of_complex_numbers_are_refused_as_alone(module):
    """z.real as alone: other data lies between its elements."""
    z = gpuarray.zeros(8, np.complex64)
    out, count = gpuarray.zeros(32, np.float32), np.int32(1)
    part = z.view(np.float32)[::2]
    interleaved = [array for array in (z.real, part) if array.strides != (4,)]
    for array in interleaved:
        try:
            module.get_function("others")(array, np.uint64(0), np.uint64(0), block=(1, 1, 1))
        except ValueError as alone:
            match = str(alone)[:20]
            refused(module, ValueError, f"item 0 of a list: .*{match}", "add_up", [array], count, out)
        else:
            module.get_function("add_up")([array], count, out, block=(1, 1, 1))


def test_parameters_that_the_source_declares_otherwise(module):
    _, arrays = parts(2)
    kernel, zero = module.get_function("others"), np.uint64(0)
    for args, what in [
        ((arrays, zero, zero), "a plain pointer"),
        ((arrays[0], arrays, zero), "a number"),
        ((arrays[0], zero, arrays), "a structure"),
    ]:
        with pytest.raises(TypeError, match=f"must take a pointer to pointers: in the source its .* {what}"):
            kernel(*args, block=(1, 1, 1))


def test_without_a_source_any_parameter_of_eight_bytes_takes_a_list(module):
    """Code that was loaded as it is: sizes are checked alone."""
    from pycuda.compiler import compile as compile_source

    source = "__global__ void k(float **x, float *out, int n) { out[0] = n + x[1][0]; }"
    kernel = drv.module_from_buffer(compile_source(source)).get_function("k")
    arrays = [gpuarray.to_gpu(np.full(2, value, np.float32)) for value in (5, 6)]
    out = gpuarray.zeros(1, np.float32)
    kernel(arrays, out, np.int32(1), block=(1, 1, 1))
    assert out.get()[0] == 7
    if drv.get_driver_version() >= 12040:
        with pytest.raises(TypeError, match="argument 2 has 8 bytes .list., the kernel's parameter has 4"):
            kernel(arrays, out, arrays, block=(1, 1, 1))


@pytest.mark.cpu("the check of arguments is on by default there")
def test_dtype_that_is_not_the_sources(module):
    wide = [gpuarray.zeros(32, np.float64) for _ in range(2)]
    out = gpuarray.zeros(32, np.float32)
    with pytest.warns(UserWarning, match="argument 0 is a list of arrays of float64, .*each float"):
        module.get_function("add_up")(wide, np.int32(2), out, block=(32, 1, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        halves = [gpuarray.zeros(3, np.float16)]
        module.get_function("addresses")(halves, gpuarray.zeros(1, np.uint64), block=(1, 1, 1))


def test_capture_refuses_a_list_and_goes_on(module):
    host, arrays = parts(2)
    out = gpuarray.zeros(32, np.float32)
    table = gpuarray.to_gpu(np.array([array.ptr for array in arrays], np.uint64))
    kernel = module.get_function("add_up")
    stream = drv.Stream()
    drv.Context.synchronize()
    with stream.capture() as graph:
        with pytest.raises(drv.LogicError, match="would not live as long as the graph"):
            kernel(arrays, np.int32(2), out, block=(32, 1, 1), stream=stream)
        kernel(table, np.int32(2), out, block=(32, 1, 1), stream=stream)
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert (out.get() == host.sum(axis=0)).all()


def test_arguments_that_outlive_the_call_are_no_lists(module):
    _, arrays = parts(2)
    out = gpuarray.zeros(32, np.float32)
    kernel = module.get_function("add_up")
    with (
        pytest.warns(DeprecationWarning),
        pytest.raises(TypeError, match="would live for one launch only"),
    ):
        kernel.param_set(arrays, np.int32(2), out)
    with pytest.raises(TypeError, match="would live for one launch only"):
        drv.Graph().add_kernel(kernel, arrays, np.int32(2), out, block=(32, 1, 1))


def on_the_other_device():
    """In a process with two devices: an array of the other one is refused, as alone."""
    contexts = [drv.Device(k).retain_primary_context() for k in (0, 1)]
    contexts[1].push()
    far = gpuarray.zeros(32, np.float32)
    contexts[1].pop()
    contexts[0].push()
    kernel = SourceModule("__global__ void k(float **x) { }").get_function("k")
    near = gpuarray.zeros(32, np.float32)
    kernel([near, near], block=(1, 1, 1))
    try:
        kernel([near, far], block=(1, 1, 1))
        raise SystemExit("not refused")
    except ValueError as problem:
        assert "item 1 of a list" in str(problem) and "device 1" in str(problem), problem
    contexts[0].pop()


def test_array_of_another_device(on_two_devices):
    on_two_devices(on_the_other_device)
