"""Fixtures of tests of sparse matrices; drawn.py and matrices.py in this folder can be imported by name."""

import os
import sys

import pytest

import pycuda.driver as drv
from pycuda.tools import clear_context_caches

sys.path.insert(0, os.path.dirname(__file__))


@pytest.fixture(autouse=True)
def drop_caches(primary_context):
    """Drops kernels and scratch memory after each test."""
    yield
    drv.Context.synchronize()
    clear_context_caches()
