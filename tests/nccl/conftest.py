"""Communicators of every device of the machine, in one process; one with a stand-in for nccl4py."""

import os
import sys

import pytest

import pycuda.driver as drv
import pycuda.nccl

sys.path.insert(0, os.path.dirname(__file__))

from nccl_stand_in import Bindings, communicator

# With the stand-in: they run everywhere.
WITHOUT_NCCL = {"test_checks.py", "test_devices.py", "test_fast_path.py", "test_groups.py", "test_order.py"}


def pytest_collection_modifyitems(items):
    reason = "NCCL's library contains NVIDIA's static CUDA runtime"
    for item in items:
        if item.path.parent.name == "nccl" and item.path.name not in WITHOUT_NCCL:
            item.add_marker(pytest.mark.gpu(reason))


@pytest.fixture
def bindings(monkeypatch):
    """The stand-in for nccl4py's bindings."""
    bindings = Bindings()
    monkeypatch.setattr(pycuda.nccl, "_bindings", lambda: bindings)
    return bindings


@pytest.fixture
def comm(bindings):
    """The second of two ranks, with the stand-in."""
    return pycuda.nccl.Communicator(communicator(drv.Context.get_device().handle))


@pytest.fixture(scope="module")
def ranks():
    """[(communicator, primary context)] of all devices; a rank is a device."""
    pytest.importorskip("nccl.core", reason="nccl4py is not installed")
    drv.init()
    contexts = [drv.Device(n).retain_primary_context() for n in range(drv.Device.count())]
    communicators = pycuda.nccl.init_all(contexts)
    yield [*zip(communicators, contexts, strict=True)]
    for each in communicators:
        each.destroy()
