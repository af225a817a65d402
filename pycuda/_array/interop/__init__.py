"""GPUArrays and others: DLPack, MPI, dask, texture references, text, pickles and Python's numbers."""
