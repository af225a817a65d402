"""Functions of pycuda.gpuarray in PyCUDA's signatures, where those differ from NumPy's."""
