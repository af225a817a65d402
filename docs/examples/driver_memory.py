# pycuda.driver: mem_alloc to_device from_device from_device_like DeviceAllocation mem_alloc_like
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv

host = np.arange(8, dtype=np.float32)
memory = drv.mem_alloc(host.nbytes)
drv.memcpy_htod(memory, host)
assert (drv.from_device(memory, host.shape, host.dtype) == host).all()

second = drv.to_device(host)  # allocates and copies
assert (drv.from_device_like(second, host) == host).all()
third = drv.mem_alloc_like(host)
assert isinstance(third, drv.DeviceAllocation) and third.size == host.nbytes
memory.free()  # at once; else when the last reference goes

# pycuda.driver: mem_get_info
import pycuda.autoinit
import pycuda.driver as drv

free, total = drv.mem_get_info()
print(f"{free / total:.0%} of {total >> 20} MiB are free")

# pycuda.driver: mem_alloc_pitch Memcpy2D
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv

picture = np.arange(15, dtype=np.float32).reshape(3, 5)
memory, pitch = drv.mem_alloc_pitch(picture.shape[1] * 4, picture.shape[0], 4)
copy = drv.Memcpy2D()
copy.set_src_host(picture)
copy.set_dst_device(memory)
copy.src_pitch = picture.strides[0]
copy.dst_pitch = pitch
copy.width_in_bytes = picture.shape[1] * 4
copy.height = picture.shape[0]
copy(aligned=True)

back = np.empty_like(picture)
copy = drv.Memcpy2D()
copy.set_src_device(memory)
copy.set_dst_host(back)
copy.src_pitch = pitch
copy.dst_pitch = back.strides[0]
copy.width_in_bytes = back.shape[1] * 4
copy.height = back.shape[0]
copy(aligned=True)
assert (back == picture).all()

# pycuda.driver: Memcpy3D
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv

volume = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
memory = drv.mem_alloc(volume.nbytes)
copy = drv.Memcpy3D()
copy.set_src_host(volume)
copy.set_dst_device(memory)
copy.src_pitch = copy.dst_pitch = volume.strides[1]
copy.src_height = copy.dst_height = volume.shape[1]
copy.width_in_bytes = volume.shape[2] * 4
copy.height = volume.shape[1]
copy.depth = volume.shape[0]
copy()
assert (drv.from_device_like(memory, volume) == volume).all()

# pycuda.driver: mem_get_address_range pointer_get_attribute
import pycuda.autoinit
import pycuda.driver as drv

memory = drv.mem_alloc(1000)
start, size = drv.mem_get_address_range(int(memory) + 10)
assert start == int(memory) and size >= 1000
kind = drv.pointer_get_attribute(drv.pointer_attribute.MEMORY_TYPE, int(memory))
assert kind == drv.memory_type.DEVICE

# pycuda.driver: pagelocked_empty pagelocked_zeros pagelocked_empty_like pagelocked_zeros_like
# pycuda.driver: memcpy_htod_async memcpy_dtoh_async PagelockedHostAllocation HostAllocation
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv

stream = drv.Stream()
source = drv.pagelocked_empty(1000, np.float32)
source[:] = 3
result = drv.pagelocked_zeros(1000, np.float32)
memory = drv.mem_alloc(source.nbytes)
drv.memcpy_htod_async(memory, source, stream)  # both copies are queued: the host goes on
drv.memcpy_dtoh_async(result, memory, stream)
stream.synchronize()
assert (result == 3).all()
assert drv.pagelocked_zeros_like(result).shape == drv.pagelocked_empty_like(result).shape
assert isinstance(result.base, drv.PagelockedHostAllocation) and isinstance(result.base, drv.HostAllocation)

# pycuda.driver: aligned_empty aligned_zeros aligned_empty_like aligned_zeros_like AlignedHostAllocation
# pycuda.driver: register_host_memory RegisteredHostMemory
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv

plain = drv.aligned_zeros(4096, np.uint8)  # begins at a page of memory
assert plain.ctypes.data % 4096 == 0 and isinstance(plain.base, drv.AlignedHostAllocation)
other = drv.aligned_empty(1000, np.float32, alignment=256)
assert drv.aligned_empty_like(other).shape == (1000,) and not drv.aligned_zeros_like(other).any()
locked = drv.register_host_memory(plain)  # an array of the same memory, page-locked
assert isinstance(locked.base, drv.RegisteredHostMemory)
memory = drv.to_device(locked)
locked[:] = 1
drv.memcpy_dtoh(locked, memory)
assert not plain.any()
locked.base.unregister()

# pycuda.driver: managed_empty managed_zeros managed_empty_like managed_zeros_like ManagedAllocation
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule

module = SourceModule("__global__ void twice(float *a) { a[threadIdx.x] *= 2; }")
a = drv.managed_empty(32, np.float32, mem_flags=drv.mem_attach_flags.GLOBAL)
a[:] = 21  # written by the host, read and written by the kernel: one address
module.get_function("twice")(a, block=(32, 1, 1))
drv.Context.synchronize()
assert (a == 42).all() and isinstance(a.base, drv.ManagedAllocation)
b = drv.managed_empty_like(a)
assert b.shape == (32,) and not drv.managed_zeros_like(a).any() and not drv.managed_zeros(4, np.int32).any()

# pycuda.driver: memset_d8 memset_d16 memset_d32 memset_d8_async memset_d16_async memset_d32_async
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv

memory = drv.mem_alloc(64)
drv.memset_d32(memory, 7, 16)  # 16 elements of 4 bytes
assert (drv.from_device(memory, 16, np.uint32) == 7).all()
drv.memset_d8(memory, 255, 4)
drv.memset_d16(int(memory) + 4, 3, 1)
assert drv.from_device(memory, 2, np.uint32)[0] == 2**32 - 1
stream = drv.Stream()
drv.memset_d16_async(memory, 1, 32, stream)
drv.memset_d8_async(memory, 0, 2, stream)
drv.memset_d32_async(int(memory) + 4, 5, 1, stream)
stream.synchronize()
assert list(drv.from_device(memory, 4, np.uint16)) == [0, 1, 5, 0]

# pycuda.driver: memset_d2d8 memset_d2d16 memset_d2d32 memset_d2d8_async memset_d2d16_async memset_d2d32_async
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv

memory, pitch = drv.mem_alloc_pitch(12, 4, 4)  # 4 rows of 3 elements
drv.memset_d2d32(memory, pitch, 9, 3, 4)
rows = drv.from_device(memory, (4, pitch // 4), np.uint32)
assert (rows[:, :3] == 9).all()
drv.memset_d2d8(memory, pitch, 0, 12, 4)
drv.memset_d2d16(memory, pitch, 1, 6, 4)
stream = drv.Stream()
drv.memset_d2d32_async(memory, pitch, 5, 3, 4, stream)
drv.memset_d2d8_async(memory, pitch, 0, 4, 4, stream)
drv.memset_d2d16_async(memory, pitch, 1, 2, 4, stream)
stream.synchronize()
assert drv.from_device(memory, 6, np.uint16).tolist() == [1, 1, 5, 0, 5, 0]

# pycuda.driver: memcpy_htod memcpy_dtoh memcpy_dtod memcpy_dtod_async memcpy_peer memcpy_peer_async
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv

host = np.arange(10, dtype=np.int32)
a, b = drv.mem_alloc(host.nbytes), drv.mem_alloc(host.nbytes)
drv.memcpy_htod(a, host)
drv.memcpy_dtod(b, a, host.nbytes)
back = np.empty_like(host)
drv.memcpy_dtoh(back, b)
assert (back == host).all()
context = drv.Context.get_current()  # of another device, in a program that has two
drv.memcpy_peer(a, b, host.nbytes, context, context)
stream = drv.Stream()
drv.memcpy_dtod_async(a, b, host.nbytes, stream)
drv.memcpy_peer_async(b, a, host.nbytes, context, context, stream)
stream.synchronize()
assert (drv.from_device_like(b, host) == host).all()

# pycuda.driver: mem_get_allocation_granularity AddressRange PhysicalMemory
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv

size = drv.mem_get_allocation_granularity()
addresses = drv.AddressRange(2 * size)  # room to grow, without memory
first = drv.PhysicalMemory(size)
addresses.map(0, first)
addresses.set_access(drv.mem_access_flags.PROT_READWRITE)
drv.memset_d32(addresses.get_pointer(), 1, size // 4)
assert drv.from_device(addresses.get_pointer(), 3, np.uint32).sum() == 3

# pycuda.driver: default_allocate
import pycuda.autoinit
import pycuda.driver as drv

block = drv.default_allocate(1000)  # from the pool that arrays use
block.free()  # goes back to the pool, not to the driver

# pycuda.driver: PointerHolderBase
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv


class Slice(drv.PointerHolderBase):
    """The second half of an allocation, as an argument of kernels and copies."""

    def __init__(self, memory):
        super().__init__()
        self.memory = memory

    def get_pointer(self):
        return int(self.memory) + self.memory.size // 2


memory = drv.to_device(np.arange(10, dtype=np.int32))
half = np.empty(5, np.int32)
drv.memcpy_dtoh(half, Slice(memory))
assert list(half) == [5, 6, 7, 8, 9]

# pycuda.driver: mem_get_ipc_handle
import pycuda.autoinit
import pycuda.driver as drv

memory = drv.mem_alloc(1 << 20)
handle = drv.mem_get_ipc_handle(memory)  # bytes, to be sent to another process
assert len(handle) == 64  # which opens it: drv.IPCMemoryHandle(handle)
