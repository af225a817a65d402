"""Fixtures of tests of pycuda.numpy; against_numpy.py in this folder can be imported by name."""

import os
import sys

import pytest
from devices import needs_library

sys.path.insert(0, os.path.dirname(__file__))


@pytest.fixture
def factorizations(primary_context):
    """The libraries that factorizations and transforms need on a GPU."""
    for name in ("cublas", "cusolver", "cufft"):
        needs_library(name)
