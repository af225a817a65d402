"""Builds pycuda-cpu in a clone, with the C compiler of this machine: `pip install ./pycuda_cpu`, and by its
address, `pip install "git+ADDRESS#subdirectory=pycuda_cpu"`. `make wheels` makes the wheels for an index.
"""

import sys
import sysconfig
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "tools"))

import wheels  # noqa: E402


class UnsupportedOperation(Exception):
    """As PEP 517 has it: what the backend does not do."""


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Compiles the CPU device and packs it. Returns the name of the wheel (PEP 517)."""
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pycuda-cpu-", dir=ROOT / "build") as folder:
        build = Path(folder)
        options = "-Dbuildtype=release", "-Dextension=false", *wheels.FOLDERS
        wheels.meson("setup", *options, build, ROOT)
        wheels.meson("compile", "-C", build)
        tree = wheels.install(build, build / "tree")
        tag = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
        return wheels.pack(tree, wheels.metadata(HERE), tag, Path(wheel_directory)).name


def build_sdist(sdist_directory, config_settings=None):
    """There is none (PEP 517)."""
    raise UnsupportedOperation(
        "pycuda-cpu has no sdist: its sources are those of pycuda, in a folder above it"
    )
