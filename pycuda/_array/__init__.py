"""GPUArray's methods and the functions of pycuda.gpuarray, by subject.

From the bottom: core, reduction, shape, indexing, linear, sorting, statistics, math, editing; then random and
interop; numpy_api and pycuda_api have the signatures of both; fft is above. The class in pycuda/gpuarray.py
has the methods; ext/gpuarray/ has the object that it extends.
"""
