"""Fixtures of tests of arrays; the modules in this folder, such as drawing.py, can be imported by name."""

import os
import sys

import numpy as np
import pytest
from devices import needs_library

import pycuda.driver as drv
from pycuda import gpuarray

sys.path.insert(0, os.path.dirname(__file__))


@pytest.fixture
def nothing_in_flight():
    """Waits for queued work after the test: until then it keeps other libraries' arrays alive."""
    yield
    drv.Context.synchronize()


@pytest.fixture
def factorizations(primary_context):
    """The libraries that factorizations need on a GPU."""
    needs_library("cublas")
    needs_library("cusolver")


@pytest.fixture
def host():
    return np.arange(1, 13, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def ours(host):
    return gpuarray.to_gpu(host)
