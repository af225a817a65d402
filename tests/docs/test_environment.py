"""docs/environment.md has a row for each environment variable, with what the tables of settings say that it
may be; the example of a value that is refused is refused.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "environment.md"
ROW = re.compile(r"^\| `([A-Z_]+)` \| (.+) \| (.+) \| (.+) \| (.*) ?\|$", re.M)
ROWS = {name: row for name, *row in ROW.findall(PAGE.read_text())}
REFUSED = [
    pytest.param(name, row[3].strip().strip("`"), row[2], id=name)
    for name, row in ROWS.items()
    if row[3].strip()
]
CONSTANTS = {"DRIVER_MAX_DEVICES": "device/api/base/settings.h", "EXEC_ISA_NAMES": "device/exec/bind.h"}


def constant(name):
    """The value of a constant of a header, a number or a text."""
    text = (ROOT / CONSTANTS[name]).read_text()
    return re.search(rf'{name} (?:= )?"?(.*?)"?(?: \}};)?$', text, re.M)[1]


def settings():
    """{variable: (what it may be, its value where it is absent or None)} of both tables."""
    found = {}
    for path in "core/settings.def", "device/api/base/settings.def":
        text = re.sub(r"/\*.*?\*/", "", (ROOT / path).read_text(), flags=re.S)
        for name in CONSTANTS:
            text = text.replace(f", {name})", f', "{constant(name)}")').replace(name, constant(name))
        found |= {
            name: (allowed, None)
            for name, allowed in re.findall(r'(?:SETTING|WORD)\((\w+),\s*\w+,\s*"(.*?)"\)', text)
        }
        for row in re.findall(r'NUMBER\((\w+), \w+, (\d+), (\d+), (\d+),\s*"(.*?)"\)', text):
            name, lowest, highest, absent, addition = row
            found[name] = f"a number from {lowest} to {highest}{addition}", absent
    return found


def test_each_variable_has_a_row_with_what_it_may_be():
    found = settings()
    assert len(found) > 25
    assert {name: row[2] for name, row in ROWS.items()} == {
        name: allowed for name, (allowed, _) in found.items()
    }


def test_defaults_are_those_of_the_tables():
    defaults = {name: absent for name, (_, absent) in settings().items() if absent is not None}
    assert len(defaults) > 4 and {name: ROWS[name][1] for name in defaults} == defaults


@pytest.mark.cpu("the settings of the CPU device are among them")
@pytest.mark.parametrize("name, value, allowed", REFUSED)
def test_a_value_is_refused(run_python, name, value, allowed):
    program = """
import pycuda.driver as drv
try:
    drv.init()
except drv.LogicError as error:
    print(error)
"""
    done = run_python(program, env={name: value}, fresh=True)
    assert f'{name} is "{value}": it must be {allowed}' in done.stdout, done.stdout + done.stderr


def test_most_variables_show_a_refused_value():
    free = {name for name, row in ROWS.items() if not row[3].strip()}
    assert len(REFUSED) > 18
    checked = re.findall(r"SETTING\((\w+), (?!is_anything)", (ROOT / "core/settings.def").read_text())
    assert free.isdisjoint(checked)
