"""PYCUDA_CPU_CHECK: which names of checks it takes, and several at once."""

import pytest

pytestmark = pytest.mark.cpu("the CPU device's checks")

INIT = """
import pycuda.driver as drv
try:
    drv.init()
    print("well")
except drv.Error as error:
    print(error)
"""


@pytest.mark.parametrize(
    "checks", ["", "racecheck", "racecheck,initcheck,initcheck-shared,synccheck", "synccheck, initcheck"]
)
def test_names_of_checks_are_accepted(run_python, checks):
    assert run_python(INIT, env={"PYCUDA_CPU_CHECK": checks}, check=True).stdout == "well\n"


@pytest.mark.parametrize("checks", ["memcheck", "racecheck,intcheck", "initcheck-", "1"])
def test_other_words_are_an_error(run_python, checks):
    done = run_python(INIT, env={"PYCUDA_CPU_CHECK": checks}, check=True)
    assert "cuInit" in done.stdout and f'PYCUDA_CPU_CHECK is "{checks}"' in done.stdout


def test_all_checks_at_once(verdicts):
    """With all checks on, each kind of fault is reported."""
    checks = "racecheck,initcheck,synccheck"
    race = verdicts("race_programs", checks, only=["histogram", "histogram_read_too_soon"])
    assert race["histogram"] == "" and "race at offset" in race["histogram_read_too_soon"]
    unwritten = verdicts("init_programs", checks, only=["read_all_written", "read_last_unwritten"])
    assert unwritten["read_all_written"] == "" and "uninitialized memory" in unwritten["read_last_unwritten"]
