"""examples/heat_mpi.py computes what NumPy does, with any number of processes."""

from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "heat_mpi.py"


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_several_processes(mpi_run, processes):
    assert f"strips: {processes}, " in mpi_run(processes, EXAMPLE).stdout


def test_through_host_memory(mpi_run):
    assert "strips: 3, " in mpi_run(3, EXAMPLE, "--by", "staged", "--size", "11").stdout


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
