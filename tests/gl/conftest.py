"""A context of OpenGL without a window, and a CUDA context, both current in the test's thread."""

import sys
from pathlib import Path

import pytest

import pycuda.driver as drv

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "opengl"))

import offscreen_gl


@pytest.fixture
def gl():
    """A current context of OpenGL (offscreen_gl.Context); the test is skipped if there is none."""
    drv.init()
    try:
        context = offscreen_gl.Context()
    except offscreen_gl.NoOpenGL as error:
        pytest.skip(f"OpenGL cannot draw without a window on this machine: {error}")
    yield context
    context.close()


@pytest.fixture
def cuda(gl):
    """A current CUDA context that shares with OpenGL."""
    import pycuda.gl

    context = pycuda.gl.make_context(drv.Device(0))
    yield context
    context.pop()
    context.detach()
