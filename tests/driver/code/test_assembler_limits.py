"""Kernels that exceed a limit of ptxas are refused on every device, with ptxas's messages, so that a program
that runs on the CPU device runs on a GPU. A kernel loaded as PTX may have as much static shared memory as a
block can have (opt-in); one compiled from source to machine code 48 KiB."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.compiler import SourceModule

HEADER = ".version {}\n.target {}\n.address_size 64\n"
# A kernel with one variable in shared memory; one that adds a called function's; one that calls none.
SHARED = """
.visible .entry k() {{ .shared .align 4 .b8 s[{}]; .reg .b64 x; mov.u64 x, s; st.shared.u32 [x], 5; ret; }}
"""
CALLED = """
.shared .align 4 .b8 s[{}];
.func f() {{ .shared .align 4 .b8 t[20000]; .reg .b64 x; mov.u64 x, t; st.shared.u32 [x], 5; ret; }}
.visible .entry k() {{ .reg .b64 x; mov.u64 x, s; st.shared.u32 [x], 5; call f; ret; }}
"""
NOT_REACHED = """
.shared .align 4 .b8 s[50000];
.func f() {{ .shared .align 4 .b8 t[{}]; ret; }}
.visible .entry k() {{ ret; }}
"""
CONSTANT = (
    ".visible .const .align 1 .b8 b[1];\n.visible .const .align 4 .b8 c[{}];\n.visible .entry k() {{ ret; }}"
)
PARAMETERS = ".visible .entry k(.param .align 1 .b8 p[{}]) {{ ret; }}"


def load(text, version="8.1", target="sm_75"):
    return drv.module_from_buffer((HEADER.format(version, target) + text).encode())


# (PTX, a size that fits, the next larger one, the error for it)
SIZES = [
    (CONSTANT, 65532, 65533, r"File uses too much global constant data \(0x10001 bytes, 0x10000 max\)"),
    (PARAMETERS, 32764, 32765, r"'k' uses too much parameter space \(0x7ffd bytes, 0x7ffc max\)"),
]


@pytest.fixture(scope="module")
def max_shared():
    return drv.Context.get_device().max_shared_memory_per_block_optin


@pytest.mark.parametrize("text, in_function", [(SHARED, 0), (CALLED, 20000)], ids=["shared", "called"])
def test_static_shared_memory(max_shared, text, in_function):
    """The kernel's variables and those of the functions that it calls together."""
    load(text.format(max_shared - in_function))
    sizes = rf"\(0x{max_shared + 4:x} bytes, 0x{max_shared:x} max\)"
    with pytest.raises(drv.Error, match=rf"Entry function 'k' uses too much shared data {sizes}"):
        load(text.format(max_shared + 4 - in_function))


@pytest.mark.parametrize("size, dynamic", [(49152, 0), (49153, 49153), (None, 0)])
def test_dynamic_shared_memory_of_a_kernel_with_static_shared_memory(max_shared, size, dynamic):
    """A kernel whose static shared memory is at most 48 KiB may have dynamic memory up to 48 KiB in sum; one
    with more static memory may have all that a block can have."""
    size = max_shared if size is None else size
    kernel = load(SHARED.format(size)).get_function("k")
    assert kernel.shared_size_bytes == size
    attribute = drv.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
    assert kernel.get_attribute(attribute) == (max_shared - size if dynamic else 0)
    kernel(block=(32, 1, 1))
    drv.Context.synchronize()


@pytest.mark.parametrize("text, fits, larger, words", SIZES, ids=["constant", "parameters"])
def test_constant_memory_and_parameters(text, fits, larger, words):
    load(text.format(fits))
    with pytest.raises(drv.Error, match=words):
        load(text.format(larger))


def test_only_what_a_kernel_reaches_counts():
    load(NOT_REACHED.format(50000))


@pytest.mark.parametrize("version, target", [("8.0", "sm_75"), ("8.1", "sm_60")])
def test_large_parameters_need_a_version_and_a_target(version, target):
    """Parameters above 4352 bytes need PTX 8.1 and sm_70."""
    if target == "sm_60" and drv.Context.get_device().compute_capability() >= (10, 0):
        pytest.skip("no such target for this device")
    load(PARAMETERS.format(4352), version, target)
    with pytest.raises(drv.Error, match=r"Kernel parameter size larger than 4352|0x1101 bytes, 0x1100 max"):
        load(PARAMETERS.format(4353), version, target)


SOURCE = """
__global__ void k(float *a)
{
    __shared__ float s[%d];
    s[threadIdx.x] = a[0];
    __syncthreads();
    a[0] = s[9];
}
"""


def test_cuda_source():
    """12288 floats are 48 KiB. On a GPU the compiler refuses more, on the CPU device the loader does."""
    SourceModule(SOURCE % 12288)
    with pytest.raises(drv.Error, match=r"uses too much shared data \(0xc004 bytes, 0xc000 max\)"):
        SourceModule(SOURCE % 12289)


def test_cuda_source_compiled_to_ptx():
    major, minor = drv.Context.get_device().compute_capability()
    SourceModule(SOURCE % 12289, arch=f"compute_{major}{minor}")


def test_parameters_that_fit_are_passed():
    source = "struct Large { int i[2000]; }; __global__ void last(Large p, int *out) { *out = p.i[1999]; }"
    numbers = np.arange(2000, dtype=np.int32)
    out = np.zeros(1, np.int32)
    large = np.dtype([("i", np.int32, 2000)])
    SourceModule(source).get_function("last")(numbers.view(large)[0], drv.Out(out), block=(1, 1, 1))
    assert out[0] == 1999
