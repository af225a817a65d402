"""A product of float32 matrices A, B and C = A @ B that together are larger than one GPU's memory, in a
cluster of Dask with a worker a GPU. A worker has a part of the rows of A and C, and of B some panels: ranges
of columns. It receives the others, one of each worker in a round, at a time each worker from another one.
"""

import importlib
import math
import time

import numpy as np

LARGER = 1.3  # A, B and C are so many times the memory of a GPU
BLOCK = 3  # panels' widths in the rows of a block of A: no array has 2^31 elements
TOLERANCE = 1e-4  # of sums, in float32; those of two columns differ by more


def sides(memory, count, panel):
    """(columns of a panel, panels), of about `panel` bytes, the same number on each of `count` workers. The
    matrices have the side columns * panels.
    """
    side = math.isqrt(int(LARGER * memory) // 12)
    panels = -(-4 * side**2 // (panel * count)) * count
    return side // panels // 4 * 4, panels


# ---- tasks


def namespace(package):
    """NumPy's functions for this package's arrays."""
    return importlib.import_module({"pycuda": "pycuda.numpy"}.get(package, package))


def wait(package):
    """Returns once the worker's device is done."""
    if package == "cupy":
        import cupy

        cupy.cuda.Device().synchronize()
    else:
        import pycuda.driver as drv

        drv.Context.synchronize()


def free_memory(package):
    """(free, all) bytes of the worker's device, when no pool holds any."""
    if package == "cupy":
        import cupy

        cupy.get_default_memory_pool().free_all_blocks()
        return cupy.cuda.runtime.memGetInfo()
    import pycuda.driver as drv
    from pycuda.tools import default_memory_pool

    default_memory_pool().free_held()
    return drv.mem_get_info()


def make(package, seed, shapes):
    """A list of arrays of random numbers."""
    random = namespace(package).random.default_rng(seed)
    made = [random.random(shape, dtype=np.float32) for shape in shapes]
    wait(package)
    return made


def pick(panels, number):
    """A panel under another name: the copies of it on other workers are dropped with that name."""
    return panels[number][:]


def multiply(package, blocks, panel):
    """The rows of C that these blocks of A give, in the panel's columns."""
    made = [block @ panel for block in blocks]
    wait(package)
    return made


def column_sums(blocks):
    """The sum of each column over blocks of rows, in NumPy."""
    return sum(block.sum(axis=0, dtype=np.float64).get() for block in blocks)


def row_sums(blocks):
    """The sum of each row of these blocks, in NumPy."""
    return np.concatenate([block.sum(axis=1, dtype=np.float64).get() for block in blocks])


def sums_of_a(blocks, package, of_b):
    """A's rows times the row sums of B."""
    of_b = namespace(package).asarray(of_b.astype(np.float32))
    return np.concatenate([(block @ of_b).get() for block in blocks])


def sums_of_b(panels, package, of_a, count):
    """(the column sums of A times each of the first panels, the sums of their rows)"""
    of_a = namespace(package).asarray(of_a.astype(np.float32))
    return [(of_a @ panel).get() for panel in panels[:count]], sum(row_sums([b]) for b in panels[:count])


def sums_of_c(products):
    """(the column sums of each product, the sums of the rows of all)"""
    return [column_sums(blocks) for blocks in products], sum(map(row_sums, products))


# ---- the product


def finish(futures):
    """Waits for the futures; the error of one is raised."""
    import distributed

    distributed.wait(futures)
    for future in futures:
        if future.status != "finished":
            future.result()


class Product:
    """The matrices, on a client's workers. times: the seconds from the start until the end of each round."""

    def __init__(self, client, package, panel):
        self._client, self._package = client, package
        self._workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        self._count = len(self._workers)
        self.memory = min(total for _, total in client.run(free_memory, package).values())
        self._width, self.panels = sides(self.memory, self._count, panel)
        self.side = self._width * self.panels
        self.bytes = 12 * self.side**2
        assert self.bytes > self.memory, (self.bytes, self.memory)
        self._a, self._b = self._made(0, self._blocks()), self._made(1, self._own_panels())
        self._c, self.times = {}, []  # {(worker, owner of the panel, its number): future}
        finish([*self._a, *self._b])

    def _blocks(self):
        """The shapes of a worker's blocks of A."""
        rows = self.side // self._count
        high = BLOCK * self._width
        return [(min(high, rows - first), self.side) for first in range(0, rows, high)]

    def _own_panels(self):
        return [(self.side, self._width)] * (self.panels // self._count)

    def _made(self, matrix, shapes):
        """A future of arrays of these shapes on each worker."""
        return [self._submit(n, make, self._package, [matrix, n], shapes) for n in range(self._count)]

    def _submit(self, worker, function, *arguments, **more):
        workers = [self._workers[worker]]
        return self._client.submit(function, *arguments, workers=workers, pure=False, **more)

    def _everywhere(self, function, arguments, **more):
        """The results of function(each argument, **more), a worker an argument."""
        tasks = enumerate(arguments)
        return self._client.gather([self._submit(n, function, each, **more) for n, each in tasks])

    def _warm_up(self):
        """What a first product takes longer: libraries, connections."""
        panels = [self._submit(n, pick, b, 0) for n, b in enumerate(self._b)]
        moved = [*panels[1:], panels[0]]
        finish([self._submit(n, multiply, self._package, a, moved[n]) for n, a in enumerate(self._a)])

    def _start(self, number):
        """Starts a round, in which every worker multiplies with a panel of each: (panels, products)."""
        panels = [self._submit(owner, pick, b, number) for owner, b in enumerate(self._b)]
        started = {}
        for step in range(self._count):
            for worker, a in enumerate(self._a):
                owner = (worker + step) % self._count
                task = self._submit(worker, multiply, self._package, a, panels[owner])
                started[worker, owner, number] = task
        return panels, started

    def run(self, end):
        """Rounds until all are done or `end` is over, as of time.time(). Meanwhile the next panels move."""
        self._warm_up()
        rounds = self.panels // self._count
        start, running = time.perf_counter(), self._start(0)
        for number in range(1, rounds + 1):
            following = self._start(number) if number < rounds and time.time() < end else None
            finish([*running[1].values()])
            self.times.append(time.perf_counter() - start)
            self._c |= running[1]
            running = following
            if running is None:
                return

    def check(self):
        """Column sums of C are the column sums of A times B, row sums are A times the row sums of B."""
        done, package = len(self.times), self._package
        of_a = sum(self._everywhere(column_sums, self._a))
        of_b = self._everywhere(sums_of_b, self._b, package=package, of_a=of_a, count=done)
        panels = [(owner, number) for owner in range(self._count) for number in range(done)]
        products = [[self._c[n, *each] for each in panels] for n in range(self._count)]
        of_c = self._everywhere(sums_of_c, products)
        rows = self._everywhere(sums_of_a, self._a, package=package, of_b=sum(sums for _, sums in of_b))
        got = sum(np.array(sums) for sums, _ in of_c)
        np.testing.assert_allclose(got, [column for sums, _ in of_b for column in sums], TOLERANCE)
        got = np.concatenate([sums for _, sums in of_c])
        np.testing.assert_allclose(got, np.concatenate(rows), TOLERANCE)
