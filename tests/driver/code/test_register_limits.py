"""How many registers kernels have when they, the loader or the compiler's options set a limit: NUM_REGS as
NVIDIA's assembler gives it, and the blocks that fit on a multiprocessor."""

import ctypes

import pytest

import pycuda.driver as drv
from pycuda.compiler import SourceModule, compile

# `many` has 64 values live at a time, since its loops are unrolled.
SOURCE = """
extern "C" __global__ void BOUNDS many(float *a, const float *b)
{
    float s[64];
    #pragma unroll
    for (int i = 0; i < 64; i++) s[i] = b[i * threadIdx.x];
    #pragma unroll
    for (int r = 0; r < 64; r++) {
        float t = 0;
        #pragma unroll
        for (int i = 0; i < 64; i++) t += s[i] * s[(i * 7 + r) % 64];
        a[r * 32 + threadIdx.x] = t;
    }
}
extern "C" __global__ void few(float *a) { a[threadIdx.x] = 1; }
"""
UNLIMITED = 64  # `many` has more registers than this without a limit


def ptx_of(bounds="", directive=""):
    """The PTX of SOURCE; bounds: in CUDA, before the name of `many`; directive: in PTX, before its body."""
    text = compile(SOURCE.replace("BOUNDS", bounds), no_extern_c=True, target="ptx").decode()
    at = text.index("{", text.index(".entry many("))
    return (text[:at] + directive + "\n" + text[at:]).encode()


def load(text, limit=None):
    return drv.module_from_buffer(text, [] if limit is None else [(drv.jit_option.MAX_REGISTERS, limit)])


def registers(module):
    return module.get_function("many").num_regs


@pytest.mark.usefixtures("primary_context")
class TestLimits:
    """Limits by the loader, the kernel, the compiler and the linker. One below 24 means 24."""

    def test_without(self):
        assert registers(load(ptx_of())) > UNLIMITED

    @pytest.mark.parametrize(("limit", "given"), [(32, 32), (40, 40), (64, 64), (16, 24), (1, 24)])
    def test_of_the_loader(self, limit, given):
        module = load(ptx_of(), limit)
        assert registers(module) == given
        assert 1 <= module.get_function("few").num_regs <= 24

    def test_a_limit_of_zero(self):
        """It is an error for the loader; for the compiler it means no limit."""
        with pytest.raises(drv.LogicError, match="invalid argument"):
            load(ptx_of(), 0)
        plain = SOURCE.replace("BOUNDS", "")
        module = SourceModule(plain, no_extern_c=True, options=["--maxrregcount=0"])
        assert registers(module) > UNLIMITED

    @pytest.mark.parametrize(("limit", "given"), [(32, 32), (64, 64), (8, 24)])
    def test_of_the_kernel(self, limit, given):
        assert registers(load(ptx_of(directive=f".maxnreg {limit}"))) == given

    def test_the_kernels_limit_overrides_the_loaders(self):
        assert registers(load(ptx_of(directive=".maxnreg 64"), 32)) == 64
        assert registers(load(ptx_of(directive=".maxnreg 32"), 64)) == 32
        assert registers(load(ptx_of(directive=".maxnreg 256"))) > UNLIMITED

    @pytest.mark.parametrize(
        ("bounds", "given"), [("1024", 64), ("1000", 64), ("256, 4", 64), ("128, 8", 64)]
    )
    def test_of_the_size_of_blocks(self, bounds, given):
        text = ptx_of(f"__launch_bounds__({bounds})")
        assert registers(load(text)) == registers(load(text, 32)) == given

    def test_of_the_compilers_options(self):
        plain = SOURCE.replace("BOUNDS", "")
        for option in (["--maxrregcount=32"], ["-maxrregcount", "32"]):
            assert registers(SourceModule(plain, no_extern_c=True, options=option)) == 32

    def test_of_a_link(self):
        linker = drv.Linker(None, [(drv.jit_option.MAX_REGISTERS, 40)])
        linker.add_data(ptx_of(), drv.jit_input_type.PTX, "many.ptx")
        assert registers(linker.link_module()) == 40

    @pytest.mark.cpu("by the size of a multiprocessor of compute capability 9.0")
    @pytest.mark.parametrize(("limit", "blocks"), [(32, 32), (64, 16), (128, 8), (255, 4)])
    def test_occupancy(self, cpu_device_library, limit, blocks):
        """Registers bound the blocks of 64 threads that fit: 65536 / (limit * 64), but at most 32."""
        count, module, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        library = ctypes.CDLL(cpu_device_library)
        text = ALL_LIVE % (limit, ", ".join(f"%r{n}" for n in range(1, 300)), body(299))
        assert library.cuModuleLoadData(ctypes.byref(module), text.encode()) == 0
        assert library.cuModuleGetFunction(ctypes.byref(function), module, b"many") == 0
        max_active_blocks = library.cuOccupancyMaxActiveBlocksPerMultiprocessor
        assert max_active_blocks(ctypes.byref(count), function, 64, ctypes.c_size_t(0)) == 0
        assert count.value == blocks
        assert library.cuModuleUnload(module) == 0


# A kernel whose registers are all live at one place: (limit, their names, loads and stores).
ALL_LIVE = """.version 7.0
.target sm_75
.address_size 64
.visible .entry many(.param .u64 p) .maxnreg %d
{
    .reg .b32 %s;
    .reg .b64 %%a;
    ld.param.u64 %%a, [p];
%s
    ret;
}
"""


def body(count):
    """PTX that loads that many registers, then stores them in the opposite order."""
    loads = [f"    ld.volatile.global.u32 %r{n}, [%a+{4 * n}];" for n in range(1, count + 1)]
    stores = [f"    st.volatile.global.u32 [%a+{4 * n}], %r{count + 1 - n};" for n in range(1, count + 1)]
    return "\n".join(loads + stores)
