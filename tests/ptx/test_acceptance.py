"""The front end accepts and refuses what ptxas accepts and refuses: both get thousands of statements
generated from the device's own tables, valid and invalid ones.

ptxas compiles for three targets: an instruction that one of them has is valid. A statement that the device
refuses as "not supported" counts as accepted. tests/ptx/acceptance/known.py lists the intended differences.
PYCUDA_ACCEPTANCE=N generates N times as many statements.
"""

import os
import random
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))

from acceptance import headers, judges, known, mutants, statements, tables, written

pytestmark = pytest.mark.cpu("a GPU's driver is ptxas")
TARGETS = "sm_90a", "sm_100a", "sm_120a"
CORPUS = sorted((Path(__file__).parent.parent / "fuzz" / "corpus").glob("*.ptx"))
HIGHEST = (12, 1)  # compute capability: every target loads
TIMES = int(os.environ.get("PYCUDA_ACCEPTANCE", "1"))
SUPPORT = "not supported by the CPU device"


@pytest.fixture(scope="module")
def ptxas():
    """The path of a ptxas of version 13; others know other instructions."""
    path = judges.find_ptxas()
    if path is None:
        pytest.skip("no ptxas")
    version = judges.version_of(path)
    if version[0] != 13:
        pytest.skip("the verdicts are those of ptxas 13, this is {}.{}".format(*version))
    return path


def verdicts(judge_of, made):
    """{statement: None if one target accepts it, otherwise the last complaint, if possible one that is not
    about the target}"""
    found = dict.fromkeys(made, "")
    for target in TARGETS:
        left = [statement for statement, verdict in found.items() if verdict is not None]
        for statement, verdict in judge_of(target).judge(left).items():
            if not (verdict and found[statement] and "target" in verdict):
                found[statement] = verdict
    return found


def differences(ours, theirs, more=()):
    """Yields a line for each statement that only one of the two accepts, unless the difference is known."""
    for statement, refused in ours.items():
        complaint = theirs[statement]
        if complaint and complaint.startswith(judges.CRASH):
            continue
        if not refused and complaint and not known.is_known(statement, complaint, [*known.GENEROUS, *more]):
            yield f"ptxas alone refuses  {statement}   {complaint}"
        if (
            refused
            and not complaint
            and SUPPORT not in refused
            and not known.is_known(statement, refused, [*known.STRICT, *more])
        ):
            yield f"ptxas alone accepts  {statement}   {refused}"


def compare(path, seed, count):
    """Checks `count` generated statements, of which 1/8 to 1/2 must be valid."""
    made = statements.generate(random.Random(seed), per_row=1, mutants=3)
    made = statements.shuffled(made, seed)[:count]
    ours = verdicts(judges.Device, made)
    theirs = verdicts(lambda target: judges.Ptxas(path, target), made)
    found = list(differences(ours, theirs))
    taken = sum(verdict is None for verdict in ours.values())
    assert len(made) == count and count / 8 < taken < count / 2, "neither all right nor all wrong"
    assert not found, f"{len(found)} of {count}:\n" + "\n".join(found[:40])


@pytest.mark.parametrize("seed", range(TIMES))
def test_statements(at_capability, ptxas, seed):
    at_capability(HIGHEST, compare, ptxas, seed, 4000)


def wrong_refusals(statement):
    """Messages with which the device might refuse a valid statement by mistake."""
    mnemonic, _, operands = statement.rstrip(";").partition(" ")
    yield (
        "words",
        f"'{mnemonic}' is not an instruction: a modifier or type is missing, or they do not go together",
    )
    yield "count", f"'{mnemonic}' takes 3 operands, found 4"
    for at, operand in enumerate(re.findall(r"[\[{].*?[\]}](?=, |$)|[^,\s]+", operands), 1):
        got = {"[": "an address", "{": "a vector"}.get(operand[0], f"{operand} of type .b32")
        yield f"operand {at}", f"operand {at} of '{mnemonic}': expected a value of type .f16, found {got}"


def test_no_row_hides_behind_a_known_difference(ptxas):
    """If the device refused all of a row of the tables, the tests above would fail: at least one statement of
    each row that ptxas accepts is not a known difference."""
    rows, rng = tables.instruction_rows(), random.Random(5)
    made = [[statements.spelled(each) for each in statements.seeds_of(row, rng, 2)] for row in rows]
    theirs = verdicts(
        lambda target: judges.Ptxas(ptxas, target), list({s: None for row in made for s in row})
    )
    right = [[statement for statement in row if theirs[statement] is None] for row in made]
    assert sum(map(bool, right)) > 0.92 * len(rows)
    hidden = []
    for row in right:
        seen = {}
        for statement in row:
            for kind, refusal in wrong_refusals(statement):
                seen[kind] = seen.get(kind) or not known.is_known(statement, refusal, known.STRICT)
        hidden += [f"{kind} of {row[0]}" for kind in seen if not seen[kind]]
    assert not hidden, f"{len(hidden)}:\n" + "\n".join(hidden)


def compare_texts(path, texts):
    theirs, ours, found = judges.Ptxas(path, TARGETS[0]), judges.Device(), []
    for text in texts:
        complaint, refused = theirs.complaints(text), ours.load(text)
        crashed = complaint and complaint[0][2].startswith(judges.CRASH)
        if not crashed and bool(complaint) != bool(refused) and SUPPORT not in (refused or ""):
            found.append(f"{text[-300:]}\nptxas: {complaint[:1]}\ndevice: {refused}")
    assert not found, f"{len(found)} of {len(texts)}:\n" + "\n\n".join(found[:20])


def compare_written(path):
    compare_texts(path, list(written.texts(judges.Device(TARGETS[0]).preamble, statements.ENDING)))


def compare_mutants(path, name, seed):
    text = next(file for file in CORPUS if file.name == name).read_text()
    compare_texts(path, [text, *mutants.of_file(text, random.Random(seed), 20)])


def test_written_by_hand(at_capability, ptxas):
    at_capability(HIGHEST, compare_written, ptxas)


@pytest.mark.parametrize("seed", range(TIMES))
@pytest.mark.parametrize("name", [file.name for file in CORPUS])
def test_mutants_of_files(at_capability, ptxas, name, seed):
    at_capability(HIGHEST, compare_mutants, ptxas, name, seed)


def compare_older(path, target, version):
    """Valid statements in modules for older devices: those that need a newer one are refused."""
    made = statements.generate(random.Random(7), per_row=0, mutants=0)
    theirs, ours = judges.Ptxas(path, target, version), judges.Device(target, version)
    ours, theirs = ours.judge(made), theirs.judge(made)
    found = list(differences(ours, theirs, known.OLDER))
    assert not found, f"{len(found)}:\n" + "\n".join(found[:40])


OLDER = [("sm_75", "7.0"), ("sm_80", "7.4"), ("sm_90", "8.1"), ("sm_100", "8.6")]
OLDER += [(f"sm_{number}", "9.0") for number in (10, 13, 20, 30, 50, 60, 70)]


@pytest.mark.parametrize("older", OLDER)
def test_older_targets(at_capability, ptxas, older):
    at_capability(HIGHEST, compare_older, ptxas, *older)


def compare_headers(path, target):
    """The device accepts the asm statements of CUDA's headers that ptxas accepts, except for known
    differences."""
    made = headers.statements(Path(path).resolve().parents[1] / "include")
    ours, theirs = judges.Device(target), judges.Ptxas(path, target).judge(list(made))
    right = [statement for statement, refused in theirs.items() if not refused]
    assert len(right) > 1000
    found = []
    for statement in right:
        refused = ours.alone(statement)
        if refused and not known.is_known(statement.lstrip("{ "), refused, known.STRICT):
            found.append(f"{made[statement]}: {statement}   {refused}")
    assert not found, "\n".join(found)


def test_statements_of_cuda_headers(at_capability, ptxas):
    at_capability((9, 0), compare_headers, ptxas, "sm_90a")
