"""docs/limits/ is what tools/limits_pages.py makes of the tables, and what the CPU device answers: every
function of its libraries is called.

With zeros for arguments a function that is there mostly answers CUDA_ERROR_INVALID_VALUE; that it does not
answer CUDA_ERROR_NOT_SUPPORTED is what can be decided without knowing its arguments. One that would refuse
valid arguments alone has to say so by refuse(), whose rows are the page's.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from limits import ROOT, exports, of_major, pages, with_variants

pytestmark = pytest.mark.cpu("what the CPU device has")

ERRORS = dict(re.findall(r"^CU_ERROR\((\w+), +(\d+)", (ROOT / "abi" / "cuda_errors.def").read_text(), re.M))
NOT_SUPPORTED = 801  # of the driver and of the runtime
INVALID_INPUT = 3  # NVJITLINK_ERROR_INVALID_INPUT

# Valid arguments of functions that look at them before they refuse.
ARGUMENTS = {
    "cuCheckpointProcessCheckpoint": ["pid", 0],
    "cuCheckpointProcessGetRestoreThreadId": ["pid", "room"],
    "cuCheckpointProcessLock": ["pid", 0],
    "cuCheckpointProcessRestore": ["pid", 0],
    "cuCheckpointProcessUnlock": ["pid", 0],
    "cuMemGetHandleForAddressRange": ["room", "memory", 4096, 1, 0],
}


@pytest.fixture
def answers(cpu_device_library):
    """A function: {name: (result, log)} of calls of functions of a library in the CPU device's folder."""
    folder = Path(cpu_device_library).parent

    def call(library, names, with_context=True):
        arguments = json.dumps({name: ARGUMENTS.get(name, []) for name in names})
        command = [sys.executable, Path(__file__).with_name("called.py"), folder / library, arguments]
        done = subprocess.run(
            [*command, folder / "libcuda.so.1", str(with_context)],
            env=os.environ | {"PYCUDA_CPU_COMPUTE_CAPABILITY": "12.1"}, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call


def test_the_pages_are_what_the_tables_make():
    """`python tools/limits_pages.py` writes them."""
    assert sorted(path.name for path in pages.FOLDER.iterdir()) == sorted(pages.PAGES)
    for name, page in pages.PAGES.items():
        assert (pages.FOLDER / name).read_text() == page(), name


def differences(called, answer_of):
    """Lines about calls whose answer is not that of the page; answer_of: {name: Answer}."""
    numbers = {name: int(number) for name, number in ERRORS.items()} | {
        "cudaErrorNotSupported": NOT_SUPPORTED
    }
    for name, (result, log) in called.items():
        answer = answer_of[name]
        if answer.state == "no" and result != numbers[answer.error]:
            yield f"{name}: {result}, on the page {answer.error}"
        elif answer.state == "no" and f"is not supported by the CPU device: {answer.why}" not in log:
            yield f"{name}: the log has {log!r}, the page {answer.why!r}"
        elif answer.state != "no" and result == NOT_SUPPORTED:
            yield f"{name}: not supported, on the page {answer.state}"


def test_driver_functions_answer_what_the_page_says(answers, cpu_device_library):
    functions = pages.driver_functions()
    names = with_variants(functions, exports(cpu_device_library))
    called = answers("libcuda.so.1", names)
    assert [name for name, (result, _) in called.items() if result is None] == []
    answer_of = {name: functions[symbol][1] for name, symbol in names.items()}
    assert list(differences(called, answer_of)) == []
    assert sum(answer.state == "no" for answer in answer_of.values()) > 60


@pytest.mark.parametrize("major", [12, 13])
def test_runtime_functions_answer_what_the_page_says(answers, cpu_device_library, major):
    library = Path(cpu_device_library).with_name(f"libcudart.so.{major}")
    functions = of_major(pages.runtime_functions(), major)
    names = with_variants(functions, exports(library))
    called = answers(library.name, names)
    # It returns a structure, for which the caller would have to bring the memory.
    assert [name for name, (result, _) in called.items() if result is None] == ["cudaCreateChannelDesc"]
    answer_of = {name: functions[symbol] for name, symbol in names.items()}
    assert list(differences(called, answer_of)) == []
    assert sum(answer.state == "no" for answer in answer_of.values()) > 25


def test_before_initialization_a_refused_function_says_that(answers):
    refused = [name for name, (_, answer) in pages.driver_functions().items() if answer.state == "no"]
    called = answers("libcuda.so.1", refused, with_context=False)
    results = {name: result for name, (result, _) in called.items()}
    assert set(results.values()) == {int(ERRORS["CUDA_ERROR_NOT_INITIALIZED"])}, results


NVJITLINK = """
import ctypes, sys
library, handle, size = ctypes.CDLL(sys.argv[1]), ctypes.c_void_p(), ctypes.c_size_t()
options = (ctypes.c_char_p * 1)(b"-arch=sm_90")
assert library.nvJitLinkCreate(ctypes.byref(handle), 1, options) == 0
print(getattr(library, sys.argv[2])(handle, ctypes.byref(size)))
assert library.nvJitLinkGetErrorLogSize(handle, ctypes.byref(size)) == 0
text = ctypes.create_string_buffer(size.value)
assert library.nvJitLinkGetErrorLog(handle, text) == 0
print(text.value.decode())
"""


def test_refused_functions_of_nvjitlink_say_why(cpu_device_library):
    refused = [
        (name, major, answer)
        for name, pairs in pages.link_functions().items()
        for major, answer in pairs
        if answer.state == "no"
    ]
    assert len(refused) == 2
    for name, major, answer in refused:
        library = Path(cpu_device_library).with_name(f"libnvJitLink.so.{major}")
        done = subprocess.run(
            [sys.executable, "-c", NVJITLINK, library, name], capture_output=True, text=True, check=True
        )
        result, log, *_ = done.stdout.splitlines()
        assert (int(result), log) == (INVALID_INPUT, f"{name}: {answer.why}")
