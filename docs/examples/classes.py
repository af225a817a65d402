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

# pycuda.compat.cupy: RawModule MemoryPool get_default_memory_pool get_default_pinned_memory_pool fuse
# pycuda.compat.cupy: ndarray asnumpy get_array_module
import numpy as np
import pycuda.compat.cupy as cp

module = cp.RawModule(code='extern "C" __global__ void twice(float *a) { a[threadIdx.x] *= 2; }')
a = cp.ones(4, cp.float32)
module.get_function("twice")((1,), (4,), (a,))
assert isinstance(a, cp.ndarray) and cp.get_array_module(a) is cp
assert (cp.asnumpy(a) == 2).all()
pool = cp.get_default_memory_pool()
assert pool.used_bytes() > 0 and pool.total_bytes() >= pool.used_bytes()
pool.free_all_blocks()
assert pool.n_free_blocks() == 0 and pool.free_bytes() == 0
assert cp.fuse(lambda x: x + 1)(1) == 2

# pycuda.compat.cupy.cuda: Device Event Stream get_current_stream get_elapsed_time runtime
import pycuda.compat.cupy as cp

with cp.cuda.Device(0) as device:
    start, end = cp.cuda.Event(), cp.cuda.Event()
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        assert cp.cuda.get_current_stream() == stream
        start.record()
        a = cp.zeros(1000) + 1
        end.record()
    end.synchronize()
    stream.synchronize()
    assert cp.cuda.get_elapsed_time(start, end) >= 0
    device.synchronize()
assert cp.cuda.runtime.getDeviceCount() > 0 and cp.cuda.runtime.getDevice() == 0
cp.cuda.runtime.deviceSynchronize()
free, total = cp.cuda.runtime.memGetInfo()

# pycuda.compyte.array: c_contiguous_strides f_contiguous_strides is_c_contiguous_strides
# pycuda.compyte.array: is_f_contiguous_strides equal_strides bound get_common_dtype
import numpy as np
from pycuda.compyte import array

assert array.c_contiguous_strides(4, (2, 3)) == (12, 4)
assert array.f_contiguous_strides(4, (2, 3)) == (4, 8)
assert array.is_c_contiguous_strides((12, 4), 4, (2, 3))
assert not array.is_f_contiguous_strides((12, 4), 4, (2, 3))
assert array.equal_strides((12, 4), (12, 4), (2, 3))
assert array.get_common_dtype(np.ones(1, "f"), 1.5, allow_double=True) == np.float32

# pycuda.compyte.dtypes: DTypeRegistry fill_registry_with_c_types fill_registry_with_c99_stdint_types
# pycuda.compyte.dtypes: fill_registry_with_c99_complex_types fill_registry_with_opencl_c_types
# pycuda.compyte.dtypes: TypeNameNotKnown
import numpy as np
from pycuda.compyte import dtypes

registry = dtypes.DTypeRegistry()
dtypes.fill_registry_with_c_types(registry, respect_windows=False)
dtypes.fill_registry_with_c99_stdint_types(registry)
dtypes.fill_registry_with_c99_complex_types(registry)
assert registry.dtype_to_ctype(np.dtype("f8")) == "double"
assert registry.get_or_register_dtype("int32_t") == np.int32
try:
    registry.get_or_register_dtype("unknown")
except dtypes.TypeNameNotKnown as error:
    print(error)

# pycuda.compyte.dtypes: dtype_to_ctype
import numpy as np
import pycuda.tools  # fills the registry with C's and CUDA's types
from pycuda.compyte.dtypes import dtype_to_ctype

assert dtype_to_ctype(np.float32) == "float"

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

# pycuda.reduction: get_sum_kernel get_dot_kernel get_minmax_kernel get_all_kernel get_any_kernel
# pycuda.reduction: get_subset_sum_kernel get_subset_dot_kernel get_subset_minmax_kernel
import numpy as np
import pycuda.autoinit
from pycuda import gpuarray, reduction

a = gpuarray.to_gpu(np.array([1, 2, 3], np.float32))
assert reduction.get_sum_kernel(np.dtype("f4"), a.dtype)(a).get() == 6
assert reduction.get_dot_kernel(np.dtype("f4"), a.dtype, a.dtype)(a, a).get() == 14
assert reduction.get_minmax_kernel("max", a.dtype)(a).get() == 3
assert (
    reduction.get_all_kernel(a.dtype, a.dtype)(a).get()
    and reduction.get_any_kernel(a.dtype, a.dtype)(a).get()
)

# pycuda.sparse.operator: OperatorBase IdentityOperator DiagonalPreconditioner MatrixOperator
import numpy as np
import pycuda.autoinit
from pycuda import gpuarray
from pycuda.sparse.operator import DiagonalPreconditioner, IdentityOperator

x = gpuarray.ones(3, np.float64)
assert (IdentityOperator(np.float64, 3)(x).get() == 1).all()
assert (DiagonalPreconditioner(2 * x)(x).get() == 2).all()

# pycuda.sparse.inner: AsyncInnerProduct
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.sparse.inner import AsyncInnerProduct

x = gpuarray.arange(1000, dtype=np.float64)
product = AsyncInnerProduct(x, x, drv.pagelocked_empty)  # the host goes on
assert product.get_host_result() is None or product.get_host_result() == product.wait()
assert product.wait() == (np.arange(1000.0) ** 2).sum()

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
