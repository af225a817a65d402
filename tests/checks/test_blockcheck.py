"""Races between blocks in global memory are reported, and nothing else is (PYCUDA_CPU_CHECK=racecheck)."""

import block_programs
import pytest

pytestmark = pytest.mark.cpu("the CPU device's checks")


def is_expected(message, words):
    """Whether the message reports a race between blocks, with these words; for None, whether there is
    none.
    """
    if words is None:
        return message == ""
    return "race between blocks" in message and all(word in message for word in words)


def unexpected(verdicts):
    """{name: (expected words, message)} of the verdicts that are not what PROGRAMS says."""
    assert verdicts.keys() == block_programs.PROGRAMS.keys()
    expected = block_programs.PROGRAMS
    return {
        name: (expected[name], text)
        for name, text in verdicts.items()
        if not is_expected(text, expected[name])
    }


@pytest.mark.parametrize("threads", ["1", "4"])
def test_each_program_has_its_report(verdicts, monkeypatch, threads):
    monkeypatch.setenv("PYCUDA_CPU_THREADS", threads)
    assert not unexpected(verdicts("block_programs", "racecheck"))


@pytest.mark.parametrize("seed", [1, 2])
def test_the_reports_are_the_same_in_random_order(verdicts, seed):
    assert not unexpected(verdicts("block_programs", "racecheck", schedule=f"random:{seed}"))


def test_the_message_names_both_accesses_and_their_lines(verdicts):
    name = "stencil_in_place"
    text = verdicts("block_programs", "racecheck", only=[name])[name]
    lines = block_programs.SOURCE.splitlines()
    line = 1 + next(n for n, line in enumerate(lines) if name in line)
    for words in (
        f"kernel {name}, block (",
        f"thread (0,0,0), kernel.cu:{line} (PTX line",
        " bytes into the device memory at 0x",
        "this 4-byte write, and a 4-byte read by block (",
        f"), thread (63,0,0), kernel.cu:{line} (PTX line",
        "__threadfence()",
    ):
        assert words in text


def test_variables_have_their_names(verdicts):
    name = "variable_cleared_by_one"
    text = verdicts("block_programs", "racecheck", only=[name])[name]
    assert "(total + 0): this 4-byte atomic operation, and a 4-byte write by block (" in text


def test_nothing_is_looked_for_without_the_check(verdicts):
    only = ["stencil_in_place", "histogram_without_atomics"]
    assert set(verdicts("block_programs", "synccheck,initcheck", only=only).values()) == {""}
