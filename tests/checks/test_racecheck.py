"""Races in shared memory are reported, and nothing else is (PYCUDA_CPU_CHECK=racecheck)."""

import copy_programs
import pytest
import race_programs

pytestmark = pytest.mark.cpu("the CPU device's checks")


def is_expected(message, words):
    """Whether the message reports a race of accesses of these two kinds, and why they race; for the words
    None, whether there is no message.
    """
    if words is None:
        return message == ""
    here, there = words
    found = "race at offset" in message and here in message and there in message
    return found and ("__sync" in message or "different values" in message or "has not waited" in message)


def unexpected(verdicts, programs=race_programs.PROGRAMS):
    """{name: (expected words, message)} of the verdicts that are not what the rows of the programs say."""
    expected = {name: words for name, (_, _, words) in programs.items()}
    return {
        name: (expected[name], text)
        for name, text in verdicts.items()
        if not is_expected(text, expected[name])
    }


def test_each_program_has_its_report(verdicts):
    found = verdicts("race_programs", "racecheck")
    assert found.keys() == race_programs.PROGRAMS.keys()
    assert not unexpected(found)


@pytest.mark.parametrize("seed", [1, 2])
def test_in_random_order(verdicts, seed):
    """Which access happens before which does not depend on the schedule, except where threads take a lock in
    turns.
    """
    found = verdicts("race_programs", "racecheck", schedule=f"random:{seed}")
    found.pop("sum_beside_the_lock")
    assert not unexpected(found)


@pytest.mark.parametrize("schedule", [None, "random:1"])
def test_copies_and_barriers_in_shared_memory(verdicts, schedule):
    found = verdicts("copy_programs", "racecheck", schedule=schedule, capability="8.0")
    assert found.keys() == copy_programs.PROGRAMS.keys()
    assert not unexpected(found, copy_programs.PROGRAMS)


def test_the_message_names_both_accesses_and_their_lines(verdicts):
    name = "tiles_with_one_barrier"
    text = verdicts("race_programs", "racecheck", only=[name])[name]
    lines = race_programs.SOURCE.splitlines()
    write = 1 + next(n for n, line in enumerate(lines) if name in line) + 4
    assert "tile[y][x]" in lines[write - 1] and "tile[x][y]" in lines[write + 1]
    for words in (
        f"kernel {name}, block (0,0,0), thread (",
        f"kernel.cu:{write} (PTX line",
        "of shared memory (tile + ",
        "this 4-byte write, and a 4-byte read by thread (",
        f"kernel.cu:{write + 2} (PTX line",
        "no __syncwarp() or __syncthreads() lies between them",
    ):
        assert words in text


def test_nothing_is_looked_for_without_the_check(verdicts):
    only = ["sum_without_first_barrier", "histogram_without_atomics", "dynamic_memory"]
    assert set(verdicts("race_programs", "synccheck", only=only).values()) == {""}
