"""The package's own kernels: their source, and how the work of a call is divided into blocks.

Called from pycuda._array; device code is in pycuda/cuda. Figures such as THREADS are tuned on a GPU, and some
decide the bits of results.
"""
