# pycuda.cache: main
from pycuda import cache

assert cache.main(["show"]) == 0  # python -m pycuda.cache show; or list, or clear

# pycuda.cache: fft_plans FFTPlan clear_fft_plans limit_fft_plans
import numpy as np
import pycuda.autoinit
import pycuda.numpy as xp
from pycuda import cache

spectrum = xp.fft.rfft(xp.ones((4, 256), np.float32))
for plan in cache.fft_plans():  # those of cuFFT, the last used first; the CPU device has none
    assert isinstance(plan, cache.FFTPlan) and plan.sizes == (256,) and plan.batch == 4
    print(plan.source, plan.result, plan.workspace, "bytes")
assert cache.limit_fft_plans(64 << 20) == 64 << 20  # bytes of all workspaces
cache.clear_fft_plans()  # gives the workspaces back
assert cache.fft_plans() == []

# pycuda.debug: main
import tempfile
from pathlib import Path
from pycuda import debug

with tempfile.TemporaryDirectory() as folder:
    script = Path(folder, "program.py")
    script.write_text("""
import pycuda.driver

assert pycuda.driver.CUDA_DEBUGGING  # kernels are compiled by -g -G
""")
    assert debug.main([str(script)]) == 0  # cuda-gdb --args python -m pycuda.debug program.py

# pycuda.check: main
import contextlib
import io
import tempfile
from pathlib import Path
from pycuda import check

with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()) as report:
    script = Path(folder, "program.py")
    script.write_text("""
import pycuda.autoinit
import pycuda.driver as drv

drv.memset_d8(drv.mem_alloc(10), 0, 10)
""")
    assert check.main([str(script)]) == 0  # python -m pycuda.check program.py
print(report.getvalue())

# pycuda.driver: IPCMemoryHandle
# pycuda.driver.IPCMemoryHandle: close get_pointer as_buffer
import multiprocessing
import pycuda.driver as drv


def fill(handle):
    """Writes into the memory of the other process."""
    import pycuda.autoinit

    memory = drv.IPCMemoryHandle(handle, drv.ipc_mem_flags.LAZY_ENABLE_PEER_ACCESS)
    assert memory.get_pointer() == int(memory) and memory.as_buffer(16).nbytes == 16
    drv.memset_d32(memory, 7, 4)
    pycuda.autoinit.context.synchronize()
    memory.close()  # now, and not with the last reference


if __name__ == "__main__":
    import pycuda.autoinit

    memory = drv.mem_alloc(16)
    process = multiprocessing.get_context("spawn").Process(
        target=fill, args=(drv.mem_get_ipc_handle(memory),)
    )
    process.start()
    process.join()
    assert process.exitcode == 0
    assert drv.from_device(memory, 4, "u4").tolist() == [7, 7, 7, 7]

# pycuda.driver.Event: ipc_handle from_ipc_handle
import multiprocessing
import pycuda.driver as drv


def fill(handle, event_handle):
    """Writes into the memory of the other process after the work that it has queued."""
    import pycuda.autoinit

    memory, event, stream = drv.IPCMemoryHandle(handle), drv.Event.from_ipc_handle(event_handle), drv.Stream()
    stream.wait_for_event(event)
    drv.memset_d32_async(memory, 7, 2, stream)
    stream.synchronize()
    memory.close()


if __name__ == "__main__":
    import pycuda.autoinit

    stream, memory = drv.Stream(), drv.mem_alloc(16)
    event = drv.Event(drv.event_flags.INTERPROCESS | drv.event_flags.DISABLE_TIMING)
    drv.memset_d32_async(memory, 5, 4, stream)
    event.record(stream)
    process = multiprocessing.get_context("spawn").Process(
        target=fill, args=(drv.mem_get_ipc_handle(memory), event.ipc_handle())
    )
    process.start()
    process.join()
    assert process.exitcode == 0
    assert drv.from_device(memory, 4, "u4").tolist() == [7, 7, 5, 5]

# pycuda.ipc: SharedArray collect
# pycuda.ipc.SharedArray: array close
import multiprocessing
import numpy as np
import pycuda.driver as drv
import pycuda.ipc
from pycuda import gpuarray


def double(a):
    """Changes the array of the other process; a is a GPUArray here."""
    a *= 2
    drv.Context.synchronize()  # the other process may read it when it gets the answer


if __name__ == "__main__":
    import pycuda.autoinit

    shared = pycuda.ipc.share(gpuarray.ones(1000, np.float32))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.apply(double, (shared,))
    assert isinstance(shared, pycuda.ipc.SharedArray) and (shared.array.get() == 2).all()
    shared.close()  # at the latest when the object goes; "with pycuda.ipc.share(a) as shared:" does it, too
    assert pycuda.ipc.collect() == 0  # no other process has an array of this one

# pycuda.ipc: OwnerGone
import pickle
import numpy as np
import pycuda.autoinit
import pycuda.ipc
from pycuda import gpuarray

shared = pycuda.ipc.share(gpuarray.ones(1000, np.float32))
message = pickle.dumps(shared)  # would go to another process
shared.close()
try:
    opened = pickle.loads(message)
except pycuda.ipc.OwnerGone:
    opened = None
assert opened is None

# pycuda.compiler: DynamicSourceModule
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import DynamicSourceModule

module = DynamicSourceModule("""
__global__ void child(int *a, int n) { a[threadIdx.x] = n + threadIdx.x; }
__global__ void parent(int *a) { child<<<1, 4>>>(a, 10); }
""")  # on a GPU the toolkit's libcudadevrt.a is needed
memory = drv.mem_alloc(16)
module.get_function("parent")(memory, block=(1, 1, 1))
assert drv.from_device(memory, 4, np.int32).tolist() == [10, 11, 12, 13]

# pycuda.compiler.DynamicModule: add_stdlib
import pycuda.autoinit
from pycuda.compiler import DynamicModule

module = DynamicModule(cuda_libdir=None)  # None: the toolkit's folder is looked for
module.add_source(
    """
__global__ void child(int *a) { *a = 5; }
__global__ void parent(int *a) { child<<<1, 1>>>(a); }
""",
    nvcc_options=["-rdc=true"],
)
module.add_stdlib("cudadevrt")
assert module.link().get_function("parent")

# pycuda.testing: no_leaks
import subprocess
import sys
import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    Path(folder, "conftest.py").write_text("from pycuda.testing import no_leaks")
    Path(folder, "test_it.py").write_text("""
import pycuda.autoinit
import pycuda.driver as drv

kept = []

def test_keeps():
    kept.append(drv.mem_alloc(100))
""")
    command = [sys.executable, "-m", "pytest", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
assert "1 error" in done.stdout
