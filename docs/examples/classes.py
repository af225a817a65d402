# pycuda.numpy: __array_namespace_info__ finfo from_dlpack asnumpy ndarray fromfunction
import numpy as np
import pycuda.autoinit
import pycuda.numpy as xp

a = xp.fromfunction(lambda i, j: i + j, (2, 2))
assert isinstance(a, xp.ndarray) and (xp.asnumpy(a) == [[0, 1], [1, 2]]).all()
assert xp.from_dlpack(a).ptr == a.ptr  # no copy
info = xp.__array_namespace_info__()
assert info.capabilities()["boolean indexing"] and info.default_dtypes()["real floating"] == np.float64
assert xp.finfo(xp.float32).eps == np.finfo(np.float32).eps and info.devices() and "int8" in info.dtypes()

# pycuda.numpy: ufunc
import pycuda.autoinit
import pycuda.numpy as xp

a = xp.arange(1, 5)
assert isinstance(xp.add, xp.ufunc)
assert xp.add.reduce(a).get() == 10 and xp.multiply.accumulate(a).get().tolist() == [1, 2, 6, 24]
assert xp.multiply.outer(a, a).shape == (4, 4)

# pycuda.numpy: r_ c_ mgrid ogrid
import pycuda.autoinit
import pycuda.numpy as xp

a = xp.arange(2)
assert xp.r_[a, 7, 8:10].get().tolist() == [0, 1, 7, 8, 9]
assert xp.c_[a, a].get().tolist() == [[0, 0], [1, 1]]
assert xp.mgrid[0:2, 0:3].shape == (2, 2, 3)
rows, columns = xp.ogrid[0:2, 0:3]
assert (rows + columns).get().tolist() == [[0, 1, 2], [1, 2, 3]]

# pycuda.tools: DebugMemoryPool
import io
import numpy as np
import pycuda.autoinit
from pycuda import gpuarray
from pycuda.tools import DebugMemoryPool

log = io.StringIO()
pool = DebugMemoryPool(interactive=False, logfile=log)
a = gpuarray.zeros(1000, np.float32, allocator=pool.allocate)
print(log.getvalue())  # the line that requested the memory

# pycuda.tools: bitlog2
from pycuda.tools import bitlog2

assert [bitlog2(size) for size in (1, 2, 1000, 1024)] == [0, 1, 9, 10]

# pycuda.tools: make_default_context
import pycuda.driver as drv
from pycuda.tools import make_default_context

drv.init()
context = make_default_context()  # on the device of CUDA_DEVICE, or the first
print(drv.Context.get_device().name())
context.pop()
context.detach()

# pycuda.driver: Memcpy3DPeer
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv

volume = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
source, dest = drv.to_device(volume), drv.mem_alloc(volume.nbytes)
context = drv.Context.get_current()  # of another device, in a program that has two
copy = drv.Memcpy3DPeer()
copy.set_src_device(source)
copy.set_dst_device(dest)
copy.set_src_context(context)
copy.set_dst_context(context)
copy.src_pitch = copy.dst_pitch = volume.strides[1]
copy.src_height = copy.dst_height = volume.shape[1]
copy.width_in_bytes = volume.shape[2] * 4
copy.height = volume.shape[1]
copy.depth = volume.shape[0]
copy()
assert (drv.from_device_like(dest, volume) == volume).all()
