"""Fixtures of graphs: the kernel of graph_kernels.py, a stream, and an array that the kernel changes."""

import numpy as np
import pytest
from graph_kernels import COUNT, affine_function

import pycuda.driver as drv
from pycuda import gpuarray


@pytest.fixture
def affine(primary_context):
    return affine_function()


@pytest.fixture
def stream(primary_context):
    return drv.Stream()


@pytest.fixture
def data(primary_context):
    array = gpuarray.zeros(COUNT, np.uint32)
    drv.Context.synchronize()  # kernels of non-blocking streams must not start before the fill is done
    return array
