"""The package: its version, unknown names, and constants that the newest headers no longer have."""

import importlib
import importlib.metadata

import pytest

import pycuda
import pycuda.driver as drv
from pycuda import gpuarray


def test_unknown_names_raise_pythons_own_errors():
    """Modules with a lazy __getattr__ raise what a module without one does."""
    with pytest.raises(ModuleNotFoundError, match="No module named 'pycuda.nonsense'"):
        importlib.import_module("pycuda.nonsense")
    for module in (pycuda, gpuarray):
        with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute 'nonsense'"):
            module.nonsense  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'nonsense'"):
        exec("from pycuda import nonsense")


def test_version():
    assert pycuda.__version__ == pycuda.VERSION_TEXT == importlib.metadata.version("pycuda")
    assert ".".join(map(str, pycuda.VERSION)) + pycuda.VERSION_STATUS == pycuda.VERSION_TEXT


def test_constants_that_newer_headers_do_not_have():
    assert int(drv.compute_mode.EXCLUSIVE) == 1
    targets = [getattr(drv.jit_target, f"COMPUTE_{n}") for n in (10, 11, 12, 13, 20, 21)]
    assert list(map(int, targets)) == [10, 11, 12, 13, 20, 21]


def test_stop_is_stop_profiler(primary_context):
    drv.start_profiler()
    drv.stop()
