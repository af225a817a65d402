"""Host copies of large arrays in pickles and in messages of distributed: page-locked, up to a limit."""

import gc
import os
import pickle
import threading

import numpy as np
import pytest
from forking import under_asan

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda._array.interop import host_copies
from pycuda.tools import PooledHostAllocation, clear_context_caches

pytestmark = pytest.mark.no_faults("what cannot be page-locked is copied to other memory, without an error")

COUNT = 1 << 18  # float32: 1 MiB
HOST = np.arange(COUNT, dtype=np.float32)


@pytest.fixture
def pool(primary_context):
    """The pool of the current context, with nothing in it."""
    clear_context_caches()
    yield host_copies._pool()
    drv.Context.synchronize()
    clear_context_caches()


@pytest.fixture
def limited(monkeypatch):
    """A function that sets the limit."""

    def limit(size):
        monkeypatch.setattr(host_copies, "limit", lambda: size)
        clear_context_caches()

    yield limit
    monkeypatch.undo()
    clear_context_caches()


def pickled(array):
    """(pickle, buffers)"""
    buffers = []
    return pickle.dumps(array, 5, buffer_callback=buffers.append), buffers


def owner(buffer):
    """What the memory of a buffer belongs to."""
    base = memoryview(buffer).obj
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    return base


def is_page_locked(buffer):
    return type(owner(buffer)) is PooledHostAllocation


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_pickles_are_those_of_other_copies(pool, order, protocol):
    array = gpuarray.to_gpu(np.asarray(HOST.reshape(512, 512), order=order))
    again = pickle.loads(pickle.dumps(array, protocol))
    assert (again.get() == array.get()).all() and again.strides == array.strides
    assert (pool.active_blocks, pool.held_blocks) == (0, 1)
    strided = pickle.loads(pickle.dumps(array[::2, 1:], protocol))
    assert (strided.get() == array.get()[::2, 1:]).all()


def test_a_block_is_used_until_the_buffer_goes(pool):
    array = gpuarray.to_gpu(HOST)
    text, buffers = pickled(array)
    assert is_page_locked(buffers[0]) and (pool.active_blocks, pool.held_blocks) == (1, 0)
    view = np.frombuffer(buffers[0], np.float32)[5:10]
    del buffers, array
    assert pool.active_blocks == 1 and view.tolist() == [5, 6, 7, 8, 9]
    del view
    assert (pool.active_blocks, pool.held_blocks) == (0, 1)
    again, buffers = pickled(gpuarray.to_gpu(HOST + 1))
    assert (pool.active_blocks, pool.held_blocks) == (1, 0)  # the same block
    assert (pickle.loads(again, buffers=buffers).get() == HOST + 1).all()


def test_small_arrays_take_no_block(pool):
    _, buffers = pickled(gpuarray.to_gpu(HOST[:100]))
    assert not is_page_locked(buffers[0]) and pool.managed_bytes == 0


def test_messages_of_distributed(pool):
    protocol = pytest.importorskip("distributed").protocol
    for order in "CF":
        array = gpuarray.to_gpu(np.asarray(HOST.reshape(512, 512), order=order))
        pickle.dumps(array[0])  # registers, if distributed was imported later
        header, frames = protocol.serialize(array, serializers=["dask"], on_error="raise")
        assert is_page_locked(frames[0]) and pool.active_blocks == 1
        del array
        got = protocol.deserialize(header, frames)
        assert (got.get() == HOST.reshape(512, 512)).all() and got.flags.forc
        del frames
        assert pool.active_blocks == 0


def test_beyond_the_limit_memory_is_not_page_locked(limited, primary_context):
    limited(5 << 19)  # two arrays, not three
    array, kept = gpuarray.to_gpu(HOST), []
    for _ in range(4):
        kept.append(pickled(array))
    assert [is_page_locked(buffers[0]) for _, buffers in kept] == [True, True, False, False]
    assert all((np.frombuffer(buffers[0], np.float32) == HOST).all() for _, buffers in kept)
    del kept[0]
    assert is_page_locked(pickled(array)[1][0])


def test_blocks_of_other_sizes_make_room(limited, primary_context):
    limit = 5 << 20
    limited(limit)
    pool = host_copies._pool()
    for count in [COUNT, COUNT // 2, 3 * COUNT, 2 * COUNT, 4 * COUNT, COUNT] * 2:
        array = gpuarray.to_gpu(np.full(count, count, np.float32))
        text, buffers = pickled(array)
        assert is_page_locked(buffers[0]) and pool.managed_bytes <= limit
        assert (pickle.loads(text, buffers=buffers).get() == count).all()
        del buffers


def test_without_page_locked_memory(monkeypatch, primary_context):
    def fail():
        raise drv.MemoryError("none is left")

    monkeypatch.setattr(host_copies, "_pool", fail)
    text, buffers = pickled(gpuarray.to_gpu(HOST))
    assert not is_page_locked(buffers[0])
    assert (pickle.loads(text, buffers=buffers).get() == HOST).all()


def test_buffers_outlive_their_context(limited):
    """The memory stays, and is freed with its last user, after the context has been destroyed."""
    context = drv.Device(0).make_context()
    try:
        _, buffers = pickled(gpuarray.to_gpu(HOST))
        _, others = pickled(gpuarray.to_gpu(HOST))
        del others  # held by the pool
    finally:
        context.pop()
        context.detach()
    found = np.frombuffer(buffers[0], np.float32)
    assert is_page_locked(buffers[0]) and (found == HOST).all()
    found[:] = 3  # as a deserializer may
    assert found.sum() == 3 * COUNT
    del found, buffers
    gc.collect()
    assert drv._driver._live_objects()["PooledHostAllocation"] == 0


def test_buffers_outlive_the_pool(pool):
    text, buffers = pickled(gpuarray.to_gpu(HOST))
    clear_context_caches()
    assert host_copies._pool() is not pool
    del pool
    gc.collect()
    assert (pickle.loads(text, buffers=buffers).get() == HOST).all()


def test_threads_without_a_context(pool):
    """As in distributed, whose threads for serialization have none of their own: in turns and together."""
    arrays, problems = [gpuarray.to_gpu(HOST + number) for number in range(4)], []

    def work(number):
        try:
            for _ in range(20):
                text, buffers = pickled(arrays[number])
                again = pickle.loads(text, buffers=buffers)
                if not (again.get() == HOST + number).all() or not is_page_locked(buffers[0]):
                    problems.append(number)
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == [] and pool.active_blocks == 0


@pytest.mark.skipif(under_asan(), reason="a forked child of the sanitizer's process")
def test_a_forked_child_reads_buffers(pool):
    _, buffers = pickled(gpuarray.to_gpu(HOST))
    found = np.frombuffer(buffers[0], np.float32)
    child = os.fork()
    if not child:
        os._exit(int(not (found == HOST).all()))
    assert os.waitpid(child, 0)[1] == 0


def test_the_setting(run_python):
    source = """
        import pickle
        import numpy as np
        import pycuda.autoprimaryctx
        from pycuda import gpuarray
        from pycuda._array.interop import host_copies

        buffers = []
        array = gpuarray.to_gpu(np.ones(1 << 20, np.float32))
        pickle.dumps(array, 5, buffer_callback=buffers.append)
        print(host_copies.limit(), type(memoryview(buffers[0]).obj.base).__name__)
    """
    for setting, expected in ("0", "0 NoneType"), ("3", f"{3 << 20} NoneType"):
        done = run_python(source, env={"PYCUDA_PAGELOCKED_MIB": setting}, check=True)
        assert done.stdout.strip() == expected
    done = run_python(source, env={"PYCUDA_PAGELOCKED_MIB": "16"}, check=True)
    assert done.stdout.strip() == f"{16 << 20} PooledHostAllocation"
    done = run_python(source, env={"PYCUDA_PAGELOCKED_MIB": "much"})
    assert "PYCUDA_PAGELOCKED_MIB" in done.stderr and "MiB" in done.stderr


def test_without_a_driver_arrays_are_not_unpickled(run_python, tmp_path, pool):
    """On another machine: the error is that of the first call of the driver."""
    text, buffers = pickled(gpuarray.to_gpu(HOST))
    (tmp_path / "array.pickle").write_bytes(pickle.dumps((text, [bytes(each) for each in buffers])))
    done = run_python(
        f"""
        import pickle

        text, buffers = pickle.load(open({str(tmp_path / "array.pickle")!r}, "rb"))
        try:
            pickle.loads(text, buffers=buffers)
        except Exception as problem:
            from pycuda import driver

            print(isinstance(problem, driver.Error))
        """,
        env={"PYCUDA_DEVICE": "gpu", "PYCUDA_DRIVER": None, "CUDA_VISIBLE_DEVICES": "-1"},
        check=True,
    )
    assert done.stdout.strip() == "True"


def test_exit_with_buffers_alive(run_python):
    done = run_python(
        """
        import pickle
        import sys
        import numpy as np
        import pycuda.autoinit
        from pycuda import gpuarray

        sys.kept = []
        array = gpuarray.to_gpu(np.ones(1 << 20, np.float32))
        for _ in range(3):
            pickle.dumps(array, 5, buffer_callback=sys.kept.append)
        sys.kept.pop()
        """,
        check=True,
    )
    assert done.stdout + done.stderr == ""
