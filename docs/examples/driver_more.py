# pycuda.driver: matrix_to_array np_to_array memcpy_htoa memcpy_atoh memcpy_dtoa memcpy_atod memcpy_atoa
# pycuda.driver: ArrayDescriptor3D dtype_to_array_format gpuarray_to_array
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda import gpuarray

row = np.arange(8, dtype=np.float32)
descriptor = drv.ArrayDescriptor()
descriptor.width, descriptor.height = 8, 1
descriptor.format, descriptor.num_channels = drv.dtype_to_array_format(row.dtype), 1
array = drv.Array(descriptor)
drv.memcpy_htoa(array, 0, row)
back = np.empty_like(row)
drv.memcpy_atoh(back, array, 0)
assert (back == row).all() and array.get_descriptor().width == 8

memory = drv.mem_alloc(row.nbytes)
drv.memcpy_atod(memory, array, 0, row.nbytes)
drv.memcpy_dtoa(array, 0, memory, row.nbytes)
second = drv.matrix_to_array(row.reshape(1, 8), "C")
drv.memcpy_atoa(second, 0, array, 16, 16)  # the second half of the row
volume = drv.np_to_array(np.zeros((2, 3, 4), np.float32), "C")
descriptor = volume.get_descriptor_3d()
assert isinstance(descriptor, drv.ArrayDescriptor3D) and descriptor.depth == 2
picture = drv.gpuarray_to_array(gpuarray.zeros((4, 8), np.float32), "C")
array.free()

# pycuda.driver: TextureReference SurfaceReference matrix_to_texref bind_array_to_texref
# pycuda.driver: make_multichannel_2d_array
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule

module = SourceModule("""
texture<float, 2> picture;
__global__ void read(float *result) { result[threadIdx.x] = tex2D(picture, threadIdx.x, 1); }
""")
reference = module.get_texref("picture")
matrix = np.arange(8, dtype=np.float32).reshape(2, 4)
drv.matrix_to_texref(matrix, reference, "C")  # or, with an Array that is there:
drv.bind_array_to_texref(drv.matrix_to_array(matrix, "C"), reference)
assert isinstance(reference, drv.TextureReference)
reference.set_filter_mode(drv.filter_mode.POINT)
reference.set_address_mode(0, drv.address_mode.CLAMP)
assert reference.get_filter_mode() == drv.filter_mode.POINT
result = np.empty(4, np.float32)
module.get_function("read")(drv.Out(result), block=(4, 1, 1), texrefs=[reference])
assert (result == matrix[1]).all()
pixels = drv.make_multichannel_2d_array(np.zeros((2, 3, 4), np.float32), "C")
assert pixels.get_descriptor().num_channels == 4

module = SourceModule("surface<void, 2> s; __global__ void f() { surf2Dwrite(1.0f, s, 0, 0); }")
assert isinstance(module.get_surfref("s"), drv.SurfaceReference)

# pycuda.driver: set_debugging
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule

assert not drv.CUDA_DEBUGGING
drv.set_debugging(False)  # True: kernels are compiled by -g -G from now on, for cuda-gdb
