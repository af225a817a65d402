"""Kernels of sparse matrices times vectors for pycuda.sparse, and how a matrix is laid out for them."""
