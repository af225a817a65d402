"""Communicators of every device of the machine, in one process; one with a stand-in for nccl4py."""

import os
import subprocess
import sys
import textwrap
import time

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


class Ranks:
    """Processes of one program, each a rank of NCCL's and a device: `program count rank id`."""

    def __init__(self, folder, source, count):
        from nccl.core import get_unique_id

        script, unique_id = folder / "program.py", bytes(get_unique_id()).hex()
        script.write_text(textwrap.dedent(source))
        self.outputs, self.processes = [folder / f"{rank}.txt" for rank in range(count)], []
        for rank, output in enumerate(self.outputs):
            command = [sys.executable, str(script), str(count), str(rank), unique_id]
            with output.open("w") as file:
                self.processes.append(subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT))

    def wait(self, seconds):
        """The exit status of each; those that do not end in time are killed."""
        end = time.monotonic() + seconds
        while any([each.poll() is None for each in self.processes]) and time.monotonic() < end:
            time.sleep(0.02)
        for each in self.processes:
            each.kill()
        return [each.wait() for each in self.processes]

    def text(self):
        """What they printed, standard output and error."""
        return "\n".join(f"rank {rank}:\n{each.read_text()}" for rank, each in enumerate(self.outputs))


@pytest.fixture
def start_ranks(tmp_path):
    """A function start(source, count) that starts the processes of a program: their Ranks. None of them
    outlives the test.
    """
    pytest.importorskip("nccl.core", reason="nccl4py is not installed")
    started = []

    def start(source, count):
        started.append(Ranks(tmp_path, source, count))
        return started[-1]

    yield start
    for ranks in started:
        ranks.wait(0)
