"""Verdicts of checked programs: a child process runs the programs of a file and prints the error of each."""

import json
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


@pytest.fixture
def verdicts(run_python):
    """A function that runs the programs of a file, or `only` some of them, under these checks of
    PYCUDA_CPU_CHECK and returns {name: message}. The message is empty if the checks found nothing.
    """

    def run(file, checks, *, schedule=None, capability=None, only=()):
        source = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
sys.argv[1:] = {[file, *only]!r}
import runner
runner.main({file!r})
"""
        environment = {
            "PYCUDA_CPU_CHECK": checks,
            "PYCUDA_CPU_SCHEDULE": schedule,
            "PYCUDA_CPU_COMPUTE_CAPABILITY": capability,
        }
        return json.loads(run_python(source, env=environment, check=True).stdout)

    return run
