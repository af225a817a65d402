"""NumPy's functions and ufuncs called with GPUArrays, in NumPy's signatures.

protocols.py finds the implementation of a function of NumPy; its tables name modules of pycuda._array.
"""
