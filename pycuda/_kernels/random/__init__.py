"""Kernels of random numbers, jumps ahead in a sequence, Sobol's directions; sources on cuRAND's headers.

Called from pycuda._array.random and pycuda.curandom. The constants here determine the numbers generated.
"""
