"""The base of the other folders: operands, elementwise operations, gather and scatter, new arrays.

Arrays come from callers of the folders above; kernels come from pycuda._kernels.builtin. Nothing here may
import another folder of pycuda._array.
"""
