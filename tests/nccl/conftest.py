"""Communicators of every device of the machine, in one process."""

import pytest

import pycuda.driver as drv
import pycuda.nccl


def pytest_collection_modifyitems(items):
    reason = "NCCL's library contains NVIDIA's static CUDA runtime"
    for item in items:
        if item.path.parent.name == "nccl" and item.path.name != "test_checks.py":
            item.add_marker(pytest.mark.gpu(reason))


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
