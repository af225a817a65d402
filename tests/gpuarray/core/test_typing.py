"""pycuda.gpuarray for type checkers: what it exports, and the types of what users call."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import typed_client

from pycuda import gpuarray

CLIENT = Path(__file__).parents[1] / "typed_client.py"


def test_every_public_name_is_exported():
    names = {name for name, value in vars(gpuarray).items() if not inspect.ismodule(value)}
    names |= {*gpuarray._LATER}  # imported by their first use
    public = {name for name in names if not name.startswith("_")} - {"annotations", "TYPE_CHECKING", "Any"}
    assert sorted(gpuarray.__all__) == sorted(public)


def test_every_parameter_has_an_annotation():
    bare = []
    for name in gpuarray.__all__:
        function = inspect.unwrap(getattr(gpuarray, name))
        if not inspect.isfunction(function) or not function.__module__.startswith("pycuda._array"):
            continue
        for parameter in inspect.signature(function).parameters.values():
            if parameter.annotation is parameter.empty:
                bare.append(f"{name}({parameter.name})")
    assert not bare


@pytest.mark.usefixtures("primary_context")
def test_the_client_runs():
    typed_client.main()


def test_the_client_has_no_errors():
    pytest.importorskip("mypy", reason="one of the tools of make lint")
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--follow-imports", "silent"]
    command += ["--no-implicit-reexport", "--disallow-untyped-calls", "--strict-equality", str(CLIENT)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=CLIENT.parents[2])
    assert done.returncode == 0, done.stdout + done.stderr
