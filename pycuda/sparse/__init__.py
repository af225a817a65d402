"""Sparse arrays as SciPy has them, sparse matrices times vectors, and conjugate gradients."""

from pycuda._base.public_names import name_public_module as _name_public_module
from pycuda.sparse._arrays import SparseArray, coo_array, csc_array, csr_array

__all__ = ["SparseArray", "coo_array", "csc_array", "csr_array"]

_name_public_module(globals())
