"""Fourier transforms: numpy.fft for GPUArrays.

transforms.py has NumPy's functions: dtypes, sizes, norms, out=. Left are transforms without a factor, of
arrays whose dtypes and shapes fit: NumPy makes these on the CPU device (on_host.py), cuFFT on a GPU
(on_library.py; plans in pycuda/_libraries/fft.py).
"""
