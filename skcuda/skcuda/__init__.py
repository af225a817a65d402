"""scikit-cuda's modules on pycuda's arrays. cublas, cufft and cusolver have NVIDIA's functions by name, made
from the rows of a table (_library.py); on the CPU device the modules _host_*.py compute what they do. The
other modules have functions of arrays.
"""

__version__ = "0.5.3"  # the version of scikit-cuda that has this interface
