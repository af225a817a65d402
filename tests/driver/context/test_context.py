"""Contexts: the stack, sharing, life time, threads, fork and exit."""

import gc
import threading

import numpy as np
import pytest

import pycuda.driver as drv


@pytest.fixture
def device():
    drv.init()
    return drv.Device(0)


def in_thread(work):
    """Runs work() in a new thread; returns its result or raises its exception."""
    answers = []

    def run():
        try:
            answers.append((work(), None))
        except Exception as error:
            answers.append((None, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    value, error = answers[0]
    if error:
        raise error
    return value


# ---- The stack ----


def test_make_context_pushes_it(device):
    before = drv.Context.get_current()
    context = device.make_context()
    assert drv.Context.get_current() == context and context.handle != 0
    context.pop()
    assert drv.Context.get_current() == before
    context.detach()


def test_push_and_pop_nest(device):
    before = drv.Context.get_current()
    first, second = device.make_context(), device.make_context()
    first.push()
    assert drv.Context.get_current() == first
    drv.Context.pop()
    assert drv.Context.get_current() == second
    drv.Context.pop()
    assert drv.Context.get_current() == first
    drv.Context.pop()
    assert drv.Context.get_current() == before
    second.detach()
    first.detach()


def test_pop_of_an_empty_stack():
    def pop():
        with pytest.raises(drv.LogicError, match="failed:"):
            drv.Context.pop()
        return True

    assert in_thread(pop)


def test_with(device):
    """A context is current in its with block, and the previous one after it, also after an exception."""
    before = drv.Context.get_current()
    context = device.make_context()
    context.pop()
    with context as inside:
        assert inside is context and drv.Context.get_current() == context
    assert drv.Context.get_current() == before
    with pytest.raises(KeyError), context:
        raise KeyError
    assert drv.Context.get_current() == before
    context.detach()


def test_with_make_context_leaves_nothing(device):
    before = drv.Context.get_current()
    with device.make_context() as context:
        assert drv.Context.get_current() is context
        memory = drv.mem_alloc(4)
    assert drv.Context.get_current() == before
    with pytest.raises(KeyError), device.make_context():
        raise KeyError
    assert drv.Context.get_current() == before
    with context:
        del memory
    assert drv.Context.get_current() == before
    context.detach()


def test_with_on_a_context_that_is_already_current_keeps_it(device):
    """The with statement pops only what it pushed."""
    before = drv.Context.get_current()
    context = device.make_context()
    memory = drv.mem_alloc(4)
    with context:
        pass
    assert drv.Context.get_current() is context
    del memory
    context.pop()
    context.push()
    with context:
        pass
    assert drv.Context.get_current() is context
    context.pop()
    assert drv.Context.get_current() == before
    context.detach()


def test_with_that_detaches(device):
    before = drv.Context.get_current()
    context = device.make_context()
    context.pop()
    with context:
        context.detach()
    assert drv.Context.get_current() == before


def test_with_whose_body_leaves_another_context_on_top(device):
    context, other = device.make_context(), device.make_context()
    drv.Context.pop()
    drv.Context.pop()
    with pytest.raises(drv.LogicError, match="another context is current"), context:
        other.push()
    drv.Context.pop()
    drv.Context.pop()
    other.detach()
    context.detach()


def test_detach_of_the_current_one_makes_the_next_current(device):
    lower, upper = device.make_context(), device.make_context()
    upper.detach()
    assert drv.Context.get_current() == lower
    lower.detach()


def test_detach_passes_over_destroyed_contexts(device):
    """The next current context is the next one of the stack that still exists."""
    lowest, middle, top = device.make_context(), device.make_context(), device.make_context()
    middle.detach()
    assert drv.Context.get_current() == top
    top.detach()
    assert drv.Context.get_current() == lowest
    lowest.detach()


def test_detach_twice(device):
    context = device.make_context()
    context.detach()
    with pytest.raises(drv.LogicError, match="already detached"):
        context.detach()
    with pytest.raises(drv.LogicError, match="detached"):
        context.push()


def test_the_last_reference_ends_it(device):
    count = drv._driver._live_objects()["Context"]
    context = device.make_context()
    context.pop()
    assert drv._driver._live_objects()["Context"] == count + 1
    del context
    gc.collect()
    assert drv._driver._live_objects()["Context"] == count


def test_methods_act_on_the_current_context(device):
    first, second = device.make_context(), device.make_context()
    first.set_limit(drv.limit.PRINTF_FIFO_SIZE, 1 << 21)
    assert second.get_limit(drv.limit.PRINTF_FIFO_SIZE) == 1 << 21
    second.pop()
    assert first.get_limit(drv.limit.PRINTF_FIFO_SIZE) != 1 << 21
    first.pop()
    second.detach()
    first.detach()


# ---- Queries ----


def test_equality(device):
    primary = device.retain_primary_context()
    again = device.retain_primary_context()
    own = device.make_context()
    assert primary == again and hash(primary) == hash(again) and primary != own
    assert own != own.handle
    own.detach()


def test_queries_of_the_current_context(device):
    with device.retain_primary_context() as context:
        assert drv.Context.get_device() == device == context.get_device()
        assert context.get_api_version() >= 3010
        context.synchronize()
        drv.Context.synchronize()
        assert isinstance(context.get_cache_config(), drv.func_cache)
        context.set_cache_config(drv.func_cache.PREFER_NONE)
        with pytest.raises(TypeError):
            context.set_cache_config("L1")


def test_limits(device):
    context = device.make_context()
    context.set_limit(limit=drv.limit.STACK_SIZE, value=np.int64(4096))
    assert context.get_limit(int(drv.limit.STACK_SIZE)) == 4096
    with pytest.raises(drv.LogicError):
        context.get_limit(9999)
    context.detach()


def test_no_peers_within_one_device(device):
    first, second = device.make_context(), device.make_context()
    with pytest.raises(drv.LogicError, match="failed:"):
        second.disable_peer_access(first)
    with pytest.raises(TypeError, match="peer must be a Context"):
        second.enable_peer_access(0)
    second.detach()
    first.detach()


def test_contexts_are_not_constructed():
    with pytest.raises(TypeError):
        drv.Context()


# ---- The context that a thread gets without making one ----


def test_a_thread_without_a_context_gets_the_primary_one(device):
    def work():
        assert drv.Context.get_current() is None
        memory = drv.mem_alloc(16)
        current = drv.Context.get_current()
        return current == device.retain_primary_context() and memory.size == 16

    assert in_thread(work)


def test_the_default_device_may_be_chosen(run_python):
    program = """
        import pycuda.driver as drv
        try:
            drv.mem_alloc(4)
            print(drv.Context.get_device().handle)
        except drv.LogicError as error:
            print(error)
        """
    assert run_python(program, env={"CUDA_DEVICE": "0"}, check=True).stdout == "0\n"
    assert "invalid device ordinal" in run_python(program, env={"CUDA_DEVICE": "99"}, check=True).stdout
    assert 'CUDA_DEVICE is "nine"' in run_python(program, env={"CUDA_DEVICE": "nine"}, check=True).stdout


def test_the_default_device_is_read_from_a_file(run_python, tmp_path):
    """~/.cuda_device, where CUDA_DEVICE is not set."""
    (tmp_path / ".cuda_device").write_text("99\n")
    done = run_python(
        """
        import pycuda.driver as drv
        try:
            drv.mem_alloc(4)
        except drv.LogicError as error:
            print(error)
        """,
        env={"CUDA_DEVICE": None, "HOME": str(tmp_path)},
        check=True,
    )
    assert "device 99" in done.stdout


def test_the_default_context_becomes_current_again(device):
    """A pop returns to the context that a call without a context made current."""

    def work():
        drv.mem_alloc(16).free()
        default = drv.Context.get_current()
        context = device.make_context()
        drv.Context.pop()
        context.detach()
        return drv.Context.get_current() == default

    assert in_thread(work)


# ---- Life time ----


def test_memory_keeps_its_context(device):
    count = drv._driver._live_objects()["Context"]
    context = device.make_context()
    memory = drv.mem_alloc(100)
    context.pop()
    del context
    gc.collect()
    assert drv._driver._live_objects()["Context"] == count + 1
    del memory
    assert drv._driver._live_objects()["Context"] == count


def test_objects_of_a_destroyed_context_are_refused(device):
    """Every use is an error; free() is accepted, since the memory is already freed."""
    context = device.make_context()
    memory, stream, event = drv.mem_alloc(100), drv.Stream(), drv.Event()
    context.detach()
    with pytest.raises(drv.LogicError, match="is gone"):
        drv.memcpy_htod(memory, b"1234")
    with pytest.raises(drv.LogicError, match="is gone"):
        stream.synchronize()
    with pytest.raises(drv.LogicError, match="is gone"):
        event.record()
    with pytest.raises(drv.LogicError, match="is gone"):
        int(memory)
    memory.free()


def test_release_from_another_thread_and_context(device):
    context = device.make_context()
    held = [drv.mem_alloc(1 << 20), drv.Stream(), drv.Event(), drv.pagelocked_empty(100, np.float32)]
    drv.Context.pop()
    live = drv._driver._live_objects()

    def work():
        held.clear()
        return drv.Context.get_current()

    assert in_thread(work) is None
    after = drv._driver._live_objects()
    for name in ("DeviceAllocation", "Stream", "Event", "PagelockedHostAllocation"):
        assert after[name] == live[name] - 1
    context.detach()


def test_a_detached_primary_context_stays_while_it_is_used(run_python):
    done = run_python(
        """
        import numpy as np
        import pycuda.driver as drv
        drv.init()
        context = drv.Device(0).retain_primary_context()
        context.push()
        memory = drv.to_device(np.arange(4))
        context.detach()
        with drv.Device(0).retain_primary_context():
            print(drv.from_device(memory, 4, int))
        del memory
        print(drv._driver._live_objects()["DeviceAllocation"])
        """,
        check=True,
    )
    assert done.stdout == "[0 1 2 3]\n0\n" and done.stderr == ""


def test_a_context_may_be_destroyed_by_another_thread(device):
    context = device.make_context()
    drv.Context.pop()
    in_thread(context.detach)
    with pytest.raises(drv.LogicError):
        context.push()


def test_each_thread_has_its_own_stack(device):
    """Four threads push and pop a shared context on top of their own one."""
    shared = device.make_context()
    drv.Context.pop()

    def work():
        own = device.make_context()
        for _ in range(20):
            with shared:
                memory = drv.to_device(np.arange(100))
                assert (drv.from_device(memory, 100, int) == np.arange(100)).all()
            assert drv.Context.get_current() == own
        own.detach()
        return True

    threads = [threading.Thread(target=lambda: done.append(work())) for _ in range(4)]
    done = []
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [True] * 4
    shared.detach()


# ---- The end of threads, processes and children ----


def test_a_thread_may_end_with_contexts_on_its_stack(run_python):
    done = run_python(
        """
        import threading
        import pycuda.driver as drv
        drv.init()
        def work():
            drv.Device(0).make_context()
            drv.Device(0).make_context()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        print(drv._driver._live_objects()["Context"])
        """,
        check=True,
    )
    assert done.stdout == "0\n" and done.stderr == ""


@pytest.mark.parametrize(
    "ending",
    [
        "pass",
        "raise SystemExit(0)",
        "import os; os._exit(0)",
        "del context",
        "context.detach()",
        "import sys; sys.exit()",
    ],
)
def test_every_way_to_end_a_process_is_silent(run_python, ending):
    done = run_python(
        f"""
        import numpy as np
        import pycuda.driver as drv
        drv.init()
        context = drv.Device(0).make_context()
        stream, event = drv.Stream(), drv.Event()
        memory = drv.mem_alloc(1 << 20)
        host = drv.pagelocked_zeros(1 << 18, np.float32)
        managed = drv.managed_zeros(10, np.float32)
        drv.memcpy_htod_async(memory, host, stream)
        event.record(stream)
        loop = [memory, stream]
        loop.append(loop)
        {ending}
        """,
        check=True,
    )
    assert done.stdout == "" and done.stderr == ""


def test_objects_may_be_released_in_exit_hooks(run_python):
    done = run_python(
        """
        import atexit
        import pycuda.driver as drv
        class Late:
            def __del__(self):
                self.memory = None
        late = Late()
        late.memory = drv.mem_alloc(100)
        atexit.register(lambda: drv.mem_alloc(10).free())
        """,
        check=True,
    )
    assert done.stderr == ""


def test_every_call_in_a_forked_child_is_refused(run_python):
    """Each of nine calls raises an error that names the fork; releases are silent, and the parent goes on."""
    done = run_python(
        """
        import os
        import pycuda.driver as drv
        import numpy as np
        from forking import fork
        memory, stream, context = drv.to_device(np.arange(4)), drv.Stream(), drv.Context.get_current()
        child = fork()
        if child == 0:
            calls = [lambda: drv.mem_alloc(4), lambda: drv.memcpy_htod(memory, b"1"), stream.synchronize,
                     context.push, drv.Context.synchronize, drv.Device.count, lambda: drv.Device(0),
                     lambda: drv.Event(), drv.init]
            refused = 0
            for call in calls:
                try:
                    call()
                except drv.Error as error:
                    refused += "forked" in str(error)
            del memory, stream, context
            print(refused, flush=True)
            raise SystemExit(0)
        _, status = os.waitpid(child, 0)
        print(status, drv.from_device(memory, 4, int))
        """,
        check=True,
    )
    assert done.stdout == "9\n0 [0 1 2 3]\n" and done.stderr == ""


def test_a_child_forked_before_cuda_was_used_works(run_python):
    done = run_python(
        """
        import os
        import pycuda.driver as drv
        child = os.fork()
        status = os.waitpid(child, 0)[1] if child else None
        memory = drv.mem_alloc(16)
        print(memory.size, status, flush=True)
        """,
        check=True,
    )
    assert done.stdout == "16 None\n16 0\n"
