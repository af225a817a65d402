"""Fourier transforms: numpy.fft for GPUArrays.

transforms.py has NumPy's functions and takes care of dtypes, sizes, norms and out=. The transforms
themselves, without a factor and of arrays whose dtypes and shapes fit, are computed by NumPy on the CPU
device (on_host.py) and by cuFFT on a GPU (on_library.py; plans in pycuda/_libraries/fft.py).
"""
