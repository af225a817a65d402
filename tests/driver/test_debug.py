"""python -m pycuda.debug: a program with its kernels compiled for cuda-gdb."""

import re
import shutil
import subprocess
import sys

import pytest

SCRIPT = """
import sys
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule, compile
source = '''
__global__ void twice(int *a)
{
    a[threadIdx.x] *= 2;
}
'''
values = np.arange(4, dtype=np.int32)
SourceModule(source).get_function("twice")(drv.InOut(values), block=(4, 1, 1))
print("arguments", sys.argv[1:], __name__, values, b"debug" in compile(source, target="ptx"))
if "fail" in sys.argv:
    raise KeyError("of the script")
sys.exit(7)
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "program of mine.py"
    path.write_text(SCRIPT)
    return path


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs `python -m pycuda.debug` with these arguments; returns the CompletedProcess (text)."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # where the compiler's output is kept, in a new folder

    def debug(*arguments):
        command = [sys.executable, "-m", "pycuda.debug", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=100, cwd=tmp_path)

    return debug


def test_runs_the_script(run, script):
    done = run(script, "a", "--b")
    assert done.returncode == 7 and done.stderr == ""
    assert "arguments ['a', '--b'] __main__ [0 2 4 6] True\n" in done.stdout
    folder = re.search(r"compiler output in (\S+)", done.stdout)[1]
    with open(folder + "/source.cu") as file:
        assert file.read().splitlines()[1] == "__global__ void twice(int *a)"


def test_an_exception_of_the_script(run, script):
    done = run(script, "fail")
    assert done.returncode == 1 and done.stderr.endswith("KeyError: 'of the script'\n")


def test_without_a_script(run, tmp_path):
    done = run()
    assert done.returncode == 2 and done.stderr.startswith("usage: python -m pycuda.debug")
    done = run(tmp_path / "nowhere.py")
    assert done.returncode == 1 and "nowhere.py: no such file" in done.stderr


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help(run, option):
    done = run(option)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: python -m pycuda.debug") and "cuda-gdb --args" in done.stdout


@pytest.fixture
def cuda_gdb(script):
    """Runs the script under cuda-gdb with these commands and arguments of Python's; returns what both
    printed."""
    debugger = shutil.which("cuda-gdb") or shutil.which("/usr/local/cuda/bin/cuda-gdb")
    if not debugger:
        pytest.skip("cuda-gdb is not installed")

    def run(commands, *program):
        options = [word for command in commands for word in ("-ex", command)]
        command = [debugger, "-batch", *options, "--args", sys.executable, *program, str(script)]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=55, cwd=script.parent, stdin=subprocess.DEVNULL
        )
        return done.stdout + done.stderr

    return run


# What cuda-gdb prints where it is not allowed to debug the GPU or to trace the process.
FORBIDDEN = re.compile(
    r"^.*(?:ptrace|not permitted|permission|fatal:|CUDBG_ERROR|cannot be used for debugging"
    r"|debugger.*fail|driver.*fail).*$",
    re.M | re.I,
)


@pytest.mark.gpu("cuda-gdb attaches to NVIDIA's own driver only")
def test_under_cuda_gdb(cuda_gdb):
    """A breakpoint at a line of the user's source is hit in the kernel. First the script runs without
    pycuda.debug and cuda-gdb is to stop at every launch: where it does not, it cannot see kernels at all."""
    output = cuda_gdb(["set cuda break_on_launch application", "run", "info cuda kernels", "kill"])
    if "twice" not in output:
        reason = FORBIDDEN.search(output)
        assert reason, f"cuda-gdb stops at no launch, and does not say why:\n{output}"
        pytest.skip("cuda-gdb may not debug kernels here: " + reason[0])
    commands = ["set breakpoint pending on", "break source.cu:4", "run", "kill"]
    output = cuda_gdb(commands, "-m", "pycuda.debug")
    assert re.search(r"hit.*twice|twice.*source\.cu:4", output, re.DOTALL), output
