"""os.fork for the programs that tests start.

Under AddressSanitizer it waits until all other threads sleep: the allocator of GCC 12's runtime has no fork
handlers, so a lock that another thread holds at the fork is never released in the child. Without it there is
no need to wait: glibc holds its allocator's locks around a fork.
"""

import os
import threading
import time
import warnings
from pathlib import Path


def under_asan():
    """Whether this process runs with AddressSanitizer's runtime."""
    return "libasan" in os.environ.get("LD_PRELOAD", "")


def others_sleep():
    """Whether all threads of this process but the calling one sleep, in the kernel's state "S"."""
    own = str(threading.get_native_id())
    for thread in Path("/proc/self/task").iterdir():
        try:
            state = (thread / "stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:  # it ended
            continue
        if thread.name != own and state != "S":
            return False
    return True


def fork():
    """os.fork(). Under AddressSanitizer it first waits until the other threads sleep."""
    while under_asan() and not others_sleep():
        time.sleep(0.001)
    with warnings.catch_warnings():
        # Python itself warns of a fork while the driver's threads run.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()
