"""Memory and events between processes: each test starts two fresh ones, which talk through a pipe."""

from pathlib import Path

import numpy as np
import pytest
from devices import on_cpu_device

import pycuda.driver as drv

# What both processes have: kernels, and reads of memory.
COMMON = (
    f"LATE = {str(Path(__file__).parents[1] / 'late.ptx')!r}"
    + '''
import subprocess
import sys

import numpy as np

import pycuda.driver as drv

N = 64
module = drv.module_from_file(LATE)
add, spin = module.get_function("add"), module.get_function("spin")
BOTH = drv.event_flags.INTERPROCESS | drv.event_flags.DISABLE_TIMING


def read(memory, stream=None):
    host = drv.pagelocked_zeros(N, np.int32)
    drv.memcpy_dtoh_async(host, memory, stream or drv.Stream())
    drv.Context.synchronize()
    return host.copy()


def add_late(memory, value, stream, seconds=0.7):
    """Work that is not done yet when this returns."""
    spin(np.uint64(seconds * 1e9), block=(1, 1, 1), stream=stream)
    add(memory, np.int32(value), block=(N, 1, 1), stream=stream)
'''
)

# The parent sends handles as lines of hexadecimal numbers, the child answers with lines of text.
PARENT = """
class Child:
    def __init__(self, script):
        ends = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process = subprocess.Popen([sys.executable, script], **ends)
        assert self.hear() == "here"

    def send(self, *handles):
        print(*(bytes(handle).hex() for handle in handles), file=self.process.stdin, flush=True)

    def hear(self):
        return self.process.stdout.readline().strip()

    def end(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


child = Child(SCRIPT)
"""

CHILD = """
def send(*words):
    print(*words, flush=True)


def hear():
    return [bytes.fromhex(word) for word in sys.stdin.readline().split()]


send("here")
"""


@pytest.fixture
def two_processes(run_python, tmp_path):
    """Runs the parent's and the child's program; returns what the parent printed."""

    def run(parent, child, **kwargs):
        script = tmp_path / "child.py"
        script.write_text(COMMON + CHILD + child)
        done = run_python(f"SCRIPT = {str(script)!r}\n" + COMMON + PARENT + parent, **kwargs)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout.split()

    return run


def test_memory(two_processes):
    """A small allocation, whose neighbors in the same block stay as they are, and a large one: the child
    changes them by a kernel, a copy and a fill; both see what the other has written."""
    output = two_processes(
        """
start = np.arange(N, dtype=np.int32)
before, memory, after = (drv.to_device(start) for _ in range(3))
large = drv.mem_alloc(5_000_000)
drv.memset_d32(large, 1, 5_000_000 // 4)
drv.Context.synchronize()
handles = [drv.mem_get_ipc_handle(one) for one in (memory, large)]
assert all(type(handle) is bytearray and len(handle) == 64 for handle in handles)
child.send(*handles)
assert child.hear() == "done"
assert (read(memory) == 2 * (start + 5)).all()
assert (read(before) == start).all() and (read(after) == start).all()
assert (drv.from_device(large, 5_000_000 // 4, np.int32) == 9).all()
add(memory, np.int32(1), block=(N, 1, 1))
drv.Context.synchronize()
child.send()
assert child.hear() == "seen"
child.end()
print("fine")
""",
        """
memory, large = (drv.IPCMemoryHandle(handle) for handle in hear())
assert int(memory) and int(memory) != int(large)
add(memory, np.int32(5), block=(N, 1, 1))
values = read(memory)
drv.memcpy_htod(memory, values * 2)
drv.memset_d32(large, 9, 5_000_000 // 4)
drv.Context.synchronize()
send("done")
hear()
assert (read(memory) == values * 2 + 1).all()
memory.close()
try:
    memory.close()
except drv.LogicError as problem:
    assert "already closed" in str(problem)
try:
    int(memory)
except drv.LogicError as problem:
    send("seen")
""",
    )
    assert output == ["fine"]


def test_opened_twice(two_processes):
    """Both handles are the same memory at the same address, which is usable until both are closed; then it
    can be opened again."""
    output = two_processes(
        """
memory = drv.to_device(np.zeros(N, np.int32))
child.send(drv.mem_get_ipc_handle(memory))
assert child.hear() == "done"
child.end()
print(set(read(memory).tolist()))
""",
        """
(handle,) = hear()
first, second = drv.IPCMemoryHandle(handle), drv.IPCMemoryHandle(handle)
assert int(first) == int(second)
first.close()
add(second, np.int32(3), block=(N, 1, 1))
drv.Context.synchronize()
second.close()
third = drv.IPCMemoryHandle(handle)
add(third, np.int32(3), block=(N, 1, 1))
drv.Context.synchronize()
send("done")
""",
    )
    assert output == ["{6}"]


def test_event_of_the_other_process(two_processes):
    """Each process waits for work that the other one has queued and that is still running."""
    output = two_processes(
        """
stream, event = drv.Stream(), drv.Event(BOTH)
memory = drv.to_device(np.zeros(N, np.int32))
add_late(memory, 7, stream)
event.record(stream)
child.send(drv.mem_get_ipc_handle(memory), event.ipc_handle())
assert child.hear() == "recorded"
stream.wait_for_event(event)
assert set(read(memory, stream).tolist()) == {16}
event.synchronize()
assert event.query()
child.end()
print("fine")
""",
        """
memory, event = hear()
memory, event = drv.IPCMemoryHandle(memory), drv.Event.from_ipc_handle(event)
stream = drv.Stream()
stream.wait_for_event(event)
assert set(read(memory, stream).tolist()) == {7}
assert event.query()
add_late(memory, 9, stream)
event.record(stream)
send("recorded")
event.synchronize()
assert event.query() and set(read(memory).tolist()) == {16}
""",
    )
    assert output == ["fine"]


def test_synchronize_waits_for_the_other_process(two_processes):
    output = two_processes(
        """
stream, event = drv.Stream(), drv.Event(BOTH)
memory = drv.to_device(np.zeros(N, np.int32))
child.send(drv.mem_get_ipc_handle(memory), event.ipc_handle())
assert child.hear() == "open"
add_late(memory, 7, stream)
event.record(stream)
child.send()
assert child.hear() == "7"
child.end()
print("fine")
""",
        """
memory, event = hear()
memory, event = drv.IPCMemoryHandle(memory), drv.Event.from_ipc_handle(event)
assert event.query()
send("open")
hear()
event.synchronize()
send(*set(read(memory).tolist()))
""",
    )
    assert output == ["fine"]


def test_handles_of_a_process_that_has_ended(two_processes):
    """They raise an error, and do not open another allocation. NVIDIA's driver keeps events of such a
    process.
    """
    output = two_processes(
        """
said = child.hear().split()
child.end()
for open_it, handle in zip((drv.IPCMemoryHandle, drv.Event.from_ipc_handle), said):
    try:
        open_it(bytes.fromhex(handle))
    except drv.Error as problem:
        print(problem.routine)
""",
        """
memory, event = drv.mem_alloc(100), drv.Event(BOTH)
send(bytes(drv.mem_get_ipc_handle(memory)).hex(), bytes(event.ipc_handle()).hex())
""",
    )
    assert output[0] == "cuIpcOpenMemHandle"
    if on_cpu_device():
        assert output == ["cuIpcOpenMemHandle", "cuIpcOpenEventHandle"]


@pytest.mark.cpu("a GPU's driver does not specify it")
def test_waiting_for_a_process_that_was_killed(two_processes):
    """The event that it recorded never occurs; the CPU device notices, and the wait ends."""
    output = two_processes(
        """
event = drv.Event.from_ipc_handle(bytes.fromhex(child.hear()))
assert not event.query()
child.process.kill()
event.synchronize()
assert event.query()
child.process.wait()
print("fine")
""",
        """
stream, event = drv.Stream(), drv.Event(BOTH)
spin(np.uint64(60e9), block=(1, 1, 1), stream=stream)
event.record(stream)
send(bytes(event.ipc_handle()).hex())
hear()
""",
    )
    assert output == ["fine"]


# ---- Errors


def test_a_handle_cannot_be_opened_by_its_own_process():
    memory = drv.mem_alloc(100)
    with pytest.raises(drv.LogicError, match="cuIpcOpenMemHandle failed"):
        drv.IPCMemoryHandle(drv.mem_get_ipc_handle(memory))


@pytest.mark.parametrize("make", [lambda: drv.pagelocked_empty(16, np.int32), lambda: np.zeros(16)])
def test_host_memory_has_none(make):
    array = make()
    with pytest.raises(drv.LogicError, match="cuIpcGetMemHandle failed"):
        drv.mem_get_ipc_handle(array.ctypes.data)


def test_managed_memory_has_none():
    array = drv.managed_empty(16, np.int32)
    with pytest.raises(drv.LogicError, match="cuIpcGetMemHandle failed"):
        drv.mem_get_ipc_handle(array.base)


def test_events_without_the_flag_interprocess_have_no_handle():
    event = drv.Event()
    with pytest.raises(drv.LogicError, match="cuIpcGetEventHandle failed"):
        event.ipc_handle()


def test_an_interprocess_event_must_be_without_timing():
    with pytest.raises(drv.LogicError, match="cuEventCreate failed"):
        drv.Event(drv.event_flags.INTERPROCESS)


@pytest.mark.parametrize("handle", [b"", b"short", bytes(65)])
def test_handles_of_a_wrong_size(handle):
    with pytest.raises(drv.LogicError, match=f"64 bytes, not {len(handle)}"):
        drv.IPCMemoryHandle(handle)
    with pytest.raises(drv.LogicError, match=f"64 bytes, not {len(handle)}"):
        drv.Event.from_ipc_handle(handle)


def test_wrong_handles():
    for open_it in (drv.IPCMemoryHandle, drv.Event.from_ipc_handle):
        with pytest.raises(TypeError):
            open_it(5)
        with pytest.raises(drv.Error, match="cuIpcOpen.* failed"):
            open_it(bytes(64))


def test_without_shared_memory(run_python):
    """Where the limit of a file's size makes memfd_create useless, everything else works and the error names
    it."""
    done = run_python(
        """
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
        import numpy as np
        import pycuda.driver as drv
        from devices import on_cpu_device
        memory = drv.to_device(np.arange(4))
        print(drv.from_device(memory, 4, int))
        if on_cpu_device():
            flags = drv.event_flags.DISABLE_TIMING | drv.event_flags.INTERPROCESS
            for call in (lambda: drv.mem_get_ipc_handle(memory), lambda: drv.Event(flags)):
                try:
                    call()
                except drv.LogicError as problem:
                    assert problem.name == "CUDA_ERROR_NOT_SUPPORTED"
                    if drv.get_driver_version() >= 12090:
                        assert "memfd_create" in str(problem)
                else:
                    print("no error")
        """,
        check=True,
    )
    assert done.stdout == "[0 1 2 3]\n" and done.stderr == ""
