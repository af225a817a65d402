"""While a call waits, other Python threads run.

Every driver function that may wait is made slow in turn, while a second thread takes the GIL every two
milliseconds. During a call that did not release the GIL it would not run.
"""

from pathlib import Path

import pytest

LATE = str(Path(__file__).parent.with_name("driver") / "late.ptx")

PROGRAM = '''
import sys
import threading
import time

import numpy as np

import pycuda.driver as drv
from pycuda import gpuarray

drv.init()
core, N, SLOW = drv._driver, 64, 120
context = drv.Device(0).make_context()
beats, stop = [], threading.Event()


def beat():
    while not stop.is_set():
        beats.append(time.monotonic())
        time.sleep(0.002)


PTX = b"""
.version 6.3
.target sm_50
.address_size 64
.visible .global .u32 number;
.visible .entry nothing(.param .u64 a) { ret; }
"""
path = sys.argv[0] + ".ptx"
with open(path, "wb") as file:
    file.write(PTX)
host = np.zeros(N, np.int32)
pinned = drv.pagelocked_zeros(N, np.int32)
memory, other = drv.to_device(host), drv.to_device(host)
stream, event = drv.Stream(), drv.Event()
module = drv.module_from_buffer(PTX)
nothing = module.get_function("nothing")
ONE = dict(block=(1, 1, 1))
array = gpuarray.zeros(N, np.int32)
second = drv.Device(0).retain_primary_context()


def linked():
    linker = drv.Linker()
    linker.add_data(PTX, drv.jit_input_type.PTX)
    return linker.link_module()


def add_file():
    drv.Linker().add_file(path, drv.jit_input_type.PTX)


def shaped(kind):
    copy = kind()
    copy.set_src_host(host)
    copy.set_dst_device(memory)
    copy.src_pitch = copy.dst_pitch = copy.width_in_bytes = 16
    if kind is not drv.Memcpy2D:
        copy.src_height, copy.dst_height, copy.depth = 4, 4, 1
    copy.height = 4
    return copy


def own_context():
    drv.Device(0).make_context().detach()


def primary():
    drv.Device(0).retain_primary_context().detach()


def timed_call():
    nothing(memory, time_kernel=True, **ONE)


CALLS = [
    ("cuCtxSynchronize", drv.Context.synchronize),
    ("cuStreamSynchronize", stream.synchronize),
    ("cuEventSynchronize", event.synchronize),
    ("cuEventSynchronize", timed_call),
    ("cuMemcpyHtoD", lambda: drv.memcpy_htod(memory, host)),
    ("cuMemcpyHtoD", lambda: drv.to_device(host)),
    ("cuMemcpyHtoD", lambda: gpuarray.to_gpu(host)),
    ("cuMemcpyHtoD", lambda: nothing(drv.In(host), **ONE)),
    ("cuMemcpyDtoH", lambda: drv.memcpy_dtoh(host, memory)),
    ("cuMemcpyDtoH", lambda: drv.from_device_like(memory, host)),
    ("cuMemcpyDtoH", array.get),
    ("cuMemcpyDtoH", lambda: nothing(drv.Out(host), **ONE)),
    ("cuMemcpyHtoDAsync", lambda: drv.memcpy_htod_async(memory, host, stream)),
    ("cuMemcpyHtoDAsync", lambda: array.set_async(host, stream)),
    ("cuMemcpyDtoHAsync", lambda: drv.memcpy_dtoh_async(host, memory, stream)),
    ("cuMemcpyDtoHAsync", lambda: array.get_async(stream)),
    ("cuMemcpyDtoD", lambda: drv.memcpy_dtod(other, memory, 4)),
    ("cuMemcpyPeer", lambda: drv.memcpy_peer(other, memory, 4)),
    ("cuMemsetD8", lambda: drv.memset_d8(memory, 0, N)),
    ("cuMemsetD2D32", lambda: drv.memset_d2d32(memory, 16, 0, 2, 2)),
    ("cuMemcpy2D", lambda: shaped(drv.Memcpy2D)(aligned=True)),
    ("cuMemcpy2DUnaligned", lambda: shaped(drv.Memcpy2D)(aligned=False)),
    ("cuMemcpy3D", lambda: shaped(drv.Memcpy3D)()),
    ("cuMemcpy2DAsync", lambda: shaped(drv.Memcpy2D)(stream)),
    ("cuMemcpy3DAsync", lambda: shaped(drv.Memcpy3D)(stream)),
    ("cuMemAlloc", lambda: drv.mem_alloc(1 << 20)),
    ("cuMemAllocPitch", lambda: drv.mem_alloc_pitch(64, 4, 4)),
    ("cuMemFree", lambda: drv.mem_alloc(100).free()),
    ("cuMemAllocManaged", lambda: drv.managed_empty(N, np.int32)),
    ("cuMemHostAlloc", lambda: drv.pagelocked_empty(N, np.int32)),
    ("cuMemFreeHost", lambda: drv.pagelocked_empty(N, np.int32)),
    ("cuMemHostRegister", lambda: drv.register_host_memory(drv.aligned_empty(4096, np.int8))),
    ("cuMemHostUnregister", lambda: drv.register_host_memory(drv.aligned_empty(4096, np.int8))),
    ("cuArrayCreate", lambda: drv.np_to_array(np.zeros((4, 4), np.float32), "C")),
    ("cuArrayDestroy", lambda: drv.np_to_array(np.zeros((4, 4), np.float32), "C")),
    ("cuModuleLoadDataEx", lambda: drv.module_from_buffer(PTX)),
    ("cuModuleLoad", lambda: drv.module_from_file(path)),
    ("cuModuleUnload", lambda: drv.module_from_buffer(PTX)),
    ("cuModuleGetFunction", lambda: module.get_function("nothing")),
    ("cuModuleGetGlobal", lambda: module.get_global("number")),
    ("cuLinkAddData", linked),
    ("cuLinkAddFile", add_file),
    ("cuLinkComplete", linked),
    ("cuCtxCreate", own_context),
    ("cuCtxDestroy", own_context),
    ("cuDevicePrimaryCtxRetain", primary),
    ("cuCtxSetLimit", lambda: drv.Context.set_limit(drv.limit.STACK_SIZE, 1024)),
]
thread = threading.Thread(target=beat, daemon=True)
thread.start()


def beats_during(name, call):
    """How often the other thread runs during the call, in which the driver function takes SLOW ms."""
    assert core._fault_delay(name, SLOW), name
    start = time.monotonic()
    call()
    end = time.monotonic()
    core._fault_delay(name, 0)
    assert end - start >= SLOW / 1000, (name, end - start)
    return sum(start < moment < end for moment in list(beats))


for name, call in CALLS:
    event.record(stream)
    call()  # makes what only the first call makes
    # Three tries: on a busy machine the other thread may get no processor for so long.
    if not any(beats_during(name, call) >= 5 for _ in range(3)):
        print(name, "held the GIL")
stop.set()
thread.join()
print(len(CALLS), "calls")
'''


def test_other_threads_run_during_every_call_that_waits(run_python):
    done = run_python(PROGRAM, env={"PYCUDA_FAULT_CALL": "0"})
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert done.stdout == "47 calls\n"


def test_other_threads_run_while_nvrtc_compiles(run_python):
    """Compiling is no driver call, so that a long source makes it slow."""
    done = run_python(
        """
        import threading, time
        from pycuda.compiler import compile
        beats, stop = [], threading.Event()
        def beat():
            while not stop.is_set():
                beats.append(time.monotonic())
                time.sleep(0.002)
        source = "".join(
            f"__global__ void k{i}(double *a) {{ a[0] = sin(a[1]) * cos(a[2]) + pow(a[3], a[4]) + {i}; }}"
            for i in range(60)
        )
        compile("__global__ void first() {}")
        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        start = time.monotonic()
        compile(source, cache_dir=False)
        end = time.monotonic()
        stop.set()
        thread.join()
        during = [moment for moment in beats if start < moment < end]
        gaps = [b - a for a, b in zip(during, during[1:])]
        print(len(during) > 5 and max(gaps) < (end - start) / 2, end - start, len(during))
        """,
        check=True,
    )
    assert done.stdout.startswith("True"), done.stdout


@pytest.mark.parametrize("wait", ["stream.synchronize()", "event.synchronize()", "drv.Context.synchronize()"])
def test_other_threads_run_during_a_wait_for_a_kernel(run_python, wait):
    done = run_python(
        f"""
        import threading, time
        import numpy as np
        import pycuda.driver as drv
        stream, event = drv.Stream(), drv.Event()
        spin = drv.module_from_file({LATE!r}).get_function("spin")
        count, stop = 0, False
        def work():
            global count
            while not stop:
                count += 1
        thread = threading.Thread(target=work, daemon=True)
        spin(np.uint64(1), block=(1, 1, 1))
        drv.Context.synchronize()
        thread.start()
        start = time.monotonic()
        spin(np.uint64(4e8), block=(1, 1, 1), stream=stream)
        event.record(stream)
        before = count
        {wait}
        print(time.monotonic() - start > 0.3, count - before > 10000)
        stop = True
        thread.join()
        """,
        check=True,
    )
    assert done.stdout == "True True\n"


WAITING = """
import faulthandler, threading, time
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda import gpuarray
faulthandler.dump_traceback_later(80, exit=True)
module = drv.module_from_buffer(b'''
.version 7.0
.target sm_50
.address_size 64
.visible .entry wait(.param .u64 flag)
{{
    .reg .b64 %rd<2>;
    .reg .b32 %r<2>;
    .reg .pred %p<2>;
    ld.param.u64 %rd1, [flag];
$again:
    ld.volatile.global.u32 %r1, [%rd1];
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra $again;
    ret;
}}
.visible .entry nothing()
{{
    ret;
}}
''')
wait, nothing = module.get_function("wait"), module.get_function("nothing")
flag = drv.pagelocked_zeros(1, np.uint32, mem_flags=drv.host_alloc_flags.DEVICEMAP)
memory, host, locked = drv.mem_alloc(400), np.zeros(100, np.uint32), drv.pagelocked_zeros(100, np.uint32)
stream, other, event, array = drv.Stream(), drv.Stream(), drv.Event(), gpuarray.zeros(100, np.float32)
rows = drv.Memcpy2D()
rows.set_src_device(memory)
rows.set_dst_host(host)
rows.width_in_bytes = rows.src_pitch = rows.dst_pitch = 40
rows.height = 10
graph = drv.Graph()
graph.add_kernel(nothing, block=(1, 1, 1))
graph = graph.instantiate()
array + array
drv.Context.synchronize()

def answer():
    # Lets the kernel end.
    time.sleep(0.3)
    flag[0] = 1

def in_turn():
    with stream:
        array + array

def by_turns():
    nothing(block=(1, 1, 1), stream=stream)
    nothing(block=(1, 1, 1), stream=other)

# COPIES wait for the copy, FULL wait once the stream's queue is full.
COPIES = {{
    "a copy": lambda: drv.memcpy_dtoh_async(host, memory, stream),
    "an array's copy": lambda: array.get_async(stream, host.view(np.float32)),
    "rows": lambda: rows(stream),
}}
FULL = {{
    "launches": lambda: nothing(block=(1, 1, 1), stream=stream),
    "fills": lambda: drv.memset_d32_async(memory, 0, 100, stream),
    "copies": lambda: drv.memcpy_dtod_async(memory, int(memory) + 200, 200, stream),
    "page-locked copies": lambda: drv.memcpy_htod_async(memory, locked, stream),
    "events": lambda: event.record(stream),
    "graphs": lambda: graph.launch(stream),
    "arrays": in_turn,
    "launches by turns": by_turns,
}}

def work(call, count):
    pycuda.autoinit.context.push()
    flag[0] = 0
    wait(np.intp(flag.base.get_device_pointer()), block=(1, 1, 1), stream=stream)
    threading.Thread(target=answer, daemon=True).start()
    for _ in range(count):
        call()
    stream.synchronize()
    other.synchronize()
    pycuda.autoinit.context.pop()

for name, call in (COPIES | FULL).items():
    print(name, end=" ", flush=True)
    arguments = call, 1 if name in COPIES else 2500
    if {main}:
        work(*arguments)
    else:
        worker = threading.Thread(target=work, args=arguments)
        worker.start()
        worker.join()
    print(flag[0], flush=True)
"""


@pytest.mark.parametrize("polls", [False, True])
@pytest.mark.parametrize("main", [False, True])
def test_a_kernel_that_waits_for_a_python_thread_ends(run_python, main, polls):
    """A call after the kernel waits, for a copy or because the queue is full; the other thread runs
    meanwhile.

    polls: as on a GPU, the CPU device offers no waits with a timeout. main: whether the main thread waits.
    """
    hides = "cuPycudaSetTimeout,cuPycudaCancel" if polls else ""
    done = run_python(WAITING.format(main=main), env={"PYCUDA_FAULT_HIDES": hides})
    ended = done.stdout.splitlines()
    assert done.returncode == 0 and len(ended) == 11, done.stdout + done.stderr
    assert all(line.endswith(" 1") for line in ended)
