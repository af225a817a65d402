"""Strong and weak scaling of the heat equation (`examples/heat_mpi.py`): processes that exchange by NCCL or
MPI, and one process with a thread a device. Of a step: the whole, the kernels alone, the exchange alone, and
what of the exchange the kernels do not hide; with the model's time, from the links of the same run.
"""

import functools
import importlib.util
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import numpy as np
from common import HERE

from . import launching, model
from .setup import CannotRun, has, in_turn

SIDES, STEPS, ROUNDS = (16384, 4096), 40, 5
SMALL_SIDES, SMALL_STEPS = (96,), 4
HOST_SIDE = 64  # of a plate whose step is the host's time
CHECKED = 96, 20  # side and steps of the run that is compared with NumPy's


@functools.cache
def example():
    """The module examples/heat_mpi.py."""
    path = HERE.parent / "examples" / "heat_mpi.py"
    spec = importlib.util.spec_from_file_location("heat_mpi", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plate(side):
    whole = np.zeros((side, side))
    whole[0], whole[side // 3 : side // 2, side // 4 : side // 3] = 1, 4
    return whole


class Timing:
    """A strip of zeros on the current device, and how long its steps take."""

    def __init__(self, rows, columns):
        import pycuda.driver as drv
        import pycuda.gpuarray as gpuarray

        self._drv = drv
        edges = (gpuarray.zeros(columns, float) for _ in range(2))
        self.strip = example().Strip(gpuarray.zeros((rows, columns), float), *edges)
        drv.Context.synchronize()

    def _once(self, call, barrier, steps):
        """(ns until the steps are queued, until all ranks have done them), of one step."""
        self._drv.Context.synchronize()
        barrier()
        start = time.perf_counter_ns()
        for _ in range(steps):
            call()
        queued = time.perf_counter_ns()
        self._drv.Context.synchronize()
        barrier()
        return (queued - start) / steps, (time.perf_counter_ns() - start) / steps

    def measure(self, exchange, barrier, steps, rounds):
        """{what: (ns, ns)} of _once(), medians: the step, its kernels alone, its exchange alone."""
        strip = self.strip
        ways = {"step": lambda: strip.step(exchange), "kernels": strip.step}
        if exchange:
            ways["exchange"] = lambda: exchange(strip)
        return in_turn(
            {what: lambda call=call: self._once(call, barrier, steps) for what, call in ways.items()}, rounds
        )


def strip_rows(side, count, weak):
    """The rows of each strip."""
    return side if weak else -(-side // count)


def measure_all(tasks, count, exchange, barrier):
    """[times of each task]; a task is (side, whether weak, steps, rounds)."""
    found = []
    for side, weak, steps, rounds in tasks:
        found.append(Timing(strip_rows(side, count, weak), side).measure(exchange, barrier, steps, rounds))
    return found


def alone(tasks):
    """The tasks on one device, in this process."""
    import pycuda.driver as drv

    with drv.Device(0).retain_primary_context():
        return measure_all(tasks, 1, None, lambda: None)


def compare(strips):
    """The check of all ways to run: the strips of the run of CHECKED, with NumPy's."""
    side, steps = CHECKED
    whole = example().numpy_run(plate(side), steps)[1:-1]
    np.testing.assert_allclose(np.concatenate(strips), whole, rtol=0, atol=1e-12)


def with_threads(tasks, count, seconds):
    """The tasks by threads of this process, a device each, which wait for each other so long at most."""
    import pycuda.driver as drv

    side, steps = CHECKED
    compare(example().in_threads(plate(side), steps, count))
    contexts = [drv.Device(n).retain_primary_context() for n in range(count)]
    strips, barrier = [None] * count, threading.Barrier(count, timeout=seconds)
    queued = [(SimpleQueue(), SimpleQueue()) for _ in range(count)]

    def work(rank):
        found = []
        try:
            with contexts[rank]:
                for side, weak, steps, rounds in tasks:
                    timing = Timing(strip_rows(side, count, weak), side)
                    strips[rank] = timing.strip
                    barrier.wait()
                    exchange = example().by_copies(strips, rank, queued)
                    found.append(timing.measure(exchange, barrier.wait, steps, rounds))
                return found
        except BaseException:
            example().fail(queued, barrier)
            raise

    with ThreadPoolExecutor(count) as pool:
        found = [*pool.map(work, range(count))]
    return found[0]


def nccl_rank(rank, count, barrier, unique_id, tasks):
    """The tasks in a process that exchanges by NCCL: (rows of the checked run, times)."""
    import nccl.core

    import pycuda.driver as drv
    import pycuda.nccl

    drv.init()
    heat, (side, steps) = example(), CHECKED
    with drv.Device(rank).retain_primary_context():
        comm = pycuda.nccl.init(count, rank, nccl.core.UniqueId.from_bytes(unique_id))
        exchange, strip = heat.by_nccl(comm), heat.strip_of(plate(side), rank, count)
        for _ in range(steps):
            strip.step(exchange)
        drv.Context.synchronize()
        rows, found = strip.here.get(), measure_all(tasks, count, exchange, barrier.wait)
        comm.destroy()
    return rows, found


def with_nccl(tasks, count, seconds):
    """The tasks in processes that multiprocessing starts."""
    from nccl.core import get_unique_id

    results = launching.spawn(nccl_rank, count, bytes(get_unique_id()), tasks, seconds=seconds)
    compare([rows for rows, _ in results])
    return results[0][1]


def mpi_rank(world, tasks):
    """The tasks in a process of mpiexec."""
    import pycuda.driver as drv
    import pycuda.mpi

    drv.init()
    heat, (side, steps) = example(), CHECKED
    strips = heat.in_processes(plate(side), steps, world, "mpi")
    if strips:
        compare(strips)
    with pycuda.mpi.local_device(world).retain_primary_context():
        exchange = heat.by_mpi(pycuda.mpi.communicator(world))
        return measure_all(tasks, world.size, exchange, world.Barrier)


def with_mpi(tasks, count, seconds):
    return launching.mpi(mpi_rank, count, tasks, seconds=seconds)


WAYS = {"threads, copies": with_threads, "processes, NCCL": with_nccl, "processes, MPI": with_mpi}


def link(earlier, how, count):
    """The link that a way uses, as this run measured it; None if it did not."""
    if how == "threads, copies":
        return earlier.get("peers", {}).get("links", {}).get("copy")
    part = "collectives" if how == "processes, NCCL" else "messages"
    return earlier.get(part, {}).get(str(count), {}).get("links", {}).get("send/recv")


def host_of(tasks, times):
    """ns that a step takes the host: that of the plate of HOST_SIDE."""
    return next(each["step"][1] for task, each in zip(tasks, times, strict=True) if task[0] == HOST_SIDE)


def row(how, count, task, times, one, measured_link, host):
    """A row of the table, from the times of a step here and on one device."""
    side, weak = task[:2]
    host, step = times["step"]
    kernels = times["kernels"][1]
    cells = [
        how,
        count,
        f"{side * count if weak else side} x {side}",
        f"{step / 1e3:.1f}",
        f"{host / 1e3:.1f}",
    ]
    cells.append(f"{kernels / 1e3:.1f}")
    if "exchange" not in times:
        return [*cells, "-", "-", "1", "-", "-"]
    cells += [f"{times['exchange'][1] / 1e3:.1f}", f"{max(step - kernels, 0) / 1e3:.1f}"]
    cells.append(f"{model.efficiency(one, step, count, weak):.3f}")
    if measured_link is None:
        return [*cells, "-", "-"]
    expected = model.heat(one, measured_link, count, side, weak, host)
    return [*cells, f"{expected / 1e3:.1f}", f"{model.efficiency(one, expected, count, weak):.3f}"]


def runs(setup):
    """[(way, number of devices)] of what can run here; notes about the others."""
    from pycuda import _driver

    counts = dict.fromkeys(WAYS, setup.counts())
    if setup.small:
        counts = {
            how: [2, setup.devices] if function is with_threads else [2] for how, function in WAYS.items()
        }
    if _driver._is_cpu_device():
        del counts["processes, NCCL"]
        setup.note("without NCCL: the CPU device cannot run it")
    elif not has("nccl"):
        del counts["processes, NCCL"]
        setup.note("without NCCL: nccl4py is not installed")
    try:
        launching.find_mpi()
    except CannotRun as error:
        del counts["processes, MPI"]
        setup.note(f"without MPI: {error}")
    if setup.devices == 1:
        return []
    return [(how, count) for how, several in counts.items() for count in several]


def run(setup):
    import pycuda.driver as drv

    drv.init()
    sides, steps, rounds = (SMALL_SIDES, SMALL_STEPS, 1) if setup.small else (SIDES, STEPS, ROUNDS)
    shown = [(side, weak, steps, rounds) for weak in (False, True) for side in sides]
    tasks = [*shown, (HOST_SIDE, True, steps, rounds)]
    ones = alone(tasks)
    rows = {
        task: [row("one device", 1, task, times, None, None, 0)]
        for task, times in zip(tasks, ones, strict=True)
    }
    hosts = [["one device", 1, f"{host_of(tasks, ones) / 1e3:.1f}"]]
    found = setup.data["found"] = [["one device", 1, tasks, ones]]
    if setup.devices == 1:
        setup.note("one device: nothing to scale to")
    for how, count in runs(setup):
        if setup.left() < 0:
            setup.note(f"the time was over before {how}, {count} devices")
            continue
        try:
            times = WAYS[how](tasks, count, max(setup.left(), 1) + 60)
        except Exception as error:  # the other ways run
            setup.note(f"FAILED: {how}, {count} devices: {error}")
            continue
        found.append([how, count, tasks, times])
        measured, host = link(setup.earlier, how, count), host_of(tasks, times)
        hosts.append([how, count, f"{host / 1e3:.1f}"])
        for task, each, one in zip(tasks, times, ones, strict=True):
            rows[task].append(row(how, count, task, each, one["step"][1], measured, host))
    header = ["how", "GPUs", "plate", "step, us", "host, us", "kernels alone", "exchange alone", "not hidden"]
    header += ["efficiency", "model, us", "model's efficiency"]
    for weak in (False, True):
        name = "weak" if weak else "strong"
        mine = [each for task in shown if task[1] == weak for each in rows[task]]
        setup.table(f"Heat equation, {name} scaling", header, mine)
    title = f"Heat equation, what a step takes the host: strips of {HOST_SIDE} x {HOST_SIDE}"
    setup.table(title, ["how", "GPUs", "step, us"], hosts)
