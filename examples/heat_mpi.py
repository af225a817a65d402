"""Heat spreads over a plate that is cut into strips, each of them on a GPU of its own. At every step the rows
at the strips' edges are computed first and exchanged while the others are computed. How it is started says
on how many devices it runs:

    python heat_mpi.py                            one process, one device
    python heat_mpi.py --by threads               one process, a thread for each device
    mpiexec -n 4 python heat_mpi.py               four processes, each with a device
    mpiexec -n 4 python heat_mpi.py --by nccl     edges are exchanged by NCCL
    mpiexec -n 4 python heat_mpi.py --by staged   by MPI through host memory, whatever the MPI library can
"""

import argparse
import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import numpy as np

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

RATE = 0.24
SOURCE = """
__global__ void step(const double *from, double *to, const double *above, const double *below, double *top,
                     double *bottom, int rows, int columns, int first, int stride, int count, double rate)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    int y = first + row * stride, i = y * columns + x;
    if (x < 1 || x >= columns - 1 || row >= count) return;
    double up = y > 0 ? from[i - columns] : above[x], down = y < rows - 1 ? from[i + columns] : below[x];
    double now = from[i] + rate * (up + down + from[i - 1] + from[i + 1] - 4 * from[i]);
    to[i] = now;
    if (y == 0) top[x] = now;
    if (y == rows - 1) bottom[x] = now;
}
"""


class Strip:
    """The rows of one device, `here`, with the row above them and the row below, `halo`. A step leaves its
    first and its last row in `sent` as well, by turns in two places, for the strips that have them as halo.
    """

    def __init__(self, rows, above, below):
        self.here, self.there, self.halo = rows, rows.copy(), (above, below)
        self.inner, self.edges = drv.Stream(), drv.Stream(priority=-1)  # edges come first
        columns = rows.shape[1]
        self.places = [[gpuarray.zeros(columns, float) for _ in range(2)] for _ in range(2)]
        self.edges_done, self.inner_done, self.turn = [drv.Event(), drv.Event()], drv.Event(), 0
        self.sent, self.context = self.places[0], drv.Context.get_current()
        self.kernel = SourceModule(SOURCE).get_function("step").prepare("PPPPPPiiiiid")

    def launch(self, stream, first, stride, count):
        """Computes `count` rows from `first` on, `stride` apart."""
        rows, columns = self.here.shape
        arrays = self.here, self.there, *self.halo, *self.sent
        grid, pointers = (-(-columns // 32), -(-count // 8)), (a.gpudata for a in arrays)
        numbers = rows, columns, first, stride, count, RATE
        self.kernel.prepared_async_call(grid, (32, 8, 1), stream, *pointers, *numbers)

    def step(self, exchange=None):
        """Queues a step. exchange: sends what is in `sent` and receives `halo`, on the stream `edges`."""
        rows = len(self.here)
        self.edges.wait_for_event(self.inner_done)
        self.inner.wait_for_event(self.edges_done[self.turn])
        self.turn ^= 1
        self.sent = self.places[self.turn]
        self.launch(self.edges, 0, rows - 1, min(rows, 2))
        self.edges_done[self.turn].record(self.edges)
        if rows > 2:
            self.launch(self.inner, 1, 1, rows - 2)
        self.inner_done.record(self.inner)
        if exchange:
            exchange(self)
        self.here, self.there = self.there, self.here


def by_mpi(comm):
    """The exchange by mpi4py's communicator, or a staged one, in the order of its ranks."""
    from mpi4py import MPI

    above, below = (r if 0 <= r < comm.size else MPI.PROC_NULL for r in (comm.rank - 1, comm.rank + 1))

    def exchange(strip):
        with strip.edges:
            comm.Sendrecv(strip.sent[0], above, 0, strip.halo[1], below, 0)
            comm.Sendrecv(strip.sent[1], below, 0, strip.halo[0], above, 0)

    return exchange


def by_nccl(comm):
    """The exchange by a communicator of pycuda.nccl: queued, no process waits."""
    import pycuda.nccl

    neighbors = [(side, comm.rank + side * 2 - 1) for side in (0, 1)]

    def exchange(strip):
        with strip.edges, pycuda.nccl.group():
            for side, peer in neighbors:
                if 0 <= peer < comm.nranks:
                    comm.send(strip.sent[side], peer)
                    comm.recv(strip.halo[side], peer)

    return exchange


def by_copies(strips, rank, queued):
    """The exchange between threads: each copies from the devices of its neighbors, once these have queued
    their edges. strips: of all ranks. queued: two queues for each rank, one for each neighbor.
    """
    neighbors = [(side, rank + side * 2 - 1) for side in (0, 1)]
    neighbors = [(side, peer) for side, peer in neighbors if 0 <= peer < len(strips)]

    def exchange(strip):
        for side, peer in neighbors:
            queued[peer][1 - side].put(True)
        for side, peer in neighbors:
            if not queued[rank][side].get():
                raise RuntimeError("another thread failed")
            other, halo = strips[peer], strip.halo[side]
            strip.edges.wait_for_event(other.edges_done[strip.turn])
            pair = halo.gpudata, other.places[strip.turn][1 - side].gpudata
            drv.memcpy_peer_async(*pair, halo.nbytes, strip.context, other.context, strip.edges)

    return exchange


def fail(queued, barrier):
    """Ends the threads that wait for one that failed."""
    barrier.abort()
    for each in (each for pair in queued for each in pair):
        each.put(False)


def strip_of(plate, rank, count):
    """The strip of a rank, on the current device. What is above and below the plate's inner rows stays."""
    rows = np.array_split(np.arange(1, len(plate) - 1), count)[rank]
    return Strip(*map(gpuarray.to_gpu, (plate[rows], plate[rows[0] - 1], plate[rows[-1] + 1])))


def in_threads(plate, steps, count):
    """The inner rows after so many steps, as a list of the strips of `count` devices."""
    contexts = [drv.Device(n).retain_primary_context() for n in range(count)]
    strips, barrier = [None] * count, threading.Barrier(count)
    queued = [(SimpleQueue(), SimpleQueue()) for _ in range(count)]

    def work(rank):
        try:
            with contexts[rank]:
                for each in (rank - 1, rank + 1):  # copies then go directly, where devices can do that
                    if 0 <= each < count and drv.Device(rank).can_access_peer(drv.Device(each)):
                        contexts[rank].enable_peer_access(contexts[each])
                strips[rank] = strip_of(plate, rank, count)
                barrier.wait()
                exchange = by_copies(strips, rank, queued)
                for _ in range(steps):
                    strips[rank].step(exchange)
                drv.Context.synchronize()
                return strips[rank].here.get()
        except BaseException:
            fail(queued, barrier)
            raise

    with ThreadPoolExecutor(count) as threads:
        return [*threads.map(work, range(count))]


def in_processes(plate, steps, world, by):
    """The same of the processes of mpi4py's communicator `world`, each with a device; None in all processes
    but the first. Without `world` there is one process.
    """
    rank, count, device = 0, 1, drv.Device(0)
    if world:
        import pycuda.mpi

        rank, count, device = world.rank, world.size, pycuda.mpi.local_device(world)
    with device.retain_primary_context(), communicating(world, count, by) as exchange:
        strip = strip_of(plate, rank, count)
        for _ in range(steps):
            strip.step(exchange)
        drv.Context.synchronize()
        rows = strip.here.get()
    return world.gather(rows) if world else [rows]


@contextlib.contextmanager
def communicating(world, count, by):
    """The exchange of this process with those above and below, by "mpi", "staged" or "nccl"."""
    if count == 1:
        yield None
        return
    import pycuda.mpi

    if by != "nccl":
        yield by_mpi(pycuda.mpi.staged(world) if by == "staged" else pycuda.mpi.communicator(world))
        return
    import nccl.core

    import pycuda.nccl

    unique_id = world.bcast(nccl.core.get_unique_id() if world.rank == 0 else None)
    comm = pycuda.nccl.init(count, world.rank, unique_id)
    yield by_nccl(comm)
    comm.destroy()


def numpy_run(plate, steps):
    """The plate after so many steps, by NumPy."""
    here = plate.copy()
    for _ in range(steps):
        inner = here[1:-1, 1:-1]
        around = here[1:-1, :-2] + here[1:-1, 2:] + here[:-2, 1:-1] + here[2:, 1:-1]
        here[1:-1, 1:-1] = inner + RATE * (around - 4 * inner)
    return here


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--by", choices=["mpi", "staged", "nccl", "threads"], default="mpi")
    parser.add_argument("--size", type=int, default=96)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_known_args()[0]
    plate = np.zeros((options.size, options.size))
    plate[0], plate[options.size // 3 : options.size // 2, options.size // 4 : options.size // 3] = 1, 4
    drv.init()
    if options.by == "threads":
        strips = in_threads(plate, options.steps, drv.Device.count())
    else:
        try:
            from mpi4py.MPI import COMM_WORLD as world
        except (ImportError, RuntimeError):  # no mpi4py, or no MPI library
            world = None
        strips = in_processes(plate, options.steps, world, options.by)
    if strips:
        error = np.abs(np.concatenate(strips) - numpy_run(plate, options.steps)[1:-1]).max()
        print(f"strips: {len(strips)}, difference from NumPy after {options.steps} steps: {error:.0e}")
        assert error < 1e-12


if __name__ == "__main__":
    main()
