"""What tests of sparse matrices share."""

import pytest

import pycuda.driver as drv
from pycuda.tools import clear_context_caches


@pytest.fixture(autouse=True)
def forget(primary_context):
    """Kernels and scratch memory do not outlive a test."""
    yield
    drv.Context.synchronize()
    clear_context_caches()
