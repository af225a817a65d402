"""examples/heat_mpi.py computes what NumPy does, with any number of processes."""

from pathlib import Path

import pytest

import pycuda.driver as drv

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "heat_mpi.py"


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_several_processes(mpi_run, processes):
    assert f"strips: {processes}, " in mpi_run(processes, EXAMPLE).stdout


def test_through_host_memory(mpi_run):
    """Strips of two rows and of one, which is both edges."""
    assert "strips: 3, " in mpi_run(3, EXAMPLE, "--by", "staged", "--size", "6").stdout


@pytest.mark.gpu("NCCL's library contains NVIDIA's static CUDA runtime")
def test_nccl(mpi_run):
    pytest.importorskip("nccl.core", reason="nccl4py is not installed")
    count = drv.Device.count()
    if count < 2:
        pytest.skip("one GPU: two ranks cannot share it")
    assert f"strips: {count}, " in mpi_run(count, EXAMPLE, "--by", "nccl").stdout


def test_threads(run_python):
    """One process with a thread for each device."""
    program = f"""
    import runpy
    import sys

    import pycuda.driver as drv

    sys.argv = ["heat_mpi.py", "--by", "threads"]
    runpy.run_path({str(EXAMPLE)!r}, run_name="__main__")
    print("devices:", drv.Device.count())
    """
    done = run_python(program, check=True, env={"PYCUDA_CPU_DEVICES": "8"}).stdout.split()
    assert done[1] == done[-1] + ","


def test_without_mpiexec(run_python):
    """One process, without mpi4py."""
    program = f"""
    import runpy
    import sys

    sys.modules["mpi4py"] = None
    runpy.run_path({str(EXAMPLE)!r}, run_name="__main__")
    """
    assert "strips: 1, " in run_python(program, check=True).stdout
