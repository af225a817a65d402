"""Other libraries must not import the folder tests/sparse instead of the package `sparse`. Modules in this
folder, such as dask_calls.py, can be imported by name."""

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))


@pytest.fixture(autouse=True)
def without_the_folder_sparse():
    """xarray and pint import the package `sparse` if there is one. As tests/ is on the path, this would be
    tests/sparse, a namespace package: it has no file, and is removed."""
    if getattr(sys.modules.get("sparse"), "__file__", "") is None:
        del sys.modules["sparse"]
