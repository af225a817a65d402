"""When GPUArrays are registered with dask and distributed: once both are loaded, whichever was first."""

from __future__ import annotations

import contextlib
import importlib
import sys

_registered: set[str] = set()


def _register(loaded: str, name: str) -> None:
    """Call register_NAME() of the module NAME of this package, once the module `loaded` is there."""
    if name not in _registered and loaded in sys.modules:
        try:
            getattr(importlib.import_module(f"{__package__}.{name}"), f"register_{name}")()
        finally:  # not before: another thread would go on without what is registered
            _registered.add(name)


def register_once() -> None:
    """Put GPUArray into the tables of dask's arrays, if these are loaded. Called by every function of NumPy's
    on a GPUArray."""
    if "lookups" not in _registered:
        _register("dask.array.dispatch", "lookups")


def register_if_dask_is_loaded() -> None:
    """Put GPUArray into all tables of what is loaded: of dask's arrays, of distributed.

    If dask is loaded without its arrays, their tables are loaded: a worker may count the elements of a chunk
    before it calls any function of NumPy's with it, which would call register_once().
    """
    if "dask" not in sys.modules:
        return
    with contextlib.suppress(Exception):  # a dask that does not work is no reason for pycuda not to
        importlib.import_module("dask.array.dispatch")
    register_once()
    _register("distributed.protocol", "transport")
