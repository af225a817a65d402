"""Random allocations and releases in the default pool, over streams and threads:

    python tests/soak/pool.py COUNT

Prints what went wrong, and the ratio of the maximum memory that the pool had to the maximum in use. Exit code
1 when a block had two owners, something was lost, or the ratio is more than 2.
"""

import argparse
import random
import sys
import threading

import pycuda.driver as drv
from pycuda.tools import default_memory_pool

LIVE = 64  # maximum number of allocations that a thread has at once
LARGEST = 1 << 20  # bytes of an allocation


class Worker(threading.Thread):
    """A thread that allocates and drops memory `count` times.

    owners: {address: Worker} of all threads' allocations, to notice a block with two. wrong: what went wrong.
    """

    def __init__(self, context, owners, streams, count, seed):
        super().__init__()
        self.context, self.owners, self.streams, self.count = context, owners, streams, count
        self.choose, self.wrong = random.Random(seed), ["a thread did not end"]

    def drop(self, live):
        """Drops a random allocation of the list."""
        allocation = live.pop(self.choose.randrange(len(live)))
        if self.owners.pop(int(allocation)) is not self:
            self.wrong.append("an owner was lost")

    def run(self):
        """The thread's work. It removes the first entry of `wrong` when it has come to its end."""
        self.context.push()
        live, exponent = [], LARGEST.bit_length() - 1
        for _ in range(self.count):
            size = self.choose.randrange(1 << self.choose.randrange(exponent), LARGEST)
            allocation = drv.default_allocate(size, self.choose.choice(self.streams))
            if self.owners.setdefault(int(allocation), self) is not self:
                self.wrong.append(f"two owners of {int(allocation):#x}")
            live.append(allocation)
            del allocation
            while len(live) > self.choose.randrange(1, LIVE):
                self.drop(live)
        while live:
            self.drop(live)
        drv.Context.pop()
        self.wrong.remove("a thread did not end")


def soak(count, threads=4, seed=0):
    """([what went wrong], the ratio of maximum managed to maximum active bytes)."""
    context = drv.Context.get_current()
    pool = default_memory_pool()
    pool.free_held()
    pool.reset_high()
    before, owners = pool.active_blocks, {}
    shared = [None, drv.Stream(), drv.Stream(1)]
    workers = [
        Worker(context, owners, [*shared, drv.Stream(1)], count // threads, seed + number)
        for number in range(threads)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    wrong = [text for worker in workers for text in worker.wrong]
    if owners:
        wrong.append(f"{len(owners)} allocations were not dropped")
    if pool.active_blocks != before:
        wrong.append(f"{pool.active_blocks - before} blocks were lost")
    ratio = pool.managed_bytes_high / max(pool.active_bytes_high, LARGEST)
    if ratio > 2:
        wrong.append(f"{pool.managed_bytes_high} bytes managed for {pool.active_bytes_high}")
    pool.free_held()
    if pool.held_blocks:
        wrong.append("blocks are held after free_held()")
    return wrong, ratio


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    import pycuda.autoprimaryctx  # noqa: F401

    wrong, ratio = soak(given.count, seed=given.seed)
    print(f"{given.count} allocations; maximum managed / maximum active bytes {ratio:.2f}")
    print(*wrong[:10], sep="\n")
    sys.exit(bool(wrong))
