"""PYCUDA_POOL=0: pools pass each request to the driver, for tools that watch its allocations."""

import os
import shutil
import subprocess
import sys

import pytest

POOLS = """
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda import gpuarray, tools

for kind in drv.DeviceMemoryPool, drv.ManagedMemoryPool:
    pool = kind()
    block = pool.allocate(1000)
    print(pool.managed_bytes, end=" ")
    block.free()
    print(pool.held_blocks, pool.managed_bytes, end=" ")
array = gpuarray.zeros(1000, np.uint8)
print(tools.default_memory_pool().managed_bytes)
"""
PASSED_ON, HELD = "1000 0 0 1000 0 0 1000", "1023 1 1023 1023 1 1023 1023"


@pytest.mark.parametrize(
    "value, printed", [("0", PASSED_ON), ("1", HELD), ("", HELD)], ids=["0", "1", "default"]
)
def test_what_pools_hold(run_python, value, printed):
    """For each kind: the bytes of a block for 1000; after its release the held blocks and managed bytes."""
    done = run_python(POOLS, env={"PYCUDA_POOL": value}, check=True)
    assert done.stdout.strip() == printed


def test_another_value(run_python):
    done = run_python("import pycuda.driver as drv\ndrv.init()", env={"PYCUDA_POOL": "off"})
    assert done.returncode == 1 and 'PYCUDA_POOL is "off": it must be 0 or 1' in done.stderr


OVERRUN = """
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

write = SourceModule("__global__ void write(char *out, int n) { out[n] = 1; }").get_function("write")
array = gpuarray.zeros(1000, np.uint8)
other = gpuarray.zeros(1000, np.uint8)
write(array, np.int32(1001), block=(1, 1, 1))
drv.Context.synchronize()
"""


@pytest.mark.cpu("on a GPU compute-sanitizer alone reports it")
@pytest.mark.parametrize("pool", ["0", "1"])
def test_an_overrun_is_reported(run_python, pool):
    """A store past the array's end: outside of the driver's allocation, or inside of the pool's block."""
    done = run_python(OVERRUN, env={"PYCUDA_POOL": pool})
    assert done.returncode == 1 and "1 bytes past the end of the device memory" in done.stderr, done.stderr


@pytest.mark.gpu("compute-sanitizer watches NVIDIA's own driver only")
def test_an_overrun_is_reported_by_compute_sanitizer(tmp_path):
    checker = shutil.which("compute-sanitizer") or shutil.which("/usr/local/cuda/bin/compute-sanitizer")
    if not checker:
        pytest.skip("compute-sanitizer is not installed")
    program = tmp_path / "overrun.py"
    program.write_text(OVERRUN)
    done = subprocess.run(
        [checker, "--tool", "memcheck", sys.executable, str(program)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYCUDA_POOL": "0"},
    )
    assert "Invalid __global__ write of size 1 bytes" in done.stdout, done.stdout + done.stderr
