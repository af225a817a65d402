"""What every other folder stands on: new arrays, operands, elementwise operations, captures, types.

Arrays come from callers of the folders above; kernels come from pycuda._kernels.builtin. Nothing here may
import another folder of pycuda._array.
"""
