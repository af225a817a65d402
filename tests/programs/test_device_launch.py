"""Kernels that launch kernels: recursions, the order in which kernels run, parameters, errors and faults."""

import subprocess

import numpy as np
import pytest
from device_launch import build, run
from devices import on_cpu_device

import pycuda.driver as drv
from pycuda.compiler import DynamicModule

ONE = dict(block=(1, 1, 1))


pytestmark = pytest.mark.usefixtures("cudadevrt")


# ---- Whole programs


QUICKSORT = """
__global__ void sort(int *a, int left, int right, int depth)
{
    if (depth >= 14 || right - left < 24) {
        for (int i = left; i < right; i++) {
            int min = i;
            for (int k = i + 1; k <= right; k++)
                if (a[k] < a[min]) min = k;
            int t = a[i];
            a[i] = a[min];
            a[min] = t;
        }
        return;
    }
    int l = left, r = right, pivot = a[(left + right) / 2];
    while (l <= r) {
        while (a[l] < pivot) l++;
        while (a[r] > pivot) r--;
        if (l > r) break;
        int t = a[l];
        a[l++] = a[r];
        a[r--] = t;
    }
    if (left < r) sort<<<1, 1, 0, cudaStreamFireAndForget>>>(a, left, r, depth + 1);
    if (l < right) sort<<<1, 1, 0, cudaStreamFireAndForget>>>(a, l, right, depth + 1);
}
"""


@pytest.mark.parametrize("kind", ["random", "few values", "sorted"])
def test_quicksort(kind):
    values = np.random.default_rng(5).integers(-(10**9), 10**9, 3000).astype(np.int32)
    if kind == "few values":
        values %= 7
    if kind == "sorted":
        values.sort()
    wanted = np.sort(values)
    run(build(QUICKSORT), "sort", values, np.int32(0), np.int32(values.size - 1), np.int32(0))
    assert (values == wanted).all()


MANDELBROT = """
__global__ void pixels(short *out, int x0, int y0)
{
    int x = x0 + threadIdx.x, y = y0 + threadIdx.y, n = 0;
    double cx = x * (3.0 / 128) - 2, cy = y * (3.0 / 128) - 1.5, zx = 0, zy = 0;
    for (; n < 50 && zx * zx + zy * zy <= 4; n++) {
        double t = zx * zx - zy * zy + cx;
        zy = 2 * zx * zy + cy;
        zx = t;
    }
    out[y * 128 + x] += n;
}
/* Each block has a square of this size and divides it into four. */
__global__ void squares(short *out, int x0, int y0, int size)
{
    int x = x0 + blockIdx.x * size, y = y0 + blockIdx.y * size;
    if (threadIdx.x) return;
    if (size > 8)
        squares<<<dim3(2, 2), 32>>>(out, x, y, size / 2);
    else
        pixels<<<1, dim3(8, 8)>>>(out, x, y);
}
"""


def test_mandelbrot_in_squares():
    """Five launches deep; every pixel is computed once, as NumPy computes it."""
    out = run(
        build(MANDELBROT), "squares", np.zeros((128, 128), np.int16), *np.int32([0, 0, 128]), block=(32, 1, 1)
    )
    x, y = np.arange(128) * (3.0 / 128) - 2, np.arange(128) * (3.0 / 128) - 1.5
    c = np.broadcast_to(x, (128, 128)), np.broadcast_to(y[:, None], (128, 128))
    zx, zy, wanted = np.zeros((128, 128)), np.zeros((128, 128)), np.zeros((128, 128), np.int16)
    inside = np.ones((128, 128), bool)
    for _ in range(50):
        inside &= zx * zx + zy * zy <= 4
        wanted += inside
        zx, zy = (np.where(inside, zx * zx - zy * zy + c[0], zx), np.where(inside, 2 * zx * zy + c[1], zy))
    assert (out == wanted).all()


# ---- Order

ORDER = """
__global__ void note(int *log, int what) { log[1 + atomicAdd(&log[0], 1)] = what; }
__global__ void note_and_tail(int *log, int what, int then)
{
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(log, then);
    log[1 + atomicAdd(&log[0], 1)] = what;
}
__global__ void note_late(int *log, int what, int levels)
{
    if (levels) note_late<<<1, 1, 0, cudaStreamFireAndForget>>>(log, what, levels - 1);
    else note<<<1, 1>>>(log, what);
}
__global__ void parent(int *log)
{
    note_and_tail<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 50, 51);
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 60);
    note_late<<<1, 1, 0, cudaStreamFireAndForget>>>(log, 30, 3);
    note_and_tail<<<1, 1>>>(log, 10, 11);
    note<<<1, 1>>>(log, 20);
    log[1 + atomicAdd(&log[0], 1)] = 1;
}
__global__ void step(int *x, int k) { *x = *x * 3 + k; }
__global__ void steps(int *out)
{
    for (int k = 1; k < 20; k++) step<<<1, 1>>>(out + blockIdx.x, k);
}
"""


def test_tail_launches_wait_for_children_of_children():
    log = run(build(ORDER), "parent", np.zeros(10, np.int32))
    events = log[1 : 1 + log[0]].tolist()
    assert sorted(events) == [1, 10, 11, 20, 30, 50, 51, 60]
    assert events[-3:] == [50, 51, 60]
    assert [e for e in events if e in (10, 11, 20)] == [10, 11, 20]


def test_launches_of_a_block_run_in_their_order():
    x = 7
    for k in range(1, 20):
        x = np.int32((int(x) * 3 + k + 2**31) % 2**32 - 2**31)
    assert run(build(ORDER), "steps", np.full(9, 7, np.int32), grid=(9, 1)).tolist() == [x] * 9


def test_the_stream_goes_on_when_all_children_are_done():
    module = build(
        """
        __global__ void down(int *out, int levels)
        {
            if (levels) down<<<2, 1>>>(out, levels - 1);
            else for (int i = 0; i < 500; i++) atomicAdd(out, 1);
        }
        __global__ void copy(int *out) { out[1] = out[0]; }
        """
    )
    stream, out = drv.Stream(), drv.mem_alloc(8)
    drv.memset_d32(out, 0, 2)
    module.get_function("down")(out, np.int32(3), **ONE, stream=stream)
    module.get_function("copy")(out, **ONE, stream=stream)
    stream.synchronize()
    assert drv.from_device(out, 2, np.int32).tolist() == [500 * 8] * 2


def test_streams_and_events_of_a_kernel():
    out = run(
        build(
            """
            __global__ void put(int *out, int what) { *out = what; }
            __global__ void add(int *out, const int *from) { *out += *from; }
            __global__ void parent(int *out)
            {
                cudaStream_t a, b;
                cudaEvent_t done;
                out[3] = cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
                out[4] = cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
                out[5] = cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
                put<<<1, 1, 0, a>>>(out, 40);
                out[6] = cudaEventRecord(done, a);
                put<<<1, 1, 0, b>>>(out + 1, 2);
                out[7] = cudaStreamWaitEvent(b, done, 0);
                add<<<1, 1, 0, b>>>(out + 1, out);
                cudaEventDestroy(done);
                cudaStreamDestroy(a);
                cudaStreamDestroy(b);
                out[8] = a != b;
                out[9] = cudaGetLastError();
            }
            """
        ),
        "parent",
        np.full(10, -1, np.int32),
    )
    assert out.tolist() == [40, 42, -1, 0, 0, 0, 0, 0, 1, 0]


def test_streams_and_events_of_many_blocks():
    """Each block has three streams, of which one waits for the other two in every round."""
    out = run(
        build(
            """
            __global__ void twice_and(int *x, int k) { *x = 2 * *x + k; }
            __global__ void take(int *x, const int *a, const int *b) { *x = 3 * *x + *a - *b; }
            __global__ void parent(int *out)
            {
                cudaStream_t s[3];
                cudaEvent_t e[3];
                int *mine = out + 3 * blockIdx.x;
                for (int k = 0; k < 3; k++) {
                    cudaStreamCreateWithFlags(&s[k], cudaStreamNonBlocking);
                    cudaEventCreateWithFlags(&e[k], cudaEventDisableTiming);
                }
                for (int round = 0; round < 4; round++) {
                    for (int k = 0; k < 2; k++) {
                        if (round) cudaStreamWaitEvent(s[k], e[2], 0);
                        twice_and<<<1, 1, 0, s[k]>>>(mine + k, round + k);
                        cudaEventRecord(e[k], s[k]);
                        cudaStreamWaitEvent(s[2], e[k], 0);
                    }
                    take<<<1, 1, 0, s[2]>>>(mine + 2, mine, mine + 1);
                    cudaEventRecord(e[2], s[2]);
                }
            }
            """
        ),
        "parent",
        np.tile(np.array([1, 2, 3], np.int32), 50),
        grid=(50, 1),
    )
    a, b, x = 1, 2, 3
    for r in range(4):
        a, b = 2 * a + r, 2 * b + r + 1
        x = 3 * x + a - b
    assert out.reshape(-1, 3).tolist() == [[a, b, x]] * 50


# ---- Parameters and shapes

PARAMETERS = """
struct Mixed { char c; double d; short s[3]; };
extern __shared__ int room[];
__global__ void child(double *out, struct Mixed m, unsigned char b, long long q)
{
    unsigned dynamic;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(dynamic));
    room[threadIdx.x + threadIdx.y * blockDim.x] = 1;
    __syncthreads();
    if (threadIdx.x || threadIdx.y || blockIdx.x || blockIdx.y || blockIdx.z) return;
    double all[] = {(double)m.c, m.d, (double)m.s[2], (double)b, (double)q, (double)gridDim.x,
                    (double)gridDim.y, (double)gridDim.z, (double)blockDim.x, (double)blockDim.y,
                    (double)dynamic};
    for (int i = 0; i < 11; i++) out[i] = all[i];
}
__global__ void parent(double *out)
{
    struct Mixed m = {-3, 2.5, {7, 8, 9}};
    child<<<dim3(2, 3, 4), dim3(5, 6), 256>>>(out, m, 200, -(1LL << 40));
    m.d = 0;
}
__global__ void one(int *out, int index, int value) { atomicAdd(out + index, value); }
__global__ void many(int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 3) one<<<1, 2>>>(out, i, i * i);
}
"""


def test_parameters_and_shape():
    out = run(build(PARAMETERS), "parent", np.zeros(11))
    assert out.tolist() == [-3, 2.5, 9, 200, -(2.0**40), 2, 3, 4, 5, 6, 256]


def test_many_threads_launch():
    i = np.arange(40 * 37)
    out = run(build(PARAMETERS), "many", np.zeros(i.size, np.int32), grid=(40, 1), block=(37, 1, 1))
    assert (out == np.where(i % 3, 2 * i * i, 0)).all()


def test_kernels_of_another_source():
    """The kernel that is launched and its variable are in another file."""
    module = DynamicModule(no_extern_c=True)
    for source in (
        "extern __device__ int factor; __global__ void child(int *, int);"
        'extern "C" __global__ void parent(int *out) { factor = 3; child<<<2, 4>>>(out, 5); }',
        "__device__ int factor;"
        "__global__ void child(int *out, int n)"
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; out[i] = i * factor + n; }",
    ):
        module.add_source(source, nvcc_options=["-rdc=true"])
    module.add_stdlib("cudadevrt").link()
    assert run(module, "parent", np.zeros(8, np.int32)).tolist() == [3 * i + 5 for i in range(8)]


def test_through_nvcc(tmp_path, nvcc):
    major, minor = drv.Context.get_device().compute_capability()
    source, ptx = tmp_path / "program.cu", tmp_path / "program.ptx"
    source.write_text('extern "C" {' + QUICKSORT + "}")
    subprocess.run(
        [nvcc, "-ptx", "-rdc=true", f"-arch=compute_{major}{minor}", "-o", ptx, source],
        check=True,
        capture_output=True,
    )
    module = DynamicModule()
    module.add_file(str(ptx), drv.jit_input_type.PTX)
    module.add_stdlib("cudadevrt").link()
    values = np.random.default_rng(6).integers(-1000, 1000, 500).astype(np.int32)
    wanted = np.sort(values)
    run(module, "sort", values, *np.int32([0, 499, 0]))
    assert (values == wanted).all()


# ---- Errors

ERRORS = """
__global__ void child(int *out) { atomicAdd(out, 1); }
__global__ void parent(int *out, int grid, int block, int shared)
{
    child<<<grid, block, shared>>>(out);
    out[1] = cudaPeekAtLastError();
    out[2] = cudaGetLastError();
    out[3] = cudaGetLastError();
    child<<<1, 1>>>(out);
    out[4] = cudaGetLastError();
}
__global__ void own_errors(int *out)
{
    child<<<1, threadIdx.x % 2 ? 1 : 100000>>>(out);
    out[1 + threadIdx.x] = cudaGetLastError() != cudaSuccess;
}
__global__ void down(int *out, int depth)
{
    out[0] = depth;
    down<<<1, 1>>>(out, depth + 1);
    int error = cudaGetLastError();
    if (error) {
        out[1] = error;
        out[2] = depth;
    }
}
__global__ void too_many(int *out)
{
    for (int i = 0; i < 100; i++) child<<<1, 1>>>(out);
    out[1] = cudaGetLastError();
}
"""


@pytest.mark.parametrize("shape", [(1, 2000, 0), (0, 1, 0), (1, 0, 0), (1, 1, 1 << 24), (-1, 1, 0)], ids=str)
def test_bad_shape(shape):
    """The launch is not done, its error is there once, and the next launch is done."""
    out = run(build(ERRORS), "parent", np.zeros(5, np.int32), *np.int32(shape))
    assert out[0] == 1 and out[1] != 0 and out[1] == out[2] and out[3:].tolist() == [0, 0]
    if on_cpu_device():
        assert out[1] == INVALID_CONFIGURATION


def test_each_thread_has_its_own_last_error():
    out = run(build(ERRORS), "own_errors", np.zeros(65, np.int32), block=(64, 1, 1))
    assert out[0] == 32 and out[1:].tolist() == [1, 0] * 32


INVALID_CONFIGURATION = 9  # cudaErrorInvalidConfiguration
TOO_MANY_PENDING = 69  # cudaErrorLaunchPendingCountExceeded
PENDING = drv.limit.DEV_RUNTIME_PENDING_LAUNCH_COUNT


@pytest.fixture
def pending_limit(context):
    """A function that sets the number of launches that may be pending at a time, until the test's end."""
    before = drv.Context.get_limit(PENDING)
    yield lambda count: drv.Context.set_limit(PENDING, count)
    drv.Context.set_limit(PENDING, before)


def check_depth(module):
    """A kernel that launches itself gets as deep as launches may be pending: one that waits for its child is
    pending."""
    deepest = drv.Context.get_limit(PENDING)
    out = run(module, "down", np.zeros(3, np.int32), np.int32(0))
    assert out.tolist() == [deepest, TOO_MANY_PENDING, deepest]


def test_a_kernel_launches_itself_as_deep_as_the_limit():
    module = build(ERRORS)
    for _ in range(2):
        check_depth(module)


@pytest.mark.cpu("a GPU rounds the limit")
def test_depth_with_another_limit(pending_limit):
    module = build(ERRORS)
    for count in (1, 100, 10000):
        pending_limit(count)
        check_depth(module)


@pytest.mark.cpu("a GPU begins with the first ones while the last are launched")
def test_pending_launches(pending_limit):
    """Launches past the limit are not done, and the error says so; there is room again in the next grid."""
    pending_limit(60)
    module = build(ERRORS)
    for _ in range(2):
        assert run(module, "too_many", np.zeros(2, np.int32)).tolist() == [60, TOO_MANY_PENDING]


@pytest.mark.parametrize("stream", ["0", "cudaStreamFireAndForget", "cudaStreamTailLaunch"])
def test_a_fault_in_a_child_is_reported(run_python, stream):
    done = run_python(
        f"""
        import numpy as np
        import pycuda.autoinit
        import pycuda.driver as drv
        from pycuda.compiler import DynamicSourceModule

        module = DynamicSourceModule('''
        __global__ void never(int *out) {{ out[0] = 1; }}
        __global__ void broken(int *out) {{ ((volatile int *)8)[threadIdx.x] = 5; }}
        __global__ void parent(int *out)
        {{
            out[1] = 2;
            broken<<<1, 1, 0, {stream}>>>(out);
            never<<<1, 1, 0, cudaStreamTailLaunch>>>(out);
        }}
        ''')
        out = np.zeros(2, np.int32)
        try:
            module.get_function("parent")(drv.Out(out), block=(1, 1, 1))
            print("nothing")
        except drv.LaunchError as error:
            print("caught", error)
        """
    )
    assert "caught" in done.stdout, done.stdout + done.stderr
    if on_cpu_device():
        assert "kernel broken" in done.stdout and "null pointer" in done.stdout


def test_device_memory_of_kernels():
    """Memory that a kernel allocates lives until a child has freed it."""
    out = run(
        build(
            """
            __global__ void fill(int *p) { p[threadIdx.x] = threadIdx.x * 2; }
            __global__ void sum(int *out, int *p)
            {
                for (int i = 0; i < 64; i++) out[0] += p[i];
                out[1] = cudaFree(p);
            }
            __global__ void parent(int *out)
            {
                int *p;
                out[2] = cudaMalloc((void **)&p, 64 * sizeof(int));
                fill<<<1, 64>>>(p);
                sum<<<1, 1, 0, cudaStreamTailLaunch>>>(out, p);
            }
            """
        ),
        "parent",
        np.array([0, -1, -1], np.int32),
    )
    assert out.tolist() == [64 * 63, 0, 0]
