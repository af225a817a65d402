"""A process has one CPU device, although pycuda and pycuda-cpu both bring one: pycuda takes the one that is
loaded, cuda-cpu names its own to every program, and another one refuses to be initialized.
"""

import os
import re
import subprocess
import sys

import cuda_cpu
import pytest

from pycuda import cpu

pytestmark = pytest.mark.cpu("the library of the CPU device")

# What programs need to use a driver that is not pycuda's, and to know how many there are.
BEGIN = """
import ctypes, os, sys
import numpy as np

def mapped():
    lines = open("/proc/self/maps").read().splitlines()
    return sorted({line.split()[-1] for line in lines if line.endswith("/libcuda.so.1")})

class Driver:
    def __init__(self, name):
        self.library = ctypes.CDLL(name)

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        assert result == 0, f"{name}: {result}"

    def fill(self, value, count):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(count))
        self.call("cuMemsetD8_v2", address, ctypes.c_ubyte(value), ctypes.c_size_t(count))
        return address.value

    def read(self, address, count):
        out = (ctypes.c_ubyte * count)()
        self.call("cuMemcpyDtoH_v2", out, ctypes.c_uint64(address), ctypes.c_size_t(count))
        return list(out)
"""

# Both use the memory and the context of the other.
SHARE = """
assert drv.Context.get_current() is not None
out = np.zeros(3, np.uint8)
drv.memcpy_dtoh(out, other.fill(7, 3))
theirs = drv.to_device(np.array([1, 2, 3], np.uint8))
print(out.tolist(), other.read(int(theirs), 3), *mapped())
"""

OTHER_FIRST = """
import pycuda_cpu
other, context = Driver(pycuda_cpu.path() + "/libcuda.so.1"), ctypes.c_void_p()
other.call("cuInit", 0)
other.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
other.call("cuCtxSetCurrent", context)
import pycuda.driver as drv
drv.init()
"""

PYCUDA_FIRST = """
import pycuda.autoprimaryctx
import pycuda.driver as drv
other = Driver({name})
other.call("cuInit", 0)
"""


def run(code, folder, command=(), **environment):
    """The finished process of a Python program that finds pycuda_cpu in that folder."""
    (folder / "program.py").write_text(BEGIN + code)
    environment = {"PYTHONPATH": str(folder), "PYCUDA_DEVICE": "cpu", **environment}
    return cuda_cpu.run(folder / "program.py", command=[*command, sys.executable], **environment)


def test_pycuda_takes_the_device_that_is_loaded(pycuda_cpu):
    done = run(OTHER_FIRST + SHARE, pycuda_cpu)
    assert done.stdout == f"[7, 7, 7] [1, 2, 3] {pycuda_cpu}/pycuda_cpu/lib/libcuda.so.1\n", done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("name", ['"libcuda.so.1"', 'os.environ["NUMBA_CUDA_DRIVER"]'])
def test_cuda_cpu_gives_its_device_to_pycuda_which_comes_first(pycuda_cpu, name):
    lib = pycuda_cpu / "pycuda_cpu" / "lib"
    done = run(PYCUDA_FIRST.format(name=name) + SHARE, pycuda_cpu, [lib / "cuda-cpu"])
    assert done.stdout == f"[7, 7, 7] [1, 2, 3] {lib}/libcuda.so.1\n", done.stderr


SECOND = """
if first == "pycuda":
    import pycuda.driver as drv
    drv.init()
else:
    Driver(first).call("cuInit", 0)
Driver(second).call("cuInit", 0)
"""


@pytest.mark.parametrize("first", ["pycuda", "path"])
def test_a_second_device_refuses_to_be_initialized(pycuda_cpu, first):
    ours, other = f"{cpu.path()}/libcuda.so.1", f"{pycuda_cpu}/pycuda_cpu/lib/libcuda.so.1"
    values = f"first, second = {ours if first == 'path' else first!r}, {other!r}\n"
    done = run(values + SECOND, pycuda_cpu)
    assert "AssertionError: cuInit: 803" in done.stderr
    (named,) = re.findall("^CPU device: this process has a CPU device already, (.*), and", done.stderr, re.M)
    assert os.path.samefile(named, ours)


OLD = """
#include <stddef.h>
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
const size_t *cpuDeviceTable(void) { static const size_t size = 24; return &size; }
"""


def test_a_device_of_an_older_version_is_refused(tmp_path, compiler, run_python):
    (tmp_path / "old.c").write_text(OLD)
    old = tmp_path / "libcuda.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", tmp_path / "old.c", "-o", old], check=True)
    text = f"{old}: this CPU device is of an older version than pycuda: install pycuda-cpu and pycuda of one"
    named = run_python("import pycuda.driver as drv\ndrv.init()", env={"PYCUDA_DRIVER": str(old)})
    code = f"import ctypes\nctypes.CDLL({str(old)!r})\nimport pycuda.driver as drv\ndrv.init()"
    loaded = run_python(code, env={"PYCUDA_DEVICE": "cpu", "PYCUDA_DRIVER": None}, fresh=True)
    assert text in named.stderr and text in loaded.stderr
