"""Reads of what nothing has written: found where they are, and nowhere else (PYCUDA_CPU_CHECK=initcheck)."""

import init_programs
import pytest

pytestmark = pytest.mark.cpu("the CPU device's checks")


def wrong(verdicts):
    expected = {name: word for name, (_, word) in init_programs.PROGRAMS.items()}
    return {
        name: (expected[name], text)
        for name, text in verdicts.items()
        if (
            text != ""
            if expected[name] is None
            else "uninitialized memory" not in text or expected[name] not in text
        )
    }


def test_programs(verdicts):
    found = verdicts("init_programs", "initcheck,initcheck-shared")
    assert found.keys() == init_programs.PROGRAMS.keys()
    assert not wrong(found)


def test_in_random_order(verdicts):
    assert not wrong(verdicts("init_programs", "initcheck,initcheck-shared", schedule="random:3"))


def test_nothing_is_looked_for_without_the_check(verdicts):
    only = ["read_nothing_written", "shared_unwritten", "heap_unwritten"]
    assert set(verdicts("init_programs", "racecheck", only=only).values()) == {""}


def test_of_shared_memory_only_if_asked(verdicts):
    assert verdicts("init_programs", "initcheck", only=["shared_unwritten"])["shared_unwritten"] == ""
    found = verdicts("init_programs", "initcheck-shared", only=["shared_unwritten", "read_nothing_written"])
    assert "uninitialized memory" in found["shared_unwritten"] and found["read_nothing_written"] == ""
