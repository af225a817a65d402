"""A context of OpenGL without a window, and a CUDA context, both current in the test's thread."""

import sys
from pathlib import Path

import pytest

import pycuda.driver as drv

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "opengl"))

import offscreen_gl


@pytest.fixture
def gl():
    drv.init()
    try:
        context = offscreen_gl.Context()
    except offscreen_gl.NoOpenGL as error:
        pytest.skip(f"no OpenGL without a window here: {error}")
    yield context
    context.close()


@pytest.fixture
def cuda(gl):
    import pycuda.gl

    context = pycuda.gl.make_context(drv.Device(0))
    yield context
    context.pop()
    context.detach()
