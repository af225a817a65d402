"""Programs written for CuPy, with pycuda.compat.cupy in place of cupy: idioms, the notation of kernels,
devices."""

import threading
import time

import numpy as np
import pytest

import pycuda.compat.cupy as cp

# ---- idioms


def test_elementwise_kernel():
    squared_diff = cp.ElementwiseKernel(
        "float32 x, float32 y", "float32 z", "z = (x - y) * (x - y)", "squared_diff"
    )
    x = cp.arange(10, dtype=np.float32).reshape(2, 5)
    y = cp.arange(5, dtype=np.float32)
    z = cp.empty((2, 5), dtype=np.float32)
    assert squared_diff(x, y, z) is z
    np.testing.assert_array_equal(cp.asnumpy(z), (np.arange(10).reshape(2, 5) - np.arange(5)) ** 2)
    np.testing.assert_array_equal(squared_diff(x, 5).get(), (np.arange(10).reshape(2, 5) - 5.0) ** 2)


def test_reduction_kernel():
    l2norm = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")
    x = cp.arange(10, dtype=np.float32).reshape(2, 5)
    host = np.arange(10, dtype=np.float32).reshape(2, 5)
    np.testing.assert_allclose(l2norm(x, axis=1).get(), np.linalg.norm(host, axis=1), rtol=1e-6)
    assert l2norm(x).shape == () and l2norm(x, keepdims=True).shape == (1, 1)
    np.testing.assert_allclose(l2norm(x).get(), np.linalg.norm(host), rtol=1e-6)


def test_raw_kernel_and_module():
    source = r"""
    extern "C" __global__ void my_add(const float *x1, const float *x2, float *y, int n) {
        int tid = blockDim.x * blockIdx.x + threadIdx.x;
        if (tid < n) y[tid] = x1[tid] + x2[tid];
    }
    extern "C" __global__ void reversed(float *y, double factor) {
        extern __shared__ float kept[];
        kept[threadIdx.x] = y[threadIdx.x];
        __syncthreads();
        y[threadIdx.x] = factor * kept[blockDim.x - 1 - threadIdx.x];
    }
    """
    add_kernel = cp.RawKernel(source, "my_add", options=("-std=c++17",))
    x1 = cp.arange(25, dtype=cp.float32).reshape(5, 5)
    x2 = cp.arange(25, dtype=cp.float32).reshape(5, 5)
    y = cp.zeros((5, 5), dtype=cp.float32)
    add_kernel((5,), (5,), (x1, x2, y, 25))
    np.testing.assert_array_equal(y.get(), 2 * np.arange(25).reshape(5, 5))
    module = cp.RawModule(code=source)
    module.get_function("reversed")((1,), (25,), (y, 0.5), shared_mem=100)
    np.testing.assert_array_equal(y.get(), np.arange(25)[::-1].reshape(5, 5))
    with pytest.raises(NotImplementedError, match="cooperative"):
        cp.RawModule(code=source, enable_cooperative_groups=True)


def test_streams_and_events():
    stream = cp.cuda.Stream(non_blocking=True)
    start, end = cp.cuda.Event(), cp.cuda.Event()
    assert cp.cuda.get_current_stream() is cp.cuda.Stream.null
    with stream:
        assert cp.cuda.get_current_stream() is stream
        start.record()
        a = cp.ones(1000, dtype=cp.float64)
        b = a * 2
        end.record()
    end.synchronize()
    assert cp.cuda.get_elapsed_time(start, end) >= 0
    other = cp.cuda.Stream()
    other.wait_event(stream.record())
    stream.synchronize()
    cp.cuda.Stream.null.synchronize()
    assert stream.done and end.done and float(b.sum().get()) == 2000
    assert stream.ptr == stream.handle != 0
    double = cp.ElementwiseKernel("T x", "T y", "y = 2 * x")
    np.testing.assert_array_equal(cp.asnumpy(double(b, stream=stream), stream=stream), np.full(1000, 4.0))


@pytest.mark.parametrize("make", [np.asarray, cp.asarray])
def test_code_for_both_modules(make):
    def softplus(x):
        xp = cp.get_array_module(x)
        return xp.maximum(0, x) + xp.log1p(xp.exp(-abs(x)))

    x = make([-1.0, 0.0, 2.0])
    assert cp.get_array_module(x) is (np if isinstance(x, np.ndarray) else cp)
    result = softplus(x)
    assert type(result) is type(x)
    np.testing.assert_allclose(cp.asnumpy(result), np.log1p(np.exp([-1.0, 0.0, 2.0])))
    assert isinstance(cp.zeros(1), cp.ndarray)


def test_memory_pool():
    pool = cp.get_default_memory_pool()
    pinned = cp.get_default_pinned_memory_pool()
    before = pool.used_bytes()
    a = cp.zeros(1 << 16, dtype=cp.uint8)
    assert pool.used_bytes() >= before + (1 << 16)
    assert pool.total_bytes() >= pool.used_bytes()
    del a
    assert pool.used_bytes() == before
    pool.free_all_blocks()
    pinned.free_all_blocks()
    assert pool.free_bytes() == 0 and pool.n_free_blocks() == 0


def test_random_and_linalg():
    cp.random.seed(3)
    a, b = cp.random.rand(4, 4), cp.random.randn(4)
    cp.random.seed(3)
    np.testing.assert_array_equal(cp.random.rand(4, 4).get(), a.get())
    a += 4 * cp.eye(4)
    x = cp.linalg.solve(a, b)
    assert cp.allclose(a @ x, b)
    np.testing.assert_allclose(float(cp.linalg.norm(a).get()), np.linalg.norm(a.get()))
    n = cp.random.randint(0, 10, size=(50,))
    assert n.dtype == np.int64 and set(n.get()) <= set(range(10))
    assert cp.random.uniform(2, 3, 20).get().min() >= 2
    assert cp.random.normal(5, 0, (2, 3), dtype=cp.float32).dtype == np.float32
    assert cp.random.random(7).shape == (7,) and cp.random.random_sample((2, 2)).shape == (2, 2)
    assert sorted(cp.random.permutation(5).get()) == [0, 1, 2, 3, 4]


# ---- the notation


def test_raw_parameters_and_the_index():
    """A raw operand is not broadcast: it has its own size(). Indices are signed."""
    smooth = cp.ElementwiseKernel(
        "raw T x, int32 reach",
        "T y",
        """T sum = 0;
        for (ptrdiff_t k = i - reach; k <= i + reach; k++)
            if (k >= 0 && k < _ind.size()) sum += x[k];
        y = sum;""",
        "smooth",
    )
    host = np.arange(12.0)
    x = cp.asarray(host)
    got = smooth(x, 1, cp.empty(12))
    np.testing.assert_array_equal(got.get(), np.convolve(host, [1, 1, 1], "same"))
    last = cp.ElementwiseKernel("raw T x", "T y", "y = x[x.size() - 1 - i]")
    np.testing.assert_array_equal(last(x[::2], size=3).get(), [10, 8, 6])
    write = cp.ElementwiseKernel("raw T x", "raw T y", "y[2 * i] = x[i]")
    out = cp.zeros(24)
    write(x, out, size=12)
    np.testing.assert_array_equal(out.get()[::2], host)


def test_elements_are_numbered_in_c_order():
    host = np.arange(6.0).reshape(2, 3)
    x, out = cp.asarray(host.T.copy()).T, cp.asarray(host.T.copy()).T
    assert x.flags.f_contiguous and out.flags.f_contiguous
    numbered = cp.ElementwiseKernel("T x, raw T w", "T y", "y = x + 10 * i + w[i % 2]")
    assert numbered(x, cp.asarray([0.5, 0.25]), out) is out
    np.testing.assert_array_equal(
        out.get(), 11 * host + np.array([0.5, 0.25])[np.arange(6) % 2].reshape(2, 3)
    )
    first = cp.ReductionKernel("T x, raw T w", "T y", "i == 1 ? x + w[0] : 0", "a + b", "y = a", "0", "first")
    assert float(first(x, cp.asarray([7.0])).get()) == 8


def test_memory_of_raw_operands_waits_for_another_stream():
    """The memory of a dropped operand is not used again before the kernel on another stream has read it."""
    may_go, stream = threading.Event(), cp.cuda.Stream(non_blocking=True)
    take = cp.ElementwiseKernel("raw T x", "T y", "y = x[_ind.size() - 1 - i]", "take")
    x, y = cp.full(1000, 3.0), cp.empty(1000)
    take(x, y)
    cp.cuda.Stream.null.synchronize()
    stream.launch_host_func(may_go.wait, 20)
    take(x, y, stream=stream)
    del x
    try:
        others = [cp.full(1000, 9.0) for _ in range(4)]
        time.sleep(0.05)
    finally:
        may_go.set()
    stream.synchronize()
    assert (y.get() == 3).all() and (others[0].get() == 9).all()


def test_several_outputs_and_outputs_that_are_read():
    both = cp.ElementwiseKernel("T x, S y", "T high, bool same", "high = x > y ? x : y; same = x == y")
    x, y = np.array([[1.0, 5.0, 2.0]]), np.array([[2], [5]], np.float32)
    high, same = both(cp.asarray(x), cp.asarray(y))
    np.testing.assert_array_equal(high.get(), np.maximum(x, y))
    np.testing.assert_array_equal(same.get(), x == y)
    assert same.dtype == bool
    add = cp.ElementwiseKernel("T x", "T y", "y += x")
    out = cp.asarray(np.arange(6.0).reshape(2, 3).T)
    add(cp.asarray([10.0, 20.0]), out)
    np.testing.assert_array_equal(out.get(), np.arange(6.0).reshape(2, 3).T + [10, 20])


def test_names_in_the_code_that_are_not_parameters():
    """Members of structs, types of the preamble, and T."""
    kernel = cp.ElementwiseKernel(
        "T x", "T y", "Pair p; p.x = x; p.y = 2; y = p.x * p.y + (T)1", preamble="struct Pair { T x, y; };"
    )
    np.testing.assert_array_equal(kernel(cp.arange(3.0)).get(), [1, 3, 5])


def test_reductions():
    x, y = np.arange(6, dtype=np.int32).reshape(2, 3), np.array([1, 0, 2], np.int32)
    dot = cp.ReductionKernel("T x, T y", "float64 z", "x * y", "a + b", "z = a", "0", "dot")
    np.testing.assert_array_equal(dot(cp.asarray(x), cp.asarray(y), axis=1).get(), x @ y)
    out = cp.empty((2,))
    assert dot(cp.asarray(x), cp.asarray(y), out, axis=1) is out
    mean = cp.ReductionKernel(
        "T x, float64 scale", "float32 y", "x * scale", "a + b", "y = a / 6", 0, "mean", reduce_type="float64"
    )
    got = mean(cp.asarray(x), 2.0)
    assert got.dtype == np.float32 and float(got.get()) == 2 * x.mean()
    largest = cp.ReductionKernel("T x, raw T w", "T y", "x * w[i]", "max(a, b)", "y = a", "-1000", "largest")
    assert int(largest(cp.asarray(x[0]), cp.asarray(y)).get()) == 4


def test_wrong_operands_and_declarations_are_refused():
    kernel = cp.ElementwiseKernel("T x, T y", "T z", "z = x + y")
    x = cp.arange(3.0)
    with pytest.raises(TypeError, match="mismatched"):
        kernel(x, x.astype("f"))
    with pytest.raises(TypeError, match="host memory"):
        kernel(x, np.arange(3.0))
    with pytest.raises(TypeError, match="2 or 3 operands"):
        kernel(x)
    with pytest.raises(ValueError, match="shape"):
        kernel(x, x, cp.empty(4))
    with pytest.raises(ValueError, match="size"):
        kernel(1.0, 2.0)
    with pytest.raises(ValueError, match="size"):
        kernel(x, x, size=3)
    with pytest.raises(ValueError, match="is no parameter"):
        cp.ElementwiseKernel("float x y", "T z", "z = x")
    with pytest.raises(ValueError, match="identity"):
        cp.ReductionKernel("T x", "T y", "x", "a + b", "y = a", None)
    assert not hasattr(cp, "no_such_name")


# ---- devices, and the context


def test_devices():
    device = cp.cuda.Device(0)
    with device:
        assert cp.cuda.Device() == device.use() and int(device) == 0 == cp.cuda.runtime.getDevice()
    device.synchronize()
    assert cp.cuda.runtime.getDeviceCount() >= 1
    assert device.compute_capability.isdigit()
    free, total = device.mem_info
    assert 0 < free <= total


def test_fuse():
    @cp.fuse()
    def twice(x):
        return x + x

    @cp.fuse
    def thrice(x):
        return 3 * x

    assert twice(cp.arange(3)).get().tolist() == [0, 2, 4]
    assert thrice(cp.arange(3)).get().tolist() == [0, 3, 6]


def test_the_primary_context_is_made_current(run_python):
    program = """
import threading
import pycuda.driver as drv
import pycuda.compat.cupy as cp
a = cp.arange(5)
def elsewhere():
    assert cp.zeros(3).sum().get() == 0
thread = threading.Thread(target=elsewhere)
thread.start()
thread.join()
print(int(a.sum().get()), int(cp.random.rand(3).size))
"""
    done = run_python(program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["10", "3"] and not done.stderr
