"""Generated kernels that diverge, with every check: results are right and nothing is reported, in
any order.
"""

from pathlib import Path

import pytest

pytestmark = pytest.mark.cpu("the CPU device's checks")

PROGRAMS = Path(__file__).parents[1] / "programs"
SOURCE = """
import sys
sys.path.insert(0, {folder!r})
import generated
import pycuda.autoinit
generated.STRENGTH = {strength!r}
print(generated.run_many(5000, {count}))
"""


def run(run_python, strength, count, schedule):
    """Runs `count` generated programs with every check. Returns their output: "{}" if all were right.
    strength: the PTX qualifier of their loads and stores (generated.STRENGTH).
    """
    source = SOURCE.format(folder=str(PROGRAMS), strength=strength, count=count)
    checks = "racecheck,initcheck,initcheck-shared,synccheck"
    environment = {"PYCUDA_CPU_CHECK": checks, "PYCUDA_CPU_SCHEDULE": schedule}
    return run_python(source, env=environment, check=True).stdout


@pytest.mark.parametrize("schedule", [None, "random:5"])
def test_nothing_is_reported(run_python, schedule):
    assert run(run_python, "relaxed.cta", 150, schedule) == "{}\n"


def test_turns_by_volatile_are_races(run_python):
    assert "race at offset" in run(run_python, "volatile", 150, None)
