"""mpi4py's messages of GPUArrays, by `pycuda.mpi.communicator`: directly where the MPI library accesses their
memory, else staged. For comparison the same through page-locked memory that is allocated once, by the
driver's calls alone, and arrays of NumPy, which is what the MPI library itself takes. Sizes are
those of what a process receives.
"""

import time

import numpy as np

from . import launching
from .setup import in_turn, power

SIZES = [1 << 10, 1 << 15, 1 << 20, 1 << 24, 1 << 28, 1 << 30]
SMALL = [1 << 10, 1 << 16]
OPERATIONS = ["send/recv", "all-reduce", "all-gather"]
ROUNDS, ROUNDS_OF_LARGE = 5, 3
LARGE = 1 << 28


def transfer(comm, name, pair):
    """The operation for (sent, received), as a function without arguments: rank n to n + 1, a sum, or all
    parts for all."""
    sent, received = pair
    if name == "all-reduce":
        return lambda: comm.Allreduce(sent, received)
    if name == "all-gather":
        return lambda: comm.Allgather(sent, received)
    to, source = (comm.Get_rank() + 1) % comm.Get_size(), (comm.Get_rank() - 1) % comm.Get_size()
    return lambda: comm.Sendrecv(sent, to, 0, received, source, 0)


def through_pinned(comm, drv, name, pair):
    """The operation through page-locked memory."""
    host = [drv.pagelocked_empty(each.shape, each.dtype) for each in pair]
    send = transfer(comm, name, host)

    def run():
        drv.memcpy_dtoh(host[0], pair[0].gpudata)
        send()
        drv.memcpy_htod(pair[1].gpudata, host[1])

    return run


def operands(world, name, count):
    """(what this process sends, what it receives): `count` elements arrive."""
    length = count // world.size if name == "all-gather" else count
    numbers = np.arange(length, dtype=np.float32) % 17
    if name == "all-gather":
        return numbers + world.rank, np.concatenate([numbers + rank for rank in range(world.size)])
    if name == "all-reduce":
        return numbers + world.rank, numbers * world.size + sum(range(world.size))
    return numbers + world.rank, numbers + (world.rank - 1) % world.size


def ranks(world, small, end):
    """What a process measures: [(operation, size, {way: (ns, ns)})]"""
    import pycuda.driver as drv
    import pycuda.gpuarray as gpuarray
    import pycuda.mpi

    pycuda.mpi.local_device(world).retain_primary_context().push()
    comm, found = pycuda.mpi.communicator(world), []
    for size in SMALL if small else SIZES:
        for name in OPERATIONS:
            if world.allreduce(time.time() > end):
                continue
            numbers, wanted = operands(world, name, size // 4)
            pair = gpuarray.to_gpu(numbers), gpuarray.empty(wanted.shape, wanted.dtype)
            repeats = max(1, min(100, (1 << 27) // size)) if not small else 3
            ways = {
                "pycuda": transfer(comm, name, pair),
                "pinned": through_pinned(world, drv, name, pair),
                "NumPy": transfer(world, name, (numbers, np.empty_like(wanted))),
            }
            for way in ("pycuda", "pinned"):
                pair[1].fill(0)
                ways[way]()
                np.testing.assert_array_equal(pair[1].get(), wanted)

            def measure(call, repeats=repeats):
                world.Barrier()
                start = time.perf_counter_ns()
                for _ in range(repeats):
                    call()
                drv.Context.synchronize()
                spent = (time.perf_counter_ns() - start) / repeats
                return spent, spent

            timers = {way: lambda call=call: measure(call) for way, call in ways.items()}
            rounds = ROUNDS if size < LARGE else ROUNDS_OF_LARGE
            found.append((name, size, in_turn(timers, 1 if small else rounds)))
    aware = pycuda.mpi.is_cuda_aware()
    return {"found": found, "aware": aware, "staged": comm is not world}


def run(setup):
    rows = []
    counts = [2] if setup.small else setup.counts()
    if setup.devices == 1:
        setup.note("one device: two processes share it")
        counts = [2]
    for number, count in enumerate(counts):
        end = time.time() + setup.left() / (len(counts) - number)
        measured = launching.mpi(ranks, count, setup.small, end, seconds=max(setup.left(), 1) + 60)
        way = "pycuda, staged" if measured["staged"] else "pycuda, directly"
        for name in OPERATIONS:
            for _, size, times in (each for each in measured["found"] if each[0] == name):
                ours, pinned, numpy = (times[each][1] for each in ("pycuda", "pinned", "NumPy"))
                rows.append(
                    [name, count, power(size), way, f"{ours / 1e3:.1f}", f"{pinned / 1e3:.1f}",
                     f"{numpy / 1e3:.1f}", f"{pinned / ours:.3f}", f"{size / ours:.2f}"]
                )  # fmt: skip
        of_one = [
            (size, times["pycuda"][1]) for name, size, times in measured["found"] if name == "send/recv"
        ]
        if of_one:
            measured["links"] = {"send/recv": [of_one[0][1], of_one[-1][0] / of_one[-1][1]]}
        setup.data[str(count)] = measured
    header = ["operation", "processes", "size", "way", "pycuda, us", "pinned memory, us", "NumPy, us"]
    header += ["pinned / pycuda", "GB/s"]
    setup.table("MPI: one operation", header, rows)
