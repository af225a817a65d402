"""`python -m pycuda` and `python -m pycuda.cache`."""

import os
import signal
import subprocess
import sys

import pytest

import pycuda
import pycuda.driver as drv
from pycuda import cache

pytestmark = pytest.mark.usefixtures("elsewhere")


def run(*words, **environment):
    """Runs `python -m` with these words and changes of the environment. Returns the finished process."""
    command = [sys.executable, "-W", "ignore", "-m", *words]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})


def test_it_prints_version_compiler_devices_and_cache():
    done = run("pycuda")
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    assert f"pycuda    {pycuda.VERSION_TEXT}" in done.stdout and "compiler  NVRTC 1" in done.stdout
    for number in range(drv.Device.count()):
        assert f"device {number}  {drv.Device(number).name()}" in done.stdout
    assert f"cache     {cache.folder()}: " in done.stdout


def test_it_takes_options_and_no_arguments():
    assert "python -m pycuda.cache" in run("pycuda", "--help").stdout
    assert run("pycuda", "--version").stdout == f"{pycuda.VERSION_TEXT}\n"
    done = run("pycuda", "devices")
    assert done.returncode == 2 and "devices" in done.stderr and not done.stdout


@pytest.mark.parametrize(
    "environment, words",
    [
        ({"PYCUDA_DRIVER": "/nowhere/libcuda.so.1"}, "missing: without a driver no kernel runs"),
        ({"PYCUDA_NVRTC": "/nowhere/libnvrtc.so", "PATH": "/nowhere", "CUDA_HOME": ""}, "compiler  "),
        ({"PYCUDA_DEVICE": "tpu"}, 'PYCUDA_DEVICE is "tpu": it must be gpu or cpu'),
    ],
    ids=["driver", "compiler", "setting"],
)
def test_what_is_missing(environment, words):
    done = run("pycuda", **environment)
    assert words in done.stdout and not done.stderr, done.stdout + done.stderr
    assert done.returncode == ("missing: " in done.stdout)


def test_the_cache_is_listed_and_cleared(tmp_path):
    program = "import pycuda.autoinit\nfrom pycuda.compiler import SourceModule\n"
    program += "SourceModule('__global__ void k() {}')"
    where = {"PYCUDA_CACHE_DIR": str(tmp_path)}
    assert "0 files, 0 bytes" in run("pycuda.cache", **where).stdout
    (tmp_path / "notes.txt").write_text("not ours")
    environment = {**os.environ, **where}
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], env=environment, check=True)
    files = {path.name for path in tmp_path.iterdir()} - {"notes.txt"}
    listed = run("pycuda.cache", "list", **where).stdout.splitlines()
    assert files and {line.rsplit("/", 1)[1] for line in listed} == files
    reader, writer = os.pipe()
    os.close(reader)  # as `list | head` ends
    command = [sys.executable, "-W", "ignore", "-m", "pycuda.cache", "list"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, env=environment)
    os.close(writer)
    assert done.returncode == -signal.SIGPIPE and not done.stderr
    assert f"{tmp_path}: {len(files)} files, " in run("pycuda.cache", "show", **where).stdout
    assert run("pycuda.cache", "clear", **where).stdout == f"{len(files)} files removed\n"
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert run("pycuda.cache", PYCUDA_DISABLE_CACHE="1").stdout.startswith("off")
    assert run("pycuda.cache", "burn").returncode == 2
