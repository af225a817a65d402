"""Other libraries' tests see only libraries that are installed."""

import sys

import pytest


@pytest.fixture(autouse=True)
def without_the_folder_sparse():
    """xarray and pint import a library `sparse`, and find tests/sparse, as tests is on the path."""
    if getattr(sys.modules.get("sparse"), "__file__", "") is None:
        del sys.modules["sparse"]
