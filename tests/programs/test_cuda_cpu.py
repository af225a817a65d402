"""cuda-cpu and `python -m pycuda.cpu`: a program in C on the CPU device, the options, the exit status."""

import subprocess
import sys

import cuda_cpu
import pytest

from pycuda import cpu

pytestmark = pytest.mark.cpu("the folder of the CPU device's library")

SOURCE = r"""
#include <stdio.h>

int cuInit(unsigned), cuDeviceGet(int *, int), cuDeviceGetCount(int *), cuCtxSynchronize(void);
int cuDeviceGetAttribute(int *, int, int), cuCtxCreate_v2(void **, unsigned, int);
int cuModuleLoadData(void **, const void *), cuModuleGetFunction(void **, void *, const char *);
int cuMemAlloc_v2(unsigned long long *, size_t), cuMemcpyDtoH_v2(void *, unsigned long long, size_t);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                   void **, void **);

#define CHECK(call) do { int code = call; if (code) return printf("%s: %d\n", #call, code), 3; } while (0)

static const char ptx[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry fill(.param .u64 to) {\n"
    ".reg .b32 %r<2>; .reg .b64 %d<3>;\n"
    "ld.param.u64 %d0, [to]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.u64 %d2, %d0, %d1;\n"
    "add.u32 %r1, %r0, 40; st.global.u32 [%d2], %r1; ret;\n}\n";

int main(void)
{
    int count, device, major;
    void *context, *module, *function;
    unsigned long long memory;
    unsigned out[3];
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&count));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDeviceGetAttribute(&major, 75, device)); // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
    CHECK(cuCtxCreate_v2(&context, 0, device));
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&function, module, "fill"));
    CHECK(cuMemAlloc_v2(&memory, sizeof out));
    void *parameters[] = {&memory};
    CHECK(cuLaunchKernel(function, 1, 1, 1, FAULT ? 64 : 3, 1, 1, 0, 0, parameters, 0));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH_v2(out, memory, sizeof out));
    printf("%d %d %u %u %u\n", count, major, out[0], out[1], out[2]);
    return 0;
}
"""


def run(*arguments, **environment):
    """The finished process of `python -m pycuda.cpu` with these arguments.

    It runs outside the source tree, whose package has no extension module to import.
    """
    command = [sys.executable, "-m", "pycuda.cpu"]
    return cuda_cpu.run(*arguments, command=command, cwd="/", **environment)


@pytest.fixture(scope="module")
def program(tmp_path_factory, compiler):
    """Compiles SOURCE and links it with the CPU device: program(fault) is the path of the executable. With
    fault=1, its kernel writes past its memory."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "fill.c").write_text(SOURCE)

    def compiled(fault):
        made = folder / f"fill_{fault}"
        command = [compiler, f"-DFAULT={fault}", "fill.c", "-o", made, f"-L{cpu.path()}", "-l:libcuda.so.1"]
        subprocess.run([*command, "-Wl,--allow-shlib-undefined"], cwd=folder, check=True)
        return made

    return compiled


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
    assert helped.returncode == 0 and helped.stdout.startswith("usage: cuda-cpu [options] [--] command")
    assert empty.returncode == 2 and empty.stderr == helped.stdout
