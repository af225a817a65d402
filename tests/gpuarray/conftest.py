"""Kernels of arrays are remembered for a context; what tests leave behind is counted without them."""

import os
import sys

import pytest

from pycuda import _driver
from pycuda.tools import clear_context_caches

sys.path.insert(0, os.path.dirname(__file__))


@pytest.fixture(autouse=True)
def no_kernels_left(leaves_nothing_behind):
    yield
    clear_context_caches()
    _driver._forget_kernels()
