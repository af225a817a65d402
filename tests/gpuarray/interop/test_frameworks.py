"""torch, CuPy, numba and jax in one process with GPUArrays: arrays passed in both directions, operators,
out=, streams. On a GPU, for those of them that are installed.
"""

import os

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import cumath, gpuarray
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel

pytestmark = pytest.mark.gpu("other libraries have no CPU device")


@pytest.fixture(autouse=True)
def context_of_libraries(primary_context):
    """Makes all libraries work in the primary context, and waits for queued work after the test."""
    yield
    drv.Context.synchronize()


# For each library a class: make(host) copies an array of NumPy to the device, host(array) copies one back,
# and take(array) is the library's array in the memory of a GPUArray.


class Torch:
    def __init__(self):
        self.module = pytest.importorskip("torch")

    def make(self, host):
        return self.module.as_tensor(host).cuda()

    def host(self, array):
        return array.cpu().numpy()

    def take(self, array):
        return self.module.from_dlpack(array)


class CuPy:
    def __init__(self):
        self.module = pytest.importorskip("cupy")

    def make(self, host):
        return self.module.asarray(host)

    def host(self, array):
        return self.module.asnumpy(array)

    def take(self, array):
        return self.module.from_dlpack(array)


class Numba:
    def __init__(self):
        self.module = pytest.importorskip("numba.cuda")

    def make(self, host):
        return self.module.to_device(host)

    def host(self, array):
        return array.copy_to_host()

    def take(self, array):
        return self.module.as_cuda_array(array)


class Jax:
    def __init__(self):
        # By default it allocates most of the GPU's memory.
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        self.module = pytest.importorskip("jax")
        if not any(device.platform == "gpu" for device in self.module.devices()):
            pytest.skip("jax has no GPU")

    def make(self, host):
        return self.module.device_put(host)

    def host(self, array):
        return np.asarray(array)

    def take(self, array):
        return self.module.dlpack.from_dlpack(array)


@pytest.fixture(params=[Torch, CuPy, Numba, Jax], ids=lambda each: each.__name__.lower())
def library(request):
    return request.param()


@pytest.fixture
def host():
    return np.random.default_rng(5).random((64, 48), np.float32) + 1


def test_frameworks_arrays_as_operands(library, host):
    a, t = gpuarray.to_gpu(host), library.make(host)
    for result, expected in (
        (a + t, host + host),
        (a - t, host - host),
        (a / t, host / host),
        (a**t, host**host),
    ):
        assert type(result) is gpuarray.GPUArray
        np.testing.assert_allclose(result.get(), expected, rtol=1e-5)
    total = gpuarray.sum(t).get()
    np.testing.assert_allclose(total, host.sum(), rtol=1e-5)
    np.testing.assert_allclose(cumath.sin(t).get(), np.sin(host), rtol=1e-5)
    a[...] = t
    assert (a.get() == host).all()


@pytest.mark.filterwarnings("ignore:.*Grid size")  # numba, of the kernel by which it transposes
def test_operands_that_are_still_being_computed(library, host):
    """An operand is used right after the library's call that queues its computation (a transpose)."""
    a, t = gpuarray.to_gpu(host), library.make(host)
    for _ in range(5):
        transposed = getattr(t, "T", None)
        if transposed is not None:
            np.testing.assert_allclose((a @ transposed).get(), host @ host.T, rtol=1e-5)


def test_reflected_operators(library, host):
    """The result may be the library's array or ours."""
    a, t = gpuarray.to_gpu(host), library.make(host)
    result = t + a
    values = result.get() if isinstance(result, gpuarray.GPUArray) else library.host(result)
    assert (values == host + host).all()


def test_frameworks_arrays_as_out(library, host):
    if isinstance(library, Jax):
        pytest.skip("arrays of jax are read-only")
    a, t = gpuarray.to_gpu(host), library.make(host)
    assert gpuarray.maximum(a, 1.5, out=t) is t
    drv.Context.synchronize()
    assert (library.host(t) == np.maximum(host, 1.5)).all()


def test_user_kernels(library, host):
    a, t = gpuarray.zeros(host.shape, np.float32), library.make(host)
    kernel = ElementwiseKernel("float *x, float *y", "y[i] = 2 * x[i]", "twice")
    for _ in range(2):
        kernel(t, a)
    assert (a.get() == 2 * host).all()
    squares = ReductionKernel(np.float32, "0", "a+b", "x[i]*x[i]", "const float *x", "squares")
    np.testing.assert_allclose(squares(t).get(), (host**2).sum(), rtol=1e-5)


def test_both_ways_in_the_same_memory(library, host):
    a = gpuarray.to_gpu(host)
    theirs = library.take(a)
    assert (library.host(theirs) == host).all()
    assert (gpuarray.to_gpu(theirs).get() == host).all()
    again = gpuarray.from_dlpack(theirs) if hasattr(theirs, "__dlpack__") else a
    assert again.ptr == a.ptr and (again.get() == host).all()


def test_indices(library, host):
    a, numbers = gpuarray.to_gpu(host), np.array([5, 3, 60])
    assert (a[library.make(numbers)].get() == host[numbers]).all()


def test_torch_on_a_stream_of_its_own(host):
    torch = Torch().module
    a, side = gpuarray.to_gpu(host), torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(50_000_000)  # clock cycles, for which the stream's work is late
        t = torch.as_tensor(host).cuda(non_blocking=True) * 2
        result = a + t
    assert (result.get() == 3 * host).all()


def test_memory_that_torch_still_reads_is_not_used_again():
    """Work on another stream reads the array after it was dropped: until that is done, which _sleep() delays,
    the pool must not give its memory to the next array.
    """
    torch = Torch().module
    side, ones = torch.cuda.Stream(), np.ones(1 << 20, np.float32)
    for _ in range(10):
        a = gpuarray.to_gpu(ones)
        drv.Context.synchronize()
        with torch.cuda.stream(side):
            t = torch.from_dlpack(a)
            torch.cuda._sleep(2_000_000)
            y = t * 2
            del t, a
        gpuarray.empty(1 << 20, np.float32).fill(7)
        side.synchronize()
        assert bool((y == 2).all())


def test_torchs_memory_that_our_stream_still_reads_is_kept():
    """The tensor is dropped while a queued sum delays the kernel that reads it: torch's next tensor must not
    get its memory.
    """
    torch = Torch().module
    stream, out = drv.Stream(flags=1), gpuarray.empty(1 << 20, np.float32)
    for _ in range(10):
        t = torch.ones(1 << 20, device="cuda")
        torch.cuda.synchronize()
        with stream:
            gpuarray.arange(1 << 22, dtype=np.float64).sum()
            gpuarray.maximum(t, 0.5, out=out)
            del t
        torch.full((1 << 20,), 7.0, device="cuda")
        assert out.get(stream=stream).max() == 1


def test_dtypes_of_torch():
    torch = Torch().module
    for dtype in (
        torch.float16,
        torch.float64,
        torch.int8,
        torch.int64,
        torch.bool,
        torch.complex64,
        torch.uint8,
    ):
        t = torch.ones(7, dtype=dtype, device="cuda")
        array = gpuarray.from_dlpack(t)
        assert (array.get() == t.cpu().numpy()).all() and array.ptr == t.data_ptr()
        assert (torch.from_dlpack(array) == t).all()
    t = torch.ones(7, dtype=torch.bfloat16, device="cuda")
    pytest.importorskip("ml_dtypes")
    assert gpuarray.from_dlpack(t).dtype.name == "bfloat16"


def test_strided_memory_view_of_cuda_core():
    utils = pytest.importorskip("cuda.core.utils")
    host = np.arange(24, dtype=np.int32).reshape(4, 6)
    a = gpuarray.to_gpu(host)[::2, ::-1]
    make = getattr(utils.StridedMemoryView, "from_dlpack", utils.StridedMemoryView)
    view = make(a, stream_ptr=-1)
    assert view.ptr == a.ptr and tuple(view.shape) == a.shape and view.is_device_accessible
    assert tuple(view.strides) == tuple(stride // 4 for stride in a.strides)
