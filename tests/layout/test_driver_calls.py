"""ext/ calls the driver only by the functions that ext/base/driver_calls.h makes of the rows of the driver
table, and which decide whether the GIL is held. A function of core/ that is marked IN_CALL makes driver calls
on behalf of its caller: ext/ calls it in CALL_CORE only, or passes it to a function that does.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = [path for folder in ("ext", "core") for path in sorted((ROOT / folder).rglob("*.[ch]"))]
EXT = [path for path in FILES if path.is_relative_to(ROOT / "ext")]
MAKERS = {"ext/base/driver_calls.c", "ext/base/driver_calls.h"}
# A pair of parentheses and what is in it, with up to three more levels of them.
BRACKETS = r"\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)"


def name(path):
    return path.relative_to(ROOT).as_posix()


def code(path):
    """The text of a C file without comments and strings."""
    text = path.read_text()
    return re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.S)


def marked(path):
    """The names of a C file's functions that are marked IN_CALL."""
    return set(re.findall(r"\bIN_CALL\b[^;{(]*?\b(\w+)\(", code(path)))


CORE = set().union(*(marked(path) for path in (ROOT / "core").rglob("*.h")))


@pytest.mark.parametrize("path", [path for path in EXT if name(path) not in MAKERS], ids=name)
def test_the_driver_is_called_by_its_rows(path):
    assert re.findall(r"\bdriver\s*\.\s*\w+|\bDriverTable\b(?!,)", code(path)) == []


@pytest.mark.parametrize("path", EXT, ids=name)
def test_functions_marked_in_call_are_used_in_call_core_only(path):
    text = re.sub(rf"\bCALL_CORE\s*{BRACKETS}", "", code(path))
    # Functions that are marked themselves may call others.
    text = re.sub(r"\bIN_CALL\b[^;{]*(;|\{.*?^\})", "", text, flags=re.S | re.M)
    used = set(re.findall(r"\b(\w+)\s*\(", text))
    assert used & (CORE | marked(path)) == set()


def test_only_gate_h_releases_the_gil():
    """gate.h counts the threads in a driver call, for which the end of the process waits."""
    release = r"Py_(BEGIN|END|UNBLOCK|BLOCK)\w*_THREADS|PyEval_(Save|Restore|Acquire|Release)\w*"
    assert {path.name for path in FILES if re.search(release, code(path))} == {"gate.h"}
