"""Wrong settings are refused at init, with the variable's name, its value and what it may be."""

import os
import sys

import pytest

CPU = {"PYCUDA_DEVICE": "cpu", "PYCUDA_DRIVER": None}
INIT = """
import pycuda.driver as drv
try:
    drv.init()
    print("well")
except drv.Error as error:
    print(type(error).__name__, error)
"""
# (variable, value, a part of what the message says that it must be)
WRONG = [
    ("PYCUDA_CPU_MEMORY", "abc", "a number of bytes"),
    ("PYCUDA_CPU_MEMORY", "-1", "a number of bytes"),
    ("PYCUDA_CPU_MEMORY", "12Q", "a number of bytes"),
    ("PYCUDA_CPU_MEMORY", "nan", "a number of bytes"),
    ("PYCUDA_CPU_MEMORY", "M", "a number of bytes"),
    ("PYCUDA_CPU_DEVICES", "two", "from 0 to 64"),
    ("PYCUDA_CPU_DEVICES", "65", "from 0 to 64"),
    ("PYCUDA_CPU_DEVICES", "1.0", "from 0 to 64"),
    ("PYCUDA_CPU_COMPUTE_CAPABILITY", "9", "8.6"),
    ("PYCUDA_CPU_COMPUTE_CAPABILITY", "99.9", "8.6"),
    ("PYCUDA_CPU_COMPUTE_CAPABILITY", "9.0.1", "8.6"),
    ("PYCUDA_CPU_COMPUTE_CAPABILITY", "sm_90", "8.6"),
    ("PYCUDA_CPU_DRIVER_VERSION", "12", "12040 for CUDA 12.4"),
    ("PYCUDA_CPU_THREADS", "x", "from 0 to 1024"),
    ("PYCUDA_CPU_THREADS", "99999999999999999999", "from 0 to 1024"),
    ("PYCUDA_CPU_ISA", "v9", "v2, v3 or v4"),
    ("PYCUDA_CPU_SCHEDULE", "foo", "random:SEED"),
    ("PYCUDA_CPU_SCHEDULE", "random:x", "random:SEED"),
    ("PYCUDA_CPU_CHECK", "memcheck", "racecheck"),
    ("PYCUDA_COMPILER", "clang", "nvrtc or nvcc"),
    ("CUDA_DEVICE", "x", "a device ordinal"),
    ("CUDA_DEVICE", "-1", "a device ordinal"),
    ("PYCUDA_DEVICE", "tpu", "gpu or cpu"),
]
RIGHT = {
    "PYCUDA_CPU_MEMORY": "1.5GiB",
    "PYCUDA_CPU_DEVICES": "2",
    "PYCUDA_CPU_COMPUTE_CAPABILITY": "12.1",
    "PYCUDA_CPU_DRIVER_VERSION": "13000",
    "PYCUDA_CPU_THREADS": "0",
    "PYCUDA_CPU_ISA": "v2",
    "PYCUDA_CPU_SCHEDULE": "random:17",
    "PYCUDA_CPU_CHECK": "racecheck, synccheck",
    "PYCUDA_COMPILER": "nvrtc",
    "CUDA_DEVICE": " 1\n",
}


@pytest.mark.parametrize(("variable", "value", "allowed"), WRONG)
def test_wrong_value(run_python, variable, value, allowed):
    done = run_python(INIT, env={**CPU, variable: value}, check=True)
    assert done.stdout.startswith("LogicError") and done.stderr == ""
    assert f'{variable} is "{value}": it must be ' in done.stdout and allowed in done.stdout


@pytest.mark.parametrize("kind", ["right", "empty"])
def test_right_values(run_python, kind):
    values = RIGHT if kind == "right" else dict.fromkeys(RIGHT, "")
    assert run_python(INIT, env={**CPU, **values}, check=True).stdout == "well\n"


@pytest.mark.parametrize("variable", ["PYCUDA_COMPILER", "PYCUDA_CPU_THREADS"])
def test_compile_without_init_refuses_wrong_settings(run_python, variable):
    program = "from pycuda.compiler import compile\ncompile('__global__ void f() {}')"
    done = run_python(program, env={**CPU, variable: "clang"})
    assert done.returncode == 1 and f'{variable} is "clang": it must be' in done.stderr


def test_compute_capability_without_a_point(run_python):
    program = "import pycuda.driver as drv\ndrv.init()\nprint(drv.Device(0).compute_capability())"
    done = run_python(program, env={**CPU, "PYCUDA_CPU_COMPUTE_CAPABILITY": "120"}, check=True)
    assert done.stdout == "(12, 0)\n"


def test_init_works_once_the_setting_was_corrected_in_the_process(run_python):
    program = INIT + "import os\ndel os.environ['CUDA_DEVICE']\ndrv.init()\nprint(drv.Device.count())"
    done = run_python(program, env={**CPU, "CUDA_DEVICE": "x"}, check=True)
    assert done.stdout.endswith("\n1\n")


LIMITED = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of Linux")
@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="needs address space of its own")
def test_a_limited_address_space(run_python):
    """Device memory of 8 GiB does not fit into 4 GiB of address space, and the message says how to change
    that; 256 MiB do."""
    done = run_python(LIMITED + INIT, env={**CPU, "PYCUDA_CPU_MEMORY": "8G"}, check=True)
    assert done.stdout.startswith("MemoryError")
    for word in ("PYCUDA_CPU_MEMORY", "4096 MiB", "ulimit -v"):
        assert word in done.stdout
    program = "import pycuda.autoinit, pycuda.driver as drv\ndrv.mem_alloc(200 << 20)"
    run_python(LIMITED + program, env={**CPU, "PYCUDA_CPU_MEMORY": "256M"}, check=True)


OTHER_PROGRAM = """
import ctypes
print(ctypes.CDLL({path!r}).cuInit(0))
"""


@pytest.mark.cpu("the CPU device's library")
def test_a_program_without_pycuda_gets_the_message_on_stderr(run_python):
    with open("/proc/self/maps") as maps:
        path = next(line.split()[-1] for line in maps if line.rstrip().endswith("libcuda.so.1"))
    done = run_python(OTHER_PROGRAM.format(path=path), env={"PYCUDA_CPU_MEMORY": "abc"}, check=True)
    assert done.stdout == "1\n"
    assert done.stderr == (
        'CPU device: PYCUDA_CPU_MEMORY is "abc": it must be a number of bytes, with K, M, G or T for powers '
        "of 1024, at most 1T: 512M\n"
    )


MISSPELLED = [
    ("PYCUDA_DEVCE", "PYCUDA_DEVICE"),
    ("PYCDUA_DEVICE", "PYCUDA_DEVICE"),
    ("pycuda_pool", "PYCUDA_POOL"),
    ("PYCUDA_CACHEDIR", "PYCUDA_CACHE_DIR"),
    ("PYCUDA_NO_PROGRESS", "PYCUDA_PROGRESS"),
    ("PYCUDA_THREADS", "PYCUDA_CPU_THREADS"),
    ("PYCUDA_CPU_SHEDULE", "PYCUDA_CPU_SCHEDULE"),
    ("PYCUDA_CPU_MEM", "PYCUDA_CPU_MEMORY"),
]


def test_misspelled_names(run_python):
    """One warning names all of them; a second init repeats none."""
    done = run_python(INIT + INIT, env={**CPU, **{name: "1" for name, _ in MISSPELLED}}, check=True)
    assert done.stdout == "well\nwell\n" and done.stderr.count("UserWarning") == 1
    for name, meant in MISSPELLED:
        expected = f"pycuda does not read the environment variable {name}; did you mean {meant}?"
        assert expected in done.stderr, name


def test_names_that_resemble_no_setting_are_not_warned_of(run_python):
    names = ["PYCUDA_TEST_CACHE", "PYCUDA_ROOT", "PYCUDA_HOME", "PYCUDA_VERSION", "PYCHARM_HOSTED", "PYC"]
    names += ["PYCUDA_", "PYCUDA_" + "DEVICE" * 100, "CUDA_DEVICES", "PYTHON_CPU_MEMORY"]
    done = run_python(INIT, env={**CPU, **dict.fromkeys(names, "1"), **RIGHT}, check=True)
    assert done.stdout == "well\n" and done.stderr == ""


def test_the_warning_comes_before_the_error_that_the_misspelling_causes(run_python):
    """PYCUDA_DEVICE is misspelled, so that init looks for PYCUDA_DRIVER's library, which does not exist."""
    env = {"PYCUDA_DEVICE": None, "PYCUDA_DRIVER": "/nowhere.so", "PYCUDA_DEVCE": "cpu"}
    done = run_python("import pycuda.driver as drv\ndrv.init()", env=env)
    assert done.returncode != 0 and "does not read the environment variable PYCUDA_DEVCE" in done.stderr


def test_a_warning_that_is_an_error_leaves_init_undone(run_python):
    """init raises it and can be repeated."""
    source = """
import warnings
warnings.simplefilter("error")
import pycuda.driver as drv
try:
    drv.init()
except UserWarning as error:
    print(error)
warnings.simplefilter("ignore")
print(drv.Device.count())
"""
    done = run_python(source, env={**CPU, "PYCUDA_CPU_DEVICE": "2"}, check=True)
    assert done.stdout.startswith("pycuda does not read the environment variable PYCUDA_CPU_DEVICE;")
    assert done.stdout.endswith("PYCUDA_CPU_DEVICES?\n1\n")
