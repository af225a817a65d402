# pycuda.gpuarray: GPUArray to_gpu to_gpu_async empty
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda import gpuarray

a = gpuarray.to_gpu(np.arange(6, dtype=np.float32).reshape(2, 3))
b = gpuarray.empty((2, 3), np.float32)
b.fill(2)
c = 2 * a + b  # computed on the device; nothing is copied
assert c.get().tolist() == [[2, 4, 6], [8, 10, 12]]  # a NumPy array on the host
assert c[:, 1:].sum().get() == 32 and c.T.shape == (3, 2)

stream = drv.Stream()
d = gpuarray.to_gpu_async(np.ones(3, np.float32), stream=stream)
stream.synchronize()
d.set(np.zeros(3, np.float32))
assert not d.get().any()
d.set_async(np.arange(3, dtype=np.float32), stream)
assert d.get_async(stream).shape == (3,)
stream.synchronize()
assert d.reverse().get().tolist() == [2, 1, 0] and d.mul_add(2, d, 1).get().tolist() == [0, 3, 6]

# pycuda.gpuarray: zeros ones full zeros_like ones_like full_like empty_like arange linspace eye identity tri
# pycuda.gpuarray: meshgrid from_dlpack
import numpy as np
import pycuda.autoinit
from pycuda import gpuarray

assert gpuarray.zeros((2, 3), np.float32).get().sum() == 0
assert gpuarray.full(4, 7, np.int32).get().tolist() == [7, 7, 7, 7]
a = gpuarray.arange(2, 10, 3, dtype=np.float64)
assert a.get().tolist() == [2, 5, 8]
assert gpuarray.ones_like(a).get().tolist() == [1, 1, 1]
assert gpuarray.linspace(0, 1, 5).get().tolist() == [0, 0.25, 0.5, 0.75, 1]
assert gpuarray.eye(2).get().tolist() == gpuarray.identity(2).get().tolist() == [[1, 0], [0, 1]]
x, y = gpuarray.meshgrid(a, a)
assert x.shape == y.shape == (3, 3)

# pycuda.gpuarray: if_positive where maximum minimum clip logical_and logical_or logical_not
import numpy as np
import pycuda.autoinit
from pycuda import gpuarray

a = gpuarray.to_gpu(np.array([-2, 0, 3], np.float32))
b = gpuarray.to_gpu(np.array([1, 1, 1], np.float32))
assert gpuarray.if_positive(a, a, b).get().tolist() == [1, 1, 3]
assert gpuarray.where(a > 0, a, b).get().tolist() == [1, 1, 3]
assert gpuarray.maximum(a, b).get().tolist() == [1, 1, 3]
assert gpuarray.minimum(a, 0).get().tolist() == [-2, 0, 0]
assert gpuarray.clip(a, -1, 1).get().tolist() == [-1, 0, 1]
assert gpuarray.logical_not(a).get().tolist() == [False, True, False]

# pycuda.gpuarray: take put multi_take multi_put multi_take_put take_along_axis compress extract nonzero
# pycuda.gpuarray: flatnonzero
import numpy as np
import pycuda.autoinit
from pycuda import gpuarray

a = gpuarray.to_gpu(np.array([10, 20, 30, 40], np.float32))
places = gpuarray.to_gpu(np.array([3, 0], np.int32))
assert gpuarray.take(a, places).get().tolist() == [40, 10]
assert [each.get().tolist() for each in gpuarray.multi_take([a, 2 * a], places)] == [[40, 10], [80, 20]]
gpuarray.multi_put([gpuarray.zeros(2, np.float32)], places, out=[a])
assert a.get().tolist() == [0, 20, 30, 0]
assert gpuarray.flatnonzero(a).get().tolist() == [1, 2]
assert gpuarray.compress([False, True, True, True], a).get().tolist() == [20, 30, 0]

# pycuda.gpuarray: concatenate stack hstack vstack split reshape transpose broadcast_to flip roll repeat tile
# pycuda.gpuarray: tril triu
import numpy as np
import pycuda.autoinit
from pycuda import gpuarray

a = gpuarray.arange(4, dtype=np.int32)
assert gpuarray.concatenate((a, a)).shape == (8,)
assert gpuarray.stack((a, a)).shape == gpuarray.vstack((a, a)).shape == (2, 4)
first, second = gpuarray.split(a, 2)
assert second.get().tolist() == [2, 3]
assert gpuarray.reshape(a, (2, 2)).get().tolist() == [[0, 1], [2, 3]]
assert gpuarray.transpose(a.reshape(1, 4)).shape == (4, 1)
assert gpuarray.broadcast_to(a, (3, 4)).shape == (3, 4)  # no copy
assert gpuarray.flip(a).get().tolist() == [3, 2, 1, 0]
assert gpuarray.roll(a, 1).get().tolist() == [3, 0, 1, 2]
assert gpuarray.tile(a, 2).shape == gpuarray.repeat(a, 2).shape == (8,)
assert gpuarray.tril(gpuarray.ones((2, 2))).get().tolist() == [[1, 0], [1, 1]]

# pycuda.gpuarray: sum dot max min any all subset_sum subset_dot subset_max subset_min
# pycuda.gpuarray: prod mean var std argmax argmin count_nonzero cumsum cumprod matmul
import numpy as np
import pycuda.autoinit
from pycuda import gpuarray

a = gpuarray.to_gpu(np.array([[1, 2], [3, 4]], np.float32))
assert gpuarray.sum(a).get() == 10  # a 0-d array on the device
assert a.sum(axis=0).get().tolist() == [4, 6]
assert gpuarray.max(a).get() == 4 and gpuarray.argmax(a).get() == 3
assert gpuarray.mean(a).get() == 2.5 and gpuarray.std(a).get() == np.std(a.get())
assert gpuarray.dot(a[0], a[1]).get() == 11
assert gpuarray.matmul(a, a).get().tolist() == [[7, 10], [15, 22]]
assert gpuarray.cumsum(a, axis=1).get().tolist() == [[1, 3], [3, 7]]
assert gpuarray.any(a > 3).get() and not gpuarray.all(a > 3).get()
places = gpuarray.to_gpu(np.array([0, 3], np.int32))
assert gpuarray.subset_sum(places, a.ravel()).get() == 5
assert gpuarray.subset_max(places, a.ravel()).get() == 4

# pycuda.gpuarray: sort argsort lexsort sort_by_key partition argpartition topk searchsorted unique bincount
# pycuda.gpuarray: histogram
import numpy as np
import pycuda.autoinit
from pycuda import gpuarray

a = gpuarray.to_gpu(np.array([3, 1, 2, 1], np.int32))
assert gpuarray.sort(a).get().tolist() == [1, 1, 2, 3]
assert gpuarray.argsort(a).get().tolist() == [1, 3, 2, 0]  # equal elements keep their order
keys, values = gpuarray.sort_by_key(a, gpuarray.arange(4, dtype=np.int32))
assert values.get().tolist() == [1, 3, 2, 0]
assert gpuarray.unique(a).get().tolist() == [1, 2, 3]
assert gpuarray.bincount(a).get().tolist() == [0, 2, 1, 1]
assert gpuarray.searchsorted(gpuarray.sort(a), a).get().tolist() == [3, 0, 2, 0]
counts, edges = gpuarray.histogram(a, bins=2, range=(1, 3))
assert counts.get().tolist() == [2, 2]

# pycuda.gpuarray: vec
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

module = SourceModule("__global__ void add(float3 *a, float3 b) { a[threadIdx.x].x += b.x; }")
a = gpuarray.zeros(4, gpuarray.vec.float3)
module.get_function("add")(a, gpuarray.vec.make_float3(1, 2, 3), block=(4, 1, 1))
assert a.get()["x"].tolist() == [1, 1, 1, 1]

# pycuda.cumath: fabs ceil floor exp log log10 sqrt sin cos tan asin acos atan sinh cosh tanh
import numpy as np
import pycuda.autoinit
from pycuda import cumath, gpuarray

host = np.linspace(0.1, 0.9, 9, dtype=np.float32)
a = gpuarray.to_gpu(host)
for name in "fabs ceil floor exp log log10 sqrt sin cos tan sinh cosh tanh".split():
    np.testing.assert_allclose(getattr(cumath, name)(a).get(), getattr(np, name)(host), rtol=1e-6)
np.testing.assert_allclose(cumath.asin(a).get(), np.arcsin(host), rtol=1e-6)
cumath.exp(a, out=a)  # in place

# pycuda.cumath: fmod frexp ldexp modf
import numpy as np
import pycuda.autoinit
from pycuda import cumath, gpuarray

a = gpuarray.to_gpu(np.array([1.25, 5.5], np.float32))
fraction, whole = cumath.modf(a)
assert fraction.get().tolist() == [0.25, 0.5] and whole.get().tolist() == [1, 5]
significand, exponent = cumath.frexp(a)
assert (cumath.ldexp(significand, exponent).get() == a.get()).all()
assert cumath.fmod(a, 2 * gpuarray.ones_like(a)).get().tolist() == [1.25, 1.5]
