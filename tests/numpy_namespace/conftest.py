"""Tests of pycuda.numpy."""

import pytest
from devices import needs_library


@pytest.fixture
def factorizations(primary_context):
    """The libraries that factorizations and transforms need on a GPU."""
    for name in ("cublas", "cusolver", "cufft"):
        needs_library(name)
