"""What dask and distributed need to know of GPUArrays: functions for their tables, tokens, sizes,
and serialization. Creation is in pycuda._dask.

pycuda does not import dask. `sizes` is an entry point (pyproject.toml); `registration` does the rest when
pycuda is used in a process that has loaded dask.
"""
