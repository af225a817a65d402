"""examples/heat_mpi.py computes what NumPy does, with any number of processes."""

from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "heat_mpi.py"


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_several_processes(mpi_run, processes):
    assert f"processes: {processes}, " in mpi_run(processes, EXAMPLE).stdout


def test_without_mpiexec(run_python):
    """One process, without mpi4py."""
    program = f"""
    import runpy
    import sys

    sys.modules["mpi4py"] = None
    runpy.run_path({str(EXAMPLE)!r}, run_name="__main__")
    """
    assert "processes: 1, " in run_python(program, check=True).stdout
