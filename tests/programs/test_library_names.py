"""A program without PyCUDA reaches the CPU device by LD_LIBRARY_PATH alone: libcuda.so.1 and libcuda.so are
one driver."""

import os

import pytest

pytestmark = pytest.mark.cpu("the folder of the CPU device's library")

OPEN = """
import ctypes
libraries = [ctypes.CDLL(name) for name in {names}]
count, context = ctypes.c_int(-1), ctypes.c_void_p()
assert libraries[0].cuInit(0) == 0
assert libraries[-1].cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value == 3
assert libraries[0].cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
current = ctypes.c_void_p()
assert libraries[-1].cuCtxGetCurrent(ctypes.byref(current)) == 0 and current.value == context.value
name = ctypes.create_string_buffer(100)
assert libraries[-1].cuDeviceGetName(name, 100, 0) == 0
print(name.value.decode())
"""


@pytest.mark.parametrize(
    "names",
    [["libcuda.so.1"], ["libcuda.so"], ["libcuda.so", "libcuda.so.1"], ["libcuda.so.1", "libcuda.so"]],
    ids="+".join,
)
def test_both_names_are_one_driver(run_python, cpu_device_library, names):
    folder = os.path.dirname(cpu_device_library)
    path = os.pathsep.join(filter(None, [folder, os.environ.get("LD_LIBRARY_PATH")]))
    environment = {"LD_LIBRARY_PATH": path, "PYCUDA_CPU_DEVICES": "3"}
    done = run_python(OPEN.format(names=names), env=environment, check=True)
    assert done.stdout.startswith("CPU device")


def test_libcuda_so_by_its_path(run_python, cpu_device_library):
    """Opened without LD_LIBRARY_PATH, it finds the libraries in its own folder."""
    plain = cpu_device_library.removesuffix(".1")
    assert plain.endswith("libcuda.so")
    done = run_python(OPEN.format(names=[plain]), env={"PYCUDA_CPU_DEVICES": "3"}, check=True)
    assert done.stdout.startswith("CPU device")
