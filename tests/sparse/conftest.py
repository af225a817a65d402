"""What tests of sparse matrices share; the matrices are in matrices.py."""

import os
import sys

import pytest

import pycuda.driver as drv
from pycuda.tools import clear_context_caches

sys.path.insert(0, os.path.dirname(__file__))


@pytest.fixture(autouse=True)
def forget(primary_context):
    """Kernels and scratch memory do not outlive a test."""
    yield
    drv.Context.synchronize()
    clear_context_caches()
