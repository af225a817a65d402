"""A process that is killed: the others end, nothing of them is left, and mpiexec says so."""

import contextlib
import os
import time
from pathlib import Path

import pytest
from devices import on_cpu_device

from pycuda._array.interop.process_leases import _is_held

KILLED = """
    import os
    import signal
    import sys
    from pathlib import Path

    import numpy as np
    import pycuda.gpuarray as gpuarray
    import pycuda.mpi
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    Path(sys.argv[1], str(comm.rank)).write_text(str(os.getpid()))
    pycuda.mpi.local_device(comm).retain_primary_context().push()
    mine = pycuda.mpi.communicator(comm) if sys.argv[2] == "direct" else pycuda.mpi.staged(comm)
    array = gpuarray.to_gpu(np.arange(100000.0))
    total = gpuarray.empty(100000, float)
    mine.Allreduce(array, total)
    if comm.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    mine.Recv(total, source=1)
"""


def alive(pid):
    """Whether a process runs: one that has ended and is not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def eventually(condition):
    for _ in range(100):
        if condition():
            return True
        time.sleep(0.05)
    return False


def mapped(name):
    """Whether a process has mapped a file of this name, for instance one that another test has started."""
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):
            if name in maps.read_text():
                return True
    return False


def has_an_owner(name):
    """Whether it is a folder of pycuda.ipc whose process lives. The ranks have ended: another test's."""
    try:
        return name.startswith("pycuda-ipc-") and _is_held(Path("/dev/shm", name, "owner"))
    except FileNotFoundError:
        return False


def left_behind(before, marks):
    """What is in /dev/shm that was not there before, has one of the marks, and is of no living process."""
    names = {*os.listdir("/dev/shm")} - before
    return [name for name in names if any(mark in name for mark in marks) and not has_an_owner(name)]


@pytest.mark.parametrize("way", ["direct", "staged"])
@pytest.mark.parametrize("processes", [2, 4])
def test_a_killed_process(mpi_run, tmp_path, processes, way):
    before = {*os.listdir("/dev/shm")}
    done = mpi_run(processes, KILLED, str(tmp_path), way, check=False)
    assert done.returncode
    pids = [int((tmp_path / str(rank)).read_text()) for rank in range(processes)]
    assert eventually(lambda: not any(map(alive, pids)))
    # The CPU device has no files there. NVIDIA's driver has one a process (cuda.shm), also for other tests.
    # MPICH leaves a segment of its own when a process is killed, also with arrays of NumPy alone.
    for name in {*os.listdir("/dev/shm")} - before:
        if name.startswith("mpich_shm_") and not mapped(name):
            Path("/dev/shm", name).unlink(missing_ok=True)
    ours = [f".{pid:x}." for pid in pids] + [str(pid) for pid in pids]
    if on_cpu_device():
        ours.append("cuda")
    # A moment later another test's folder has its owner, or is gone.
    assert eventually(lambda: not left_behind(before, ours)), left_behind(before, ours)
    text = done.stdout + done.stderr
    # Of those that ended, MPICH names the process that it noticed first, Open MPI the rank.
    assert any(str(pid) in text for pid in pids) or "process rank 1 " in text, text
    assert "signal 9" in text or "EXIT CODE: 9" in text or "Killed" in text, text
