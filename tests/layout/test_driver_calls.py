"""Every call into the driver is made where it was decided who holds the GIL: inside a CALL macro.

A function marked IN_CALL makes driver calls on behalf of a CALL macro, so it may be used only inside one,
or by its like.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# The table itself: its loader, what stands in for missing functions and makes calls fail.
TABLE = {"driver_table.c", "driver_table.h", "driver_locate.c", "driver_locate.h", "fault.c", "fault.h"}
FILES = sorted(
    path
    for folder in ("ext", "core")
    for path in (ROOT / folder).rglob("*.[ch]")
    if path.name not in TABLE and path.name != "errors.h"
)
MACRO = re.compile(r"\bCALL(?:_[A-Z]+)*\(")
IN_CALL = re.compile(r"\bIN_CALL\b[^;{]*?\b(\w+)\(")


def without_comments(text):
    """Comments and strings blanked, positions kept."""

    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())

    return re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def closing(text, start, pair):
    """The position after the bracket that closes the one at `start`."""
    depth = 0
    for position in range(start, len(text)):
        depth += (text[position] == pair[0]) - (text[position] == pair[1])
        if depth == 0:
            return position + 1
    raise ValueError("a bracket is not closed")


def allowed_spans(text):
    """Where driver calls may stand: arguments of CALL macros, functions marked IN_CALL."""
    spans = [(match.start(), closing(text, match.end() - 1, "()")) for match in MACRO.finditer(text)]
    for match in IN_CALL.finditer(text):
        end = closing(text, match.end() - 1, "()")
        body = re.match(r"[\s\\]*\{", text[end:])
        spans.append((match.start(), closing(text, end + body.end() - 1, "{}") if body else end))
    return spans


def marked_functions(text):
    """Those of the headers and of this file."""
    names = set(IN_CALL.findall(text))
    for path in FILES:
        if path.suffix == ".h":
            names.update(IN_CALL.findall(without_comments(path.read_text())))
    return sorted(names)


def outside(text, pattern):
    spans = allowed_spans(text)
    return [
        text.count("\n", 0, match.start()) + 1
        for match in re.finditer(pattern, text)
        if not any(start <= match.start() < end for start, end in spans)
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_driver_is_called_inside_of_a_macro_only(path):
    text = without_comments(path.read_text())
    used = r"\bdriver\.cu[A-Z]\w*\s*\("
    if path.suffix == ".c":
        used += "".join(rf"|(?<![\w.>])(?<!->){name}\(" for name in marked_functions(text))
    wrong = outside(text, used)
    assert not wrong, f"lines {wrong} stand neither in a CALL macro nor in an IN_CALL function"


@pytest.mark.parametrize("path", [path for path in FILES if path.suffix == ".c"], ids=lambda path: path.name)
def test_calls_on_green_contexts_exclude_each_other(path):
    """By EXCLUSIVE, or in a function that is called inside of it."""
    text = without_comments(path.read_text())
    spans = [
        (match.start(), closing(text, match.end() - 1, "()")) for match in re.finditer(r"\bEXCLUSIVE\(", text)
    ]
    inside = "".join(text[start:end] for start, end in spans)
    for match in re.finditer(r"\bIN_CALL\b[^;{]*?\b(\w+)(\()", text):
        if re.search(rf"\b{match[1]}\(", inside):
            start = closing(text, match.start(2), "()")
            spans.append((match.start(), closing(text, text.index("{", start), "{}")))
    for name in re.findall(r"#define (\w+)\((?:[^\n]*\\\n)*[^\n]*EXCLUSIVE\(", text):
        spans += [
            (match.start(), closing(text, match.end() - 1, "()"))
            for match in re.finditer(rf"\b{name}\(", text)
        ]
    wrong = [
        text.count("\n", 0, match.start()) + 1
        for match in re.finditer(
            r"\bdriver\.(cuGreenCtx\w+|cuDevResourceGenerateDesc|cuCtxFromGreenCtx)\(", text
        )
        if not any(start <= match.start() < end for start, end in spans)
    ]
    assert not wrong, f"lines {wrong} are not in EXCLUSIVE (core/exclusive.h)"


def test_the_gil_is_let_go_of_where_the_end_of_the_process_counts_it():
    """By WITHOUT_GIL of ext/gate.h, whatever is done meanwhile."""
    release = r"Py_(BEGIN|END|UNBLOCK|BLOCK)\w*_THREADS|PyEval_(Save|Restore|Acquire|Release)\w*"
    by_hand = {
        path.relative_to(ROOT).as_posix()
        for path in [*FILES, ROOT / "ext" / "errors.h"]
        if re.search(release, without_comments(path.read_text()))
    }
    assert by_hand == {"ext/gate.h"}


@pytest.mark.parametrize(
    "text, wrong",
    [
        ("void f(void) { driver.cuInit(0); }", [1]),
        ("void f(void)\n{\n    CALL(s, r, driver.cuInit(0));\n}", []),
        ("IN_CALL static int f(void) { return driver.cuInit(0); }\nint g(void) { return f(); }", [2]),
        (
            "IN_CALL static int f(void) { return driver.cuInit(0); }\nvoid g(void) { CALL_NEAR(s, r, f()); }",
            [],
        ),
        ("void f(void) { CALL(s, r, g(1)); driver.cuInit(0); }", [1]),
    ],
)
def test_the_search_finds_what_it_looks_for(text, wrong):
    names = "".join(rf"|\b{name}\(" for name in IN_CALL.findall(text))
    assert outside(text, r"\bdriver\.cu[A-Z]\w*\s*\(" + names) == wrong
