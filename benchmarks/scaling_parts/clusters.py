"""Dask with a worker a GPU: a reduction over an array larger than one GPU's memory, made block by block; a
product of matrices whose blocks are on all GPUs; transfers between workers; a product larger than one GPU's
memory. The same with CuPy's arrays, in a cluster of the same layout, where CuPy is installed.
"""

import os
import statistics
import time

import numpy as np

from .large_product import Product
from .setup import needs, power

SMALL = {"reduction": 1 << 20, "chunk": 1 << 18, "side": 256, "block": 128, "sizes": [1 << 16]}
SMALL |= {"panel": 1 << 19, "memory": "8M"}  # of a virtual device
LARGE = {"chunk": 1 << 30, "side": 16384, "block": 4096, "sizes": [1 << 20, 1 << 26, 1 << 30]}
LARGE |= {"panel": 1 << 30}
REPEATS = 3


def start(count, devices, on_cpu_device, memory=None):
    """A cluster with a worker a device, which sees that device alone or, on the CPU device, first. memory: of
    a virtual device.
    """
    from distributed import Nanny, Scheduler, SpecCluster

    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = visible.split(",") if visible else [str(n) for n in range(count)]
    variable = "CUDA_DEVICE" if on_cpu_device else "CUDA_VISIBLE_DEVICES"
    if on_cpu_device:
        names = [str(n) for n in range(count)]
    common = {"nthreads": 1, "memory_limit": 0, "silence_logs": 50}
    limit = {"PYCUDA_CPU_MEMORY": memory} if memory else {}
    workers = {
        n: {"cls": Nanny, "options": {**common, "env": {variable: names[n % devices], **limit}}}
        for n in range(count)
    }
    scheduler = {"cls": Scheduler, "options": {"dashboard": False, "host": "127.0.0.1"}}
    return SpecCluster(scheduler=scheduler, workers=workers, silence_logs=50)


# ---- tasks


def place(package):
    """Which device a worker uses, as its address on the bus."""
    if package == "cupy":
        import cupy

        return cupy.cuda.Device().pci_bus_id
    import pycuda.driver as drv

    drv.init()
    return str(drv.Device(int(os.environ.get("CUDA_DEVICE", "0"))).pci_bus_id())


def make(size, package, value):
    """An array of bytes on the worker's device."""
    if package == "cupy":
        import cupy

        made = cupy.full(size, value, np.uint8)
        cupy.cuda.Device().synchronize()
        return made
    import pycuda.driver as drv
    import pycuda.gpuarray as gpuarray

    made = gpuarray.zeros(size, np.uint8)
    made.fill(value)
    drv.Context.synchronize()
    return made


def last(array):
    """The last element, once the array is here."""
    return int(array[-1])


# ---- measurements


def reduction(client, package, sizes, setup):
    """(bytes, seconds) of the sum of random numbers that are made block by block."""
    import dask
    import dask.array as da

    def total(size):
        with dask.config.set({"array.backend": package}):
            count = size // 8
            lazy = da.random.default_rng(1).random(count, chunks=min(count, sizes["chunk"] // 8))
            start = time.perf_counter()
            mean = float(lazy.sum().compute()) / count
            spent = time.perf_counter() - start
        assert abs(mean - 0.5) < 6 / (12 * count) ** 0.5, mean
        return spent

    total(sizes["chunk"] * setup.devices)  # contexts, kernels
    return sizes["reduction"], total(sizes["reduction"])


def product(client, package, sizes, setup):
    """(bytes of the operands, seconds) of a product of matrices in blocks."""
    import dask
    import dask.array as da
    from distributed import wait

    def multiply(side, block):
        with dask.config.set({"array.backend": package}):
            rng = da.random.default_rng(2)
            a, b = (rng.random((side, side), dtype=np.float32, chunks=block).persist() for _ in range(2))
            wait([a, b])
            start = time.perf_counter()
            c = (a @ b).persist()
            wait(c)
            spent = time.perf_counter() - start
            # The sum of a product's elements is that of column sums times row sums.
            got, wanted = float(c.sum().compute()), float((a.sum(axis=0) * b.sum(axis=1)).sum().compute())
        assert abs(got - wanted) < 1e-3 * wanted, (got, wanted)
        return spent

    multiply(2 * sizes["block"], sizes["block"])
    return 8 * sizes["side"] ** 2, multiply(sizes["side"], sizes["block"])


def transfer(client, package, size):
    """The seconds until an array of one worker is on the device of another: the median."""
    from distributed import wait

    addresses = sorted(client.scheduler_info(n_workers=-1)["workers"])
    spent = []
    for number in range(REPEATS + 1):
        there = client.submit(make, size, package, number, workers=[addresses[0]], pure=False)
        wait(there)
        start = time.perf_counter()
        got = client.submit(last, there, workers=[addresses[1]], pure=False).result()
        if number:
            spent.append(time.perf_counter() - start)
        assert got == number
    return statistics.median(spent)


def measure(package, count, sizes, setup, on_cpu_device, found, end):
    """Fills {(what, bytes): seconds} with this package's arrays. Returns the product that is larger than a
    GPU's memory, which is done or stopped by `end`, as of time.time(), or None.
    """
    from distributed import Client

    memory = sizes.get("memory") if on_cpu_device else None
    with start(count, setup.devices, on_cpu_device, memory) as cluster, Client(cluster, timeout=60) as client:
        client.wait_for_workers(count, timeout=60)
        used = client.run(place, package)
        assert len(set(used.values())) == min(count, setup.devices), used
        for function in reduction, product:
            if setup.left() < 0:
                setup.note(f"the time was over before the {function.__name__} with {package}")
                break
            size, spent = function(client, package, sizes, setup)
            found[function.__name__, size] = spent
        for size in sizes["sizes"]:
            found["transfer", size] = transfer(client, package, size)
        if setup.devices == 1 or setup.left() < 0:
            why = "one device has no room for it" if setup.devices == 1 else "the time was over"
            setup.note(f"without the large product with {package}: {why}")
            return None
        large = Product(client, package, sizes["panel"])
        large.run(end)
        large.check()
        return large


# ---- tables


def show(setup, count, mine, theirs):
    """The table of {(what, bytes): seconds} with pycuda and with CuPy."""
    rows = []
    for (what, size), spent in mine.items():
        other = theirs.get((what, size))
        cells = [what, count, power(size), f"{spent:.4f}", f"{size / spent / 1e9:.2f}"]
        rows.append([*cells, *compared(spent, other)])
        setup.data.setdefault("found", []).append([what, count, size, spent, other])
    header = ["what", "workers", "bytes", "pycuda, s", "GB/s", "CuPy, s", "CuPy / pycuda"]
    setup.table("Dask: a worker a GPU", header, rows)


def compared(spent, other):
    return [f"{other:.4f}", f"{other / spent:.3f}"] if other else ["-", "-"]


def show_large(setup, count, mine, theirs):
    """The table of the product that is larger than a GPU's memory: after as many rounds as both made, and
    after all.
    """
    rows, done = [], len(mine.times)
    for rounds in sorted({min(done, len(theirs.times)) if theirs else done, done}):
        spent, part = mine.times[rounds - 1], rounds * count / mine.panels
        other = theirs.times[rounds - 1] if theirs and rounds <= len(theirs.times) else None
        panels = f"{rounds * count} of {mine.panels}"
        cells = [count, power(mine.memory), power(mine.bytes), mine.side, panels]
        cells += [f"{spent:.4f}", f"{mine.bytes * part / spent / 1e9:.2f}"]
        cells += [f"{2 * mine.side**3 * part / spent / 1e12:.2f}"]
        rows.append([*cells, *compared(spent, other)])
        setup.data.setdefault("large", []).append([count, mine.side, part, spent, other])
    header = ["workers", "memory of a GPU", "bytes of A, B, C", "side", "panels of B", "pycuda, s", "GB/s"]
    header += ["TFLOP/s", "CuPy, s", "CuPy / pycuda"]
    setup.table("Dask: a product A @ B = C larger than one GPU's memory", header, rows)


def run(setup):
    needs("dask", "distributed")
    import importlib.util

    import pycuda.driver as drv
    from pycuda import _driver

    drv.init()
    on_cpu_device, sizes = _driver._is_cpu_device(), dict(SMALL if setup.small else LARGE)
    count = min(setup.devices, 2) if setup.small else setup.devices
    if count == 1:
        setup.note("one device: two workers share it")
        count = 2
    if not setup.small:
        sizes["reduction"] = drv.Device(0).total_memory() * 5 // 4 // (1 << 30) * (1 << 30)
    packages = ["pycuda"]
    if on_cpu_device or importlib.util.find_spec("cupy") is None:
        setup.note("without CuPy: " + ("it needs a GPU" if on_cpu_device else "it is not installed"))
    else:
        packages.append("cupy")
    found, large = {package: {} for package in ("pycuda", "cupy")}, {}
    try:
        for number, package in enumerate(packages):
            end = time.time() + setup.left() / (len(packages) - number)
            try:
                large[package] = measure(package, count, sizes, setup, on_cpu_device, found[package], end)
            except Exception as error:
                if package == "pycuda":
                    raise
                setup.note(f"CuPy: {type(error).__name__}: {error}")
    finally:
        show(setup, count, found["pycuda"], found["cupy"])
    if large["pycuda"]:
        show_large(setup, count, large["pycuda"], large.get("cupy"))
