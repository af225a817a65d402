"""pycuda-cpu: the package without pycuda and NumPy; with PYCUDA_TEST_WHEEL=PATH, the wheel in an environment
that has nothing else (.ci/run: it downloads pytest).
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import cuda_cpu
import plugin_run
import pytest

pytestmark = pytest.mark.cpu("the folder of the CPU device's libraries")

LOADED = """
import sys
import pycuda_cpu, pycuda_cpu._report, pycuda_cpu._pytest_plugin
print(sorted({"pycuda", "numpy"} & {name.split(".")[0] for name in sys.modules}))
"""


def test_the_package_imports_neither_pycuda_nor_numpy(pycuda_cpu):
    done = cuda_cpu.run("-c", LOADED, command=[sys.executable], cwd="/", PYTHONPATH=str(pycuda_cpu))
    assert done.stdout == "[]\n", done.stderr


def test_the_package_runs_programs(pycuda_cpu, tmp_path, compiler):
    lib = pycuda_cpu / "pycuda_cpu" / "lib"
    program = cuda_cpu.compile_program(compiler, tmp_path, lib)
    command, path = [sys.executable, "-m", "pycuda_cpu"], {"PYTHONPATH": str(pycuda_cpu)}
    for arguments, printed in (["--path"], lib), (["--devices", "2", "--", program], "2 9 40 41 42"):
        done = cuda_cpu.run(*arguments, command=command, cwd="/", **path)
        assert (done.stdout, done.stderr, done.returncode) == (f"{printed}\n", "", 0)


@pytest.mark.parametrize("fault", [0, 1])
def test_check_runs_an_executable_and_sums_up(pycuda_cpu, tmp_path, compiler, fault):
    program = cuda_cpu.compile_program(compiler, tmp_path, cuda_cpu.cpu.path(), fault)
    ignores = f"import subprocess\nsubprocess.run([{str(program)!r}])"  # its exit status
    (tmp_path / "ignores.py").write_text(ignores)
    for name in program, tmp_path / "ignores.py":
        command = [sys.executable, "-m", "pycuda_cpu.check", "--", name]
        done = cuda_cpu.run(command=command, cwd="/", PYTHONPATH=str(pycuda_cpu))
        first, *faults = done.stderr.splitlines()
        counts = re.fullmatch(r"pycuda_cpu\.check: (\d) faults?, 1 launch, (\d+) bytes not freed.*", first)
        assert counts and int(counts[1]) == len(faults) == fault and int(counts[2]) >= 12, done.stderr
        assert all(line.startswith("  kernel fill, block (0,0,0), thread (3,0,0)") for line in faults)
        assert done.returncode == (fault and (3 if name == program else 1))


def test_a_package_without_libraries_says_so(tmp_path):
    package = tmp_path / "pycuda_cpu"
    package.mkdir()
    for module in "__init__.py", "__main__.py":
        (package / module).write_text((Path(cuda_cpu.cpu.__file__).parent / module).read_text())
    command = [sys.executable, "-m", "pycuda_cpu", "--path"]
    done = cuda_cpu.run(command=command, cwd="/", PYTHONPATH=str(tmp_path))
    text = f"there is no {package}/lib/libcuda.so.1: install pycuda_cpu again"
    assert done.returncode == 1 and done.stderr.endswith(f"FileNotFoundError: {text}\n")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder `bin` of an environment that has the wheel and pytest."""
    wheel = os.environ.get("PYCUDA_TEST_WHEEL")
    if not wheel:
        pytest.skip("PYCUDA_TEST_WHEEL names no wheel of pycuda-cpu")
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "-q"]
    subprocess.run([*pip, f"pycuda-cpu[pytest] @ file://{Path(wheel).resolve()}"], check=True)
    return folder / "bin"


def test_the_wheel_has_its_commands(installed, tmp_path, compiler):
    found = {
        cuda_cpu.run("--path", command=command, cwd="/").stdout
        for command in ([installed / "cuda-cpu"], [installed / "python", "-m", "pycuda_cpu"])
    }
    (lib,) = found
    assert lib.startswith(str(installed.parent)) and lib.endswith("/site-packages/pycuda_cpu/lib\n")
    program = cuda_cpu.compile_program(compiler, tmp_path, lib.strip())
    done = cuda_cpu.run("--log", program, command=[installed / "cuda-cpu"])
    assert (done.stdout, done.stderr, done.returncode) == ("1 9 40 41 42\n", "", 0)
    missing = cuda_cpu.run("-c", "import numpy", command=[installed / "python"], cwd="/", PYTHONPATH="")
    assert "No module named 'numpy'" in missing.stderr


def test_pytest_finds_the_plugin_of_the_wheel(installed, tmp_path):
    (tmp_path / "test_it.py").write_text(plugin_run.TESTS)
    done, outcomes = plugin_run.run(tmp_path, "--cuda-cpu", python=installed / "python", plugin=None)
    assert "2 failed, 6 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert outcomes["test_fault_without_a_wait"] == "FAILED"
    off, _ = plugin_run.run(tmp_path, "-p", "no:cuda_cpu", python=installed / "python", plugin=None)
    assert "pycuda-cpu" in done.stdout and "CUDA on the CPU device" not in off.stdout


def test_pytest_does_not_warn_about_the_package_that_was_imported(installed, tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it():\n    pass\n")
    code = "import sys, pycuda_cpu, pytest\nsys.exit(pytest.main(['-W', 'error', 'test_it.py']))"
    done = cuda_cpu.run("-c", code, command=[installed / "python"], cwd=tmp_path)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
