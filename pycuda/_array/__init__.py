"""The Python halves of GPUArray: what its methods and the functions of pycuda.gpuarray do."""
