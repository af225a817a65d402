"""Kernels around expressions that users write: elementwise, reductions, scans.

pycuda.elementwise, pycuda.reduction and pycuda.scan pass the text. parsing.py derives from it what the kernel
may do, c_types.py describes its arguments, and the other modules generate the source. ready_made.py has
PyCUDA's ready-made elementwise kernels, variables.py what kernels that declare variables share.
"""
