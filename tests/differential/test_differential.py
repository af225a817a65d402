"""Random programs of a fixed set of seeds give NumPy's results (run_cases.py takes any seeds), and the
comparison finds differences.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import run_cases
from case import Case
from compare import Difference, compare, compare_errors, compare_sharing
from groups import GROUPS
from known import KNOWN, reason

from pycuda import gpuarray

SEEDS = range(60)  # `.ci/run` has 5000
PARTS = 2  # for pytest-xdist


@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs(part):
    answers = run_cases.run_seeds(SEEDS[part::PARTS], jobs=1)
    failed = [f"seed {each['seed']}: {each['found']}" for each in answers if each["found"]]
    assert not failed, "\n".join([*failed[:3], f"one again: python {run_cases.__file__} --seeds N"])


def test_a_seed_is_one_program():
    assert Case(17).program() == Case(17).program() != Case(18).program()
    assert {name for seed in SEEDS for name in Case(seed).groups} == set(GROUPS)


def test_a_program_runs_by_itself(run_python):
    assert run_python(Case(3).program(), check=True).stdout.count("array(") >= 2


@pytest.mark.usefixtures("primary_context")
@pytest.mark.parametrize("got, want, ulp", [
    ([1, 2], [1, 3], 0), ([1.0], [1], 0), ([1], [[1]], 0), ([0.0], [-0.0], 0), ([np.nan], [1.0], 8),
    ([1.0], [1.0 + 1e-9], 8), ([1, 2], [1, 2, 3], 0),
])  # fmt: skip
def test_compare_finds_differences(got, want, ulp):
    on_device = gpuarray.to_gpu(np.array(got))
    compare(on_device, np.array(got), ulp)
    with pytest.raises(Difference):
        compare(on_device, np.array(want), ulp)


@pytest.mark.usefixtures("primary_context")
def test_errors_may_be_relative_to_operands_that_cancel_out():
    on_device = gpuarray.to_gpu(np.array(0.0))
    compare(on_device, np.array(8.0), 32, scale=2.0**62)
    for scale in (0.0, 2.0**40):
        with pytest.raises(Difference):
            compare(on_device, np.array(8.0), 32, scale=scale)
    case = Case(3029127)
    assert case.scale("np.average(c)") == 2.0**63 and case.scale("np.floor_divide(a, b)") == 0


@pytest.mark.parametrize("text, got, want, known", [
    ("np.maximum.outer(a, b)", [0.0], [-0.0], True), ("np.clip(a, 0, 1)", [0.0, 1.0], [-0.0, 2.0], False),
    ("np.add.outer(a, b)", [0.0], [-0.0], False), ("np.ceil(a, dtype='i4')", [2**31 - 1], [-(2**31)], True),
    ("np.ceil(a, dtype='i4')", [5], [6], False), ("np.cumsum(a)", np.float16([100]), np.float16([110]), True),
    ("np.cumsum(a)", np.float32([100]), np.float32([110]), False),
    ("np.cumsum(a)", np.float16([1]), np.float16([110]), False),
])  # fmt: skip
def test_which_values_are_known_to_differ(text, got, want, known):
    pairs = np.array(got), np.array(want)
    assert (reason(text, *pairs, Difference("result", pairs)) is not None) == known


def test_a_program_may_have_more_arrays_than_lower_case_letters():
    names = Case(4546628).draw.views
    assert len(names) > 26 and all(name.isidentifier() for name in names)


@pytest.mark.usefixtures("primary_context")
def test_memory_and_errors_that_are_different():
    host = np.arange(4)
    on_device = gpuarray.to_gpu(host)
    compare_sharing(on_device[1:], host[1:], {"a": on_device}, {"a": host})
    for pair in (on_device.copy(), host[1:]), (on_device[1:], host.copy()):
        with pytest.raises(Difference):
            compare_sharing(*pair, {"a": on_device}, {"a": host})
    compare_errors(np.exceptions.AxisError(3, 1), np.exceptions.AxisError(3, 1))
    for pair in (TypeError(), ValueError()), (on_device, ValueError()), (ValueError(), host):
        with pytest.raises(Difference):
            compare_errors(*pair)


def test_the_next_case_has_a_worker_of_its_own_after_a_crash(monkeypatch, tmp_path):
    """The second of three seeds ends the process."""
    script = tmp_path / "worker.py"
    script.write_text(
        'import os\nprint("ready", flush=True)\nwhile True:\n    seed = int(input())\n'
        "    if seed == 1:\n        os.abort()\n"
        '    print(f\'{{"seed": {seed}, "found": null, "lost": false}}\', flush=True)\n'
    )
    monkeypatch.setattr(run_cases, "WORKER", str(script))
    answers = list(run_cases.run_seeds(range(3), jobs=1))
    assert [each["seed"] for each in answers] == [0, 1, 2]
    assert [bool(each["found"]) for each in answers] == [False, True, False]


@pytest.mark.parametrize("row", KNOWN, ids=[row[0] for row in KNOWN])
def test_known_differences_stand_in_the_documentation(row):
    page = (Path(__file__).parents[2] / row[1]).read_text()
    assert " ".join(row[2].split()) in " ".join(page.split())
