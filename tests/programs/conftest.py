"""Whole programs: each module is compiled once for its file; helpers that several files use."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from devices import on_cpu_device

import pycuda.driver as drv
from pycuda import cpu
from pycuda._compile import libraries
from pycuda.compiler import SourceModule

sys.path.insert(0, os.path.dirname(__file__))  # for the modules that several test files share


@pytest.fixture(scope="module", autouse=True)
def context():
    """The primary context, before the first object of a test is counted."""
    drv.init()
    primary = drv.Device(0).retain_primary_context()
    primary.push()
    yield primary
    primary.pop()


@pytest.fixture(scope="session")
def compiler():
    """The path of the C compiler."""
    found = shutil.which("cc")
    if found is None:
        pytest.skip("no C compiler")
    return found


@pytest.fixture(scope="session")
def pycuda_cpu(tmp_path_factory):
    """A folder for PYTHONPATH with the package of pycuda-cpu: the modules of pycuda.cpu, and copies of its
    libraries, which make another CPU device.
    """
    folder = tmp_path_factory.mktemp("site")
    package = folder / "pycuda_cpu"
    (package / "lib").mkdir(parents=True)
    for module in Path(cpu.__file__).parent.glob("*.py"):
        shutil.copy(module, package)
    for file in Path(cpu.path()).iterdir():
        if file.is_file() and (".so" in file.name or file.name == "cuda-cpu") and file.suffix != ".map":
            shutil.copy(file, package / "lib")
    return folder


@pytest.fixture(scope="module")
def cudadevrt(context):
    """Skips the test where the library is missing that a GPU needs for kernels that launch kernels."""
    try:
        libraries.folder(None, "nvcc", "lib%s.a")
    except RuntimeError:
        if not on_cpu_device():
            pytest.skip("libcudadevrt.a is not installed")


@pytest.fixture(scope="module")
def programs(request, context):
    """The kernels of the source named SOURCE in the test file."""
    return SourceModule(
        request.module.SOURCE, no_extern_c=True, options=list(getattr(request.module, "OPTIONS", []))
    )
