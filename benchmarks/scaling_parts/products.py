"""Strong and weak scaling of a product of square matrices: each GPU has a part of the rows of both, NCCL
gathers the second matrix on all, and each multiplies its rows. With the model's time, from the all-gather
that the same run measured.
"""

import statistics
import time

import numpy as np

from . import launching, model
from .setup import CannotRun, needs

SIDE, ROUNDS, REPEATS = 16384, 3, 3
CHECKED = 512


def matrices(side):
    """Two matrices of small integers, whose product float32 has exactly."""
    rows, columns = np.ogrid[:side, :side]
    return ((rows + 2 * columns) % 5).astype(np.float32), ((3 * rows + columns) % 7).astype(np.float32)


def ranks(rank, count, barrier, unique_id, tasks):
    """[{what: ns}] of tasks (rows of a GPU, side); the first product is compared with NumPy's."""
    import nccl.core

    import pycuda.driver as drv
    import pycuda.gpuarray as gpuarray
    import pycuda.nccl
    from pycuda import curandom

    drv.init()
    drv.Device(rank).retain_primary_context().push()
    comm = pycuda.nccl.init(count, rank, nccl.core.UniqueId.from_bytes(unique_id))

    def timed(call):
        spent = []
        for number in range(ROUNDS + 1):
            drv.Context.synchronize()
            barrier.wait()
            start = time.perf_counter_ns()
            for _ in range(REPEATS):
                call()
            drv.Context.synchronize()
            barrier.wait()
            if number:
                spent.append((time.perf_counter_ns() - start) / REPEATS)
        return statistics.median(spent)

    a, b = matrices(CHECKED)
    mine = slice(rank * CHECKED // count, (rank + 1) * CHECKED // count)
    if CHECKED % count == 0:
        whole = gpuarray.empty((CHECKED, CHECKED), np.float32)
        comm.allgather(gpuarray.to_gpu(b[mine]), whole)
        np.testing.assert_array_equal((gpuarray.to_gpu(a[mine]) @ whole).get(), a[mine] @ b)
    found = []
    for rows, side in tasks:
        mine, theirs = (curandom.rand((rows, side), np.float32) for _ in range(2))
        part, whole = theirs[: side // count], gpuarray.empty((side, side), np.float32)
        result = gpuarray.empty((rows, side), np.float32)

        def gather(part=part, whole=whole):
            comm.allgather(part, whole)

        def multiply(mine=mine, whole=whole, result=result):
            np.matmul(mine, whole, out=result)

        def both(gather=gather, multiply=multiply):
            gather()
            multiply()

        found.append({"both": timed(both), "product": timed(multiply), "gather": timed(gather)})
    comm.destroy()
    return found


def tasks_of(count):
    """(rows of a GPU, side) of strong and of weak scaling, in which the work of a GPU stays: n^3 / GPUs."""
    weak = int(SIDE * count ** (1 / 3)) // (64 * count) * 64 * count
    return [(SIDE // count, SIDE), (weak // count, weak)]


def run(setup):
    from pycuda import _driver

    needs("nccl")
    _driver.init()
    if _driver._is_cpu_device():
        raise CannotRun("NCCL needs NVIDIA's driver; the CPU device cannot run it")
    if setup.devices < 2:
        raise CannotRun("one device: nothing to scale to")
    from nccl.core import get_unique_id

    rows, one = [], None
    for count in [1, *setup.counts()]:
        if SIDE % count or setup.left() < 0:
            setup.note(f"{count} GPUs left out: {SIDE} rows are not divisible, or the time was over")
            continue
        tasks = tasks_of(count)[: 1 if count == 1 else 2]
        found = launching.spawn(
            ranks, count, bytes(get_unique_id()), tasks, seconds=max(setup.left(), 1) + 60
        )[0]
        one = found[0]["product"] if count == 1 else one
        links = setup.earlier.get("collectives", {}).get(str(count), {}).get("links", {})
        link = links.get("all-gather")
        for name, (_, side), times in zip(("strong", "weak"), tasks, found, strict=False):
            # What one GPU takes for a product of this side: the work is its cube.
            whole = one * (side / SIDE) ** 3
            cells = [
                name,
                count,
                side,
                *(f"{times[each] / 1e6:.2f}" for each in ("both", "product", "gather")),
            ]
            cells += [f"{2 * side**3 / times['both'] / 1e3:.1f}"]
            cells += [f"{model.efficiency(whole, times['both'], count):.3f}"]
            if count > 1 and link:
                expected = model.product(whole, link, count, side)
                cells += [f"{expected / 1e6:.2f}", f"{model.efficiency(whole, expected, count):.3f}"]
            else:
                cells += ["-", "-"]
            rows.append(cells)
            setup.data.setdefault("found", []).append([name, count, side, times, whole])
    header = ["scaling", "GPUs", "side", "ms", "product alone", "gather alone", "TFLOP/s", "efficiency"]
    header += ["model, ms", "model's efficiency"]
    setup.table("Product of float32 matrices, gathered by NCCL", header, rows)
