"""docs/cpu_device.md lists as unsupported exactly the instructions that the CPU device does not execute."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def names(path, pattern):
    """The set of what a pattern's group matches in a file of the project."""
    return set(re.findall(pattern, (ROOT / path).read_text(), re.M))


def check():
    """Asserts that the list has the opcodes for which no operation is selected, and the instructions of the
    manual whose example does not load.
    """
    sys.path.insert(0, str(ROOT / "tests" / "ptx"))
    spec = importlib.util.spec_from_file_location("ptx_coverage", ROOT / "tools" / "ptx_coverage.py")
    coverage = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(coverage)
    known = names("device/ptx/instructions.def", r"^OPCODE\((\w+),")
    selected = names("device/lower/select/select.def", r"^(?:ALU|SELECT)\((\w+)")
    missing = (known - selected) | {name for name, text in coverage.EXAMPLES.items() if coverage.answer(text)}
    text = (ROOT / "docs" / "cpu_device.md").read_text()
    listed = re.search(r"Unsupported instructions:\s+((?:`[\w.]+`,?\s*)+)", text).group(1)
    assert set(re.findall(r"`([\w.]+)`", listed)) == missing


@pytest.mark.cpu("what the CPU device does not execute")
def test_the_list_has_exactly_the_unsupported_instructions(at_capability):
    at_capability((9, 0), check)
