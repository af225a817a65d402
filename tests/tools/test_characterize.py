"""pycuda.characterize: properties of the device and its compiler."""

import ctypes

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import characterize, tools


@pytest.fixture(autouse=True)
def context(primary_context):
    """Clears what sizeof has cached for the context, so that the context can end."""
    yield
    tools.clear_context_caches()


def test_platform_bits():
    assert characterize.platform_bits() == 8 * ctypes.sizeof(ctypes.c_void_p)


def test_the_device_has_a_stack_and_doubles():
    assert characterize.has_stack() is True and characterize.has_double_support() is True


@pytest.mark.parametrize(
    "name, size",
    [
        ("char", 1),
        ("int", 4),
        ("long", ctypes.sizeof(ctypes.c_long)),
        ("long long", 8),
        ("size_t", ctypes.sizeof(ctypes.c_size_t)),
        ("void *", ctypes.sizeof(ctypes.c_void_p)),
        ("float4", 16),
        ("pycuda::complex<double>", 16),
    ],
)
def test_sizeof(name, size):
    preamble = "#include <pycuda-complex.hpp>" if "pycuda" in name else ""
    assert characterize.sizeof(name, preamble) == size


def test_sizeof_agrees_with_numpy():
    pair = np.dtype([("flag", np.int8), ("value", np.float64), ("count", np.int16)], align=True)
    preamble = "struct Pair { char flag; double value; short count; };"
    assert characterize.sizeof("Pair", preamble) == pair.itemsize == 24


def test_sizeof_compiles_once_for_a_type(monkeypatch):
    """Without SourceModule, only types that were asked for before have an answer."""
    from pycuda import compiler

    assert characterize.sizeof("short2") == 4
    monkeypatch.setattr(compiler, "SourceModule", None)
    assert characterize.sizeof("short2") == 4
    with pytest.raises(TypeError):
        characterize.sizeof("short3")


def test_sizeof_of_an_unknown_type():
    with pytest.raises(drv.CompileError):
        characterize.sizeof("no_such_type")
