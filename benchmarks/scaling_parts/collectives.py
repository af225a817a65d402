"""NCCL's operations on GPUArrays (pycuda.nccl), and the same from C (`nccl_raw.c`) on the same communicator,
stream and memory; the host's time to queue one, with nccl4py's own on CuPy's arrays. Also on one GPU.
"""

import ctypes
import time

import numpy as np
from common import loaded_library

from . import launching
from .setup import CannotRun, build, driver_function, has, in_turn, needs, power, timed

SIZES = [1 << 10, 1 << 15, 1 << 20, 1 << 23, 1 << 26, 1 << 28, 1 << 30, 1 << 32]
ROUNDS = 5
FUNCTIONS = (
    "ncclAllReduce", "ncclAllGather", "ncclReduceScatter", "ncclAlltoAll", "ncclSend", "ncclRecv",
    "ncclGroupStart", "ncclGroupEnd",
)  # fmt: skip
# In the order of nccl_raw.c. The size of an operation is that of its larger array.
OPERATIONS = ["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send/recv"]
# Whether what is sent, what is received, and what NCCL counts is a part of that for each rank.
IS_PART = {
    "all-reduce": (False, False, False),
    "all-gather": (True, False, True),
    "reduce-scatter": (False, True, True),
    "all-to-all": (False, False, True),
    "send/recv": (False, False, False),
}


def bus_factor(name, ranks):
    """What each link carries, as a multiple of the size: nccl-tests' factors, by which rates of different
    numbers of GPUs can be compared.
    """
    if name == "send/recv" or ranks == 1:
        return 1
    return (2 if name == "all-reduce" else 1) * (ranks - 1) / ranks


class Call(ctypes.Structure):
    _fields_ = [
        ("operation", ctypes.c_int), ("to", ctypes.c_int), ("source", ctypes.c_int),
        *((name, ctypes.c_void_p) for name in ("comm", "stream", "sent", "received")),
        ("count", ctypes.c_size_t),
    ]  # fmt: skip


def python_call(comm, name, sent, received, neighbors, group):
    """The operation through a communicator of Python, as a function without arguments."""
    if name == "all-reduce":
        return lambda: comm.allreduce(sent, received, 0)
    if name == "all-gather":
        return lambda: comm.allgather(sent, received)
    if name == "reduce-scatter":
        return lambda: comm.reduce_scatter(sent, received, 0)
    if name == "all-to-all":
        return lambda: comm.alltoall(sent, received)

    def exchange():
        with group():
            comm.send(sent, neighbors[0])
            comm.recv(received, neighbors[1])

    return exchange


CHECKED = 1 << 20  # bytes up to which results are compared with NumPy's: larger arrays are zeros


def values(rank, count):
    """What a rank sends: small integers."""
    return ((np.arange(count) + 3 * rank) % 17).astype(np.float32)


def expected(name, rank, ranks, count, source):
    """What a rank receives when each sends `count` elements of values()."""
    every = [values(each, count) for each in range(ranks)]
    if name == "all-gather":
        return np.concatenate(every)
    if name == "send/recv":
        return every[source]
    parts = [np.array_split(each, ranks)[rank] for each in every]
    if name == "all-to-all":
        return np.concatenate(parts)
    return sum(every) if name == "all-reduce" else sum(parts)


class Rank:
    """What a rank measures with: its communicator, its stream, NCCL's functions for C."""

    def __init__(self, rank, ranks, unique_id, library):
        import nccl.core

        import pycuda.driver as drv
        import pycuda.gpuarray as gpuarray
        import pycuda.nccl

        drv.init()
        drv.Device(rank).retain_primary_context().push()
        self.rank, self.ranks, self.gpuarray, self.drv = rank, ranks, gpuarray, drv
        self.group, self.their_group = pycuda.nccl.group, nccl.core.group
        self.comm = pycuda.nccl.init(ranks, rank, nccl.core.UniqueId.from_bytes(unique_id))
        self.neighbors = (rank + 1) % ranks, (rank - 1) % ranks
        self.stream, self.raw = drv.Stream(), ctypes.CDLL(library)
        nccl_library = loaded_library("libnccl.so")
        addresses = (getattr(nccl_library, each, None) for each in FUNCTIONS)
        self.functions = (ctypes.c_void_p * len(FUNCTIONS))(
            *(ctypes.cast(each, ctypes.c_void_p).value if each else None for each in addresses)
        )
        self.synchronize = driver_function("cuStreamSynchronize")
        self.word = gpuarray.zeros(1, np.float32)
        self.cupy = None
        if has("cupy"):
            import cupy

            cupy.cuda.Device(rank).use()
            self.cupy = cupy

    def has_function(self, name):
        return bool(self.functions[FUNCTIONS.index(name)])

    def agree(self, value):
        """The largest of the values of all ranks."""
        self.word.fill(value)
        self.comm.allreduce(self.word, self.word, 2)  # ncclMax
        return float(self.word.get()[0])

    def from_c(self, call, count):
        queued, done = ctypes.c_double(), ctypes.c_double()
        error = self.raw.raw_nccl(
            self.functions, ctypes.byref(call), self.synchronize, count, ctypes.byref(queued),
            ctypes.byref(done),
        )  # fmt: skip
        assert not error, f"NCCL's or the driver's error {error} in C"
        return queued.value, done.value

    def together(self, run):
        """`run`, once all ranks are there."""

        def measure():
            self.agree(0)
            return run()

        return measure

    def measure(self, name, size):
        """{way: (ns queued, ns done)} of an operation."""
        total = max(size // 4 // self.ranks, 1) * self.ranks
        counts = [total // self.ranks if part else total for part in IS_PART[name]]
        sent = self.gpuarray.zeros(counts[0], np.float32)
        received = self.gpuarray.zeros(counts[1], np.float32)
        repeats = max(2, min(200, (1 << 31) // size))
        ours = python_call(self.comm, name, sent, received, self.neighbors, self.group)
        if size <= CHECKED:
            sent.set(values(self.rank, counts[0]))
            ours()
            wanted = expected(name, self.rank, self.ranks, counts[0], self.neighbors[1])
            np.testing.assert_array_equal(received.get(), wanted)
        call = Call(
            OPERATIONS.index(name), *self.neighbors, self.comm.ptr, self.stream.handle, sent.ptr,
            received.ptr, counts[2],
        )  # fmt: skip
        ways = {
            "C": lambda: self.from_c(call, repeats),
            "pycuda": lambda: timed(ours, repeats, self.stream.synchronize),
        }
        if self.cupy and size == SIZES[0]:
            theirs = self.with_cupy(name, counts)
            ways["CuPy"] = lambda: timed(theirs, repeats, self.drv.Context.synchronize)
        return in_turn({way: self.together(run) for way, run in ways.items()}, ROUNDS)

    def with_cupy(self, name, counts):
        """The operation by nccl4py, with CuPy's arrays."""
        pair = [self.cupy.zeros(count, "f4") for count in counts[:2]]
        self.cupy.cuda.Device().synchronize()
        return python_call(self.comm.comm, name, *pair, self.neighbors, self.their_group)


def ranks(rank, count, barrier, unique_id, library, largest, end):
    """What a process measures: [(operation, size, {way: times})]; in the same order in all."""
    here, found = Rank(rank, count, unique_id, library), []
    with here.stream:
        for size in (each for each in SIZES if each <= largest):
            for name in OPERATIONS:
                if name == "all-to-all" and not here.has_function("ncclAlltoAll"):
                    continue
                if here.agree(time.time() > end):
                    break
                found.append((name, size, here.measure(name, size)))
    here.comm.destroy()
    return found


def rows_of(found, count):
    """(rows of the table, rows of the host's costs) of what rank 0 measured."""
    rows, costs = [], []
    for name in OPERATIONS:
        for _, size, times in (each for each in found if each[0] == name):
            (c_host, c), (host, ours) = times["C"], times["pycuda"]
            rate = size / ours
            rows.append(
                [name, count, power(size), f"{c / 1e3:.1f}", f"{ours / 1e3:.1f}", f"{c / ours:.3f}",
                 f"{rate:.2f}", f"{rate * bus_factor(name, count):.2f}"]
            )  # fmt: skip
            if size == SIZES[0]:
                peer = f"{times['CuPy'][0] / 1e3:.2f}" if "CuPy" in times else "-"
                costs.append([name, count, f"{c_host / 1e3:.2f}", peer, f"{host / 1e3:.2f}"])
    return rows, costs


def links(found, count):
    """{operation: [ns of the smallest, bytes/ns that each link carries in the largest]}, for the model."""
    result = {}
    for name in OPERATIONS:
        mine = [(size, times["pycuda"][1]) for each, size, times in found if each == name]
        if mine:
            result[name] = [mine[0][1], mine[-1][0] / mine[-1][1] * bus_factor(name, count)]
    return result


def run(setup):
    import pycuda.driver as drv
    from pycuda import _driver

    needs("nccl")
    drv.init()
    if _driver._is_cpu_device():
        raise CannotRun("NCCL needs NVIDIA's driver; the CPU device cannot run it")
    from nccl.core import get_unique_id

    library = str(build("nccl_raw"))
    largest = drv.Device(0).total_memory() // 8
    rows, costs, counts = [], [], setup.counts() or [1]
    for number, count in enumerate(counts):
        end = time.time() + setup.left() / (len(counts) - number)
        found = launching.spawn(
            ranks, count, bytes(get_unique_id()), library, largest, end, seconds=max(setup.left(), 1) + 60
        )[0]
        more = rows_of(found, count)
        rows += more[0]
        costs += more[1]
        setup.data[str(count)] = {"found": found, "links": links(found, count)}
        setup.write()
        if len(found) < len(OPERATIONS) * sum(size <= largest for size in SIZES):
            setup.note(f"of {count} GPUs not all sizes or operations were measured")
    header = ["operation", "GPUs", "size", "C, us", "pycuda.nccl, us", "C / pycuda.nccl", "GB/s", "bus GB/s"]
    setup.table("NCCL: one of many queued operations", header, rows)
    header = ["operation", "GPUs", "C", "nccl4py, CuPy's arrays", "pycuda.nccl"]
    setup.table("NCCL: the host's us to queue one of 1 KiB", header, costs)
