"""Communicators of several threads and of several processes."""

import threading

import numpy as np
import pytest

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
import pycuda.nccl

SUM = 0  # ncclRedOp_t


@pytest.fixture(scope="module")
def nccl():
    return pytest.importorskip("nccl.core")


def test_a_thread_for_each_device(nccl):
    count, unique_id = drv.Device.count(), nccl.get_unique_id()
    found, wrong = {}, []

    def work(rank):
        try:
            with drv.Device(rank).retain_primary_context(), drv.Stream():
                comm = pycuda.nccl.init(count, rank, unique_id)
                total = gpuarray.empty(1 << 20, np.float32)
                for _ in range(20):
                    comm.allreduce(gpuarray.zeros(1 << 20, np.float32) + (rank + 1), total, SUM)
                found[rank] = {*total.get()}
                comm.destroy()
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert not wrong
    assert found == {rank: {count * (count + 1) / 2} for rank in range(count)}


PROGRAM = """
import sys
import numpy as np
import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
import pycuda.nccl
from nccl.core import SUM, UniqueId

count, rank = map(int, sys.argv[1:3])
drv.init()
with drv.Device(rank).retain_primary_context():
    comm = pycuda.nccl.init(count, rank, UniqueId.from_bytes(bytes.fromhex(sys.argv[3])))
    total = gpuarray.empty(1000, float)
    comm.allreduce(gpuarray.zeros(1000, float) + rank, total, SUM)
    assert set(total.get()) == {sum(range(count))}
    comm.destroy()
    print("done")
"""


def test_a_process_for_each_device(start_ranks):
    ranks = start_ranks(PROGRAM, drv.Device.count())
    assert {*ranks.wait(90)} == {0}, ranks.text()
    assert all("done\n" in output.read_text() for output in ranks.outputs), ranks.text()
