"""The Python halves of GPUArray: what ext/gpuarray/methods.def and pycuda.gpuarray call."""
