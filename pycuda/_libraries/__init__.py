"""Mathematical libraries: finding and calling NVIDIA's, and NumPy on the CPU device's memory (host.py,
host_lapack.py).
"""
