"""cuda.core on the CPU device's driver library, which it finds with dlopen and cuGetProcAddress alone.

The programs do what its documentation shows: compile and launch, memory resources of every kind, streams,
events, cooperative launches, device properties. LD_LIBRARY_PATH puts the CPU device's folder first.
"""

import importlib.util
import os
import sys

import pytest
from cuda_cpu import run
from devices import driver_library, in_nvidias_wheels

from pycuda import cpu

PROGRAM = r"""
import sys
import numpy as np
from cuda.core import (
    Device, DeviceMemoryResource, DeviceMemoryResourceOptions, EventOptions, LaunchConfig,
    LegacyPinnedMemoryResource, ManagedMemoryResource, ManagedMemoryResourceOptions, PinnedMemoryResource,
    Program, ProgramOptions, Stream, StreamOptions, launch)
from cuda.core.utils import StridedMemoryView

device = Device()
device.set_current()
stream = device.create_stream()

def build(source, *names):
    options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
    code = Program(source, code_type="c++", options=options).compile("ptx", name_expressions=names)
    kernels = [code.get_kernel(name) for name in names]
    return kernels[0] if len(kernels) == 1 else kernels

def vector_add():
    add_floats, add_ints = build('''
        template <typename T> __global__ void vector_add(const T *a, const T *b, T *c, size_t n)
        {
            for (size_t i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += gridDim.x * blockDim.x)
                c[i] = a[i] + b[i];
        }''', "vector_add<float>", "vector_add<int>")
    assert add_floats.num_arguments == 4
    assert [part.offset for part in add_floats.arguments_info] == [0, 8, 16, 24]
    n, pinned = 50000, LegacyPinnedMemoryResource()
    for kernel, kind in ((add_floats, np.float32), (add_ints, np.int32)):
        host = [pinned.allocate(4 * n) for _ in range(3)]
        arrays = [np.from_dlpack(buffer).view(kind) for buffer in host]
        for k in (0, 1):
            arrays[k][:] = np.random.default_rng(k).integers(-1000, 1000, n)
        there = [device.allocate(4 * n, stream=stream) for _ in range(3)]
        for k in (0, 1):
            there[k].copy_from(host[k], stream=stream)
        launch(stream, LaunchConfig(grid=100, block=256), kernel, *there, np.uint64(n))
        there[2].copy_to(host[2], stream=stream)
        stream.sync()
        assert (arrays[2] == arrays[0] + arrays[1]).all()
        for buffer in there:
            buffer.close(stream)

def memory_resources():
    scale = build('extern "C" __global__ void scale(float *x, float *y, size_t n, float by)'
                  '{ size_t i = threadIdx.x; if (i < n) { x[i] *= by; y[i] += x[i]; } }', "scale")
    resources = [LegacyPinnedMemoryResource(), PinnedMemoryResource(), ManagedMemoryResource(),
                 ManagedMemoryResource(options=ManagedMemoryResourceOptions(
                     preferred_location=device.device_id, preferred_location_type="device"))]
    pool = DeviceMemoryResource(device, options=DeviceMemoryResourceOptions(max_size=1 << 20))
    for resource in resources:
        buffer, there = resource.allocate(1024, stream=stream), pool.allocate(1024, stream=stream)
        assert buffer.is_host_accessible and buffer.is_device_accessible
        assert there.is_device_accessible and not there.is_host_accessible
        there.fill(0, stream=stream)
        array = np.from_dlpack(buffer).view(np.float32)
        array[:] = 3 * np.arange(256)
        if isinstance(resource, PinnedMemoryResource):  # kernels of CUDA 13.0 have no access, as on an H200
            buffer.copy_to(there, stream=stream)
        else:
            array[:] = np.arange(256)
            arguments = buffer, there, np.uint64(256), np.float32(3)
            launch(stream, LaunchConfig(grid=1, block=256), scale, *arguments)
        stream.sync()
        assert (array == 3 * np.arange(256)).all()
        array[:] = 0
        there.copy_to(buffer, stream=stream)
        stream.sync()
        assert (array == 3 * np.arange(256)).all()
        there.close(stream)
        buffer.close(stream)
    stream.sync()
    assert pool.attributes.used_mem_current == 0
    assert pool.attributes.used_mem_high >= 1024
    pool.close()

def streams_and_events():
    slow = build('extern "C" __global__ void slow(volatile int *out)'
                 '{ int k = 0; while (k < 20000) k += *out; out[1] = k; }', "slow")
    buffer = LegacyPinnedMemoryResource().allocate(8)
    words = np.from_dlpack(buffer).view(np.int32)
    words[:] = [1, 0]
    timed = EventOptions(timing_enabled=True)
    start = stream.record(options=timed)
    launch(stream, LaunchConfig(grid=1, block=1), slow, buffer)
    end = stream.record(options=timed)
    other = device.create_stream(options=StreamOptions(nonblocking=True))
    assert other.is_nonblocking and other.device.device_id == device.device_id
    other.wait(end)
    other.sync()
    assert end.is_done and words[1] == 20000
    assert end - start > 0
    again = Stream.from_handle(int(other.handle))
    again.sync()

def cooperative_launch():
    meet = build('''
        extern "C" __global__ void meet(volatile int *count, int *seen)
        {
            __threadfence();
            atomicAdd((int *)count, 1);
            while (*count < gridDim.x * blockDim.x) /* only blocks that are resident together get past */
                ;
            atomicAdd((int *)count + 1, 1);
            seen[blockIdx.x * blockDim.x + threadIdx.x] = *count;
        }''', "meet")
    pinned = LegacyPinnedMemoryResource()
    count, seen = pinned.allocate(8), pinned.allocate(4 * 128)
    counts = np.from_dlpack(count).view(np.int32)
    counts[:] = 0
    launch(stream, LaunchConfig(grid=4, block=32, is_cooperative=True), meet, count, seen)
    stream.sync()
    assert (counts == 128).all()
    assert (np.from_dlpack(seen).view(np.int32) == 128).all()

def properties():
    names = [name for name in dir(device.properties) if not name.startswith("_")]
    values = {name: getattr(device.properties, name) for name in names}
    assert values["warp_size"] == 32 and values["max_threads_per_block"] == 1024
    assert len(device.uuid) == 36 and device.name
    kernel = build('extern "C" __global__ void k(int *p)'
                   '{ __shared__ int s[100]; s[threadIdx.x] = *p; *p = s[0]; }', "k")
    assert kernel.attributes.shared_size_bytes == 400
    assert kernel.occupancy.max_active_blocks_per_multiprocessor(128, 0) > 0
    view = StridedMemoryView.from_buffer(
        device.allocate(1024, stream=stream), shape=(16, 16), strides=(16, 1), dtype=np.dtype(np.float32))
    assert view.is_device_accessible and view.shape == (16, 16)

for part in (vector_add, memory_resources, streams_and_events, cooperative_launch, properties):
    part()
print("done")
"""

MACHINE_CODE = r"""
import numpy as np
from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource, Linker, LinkerOptions
from cuda.core import Program, ProgramOptions, launch

device = Device()
device.set_current()
stream = device.create_stream()
arch = f"sm_{device.arch}"
KERNEL = '''
    extern __device__ int other(int x);
    extern "C" __global__ void fill(int *out) { out[threadIdx.x] = other(threadIdx.x); }'''
OTHER = "__device__ int other(int x) { return x + 40; }"

def run(code):
    buffer = LegacyPinnedMemoryResource().allocate(4 * 32)
    launch(stream, LaunchConfig(grid=1, block=32), code.get_kernel("fill"), buffer)
    stream.sync()
    return (np.from_dlpack(buffer).view(np.int32) == np.arange(32) + 40).all()

def compiled(source, kind, **more):
    return Program(source, "c++", ProgramOptions(arch=arch, **more)).compile(kind)

def linked(kind, **more):
    parts = [compiled(source, kind, relocatable_device_code=True, **more) for source in (KERNEL, OTHER)]
    return Linker(*parts, options=LinkerOptions(arch=arch, **more)).link("cubin")

assert run(compiled(OTHER + KERNEL.replace("extern __device__ int other(int x);", ""), "cubin"))
assert run(linked("ptx"))
assert run(linked("cubin"))
assert run(linked("ltoir", link_time_optimization=True))
print("done")
"""


MEMORY_RESOURCE = """
import numpy as np
from cuda.core import Device
from pycuda import gpuarray

device = Device(0)
device.set_current()
array = gpuarray.to_gpu(np.arange(1000, dtype=np.float32), allocator=device.memory_resource)
result = (array * 2).get()
assert (result == 2 * np.arange(1000)).all()
print("done")
"""


def has_cuda_core():
    """Whether cuda.core can be imported."""
    try:
        return importlib.util.find_spec("cuda.core") is not None
    except ModuleNotFoundError:
        return False


def library_path(*first):
    """LD_LIBRARY_PATH with these folders and those of NVIDIA's wheels, which cuda.core finds by itself in the
    environment's own site-packages, but not in a folder that a .pth file adds to sys.path.
    """
    wheels = map(str, in_nvidias_wheels("lib"))
    return os.pathsep.join(filter(None, [*first, os.environ.get("LD_LIBRARY_PATH"), *wheels]))


@pytest.mark.skipif(not has_cuda_core(), reason="cuda.core is not installed")
def test_documented_examples(run_python):
    done = run_python(PROGRAM, env={"LD_LIBRARY_PATH": library_path(cpu.path())})
    assert done.stdout == "done\n", done.stderr


@pytest.mark.skipif(not has_cuda_core(), reason="cuda.core is not installed")
def test_its_memory_resource_allocates_arrays(run_python):
    """On the driver that PyCUDA uses, which cuda.core opens by its name."""
    path = library_path(os.path.dirname(driver_library()))
    done = run_python(MEMORY_RESOURCE, env={"LD_LIBRARY_PATH": path})
    assert done.stdout == "done\n", done.stderr


@pytest.mark.cpu("links what the CPU device runs in place of machine code")
@pytest.mark.skipif(not has_cuda_core(), reason="cuda.core is not installed")
def test_cubins_and_links(tmp_path):
    """Under cuda-cpu, the NVRTC and nvJitLink that cuda.core finds in their wheels return cubins that the CPU
    device runs."""
    (tmp_path / "program.py").write_text(MACHINE_CODE)
    done = run(sys.executable, "program.py", cwd=tmp_path, timeout=100, LD_LIBRARY_PATH=library_path())
    assert done.stdout == "done\n", done.stderr
