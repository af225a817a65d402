"""Several Python threads at once: memory, launches, streams and contexts, on one device and on two."""

import threading

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray

THREADS, ROUNDS, N = 6, 15, 1000

PTX = b"""
.version 7.0
.target sm_50
.address_size 64
.visible .entry add(.param .u64 a, .param .u32 value, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [a];
    ld.param.u32 %r1, [value];
    ld.param.u32 %r2, [n];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r6, %r3, %r4, %r5;
    setp.ge.u32 %p1, %r6, %r2;
    @%p1 bra $L_end;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r6, 4;
    add.s64 %rd4, %rd2, %rd3;
    atom.global.add.u32 %r7, [%rd4], %r1;
$L_end:
    ret;
}
"""
SHAPE = {"block": (128, 1, 1), "grid": ((N + 127) // 128, 1)}


def at_once(work):
    """Runs work(0), work(1), ... in threads that start together; raises what one of them raised."""
    start, failures = threading.Barrier(THREADS), []

    def run(number):
        start.wait()
        try:
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def add_many(number, add):
    """Copies, launches kernels on a stream of its own and checks the results, ROUNDS times."""
    stream = drv.Stream()
    start = np.arange(N, dtype=np.int32) + number
    for round in range(ROUNDS):
        memory = drv.to_device(start)
        add(memory, np.int32(round), np.int32(N), stream=stream, **SHAPE)
        add(memory, np.int32(number), np.int32(N), stream=stream, **SHAPE)
        stream.synchronize()
        assert (drv.from_device_like(memory, start) == start + round + number).all()


def test_one_context_in_many_threads():
    add = drv.module_from_buffer(PTX).get_function("add")
    at_once(lambda number: add_many(number, add))


def test_one_array_in_many_threads():
    add = drv.module_from_buffer(PTX).get_function("add")
    total = gpuarray.zeros(N, np.int32)

    def work(number):
        for _ in range(ROUNDS):
            add(total, np.int32(number), np.int32(N), **SHAPE)

    at_once(work)
    drv.Context.synchronize()
    assert (total.get() == ROUNDS * sum(range(THREADS))).all()


def test_host_arguments_in_many_threads():
    add = drv.module_from_buffer(PTX).get_function("add")

    def work(number):
        values = np.zeros(N, np.int32)
        for _ in range(ROUNDS):
            add(drv.InOut(values), np.int32(number), np.int32(N), **SHAPE)
        assert (values == ROUNDS * number).all()

    at_once(work)


def test_a_context_for_each_thread():
    drv.init()

    def work(number):
        context = drv.Device(number % drv.Device.count()).make_context()
        try:
            add_many(number, drv.module_from_buffer(PTX).get_function("add"))
        finally:
            context.pop()
            context.detach()

    at_once(work)


def test_objects_dropped_by_another_thread():
    kept = [[] for _ in range(THREADS)]

    def make(number):
        for size in range(1, ROUNDS):
            kept[number] += [
                drv.mem_alloc(size * 100),
                drv.Stream(),
                drv.Event(),
                gpuarray.zeros(size, np.int32),
            ]

    at_once(make)
    at_once(lambda number: kept[(number + 1) % THREADS].clear())


@pytest.mark.parametrize("devices", [2])
def test_two_devices(run_python, devices):
    """Threads with contexts on different devices, in a process that has several; all objects are released."""
    done = run_python(
        f"""
        import sys
        sys.path.insert(0, {__file__.rpartition("/")[0]!r})
        import pycuda.driver as drv
        import test_shared_driver as tests
        from devices import on_cpu_device
        assert not on_cpu_device() or drv.Device.count() >= 2
        tests.test_a_context_for_each_thread()
        print(sorted(name for name, count in drv._live_objects().items() if count))
        """,
        env={"PYCUDA_CPU_DEVICES": str(devices)},
        check=True,
    )
    assert done.stdout == "[]\n"
