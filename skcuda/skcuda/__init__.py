"""scikit-cuda's modules on pycuda's arrays. cublas, cufft and cusolver have NVIDIA's functions by name, made
from rows (_library.py; on the CPU device _host_*.py compute); the others have functions of arrays.
"""

__version__ = "0.5.3"  # whose interface this is
