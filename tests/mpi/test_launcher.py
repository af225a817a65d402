"""tools/mpi_launcher.py finds mpiexec and the MPI library where wheels of PyPI put them."""

import importlib
import sys

import mpi_launcher
import pytest


def make(*files):
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
    importlib.invalidate_caches()


@pytest.fixture
def nothing_else(monkeypatch, tmp_path):
    """A folder outside of which there is no mpi4py and no mpiexec."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    monkeypatch.delitem(sys.modules, "mpi4py", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "system"))
    monkeypatch.delenv("PYCUDA_TEST_MPIEXEC", raising=False)
    return tmp_path


@pytest.mark.parametrize("packages", [".", "lib/python3.12/site-packages"], ids=["target", "environment"])
def test_wheels(nothing_else, monkeypatch, packages):
    """Installed into an environment, or by pip's --target into a folder of sys.path."""
    home = nothing_else / "home"
    make(home / packages / "mpi4py" / "__init__.py", home / "bin" / "mpiexec", home / "lib" / "libmpi.so.12")
    make(nothing_else / "system" / "mpiexec")
    monkeypatch.setattr(sys, "path", [str(home / packages)])
    program, changes = mpi_launcher.find_mpi()
    assert program == str(home / "bin" / "mpiexec")
    assert changes["MPI4PY_LIBMPI"] == str(home / "lib" / "libmpi.so.12")


def test_a_package_near_the_root(nothing_else, monkeypatch):
    """Its path has fewer parents than that of a package in an environment."""
    monkeypatch.setattr(
        mpi_launcher.importlib.util, "find_spec", lambda name: type("Spec", (), {"origin": "/s/mpi4py/i.py"})
    )
    make(nothing_else / "system" / "mpiexec")
    assert mpi_launcher.find_mpi() == (str(nothing_else / "system" / "mpiexec"), mpi_launcher.OPEN_MPI)


def test_what_is_missing(nothing_else):
    with pytest.raises(LookupError, match="mpi4py is not installed"):
        mpi_launcher.find_mpi()
    make(nothing_else / "mpi4py" / "__init__.py", nothing_else / "lib" / "libmpi.so.12")
    with pytest.raises(LookupError, match="no mpiexec: pip install mpich"):
        mpi_launcher.find_mpi()


def test_the_mpiexec_of_the_environment_variable(nothing_else, monkeypatch):
    make(nothing_else / "mpi4py" / "__init__.py", nothing_else / "system" / "mpiexec")
    monkeypatch.setenv("PYCUDA_TEST_MPIEXEC", "mine")
    assert mpi_launcher.find_mpi()[0] == "mine"
