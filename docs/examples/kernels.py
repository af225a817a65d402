# pycuda.compiler: SourceModule CudaModule
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import CudaModule, SourceModule

module = SourceModule("""
__constant__ float factor[1];
__global__ void scale(float *a) { a[threadIdx.x] *= factor[0]; }
""")
assert isinstance(module, CudaModule)
address, size = module.get_global("factor")
drv.memcpy_htod(address, np.full(1, 3, np.float32))
a = np.ones(32, np.float32)
module.get_function("scale")(drv.InOut(a), block=(32, 1, 1))
assert (a == 3).all()

# pycuda.compiler: compile
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import compile

code = compile('extern "C" __global__ void f() {}', options=["-DSIZE=32"])  # PTX or a cubin, as bytes
assert drv.module_from_buffer(code).get_function("f")

# pycuda.elementwise: ElementwiseKernel
import numpy as np
import pycuda.autoinit
from pycuda import gpuarray
from pycuda.elementwise import ElementwiseKernel

axpy = ElementwiseKernel("float a, const float *x, float *y", "y[i] += a * x[i]", "axpy")
x, y = gpuarray.arange(4, dtype=np.float32), gpuarray.ones(4, np.float32)
axpy(2, x, y)
assert y.get().tolist() == [1, 3, 5, 7]
axpy(1, x, y, range=slice(0, 2))  # the first two elements
assert y.get().tolist() == [1, 4, 5, 7]

# pycuda.reduction: ReductionKernel
import numpy as np
import pycuda.autoinit
from pycuda import gpuarray
from pycuda.reduction import ReductionKernel

norm = ReductionKernel(
    np.float32, neutral="0", reduce_expr="a + b", map_expr="x[i] * x[i]", arguments="const float *x"
)
x = gpuarray.arange(6, dtype=np.float32)
assert norm(x).get() == 55
assert norm(x.reshape(2, 3), axis=1).get().tolist() == [5, 50]

# pycuda.tools: DeviceMemoryPool PageLockedMemoryPool ManagedMemoryPool StreamOrderedMemoryPool MemoryPool
# pycuda.tools: PooledDeviceAllocation PooledHostAllocation PoolSnapshot PageLockedAllocator
import numpy as np
import pycuda.autoinit
from pycuda import gpuarray, tools
from pycuda.tools import DeviceMemoryPool, PageLockedMemoryPool

pool = DeviceMemoryPool()
assert isinstance(pool, tools.MemoryPool) and isinstance(pool.allocate(100), tools.PooledDeviceAllocation)
pool.free_held()
a = gpuarray.empty(1000, np.float32, allocator=pool.allocate)
assert pool.active_blocks == 1 and pool.managed_bytes >= a.nbytes
del a  # its block is held for the next array of that size
assert pool.active_blocks == 0 and pool.held_blocks == 1
assert pool.alloc_size(pool.bin_number(1000)) >= 1000  # sizes are rounded up to those of bins
pool.reset_high()
pool.trim(0)  # returned to the driver, down to so many bytes
pool.free_held()  # and the rest
assert pool.managed_bytes == pool.active_bytes_high == 0
pool.stop_holding()  # from now on nothing is held
buffer = PageLockedMemoryPool().allocate(1000, np.float32)  # a NumPy array, page-locked
assert buffer.shape == (1000,) and isinstance(buffer.base, tools.PooledHostAllocation)
locked = PageLockedMemoryPool(tools.PageLockedAllocator())  # of memory with these flags
assert isinstance(pool.snapshot(), tools.PoolSnapshot)
for kind in tools.ManagedMemoryPool, tools.StreamOrderedMemoryPool:
    b = gpuarray.zeros(1000, np.float32, allocator=kind().allocate)
    assert not b.get().any()

# pycuda.tools: default_memory_pool set_default_memory_pool set_allocator
import numpy as np
import pycuda.autoinit
from pycuda import gpuarray
from pycuda.tools import DeviceMemoryPool, default_memory_pool, set_allocator, set_default_memory_pool

a = gpuarray.zeros(1 << 20, np.uint8)
pool = default_memory_pool()  # where arrays get their memory
assert pool.active_bytes >= a.nbytes
del a
pool.free_held()
other = DeviceMemoryPool()
set_default_memory_pool(other)  # for arrays from now on
a = gpuarray.zeros(1000, np.float32)
assert other.active_blocks == default_memory_pool().active_blocks == 1
set_allocator(None)  # a new pool, as at first
assert default_memory_pool().active_blocks == 0

# pycuda.tools: context_dependent_memoize clear_context_caches
import pycuda.autoinit
from pycuda.compiler import SourceModule
from pycuda.tools import clear_context_caches, context_dependent_memoize


@context_dependent_memoize
def kernel(name):
    """Compiled once in each context."""
    return SourceModule(f"__global__ void {name}() {{}}").get_function(name)


assert kernel("f") is kernel("f")
clear_context_caches()

# pycuda.tools: DeviceData OccupancyRecord
import pycuda.autoinit
from pycuda.tools import DeviceData, OccupancyRecord

data = DeviceData()
record = OccupancyRecord(data, threads=256, shared_mem=4096, registers=32)
print(
    record.tb_per_mp, "blocks a multiprocessor,", f"{record.occupancy:.0%},", "limited by", record.limited_by
)

# pycuda.testing: assert_allclose assert_array_equal live_objects parametrize_devices
import numpy as np
import pycuda.autoinit
from pycuda import gpuarray
from pycuda.testing import assert_allclose, assert_array_equal, live_objects, parametrize_devices

a = gpuarray.arange(3, dtype=np.float32)
assert_array_equal(a, [0, 1, 2])  # arrays of the device and of the host
assert_allclose(a / 3, np.arange(3) / 3, rtol=1e-6)
assert live_objects()["Context"] > 0  # what owns something of the driver's, by type


@parametrize_devices  # pytest calls it once for each device
def test_zeros(device):
    """Arrays of zeros have no other element."""
    assert not gpuarray.zeros(10, np.float32).get().any()


# pycuda.characterize: sizeof has_stack has_double_support platform_bits
import pycuda.autoinit
from pycuda.characterize import has_double_support, has_stack, platform_bits, sizeof

assert sizeof("float3") == 12 and sizeof("point", "struct point { char a; double b; };") == 16
assert platform_bits() == 64 and has_double_support() and has_stack()

# pycuda.cache: folder summary entries Entry clear
import os
import tempfile

with tempfile.TemporaryDirectory() as folder:
    os.environ["PYCUDA_CACHE_DIR"] = folder  # before the import; without it the user's folder
    import pycuda.autoinit
    from pycuda import cache
    from pycuda.compiler import SourceModule

    SourceModule("__global__ void f() {}")
    assert cache.folder() == folder
    print(cache.summary())
    entry = cache.entries()[0]
    assert isinstance(entry, cache.Entry) and entry.path.startswith(folder) and entry.size > 0
    assert cache.clear() > 0 and not list(cache.entries())
