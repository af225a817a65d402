"""What the front end takes and refuses is what ptxas takes and refuses: thousands of statements made from the
device's own tables, right and wrong ones, are shown to both.

ptxas is asked about three targets: an instruction that one of them has is right. What the device answers with
"not supported" it knows, too. tests/ptx/acceptance/known.py lists where the two differ on purpose.
PYCUDA_ACCEPTANCE=N makes N times as many statements.
"""

import os
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))

from acceptance import judges, known, statements

pytestmark = pytest.mark.cpu("a GPU's driver is ptxas")
TARGETS = "sm_90a", "sm_100a", "sm_120a"
HIGHEST = (12, 1)  # compute capability: every target loads
TIMES = int(os.environ.get("PYCUDA_ACCEPTANCE", "1"))
SUPPORT = "not supported by the CPU device"


@pytest.fixture(scope="module")
def ptxas():
    """The path of a ptxas whose verdicts these are: other versions know other instructions."""
    path = judges.find_ptxas()
    if path is None:
        pytest.skip("no ptxas")
    version = judges.version_of(path)
    if version[0] != 13:
        pytest.skip("the verdicts are those of ptxas 13, this is {}.{}".format(*version))
    return path


def verdicts_of_ptxas(path, made):
    """{statement: None where one target takes it, else what the last one says}"""
    verdicts = dict.fromkeys(made, "")
    for target in TARGETS:
        left = [statement for statement, verdict in verdicts.items() if verdict is not None]
        verdicts.update(judges.Ptxas(path, target).judge(left))
    return verdicts


def differences(ours, theirs):
    """Lines that say who is alone with what."""
    for statement, refused in ours.items():
        said = theirs[statement]
        if said and said.startswith(judges.CRASH):
            continue
        if not refused and said and not known.is_known(statement, known.GENEROUS):
            yield f"ptxas alone refuses  {statement}   {said}"
        if refused and not said and SUPPORT not in refused and not known.is_known(statement, known.STRICT):
            yield f"ptxas alone takes    {statement}   {refused}"


def compare(path, seed, count):
    made = statements.generate(random.Random(seed), per_row=1, mutants=3)
    made = statements.shuffled(made, seed)[:count]
    ours, theirs = judges.Device(TARGETS[0]).judge(made), verdicts_of_ptxas(path, made)
    found = list(differences(ours, theirs))
    taken = sum(verdict is None for verdict in ours.values())
    assert len(made) == count and count / 8 < taken < count / 2, "neither all right nor all wrong"
    assert not found, f"{len(found)} of {count}:\n" + "\n".join(found[:40])


@pytest.mark.parametrize("seed", range(2 * TIMES))
def test_statements(at_capability, ptxas, seed):
    at_capability(HIGHEST, compare, ptxas, seed, 4000)
