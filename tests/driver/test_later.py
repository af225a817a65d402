"""What is not there yet says so by name, and nothing pretends to be there."""

import importlib
import importlib.metadata

import pytest

import pycuda
import pycuda.driver as drv
from pycuda import _later, gpuarray

WORDS = "is not there yet in this version of pycuda"


@pytest.mark.parametrize("name", sorted(_later.MODULES))
def test_module(name):
    short = name.removeprefix("pycuda.")
    for statement in (f"import {name}", f"from pycuda import {short}", f"from {name} import anything"):
        with pytest.raises(ImportError, match=f"{name} {WORDS}") as error:
            exec(statement)
        assert error.value.name == name
    with pytest.raises(ImportError, match=f"{name} {WORDS}"):
        importlib.import_module(name + ".below")
    assert not hasattr(pycuda, short)
    with pytest.raises(AttributeError, match=f"{name} {WORDS}"):
        getattr(pycuda, short)


def test_other_names_are_unknown_as_ever():
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
