"""Copies between devices at the same time: which ones wait for which, and what waits for them. A Python
function in a stream holds a copy back, and shows whether another one, or work on its result, waits for it.
"""

import contextlib
import itertools
import random
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import pycuda.driver as drv
from pycuda import devices, gpuarray

HELD_FOR = 40  # seconds after which what is held back goes on: a test that waits for it fails, and ends


class Gate:
    """Holds a stream back until open() is called."""

    def __init__(self, stream):
        self.opened, self.passed = threading.Event(), threading.Event()
        stream.launch_host_func(self._wait)

    def _wait(self):
        self.opened.wait(HELD_FOR)
        self.passed.set()

    def holds(self):
        return not self.passed.is_set()

    def open(self):
        self.opened.set()
        self.passed.wait()


@contextlib.contextmanager
def held_back(context):
    """A non-blocking stream of the context, and what holds it back."""
    with context:
        stream = drv.Stream(drv.stream_flags.NON_BLOCKING)
    gate = Gate(stream)
    try:
        yield stream, gate
    finally:
        gate.open()


def prepared():
    """Both contexts, after a copy in each direction: streams are there, kernels are loaded, which a GPU does
    not do while work is held back. No memory is held for reuse, which would be after other work.
    """
    from pairs import FIRST, SECOND, on

    from pycuda.tools import default_memory_pool

    for context, other in (FIRST, SECOND), (SECOND, FIRST):
        array = on(context, np.arange(100.0))
        with other:
            moved = array.to_device(other)
            moved += 1
            moved *= 2
            assert ((moved + 1) * 2 - gpuarray.zeros(100, np.float64) - 1).get()[1] == 9
    del array, moved
    for context in FIRST, SECOND:
        with context:
            context.synchronize()
            default_memory_pool().free_held()
    return FIRST, SECOND


def elsewhere(context, array):
    """The array's elements, copied on a stream that waits for nothing else."""
    with context, drv.Stream(drv.stream_flags.NON_BLOCKING) as stream:
        return array.get(stream=stream)


def check_opposite_directions():
    """A copy does not wait for one in the other direction, nor its result's users for that one."""
    from pairs import on

    for first, second in (contexts := prepared()), contexts[::-1]:
        here, there = on(first, np.arange(500.0)), on(second, np.arange(700.0))
        free = [there.to_device(first) for _ in range(4)]  # memory that was used by copies alone
        del free
        with held_back(first) as (stream, gate):
            with first, stream:
                late = here + 1
            arrived = late.to_device(second)
            back = there.to_device(first)
            assert (elsewhere(first, back) == np.arange(700)).all() and gate.holds()
            again = there.to_device(first)
            assert (elsewhere(first, again) == np.arange(700)).all() and gate.holds()
            gate.open()
            assert (arrived.get() == np.arange(1, 501)).all()


def test_opposite_directions(on_two_devices):
    on_two_devices(check_opposite_directions)


def check_work_of_the_target():
    """A copy to new memory does not wait for what is queued on the default stream there."""
    from pairs import on

    first, second = prepared()
    here = on(first, np.arange(50_000.0))
    first.synchronize()
    with second:
        blocking = drv.Stream()  # the default stream waits for it
    gate = Gate(blocking)
    try:
        arrived = here.to_device(second)
        assert (elsewhere(second, arrived) == np.arange(50_000)).all() and gate.holds()
    finally:
        gate.open()


def test_work_of_the_target(on_two_devices):
    on_two_devices(check_work_of_the_target)


ADD = """
__global__ void add(double *to, const double *from, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x) to[i] = from[i] + 1;
}
"""


def check_uses_of_the_result():
    """Work on the result waits for the copy: by array, by address, on each kind of stream, in a graph."""
    from pairs import on

    from pycuda.compiler import SourceModule

    first, second = prepared()
    n, host = 3000, np.arange(3000.0)
    here = on(first, host)
    with second:
        add = SourceModule(ADD).get_function("add")
        out = [gpuarray.zeros(n, np.float64) for _ in range(8)]
        streams = [None, drv.Stream(), drv.Stream(drv.stream_flags.NON_BLOCKING)]

    def launch(to, array, stream=None):
        add(to, array, np.int32(n), block=(64, 1, 1), stream=stream)

    with second:
        launch(out[0], out[1])  # loads the kernel
        second.synchronize()

    with held_back(first) as (stream, gate):
        with first, stream:
            late = here * 2
        arrived = [late.to_device(second) for _ in range(6)]
        with second:
            for place, array, each in zip(out, arrived, streams, strict=False):
                launch(place, array, each)
            launch(out[3], np.intp(arrived[3].ptr))
            launch(out[4], np.intp(int(arrived[4].gpudata)))
            graph_stream = drv.Stream(drv.stream_flags.NON_BLOCKING)
            with graph_stream.capture() as graph:
                launch(out[5], arrived[5], graph_stream)
            graph.instantiate().launch(graph_stream)
            drv.memcpy_dtod_async(out[6].gpudata, arrived[5].gpudata, out[6].nbytes)
            copy = drv.Memcpy2D()
            copy.set_src_device(arrived[0].gpudata)
            copy.set_dst_device(out[7].gpudata)
            copy.width_in_bytes = copy.src_pitch = copy.dst_pitch = out[7].nbytes
            copy.height = 1
            copy(streams[1])
        assert gate.holds()
        gate.open()
        with second:
            second.synchronize()
        wanted = [2 * host + 1] * 6 + [2 * host] * 2
        for k, (array, values) in enumerate(zip(out, wanted, strict=True)):
            assert (array.get() == values).all(), k


def test_uses_of_the_result(on_two_devices):
    on_two_devices(check_uses_of_the_result)


def check_work_on_the_source():
    """What is queued on the source after a copy that is held back does not overtake it, on its own stream and
    on the default one; the result goes on to a third array, and its memory to others, in order.
    """
    from pairs import on

    first, second = prepared()
    host = np.arange(2000.0)
    here = on(first, host)
    with held_back(first) as (stream, gate):
        with first, stream:
            late = here + 1
        arrived = late.to_device(second)
        back = arrived.to_device(first)
        with first:
            late += 10  # on the default stream
            stream.wait_for_event(drv.Event().record())
            with stream:
                late *= 3
        with second:
            arrived += 100
        on_again = arrived.to_device(first)
        del arrived
        with second:
            others = [gpuarray.zeros(2000, np.float64) - k for k in range(3)]
        assert gate.holds()
        gate.open()
        assert (back.get() == host + 1).all()
        assert (on_again.get() == host + 101).all()
        assert (late.get(stream=stream) == 3 * (host + 11)).all()
        assert [set(each.get()) for each in others] == [{0.0}, {-1.0}, {-2.0}]


def test_work_on_the_source(on_two_devices):
    on_two_devices(check_work_on_the_source)


def check_source_of_a_peer_copy():
    """memcpy_peer_async on a stream of the target: the source's memory is given to others after the copy,
    although its own device has no work on it; what does not get it does not wait.
    """
    from pairs import on

    first, second = prepared()
    host = np.arange(5000.0)
    here = on(first, host)
    with second:
        arrived = gpuarray.zeros(5000, np.float64)
        second.synchronize()
    first.synchronize()
    with held_back(second) as (stream, gate):
        with second:
            drv.memcpy_peer_async(arrived.gpudata, here.gpudata, here.nbytes, second, first, stream)
        del here
        with first:
            assert set((gpuarray.zeros(100, np.float64) + 1).get()) == {1}
            others = [gpuarray.zeros(5000, np.float64) - k for k in range(3)]
        assert gate.holds()
        gate.open()
        stream.synchronize()
        assert (elsewhere(second, arrived) == host).all()
        assert [set(each.get()) for each in others] == [{0.0}, {-1.0}, {-2.0}]


def test_source_of_a_peer_copy(on_two_devices):
    on_two_devices(check_source_of_a_peer_copy)


def check_memory_of_a_copy_passed_on():
    """The memory of a copy that was used, and is still to be copied to another device, is not given to others
    before that: not to the stream that used it, nor to copies."""
    from pairs import on

    first, second = prepared()
    host = np.arange(6000.0)
    here, other = on(first, host), on(first, -host)
    with held_back(second) as (stream, gate):
        arrived = here.to_device(second)
        with second:
            with stream:
                back = arrived.to_device(first)
            used = arrived * 2
        del arrived
        with second:
            more = gpuarray.zeros(6000, np.float64) - 5
        again = other.to_device(second)
        assert gate.holds()
        gate.open()
        assert (back.get() == host).all() and (used.get() == 2 * host).all()
        assert (again.get() == -host).all() and set(more.get()) == {-5.0}


def test_memory_of_a_copy_passed_on(on_two_devices):
    on_two_devices(check_memory_of_a_copy_passed_on)


def check_named_streams():
    """A stream that is named, or current, has the copy: its event is after it."""
    from pairs import on

    first, second = prepared()
    here = on(first, np.arange(4000.0))
    with second:
        theirs = drv.Stream(drv.stream_flags.NON_BLOCKING)
    for named in False, True:
        with held_back(first) as (stream, gate):
            with first, stream:
                late = here + 1
            with second, contextlib.nullcontext() if named else theirs:
                arrived = late.to_device(second, stream=theirs if named else None)
                event = drv.Event().record(theirs)
            assert not event.query() and gate.holds()
            gate.open()
            event.synchronize()
            assert (arrived.get(stream=theirs) == np.arange(1, 4001)).all()


def test_named_streams(on_two_devices):
    on_two_devices(check_named_streams)


def check_contexts_end():
    """Neither a context nor a stream is left when a context that copies went to is detached or dropped."""
    from pairs import FIRST, on

    here = on(FIRST, np.arange(300.0))
    before = None
    for turn in range(6):
        own = drv.Device(1).make_context()
        own.pop()
        end = weakref.ref(own)
        arrived = here.to_device(own)
        assert (arrived.to_device(FIRST).get() == np.arange(300)).all()
        if turn % 3 == 0:
            del arrived
        if turn % 3 != 2:
            own.detach()
        arrived = own = None
        assert end() is None
        with FIRST:
            FIRST.synchronize()
        left = drv._live_objects()
        assert before in (None, left), (turn, before, left)
        before = left


def test_contexts_end(on_two_devices):
    on_two_devices(check_contexts_end)


def check_driver_calls():
    """A copy makes no events or streams, and as few calls as its order needs."""
    from pairs import on

    first, second = prepared()
    here = on(first, np.arange(100.0))
    arrived = [here.to_device(second) for _ in range(3)]
    del arrived[1:]  # memory for the next ones
    core = drv._driver
    most = {
        "cuEventCreate": 0, "cuEventDestroy": 0, "cuStreamCreate": 0, "cuMemAlloc": 0, "cuMemcpyPeerAsync": 1,
        "cuEventRecord": 2, "cuStreamWaitEvent": 2, "cuCtxPushCurrent": 1,
    }  # fmt: skip
    with first:
        before = {name: core._fault_count(name) for name in most}
        for _ in range(10):
            arrived[0] = here.to_device(second)
    made = {name: (core._fault_count(name) - count) / 10 for name, count in before.items()}
    assert made == most, made


def test_driver_calls(on_two_devices):
    on_two_devices(check_driver_calls, PYCUDA_FAULT_CALL="100000000")


def check_calls_fail():
    """A driver call that fails is an exception; what was there before is as it was, and copies go on."""
    from pairs import on

    first, second = prepared()
    host = np.arange(100.0)
    here = on(first, host)
    core, failed, before = drv._driver, [], None
    sys.unraisablehook = lambda _: None  # failures to enter a context are reported as well
    for n in itertools.count(1):
        own = drv.Device(1).make_context()
        own.pop()
        core._fault_arm(n, 999)
        with contextlib.suppress(drv.Error):
            here.to_device(own)
        failed.append(core._fault_failed())
        core._fault_arm(0)
        assert (here.to_device(own).get() == host).all() and (here.to_device(second).get() == host).all()
        own.detach()
        left = drv._live_objects()
        assert before in (None, left), (failed[-1], before, left)
        before = left
        if failed[-1] is None:
            break
    assert {"cuStreamCreate", "cuEventRecord", "cuStreamWaitEvent", "cuMemcpyPeerAsync"} <= {*failed}


def test_calls_fail(on_two_devices):
    on_two_devices(check_calls_fail, PYCUDA_FAULT_CALL="100000000")


class Stress:
    """Random copies and operations of one thread on arrays of its own; `shared` are read by all threads."""

    def __init__(self, seed, contexts, shared):
        self.random, self.contexts, self.shared = random.Random(seed), contexts, shared
        self.items = []  # (context, array, values)
        self.streams = {}
        for context in contexts:
            with context:
                self.streams[context] = [None, drv.Stream(), drv.Stream(drv.stream_flags.NON_BLOCKING)]

    def pick(self):
        return self.random.choice(self.items) if self.items and self.random.random() < 0.8 else self.make()

    def make(self):
        context, array, values = self.random.choice(self.shared)
        with context:
            number = self.random.randrange(10)
            self.items.append((context, array + number, values + number))
        return self.items[-1]

    def move(self):
        _, array, values = self.pick()
        context = self.random.choice(self.contexts)
        moved = array.to_device(context)
        if moved is not array:
            self.items.append((context, moved, values))

    def exchange(self):
        """Copies of all arrays in random order, half of which are dropped before they are used."""
        moved = []
        for (_, array, values), context in itertools.product(self.items[-4:] + self.shared, self.contexts):
            moved.append((context, array.to_device(context), values))
        self.random.shuffle(moved)
        for context, array, values in moved[::2]:
            with context:
                self.items.append((context, array * 2, values * 2))

    def write(self):
        index = self.random.randrange(len(self.items)) if self.items else None
        if index is None:
            return
        context, array, values = self.items[index]
        if any(array is other for place, (_, other, _) in enumerate(self.items) if place != index):
            return
        with context:
            array += 3
        self.items[index] = context, array, values + 3

    def join(self):
        some = [self.pick() for _ in range(3)]
        context = self.random.choice(self.contexts)
        with context:
            whole = devices.gather([array for _, array, _ in some], device=context)
        self.items.append((context, whole, np.concatenate([values for *_, values in some])))

    def check(self):
        context, array, values = self.pick()
        stream = self.random.choice(self.streams[context][:2])  # both follow the default stream
        with context:
            assert (array.get(stream=stream) == values).all()

    def drop(self):
        self.random.shuffle(self.items)
        del self.items[self.random.randrange(1, 6) :]

    def run(self, steps):
        for _ in range(steps):
            self.random.choice(
                [self.move] * 3 + [self.exchange, self.write, self.join, self.check, self.drop]
            )()
        for _, array, values in self.items:
            assert (array.get() == values).all()


def check_threads(seeds):
    from pairs import FIRST, SECOND, on

    hosts = [np.arange(n, dtype=np.float64) for n in (3, 1000, 4096, 20_000)]
    shared = [(context, on(context, host), host) for context in (FIRST, SECOND) for host in hosts]
    for seed in seeds:
        with ThreadPoolExecutor(4) as threads:
            runs = [Stress(4 * seed + k, [FIRST, SECOND], shared) for k in range(4)]
            for future in [threads.submit(each.run, 25) for each in runs]:
                future.result()
        for _, array, host in shared:
            assert (array.get() == host).all()


def test_threads(on_two_devices):
    on_two_devices(check_threads, range(4))
