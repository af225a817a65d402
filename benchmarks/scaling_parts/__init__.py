"""What scaling.py measures, a module a part. A part's `run(setup)` adds its tables and data to the `Setup`
(`setup.py`) and raises `CannotRun` where it cannot run; `launching.py` starts its processes, a device each.
`model.py` computes what is expected, from measured rates. Parts know nothing of each other: what one needs of
another's results is in `setup.earlier`.
"""
