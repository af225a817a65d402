"""Programs with types that use pycuda.tools, characterize, sparse and compyte: mypy finds no error, and no
untyped call."""

import subprocess
import sys
from pathlib import Path

import pytest

CLIENT = Path(__file__).with_name("typed_client.py")
CONFIG = """
[tool.mypy]
[[tool.mypy.overrides]]
module = "scipy.*"
ignore_missing_imports = true
"""


def test_a_typed_program(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed (`make lint` installs it)")
    config = tmp_path / "pyproject.toml"
    config.write_text(CONFIG)
    options = ["--no-implicit-reexport", "--disallow-untyped-calls", "--warn-unused-ignores"]
    options += ["--disallow-untyped-decorators", "--follow-imports=silent", "--config-file", str(config)]
    command = [sys.executable, "-m", "mypy", *options, "--cache-dir", str(tmp_path), str(CLIENT)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=CLIENT.parents[2])
    assert done.returncode == 0, done.stdout + done.stderr
