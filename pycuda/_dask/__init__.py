"""What dask finds by name: the entry point `backend` of `dask.config.set({"array.backend": "pycuda"})`, and
`random`, which is `pycuda.random` for it. Nothing else in pycuda imports this package; what other arrays of
dask need is in pycuda._array.interop.dask.
"""
