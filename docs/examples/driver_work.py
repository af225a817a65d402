# pycuda.driver: Device init get_version get_driver_version
import pycuda.driver as drv

drv.init()
for number in range(drv.Device.count()):
    device = drv.Device(number)
    major, minor = device.compute_capability()
    print(device.name(), f"compute capability {major}.{minor}", device.total_memory() >> 20, "MiB")
assert device.get_attributes()[drv.device_attribute.WARP_SIZE] == 32
print(device.get_attribute(drv.device_attribute.MULTIPROCESSOR_COUNT), "multiprocessors", device.pci_bus_id())
print("CUDA", drv.get_driver_version() // 1000, drv.get_version())

# pycuda.driver: Context
import pycuda.driver as drv

drv.init()
context = drv.Device(0).retain_primary_context()
context.push()  # current on this thread: what torch and CuPy use as well
try:
    assert drv.Context.get_current() == context
    assert drv.Context.get_device() == drv.Device(0)
    print(context.get_limit(drv.limit.STACK_SIZE), drv.Context.get_stream_priority_range())
    context.set_limit(drv.limit.PRINTF_FIFO_SIZE, 1 << 20)
    context.set_cache_config(drv.func_cache.PREFER_SHARED)
    print(context.get_api_version(), context.get_cache_config(), context.get_shared_config())
    drv.Context.synchronize()  # waits for all work of the context
finally:
    drv.Context.pop()

# pycuda.driver: Stream current_stream
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda import gpuarray

stream = drv.Stream()
called = []
with stream:  # the current stream of the block
    assert drv.current_stream() == stream
    a = gpuarray.zeros(1000, np.float32)
    a += 1
stream.launch_host_func(called.append, "done")  # after the work queued so far
stream.synchronize()
assert stream.is_done() and called == ["done"]

# pycuda.driver: Event
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda import gpuarray

first, second = drv.Stream(), drv.Stream()
start, end = drv.Event(), drv.Event()
start.record(first)
with first:
    a = gpuarray.full(100_000, 2, np.float32)
end.record(first)
second.wait_for_event(end)  # what is queued there from now on comes after the fill
with second:
    a *= 3
second.synchronize()
end.synchronize()
assert end.query() and end.time_since(start) >= 0  # milliseconds
assert start.time_till(end) == end.time_since(start)

# pycuda.driver: Module module_from_buffer module_from_file Function
import tempfile
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import compile

code = compile(
    'extern "C" __global__ void twice(float *a, int n) { int i = threadIdx.x; if (i < n) a[i] *= 2; }'
)
module = drv.module_from_buffer(code)
twice = module.get_function("twice")
assert isinstance(module, drv.Module) and isinstance(twice, drv.Function)
with tempfile.NamedTemporaryFile() as file:
    file.write(code)
    file.flush()
    assert drv.module_from_file(file.name).get_function("twice")
print(
    twice.num_regs, "registers,", twice.get_attribute(drv.function_attribute.MAX_THREADS_PER_BLOCK), "threads"
)

a = np.arange(5, dtype=np.float32)
twice(drv.InOut(a), np.int32(5), block=(32, 1, 1), grid=(1, 1))
assert list(a) == [0, 2, 4, 6, 8]

memory = drv.to_device(a)
twice.set_cache_config(drv.func_cache.PREFER_L1)
twice.prepare("Pi")  # the types are said once, and not looked at again
twice.prepared_call((1, 1), (32, 1, 1), memory, 5)
seconds = twice.prepared_timed_call((1, 1), (32, 1, 1), memory, 5)()
assert list(drv.from_device_like(memory, a)) == [0, 8, 16, 24, 32] and seconds >= 0
stream = drv.Stream()
twice.prepared_async_call((1, 1), (32, 1, 1), stream, memory, 5)
stream.synchronize()

# pycuda.driver: In Out InOut ArgumentHandler
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule

module = SourceModule(
    "__global__ void add(float *c, const float *a, float *b) { c[0] = a[0] + b[0]; b[0] = 0; }"
)
a, b, c = (np.full(1, value, np.float32) for value in (1, 2, 0))
# Copied to the device before the launch, back after it, or both.
module.get_function("add")(drv.Out(c), drv.In(a), drv.InOut(b), block=(1, 1, 1))
assert c[0] == 3 and b[0] == 0
assert all(issubclass(kind, drv.ArgumentHandler) for kind in (drv.In, drv.Out, drv.InOut))

# pycuda.driver: Linker
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import compile

part = compile("__device__ int three() { return 3; }", options=["-dc"])
whole = compile(
    '__device__ int three(); extern "C" __global__ void f(int *a) { *a = three(); }', options=["-dc"]
)
linker = drv.Linker()
linker.add_data(part, drv.jit_input_type.PTX, "part.ptx")
linker.add_data(whole, drv.jit_input_type.PTX, "whole.ptx")
assert linker.link_module().get_function("f")

# pycuda.driver: Graph GraphNode GraphExec
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

scale = SourceModule("__global__ void scale(float *a, float by) { a[threadIdx.x] *= by; }").get_function(
    "scale"
)
a = gpuarray.empty(32, np.float32)
graph = drv.Graph()
fill = graph.add_memset(a.gpudata, int(np.float32(5).view(np.uint32)), a.size)
kernel = graph.add_kernel(scale, a, np.float32(2), block=(32, 1, 1), depends_on=fill)
last = graph.add_empty(depends_on=kernel)
assert graph.nodes == (fill, kernel, last) and kernel.dependencies == (fill,)

ready = graph.instantiate()
assert isinstance(kernel, drv.GraphNode) and isinstance(ready, drv.GraphExec)
ready.set_args(kernel, a, np.float32(7))  # from the next launch on
ready.launch()
drv.Context.synchronize()
assert (a.get() == 35).all()
ready.set_enabled(kernel, False)
assert not ready.is_enabled(kernel)
ready.update(graph.clone())  # all parameters of a graph of the same shape
ready.upload()  # so that the first launch need not

called, event = [], drv.Event()
child, host = drv.Graph(), drv.Graph()
child.add_host(called.append, 1)
first = host.add_child(child)
second = host.add_event_record(event)
third = host.add_event_wait(event)
host.add_edge(first, second)
host.add_edge(second, third)
host.remove_edge(second, third)
host.instantiate().launch()
drv.Context.synchronize()
assert called == [1] and event.query()

# pycuda.driver: StreamCapture
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda import gpuarray

a = gpuarray.zeros(1000, np.float32)
a += 1  # compiles the kernel
stream = drv.Stream()
capture = stream.capture()
with capture as graph:
    a += 1  # becomes a node, and does not run
assert isinstance(capture, drv.StreamCapture)
ready = graph.instantiate()
for _ in range(3):
    ready.launch(stream)
stream.synchronize()
assert (a.get() == 4).all()

# pycuda.driver: Error LogicError MemoryError LaunchError RuntimeError CompileError KernelError LibraryError
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule

try:
    drv.mem_alloc(1 << 50)
except drv.MemoryError as error:  # a LaunchError, a LogicError: all are drv.Error
    assert error.code == 2 and error.name == "CUDA_ERROR_OUT_OF_MEMORY"
try:
    SourceModule("__global__ void f() { wrong; }")
except drv.CompileError as error:
    assert "wrong" in error.stderr
kinds = drv.LogicError, drv.MemoryError, drv.LaunchError, drv.RuntimeError, drv.CompileError
assert all(issubclass(kind, drv.Error) for kind in kinds)
assert issubclass(drv.KernelError, drv.LaunchError) and issubclass(drv.LibraryError, drv.Error)

# pycuda.driver: ArrayDescriptor Array TextureObject
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule

module = SourceModule("""
__global__ void read(float *result, cudaTextureObject_t picture)
{
    result[threadIdx.x] = tex2D<float>(picture, threadIdx.x + 0.5f, 0.5f);
}
""")
picture = np.arange(8, dtype=np.float32).reshape(2, 4)
array = drv.np_to_array(picture, "C")
assert isinstance(array, drv.Array) and isinstance(array.get_descriptor(), drv.ArrayDescriptor)
texture = drv.TextureObject(array)
result = np.empty(4, np.float32)
module.get_function("read")(drv.Out(result), texture, block=(4, 1, 1))
assert (result == picture[0]).all()
