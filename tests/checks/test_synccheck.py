"""Wrong uses of barriers are reported, and nothing else is (PYCUDA_CPU_CHECK=synccheck)."""

import pytest
import sync_programs

pytestmark = pytest.mark.cpu("the CPU device's checks")

EXPECTED = {name: word for name, (_, _, word) in sync_programs.PROGRAMS.items()}


def test_each_program_has_its_report(verdicts):
    found = verdicts("sync_programs", "synccheck")
    assert found.keys() == EXPECTED.keys()
    assert not {
        name: (EXPECTED[name], text)
        for name, text in found.items()
        if (text != "" if EXPECTED[name] is None else EXPECTED[name] not in text)
    }


def test_right_programs_in_random_order(verdicts):
    right = [name for name, word in EXPECTED.items() if word is None]
    found = verdicts("sync_programs", "synccheck", schedule="random:3", only=right)
    assert set(found.values()) == {""}


def test_two_places_in_random_order(verdicts):
    found = verdicts("sync_programs", "synccheck", schedule="random:4", only=["two_places"])
    assert "divergent threads" in found["two_places"]
