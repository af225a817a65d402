"""The caches of contexts are cleared while other threads make caches."""

import sys
import threading
import time

from pycuda._kernels.plans.caches import ContextCache
from pycuda.tools import clear_context_caches


def test_cleared_while_caches_are_made(primary_context):
    """The set of all caches changes while it is read."""
    interval, done = sys.getswitchinterval(), threading.Event()

    def make():
        kept = []
        while not done.is_set():
            kept.append(ContextCache())
            del kept[:-50]

    threads = [threading.Thread(target=make) for _ in range(3)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            clear_context_caches()
    finally:
        done.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
