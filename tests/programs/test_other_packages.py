"""Programs of other packages on the CPU device, installed from PyPI: one in packages/ for each.

Left out unless PYCUDA_OTHER_PACKAGES names a folder, in which each package gets an environment of its own
that is kept for the next time, of several GB in all; `make other-packages` sets it. other_packages.md says
what the tests of the packages themselves have shown.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cuda_cpu import run
from test_cuda_core import PROGRAM as CUDA_CORE

FOLDER = os.environ.get("PYCUDA_OTHER_PACKAGES")
pytestmark = [
    pytest.mark.cpu("the folder of the CPU device's library"),
    pytest.mark.skipif(not FOLDER, reason="PYCUDA_OTHER_PACKAGES names no folder: it installs packages"),
]

PACKAGES = {
    "numba_cuda": ["numba-cuda[cu13]"],
    "numba_cuda_mlir": ["numba-cuda-mlir[cu13]"],
    "cuda_core": ["cuda-core[cu13]", "nvidia-cuda-nvrtc", "nvidia-cuda-runtime", "numpy"],
    "cuda_bindings": ["cuda-bindings", "nvidia-cuda-nvrtc", "numpy"],
    "tinygrad": ["tinygrad", "numpy"],
    "taichi": ["taichi"],
    "halide": ["halide", "numpy"],
    "triton": ["triton", "numpy"],
}


def environment(name):
    """Python in an environment with the package."""
    folder = Path(FOLDER, name).absolute()
    python, done = folder / "bin" / "python", folder / "installed.txt"
    wanted = "\n".join(PACKAGES[name])
    if not done.exists() or done.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES[name]], check=True)
        done.write_text(wanted)
    return python


@pytest.mark.parametrize("name", PACKAGES)
def test_a_program(name, tmp_path):
    program = Path(__file__).parent / "packages" / f"{name}_program.py"
    if name == "cuda_core":
        program = tmp_path / "program.py"
        program.write_text(CUDA_CORE)
    done = run("--log", environment(name), program, cwd=tmp_path, timeout=None)
    assert done.stdout.splitlines()[-1:] == ["done"] and not done.returncode, done.stdout + done.stderr
