"""Tests of arrays share what draws their operands (drawing.py) and DLPack's structures (dlpack_abi.py)."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray

sys.path.insert(0, os.path.dirname(__file__))


@pytest.fixture
def nothing_in_flight():
    """Other libraries' arrays are kept until work is done."""
    yield
    drv.Context.synchronize()


@pytest.fixture
def host():
    return np.arange(1, 13, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def ours(host):
    return gpuarray.to_gpu(host)


@pytest.fixture
def compiled(tmp_path):
    """Compiles C to a shared library; returns its path."""
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")

    def compile(source):
        file, library = tmp_path / "library.c", tmp_path / "library.so"
        file.write_text(source)
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, file], check=True)
        return str(library)

    return compile
