"""A rank whose process is killed: the others can end what they wait for, and go on."""

import os
import signal
import time

import pytest

import pycuda.driver as drv

KILLED = """
    import contextlib
    import os
    import signal
    import sys
    import time
    from pathlib import Path

    import pycuda.driver as drv
    import pycuda.gpuarray as gpuarray
    import pycuda.nccl
    from nccl.core import SUM, UniqueId, get_unique_id

    count, rank = map(int, sys.argv[1:3])
    last = Path(__file__).with_name("last")  # the process of the last rank
    drv.init()
    with drv.Device(rank).retain_primary_context(), drv.Stream() as stream:
        comm = pycuda.nccl.init(count, rank, UniqueId.from_bytes(bytes.fromhex(sys.argv[3])))
        array, total = gpuarray.zeros(1000, float) + rank, gpuarray.empty(1000, float)
        comm.allreduce(array, total, SUM)
        assert set(total.get()) == {sum(range(count))}
        if rank == count - 1:
            last.with_name("written").write_text(str(os.getpid()))
            last.with_name("written").rename(last)
            os.kill(os.getpid(), signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            while not last.exists() or os.kill(int(last.read_text()), 0) is None:
                time.sleep(0.02)

        comm.allreduce(array, total, SUM)
        states, end = set(), time.monotonic() + 3
        while time.monotonic() < end:
            assert not stream.is_done()
            states.add(repr(comm.get_async_error()))
            time.sleep(0.02)
        print("not done after 3 s; get_async_error:", *states, flush=True)

        start = time.monotonic()
        comm.abort()
        print(f"abort took {time.monotonic() - start:.3f} s", flush=True)
        stream.synchronize()
        try:
            comm.allreduce(array, total, SUM)
        except RuntimeError as error:
            assert "the communicator was destroyed" in str(error)
        else:
            raise AssertionError("queued by a communicator that was aborted")
        assert set((array + 1).get()) == {rank + 1}
        comm = pycuda.nccl.init(1, 0, get_unique_id())
        comm.allreduce(array, total, SUM)
        assert set(total.get()) == {rank}
        comm.destroy()
    print("ended", flush=True)
"""


def left_in_memory(before, pids):
    """Files in /dev/shm of NCCL, and of these processes, that were not there before."""
    marks = "nccl", *(f".{pid:x}." for pid in pids), *map(str, pids)
    return [name for name in {*os.listdir("/dev/shm")} - before if any(mark in name for mark in marks)]


def test_a_killed_process(start_ranks):
    count = drv.Device.count()
    if count < 2:
        pytest.skip("one device")
    before = {*os.listdir("/dev/shm")}
    ranks = start_ranks(KILLED, count)
    *others, killed = ranks.wait(90)
    print(ranks.text())  # shown by pytest -rP
    assert killed == -signal.SIGKILL and {*others} == {0}, ranks.text()
    assert all("ended\n" in output.read_text() for output in ranks.outputs[:-1]), ranks.text()
    pids = [each.pid for each in ranks.processes]
    for _ in range(100):
        if not left_in_memory(before, pids):
            return
        time.sleep(0.05)
    assert left_in_memory(before, pids) == []
