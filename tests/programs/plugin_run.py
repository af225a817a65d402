"""Runs of pytest --cuda-cpu, with tests that use the driver without PyCUDA."""

import os
import re
import subprocess
import sys

# A conftest.py whose tests use the driver without PyCUDA, with one primary context for all, as other packages
# do. NAME: that of the library.
CONFTEST = '''
import ctypes
import pytest

PTX = b"""
.version 7.0
.target sm_50
.address_size 64
.visible .entry fill(.param .u64 to) {
.reg .b32 %r<2>;
.reg .b64 %d<3>;
ld.param.u64 %d0, [to];
mov.u32 %r0, %tid.x;
mul.wide.u32 %d1, %r0, 4;
add.u64 %d2, %d0, %d1;
st.global.u32 [%d2], %r0;
ret;
}
.visible .entry stop() {
trap;
}
"""


class Driver:
    def __init__(self):
        self.library = ctypes.CDLL(NAME)
        assert self.library.cuInit(0) == 0
        self.context, module, self.function, self.stop = (ctypes.c_void_p() for _ in range(4))
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)
        self.call("cuCtxSetCurrent", self.context)
        self.call("cuModuleLoadData", ctypes.byref(module), PTX)
        self.call("cuModuleGetFunction", ctypes.byref(self.function), module, b"fill")
        self.call("cuModuleGetFunction", ctypes.byref(self.stop), module, b"stop")

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        assert result == 0, f"{name}: {result}"

    def fill(self, count, threads):
        memory = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(4 * count))
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
        self.call("cuLaunchKernel", self.function, 1, 1, 1, threads, 1, 1, 0, None, parameters, None)
        return memory

    def trap(self):
        self.call("cuLaunchKernel", self.stop, 1, 1, 1, 1, 1, 1, 0, None, None, None)

    def read(self, memory, count):
        out = (ctypes.c_uint32 * count)()
        self.call("cuMemcpyDtoH_v2", out, memory, ctypes.c_size_t(4 * count))
        self.call("cuMemFree_v2", memory)
        return list(out)


@pytest.fixture(scope="session")
def driver():
    return Driver()
'''

TESTS = """
import pytest


def test_before(driver):
    assert driver.read(driver.fill(3, 3), 3) == [0, 1, 2]


def test_fault_without_a_wait(driver):
    driver.fill(3, 4)


def test_after(driver):
    assert driver.read(driver.fill(3, 3), 3) == [0, 1, 2]


def test_fault_with_an_error(driver):
    driver.read(driver.fill(2, 3), 2)


@pytest.mark.cuda_faults
def test_fault_on_purpose(driver):
    with pytest.raises(AssertionError, match="cuMemcpyDtoH_v2: 700"):
        driver.read(driver.fill(2, 3), 2)


@pytest.fixture
def late(driver):
    yield
    driver.fill(5, 6)


def test_fault_in_the_teardown(late):
    pass


def test_leak(driver):
    driver.fill(1000, 1)


def test_at_the_end(driver):
    assert driver.read(driver.fill(3, 3), 3) == [0, 1, 2]
"""


def run(
    folder,
    *arguments,
    name="libcuda.so.1",
    python=sys.executable,
    plugin="pycuda.cpu._pytest_plugin",
    start=("-m", "pytest"),
):
    """The finished process of pytest in the folder, and the outcomes that it prints: {test: outcome}.

    name: the library that the tests open. plugin: the module; None: the one that pytest finds. start: the
    arguments of Python that start pytest.
    """
    (folder / "conftest.py").write_text(CONFTEST.replace("NAME", repr(name)))
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYCUDA_CPU_", "PYTEST_"))}
    options = ["-p", "no:cacheprovider", "-rA", "-vv", *(["-p", plugin] if plugin else [])]
    kept["PYTHONPATH"] = os.pathsep.join([str(folder), kept.get("PYTHONPATH", "")])
    command = [python, *start, *options, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, env=kept)
    outcomes = dict(re.findall(r"^\S+::(\w+) (PASSED|FAILED|ERROR)", done.stdout, re.MULTILINE))
    return done, outcomes
