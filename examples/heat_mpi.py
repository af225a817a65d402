"""Heat spreads over a plate that is cut into strips, one for each MPI process, which computes it on a GPU of
its own and exchanges one row with the processes above and below at every step. Runs without mpiexec, too.
"""

import numpy as np

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

try:
    from mpi4py import MPI

    import pycuda.mpi
except (ImportError, RuntimeError):  # no mpi4py, or no MPI library: one process
    MPI = None

SIZE, STEPS, RATE = 96, 60, 0.24

if MPI:
    pycuda.mpi.local_device(MPI.COMM_WORLD).retain_primary_context().push()
    comm = pycuda.mpi.communicator(MPI.COMM_WORLD)
    rank, processes = comm.rank, comm.size
    above, below = (r if 0 <= r < processes else MPI.PROC_NULL for r in (rank - 1, rank + 1))
else:
    drv.init()
    drv.Device(0).retain_primary_context().push()
    rank, processes = 0, 1

step = SourceModule("""
__global__ void step(const double *from, double *to, int rows, int columns, double rate)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int i = y * columns + x;
    if (x < 1 || y < 1 || x >= columns - 1 || y >= rows - 1) return;  // edges, and rows of other strips
    double around = from[i - 1] + from[i + 1] + from[i - columns] + from[i + columns];
    to[i] = from[i] + rate * (around - 4 * from[i]);
}
""").get_function("step")
step.prepare("PPiid")


def exchange(strip):
    """Rows of the strips above and below go to the first and the last row of the strip."""
    comm.Sendrecv(strip[1], above, 0, strip[-1], below, 0)
    comm.Sendrecv(strip[-2], below, 0, strip[0], above, 0)


def run(plate, steps):
    """The temperatures after so many steps; None in all processes but the first."""
    inner = np.array_split(np.arange(1, SIZE - 1), processes)
    mine = inner[rank]
    here = gpuarray.to_gpu(plate[mine[0] - 1 : mine[-1] + 2])  # with one row more at both ends
    there = here.copy()
    rows, columns = here.shape
    for _ in range(steps):
        step.prepared_call(
            (-(-columns // 32), -(-rows // 8)), (32, 8, 1), here.gpudata, there.gpudata, rows, columns, RATE
        )
        here, there = there, here
        if processes > 1:
            exchange(here)
    if processes == 1:
        return here.get()
    whole = gpuarray.to_gpu(plate) if rank == 0 else None
    counts = [len(part) * columns for part in inner]
    comm.Gatherv(here[1:-1], [whole[1:-1], counts] if rank == 0 else None, root=0)
    return whole.get() if rank == 0 else None


def numpy_run(plate, steps):
    """The same with NumPy."""
    here = plate.copy()
    for _ in range(steps):
        inner = here[1:-1, 1:-1]
        around = here[1:-1, :-2] + here[1:-1, 2:] + here[:-2, 1:-1] + here[2:, 1:-1]
        here[1:-1, 1:-1] = inner + RATE * (around - 4 * inner)
    return here


plate = np.zeros((SIZE, SIZE))
plate[0], plate[SIZE // 3 : SIZE // 2, SIZE // 4 : SIZE // 3] = 1, 4
result = run(plate, STEPS)
if rank == 0:
    error = np.abs(result - numpy_run(plate, STEPS)).max()
    print(f"processes: {processes}, difference from NumPy after {STEPS} steps: {error:.0e}")
    assert error < 1e-12
