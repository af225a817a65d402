"""scikit-cuda's modules, from the folder skcuda/ as it is."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "skcuda"))


@pytest.fixture(autouse=True)
def in_primary_context(primary_context):
    """Every test."""
