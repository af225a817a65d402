"""NCCL on GPUArrays and the same calls from C (`nccl_raw.c`), a process for each GPU: the time of one of many
queued operations, and the host's time to queue one, with nccl4py's own on CuPy's arrays.

`collectives.py [RANKS]` starts the processes; all GPUs if RANKS is left out.
"""

import ctypes
import statistics
import subprocess
import sys
import time

from common import HERE, RESULTS, loaded_library, table

SIZES = [1 << 10, 1 << 15, 1 << 20, 1 << 23, 1 << 26, 1 << 28, 1 << 30]
OPERATIONS = ["all-reduce", "all-gather", "send/receive"]
ROUNDS = 7
FUNCTIONS = "ncclAllReduce", "ncclAllGather", "ncclSend", "ncclRecv", "ncclGroupStart", "ncclGroupEnd"


class Call(ctypes.Structure):
    _fields_ = [
        ("operation", ctypes.c_int), ("to", ctypes.c_int), ("source", ctypes.c_int),
        *((name, ctypes.c_void_p) for name in ("comm", "stream", "sent", "received")),
        ("count", ctypes.c_size_t),
    ]  # fmt: skip


def build():
    RESULTS.mkdir(exist_ok=True)
    library = RESULTS / "libnccl_raw.so"
    subprocess.run(["cc", "-O3", "-shared", "-fPIC", HERE / "nccl_raw.c", "-o", library], check=True)


def timed(call, count, synchronize):
    """(ns until `count` calls are queued, until they are done), each for one call."""
    synchronize()
    start = time.perf_counter_ns()
    for _ in range(count):
        call()
    queued = time.perf_counter_ns()
    synchronize()
    return (queued - start) / count, (time.perf_counter_ns() - start) / count


def python_call(comm, operation, sent, received, to, source, group):
    """The operation through a communicator of Python, as a function without arguments."""
    if operation == 0:
        return lambda: comm.allreduce(sent, received, 0)
    if operation == 1:
        return lambda: comm.allgather(sent, received)

    def exchange():
        with group():
            comm.send(sent, to)
            comm.recv(received, source)

    return exchange


def measure(ranks, rank, unique_id):
    """What one process measures: rows of the table, in the process with rank 0."""
    import nccl.core
    import numpy as np

    import pycuda.driver as drv
    import pycuda.gpuarray as gpuarray
    import pycuda.nccl

    drv.init()
    drv.Device(rank).retain_primary_context().push()
    comm = pycuda.nccl.init(ranks, rank, nccl.core.UniqueId.from_bytes(bytes.fromhex(unique_id)))
    raw = ctypes.CDLL(str(RESULTS / "libnccl_raw.so"))
    library, driver = loaded_library("libnccl.so"), ctypes.CDLL("libcuda.so.1")
    functions = (ctypes.c_void_p * len(FUNCTIONS))(
        *(ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in FUNCTIONS)
    )
    try:
        import cupy

        cupy.cuda.Device(rank).use()
    except ImportError:
        cupy = None
    to, source = (rank + 1) % ranks, (rank - 1) % ranks
    stream, rows = drv.Stream(), []
    barrier = gpuarray.zeros(1, np.float32)

    def from_c(call, count):
        queued, done = ctypes.c_double(), ctypes.c_double()
        error = raw.raw_nccl(
            functions, ctypes.byref(call), driver.cuStreamSynchronize, count, ctypes.byref(queued),
            ctypes.byref(done),
        )  # fmt: skip
        assert not error, error
        return queued.value, done.value

    with stream:
        for operation, name in enumerate(OPERATIONS):
            for size in SIZES:
                n = size // 4
                sent = gpuarray.zeros(n, np.float32)
                received = gpuarray.zeros(n * (ranks if operation == 1 else 1), np.float32)
                count = max(4, min(200, (1 << 31) // size))
                call = Call(operation, to, source, comm.ptr, stream.handle, sent.ptr, received.ptr, n)
                ours = python_call(comm, operation, sent, received, to, source, pycuda.nccl.group)
                ways = {
                    "C": lambda call=call, count=count: from_c(call, count),
                    "pycuda": lambda ours=ours, count=count: timed(ours, count, stream.synchronize),
                }
                if cupy and size == SIZES[0]:
                    with cupy.cuda.Stream.from_external(stream):
                        pair = cupy.zeros(n, "f4"), cupy.zeros(received.size, "f4")
                    stream.synchronize()
                    theirs = python_call(comm.comm, operation, *pair, to, source, nccl.core.group)
                    wait = drv.Context.synchronize
                    ways["CuPy"] = lambda theirs=theirs, count=count, wait=wait: timed(theirs, count, wait)
                times = {way: [] for way in ways}
                for number in range(ROUNDS + 1):
                    for way, run in ways.items():
                        comm.allreduce(barrier, barrier, 0)
                        stream.synchronize()
                        if number:
                            times[way].append(run())
                        else:
                            run()
                rows.append((name, size, times))
    comm.destroy()
    return rows


def middle(times, which):
    return statistics.median(each[which] for each in times) / 1000


def show(rows):
    lines, costs = [], []
    for name, size, times in rows:
        c, ours = middle(times["C"], 1), middle(times["pycuda"], 1)
        lines.append(
            [name, f"{size:,}", f"{c:.1f}", f"{ours:.1f}", f"{c / ours:.3f}", f"{size / ours / 1e3:.1f}"]
        )
        if "CuPy" in times:
            host = [middle(times[way], 0) for way in ("C", "CuPy", "pycuda")]
            costs.append([name, *(f"{each:.2f}" for each in host), f"{host[2] - host[1]:+.2f}"])
    header = ["operation", "bytes", "C", "pycuda.nccl", "C / pycuda.nccl", "GB/s"]
    table("NCCL: us of one operation", header, lines)
    if costs:
        header = ["operation", "C", "nccl4py with CuPy's arrays", "pycuda.nccl", "difference"]
        table("NCCL: host's us for one call of 1 KB", header, costs)


def main():
    if len(sys.argv) == 4:
        rows = measure(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
        if sys.argv[2] == "0":
            show(rows)
        return
    from nccl.core import get_unique_id

    import pycuda.driver as drv

    build()
    drv.init()
    ranks = int(sys.argv[1]) if len(sys.argv) == 2 else drv.Device.count()
    unique_id = bytes(get_unique_id()).hex()
    started = [
        subprocess.Popen([sys.executable, __file__, str(ranks), str(rank), unique_id])
        for rank in range(ranks)
    ]
    sys.exit(max(each.wait() for each in started))


if __name__ == "__main__":
    main()
