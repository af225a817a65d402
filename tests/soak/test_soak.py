"""A fixed set of random programs (run.py runs thousands): each must end as planned."""

import os
import sys
from pathlib import Path

import pytest
from devices import repeats

sys.path.insert(0, str(Path(__file__).parent))

import run
from plan import ENDINGS, make_plan

# Seeds with every ending among them; `.ci/run` runs others, `make soak` thousands.
SEEDS = range(58, 98)
PARTS = 5  # for pytest-xdist
OF_A_PART = len(SEEDS) // PARTS


@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs(part):
    results = run.run_seeds(SEEDS[part::PARTS][: repeats(OF_A_PART)], jobs=2, timeout=60)
    failed = [f"seed {seed}: {kind}\n{details}" for seed, kind, details, _ in results if kind]
    again = f"{len(failed)} failed; one again: python {run.__file__} --seeds N"
    assert not failed, "\n".join([*failed[:3], again])


def test_a_missing_gpu_is_reported_once(monkeypatch, capfd):
    """The runner reports it, and no program, as their stderr is compared."""
    monkeypatch.setenv("PYCUDA_DEVICE", "")  # so that monkeypatch restores it, though warm_up() sets it
    monkeypatch.delenv("PYCUDA_DEVICE")
    run.warm_up.__wrapped__(300)
    warned = "kernels run on the CPU device" in capfd.readouterr().err
    assert warned == (os.environ.get("PYCUDA_DEVICE") == "cpu")
    assert run.run_seed(6, 60)[1] is None


def test_every_ending_is_among_them():
    assert {make_plan(seed).ending for seed in SEEDS} == set(ENDINGS)


def test_a_seed_determines_its_plan():
    assert make_plan(17) == make_plan(17) != make_plan(18)


@pytest.mark.parametrize(
    ("change", "right"),
    [
        ({}, True),
        ({"code": 1}, False),
        ({"code": -11}, False),
        ({"stderr": "Exception ignored in: 'cuMemFree'\n"}, False),
    ],
)
def test_a_plan_accepts_its_own_exit_code_and_stderr_only(change, right):
    plan = next(plan for plan in map(make_plan, SEEDS) if plan.last == "end" and plan.ending == "clean")
    assert plan.is_right(**{"code": 0, "stderr": "", **change}) == right
