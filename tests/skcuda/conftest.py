"""Makes the package skcuda importable from the repository's folder, without installing it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "skcuda"))


@pytest.fixture(autouse=True)
def in_primary_context(primary_context):
    """Gives every test of this folder the device's primary context."""
