"""Other packages' names, for programs that are written for them: pycuda.compat.cupy."""
