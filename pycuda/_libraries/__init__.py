"""Libraries of mathematics: NVIDIA's, where they are, their handles, and which of our operations they do; and
NumPy on the CPU device's memory (host.py, host_lapack.py).
"""
