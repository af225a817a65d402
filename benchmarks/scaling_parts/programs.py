"""A soak test: random programs on several devices. Arrays are made on one device, by one thread, used on
another one by another thread, after `to_device` or by peer access, and dropped by a third. What they contain
is compared with NumPy's, and at the end every device has as much free memory as at the start.
"""

import gc
import queue
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

PROGRAMS, SMALL_PROGRAMS, STEPS, AT_ONCE = 200, 60, 24, 4
WARM_UP = 24  # programs before memory is read: kernels are compiled and loaded
SIZES = [1, 7, 1000, 4096, 100_003]
LARGE_SIZES = [*SIZES, 1 << 20, 1 << 22]


class Item:
    """An array, and what it must contain."""

    def __init__(self, device, array, host):
        self.device, self.array, self.host = device, array, host


class Machine:
    """The devices, and the thread that drops arrays."""

    def __init__(self, count, sizes):
        import pycuda.driver as drv

        drv.init()
        self.drv, self.sizes = drv, sizes
        self.contexts = [drv.Device(n).retain_primary_context() for n in range(count)]
        self.peers = set()
        for here in range(count):
            for there in range(count):
                if here != there and drv.Device(here).can_access_peer(drv.Device(there)):
                    with self.contexts[here]:
                        self.contexts[here].enable_peer_access(self.contexts[there])
                    self.peers.add((here, there))
        self._dropped = queue.Queue()
        self._dropper = threading.Thread(target=self._drop, daemon=True)
        self._dropper.start()

    def _drop(self):
        while self._dropped.get() is not None:
            self._dropped.task_done()
        self._dropped.task_done()

    def drop(self, item):
        self._dropped.put(item)

    def close(self):
        self._dropped.put(None)
        self._dropper.join()

    def memory(self):
        """[(bytes in use of the default pool, free bytes)] of each device, when nothing is held."""
        from pycuda.tools import default_memory_pool

        self._dropped.join()
        gc.collect()
        found = []
        for context in self.contexts:
            with context:
                self.drv.Context.synchronize()
                pool = default_memory_pool()
                pool.free_held()
                found.append((pool.active_bytes, self.drv.mem_get_info()[0]))
        return found


class Program:
    """A random program, determined by its seed. Its steps are done by two threads in turn."""

    def __init__(self, machine, seed):
        self.machine, self.random, self.items = machine, random.Random(seed), []
        self.seed, self.counts = seed, {}

    def device(self):
        return self.random.randrange(len(self.machine.contexts))

    def pick(self):
        return self.random.choice(self.items)

    def add(self, device, array, host):
        self.items.append(Item(device, array, host))

    def make(self):
        import pycuda.gpuarray as gpuarray

        device, size = self.device(), self.random.choice(self.machine.sizes)
        dtype = self.random.choice([np.float64, np.int32, np.uint8])
        host = (np.arange(size) * self.random.randrange(1, 9) % 100).astype(dtype)
        with self.machine.contexts[device]:
            self.add(device, gpuarray.to_gpu(host), host)

    def compute(self):
        item, number = self.pick(), self.random.randrange(5)
        with self.machine.contexts[item.device]:
            self.add(item.device, item.array * 2 + number, item.host * 2 + number)

    def write(self):
        item, number = self.pick(), self.random.randrange(5)
        with self.machine.contexts[item.device]:
            item.array += number
        item.host = item.host + np.asarray(number, item.host.dtype)

    def move(self):
        item, device = self.pick(), self.device()
        if device != item.device:  # there it would be the array itself
            self.add(device, item.array.to_device(self.machine.contexts[device]), item.host)

    def add_moved(self):
        """The sum of arrays of two devices, one of which is moved."""
        first, second = self.pick(), self.pick()
        n = min(first.host.size, second.host.size)
        moved = second.array[:n].to_device(self.machine.contexts[first.device])
        with self.machine.contexts[first.device]:
            self.add(first.device, first.array[:n] + moved, first.host[:n] + second.host[:n])

    def add_peer(self):
        """The sum of arrays of two devices, read by peer access once both are there."""
        first, second = self.pick(), self.pick()
        if (first.device, second.device) not in self.machine.peers:
            return
        n = min(first.host.size, second.host.size)
        with self.machine.contexts[second.device]:
            self.machine.drv.Context.synchronize()
        with self.machine.contexts[first.device]:
            total = first.array[:n] + second.array[:n]
            self.machine.drv.Context.synchronize()
        self.add(first.device, total, first.host[:n] + second.host[:n])

    def split(self):
        """Scattered over some devices, and gathered on one."""
        from pycuda import devices

        item, device = self.pick(), self.device()
        places = [self.device() for _ in range(self.random.randrange(1, 4))]
        parts = devices.scatter(item.array, [self.machine.contexts[n] for n in places])
        whole = devices.gather(parts, device=self.machine.contexts[device])
        self.add(device, whole, item.host)

    def total(self):
        item = self.pick()
        with self.machine.contexts[item.device]:
            got = item.array.sum().get()
        np.testing.assert_allclose(got, item.host.sum(), rtol=1e-12)

    def drop(self):
        self.machine.drop(self.items.pop(self.random.randrange(len(self.items))))

    def check(self, item):
        np.testing.assert_array_equal(item.array.get(), item.host)

    CHOICE = ("make", "compute", "write", "move", "move", "add_moved", "add_peer", "split", "total", "drop")

    def run(self):
        """Does all steps; returns how often each was done. The error of a step names the seed."""
        with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
            for number in range(STEPS):
                name = self.random.choice(self.CHOICE) if self.items else "make"
                try:
                    (first, second)[number % 2].submit(getattr(self, name)).result()
                except Exception as error:
                    raise RuntimeError(f"seed {self.seed}, step {number}, {name}: {error}") from error
                self.counts[name] = self.counts.get(name, 0) + 1
            for item in self.items:
                self.check(item)
            while self.items:
                self.machine.drop(self.items.pop())
        return self.counts


def run_many(machine, seeds, end):
    """The programs of these seeds, AT_ONCE at a time: (how many, how often each step was done)."""
    total, done = {}, 0

    def one(seed):
        return None if time.time() > end else Program(machine, seed).run()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for counts in pool.map(one, seeds):
            if counts is not None:
                done += 1
                for name, count in counts.items():
                    total[name] = total.get(name, 0) + count
    return done, total


def run(setup):
    machine = Machine(setup.devices, SIZES if setup.small else LARGE_SIZES)
    run_many(machine, range(-WARM_UP, 0), setup.end)
    before = machine.memory()
    start = time.perf_counter()
    count = SMALL_PROGRAMS if setup.small else PROGRAMS
    done, counts = run_many(machine, range(count), setup.end)
    spent = time.perf_counter() - start
    after = machine.memory()
    machine.close()
    if done < count:
        setup.note(f"the time was over after {done} of {count} programs")
    leaked = [now[0] - was[0] for was, now in zip(before, after, strict=True)]
    missing = [was[1] - now[1] for was, now in zip(before, after, strict=True)]
    setup.data.update(done=done, steps=counts, leaked=leaked, missing=missing)
    rows = [
        [device, done, sum(counts.values()), f"{spent:.1f}", in_use, less]
        for device, (in_use, less) in enumerate(zip(leaked, missing, strict=True))
    ]
    header = ["device", "programs", "steps", "s", "bytes more in use", "bytes less free"]
    setup.table("Random programs on several devices, compared with NumPy", header, rows)
    if any(leaked):
        raise RuntimeError(f"arrays were leaked: {leaked} bytes")
