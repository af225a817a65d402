"""Copies between devices, by `to_device` and `memcpy_peer_async`, and from C by cuMemcpyPeerAsync
(`peers_raw.c`): each pair alone, and all pairs at once.
"""

import ctypes
import itertools
import statistics

import numpy as np

from .setup import CannotRun, build, driver_function, in_turn, power, timed

SIZES = [1 << 10, 1 << 20, 1 << 24, 1 << 28, 1 << 30]
SMALL = [1 << 10, 1 << 16]
CHECKED = 1 << 20  # bytes up to which copies are compared with what was sent: larger arrays are zeros
WAYS = ["C", "memcpy_peer_async", "to_device"]


class Copy(ctypes.Structure):
    _fields_ = [
        ("to", ctypes.c_uint64), ("source", ctypes.c_uint64),
        *((name, ctypes.c_void_p) for name in ("to_context", "from_context", "stream")),
        ("size", ctypes.c_size_t),
    ]  # fmt: skip


class Pairs:
    """Arrays of one size for ordered pairs of devices, and the ways to copy between them."""

    def __init__(self, contexts, pairs, size):
        import pycuda.driver as drv
        import pycuda.gpuarray as gpuarray

        self.drv, self.contexts, self.pairs, self.size = drv, contexts, pairs, size
        self.raw = ctypes.CDLL(str(build("peers_raw")))
        self.functions = driver_function("cuMemcpyPeerAsync"), driver_function("cuStreamSynchronize")
        self.host = np.resize(np.arange(251, dtype=np.uint8), size if size <= CHECKED else 0)
        self.sources, self.targets, self.streams = {}, [], []
        for source, to in pairs:
            if source not in self.sources:
                with contexts[source]:
                    whole = gpuarray.to_gpu(self.host) if size <= CHECKED else gpuarray.zeros(size, np.uint8)
                    self.sources[source] = whole
            with contexts[to]:
                self.targets.append(gpuarray.zeros(size, np.uint8))
                self.streams.append(drv.Stream())
        self.synchronize()

    def synchronize(self):
        for each in {to for _, to in self.pairs}:
            with self.contexts[each]:
                self.drv.Context.synchronize()

    def wait(self):
        for stream in self.streams:
            stream.synchronize()

    def _copies(self):
        array = (Copy * len(self.pairs))()
        for place, (source, to), target, stream in zip(
            array, self.pairs, self.targets, self.streams, strict=True
        ):
            place.to, place.source, place.size = target.ptr, self.sources[source].ptr, self.size
            place.to_context, place.from_context = self.contexts[to].handle, self.contexts[source].handle
            place.stream = stream.handle
        return array

    def from_c(self, count):
        queued, done = ctypes.c_double(), ctypes.c_double()
        copies = self._copies()
        with self.contexts[self.pairs[0][1]]:
            error = self.raw.raw_peers(
                *self.functions, copies, len(self.pairs), count, ctypes.byref(queued), ctypes.byref(done)
            )
        assert not error, f"the driver's error {error} in C"
        return queued.value, done.value

    def memcpy_peer_async(self):
        for (source, to), target, stream in zip(self.pairs, self.targets, self.streams, strict=True):
            there, here = self.contexts[to], self.contexts[source]
            with there:
                self.drv.memcpy_peer_async(
                    target.gpudata, self.sources[source].gpudata, self.size, there, here, stream
                )

    def to_device(self):
        self.made = [self.sources[source].to_device(self.contexts[to]) for source, to in self.pairs]

    def check(self):
        """Each way copies what is there."""
        for way in (lambda: self.from_c(1), self.memcpy_peer_async):
            for (_, to), target in zip(self.pairs, self.targets, strict=True):
                with self.contexts[to]:
                    target.fill(0)
            self.synchronize()
            way()
            self.wait()
            for target in self.targets:
                np.testing.assert_array_equal(target.get(), self.host)
        self.to_device()
        for (_, to), array in zip(self.pairs, self.made, strict=True):
            assert array.device == self.drv.Device(to)
            np.testing.assert_array_equal(array.get(), self.host)
        del self.made

    def measure(self, rounds, small):
        """{way: (ns queued, ns done)}, of a copy of each pair."""
        count = 2 if small else max(8, min(100, (1 << 30) // self.size // len(self.pairs)))
        ways = {
            "C": lambda: self.from_c(count),
            "memcpy_peer_async": lambda: timed(self.memcpy_peer_async, count, self.wait),
            "to_device": lambda: timed(self.to_device, count, self.synchronize),
        }
        return in_turn(ways, rounds)


def enable(drv, contexts):
    """Peer access where there is any; {pair: whether}."""
    access = {}
    for source, to in itertools.permutations(range(len(contexts)), 2):
        access[source, to] = drv.Device(to).can_access_peer(drv.Device(source))
        if access[source, to]:
            with contexts[to]:
                contexts[to].enable_peer_access(contexts[source])
    return access


def cells(times):
    """us of each way, and C divided by each of ours."""
    c, *ours = (times[way][1] for way in WAYS)
    return [f"{c / 1e3:.1f}", *(f"{each / 1e3:.1f}" for each in ours), *(f"{c / each:.3f}" for each in ours)]


def run(setup):
    import pycuda.driver as drv

    drv.init()
    if setup.devices < 2:
        raise CannotRun("one device: there is no pair")
    contexts = [drv.Device(n).retain_primary_context() for n in range(setup.devices)]
    access = enable(drv, contexts)
    if not all(access.values()):
        setup.note(f"{sum(not each for each in access.values())} of {len(access)} pairs have no peer access")
    sizes, alone, together = SMALL if setup.small else SIZES, [], []
    rounds = 1 if setup.small else 5
    # As an exchange is queued best: in rounds, in each of which every device sends once and receives once.
    pairs = sorted(access, key=lambda pair: (pair[1] - pair[0]) % len(contexts))
    for size in sizes:
        measured = {}
        for pair in pairs:
            if setup.left() < 0:
                setup.note(f"the time was over before pair {pair} of {power(size)}")
                break
            each = Pairs(contexts, [pair], size)
            if size <= CHECKED:
                each.check()
            measured[pair] = each.measure(rounds, setup.small)
        if measured:
            alone += rows_of(measured, size)
        setup.data[power(size)] = [(*pair, size, times) for pair, times in measured.items()]
        if setup.left() < 0 or size * len(pairs) > drv.Device(0).total_memory() // 4 * len(contexts):
            setup.note(f"not all pairs at once of {power(size)}: no time or memory left")
            continue
        times = Pairs(contexts, pairs, size).measure(rounds, setup.small)
        rates = (f"{size * len(pairs) / times[way][1]:.1f}" for way in WAYS)
        together.append([len(pairs), power(size), *cells(times), *rates])
        setup.data[f"all {power(size)}"] = times
    us = [f"{way}, us" for way in WAYS] + [f"C / {way}" for way in WAYS[1:]]
    setup.table(
        "Copies between devices: a pair alone (GB/s: slowest, median, fastest pair)",
        ["size", *us, *(f"{way}, GB/s" for way in WAYS)],
        alone,
    )
    header = ["pairs", "size", *us, *(f"{way}, GB/s" for way in WAYS)]
    setup.table("Copies between devices: all pairs at once", header, together)
    if setup.data.get(power(sizes[-1])):
        latency, rate = (link(setup.data[power(size)]) for size in (sizes[0], sizes[-1]))
        setup.data["links"] = {"copy": [latency[0], rate[1]]}


def link(measured):
    """(median ns, median bytes/ns) of memcpy_peer_async over all pairs of one size."""
    spent = statistics.median(times["memcpy_peer_async"][1] for *_, times in measured)
    return spent, measured[0][2] / spent


def rows_of(measured, size):
    """The row of a size: medians over the pairs, and the range of their rates."""
    medians = {way: (0, statistics.median(times[way][1] for times in measured.values())) for way in WAYS}
    ranges = []
    for way in WAYS:
        rates = sorted(size / times[way][1] for times in measured.values())
        ranges.append(f"{rates[0]:.2f} {statistics.median(rates):.2f} {rates[-1]:.2f}")
    return [[power(size), *cells(medians), *ranges]]
