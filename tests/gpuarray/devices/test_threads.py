"""A thread for each device, at the same time, in the process's one pool of memory a context."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import pycuda.driver as drv
from pycuda import devices, gpuarray

TURNS = 25


def work(context, together, turns=TURNS):
    """Sums, products and sorts in a context."""
    random = np.random.default_rng(0)
    with context:
        together.wait()
        for turn in range(turns):
            host = random.integers(0, 100, (60, 60)).astype(np.float64)
            a = gpuarray.to_gpu(host)
            assert a.device == drv.Context.get_device()
            assert ((a + turn) * a).sum().get() == ((host + turn) * host).sum()
            assert ((a @ a).get() == host @ host).all()
            assert (np.sort(a, axis=None).get() == np.sort(host, axis=None)).all()
            assert (a[a > 50].get() == host[host > 50]).all()


def check_two_threads():
    from pairs import FIRST, SECOND

    from pycuda.tools import default_memory_pool

    together = threading.Barrier(4)
    with ThreadPoolExecutor(4) as threads:
        futures = [threads.submit(work, context, together) for context in (FIRST, SECOND) * 2]
        for future in futures:
            future.result()
    for context in FIRST, SECOND:
        with context:
            pool = default_memory_pool()
            assert pool.active_blocks == 0 and pool.held_blocks > 0


def test_two_threads(on_two_devices):
    on_two_devices(check_two_threads)


def exchange(context, other, mine, theirs, together):
    """Copies what the other thread has just computed, and computes with it."""
    with context:
        total = gpuarray.zeros(10_000, np.float64)
        for turn in range(TURNS):
            mine.append(gpuarray.zeros(10_000, np.float64) + turn)
            together.wait()
            total += theirs[turn].to_device(context)
            back = total.to_device(other)
            assert back.device != total.device
        return set(total.get()), set(back.get())


def check_copies_between_threads():
    from pairs import FIRST, SECOND

    together, a, b = threading.Barrier(2), [], []
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(exchange, FIRST, SECOND, a, b, together)
        second = threads.submit(exchange, SECOND, FIRST, b, a, together)
        wanted = {sum(range(TURNS))}
        assert first.result() == second.result() == (wanted, wanted)


def test_copies_between_threads(on_two_devices):
    on_two_devices(check_copies_between_threads)


def check_parts_in_threads():
    """scatter, a thread for each part, gather."""
    from pairs import FIRST

    host = np.random.default_rng(1).random((400, 30))

    def normalized(part):
        with part.device.retain_primary_context():
            return part / np.linalg.norm(part, axis=1)[:, np.newaxis]

    with FIRST, ThreadPoolExecutor() as threads:
        whole = devices.gather(list(threads.map(normalized, devices.scatter(host))))
        assert np.allclose(whole.get(), host / np.linalg.norm(host, axis=1, keepdims=True))


def test_parts_in_threads(on_two_devices):
    on_two_devices(check_parts_in_threads)
