"""Programs on CUDA's runtime API by cuda-cpu: <<<>>>, CUB, and those that open libcudart.so themselves."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cuda_cpu import run

from pycuda import cpu

pytestmark = pytest.mark.cpu("the folder of the CPU device's libraries")

LAUNCHES = r"""
#include <cstdio>
#include <vector>

__constant__ float scale;
__device__ int visits;
__managed__ int managed = 5;

template <typename T> __global__ void multiply(T *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = a[i] * scale;
    if (i == n - 1) managed *= 3;
    atomicAdd(&visits, 1);
}
__global__ void look(cudaTextureObject_t texture, float *out)
{
    out[threadIdx.x] = tex2D<float>(texture, threadIdx.x, 1);
}
__global__ void outside(int *a) { a[threadIdx.x + 1] = 1; }

#define CHECK(call) \
    do { \
        cudaError_t error = (call); \
        if (error) return printf("%s: %s\n", #call, cudaGetErrorString(error)); \
    } while (0)

int main()
{
    const int n = 1000;
    float factor = 1.5f, *memory, row[8], *found;
    std::vector<float> a(n);
    for (int i = 0; i < n; i++) a[i] = i;
    CHECK(cudaMemcpyToSymbol(scale, &factor, sizeof factor));
    CHECK(cudaMalloc(&memory, n * sizeof(float)));
    CHECK(cudaMemcpy(memory, a.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    cudaStream_t stream;
    cudaEvent_t done;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&done));
    multiply<<<(n + 127) / 128, 128, 0, stream>>>(memory, n);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(done, stream));
    CHECK(cudaEventSynchronize(done));
    CHECK(cudaMemcpy(a.data(), memory, n * sizeof(float), cudaMemcpyDeviceToHost));
    int count;
    CHECK(cudaMemcpyFromSymbol(&count, visits, sizeof count));
    printf("%g %g %d %d\n", a[2], a[999], count, managed);

    cudaArray_t array;
    cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
    CHECK(cudaMallocArray(&array, &channels, 4, 2));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, a.data(), 16, 16, 2, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how = {};
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    CHECK(cudaMallocManaged(&found, 16));
    look<<<1, 4>>>(texture, found);
    CHECK(cudaDeviceSynchronize());
    printf("%g %g\n", found[0], found[3]);

    cudaGraph_t graph;
    cudaGraphExec_t program;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    multiply<<<1, 8, 0, stream>>>(memory, 8);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&program, graph, 0));
    CHECK(cudaGraphLaunch(program, stream));
    CHECK(cudaMemcpyAsync(row, memory, sizeof row, cudaMemcpyDefault, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("%g\n", row[4]);

    cudaDeviceProp properties;
    int blocks;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, multiply<float>, 256, 0));
    printf("%d.%d %d %d\n", properties.major, properties.minor, properties.maxThreadsPerBlock, blocks);
    int *one;
    CHECK(cudaMalloc(&one, 4));
    outside<<<1, 1>>>(one);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
"""

PARTS = [
    """
#include <cstdio>
extern __device__ int twice(int x);
__global__ void child(int *a) { a[threadIdx.x] = twice(a[threadIdx.x]); }
__global__ void parent(int *a) { child<<<1, 32>>>(a); }
int main()
{
    int *a, wrong = 0;
    cudaMallocManaged(&a, 32 * sizeof(int));
    for (int i = 0; i < 32; i++) a[i] = i;
    parent<<<1, 1>>>(a);
    printf("%s ", cudaGetErrorName(cudaDeviceSynchronize()));
    for (int i = 0; i < 32; i++) wrong += a[i] != 2 * i;
    printf("%d\\n", wrong);
}
""",
    "__device__ int twice(int x) { return 2 * x; }",
]

ALGORITHMS = r"""
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cstdio>

int main()
{
    const int n = 5000;
    int *in, *out, wrong = 0;
    void *room = nullptr;
    size_t sort_bytes = 0, scan_bytes = 0;
    cudaMallocManaged(&in, n * sizeof(int));
    cudaMallocManaged(&out, n * sizeof(int));
    for (int i = 0; i < n; i++) in[i] = i * 7919 % n;
    cub::DeviceRadixSort::SortKeys(nullptr, sort_bytes, in, out, n);
    cub::DeviceScan::InclusiveSum(nullptr, scan_bytes, out, in, n);
    cudaMalloc(&room, sort_bytes + scan_bytes);
    cub::DeviceRadixSort::SortKeys(room, sort_bytes, in, out, n);
    cub::DeviceScan::InclusiveSum(room, scan_bytes, out, in, n);
    cudaError_t error = cudaDeviceSynchronize();
    for (int i = 0; i < n; i++) wrong += out[i] != i || in[i] != i * (i + 1) / 2;
    printf("%s %d\n", cudaGetErrorName(error), wrong);
}
"""


@pytest.fixture
def compiled(tmp_path, nvcc):
    """Compiles a program to PTX and links it with the CPU device's libcudart."""

    def make(*sources, options=()):
        version = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
        library = "libcudart.so." + re.search(r"release (\d+)\.", version)[1]
        (tmp_path / "libcudart.so").symlink_to(os.path.join(cpu.path(), library))
        names = [tmp_path / f"part{number}.cu" for number in range(len(sources))]
        for name, source in zip(names, sources, strict=True):
            name.write_text(source)
        command = [
            nvcc,
            "-std=c++17",
            "-w",
            "-gencode",
            "arch=compute_90,code=compute_90",
            "-cudart",
            "shared",
        ]
        command += [*options, "-o", tmp_path / "program", *names, f"-L{tmp_path}"]
        command += ["-Xlinker", "--allow-shlib-undefined"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return tmp_path / "program"

    return make


def test_launches_textures_graphs_and_properties(compiled):
    done = run("--log", compiled(LAUNCHES))
    assert done.stdout.splitlines() == [
        "3 1498.5 1024 15",
        "6 10.5",
        "9",
        "9.0 1024 8",
        "cudaErrorIllegalAddress",
    ]
    assert "kernel _Z7outsidePi, block (0,0,0), thread (0,0,0)" in done.stderr


def test_a_program_compiled_in_parts_whose_kernels_launch_kernels(compiled, nvcc):
    if not any(Path(nvcc).resolve().parents[1].glob("lib*/libcudadevrt.a")):
        pytest.skip("no libcudadevrt.a in the toolkit of nvcc")
    done = run("--log", compiled(*PARTS, options=["-rdc=true"]))
    assert (done.stdout, done.stderr) == ("cudaSuccess 0\n", "")


@pytest.mark.timeout(400)
def test_algorithms_of_cub(compiled):
    done = run("--log", compiled(ALGORITHMS), timeout=None)
    assert (done.stdout, done.stderr) == ("cudaSuccess 0\n", "")


OPENS = """
import ctypes
runtime = ctypes.CDLL("libcudart.so.{major}")
count, version, memory = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()
assert runtime.cudaGetDeviceCount(ctypes.byref(count)) == 0
assert runtime.cudaRuntimeGetVersion(ctypes.byref(version)) == 0
assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(8)) == 0
assert runtime.cudaMemset(memory, 5, ctypes.c_size_t(8)) == 0
found = ctypes.create_string_buffer(8)
assert runtime.cudaMemcpy(found, memory, ctypes.c_size_t(8), 2) == 0
driver = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
assert driver.cuCtxGetCurrent(ctypes.byref(context)) == 0 and context.value
print(count.value, version.value // 1000, found.raw.hex())
"""


@pytest.mark.parametrize("major", [12, 13])
def test_a_program_that_opens_the_library(major):
    done = run("--devices", 3, sys.executable, "-c", OPENS.format(major=major))
    assert (done.stdout, done.stderr) == (f"3 {major} 0505050505050505\n", "")


ENDLESS = """
#include <cstdio>
__global__ void spin(volatile int *a) { while (!*a) {} }
int main()
{
    int *a;
    cudaMalloc(&a, 4);
    cudaMemset(a, 0, 4);
    spin<<<1, 1>>>(a);
    puts("end");
}
"""


@pytest.mark.timeout(30)
def test_a_kernel_that_runs_when_the_program_ends(compiled):
    done = run(compiled(ENDLESS))
    assert (done.stdout, done.returncode) == ("end\n", 0)


def test_a_process_whose_folders_were_set_at_its_start(run_python):
    """As in the process of pytest --cuda-cpu: the libraries are found by their names from then on."""
    code = "import ctypes, pycuda.cpu; ctypes.CDLL(pycuda.cpu.path() + '/libcuda-names.so')\n"
    done = run_python(code + OPENS.format(major=13), env={"PYCUDA_CPU_DEVICES": "3"}, check=True)
    assert done.stdout == "3 13 0505050505050505\n"


FREES = """
import ctypes
import pycuda.cpu
import pycuda.driver as drv

drv.init()
context = drv.Device(0).retain_primary_context()
context.push()
cudart = ctypes.CDLL(pycuda.cpu.path() + "/libcudart.so.{major}")
print(cudart.cudaFree(None))
source = b".version 8.0 .target sm_75 .address_size 64 .visible .entry k() {{ st.global.u32 [64], 1; ret; }}"
try:
    drv.module_from_buffer(source).get_function("k")(block=(1, 1, 1))
    context.synchronize()
except drv.Error:
    print(cudart.cudaFree(None), cudart.cudaGetLastError(), cudart.cudaFree(None))
"""


@pytest.mark.parametrize("major", [12, 13])
def test_a_free_of_nothing_returns_the_error_of_a_lost_context(run_python, major):
    """As an H200's: cudaErrorIllegalAddress, again and again."""
    done = run_python(FREES.format(major=major), env={"PYCUDA_CPU_FAULTS": None}, check=True)
    assert done.stdout.split() == ["0", "700", "700", "700"]


def test_an_older_driver_is_insufficient_for_the_newer_library():
    code = "import ctypes; print(ctypes.CDLL('libcudart.so.13').cudaFree(None))"
    done = run(sys.executable, "-c", code, PYCUDA_CPU_DRIVER_VERSION="12040")
    assert done.stdout == "35\n"


def test_it_comes_before_the_librarys_place_in_the_program(tmp_path, compiler):
    """A program that was linked with another libcudart, and says where that is (RUNPATH)."""
    (tmp_path / "other.c").write_text("int cudaRuntimeGetVersion(int *out) { *out = 1; return 0; }")
    (tmp_path / "versions").write_text("libcudart.so.13 { *; };")
    (tmp_path / "main.c").write_text(
        "#include <stdio.h>\nint cudaRuntimeGetVersion(int *out);\n"
        'int main(void) { int v; cudaRuntimeGetVersion(&v); printf("%d\\n", v); return 0; }'
    )
    commands = (
        "-shared -fPIC other.c -o libcudart.so.13 -Wl,-soname,libcudart.so.13 -Wl,--version-script,versions",
        "main.c -o main -L. -l:libcudart.so.13 -Wl,--enable-new-dtags -Wl,-rpath,$ORIGIN",
    )
    for command in commands:
        subprocess.run([compiler, *command.split()], cwd=tmp_path, check=True)
    bare = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, env=bare)
    assert done.stdout == "1\n", done.stderr
    assert run(tmp_path / "main").stdout == "13000\n"


def test_a_message_says_how_to_link_a_program_with_the_static_runtime():
    """It asks the driver for tables that only NVIDIA's has."""
    code = """
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
table = ctypes.c_void_p()
driver.cuInit(0)
print(*(driver.cuGetExportTable(ctypes.byref(table), ctypes.create_string_buffer(16)) for _ in range(2)))
"""
    for options in [], ["--log"]:
        done = run(*options, sys.executable, "-c", code)
        assert done.stdout == "500 500\n"
        assert done.stderr.count("link the program with nvcc -cudart shared") == 1
        assert done.stderr.count("\n") == 1
