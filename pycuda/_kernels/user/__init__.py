"""Kernels round expressions that users write: elementwise, reductions, scans.

pycuda.elementwise, pycuda.reduction and pycuda.scan bring the text; parsing.py reads off it what the kernel
may do; the other modules make the source. ready_made.py has PyCUDA's ready-made elementwise kernels.
"""
