"""What ptxas refuses for its size is refused on every device, in ptxas's words: a program that runs on the
CPU device is not to die on a GPU. Of PTX that is loaded a kernel may have more static shared memory than of
machine code: as much as a block can have."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.compiler import SourceModule

HEADER = ".version {}\n.target {}\n.address_size 64\n"
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


SIZES = [
    (CONSTANT, 65532, 65533, r"File uses too much global constant data \(0x10001 bytes, 0x10000 max\)"),
    (PARAMETERS, 32764, 32765, r"'k' uses too much parameter space \(0x7ffd bytes, 0x7ffc max\)"),
]


@pytest.fixture(scope="module")
def max_shared():
    return drv.Context.get_device().max_shared_memory_per_block_optin


@pytest.mark.parametrize("text, others", [(SHARED, 0), (CALLED, 20000)], ids=["shared", "called"])
def test_static_shared_memory(max_shared, text, others):
    load(text.format(max_shared - others))
    sizes = rf"\(0x{max_shared + 4:x} bytes, 0x{max_shared:x} max\)"
    with pytest.raises(drv.Error, match=rf"Entry function 'k' uses too much shared data {sizes}"):
        load(text.format(max_shared + 4 - others))


@pytest.mark.parametrize("size, dynamic", [(49152, 0), (49153, 49153), (None, 0)])
def test_dynamic_shared_memory_beside_it(max_shared, size, dynamic):
    """Up to 48 KiB together unless more is asked for; a kernel that has more anyway may have all."""
    size = max_shared if size is None else size
    kernel = load(SHARED.format(size)).get_function("k")
    assert kernel.shared_size_bytes == size
    attribute = drv.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
    assert kernel.get_attribute(attribute) == (max_shared - size if dynamic else 0)
    kernel(block=(32, 1, 1))
    drv.Context.synchronize()


@pytest.mark.parametrize("text, fits, larger, words", SIZES, ids=["constant", "parameters"])
def test_sizes(text, fits, larger, words):
    load(text.format(fits))
    with pytest.raises(drv.Error, match=words):
        load(text.format(larger))


def test_only_what_a_kernel_reaches_counts():
    load(NOT_REACHED.format(50000))


@pytest.mark.parametrize("version, target", [("8.0", "sm_75"), ("8.1", "sm_60")])
def test_large_parameters_need_a_version_and_a_target(version, target):
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
    """The compiler of a GPU sees it, or the loader of the CPU device."""
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
