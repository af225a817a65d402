"""Common to all kernels: merged axes, layouts of operands, caches, scratch memory, compiling.

Shapes and strides come in, launch arguments and functions go out. Imports no other folder of pycuda._kernels.
"""
