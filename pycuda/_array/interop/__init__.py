"""GPUArrays and others: DLPack, dask, texture references, text, pickles and Python's numbers."""
