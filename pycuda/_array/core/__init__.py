"""What every other folder stands on: operands, elementwise operations, elements moved by index, new arrays.

Arrays come from callers of the folders above; kernels come from pycuda._kernels.builtin. Nothing here may
import another folder of pycuda._array.
"""
