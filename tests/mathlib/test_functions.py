"""The functions of CUDA's math, half, bfloat16, integer and SIMD headers, over thousands of inputs each,
compared bit by bit with the results recorded on a GPU (tools/record_ptx.py).

Both sides run the PTX kept in ptx/. Modules for newer GPUs run in a child process on a CPU device of their
compute capability.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "ptx"))
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))

from devices import on_cpu_device
from math_cases import inputs, judge, modules, record, runner, table

import pycuda.driver as drv


def capability():
    """The compute capability of the current context's device as table.GROUPS has it: 75 for 7.5."""
    major, minor = drv.Context.get_device().compute_capability()
    return 10 * major + minor


def complaints(group):
    """Runs a group's functions on this process's device: a text for each function with a wrong result."""
    module, known = runner.load(group), record.load(group)
    found = []
    for function in table.groups()[group]:
        results = runner.run(function, module)
        found.append(judge.complaint(function, group, results, known.get(function.entry)))
    runner.release()
    return [text for text in found if text]


pytestmark = pytest.mark.usefixtures("primary_context")
SEPARATOR = "\0"  # of the child's complaints, which have several lines


def complaints_of_child(group):
    """complaints() of a child process, this file as a program, on a CPU device new enough for the group."""
    needed = f"{table.GROUPS[group][0] / 10}"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, group],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYCUDA_CPU_COMPUTE_CAPABILITY": needed, "PYCUDA_DEVICE": "cpu"},
    )
    assert done.returncode == 0, done.stderr
    return [text for text in done.stdout.split(SEPARATOR) if text]


@pytest.mark.parametrize("group", table.GROUPS)
def test_every_function_of_a_group_gives_the_bits_of_a_gpu(group):
    needed = table.GROUPS[group][0]
    if needed > capability() and not on_cpu_device():
        pytest.skip(f"needs compute capability {needed / 10}")
    wrong = complaints_of_child(group) if needed > capability() else complaints(group)
    assert not wrong, f"{len(wrong)} of {len(table.groups()[group])} functions\n" + "\n".join(wrong)


def test_every_function_is_in_its_module():
    for group, functions in table.groups().items():
        assert {function.entry for function in functions} <= set(modules.bodies(group)), group


def sample_of(group, name):
    """(the function of a group with this name, its results on this device)"""
    function = next(function for function in table.groups()[group] if function.name == name)
    results = runner.run(function, runner.load(group))
    runner.release()
    return function, results


@pytest.mark.parametrize(
    ("group", "name", "lane"),
    [
        ("float", "sinf", 1000),
        ("double", "pow", 77),  # approximate instructions inside
        ("integer", "__brev", 4095),
        ("simd", "__vabsdiffu4", 0),
        ("half", "__hmul2", 63),
        ("half", "hexp", 0x3C00),
        ("bfloat16", "h2log", 1024),
    ],
)
def test_one_wrong_bit_is_found(group, name, lane):
    """The judge finds one changed bit in the results of a lane, and names inputs of the part that has the
    lane."""
    function, results = sample_of(group, name)
    entry = record.entry(function, group, results.copy())
    assert not judge.complaint(function, group, results, entry)
    results[lane] ^= 1
    first_of_part = lane - lane % (len(results) // record.PARTS)
    assert inputs.describe(function, first_of_part) in judge.complaint(function, group, results, entry)


if __name__ == "__main__":
    drv.init()
    drv.Device(0).retain_primary_context().push()
    sys.stdout.write(SEPARATOR.join(complaints(sys.argv[1])))
    drv.Context.pop()
