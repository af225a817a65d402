"""A stream takes a limited number of calls, after which a launch would block in the driver; so pycuda counts
them and waits itself (ext/base/launch_queue.h). What the counting costs, and what it must not disturb."""

import pytest
from devices import POLLING

# hold() keeps a stream busy until flag[0] = 1; launch(times) launches a kernel that counts; total() returns
# the count and resets it; calls(name) is the number of driver calls so far. A deadlock ends the program after
# a minute.
PROGRAM = '''
import faulthandler, threading, time
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from devices import repeats
faulthandler.dump_traceback_later(60, exit=True)
module = drv.module_from_buffer(b"""
.version 7.0
.target sm_50
.address_size 64
.visible .entry wait(.param .u64 flag)
{
    .reg .b64 %rd<2>;
    .reg .b32 %r<2>;
    .reg .pred %p<2>;
    ld.param.u64 %rd1, [flag];
$again:
    ld.volatile.global.u32 %r1, [%rd1];
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra $again;
    ret;
}
.visible .entry count(.param .u64 number)
{
    .reg .b64 %rd<2>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [number];
    red.global.add.u32 [%rd1], 1;
    ret;
}
""")
wait, count = module.get_function("wait"), module.get_function("count")
flag = drv.pagelocked_zeros(1, np.uint32, mem_flags=drv.host_alloc_flags.DEVICEMAP)
number, ONE = drv.mem_alloc(4), (1, 1, 1)
address = np.intp(flag.base.get_device_pointer())

def hold(stream=None):
    flag[0] = 0
    wait(address, block=ONE, stream=stream)

def launch(times, stream=None):
    for _ in range(times):
        count(number, block=ONE, stream=stream)

def total():
    value = np.zeros(1, np.uint32)
    drv.memcpy_dtoh(value, number)
    drv.memset_d32(number, 0, 1)
    return int(value[0])

calls = drv._driver._fault_count
PTX = b".version 7.0\\n.target sm_50\\n.address_size 64\\n.visible .entry k() { ret; }"
total(), total()
'''
COUNTED = {"PYCUDA_FAULT_CALL": "0"}  # driver calls are counted, none fails


def test_launches_that_are_waited_for_record_and_query_no_event(run_python):
    done = run_python(
        PROGRAM
        + """
stream = drv.Stream()
launch(1, stream)
before = calls("cuEventRecord"), calls("cuStreamIsCapturing")
for _ in range(20):
    launch(200, stream)
    stream.synchronize()
    launch(200)
    total()
print(calls("cuEventRecord") - before[0], calls("cuStreamIsCapturing") - before[1])
""",
        env=COUNTED,
        check=True,
    )
    assert done.stdout == "0 0\n"


@pytest.mark.parametrize("env", [{}, POLLING], ids=["timeouts", "polls"])
def test_launches_without_a_wait_record_few_events(run_python, env):
    """20000 launches: an event every few hundred, always the same one."""
    done = run_python(
        PROGRAM
        + """
launch(20000)
print(10 < calls("cuEventRecord") < 100, calls("cuEventCreate"), total())
""",
        env=COUNTED | env,
        check=True,
    )
    assert done.stdout == "True 1 20000\n"


@pytest.mark.parametrize("env", [{}, POLLING], ids=["timeouts", "polls"])
def test_launches_that_fit_the_queue_return_at_once(run_python, env):
    """950 launches after a kernel that waits for the launching thread: a launch that waited would be a
    deadlock."""
    done = run_python(
        PROGRAM
        + """
for stream in (None, drv.Stream()):
    hold(stream)
    launch(950, stream)
    flag[0] = 1
    drv.Context.synchronize()
    print(total())
""",
        env=env,
        check=True,
    )
    assert done.stdout == "950\n950\n"


@pytest.mark.parametrize("mode", ["global", "thread_local", "relaxed"])
def test_counting_ends_no_capture(run_python, mode):
    """Neither one of this thread nor one of another thread: no event is recorded where it would."""
    done = run_python(
        PROGRAM
        + f"""
mine, theirs = drv.Stream(), drv.Stream()
begun, go_on = threading.Event(), threading.Event()
graphs = []

def work():
    pycuda.autoinit.context.push()
    with theirs.capture({mode!r}) as graph:
        launch(10, theirs)
        begun.set()
        go_on.wait()
        launch(10, theirs)
    graphs.append(graph)
    pycuda.autoinit.context.pop()

thread = threading.Thread(target=work)
thread.start()
begun.wait()
launch(3000, mine)
go_on.set()
thread.join()
launch(600, mine)
with mine.capture({mode!r}) as graph:
    launch(2000, mine)
graphs.append(graph)
mine.synchronize()
print(total())
for graph in graphs:
    graph.instantiate().launch(mine)
mine.synchronize()
print(total())
""",
        check=True,
    )
    assert done.stdout == "3600\n2020\n"


@pytest.mark.parametrize("env", [{}, POLLING], ids=["timeouts", "polls"])
def test_default_streams_of_several_contexts_are_counted_separately(run_python, env):
    """That of one context is nearly full and held by a kernel; 3000 launches in the other one's do not wait
    for it."""
    done = run_python(
        PROGRAM
        + """
first = drv.Context.get_current()
second = drv.Device(0).make_context()
other = drv.module_from_buffer(PTX)
other = other.get_function("k")
first.push()
hold()
for _ in range(900):
    launch(1)
    second.push()
    other(block=ONE)
    drv.Context.pop()
second.push()
for _ in range(3000):
    other(block=ONE)
drv.Context.synchronize()
drv.Context.pop()
flag[0] = 1
print(total())
second.detach()
launch(3000)
print(total())
""",
        env=env,
        check=True,
    )
    assert done.stdout == "900\n3000\n"


def test_counting_in_many_streams_and_contexts_leaks_no_events(run_python):
    done = run_python(
        PROGRAM
        + """
for _ in range(repeats(10)):
    context = drv.Device(0).make_context()
    k = drv.module_from_buffer(PTX)
    k = k.get_function("k")
    for stream in [drv.Stream() for _ in range(12)]:
        for _ in range(300):
            k(block=ONE, stream=stream)
    drv.Context.synchronize()
    del k, stream
    drv.Context.pop()
    context.detach()
launch(3000)
print(total(), calls("cuEventCreate") - calls("cuEventDestroy") < 3)
""",
        env=COUNTED,
        check=True,
    )
    assert done.stdout == "3000 True\n"
