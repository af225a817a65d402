"""Kernels of random numbers, jumps ahead in a sequence, Sobol's direction vectors; kernels' sources for
cuRAND's headers.

Called from pycuda._array.random and pycuda.curandom. The constants here determine which numbers are
generated.
"""
