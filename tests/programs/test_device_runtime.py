"""What kernels do with the device runtime besides launches: copies and fills, compared with NumPy; properties
of the device and of kernels, compared with what the driver returns to the host; texts of errors; the older
launch functions.
"""

import re

import numpy as np
import pytest
from device_launch import build, run

import pycuda.driver as drv

pytestmark = pytest.mark.usefixtures("cudadevrt")

# cudaErrorInvalidValue, cudaErrorInvalidPitchValue, cudaErrorInvalidMemcpyDirection,
# cudaErrorInvalidDeviceFunction, cudaErrorInvalidResourceHandle
INVALID_VALUE, INVALID_PITCH, INVALID_DIRECTION, INVALID_FUNCTION, INVALID_HANDLE = 1, 12, 21, 98, 400

# ---- Copies and fills

COPIES = """
__device__ cudaPitchedPtr pitched(void *p, size_t pitch, size_t width, size_t height)
{
    cudaPitchedPtr made;
    made.ptr = p; made.pitch = pitch; made.xsize = width; made.ysize = height;
    return made;
}
__device__ cudaExtent extent(size_t width, size_t height, size_t depth)
{
    cudaExtent made;
    made.width = width; made.height = height; made.depth = depth;
    return made;
}
__device__ cudaPos position(const int *xyz)
{
    cudaPos made;
    made.x = xyz[0]; made.y = xyz[1]; made.z = xyz[2];
    return made;
}
__global__ void copy(char *out, char *in, const int *from, const int *to, const int *size, int *error)
{
    int i = threadIdx.x;
    error[i] = cudaMemcpyAsync(out + to[i], in + from[i], size[i], cudaMemcpyDeviceToDevice, 0);
}
__global__ void fill(char *out, const int *to, const int *size, const int *value, int *error)
{
    int i = threadIdx.x;
    error[i] = cudaMemsetAsync(out + to[i], value[i], size[i], 0);
}
/* Planes in pitches of 32 and 40 bytes. */
__global__ void planes(char *out, char *in, int width, int height, int *error)
{
    error[0] = cudaMemcpy2DAsync(out, 32, in, 40, width, height, cudaMemcpyDeviceToDevice, 0);
}
__global__ void filled_planes(char *out, int width, int height, int value, int *error)
{
    error[0] = cudaMemset2DAsync(out, 32, value, width, height, 0);
}
/* Boxes of 5 layers of 7 rows in pitches of 32 and 48 bytes. */
__global__ void boxes(char *out, char *in, const int *to, const int *from, const int *n, int *error)
{
    cudaMemcpy3DParms p = {0};
    p.srcPtr = pitched(in, 32, 32, 7);
    p.dstPtr = pitched(out, 48, 48, 7);
    p.srcPos = position(from);
    p.dstPos = position(to);
    p.extent = extent(n[0], n[1], n[2]);
    p.kind = cudaMemcpyDeviceToDevice;
    error[0] = cudaMemcpy3DAsync(&p, 0);
    p.extent.depth = 0;
    error[1] = cudaMemcpy3DAsync(&p, 0);
}
__global__ void filled_boxes(char *out, const int *n, int value, int *error)
{
    error[0] = cudaMemset3DAsync(pitched(out, 48, 48, 7), value, extent(n[0], n[1], n[2]), 0);
}
"""


# There, the calls return cudaSuccess.
NO_FILLS = pytest.mark.cpu("with CUDA 13.0 fills by kernels write nothing on a GPU of compute capability 9.0")


@pytest.fixture(scope="module")
def copies(cudadevrt):
    """The module with the kernels that copy and fill."""
    return build(COPIES)


def numbers(count, seed=1):
    """Random bytes."""
    return np.random.default_rng(seed).integers(0, 256, count).astype(np.uint8)


SIZES = np.int32([0, 1, 2, 3, 5, 8, 13, 64, 255, 256, 1000, 4099])
PLACES = np.int32(np.cumsum(SIZES + 7) - SIZES)  # one after another with gaps


def test_copies_of_bytes(copies):
    data, out, error = numbers(8192), np.zeros(8192, np.uint8), np.full(SIZES.size, -1, np.int32)
    places = [drv.In(values) for values in (PLACES[::-1] + 3, PLACES, SIZES)]
    copies.get_function("copy")(
        drv.InOut(out), drv.In(data), *places, drv.InOut(error), block=(SIZES.size, 1, 1)
    )
    wanted = np.zeros_like(out)
    for start, place, size in zip(PLACES[::-1] + 3, PLACES, SIZES, strict=True):
        wanted[place : place + size] = data[start : start + size]
    assert (out == wanted).all() and not error.any()


@NO_FILLS
def test_fills_of_bytes(copies):
    """Only the low byte of the value is written."""
    out, error = numbers(8192), np.full(SIZES.size, -1, np.int32)
    values, wanted = (
        np.int32(numbers(SIZES.size, 2)) + 256 * np.arange(SIZES.size, dtype=np.int32),
        out.copy(),
    )
    for place, size, value in zip(PLACES, SIZES, values, strict=True):
        wanted[place : place + size] = value % 256
    places = [drv.In(given) for given in (PLACES, SIZES, values)]
    copies.get_function("fill")(drv.InOut(out), *places, drv.InOut(error), block=(SIZES.size, 1, 1))
    assert (out == wanted).all() and not error.any()


PLANES = pytest.mark.parametrize(("width", "height"), [(1, 1), (17, 9), (32, 9), (32, 1)])


@PLANES
def test_planes(copies, width, height):
    data, out, error = numbers(40 * 20), numbers(32 * 20, 2), np.full(1, -1, np.int32)
    wanted = out.reshape(20, 32).copy()
    wanted[:height, :width] = data.reshape(20, 40)[:height, :width]
    shape = np.int32([width, height])
    copies.get_function("planes")(drv.InOut(out), drv.In(data), *shape, drv.InOut(error), block=(1, 1, 1))
    assert (out.reshape(20, 32) == wanted).all() and not error.any()


@NO_FILLS
@PLANES
def test_filled_planes(copies, width, height):
    out, error = numbers(32 * 20), np.full(1, -1, np.int32)
    wanted = out.reshape(20, 32).copy()
    wanted[:height, :width] = 0xA5
    shape = np.int32([width, height, 0xA5])
    copies.get_function("filled_planes")(drv.InOut(out), *shape, drv.InOut(error), block=(1, 1, 1))
    assert (out.reshape(20, 32) == wanted).all() and not error.any()


def box(start, size):
    """The index of a box in an array of layers, rows and columns; start and size are (x, y, z)."""
    return tuple(slice(a, a + n) for a, n in zip(start[::-1], size[::-1], strict=True))


@pytest.mark.parametrize(
    ("to", "start", "size"),
    [
        ([0, 0, 0], [0, 0, 0], [32, 7, 5]),
        ([16, 2, 1], [5, 1, 3], [20, 4, 2]),
        ([3, 6, 4], [9, 0, 0], [1, 1, 1]),
    ],
)
def test_boxes(copies, to, start, size):
    data, out, error = numbers(5 * 7 * 32), numbers(5 * 7 * 48, 2), np.full(2, -1, np.int32)
    wanted = out.reshape(5, 7, 48).copy()
    wanted[box(to, size)] = data.reshape(5, 7, 32)[box(start, size)]
    places = [drv.In(np.int32(given)) for given in (to, start, size)]
    copies.get_function("boxes")(drv.InOut(out), drv.In(data), *places, drv.InOut(error), block=(1, 1, 1))
    assert (out.reshape(5, 7, 48) == wanted).all() and not error.any()


@NO_FILLS
@pytest.mark.parametrize("size", [[32, 7, 5], [20, 4, 2], [1, 1, 1]])
def test_filled_boxes(copies, size):
    out, error = numbers(5 * 7 * 48), np.full(1, -1, np.int32)
    wanted = out.reshape(5, 7, 48).copy()
    wanted[box([0, 0, 0], size)] = 77
    copies.get_function("filled_boxes")(
        drv.InOut(out), drv.In(np.int32(size)), np.int32(77), drv.InOut(error), block=(1, 1, 1)
    )
    assert (out.reshape(5, 7, 48) == wanted).all() and not error.any()


def test_copies_come_in_the_order_of_their_stream():
    """A copy runs between the kernels before and after it, and after an event of another stream; what the
    launching kernel itself wrote comes first."""
    out = run(
        build(
            """
            __global__ void twice(int *x) { for (int i = 0; i < 500; i++) x[i] *= 2; }
            __global__ void parent(int *a)
            {
                cudaStream_t s, t;
                cudaEvent_t done;
                int *b = a + 500, *c = b + 500;
                for (int i = 0; i < 500; i++) a[i] = i + 1;
                cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
                cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
                cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
                twice<<<1, 1, 0, s>>>(a);
                cudaMemcpyAsync(b, a, 2000, cudaMemcpyDeviceToDevice, s);
                twice<<<1, 1, 0, s>>>(b);
                cudaEventRecord(done, s);
                cudaMemcpyAsync(a, b, 2000, cudaMemcpyDeviceToDevice, s);
                cudaStreamWaitEvent(t, done, 0);
                cudaMemcpyAsync(c, b, 2000, cudaMemcpyDeviceToDevice, t);
                twice<<<1, 1, 0, t>>>(c);
                cudaEventDestroy(done);
                cudaStreamDestroy(s);
                cudaStreamDestroy(t);
                if (cudaGetLastError()) a[0] = -1;
            }
            """
        ),
        "parent",
        np.zeros(1500, np.int32),
    )
    i = np.arange(1, 501)
    assert (out.reshape(3, 500) == [4 * i, 4 * i, 8 * i]).all()


# Refused copies, and a kernel whose body a test fills in.
BAD = """
__global__ void copy(char *out, char *in, int size, int kind, int *error)
{
    error[0] = cudaMemcpyAsync(out, in, size, (cudaMemcpyKind)kind, 0);
    error[1] = cudaGetLastError();
    error[2] = cudaMemcpy2DAsync(out, 8, in, 8, 9, 2, cudaMemcpyDeviceToDevice, 0);
    error[3] = cudaMemcpyAsync(out, in, size, cudaMemcpyDeviceToDevice, (cudaStream_t)12345);
}
__global__ void invalid(char *out, int size) { %s }
"""


@pytest.mark.cpu("CUDA does not say what a GPU does with these")
def test_refused_copies():
    """The error is the call's result and the thread's last one, and nothing is copied."""
    out, error = np.zeros(64, np.uint8), np.full(4, -1, np.int32)
    for kind in (0, 1, 2, 5):
        build(BAD % "").get_function("copy")(
            drv.InOut(out), drv.In(numbers(64)), *np.int32([64, kind]), drv.InOut(error), block=(1, 1, 1)
        )
        assert error.tolist() == [INVALID_DIRECTION, INVALID_DIRECTION, INVALID_PITCH, INVALID_HANDLE]
        assert not out.any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("cudaMemcpyAsync(out, (char *)16, size, cudaMemcpyDeviceToDevice, 0);", "read of 100 bytes at 0x10"),
        ("cudaMemsetAsync(out + 8, 1, size, 0);", "write of 100 bytes.*past the end of the device memory"),
    ],
    ids=["copy", "fill"],
)
@pytest.mark.cpu("a GPU does not report the address")
def test_copies_with_invalid_addresses_are_reported(run_python, call, message):
    done = run_python(
        f"""
        import numpy as np
        import pycuda.autoinit
        import pycuda.driver as drv
        from pycuda.compiler import DynamicSourceModule

        out = drv.mem_alloc(100)
        try:
            module = DynamicSourceModule({BAD % call!r})
            module.get_function("invalid")(out, np.int32(100), block=(1, 1, 1))
            drv.Context.synchronize()
        except drv.LaunchError as error:
            print(error)
        """
    )
    assert re.search(f"called by kernel invalid: invalid {message}", done.stdout), done.stdout + done.stderr


# ---- Properties of devices and kernels

QUERIES = """
__constant__ int table[25];
__global__ void __launch_bounds__(192) child(int *out, int n)
{
    __shared__ int s[40];
    int local[30];
    for (int i = 0; i < 30; i++) local[i] = out[i] + table[i % 25];
    s[threadIdx.x % 40] = local[n];
    __syncthreads();
    out[0] = s[n] + local[out[1]];
}
__global__ void device(int *out, const int *attributes, int count)
{
    for (int i = 0; i < count; i++)
        if (cudaDeviceGetAttribute(&out[i], (cudaDeviceAttr)attributes[i], out[count])) out[i] = -1;
    out[count + 1] = cudaGetDevice(&out[count]);
    out[count + 3] = cudaGetDeviceCount(&out[count + 2]);
    out[count + 5] = cudaRuntimeGetVersion(&out[count + 4]);
}
__global__ void limits(size_t *out)
{
    cudaLimit which[] = {cudaLimitStackSize, cudaLimitMallocHeapSize, cudaLimitDevRuntimePendingLaunchCount};
    for (int i = 0; i < 3; i++)
        if (cudaDeviceGetLimit(&out[i], which[i])) out[i] = ~(size_t)0;
}
__global__ void function(long long *out)
{
    cudaFuncAttributes a;
    out[0] = cudaFuncGetAttributes(&a, (const void *)child);
    out[1] = a.sharedSizeBytes;
    out[2] = a.constSizeBytes;
    out[3] = a.localSizeBytes;
    out[4] = a.maxThreadsPerBlock;
    out[5] = a.numRegs;
    out[6] = a.binaryVersion;
}
__global__ void occupancy(int *out, const int *threads, const int *shared, int count)
{
    for (int i = 0; i < count; i++) {
        const void *f = (const void *)child;
        int error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&out[i], f, threads[i], shared[i]);
        int blocks, again = cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            &blocks, f, threads[i], shared[i], 0);
        if (error || again || blocks != out[i]) out[i] = -1;
    }
}
/* The name and the text of an error, with | after each. */
__global__ void words(char *out, int error)
{
    const char *texts[] = {cudaGetErrorName((cudaError_t)error), cudaGetErrorString((cudaError_t)error)};
    for (int k = 0; k < 2; k++)
    {
        for (const char *c = texts[k]; *c; c++) *out++ = *c;
        *out++ = '|';
    }
}
"""


@pytest.fixture(scope="module")
def queries(cudadevrt):
    """The module with the kernels that ask for properties."""
    return build(QUERIES)


def test_attributes_of_the_device_are_those_of_the_host(queries):
    attribute, device = drv.device_attribute, drv.Context.get_device()
    queried = [
        attribute.WARP_SIZE,
        attribute.MAX_THREADS_PER_BLOCK,
        attribute.MAX_BLOCK_DIM_Z,
        attribute.MAX_GRID_DIM_Y,
        attribute.MULTIPROCESSOR_COUNT,
        attribute.MAX_SHARED_MEMORY_PER_BLOCK,
        attribute.COMPUTE_CAPABILITY_MAJOR,
        attribute.COMPUTE_CAPABILITY_MINOR,
    ]
    out = np.zeros(len(queried) + 6, np.int32)
    run(queries, "device", out, drv.In(np.int32(queried)), np.int32(len(queried)))
    assert out[: len(queried)].tolist() == [device.get_attribute(a) for a in queried]
    number, number_error, count, count_error, version, version_error = out[-6:]
    assert number_error == count_error == version_error == 0
    assert drv.Device(int(number)) == device
    assert 1 <= count <= drv.Device.count() and version // 1000 in range(6, 20)


def test_limits_are_those_of_the_host(queries):
    limit = drv.limit
    queried = (limit.STACK_SIZE, limit.MALLOC_HEAP_SIZE, limit.DEV_RUNTIME_PENDING_LAUNCH_COUNT)
    out = run(queries, "limits", np.zeros(3, np.uint64))
    assert out.tolist() == [drv.Context.get_limit(which) for which in queried]


def test_attributes_of_a_kernel_are_those_of_the_host(queries):
    child, out = queries.get_function("child"), run(queries, "function", np.full(7, -1, np.int64))
    assert out.tolist() == [
        0,
        child.shared_size_bytes,
        child.const_size_bytes,
        child.local_size_bytes,
        child.max_threads_per_block,
        child.num_regs,
        child.binary_version,
    ]
    assert child.shared_size_bytes >= 160 and child.max_threads_per_block == 192


def test_occupancy(queries):
    """More threads or more shared memory for each block never give more blocks; 40000 bytes still fit."""
    threads, shared = np.int32([32, 64, 192, 32, 32]), np.int32([0, 0, 0, 8000, 40000])
    out = np.full(5, -1, np.int32)
    run(queries, "occupancy", out, drv.In(threads), drv.In(shared), np.int32(5))
    max_threads = drv.Context.get_device().get_attribute(drv.device_attribute.MAX_THREADS_PER_MULTIPROCESSOR)
    assert (out > 0).all() and (out * threads <= max_threads).all()
    assert out[0] >= out[1] >= out[2] and out[0] > out[3] > out[4]


@pytest.mark.parametrize(
    ("error", "name", "text"),
    [
        (0, "cudaSuccess", "no error"),
        (1, "cudaErrorInvalidValue", "invalid argument"),
        (9, "cudaErrorInvalidConfiguration", "invalid configuration argument"),
        (400, "cudaErrorInvalidResourceHandle", "invalid resource handle"),
        (700, "cudaErrorIllegalAddress", "an illegal memory access was encountered"),
        (4242, "unrecognized error code", "unrecognized error code"),
    ],
)
def test_names_and_texts_of_errors(queries, error, name, text):
    out = run(queries, "words", np.zeros(200, np.uint8), np.int32(error))
    assert out.tobytes().rstrip(b"\0").decode() == f"{name}|{text}|"


# ---- The older pair of launch functions

OLDER = """
__global__ void child(int *out, char c, double d) { out[threadIdx.x] += blockIdx.x + c + d; }
__global__ void parent(int *out)
{
    char *p = (char *)cudaGetParameterBuffer(8, 24);
    *(int **)p = out;
    p[8] = 3;
    *(double *)(p + 16) = 1000;
    out[64] = cudaLaunchDevice((void *)child, p, dim3(1), dim3(64), 0, 0);
    out[65] = cudaLaunchDevice((void *)child, p, dim3(1), dim3(64), 0, 0) != 0;
    out[66] = cudaGetParameterBuffer(8, 100000) == 0;
}
__global__ void too_short(int *out)
{
    void *p = cudaGetParameterBuffer(8, 16);
    out[0] = cudaLaunchDevice((void *)child, p, dim3(1), dim3(64), 0, 0);
    out[1] = cudaLaunchDevice((void *)out, cudaGetParameterBuffer(8, 24), dim3(1), dim3(64), 0, 0);
}
"""


@pytest.mark.cpu("libcudadevrt.a has these functions only for older devices")
def test_launch_of_a_filled_parameter_buffer():
    out = run(build(OLDER), "parent", np.arange(67, dtype=np.int32))
    assert out.tolist() == [i + 1003 for i in range(64)] + [0, 1, 1]
    assert run(build(OLDER), "too_short", np.zeros(2, np.int32)).tolist() == [INVALID_VALUE, INVALID_FUNCTION]
