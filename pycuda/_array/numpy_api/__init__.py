"""NumPy's functions and ufuncs called with GPUArrays, in NumPy's signatures, and the module pycuda.numpy.

protocols.py finds the implementation of a function of NumPy; its tables name modules of pycuda._array.
namespace.py makes of them what pycuda.numpy has, ufunc_objects.py its ufuncs, host_data.py copies operands in
host memory, inspection.py is what the array API standard asks of a namespace.
"""
