"""Modules that are linked at run time, from sources that need each other; the linker's log and options."""

import os

import numpy as np
import pytest
from devices import needs_cudadevrt

import pycuda.driver as drv
from pycuda._compile import libraries
from pycuda.compiler import DynamicModule, DynamicSourceModule, compile

ONE = dict(block=(1, 1, 1))
RELOCATABLE = ["-rdc=true"]

# Two sources that need each other: the kernel calls a function of the second, which calls one of the first.
# The first uses a variable and a function pointer of the second. Both have a static function of one name.
FIRST = """
extern "C" {
__device__ int there(int n);
extern __device__ int (*chosen)(int);
extern __constant__ int factor;
static __device__ int own(int n) { return n + 1; }
__device__ int back(int n)
{
    __shared__ int cell;
    if (threadIdx.x == 0) cell = n;
    __syncthreads();
    return cell + own(n);
}
__global__ void run(int *out, int n)
{
    out[threadIdx.x] = there(n) * factor + chosen(threadIdx.x);
}
}
"""
SECOND = """
extern "C" {
__device__ int back(int n);
static __device__ __noinline__ int own(int n) { return n * n; }
__constant__ int factor = 2;
__device__ int (*chosen)(int) = own;
__device__ int there(int n) { return back(n) + 100; }
}
"""


def expected(n, threads):
    """What run() returns for a module of FIRST and SECOND."""
    return [(2 * n + 1 + 100) * 2 + t * t for t in range(threads)]


def run(module, n=5, threads=40):
    """Runs the kernel run(int *out, int n) of a module. Returns what it stores, a number for each thread."""
    out = np.zeros(threads, np.int32)
    module.get_function("run")(drv.Out(out), np.int32(n), block=(threads, 1, 1))
    return out.tolist()


def add_sources(module, *sources):
    """Adds the sources to a dynamic module, which is returned."""
    for number, source in enumerate(sources):
        module.add_source(source, nvcc_options=RELOCATABLE, name=f"part{number}.ptx")
    return module


@pytest.mark.parametrize("order", [(FIRST, SECOND), (SECOND, FIRST)], ids=["users first", "makers first"])
def test_sources_that_need_each_other(order):
    module = add_sources(DynamicModule(no_extern_c=True), *order)
    assert module.link() is module
    assert run(module) == expected(5, 40)
    address, size = module.get_global("factor")
    assert size == 4
    drv.memcpy_htod(address, np.int32(1))
    assert run(module, 7) == [2 * 7 + 101 + t * t for t in range(40)]


def test_divergent_calls_across_sources():
    """Lanes of a warp that are in functions of different sources at the same time keep their own values."""
    first = """
    extern "C" {
    __device__ long long longs(int n);
    __device__ __noinline__ int ints(int n)
    {
        int a = n, b = 1;
        for (int i = 0; i < n % 7; i++) { a = a * 3 + b; b += a & 15; }
        return a ^ b;
    }
    __global__ void run(long long *out)
    {
        int i = threadIdx.x;
        out[i] = i % 2 ? ints(i) : longs(i);
    }
    }
    """
    second = """
    extern "C" __device__ __noinline__ long long longs(int n)
    {
        long long a = n, b = 1LL << 40, c = 7;
        for (int i = 0; i < n % 5; i++) { a = a * 5 + (b >> 3); b ^= a << 2; c += b % 11; }
        return a + b - c;
    }
    """
    module = add_sources(DynamicModule(no_extern_c=True), first, second).link()
    out = np.zeros(64, np.int64)
    module.get_function("run")(drv.Out(out), block=(64, 1, 1))
    assert out.tolist() == [ints(i) if i % 2 else longs(i) for i in range(64)]


# The functions of test_divergent_calls_across_sources() in Python.


def ints(n):
    a, b = n, 1
    for _ in range(n % 7):
        a = a * 3 + b
        b += a & 15
    return a ^ b


def longs(n):
    a, b, c = n, 1 << 40, 7
    for _ in range(n % 5):
        a = a * 5 + (b >> 3)
        b ^= a << 2
        c += b % 11
    return a + b - c


def test_data_and_files(tmp_path):
    """A module of PTX from memory and PTX from a file."""
    path = tmp_path / "second.ptx"
    path.write_bytes(compile(SECOND, options=RELOCATABLE, no_extern_c=True, target="ptx"))
    module = DynamicModule()
    module.add_data(
        compile(FIRST, options=RELOCATABLE, no_extern_c=True, target="ptx"), drv.jit_input_type.PTX
    )
    module.add_file(str(path), drv.jit_input_type.PTX)
    assert run(module.link()) == expected(5, 40)


@pytest.mark.gpu("the CPU device loads PTX only")
def test_relocatable_cubins_are_linked():
    module = DynamicModule()
    for source in (FIRST, SECOND):
        code = compile(source, options=RELOCATABLE, no_extern_c=True)
        assert code.startswith(b"\x7fELF")
        module.add_data(code, drv.jit_input_type.CUBIN)
    assert run(module.link()) == expected(5, 40)


@pytest.mark.cpu("GPUs take cubins")
def test_a_cubin_on_the_cpu_device_is_refused():
    """The error says that the CPU device takes PTX. The cubin is an ELF header without sections."""
    machine_offset, EM_CUDA = 18, 190
    cubin = bytearray(b"\x7fELF\x02\x01".ljust(104, b"\0"))
    cubin[machine_offset] = EM_CUDA
    with pytest.raises(drv.Error, match="PTX"):
        DynamicModule().add_data(bytes(cubin), drv.jit_input_type.CUBIN)


# ---- The log


def test_the_message_handler_gets_the_result_and_both_logs():
    calls = []
    module = DynamicModule(
        message_handler=lambda *words: calls.append(words), log_verbose=True, no_extern_c=True
    )
    add_sources(module, FIRST, SECOND).link()
    ((ok, info, error),) = calls
    assert ok is True and isinstance(info, str) and isinstance(error, str)


def test_a_missing_function_is_named():
    calls = []
    module = DynamicModule(message_handler=lambda *words: calls.append(words), no_extern_c=True)
    add_sources(module, FIRST)
    with pytest.raises(drv.Error, match="there") as caught:
        module.link()
    assert caught.value.routine in ("cuLinkComplete", "cuLinkAddData")
    assert len(calls) == 1 and calls[0][0] is False and "there" in calls[0][2]


def test_a_function_that_is_defined_twice_is_named():
    module = DynamicModule(no_extern_c=True)
    with pytest.raises(drv.Error, match="there"):
        add_sources(module, FIRST, SECOND, 'extern "C" __device__ int there(int n) { return n; }').link()


def test_the_error_names_an_unknown_instruction():
    module = DynamicModule()
    text = b".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry f() { bogus.u32 %r1; }\n"
    with pytest.raises(drv.Error, match="bogus"):
        module.add_data(text, drv.jit_input_type.PTX, "mine.ptx").link()


# ---- Options


@pytest.mark.parametrize(
    "options",
    [
        [],
        [(drv.jit_option.OPTIMIZATION_LEVEL, 2)],
        [(drv.jit_option.MAX_REGISTERS, 32), (drv.jit_option.TARGET_FROM_CUCONTEXT, 0)],
        [(drv.jit_option.GENERATE_LINE_INFO, 1)],
    ],
    ids=str,
)
def test_link_options(options):
    module = DynamicModule(link_options=options, no_extern_c=True)
    assert run(add_sources(module, FIRST, SECOND).link()) == expected(5, 40)


def test_options_of_a_module():
    ptx = compile("__global__ void run(int *out, int n) { out[threadIdx.x] = n; }", target="ptx")
    options = [
        (drv.jit_option.MAX_REGISTERS, 24),
        (drv.jit_option.OPTIMIZATION_LEVEL, 0),
        (drv.jit_option.FALLBACK_STRATEGY, drv.jit_fallback.PREFER_PTX),
    ]
    module = drv.module_from_buffer(ptx, options)
    assert run(module) == [5] * 40
    assert module.get_function("run").num_regs <= 24


def test_target():
    """A target that the device can run is taken, by its number."""
    major, minor = drv.Context.get_device().compute_capability()
    target = getattr(drv.jit_target, f"COMPUTE_{major}{minor}")
    ptx = compile("__global__ void run(int *out, int n) { out[threadIdx.x] = n; }", target="ptx")
    assert run(drv.module_from_buffer(ptx, [(drv.jit_option.TARGET, target)])) == [5] * 40


# ---- The order of calls, and invalid calls


def test_before_and_after_link():
    module = DynamicModule(no_extern_c=True)
    with pytest.raises(drv.LogicError, match=r"link\(\)"):
        module.get_function("run")
    add_sources(module, FIRST, SECOND).link()
    for late in (
        lambda: module.add_source(SECOND, nvcc_options=RELOCATABLE),
        lambda: module.add_data(b"", drv.jit_input_type.PTX),
        lambda: module.add_file("nowhere", drv.jit_input_type.PTX),
        module.link,
    ):
        with pytest.raises(drv.LogicError, match="linked already"):
            late()


def test_nothing_to_link():
    """As with NVIDIA's driver, a linker without input gives a module, which has no functions."""
    with pytest.raises(drv.LogicError, match="not found"):
        drv.Linker().link_module().get_function("run")


def test_a_linker_that_is_dropped():
    linker = drv.Linker()
    linker.add_data(
        compile(SECOND, options=RELOCATABLE, no_extern_c=True, target="ptx"), drv.jit_input_type.PTX
    )
    del linker


def test_stdlib_that_is_not_there(tmp_path):
    (tmp_path / "libcudadevrt.a").write_bytes(b"!<arch>\n")
    with pytest.raises(OSError, match=r"libnowhere\.a"):
        DynamicModule(cuda_libdir=str(tmp_path)).add_stdlib("nowhere")


# ---- Kernels that launch kernels

CHILD = """
__global__ void child(int *out) { out[threadIdx.x] += 1; }
__global__ void parent(int *out)
{
    out[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) child<<<1, 32>>>(out);
}
"""


def test_dynamic_source_module():
    """DynamicSourceModule of a source that launches no kernels."""
    needs_cudadevrt()
    module = DynamicSourceModule("__global__ void run(int *out, int n) { out[threadIdx.x] = n; }")
    assert run(module) == [5] * 40


def test_a_kernel_launches_a_kernel():
    needs_cudadevrt()
    out = np.zeros(32, np.int32)
    DynamicSourceModule(CHILD).get_function("parent")(drv.Out(out), block=(32, 1, 1))
    assert out.tolist() == list(range(1, 33))


def test_a_function_that_no_library_has_is_refused_by_name():
    needs_cudadevrt()
    source = (
        'extern "C" __device__ int cudaNothing(int *); __global__ void run(int *out) { cudaNothing(out); }'
    )
    with pytest.raises(drv.Error, match="cudaNothing"):
        DynamicSourceModule(source, no_extern_c=True)


def test_libraries_are_searched_in_cuda_root(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_ROOT", str(tmp_path))
    os.makedirs(tmp_path / "lib64")
    (tmp_path / "lib64" / "libcudadevrt.a").write_bytes(b"")
    assert libraries.folder(None, "nvcc", "lib%s.a") == str(tmp_path / "lib64")
