"""TextureReference: settings, bindings, errors, lifetimes."""

import gc
import weakref

import numpy as np
import pytest
from texture_model import BORDER, CLAMP, LINEAR, MIRROR, POINT, WRAP, array_of

import pycuda.autoinit
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

SOURCE = """
texture<float, 2, cudaReadModeElementType> tex;
texture<float> row;
texture<short2, cudaTextureType3D> volume;
texture<uchar4, cudaTextureType2DLayered, cudaReadModeNormalizedFloat> layers;
texture<float, 2> preset(1, cudaFilterModeLinear, cudaAddressModeMirror);
__device__ int other[10];
__device__ char small;
__global__ void read2(float *out) { out[threadIdx.x] = tex2D(tex, threadIdx.x % 4, threadIdx.x / 4); }
__global__ void nothing() {}
__global__ void read1(float *out, int skipped) { out[threadIdx.x] = tex1Dfetch(row, threadIdx.x + skipped); }
"""


@pytest.fixture
def module():
    return SourceModule(SOURCE)


def matrix(start=0):
    """3 x 4 floats that count from start."""
    return np.arange(start, start + 12, dtype=np.float32).reshape(3, 4)


def read2(module, **keywords):
    """The 3 x 4 texels that a kernel reads from `tex`; keywords: of the launch."""
    out = np.zeros((3, 4), np.float32)
    module.get_function("read2")(drv.Out(out), block=(12, 1, 1), **keywords)
    return out


def read1(module, count, skipped=0, **keywords):
    """`count` texels that a kernel reads from `row`, after `skipped` ones."""
    out = np.zeros(count, np.float32)
    module.get_function("read1")(drv.Out(out), np.int32(skipped), block=(count, 1, 1), **keywords)
    return out


# ---- settings


@pytest.mark.parametrize(
    ("name", "form", "flags"),
    [
        ("tex", (drv.array_format.FLOAT, 1), 0),
        ("volume", (drv.array_format.SIGNED_INT16, 2), drv.TRSF_READ_AS_INTEGER),
        ("layers", (drv.array_format.UNSIGNED_INT8, 4), 0),
    ],
)
def test_initial_settings(module, name, form, flags):
    texref = module.get_texref(name)
    assert isinstance(texref, drv.TextureReference)
    assert texref.get_format() == form and texref.get_flags() == flags
    assert [texref.get_address_mode(dim) for dim in range(3)] == [CLAMP] * 3
    assert texref.get_filter_mode() == POINT


def test_settings_of_the_declaration(module):
    texref = module.get_texref("preset")
    assert texref.get_flags() == drv.TRSF_NORMALIZED_COORDINATES
    assert texref.get_filter_mode() == LINEAR and texref.get_address_mode(1) == MIRROR


def test_get_returns_what_was_set(module):
    texref = module.get_texref("row")
    texref.set_filter_mode(LINEAR)
    for dim, mode in enumerate((WRAP, MIRROR, BORDER)):
        texref.set_address_mode(dim, mode)
    texref.set_flags(drv.TRSF_NORMALIZED_COORDINATES | drv.TRSF_READ_AS_INTEGER)
    texref.set_format(drv.array_format.HALF, 4)
    assert str(texref.get_filter_mode()) == "LINEAR"
    assert [texref.get_address_mode(dim) for dim in range(3)] == [WRAP, MIRROR, BORDER]
    assert texref.get_flags() == drv.TRSF_NORMALIZED_COORDINATES | drv.TRSF_READ_AS_INTEGER
    assert texref.get_format() == (drv.array_format.HALF, 4)
    again = module.get_texref("row")  # another object, the same reference
    assert again.get_format() == (drv.array_format.HALF, 4) and again.get_filter_mode() == LINEAR


def test_set_array_sets_the_format(module):
    array = drv.matrix_to_array(np.zeros((2, 2), np.int16), "C")
    texref = module.get_texref("tex")
    texref.set_array(array)
    assert texref.get_format() == (drv.array_format.SIGNED_INT16, 1)
    assert texref.get_array() == array
    with pytest.raises(drv.LogicError, match="'tex' is not bound to memory"):
        texref.get_address()


# ---- arrays and memory


def test_matrix_to_texref(module):
    texref = module.get_texref("tex")
    drv.matrix_to_texref(matrix(), texref, "C")
    assert (read2(module, texrefs=[texref]) == matrix()).all()
    assert texref.get_address_mode(0) == texref.get_address_mode(1) == CLAMP
    drv.matrix_to_texref(matrix(5).T, texref, "F")
    assert (read2(module, texrefs=[texref]) == matrix(5)).all()
    drv.Context.synchronize()


def test_the_launch_need_not_name_it(module):
    drv.matrix_to_texref(matrix(), module.get_texref("tex"), "C")
    assert (read2(module) == matrix()).all()


@pytest.mark.parametrize("hold", [lambda array: array, lambda array: array.gpudata, lambda array: array.ptr])
def test_linear_memory(module, hold):
    data = gpuarray.to_gpu(matrix().ravel())
    texref = module.get_texref("row")
    assert texref.set_address(hold(data), data.nbytes) == 0
    assert texref.get_address() == data.ptr
    assert (read1(module, 12, texrefs=[texref]) == data.get()).all()
    assert (read1(module, 4, 10)[2:] == 0).all()  # elements beyond the 12
    with pytest.raises(drv.LogicError, match="'row' is not bound to an Array"):
        texref.get_array()


def test_an_address_that_is_not_aligned(module):
    """It is an error, or with allow_offset the memory is bound from an aligned address and the offset
    returned."""
    data = gpuarray.to_gpu(np.arange(64, dtype=np.float32))
    texref = module.get_texref("row")
    alignment = drv.Context.get_device().get_attribute(drv.device_attribute.TEXTURE_ALIGNMENT)
    with pytest.raises(drv.LogicError, match=r"^cuTexRefSetAddress failed: .* 20 bytes past .*allow_offset"):
        texref.set_address(data.ptr + 20, 100)
    offset = texref.set_address(data.ptr + 20, 100, allow_offset=True)
    assert offset == 20 and texref.get_address() == data.ptr and data.ptr % alignment == 0
    assert (read1(module, 25, offset // 4, texrefs=[texref]) == np.arange(5, 30)).all()
    assert (read1(module, 4, 5 + 25) == 0).all()


def test_rows_of_memory(module):
    """A reference reads pitched memory; wrong addresses, pitches and descriptions change nothing."""
    memory, pitch = drv.mem_alloc_pitch(16, 3, 4)
    copy = drv.Memcpy2D()
    copy.set_src_host(matrix())
    copy.set_dst_device(memory)
    copy.width_in_bytes = copy.src_pitch = 16
    copy.dst_pitch, copy.height = pitch, 3
    copy()
    descr = drv.ArrayDescriptor()
    descr.width, descr.height, descr.format, descr.num_channels = 4, 3, drv.array_format.FLOAT, 1
    texref = module.get_texref("tex")
    texref.set_address_2d(memory, descr, pitch)
    assert texref.get_address() == int(memory)
    assert (read2(module, texrefs=[texref]) == matrix()).all()
    with pytest.raises(drv.LogicError, match=r"TEXTURE_ALIGNMENT"):
        texref.set_address_2d(int(memory) + 4, descr, pitch)
    with pytest.raises(drv.LogicError, match=r"the pitch, 20, of"):
        texref.set_address_2d(memory, descr, 20)
    with pytest.raises(ValueError, match="pitch is 8, but a row has 16 bytes"):
        texref.set_address_2d(memory, descr, 8)
    descr.height = 4000
    with pytest.raises(ValueError, match="bytes are requested"):
        texref.set_address_2d(memory, descr, pitch)
    with pytest.raises(TypeError, match="descr must be an ArrayDescriptor, not str"):
        texref.set_address_2d(memory, "descr", pitch)
    assert (read2(module, texrefs=[texref]) == matrix()).all()  # the calls that failed have changed nothing


# ---- GPUArrays


@pytest.mark.parametrize("code", ["i1", "u1", "i2", "u2", "i4", "u4", "f4"])
@pytest.mark.parametrize("channels", [1, 2, 4])
def test_bind_to_texref_ext(module, code, channels):
    texref = module.get_texref("row")
    array = gpuarray.to_gpu(np.arange(32).astype(code))
    assert array.bind_to_texref_ext(texref, channels) == 0.0
    assert texref.get_format() == (drv.dtype_to_array_format(code), channels)
    assert bool(texref.get_flags() & drv.TRSF_READ_AS_INTEGER) == (code != "f4")


def test_bind_to_texref(module):
    """A reference reads a bound GPUArray; a misaligned slice needs allow_offset, which returns the offset."""
    texref = module.get_texref("row")
    data = np.arange(40, dtype=np.float32)
    array = gpuarray.to_gpu(data)
    array.bind_to_texref(texref)
    assert (read1(module, 40, texrefs=[texref]) == data).all()
    with pytest.raises(drv.LogicError, match="allow_offset"):
        array[3:].bind_to_texref(texref)
    offset = array[3:].bind_to_texref(texref, allow_offset=True)
    assert offset == 3.0
    assert (read1(module, 37, int(offset)) == data[3:]).all()
    with pytest.raises(ValueError, match="contiguous"):
        array[::2].bind_to_texref(texref)
    drv.Context.synchronize()


def test_wrong_dtypes_and_channels_of_bind_to_texref_ext(module):
    texref = module.get_texref("row")
    doubles = gpuarray.to_gpu(np.arange(4.0))
    with pytest.raises(TypeError, match="float64"):
        doubles.bind_to_texref_ext(texref)
    with pytest.raises(ValueError, match="one channel, not 2"):
        doubles.bind_to_texref_ext(texref, 2, allow_double_hack=True)
    with pytest.raises(ValueError, match="1, 2 or 4 channels, not 3"):
        gpuarray.to_gpu(np.arange(12, dtype=np.float32)).bind_to_texref_ext(texref, 3)
    with pytest.raises(TypeError, match="complex64"):
        gpuarray.to_gpu(np.ones(3, np.complex64)).bind_to_texref_ext(texref, allow_double_hack=True)


# ---- errors


def test_names_of_other_variables(module):
    with pytest.raises(drv.LogicError, match=r"^cuModuleGetTexRef failed: .*texture reference 'none'"):
        module.get_texref("none")
    for name in ("other", "small"):
        with pytest.raises(drv.LogicError, match=f"variable '{name}' is not a texture reference"):
            module.get_texref(name)
    with pytest.raises(drv.LogicError, match="variable 'tex' is not a surface reference"):
        module.get_surfref("tex")


def test_dimensions_that_do_not_fit(module):
    flat = array_of(np.zeros((1, 4, 4, 1), np.float32), 2)
    deep = array_of(np.zeros((2, 4, 4, 1), np.float32), 3)
    with pytest.raises(
        drv.LogicError, match=r"^cuTexRefSetArray failed: .*'tex' was declared as 2D, the Array is 3D"
    ):
        module.get_texref("tex").set_array(deep)
    with pytest.raises(drv.LogicError, match="declared as 2D layered, the Array is 2D"):
        module.get_texref("layers").set_array(flat)
    with pytest.raises(drv.LogicError, match="declared as 1D, the Array is 2D .*height 0"):
        module.get_texref("row").set_array(flat)
    memory = drv.mem_alloc(512)
    with pytest.raises(drv.LogicError, match="declared as 2D, the memory is 1D"):
        module.get_texref("tex").set_address(memory, 512)
    descr = flat.get_descriptor()
    with pytest.raises(drv.LogicError, match="declared as 1D, the memory is 2D"):
        module.get_texref("row").set_address_2d(memory, descr, 32)


def test_wrong_settings(module):
    texref = module.get_texref("row")
    for call, message in [
        (lambda: texref.set_address_mode(3, CLAMP), "dim must be 0, 1 or 2"),
        (lambda: texref.set_address_mode(0, 4), "am must be an address_mode"),
        (lambda: texref.get_address_mode(-1), "dim must be 0, 1 or 2"),
        (lambda: texref.set_filter_mode(2), "fm must be a filter_mode"),
        (lambda: texref.set_flags(1 << 20), "TRSF_"),
        (lambda: texref.set_format(0x55, 1), "must be an array_format"),
        (lambda: texref.set_format(drv.array_format.FLOAT, 3), "num_components must be 1, 2 or 4"),
    ]:
        with pytest.raises(drv.LogicError, match=message):
            call()
    with pytest.raises(TypeError, match="array must be an Array, not int"):
        texref.set_array(5)
    flat = module.get_texref("tex")
    flat.set_array(drv.matrix_to_array(matrix(), "C"))
    with pytest.raises(drv.LogicError, match="that of its descriptor"):
        flat.set_format(drv.array_format.HALF, 1)


def test_memory_that_is_too_short(module):
    texref, memory = module.get_texref("row"), drv.mem_alloc(1000)
    with pytest.raises(ValueError, match="1004 bytes are requested, but the allocation has 1000"):
        texref.set_address(memory, 1004)
    with pytest.raises(ValueError, match="requested"):
        texref.set_address(int(memory) + 512, 1 << 40)
    with pytest.raises(drv.LogicError, match="1 to [0-9]+ elements, not 0"):
        texref.set_address(memory, 0)


def test_integers_have_no_linear_filter(module):
    texref = module.get_texref("volume")
    texref.set_array(array_of(np.zeros((2, 2, 2, 2), np.int16), 3))
    texref.set_filter_mode(LINEAR)
    with pytest.raises(drv.LogicError, match=r"volume: linear filtering is not supported .* integers"):
        module.get_function("nothing")(block=(1, 1, 1))
    texref.set_filter_mode(POINT)
    module.get_function("nothing")(block=(1, 1, 1))


def test_a_reference_that_is_not_bound(module):
    """It is an error of a launch that names it; other kernels of the module run."""
    texref = module.get_texref("tex")
    module.get_function("nothing")(block=(1, 1, 1))
    with pytest.raises(drv.LogicError, match=r"kernel 'read2': texture reference 'tex' is bound to nothing"):
        read2(module, texrefs=[texref])
    function = module.get_function("read2").prepare("P", texrefs=[texref])
    memory = drv.mem_alloc(48)
    with pytest.raises(drv.LogicError, match="is bound to nothing"):
        function.prepared_call((1, 1), (12, 1, 1), memory)


@pytest.mark.cpu("what a GPU reads there is not defined")
def test_a_kernel_that_reads_an_unbound_reference(run_python):
    done = run_python(
        f"""
        import pycuda.autoinit, pycuda.driver as drv
        from pycuda.compiler import SourceModule
        module = SourceModule({SOURCE!r})
        module.get_function("read2")(drv.mem_alloc(48), block=(12, 1, 1))
        pycuda.autoinit.context.synchronize()
        """
    )
    assert done.returncode == 1 and "illegal memory access" in done.stderr, done.stderr
    if drv.get_driver_version() >= 12090:  # the first version with cuLogsCurrent
        assert "the kernel uses a texture that is not bound" in done.stderr


def test_bindings_to_freed_memory(module):
    """A launch that names the reference raises; kernels that do not read it run."""
    array, texref = drv.matrix_to_array(matrix(), "C"), module.get_texref("tex")
    texref.set_array(array)
    assert (read2(module, texrefs=[texref]) == matrix()).all()
    array.free()
    with pytest.raises(drv.LogicError, match="texture reference 'tex' is bound to memory that was freed"):
        read2(module, texrefs=[texref])
    with pytest.raises(drv.LogicError, match="the Array was freed"):
        texref.set_array(array)
    memory, row = drv.to_device(matrix()), module.get_texref("row")
    row.set_address(memory, 48)
    read1(module, 12, texrefs=[row])
    memory.free()
    with pytest.raises(drv.LogicError, match="'row' is bound to memory that was freed"):
        read1(module, 12, texrefs=[row])
    with pytest.raises(drv.LogicError, match="freed"):
        row.set_address(memory, 48)
    texref.set_array(drv.matrix_to_array(matrix(3), "C"))
    assert (read2(module, texrefs=[texref]) == matrix(3)).all()
    drv.Context.synchronize()


def test_texrefs_that_are_not_the_modules(module):
    other = SourceModule(SOURCE).get_texref("tex")
    with pytest.raises(drv.LogicError, match="'tex' belongs to another module"):
        read2(module, texrefs=[other])
    function = module.get_function("read2")
    with pytest.raises(drv.LogicError, match="'tex' belongs to another module"):
        function.prepare("P", texrefs=[other])
    with pytest.raises(drv.LogicError, match="'tex' belongs to another module"):
        function.param_set_texref(other)
    with pytest.raises(drv.LogicError, match="belongs to no module"):
        read2(module, texrefs=[drv.TextureReference()])
    for wrong in ([5], [module.get_surfref], ["tex"]):
        with pytest.raises(TypeError, match="TextureReference objects only"):
            read2(module, texrefs=wrong)
    with pytest.raises(TypeError, match="texrefs must be a sequence"):
        read2(module, texrefs=5)


def test_bindings_while_another_context_is_current(module):
    primary = pycuda.autoinit.context
    drv.Context.synchronize()  # in a thread that has no context this makes the primary one current
    other = pycuda.autoinit.device.make_context()
    try:
        array = drv.matrix_to_array(matrix(), "C")
        memory = drv.mem_alloc(512)
        with pytest.raises(drv.LogicError, match="'tex' belongs to a module of a different context"):
            module.get_texref("tex").set_array(array)
        with pytest.raises(drv.LogicError, match="'row' belongs to a module of a different context"):
            module.get_texref("row").set_address(memory, 512)
        del array, memory
    finally:
        other.pop()
        other.detach()
    assert drv.Context.get_current() == primary


def test_a_launch_in_another_context(module):
    texref = module.get_texref("tex")
    drv.matrix_to_texref(matrix(), texref, "C")
    out = drv.mem_alloc(48)
    other = pycuda.autoinit.device.make_context()
    try:
        with pytest.raises(drv.LogicError, match="does not belong to the current context"):
            module.get_function("read2")(np.intp(int(out)), block=(12, 1, 1), texrefs=[texref])
    finally:
        other.pop()
        other.detach()
    assert (read2(module, texrefs=[texref]) == matrix()).all()


# ---- lifetimes


def live(name):
    """The number of live objects of that type, after a garbage collection."""
    gc.collect()
    return drv._live_objects()[name]


def test_the_module_keeps_the_bound_array():
    """And a function of the module keeps both."""
    before = live("Array")
    module = SourceModule(SOURCE)
    drv.matrix_to_texref(
        matrix(), module.get_texref("tex"), "C"
    )  # no reference to either object is left here
    assert live("Array") == before + 1
    assert (read2(module) == matrix()).all()
    function = module.get_function("read2")
    del module
    out = np.zeros((3, 4), np.float32)
    function(drv.Out(out), block=(12, 1, 1))
    assert (out == matrix()).all()
    del function
    assert live("Array") == before and live("TextureObject") == 0


def test_the_reference_keeps_the_module():
    before = live("Module")
    texref = SourceModule(SOURCE).get_texref("tex")
    drv.matrix_to_texref(matrix(), texref, "C")
    assert live("Module") == before + 1
    assert texref.get_array().get_descriptor().width == 4
    del texref
    assert live("Module") == before


def test_the_reference_keeps_bound_memory(module):
    memory = gpuarray.to_gpu(matrix().ravel())
    reference = weakref.ref(memory)
    texref = module.get_texref("row")
    texref.set_address(memory, memory.nbytes)
    del memory
    gc.collect()
    assert reference() is not None
    assert (read1(module, 12, texrefs=[texref]) == matrix().ravel()).all()


def test_replaced_bindings_are_released(module):
    before = live("Array"), live("TextureObject")
    texref = module.get_texref("tex")
    for start in range(5):
        drv.matrix_to_texref(matrix(start), texref, "C")
        assert (read2(module, texrefs=[texref]) == matrix(start)).all()
    drv.Context.synchronize()
    assert (live("Array"), live("TextureObject")) == (before[0] + 1, before[1] + 1)


def test_a_reference_cycle_through_bound_memory():
    """Module, reference, bound holder, module: it is collected."""

    class Holder(drv.PointerHolderBase):
        def get_pointer(self):
            return int(self.memory)

    before = live("Module")
    holder = Holder()
    holder.memory = drv.to_device(matrix())
    holder.module = SourceModule(SOURCE)
    texref = holder.module.get_texref("row")
    texref.set_address(holder, 48)
    assert (read1(holder.module, 12, texrefs=[texref]) == matrix().ravel()).all()
    del texref, holder
    assert live("Module") == before


def test_a_reference_of_no_module_can_be_set():
    texref = drv.TextureReference()
    texref.set_array(drv.matrix_to_array(matrix(), "C"))
    texref.set_filter_mode(LINEAR)
    gc.collect()
    assert texref.get_array().get_descriptor().height == 3 and texref.get_filter_mode() == LINEAR
    texref.set_address(drv.to_device(matrix()), 48)
    assert texref.get_format() == (drv.array_format.FLOAT, 1)
