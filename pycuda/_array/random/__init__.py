"""Generators of random numbers on arrays and streams: the classes of pycuda.curandom.

Kernels and the figures that their numbers depend on come from pycuda._kernels.random.
"""
