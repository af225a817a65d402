"""cuda-cpu and `python -m pycuda.cpu`: a program in C on the CPU device, the options, the exit status."""

import shutil
import sys

import cuda_cpu
import pytest

from pycuda import cpu

pytestmark = pytest.mark.cpu("the folder of the CPU device's library")


def run(*arguments, **environment):
    """The finished process of `python -m pycuda.cpu` with these arguments.

    It runs outside the source tree, whose package has no extension module to import.
    """
    command = [sys.executable, "-m", "pycuda.cpu"]
    return cuda_cpu.run(*arguments, command=command, cwd="/", **environment)


@pytest.fixture(scope="module")
def program(tmp_path_factory, compiler):
    """Compiles the program: program(fault) is the path of the executable. With fault=1, its kernel writes
    past its memory.
    """
    folder = tmp_path_factory.mktemp("program")
    return lambda fault: cuda_cpu.compile_program(compiler, folder, cpu.path(), fault)


def test_options_are_those_of_the_device_that_a_c_program_finds(program):
    made = program(fault=0)
    for options in ("--devices", "2", "--capability=8.6", "--"), ("--devices=2", "--capability", "8.6"):
        done = run(*options, made)
        assert (done.stdout, done.stderr, done.returncode) == ("2 8 40 41 42\n", "", 0)
    with_folder = run(made, LD_LIBRARY_PATH="/nonexistent")
    assert with_folder.stdout == "1 9 40 41 42\n"


def test_a_fault_is_named_in_the_log(program):
    made = program(fault=1)
    quiet, loud = run(made), run("--log", made)
    for done in quiet, loud:
        assert (done.stdout, done.returncode) == ("cuCtxSynchronize(): 700\n", 3)
    assert quiet.stderr == ""
    assert "kernel fill, block (0,0,0), thread (3,0,0)" in loud.stderr


def test_cuda_cpu_does_the_same_as_the_module(program):
    done = cuda_cpu.run("--devices", 3, program(fault=0))
    assert done.stdout == "3 9 40 41 42\n"
    assert cuda_cpu.run("--path").stdout == cpu.path() + "\n"
    assert run("--path").stdout == cpu.path() + "\n"


# A program that prints variables of its environment, a line each.
PRINTS = "import os; print(*(os.environ.get(name) for name in {names}), sep='\\n')"


def test_what_a_program_finds_in_its_environment():
    names = ["PYCUDA_DEVICE", "LD_LIBRARY_PATH", "NUMBA_CUDA_DRIVER", "TRITON_LIBCUDA_PATH"]
    settings = {
        "THREADS": "3",
        "DEVICES": "2",
        "COMPUTE_CAPABILITY": "7.5",
        "MEMORY": "64M",
        "CHECK": "racecheck,initcheck",
        "LOG": "stderr",
    }
    names += ["PYCUDA_CPU_" + name for name in settings]
    given = "--threads 3 --devices 2 --capability 7.5 --memory 64M --checks racecheck,initcheck"
    code = PRINTS.format(names=names)
    done = run(*given.split(), "--log", sys.executable, "-c", code, LD_LIBRARY_PATH="/some/folder")
    folder = cpu.path()
    first = ["cpu", f"{folder}:/some/folder", f"{folder}/libcuda.so.1", folder]
    assert done.stdout.splitlines() == first + list(settings.values())
    without = run("--", sys.executable, "-c", code, LD_LIBRARY_PATH="")
    assert without.stdout.splitlines()[1] == folder


def test_cuda_cpu_under_itself_adds_nothing_to_the_environment():
    code = PRINTS.format(names=["LD_LIBRARY_PATH", "LD_PRELOAD"])
    printed = {
        run(*runners, sys.executable, "-c", code, LD_LIBRARY_PATH="/a").stdout
        for runners in ([], [cuda_cpu.RUNNER], [cuda_cpu.RUNNER, "--", cuda_cpu.RUNNER])
    }
    (lines,) = printed
    assert lines.splitlines()[0] == f"{cpu.path()}:/a"


def test_the_exit_status_is_the_programs():
    for status in 0, 7, 255:
        assert run("--", "sh", "-c", f"exit {status}").returncode == status
    assert run("--", "sh", "-c", "kill -9 $$").returncode == -9
    missing, forbidden = run("nonesuch-program"), run("/dev/null")
    assert (missing.returncode, missing.stderr) == (
        127,
        "cuda-cpu: nonesuch-program: No such file or directory\n",
    )
    assert (forbidden.returncode, forbidden.stderr) == (126, "cuda-cpu: /dev/null: Permission denied\n")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--devices", "99", "true"], 'PYCUDA_CPU_DEVICES is "99": it must be a number from 0 to 64'),
        (["--capability=1.0", "true"], 'PYCUDA_CPU_COMPUTE_CAPABILITY is "1.0": it must be that of a GPU'),
        (["--checks", "races", "true"], 'PYCUDA_CPU_CHECK is "races": it must be a list of racecheck'),
        (["--device", "1", "true"], "no such option: --device"),
        (["-x", "true"], "no such option: -x"),
        (["--log=yes", "true"], "no value belongs to --log"),
        (["--devices"], "a value is missing: --devices"),
    ],
)
def test_wrong_options_are_refused_in_one_line(arguments, text):
    done = run(*arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("cuda-cpu: " + text) and done.stderr.count("\n") == 1


def test_help():
    """Without a command, the same text is an error."""
    helped, empty = run("--help"), run()
    assert run("-h").stdout == helped.stdout
    assert helped.returncode == 0 and helped.stdout.startswith("usage: cuda-cpu [options] [--] command")
    assert empty.returncode == 2 and empty.stderr == helped.stdout


def test_no_device_is_a_setting_as_any_other():
    code = "import ctypes; print(ctypes.CDLL('libcuda.so.1').cuInit(0))"
    done = run("--devices", 0, sys.executable, "-c", code)
    assert (done.stdout, done.stderr, done.returncode) == ("100\n", "", 0)  # CUDA_ERROR_NO_DEVICE


def test_a_folder_that_the_linker_cannot_be_given_is_refused(tmp_path):
    code = "import ctypes, os; print(ctypes.CDLL('libcuda.so.1').cuInit(0), os.environ['LD_PRELOAD'])"
    for name, works in ("a b", True), ("a:b", False), ("a;b", False):
        folder = tmp_path / name
        folder.mkdir()
        for file in (
            cuda_cpu.RUNNER,
            *(f"{cpu.path()}/{each}" for each in ("libcuda.so.1", "libcuda-preload.so")),
        ):
            shutil.copy(file, folder)
        done = cuda_cpu.run(sys.executable, "-c", code, command=[folder / "cuda-cpu"])
        if works:
            assert (done.stdout, done.stderr) == ("0 libcuda-preload.so\n", "")
        else:
            assert done.returncode == 2 and "a colon or a semicolon in its name" in done.stderr
