"""Reads of memory that nothing has written are reported, and nothing else is (PYCUDA_CPU_CHECK=initcheck)."""

import init_programs
import pytest

pytestmark = pytest.mark.cpu("the CPU device's checks")


def is_expected(name, text):
    """Whether the check reported of this program what PROGRAMS says; "" means that it reported nothing."""
    _, word = init_programs.PROGRAMS[name]
    if word is None:
        return text == ""
    return "uninitialized memory" in text and word in text


def unexpected(verdicts):
    """The verdicts, program to text, that differ from PROGRAMS."""
    return {name: text for name, text in verdicts.items() if not is_expected(name, text)}


def test_each_program_has_its_report(verdicts):
    found = verdicts("init_programs", "initcheck,initcheck-shared")
    assert found.keys() == init_programs.PROGRAMS.keys()
    assert not unexpected(found)


def test_the_reports_are_the_same_in_random_order(verdicts):
    assert not unexpected(verdicts("init_programs", "initcheck,initcheck-shared", schedule="random:3"))


def test_nothing_is_looked_for_without_the_check(verdicts):
    only = ["read_nothing_written", "shared_unwritten", "heap_unwritten"]
    assert set(verdicts("init_programs", "racecheck", only=only).values()) == {""}


def test_of_shared_memory_only_if_asked(verdicts):
    assert verdicts("init_programs", "initcheck", only=["shared_unwritten"])["shared_unwritten"] == ""
    found = verdicts("init_programs", "initcheck-shared", only=["shared_unwritten", "read_nothing_written"])
    assert "uninitialized memory" in found["shared_unwritten"] and found["read_nothing_written"] == ""
