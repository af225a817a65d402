"""Texture and surface references of modules: .texref and .surfref variables, which CUDA 11's nvcc generates
for `texture<>` and `surface<>`, through the driver's own functions. Values and errors are those of an H100's
driver (580.159)."""

import ctypes
from ctypes import byref, c_float, c_int, c_size_t, c_uint, c_void_p

import numpy as np
import pytest

import pycuda.driver as drv

SUCCESS, INVALID_VALUE, INVALID_HANDLE, NOT_FOUND, DESTROYED, NOT_SUPPORTED = 0, 1, 400, 500, 709, 801
STATUS_INVALIDATED, CAPTURE_INVALIDATED = 2, 901  # a CUstreamCaptureStatus; a CUresult
U8, U32, S8, F32 = 0x01, 0x03, 0x08, 0x20  # CUarray_format
INTEGERS, NORMALIZED = 1, 2  # CU_TRSF_READ_AS_INTEGER, CU_TRSF_NORMALIZED_COORDINATES
OVERRIDE_FORMAT = 1  # CU_TRSA_OVERRIDE_FORMAT
LINEAR = 1  # CU_TR_FILTER_MODE_LINEAR
# Each thread has its own row of four numbers in `out`. fetch reads texel i of linear memory, sample the
# texture at (i, 0.5), count the surface at (i, 0), which it increments.
ROW = """
    .reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .f32 %f<8>;
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 16; add.u64 %rd1, %rd1, %rd2;
"""
MODULE = f"""
.version 6.4
.target sm_52
.address_size 64
.global .texref linear;
.global .texref image;
.global .surfref surface;
.global .u32 variable;
.visible .entry fetch(.param .u64 out)
{{ {ROW}
    tex.1d.v4.f32.s32 {{%f1, %f2, %f3, %f4}}, [linear, {{%r1}}];
    st.global.v4.f32 [%rd1], {{%f1, %f2, %f3, %f4}};
    ret;
}}
.visible .entry sample(.param .u64 out)
{{ {ROW}
    cvt.rn.f32.u32 %f1, %r1; mov.f32 %f2, 0f3F000000;
    tex.2d.v4.f32.f32 {{%f1, %f2, %f3, %f4}}, [image, {{%f1, %f2}}];
    st.global.v4.f32 [%rd1], {{%f1, %f2, %f3, %f4}};
    ret;
}}
.visible .entry count(.param .u64 out)
{{ {ROW}
    shl.b32 %r2, %r1, 2; mov.u32 %r4, 0;
    suld.b.2d.b32.trap {{%r3}}, [surface, {{%r2, %r4}}];
    add.u32 %r5, %r3, 1;
    sust.b.2d.b32.trap [surface, {{%r2, %r4}}], {{%r5}};
    st.global.u32 [%rd1], %r3;
    ret;
}}
""".encode()
KERNELS = "fetch", "sample", "count"


class Reference:
    """A CUtexref or CUsurfref: r.SetFlags(f) calls cuTexRefSetFlags(handle, f), r.GetFlags(p)
    cuTexRefGetFlags(p, handle); kind: the prefix of the functions."""

    def __init__(self, cuda, handle, kind="cuTexRef"):
        self.cuda, self.handle, self.kind = cuda, handle, kind

    def __getattr__(self, name):
        function = getattr(self.cuda, self.kind + name)
        return lambda *a: function(*a, self.handle) if name.startswith("Get") else function(self.handle, *a)

    def SetAddress(self, offset, address, size):
        return self.cuda.cuTexRefSetAddress_v2(offset, self.handle, address, size)

    def get(self, name, kind=c_uint):
        """The value of a setting: that of Get<name>, which must succeed."""
        value = kind()
        assert getattr(self, "Get" + name)(byref(value)) == SUCCESS
        return value.value


@pytest.fixture(scope="module")
def shared():
    drv.init()
    context = drv.Device(0).make_context()
    context.pop()
    yield context
    context.detach()


@pytest.fixture
def context(request, shared):
    """The context of all tests; a new one for what only the CPU device can serve: it ends in a fault."""
    context = shared
    if request.node.get_closest_marker("cpu"):
        context = drv.Device(0).make_context()
        context.pop()
    with context:
        yield context
    if context is not shared:
        context.detach()


@pytest.fixture
def cuda(context, driver_library):
    return ctypes.CDLL(driver_library)


@pytest.fixture
def module(context):
    return drv.module_from_buffer(MODULE)


def reference(cuda, module, name):
    """The module's Reference of that name."""
    handle, kind = c_void_p(), "cuSurfRef" if name == "surface" else "cuTexRef"
    find = cuda.cuModuleGetSurfRef if name == "surface" else cuda.cuModuleGetTexRef
    assert find(byref(handle), c_void_p(module.handle), name.encode()) == SUCCESS
    return Reference(cuda, handle, kind)


@pytest.fixture
def linear(cuda, module):
    return reference(cuda, module, "linear")


@pytest.fixture
def image(cuda, module):
    return reference(cuda, module, "image")


@pytest.fixture
def surface(cuda, module):
    return reference(cuda, module, "surface")


@pytest.fixture
def memory(context):
    return drv.to_device(np.arange(1024, dtype=np.float32))


def run(module, name, threads=4, dtype=np.float32):
    """(threads, 4) numbers: what the kernel of that name reads; 77 where it writes nothing."""
    out = np.full((threads, 4), 77, dtype)
    module.get_function(name)(drv.InOut(out), block=(threads, 1, 1))
    return out


def red(values):
    """The values as first channel, with zeros in the other three."""
    return np.pad(np.array(values, np.float32)[:, None], ((0, 0), (0, 3)))


def make_array(data, flags=0):
    """An Array with the contents of a 1-d or 2-d NumPy array."""
    description = drv.ArrayDescriptor3D()
    description.height, description.width = data.shape if data.ndim == 2 else (0, data.shape[0])
    description.format, description.num_channels = drv.dtype_to_array_format(data.dtype), 1
    description.flags = flags
    array = drv.Array(description)
    copy = drv.Memcpy2D()
    copy.set_src_host(data)
    copy.set_dst_array(array)
    copy.width_in_bytes = copy.src_pitch = data.shape[-1] * data.itemsize
    copy.height = data.shape[0] if data.ndim == 2 else 1
    copy(aligned=True)
    return array


@pytest.fixture
def array(context):
    return make_array(np.arange(16, dtype=np.float32).reshape(4, 4))


def address(memory, by=0):
    return ctypes.c_ulonglong(int(memory) + by)


def shape_of(width, height, form=F32):
    """A CUDA_ARRAY_DESCRIPTOR with one channel: width, height, and format and channels in one word."""
    return byref((c_size_t * 3)(width, height, 1 << 32 | form))


# ---- Names ----


def test_lookup_by_name(cuda, module, linear):
    """Each lookup returns the same reference; names of other kinds of variables are refused."""
    again = reference(cuda, module, "linear")
    assert again.handle.value == linear.handle.value
    handle, hmodule = c_void_p(), c_void_p(module.handle)
    for name in (b"none", b"variable", b"surface"):
        assert cuda.cuModuleGetTexRef(byref(handle), hmodule, name) == NOT_FOUND
    for name in (b"none", b"variable", b"linear"):
        assert cuda.cuModuleGetSurfRef(byref(handle), hmodule, name) == NOT_FOUND
    for name in (b"linear", b"surface"):
        assert cuda.cuModuleGetGlobal_v2(byref(handle), None, hmodule, name) == INVALID_VALUE
    assert cuda.cuModuleGetTexRef(None, hmodule, b"linear") == INVALID_VALUE
    assert cuda.cuModuleGetTexRef(byref(handle), None, b"linear") == INVALID_HANDLE


def test_a_reference_ends_with_its_module(cuda, context):
    module = drv.module_from_buffer(MODULE)
    image = reference(cuda, module, "image")
    assert image.SetFlags(0) == SUCCESS
    del module
    assert image.SetFlags(0) == DESTROYED


def test_created_references(cuda, module, image, array):
    """A reference made by cuTexRefCreate can be set as a kernel's parameter, which has no effect: the kernel
    reads its module's reference."""
    assert cuda.cuTexRefCreate(None) == INVALID_VALUE
    created = Reference(cuda, c_void_p())
    assert cuda.cuTexRefCreate(byref(created.handle)) == SUCCESS
    kernel = c_void_p(module.get_function("sample").handle)
    assert cuda.cuParamSetTexRef(kernel, -1, image.handle) == INVALID_VALUE  # bound to nothing
    assert cuda.cuParamSetTexRef(kernel, -1, created.handle) == INVALID_VALUE
    other = make_array(np.arange(16, dtype=np.float32).reshape(4, 4) + 100)
    assert created.SetArray(c_void_p(other.handle), OVERRIDE_FORMAT) == SUCCESS
    assert image.SetArray(c_void_p(array.handle), OVERRIDE_FORMAT) == SUCCESS
    for texture, unit in ((created, -1), (created, 0), (image, -1)):
        assert cuda.cuParamSetTexRef(kernel, unit, texture.handle) == SUCCESS
    assert cuda.cuParamSetTexRef(kernel, -1, created.handle) == SUCCESS
    assert (run(module, "sample") == red([0, 1, 2, 3])).all()  # the array of `image`, not of `created`
    assert cuda.cuParamSetTexRef(None, -1, image.handle) == INVALID_HANDLE
    assert cuda.cuParamSetTexRef(kernel, -1, None) == INVALID_HANDLE
    assert created.Destroy() == SUCCESS
    assert cuda.cuParamSetTexRef(kernel, -1, created.handle) == INVALID_HANDLE
    assert created.Destroy() == DESTROYED
    assert cuda.cuTexRefDestroy(None) == INVALID_HANDLE


# ---- Settings ----


def test_defaults(linear):
    """A new texture reference has the defaults of the manual and is bound to nothing."""
    form, channels, minimum, maximum = c_uint(9), c_int(9), c_float(9), c_float(9)
    color = (c_float * 4)(9, 9, 9, 9)
    assert linear.GetFormat(byref(form), byref(channels)) == SUCCESS
    assert (form.value, channels.value) == (F32, 1)
    assert [linear.get(n) for n in ("Flags", "FilterMode", "MipmapFilterMode", "MaxAnisotropy")] == [0] * 4
    for dim, expected in ((-1, INVALID_VALUE), (0, SUCCESS), (2, SUCCESS), (3, INVALID_VALUE)):
        mode = c_uint(9)
        assert linear.cuda.cuTexRefGetAddressMode(byref(mode), linear.handle, dim) == expected
        assert mode.value == (9 if expected else drv.address_mode.CLAMP)
    assert linear.get("MipmapLevelBias", c_float) == 0
    assert linear.GetMipmapLevelClamp(byref(minimum), byref(maximum)) == SUCCESS
    assert linear.GetBorderColor(color) == SUCCESS
    assert [minimum.value, maximum.value, *color] == [0] * 6
    for name in ("Array", "MipmappedArray", "Address_v2"):
        assert getattr(linear, "Get" + name)(byref(c_void_p())) == INVALID_VALUE


@pytest.mark.parametrize(
    "name, arguments, expected",
    [
        *[("SetFormat", (F32, n), INVALID_VALUE if n in (3, 5) else SUCCESS) for n in range(6)],
        *[("SetFormat", (form, 1), SUCCESS) for form in (0, 7, 16)],
        *[("SetFlags", (c_uint(f),), SUCCESS) for f in (0, 1, 2, 3, 4, 16, 32)],
        *[("SetFlags", (c_uint(f),), INVALID_VALUE) for f in (64, 128, 1 << 31)],
        *[("SetAddressMode", (dim, 0), INVALID_VALUE) for dim in (-1, 3)],
        *[("SetAddressMode", (0, mode), SUCCESS) for mode in (3, 4, -1)],
        *[("SetFilterMode", (mode,), SUCCESS) for mode in (1, 2, -1)],
        *[("SetMipmapFilterMode", (mode,), SUCCESS if mode == 1 else INVALID_VALUE) for mode in (1, 2, -1)],
        ("SetMipmapLevelBias", (c_float(99),), SUCCESS),
        ("SetMipmapLevelClamp", (c_float(3), c_float(1)), SUCCESS),
        *[("SetMaxAnisotropy", (n,), SUCCESS) for n in (0, 16, 17, 1000)],
        ("SetBorderColor", (None,), INVALID_VALUE),
    ],
)
def test_which_values_a_reference_accepts(image, name, arguments, expected):
    """The driver checks few of them."""
    assert getattr(image, name)(*arguments) == expected


def test_get_returns_what_was_set(image):
    color = (c_float * 4)()
    minimum, maximum = c_float(), c_float()
    assert image.SetFlags(35) == image.SetAddressMode(2, 3) == image.SetMaxAnisotropy(8) == SUCCESS
    assert image.SetBorderColor((c_float * 4)(1, 2, 3, 4)) == SUCCESS
    assert image.SetMipmapLevelClamp(c_float(3), c_float(1)) == SUCCESS
    assert (image.get("Flags"), image.get("MaxAnisotropy")) == (35, 8)
    assert image.GetBorderColor(color) == image.GetMipmapLevelClamp(byref(minimum), byref(maximum)) == SUCCESS
    assert [*color, minimum.value, maximum.value] == [1, 2, 3, 4, 3, 1]


def test_null_references_and_most_null_results_are_refused(cuda, linear):
    nothing = Reference(cuda, None)
    assert nothing.SetFlags(0) == nothing.SetFilterMode(0) == nothing.SetFormat(F32, 1) == INVALID_HANDLE
    for name in ("Flags", "FilterMode", "MipmapFilterMode", "MipmapLevelBias", "MaxAnisotropy", "BorderColor",
                 "Array", "MipmappedArray", "Address_v2"):  # fmt: skip
        assert getattr(linear, "Get" + name)(None) == INVALID_VALUE
        assert getattr(nothing, "Get" + name)((c_float * 4)()) == INVALID_HANDLE
    assert linear.GetFormat(None, byref(c_int())) == linear.GetFormat(byref(c_uint()), None) == SUCCESS
    assert linear.GetMipmapLevelClamp(None, byref(c_float())) == INVALID_VALUE


# ---- Linear memory ----


def test_linear_memory(linear, module, memory):
    """An address is rounded down to a multiple of 512, and the difference returned; without a place for it
    such an address is an error. Texels beyond the size are 0."""
    offset, where = c_size_t(77), ctypes.c_ulonglong()
    for by, expected in ((0, 0), (4, 4), (516, 4)):
        assert linear.SetAddress(byref(offset), address(memory, by), c_size_t(64)) == SUCCESS
        assert offset.value == expected
        assert linear.GetAddress_v2(byref(where)) == SUCCESS
        assert where.value == int(memory) + by - expected
        assert (run(module, "fetch") == red(np.arange(4) + (by - expected) // 4)).all()
    assert linear.SetAddress(None, address(memory, 4), c_size_t(64)) == INVALID_VALUE
    assert linear.SetAddress(None, address(memory, 512), c_size_t(8)) == SUCCESS
    assert (run(module, "fetch") == red([128, 129, 0, 0])).all()


def bind(linear, memory, size=64, by=0):
    """Binds `size` bytes of the memory, from byte `by` on."""
    assert linear.SetAddress(byref(c_size_t()), address(memory, by), c_size_t(size)) == SUCCESS


@pytest.mark.parametrize("size", [0, 2])
def test_memory_shorter_than_an_element(linear, module, memory, size):
    """The element at the address is read nevertheless."""
    bind(linear, memory, size, by=512)
    assert (run(module, "fetch", 1) == red([128])).all()


def test_formats_and_flags_of_linear_memory(linear, module, memory):
    """The memory begins with 0.0f, 1.0f, whose bytes are 0 except bytes 6 and 7: 0x80 and 0x3f."""
    bind(linear, memory)
    assert linear.SetFormat(U8, 1) == SUCCESS
    assert np.allclose(run(module, "fetch", 8)[6:, 0], [128 / 255, 63 / 255], rtol=1e-6)
    assert linear.SetFlags(INTEGERS) == SUCCESS
    assert run(module, "fetch", 8, np.int32)[:, 0].tolist() == [0] * 6 + [128, 63]
    assert linear.SetFormat(S8, 1) == SUCCESS
    assert run(module, "fetch", 8, np.int32)[:, 0].tolist() == [0] * 6 + [-128, 63]
    assert linear.SetFlags(0) == SUCCESS
    assert np.allclose(run(module, "fetch", 8)[6:, 0], [-1, 63 / 127], rtol=1e-6)
    assert linear.SetFormat(F32, 2) == SUCCESS
    assert run(module, "fetch", 2).tolist() == [[0, 1, 0, 0], [2, 3, 0, 0]]
    assert linear.SetFormat(F32, 1) == linear.SetFlags(NORMALIZED) == linear.SetFilterMode(LINEAR) == SUCCESS
    assert (run(module, "fetch", 2) == red([0, 1])).all()


@pytest.mark.cpu("a GPU reads other memory there")
def test_a_size_beyond_the_allocation(linear, module, context):
    """cudaBindTexture of CUDA's runtime binds the maximum size by default: that is no error, a read beyond
    the allocation is one."""
    memory = drv.to_device(np.arange(6, dtype=np.float32))
    bind(linear, memory, 1 << 30)
    assert (run(module, "fetch") == red(range(4))).all()
    with pytest.raises(drv.LaunchError, match="texel 6 of the texture reference 'linear' is beyond the end"):
        run(module, "fetch", 8)


@pytest.mark.cpu("a GPU's fault names no reference, and the process cannot use the GPU after it")
@pytest.mark.parametrize("freed", [False, True])
def test_reads_of_freed_memory_and_of_address_0_are_faults(linear, module, memory, freed):
    if freed:
        bind(linear, memory)
        memory.free()
    else:
        assert linear.SetAddress(None, ctypes.c_ulonglong(0), c_size_t(64)) == SUCCESS
    with pytest.raises(drv.LaunchError, match="texture reference 'linear'"):
        run(module, "fetch")


# ---- Pitched memory ----


def test_pitched_memory(image, module, memory):
    """SetAddress2D sets the format from the shape. The height counts for nothing where only row 0 is read."""
    form, channels, where = c_uint(), c_int(), ctypes.c_ulonglong()
    assert image.SetFormat(U32, 2) == SUCCESS
    assert image.SetAddress2D_v3(shape_of(4, 4), address(memory), c_size_t(512)) == SUCCESS
    assert image.GetFormat(byref(form), byref(channels)) == image.GetAddress_v2(byref(where)) == SUCCESS
    assert (form.value, channels.value, where.value) == (F32, 1, int(memory))
    assert (run(module, "sample") == red([0, 1, 2, 3])).all()
    assert image.SetAddress2D_v2(shape_of(3, 4), address(memory, 512), c_size_t(512)) == SUCCESS
    assert (run(module, "sample") == red([128, 129, 130, 130])).all()
    assert image.SetAddress2D_v3(shape_of(4, 0), address(memory), c_size_t(512)) == SUCCESS
    assert (run(module, "sample") == red([0, 1, 2, 3])).all()


@pytest.mark.parametrize(
    "width, height, pitch, v2, v3",
    [
        *[(4, 1, pitch, 0, 0) for pitch in (16, 30, 32, 48, 2097120)],
        *[(width, 1, 512, 0, 0) for width in (0, 4)],
        *[(4, height, 512, 0, 0) for height in (0, 65000)],
        (0, 0, 0, 0, 0),
        (131072, 1, 1 << 19, 0, 0),
        *[(width, 1, 1 << 20, 0, 1) for width in (131073, 1 << 18)],
        *[(4, 1, pitch, 0, 1) for pitch in (2097152, 2097184, 1 << 22)],
        *[(4, height, 512, 0, 1) for height in (65001, 1 << 17)],
        *[(4, 4, pitch, 1, 1) for pitch in (0, 8)],
        (1 << 20, 1, 512, 1, 1),
    ],
)
def test_limits_of_pitched_memory(image, memory, width, height, pitch, v2, v3):
    """The results (0 or 1) of both versions of the function: v3 alone checks the device's limits."""
    for name, expected in (("SetAddress2D_v2", v2), ("SetAddress2D_v3", v3)):
        assert getattr(image, name)(shape_of(width, height), address(memory), c_size_t(pitch)) == expected


def test_unaligned_pitched_memory_is_refused(image, memory):
    for name in ("SetAddress2D_v2", "SetAddress2D_v3"):
        assert getattr(image, name)(shape_of(4, 1), address(memory, 4), c_size_t(512)) == INVALID_VALUE
    assert image.SetAddress2D_v3(None, address(memory), c_size_t(512)) == INVALID_VALUE


# ---- Arrays ----


def test_arrays(image, module, array):
    """Format, normalized coordinates and filter are those of the reference at the launch."""
    handle, found = c_void_p(array.handle), c_void_p()
    assert image.SetFormat(U32, 2) == SUCCESS
    assert image.SetArray(handle, 0) == SUCCESS  # the reference's format stays: two words for each element
    assert run(module, "sample").tolist() == [[0, 1, 0, 0]] + 3 * [[2, 3, 0, 0]]
    assert image.SetArray(handle, OVERRIDE_FORMAT) == SUCCESS
    assert (run(module, "sample") == red([0, 1, 2, 3])).all()
    assert image.SetFlags(NORMALIZED) == SUCCESS
    assert (run(module, "sample") == red([8, 11, 11, 11])).all()
    assert image.SetFilterMode(LINEAR) == image.SetFlags(0) == SUCCESS
    assert (run(module, "sample") == red([0, 0.5, 1.5, 2.5])).all()
    assert image.GetArray(byref(found)) == SUCCESS
    assert found.value == array.handle
    assert image.GetAddress_v2(byref(found)) == image.GetMipmappedArray(byref(found)) == INVALID_VALUE
    assert image.SetArray(handle, 2) == INVALID_VALUE
    assert image.SetArray(None, OVERRIDE_FORMAT) == INVALID_HANDLE
    assert image.GetArray(byref(found)) == SUCCESS


def test_a_destroyed_array_reads_as_zeros(image, module):
    array = make_array(np.arange(16, dtype=np.float32).reshape(4, 4))
    assert image.SetArray(c_void_p(array.handle), OVERRIDE_FORMAT) == SUCCESS
    array.free()
    assert image.GetArray(byref(c_void_p())) == INVALID_VALUE
    assert not run(module, "sample").any()


def test_mipmapped_arrays(image, module):
    """A reference bound to a mipmapped array reads the level that its clamp chooses."""
    description = drv.ArrayDescriptor3D()
    description.width = description.height = 4
    description.format, description.num_channels = drv.array_format.FLOAT, 1
    mipmap = drv.MipmappedArray(description, 2)
    for level, data in enumerate((np.arange(16, dtype=np.float32), np.arange(4, dtype=np.float32) + 100)):
        copy = drv.Memcpy2D()
        copy.set_src_host(data)
        copy.set_dst_array(mipmap.get_level(level))
        copy.width_in_bytes = copy.src_pitch = (4 >> level) * 4
        copy.height = 4 >> level
        copy(aligned=True)
    found = c_void_p()
    assert image.SetMipmappedArray(c_void_p(mipmap.handle), OVERRIDE_FORMAT) == SUCCESS
    assert image.SetFlags(NORMALIZED) == SUCCESS
    assert image.GetMipmappedArray(byref(found)) == SUCCESS
    assert found.value == mipmap.handle
    assert image.GetArray(byref(found)) == image.GetAddress_v2(byref(found)) == INVALID_VALUE
    assert run(module, "sample", 1)[0, 0] == 8
    assert image.SetMipmapLevelClamp(c_float(1), c_float(1)) == SUCCESS
    assert run(module, "sample", 1)[0, 0] == 102
    assert image.SetMipmappedArray(None, 0) == INVALID_HANDLE


# ---- Launches ----


def test_unbound_references_read_zeros(module):
    for name in KERNELS:
        assert not run(module, name)[:, 0].any()


def test_a_new_binding_has_effect_on_later_launches_only(cuda, linear, module, memory):
    """The binding changes between and after two launches in a held stream; each reads what was bound when it
    was made."""
    stream, flag = drv.Stream(), drv.pagelocked_zeros(1, np.uint32, mem_flags=drv.host_alloc_flags.DEVICEMAP)
    outs = [drv.to_device(np.full((4, 4), 77, np.float32)) for _ in range(2)]
    where = address(flag.base.get_device_pointer())
    assert cuda.cuStreamWaitValue32_v2(c_void_p(stream.handle), where, c_uint(1), c_uint(0)) == SUCCESS
    for k, out in enumerate(outs):
        bind(linear, memory, by=512 * k)
        module.get_function("fetch")(out, block=(4, 1, 1), stream=stream)
    bind(linear, memory, by=1024)
    flag[0] = 1
    stream.synchronize()
    for k, out in enumerate(outs):
        assert (drv.from_device(out, (4, 4), np.float32) == red(np.arange(4) + 128 * k)).all()


def test_a_kernel_that_reads_texture_references_is_not_captured(cuda, linear, module, memory):
    kernel, out = module.get_function("fetch"), drv.to_device(np.full((4, 4), 77, np.float32))
    bind(linear, memory)
    for mode in range(3):
        stream, status, graph = drv.Stream(), c_uint(), c_void_p()
        handle = c_void_p(stream.handle)
        assert cuda.cuStreamBeginCapture_v2(handle, mode) == SUCCESS
        with pytest.raises(drv.LogicError, match="not permitted when stream is capturing"):
            kernel(out, block=(4, 1, 1), stream=stream)
        assert cuda.cuStreamIsCapturing(handle, byref(status)) == SUCCESS
        assert status.value == STATUS_INVALIDATED
        assert cuda.cuStreamEndCapture(handle, byref(graph)) == CAPTURE_INVALIDATED
        assert not graph.value


class Node(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS; shape: grid, block, shared memory."""

    _fields_ = [
        ("function", c_void_p), ("shape", c_uint * 7), ("parameters", c_void_p), ("rest", c_void_p * 3),
    ]  # fmt: skip


def test_a_kernel_that_reads_texture_references_is_not_added_to_a_graph(cuda, module):
    parameter, graph, node = c_void_p(), c_void_p(), c_void_p()
    parameters = (c_void_p * 1)(ctypes.addressof(parameter))
    asked = Node(module.get_function("fetch").handle, (1, 1, 1, 4, 1, 1, 0), ctypes.addressof(parameters))
    assert cuda.cuGraphCreate(byref(graph), 0) == SUCCESS
    for name in ("cuGraphAddKernelNode", "cuGraphAddKernelNode_v2"):
        add = getattr(cuda, name)
        assert add(byref(node), graph, None, c_size_t(0), byref(asked)) == NOT_SUPPORTED
    assert cuda.cuGraphDestroy(graph) == SUCCESS


@pytest.mark.cpu("not measured on a GPU")
def test_a_graph_uses_the_array_that_a_surface_is_bound_to_at_the_launch(surface, module):
    stream, out = drv.Stream(), drv.to_device(np.full((4, 4), 77, np.uint32))
    with stream.capture() as captured:
        module.get_function("count")(out, block=(4, 1, 1), stream=stream)
    graph = captured.instantiate()
    for first in 100, 200:
        array = make_array(np.arange(first, first + 4, dtype=np.uint32)[None], drv.array3d_flags.SURFACE_LDST)
        assert surface.SetArray(c_void_p(array.handle), 0) == SUCCESS
        graph.launch(stream)
        stream.synchronize()
        assert (drv.from_device(out, (4, 4), np.uint32)[:, 0] == np.arange(first, first + 4)).all()


@pytest.mark.cpu("a GPU reports no error")
def test_a_binding_that_cannot_be_read_is_a_fault_of_the_kernel_that_reads_it(image, module, array):
    """Here for an unknown address mode. A kernel that does not read the reference runs."""
    assert image.SetArray(c_void_p(array.handle), OVERRIDE_FORMAT) == SUCCESS
    assert image.SetAddressMode(0, 4) == SUCCESS
    run(module, "fetch")
    with pytest.raises(drv.LaunchError, match="texture reference 'image' cannot be used as it is bound"):
        run(module, "sample")


# ---- Surfaces ----


def test_surfaces(cuda, surface, module, array):
    """An array with SURFACE_LDST can be bound, and kernels read and write it; other arguments are refused."""
    found = c_void_p()
    stored = make_array(np.arange(16, dtype=np.uint32).reshape(4, 4), drv.array3d_flags.SURFACE_LDST)
    assert surface.GetArray(byref(found)) == surface.GetArray(None) == INVALID_VALUE
    assert surface.SetArray(c_void_p(array.handle), 0) == INVALID_VALUE
    assert surface.SetArray(c_void_p(stored.handle), 1) == INVALID_VALUE
    assert surface.SetArray(None, 0) == INVALID_HANDLE
    assert Reference(cuda, None, "cuSurfRef").SetArray(c_void_p(stored.handle), 0) == INVALID_HANDLE
    assert surface.SetArray(c_void_p(stored.handle), 0) == surface.GetArray(byref(found)) == SUCCESS
    assert found.value == stored.handle
    for turn in range(2):
        assert run(module, "count", dtype=np.uint32)[:, 0].tolist() == [turn + x for x in range(4)]


@pytest.mark.parametrize(
    ("mode", "declaration", "parameters", "sampled"),
    [
        (", texmode_independent", ".global .texref t; .global .samplerref s;", "", "t, s"),
        (
            ", texmode_independent",
            ".global .texref t; .global .samplerref s = {filter_mode = linear};",
            "",
            "t, s",
        ),
        ("", "", ".param .texref t", "t"),
        (", texmode_independent", "", ".param .texref t, .param .samplerref s", "t, s"),
    ],
)
def test_ptx_that_ptxas_accepts_and_drivers_refuse(context, cuda, mode, declaration, parameters, sampled):
    """Samplers that are separate from textures, and references as parameters of a kernel."""
    source = f"""
        .version 6.4
        .target sm_52{mode}
        .address_size 64
        {declaration}
        .visible .entry k({parameters})
        {{
            .reg .f32 %f<4>; .reg .f32 %x; mov.f32 %x, 0f00000000;
            tex.2d.v4.f32.f32 {{%f0, %f1, %f2, %f3}}, [{sampled}, {{%x, %x}}];
            ret;
        }}
    """
    handle = c_void_p()
    assert cuda.cuModuleLoadData(byref(handle), source.encode()) != SUCCESS
