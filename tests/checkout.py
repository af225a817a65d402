"""The files of the checkout that the tests are in."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def tracked(*options):
    """The names of the files that git has, as paths from the root. options: of git ls-files. Without git, and
    in a copy that is no checkout, the test that asks, or its module, is skipped.
    """
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("needs git and a checkout, for the names of the files", allow_module_level=True)
    command = ["git", "-C", str(ROOT), "ls-files", "-z", *options]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name]
