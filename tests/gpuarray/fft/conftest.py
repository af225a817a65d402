"""What tests of transforms need on a GPU."""

import pytest
from devices import needs_library


@pytest.fixture
def cufft(primary_context):
    needs_library("cufft")
