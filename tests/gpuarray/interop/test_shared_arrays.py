"""GPUArrays in other processes: pycuda.ipc.share, and pickle. Each test is a program that starts others."""

import importlib.util
import os

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray, ipc

COMMON = """
import collections, gc, multiprocessing, os, pickle, signal, subprocess, sys, time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda import ipc

spawn = multiprocessing.get_context("spawn")


def add(a, k):
    "Adds k to the elements; returns the sum and whether the array is in another process's memory."
    a += k
    result = float(a.sum().get()), drv._live_objects()["IPCMemoryHandle"]
    return result


def left():
    "How many handles are open in this process once its garbage was collected."
    gc.collect()
    return drv._live_objects()["IPCMemoryHandle"]


def until(count, seconds=10):
    "Waits until so many arrays are kept for other processes."
    end = time.monotonic() + seconds
    while ipc.collect() != count and time.monotonic() < end:
        time.sleep(0.01)
    assert ipc.collect() == count, ipc.collect()


def active():
    from pycuda.tools import default_memory_pool

    return default_memory_pool().active_blocks
"""


@pytest.fixture
def run(run_python):
    """Runs COMMON, definitions and the main program; the result is what it printed."""

    def run(main, definitions="", **env):
        lines = "".join(f"    {line}\n" for line in main.strip().splitlines())
        source = f'{COMMON}\n{definitions}\nif __name__ == "__main__":\n{lines}'
        done = run_python(source, fresh=True, env=env)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout.splitlines()

    return run


def test_pools_of_processes(run):
    """multiprocessing.Pool and ProcessPoolExecutor: by bytes, and by handle when asked for."""
    assert run("""
a = gpuarray.zeros((10, 10), float)
with spawn.Pool(1) as pool, ProcessPoolExecutor(1, mp_context=spawn) as executor:
    for call in pool.apply, lambda function, given: executor.submit(function, *given).result():
        assert call(add, (a, 1)) == (100, 0) and float(a.sum().get()) == 0
        assert call(add, (ipc.share(a), 1)) == (100, 1)
        assert float(a.sum().get()) == 100
        view = a[::2, 1:][::-1]
        assert call(add, (ipc.share(view), 2)) == (45 * 3, 1) and float(a.sum().get()) == 100 + 45 * 2
        a.fill(0)
        kept = ipc.share(a.T)
        for turn in range(1, 4):
            assert call(add, (kept, 1)) == (100 * turn, 1)
        assert call(left, ()) == 0
        a.fill(0)
        kept.close()
        until(0)
print(active())
del a, view, kept
gc.collect()
print(active())
""") == ["1", "0"]


def test_views_and_dtypes(run):
    """What arrives has the same elements, shape, strides, dtype and flag."""
    run("""
host = np.arange(60.0).reshape(3, 4, 5)
a = gpuarray.to_gpu(host)
record = np.zeros(3, np.dtype([("x", "i4"), ("y", "f8")], align=True))
record["x"] = 1, 2, 3
arrays = [a, a.T, a[::-1, 1:, ::2], a[1, 2, 3], a[:0], a[2:, 3], gpuarray.to_gpu(record), a.astype("F"),
          gpuarray.to_gpu(record)["y"], np.broadcast_to(a[0, 0], (2, 5)),
          np.broadcast_to(a[:0], (2, 0, 4, 5))]
with spawn.Pool(1) as pool:
    for array, got in zip(arrays, pool.map(describe, [ipc.share(each) for each in arrays])):
        values, strides, writeable = got
        assert (values == array.get()).all() and values.dtype == array.dtype
        assert values.shape == array.shape and (strides == array.strides or not array.size)
        assert writeable == array.flags.writeable
del arrays, array
until(0)
""", """
def describe(a):
    return a.get(), a.strides, a.flags.writeable
""")  # fmt: skip


def test_order_of_work(run):
    """Work that is queued on the array is done when the other process reads it, the other's when it ends."""
    run("""
a = gpuarray.zeros(100_000, np.float32)
stream = drv.Stream(drv.stream_flags.NON_BLOCKING)
with spawn.Pool(1) as pool:
    for turn in range(1, 6):
        with stream:
            for _ in range(20):
                a += 1
        assert pool.apply(add, (ipc.share(a), 0))[0] == 20 * turn * 100_000
    for turn in range(1, 6):
        shared = ipc.share(a)
        pool.apply(add_late, (shared,))
        shared.close()      # not only dropped: a thread of the pool may have it a little longer
        until(0)
        assert set(a.get()) == {100 + 20 * turn}
""", """
def add_late(a):
    for _ in range(20):
        a += 1
""")  # fmt: skip


def test_lifetime(run):
    """The memory lives as long as either process has the array, and is freed once."""
    run("""
with spawn.Pool(1) as pool:
    pool.apply(work, (ipc.share(gpuarray.zeros(1000, float) + 1), "keep"))
    until(1)                                        # only the other process has it
    assert active() == 1
    for _ in range(5):
        gpuarray.zeros(1000, float).fill(-1)        # gets other memory
    assert pool.apply(work, (None, "sum")) == 1000
    pool.apply(work, (None, "view"))
    assert pool.apply(work, (None, "sum")) == 500 and ipc.collect() == 1
    pool.apply(work, (None, "drop"))
    assert pool.apply(left) == 0
    gc.collect()                                    # finds out by itself
    assert active() == 0 == ipc.collect()

    with ipc.share(gpuarray.zeros(10, float)) as shared:    # two messages, two arrays there, one mapping
        pool.apply(work, (shared, "keep"))
        assert pool.apply(work, (shared, "handles")) == 1
        pool.apply(work, (None, "drop"))
        pool.apply(left)
    until(0)

    message = pickle.dumps(ipc.share(gpuarray.zeros(10, float)))    # on its way
    gc.collect()
    assert ipc.collect() == 1
    assert pool.apply(load, (message,)) == 0
    until(0)
    try:
        pool.apply(load, (message,))
    except ipc.OwnerGone as error:
        assert f"by process {os.getpid()}, which has ended or released it" in str(error)

    shared = ipc.share(gpuarray.zeros(10, float))
    message = pickle.dumps(shared)
    shared.close()
    assert ipc.collect() == 0
    for call in (lambda: pool.apply(load, (message,))), (lambda: pickle.loads(message)):
        try:
            call()
        except ipc.OwnerGone as error:
            pass
        else:
            raise AssertionError
    try:
        pickle.dumps(shared)
    except ValueError as error:
        assert "was closed" in str(error)
assert active() == 1    # that of the name `shared`
""", """
kept = {}

def work(a, what):
    global kept
    if what == "keep":
        kept["a"] = a
    if what == "view":
        kept["a"] = kept["a"][::2]
    if what == "drop":
        kept.clear()
    if what == "handles":
        return drv._live_objects()["IPCMemoryHandle"]
    return what == "sum" and float(kept["a"].sum().get())

def load(message):
    return float(pickle.loads(message).sum().get())
""")  # fmt: skip


def test_processes_that_die(run):
    """A killed process gives up what it had. Of a killed owner nothing can be opened, and nothing is left."""
    run("""
child, end = start(hold)
end.send(ipc.share(gpuarray.zeros(100, float)))
assert end.recv() == 0
assert ipc.collect() == 1
os.kill(child.pid, signal.SIGKILL)
child.join()
until(0)

owner, end = start(own)
message, folder = end.recv()
assert os.path.isdir(folder)
os.kill(owner.pid, signal.SIGKILL)
owner.join()
try:
    pickle.loads(message)
except ipc.OwnerGone as error:
    assert f"process {owner.pid}" in str(error)
else:
    raise AssertionError
assert drv._live_objects()["IPCMemoryHandle"] == 0
another, end = start(own)       # cleans up
_, its_folder = end.recv()
assert not os.path.isdir(folder) and os.path.isdir(its_folder)
another.kill()
another.join()
""", """
def start(function):
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=function, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    return process, ours

def hold(end):
    a = end.recv()
    end.send(float(a.sum().get()))
    time.sleep(100)

def own(end):
    from pycuda._array.interop.process_leases import own_folder

    shared = ipc.share(gpuarray.zeros(10, float))
    end.send((pickle.dumps(shared), str(own_folder())))
    time.sleep(100)
""")  # fmt: skip


def test_memory_that_has_no_handle(run):
    """A copy is shared, once."""
    run("""
from pycuda.tools import ManagedMemoryPool, StreamOrderedMemoryPool

drv.init()
with drv.Device(0).retain_primary_context(), spawn.Pool(1) as pool:
    for allocator in ManagedMemoryPool(), StreamOrderedMemoryPool():
        a = gpuarray.to_gpu(np.arange(12.0).reshape(3, 4), allocator=allocator)
        shared = ipc.share(a.T)
        for turn in range(1, 3):
            assert pool.apply(add, (shared, 1)) == (66 + 12 * turn, 1)
        assert float(a.sum().get()) == 66 and (shared.array.get() == a.get().T + 2).all()
        try:
            ipc.share(a, copy=False)
        except ValueError as error:
            assert "cannot be shared with other processes" in str(error)
        else:
            raise AssertionError
        shared.close()
    a = gpuarray.zeros(5, float)
    shared = ipc.share(a, copy=True)
    assert pool.apply(add, (shared, 1))[0] == 5 == 5 + a.sum().get() and shared.array is not a
    with ProcessPoolExecutor(1, mp_context=spawn) as outer:    # whose workers may start others
        assert outer.submit(relay, ipc.share(a)).result() == [1, 1, 1, 1, 1]
    a.gpudata.free()
    try:
        ipc.share(a)
    except drv.LogicError as error:
        assert "was freed" in str(error)
    del shared
""", """
def relay(a):
    "Memory of another process is copied when it is shared."
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        shared = ipc.share(a)
        assert shared.array is not a
        pool.submit(add, shared, 1).result()
        return shared.array.get().tolist()
""")  # fmt: skip


@pytest.mark.skipif(importlib.util.find_spec("joblib") is None, reason="joblib is not installed")
def test_joblib(run):
    run("""
import joblib

a = gpuarray.zeros(100_000, float)
shared = [ipc.share(a[part]) for part in (np.s_[:50_000], np.s_[50_000:])]
work = joblib.delayed(add)
assert joblib.Parallel(2)(work(each, k + 1) for k, each in enumerate(shared)) == [(5e4, 1), (1e5, 1)]
assert float(a.sum().get()) == 150_000
assert joblib.Parallel(2)(work(a, 1) for _ in range(2)) == [(250_000, 0)] * 2
from joblib.externals.loky import get_reusable_executor

get_reusable_executor().shutdown(wait=True)
""")


def test_two_devices(run):
    """An array of the second device, to a process that has another device as its first."""
    lines = run(
        """
drv.init()
if drv.Device.count() < 2:
    print("one device")
    sys.exit()
second = drv.Device(1).retain_primary_context()
with second:
    a = gpuarray.zeros(10, float)
queue, answers = spawn.Queue(), spawn.Queue()
child = spawn.Process(target=work, args=(queue, answers), daemon=True)
child.start()
queue.put(ipc.share(a))
assert answers.get(timeout=60) == (1, 10.0)
child.join()
assert float(a.get().sum()) == 10
""",
        """
def work(queue, answers):
    a = queue.get()
    with a.device.retain_primary_context():
        a += 1
        answers.put((a.device.handle, float(a.sum().get())))
""",
        PYCUDA_CPU_DEVICES="2",
    )
    if lines:
        pytest.skip("needs two GPUs")


def test_in_one_process(primary_context):
    """Nothing is opened: the array comes back, as long as it is there."""
    import pickle

    a = gpuarray.to_gpu(np.arange(5.0))
    with ipc.share(a) as shared:
        assert shared.array is a
        assert pickle.loads(pickle.dumps(shared)) is a
        assert repr(shared) == "<pycuda.ipc.SharedArray of shape (5,), float64>"
    with ipc.share(a[1:]) as shared:
        message = pickle.dumps(shared)
        assert pickle.loads(message).get().tolist() == [1, 2, 3, 4]
    assert ipc.collect() == 0
    with pytest.raises(ipc.OwnerGone, match="released in this process"):
        pickle.loads(message)
    with pytest.raises(TypeError, match="array must be a GPUArray, not ndarray"):
        ipc.share(np.arange(5))
    assert drv._live_objects()["IPCMemoryHandle"] == 0


def test_in_a_capture(primary_context):
    """A wait that would end the capture is refused, and the capture goes on."""
    import pickle

    a, shared, stream = gpuarray.zeros(5, float), ipc.share(gpuarray.zeros(5, float)), drv.Stream()
    with stream.capture() as graph, stream:
        a += 1
        for call, given in (ipc.share, a), (pickle.dumps, shared):
            with pytest.raises(drv.LogicError, match="cannot be waited for in a capture"):
                call(given)
        a += 1
    graph.instantiate().launch(stream)
    assert a.get().tolist() == [2] * 5
    shared.close()


def test_files_go_with_the_process(run):
    folder = run("""
from pycuda._array.interop.process_leases import own_folder

shared = ipc.share(gpuarray.zeros(10, float))
message = pickle.dumps(shared)
print(own_folder())
assert len(os.listdir(own_folder())) == 3    # the owner's lock, the array's, the message
""")
    assert not os.path.exists(folder[0])
