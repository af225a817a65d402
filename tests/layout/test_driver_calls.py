"""Every call into the driver is made where it was decided who holds the GIL: inside a CALL macro, and inside
of one that suits the function (abi/cuda_waits.def).

A function marked IN_CALL makes driver calls on behalf of a CALL macro, so it may be used only inside one,
or by its like. Both may be passed on as pointers; what is called by a pointer stands in a CALL macro too.

Files are looked at as the preprocessor leaves them when it knows their own macros only.
"""

import functools
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# The table itself: its loader, what stands in for missing functions and makes calls fail.
TABLE = {"driver_table.c", "driver_table.h", "driver_locate.c", "driver_locate.h", "fault.c", "fault.h"}
# Where the CALL macros are.
MACROS = ["ext/errors.h", "ext/wait.h"]
FILES = sorted(
    path
    for folder in ("ext", "core")
    for path in (ROOT / folder).rglob("*.[ch]")
    if path.name not in TABLE and path.relative_to(ROOT).as_posix() not in MACROS
)
ASKS, QUEUES, WAITS = range(3)
# What a call in the macro may do.
STRENGTH = {
    "CALL": ASKS, "CALL_NEAR": ASKS, "CALL_QUIET": ASKS, "CALL_REPORTED": ASKS, "CALL_DROPPED": ASKS,
    "CALL_QUEUING": QUEUES, "CALL_QUEUING_MUCH": QUEUES, "CALL_QUEUING_OR": QUEUES, "CALL_WITH_ROOM": QUEUES,
    "CALL_BLOCKING": WAITS, "CALL_UNLOCKED": WAITS, "CALL_QUIET_UNLOCKED": WAITS, "CALL_WAITING": WAITS,
    "CALL_RELEASING": WAITS,
}  # fmt: skip
HELPERS = {"CALL_HERE", "CALL_WANTS_CONTEXT", "CALL_LETS_GO"}
IN_CALL = re.compile(r"\bIN_CALL\b[^;{]*?\b(\w+)\(")
DRIVER = re.compile(r"\bdriver\s*\.\s*(\w+)")
POINTER = re.compile(r"\bCUresult\s*\(\s*\*\s*(\w+)\s*\)\s*\(")


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


@functools.cache
def compiler():
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def expanded(text):
    """With the macros that the text itself defines."""
    bare = re.sub(r"^[ \t]*#[ \t]*(include|error|pragma)\b.*$", "", text, flags=re.M)
    command = [compiler(), "-E", "-P", "-undef", "-nostdinc", "-xc", "-w", "-"]
    done = subprocess.run(command, input=bare, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return without_comments(done.stdout)


def waiting_functions():
    """How long the driver's functions may take: those that are not there answer at once."""
    rows = re.findall(r"^CU_(QUEUES|WAITS)\((\w+)\)$", (ROOT / "abi/cuda_waits.def").read_text(), re.M)
    return {name: QUEUES if kind == "QUEUES" else WAITS for kind, name in rows}


LONGEST = waiting_functions()


def pointers_in(text, types):
    """Names of variables, parameters and members that are pointers to functions with a CUresult."""
    names = set(POINTER.findall(text)) - types
    for name in types:
        names |= set(re.findall(rf"\b{name}\s*\*?\s*(?:const\s+)?(\w+)\s*[,;)=]", text))
    return names


class Source:
    """A file, or some lines of C, with what the headers declare."""

    def __init__(self, text, headers=""):
        self.text = expanded(text)
        declared = self.text + headers
        self.marked = {match[1]: self.body(match) for match in IN_CALL.finditer(self.text)}
        self.names = set(self.marked) | set(IN_CALL.findall(headers))
        types = set(re.findall(r"\btypedef\s+CUresult\s*\(\s*\*\s*(\w+)\)", declared))
        functions = set(re.findall(r"\b(\w+)\([^;{}]*\)\s*\{", self.text))
        self.members = pointers_in(declared, types)
        self.pointers = pointers_in(self.text, types) - functions

    def body(self, match):
        """Of a marked function, from its name on; None of a declaration."""
        end = closing(self.text, match.end() - 1, "()")
        begin = re.match(r"\s*\{", self.text[end:])
        return (match.start(), closing(self.text, end + begin.end() - 1, "{}")) if begin else None

    def spans(self):
        """(start, end, macro or None) of the places where driver calls may stand."""
        for match in re.finditer(r"\b(CALL(?:_[A-Z]+)*)\(", self.text):
            if match[1] not in HELPERS:
                yield match.start(), closing(self.text, match.end() - 1, "()"), match[1]
        for match in IN_CALL.finditer(self.text):
            start, end = self.body(match) or (match.start(), closing(self.text, match.end() - 1, "()"))
            yield start, end, None

    def calls(self, start, end):
        """What is called there: a driver function by its name, others marked by "()", pointers by "*"."""
        text = self.text[start:end]
        for match in re.finditer(r"\bQUEUES\(", text):
            till = closing(text, match.end() - 1, "()")
            text = text[: match.start()] + " cuEventRecord_queues ".ljust(till - match.start()) + text[till:]
        found = {match[1] for match in DRIVER.finditer(text) if re.match(r"\s*\(", text[match.end() :])}
        found |= {"queues"} if "cuEventRecord_queues" in text else set()
        for name in re.findall(r"(?<![\w.>])(\w+)\(", text):
            found |= {name + "()"} if name in self.names else {"*"} if name in self.pointers else set()
        if any(name in self.members for name in re.findall(r"(?:\.|->)(\w+)\(", DRIVER.sub(" ", text))):
            found.add("*")
        return found

    def passed_on(self):
        """Functions whose addresses are taken."""
        names = {
            match[1]
            for match in DRIVER.finditer(self.text)
            if not re.match(r"\s*\(", self.text[match.end() :])
        }
        for name in self.names:
            if re.search(rf"(?<![\w.>]){name}\b(?!\s*\()", self.text):
                names.add(name + "()")
        return names

    def longest(self, calls, known, seen=()):
        """How long these calls may take. A pointer may be any function whose address this file takes."""
        most = ASKS
        for name in calls - set(seen):
            if name == "*":
                targets = self.passed_on()
                took = self.longest(targets, known, (*seen, name)) if targets else WAITS
            elif name == "queues":
                took = QUEUES
            elif name.endswith("()"):
                own = self.marked.get(name[:-2])
                took = known.get(name[:-2], WAITS)
                took = self.longest(self.calls(*own), known, (*seen, name)) if own else took
            else:
                took = LONGEST.get(name, ASKS)
            most = max(most, took)
        return most

    def wrong_places(self):
        """Driver calls and their like outside of the macros, as they stand there."""
        inside = [(start, end) for start, end, _ in self.spans()]
        patterns = [
            r"\bdriver\b(?!\s*\.\s*cu[A-Z]\w*)",  # the table as a whole
            r"\bDriverTable\b",
            r"(?<!,)(?<!, )(?<!\w\()\bdriver\s*\.\s*cu\w+\b(?!\s*\()",  # an address that is kept
            r"\bdriver\s*\.\s*cu\w+\s*\)\s*\(",
            r"\bdriver\s*\.\s*cu\w+\s*\(",
            *(rf"(?<![\w.>]){name}\(" for name in self.names),
            *(rf"(?<![\w.>]){name}\((?!\s*\*)" for name in self.pointers),
            *(rf"(?:\.|->){name}\(" for name in self.members),
        ]
        for pattern in patterns:
            for match in re.finditer(pattern, self.text):
                allowed = any(start <= match.start() < end for start, end in inside)
                if not allowed and not self.is_declaration(match):
                    yield self.text[match.start() : match.end() + 30].split("\n")[0]

    def is_declaration(self, match):
        before = self.text[: match.start()]
        return re.search(r"(CUresult|bool|int|void)\s+\**\s*$", before) is not None

    def too_weak(self, known):
        """Macros around calls that may take longer than they allow."""
        for start, end, macro in self.spans():
            took = self.longest(self.calls(start, end), known) if macro else ASKS
            if took > STRENGTH.get(macro, WAITS):
                yield f"{macro}: {' '.join(self.text[start:end].split())[:90]}"

    def needlessly_strong(self):
        """Calls that are said to wait, of driver functions that answer at once."""
        for start, end, macro in self.spans():
            calls = self.calls(start, end)
            plain = calls and all(re.fullmatch(r"cu\w+", name) for name in calls)
            if macro in ("CALL_BLOCKING", "CALL_WAITING") and plain and self.longest(calls, {}) == ASKS:
                yield f"{macro}: {' '.join(self.text[start:end].split())[:90]}"


@functools.cache
def header(name):
    return expanded((ROOT / name).read_text())


def included(path, found):
    """The project's headers that it includes, one by another."""
    for name in re.findall(r'^#include "((?:ext|core)/[^"]+\.h)"', path.read_text(), re.M):
        if name not in found:
            found.add(name)
            included(ROOT / name, found)
    return found


@functools.cache
def source(path):
    names = sorted(included(path, set()) - set(MACROS))
    return Source(path.read_text(), "\n".join(map(header, names)))


@functools.cache
def known_functions():
    """How long marked functions may take, those of other files included."""
    known, before = {}, None
    while known != before:
        before = dict(known)
        for path in FILES:
            here = source(path)
            for name, body in here.marked.items():
                if body:
                    known[name] = here.longest(here.calls(*body), before)
    return known


pytestmark = pytest.mark.skipif(not compiler(), reason="there is no C compiler, whose preprocessor is used")
EACH = pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())


@EACH
def test_the_driver_is_called_inside_of_a_macro_only(path):
    wrong = list(source(path).wrong_places())
    assert not wrong, "neither in a CALL macro nor in an IN_CALL function"


@EACH
def test_the_macro_suits_the_function(path):
    wrong = list(source(path).too_weak(known_functions()))
    assert not wrong, "the call may wait for longer (abi/cuda_waits.def)"


@EACH
def test_what_answers_at_once_is_not_waited_for(path):
    wrong = list(source(path).needlessly_strong())
    assert not wrong, "nothing there waits (abi/cuda_waits.def)"


def test_the_macros_are_known():
    text = "".join((ROOT / name).read_text() for name in MACROS)
    assert set(re.findall(r"^#define (CALL\w*)\(", text, re.M)) == set(STRENGTH) | HELPERS


def test_the_functions_that_wait_are_the_drivers():
    functions = set(re.findall(r"^CU_FN\((\w+),", (ROOT / "abi/cuda_functions.def").read_text(), re.M))
    used = {name for path in FILES for name in DRIVER.findall(source(path).text)}
    assert set(LONGEST) <= functions & used


@pytest.mark.parametrize("path", [path for path in FILES if path.suffix == ".c"], ids=lambda path: path.name)
def test_calls_on_green_contexts_exclude_each_other(path):
    """By EXCLUSIVE, or in a function that is called inside of it."""
    text = source(path).text
    spans = [
        (match.start(), closing(text, match.end() - 1, "()")) for match in re.finditer(r"\bEXCLUSIVE\(", text)
    ]
    inside = "".join(text[start:end] for start, end in spans)
    spans += [
        body for name, body in source(path).marked.items() if body and re.search(rf"\b{name}\(", inside)
    ]
    wrong = [
        match.group()
        for match in re.finditer(
            r"\bdriver\.(cuGreenCtx\w+|cuDevResourceGenerateDesc|cuCtxFromGreenCtx)\(", text
        )
        if not any(start <= match.start() < end for start, end in spans)
    ]
    assert not wrong, "not in EXCLUSIVE (core/exclusive.h)"


def test_the_gil_is_let_go_of_where_the_end_of_the_process_counts_it():
    """By WITHOUT_GIL of ext/gate.h, whatever is done meanwhile."""
    release = r"Py_(BEGIN|END|UNBLOCK|BLOCK)\w*_THREADS|PyEval_(Save|Restore|Acquire|Release)\w*"
    by_hand = {
        path.relative_to(ROOT).as_posix()
        for path in [*FILES, *(ROOT / name for name in MACROS)]
        if re.search(release, without_comments(path.read_text()))
    }
    assert by_hand == {"ext/gate.h"}


MARKED = "IN_CALL static int f(void) { return driver.cuInit(0); }\n"


@pytest.mark.parametrize(
    "text, wrong",
    [
        ("void f(void) { driver.cuInit(0); }", 1),
        ("void f(void)\n{\n    CALL(s, r, driver.cuInit(0));\n}", 0),
        (MARKED + "int g(void) { return f(); }", 1),
        (MARKED + "void g(void) { CALL_NEAR(s, r, f()); }", 0),
        ("void f(void) { CALL(s, r, g(1)); driver.cuInit(0); }", 1),
        ("#define X(bits) void f(void) { driver.cuMemsetD##bits(1); }\nX(8)", 1),
        ("#define X(call) void f(void) { driver.call(1); }\nX(cuInit)", 1),
        ("void f(void) { (driver.cuInit)(0); }", 2),
        ("void f(void) { driver.cuInit\n  (0); }", 1),
        ("void f(void) { driver . cuInit(0); }", 1),
        ("void f(void) { DriverTable *t = &driver; t->cuInit(0); }", 2),
        ("typedef CUresult (*EventFn)(int);\nvoid f(void) { EventFn e = driver.cuEventCreate; e(0); }", 2),
        ("void f(CUresult (*e)(int)) { e(0); }\nvoid g(void) { f(driver.cuEventCreate); }", 1),
        ("void f(CUresult (*e)(int)) { CALL(s, r, e(0)); }\nvoid g(void) { f(driver.cuEventCreate); }", 0),
        ("typedef struct T { CUresult (*run)(int); } T;\nvoid f(T *t) { t->run(0); }", 1),
    ],
)
def test_the_search_finds_what_it_looks_for(text, wrong):
    assert len(list(Source(text).wrong_places())) == wrong


@pytest.mark.parametrize(
    "text, wrong",
    [
        ("void f(void) { CALL(s, r, driver.cuMemGetInfo(&a, &b)); }", 0),
        ("void f(void) { CALL(s, r, driver.cuMemAlloc(&a, 1)); }", 1),
        ("void f(void) { CALL_NEAR(s, r, driver.cuEventRecord(e, s)); }", 1),
        ("void f(void) { CALL_QUEUING(s, r, h, driver.cuEventRecord(e, h)); }", 0),
        ("void f(void) { CALL_QUEUING(s, r, h, driver.cuMemFree(a)); }", 1),
        ("void f(void) { CALL_UNLOCKED(r, driver.cuMemFree(a)); }", 0),
        ("IN_CALL static int f(void) { return driver.cuMemFree(0); }\nvoid g(void) { CALL(s, r, f()); }", 1),
        ("#define MINE(x) CALL_NEAR(s, r, x)\nvoid f(void) { MINE(driver.cuMemFree(a)); }", 1),
        ("void f(CUresult (*e)(int)) { CALL(s, r, e(0)); }\nvoid g(void) { f(driver.cuMemFree); }", 1),
        ("void f(CUresult (*e)(int)) { CALL(s, r, e(0)); }\nvoid g(void) { f(driver.cuEventCreate); }", 0),
        ("void f(CUresult (*e)(int)) { CALL_QUEUING(s, r, h, QUEUES(e(0))); }", 0),
        ("void f(CUresult (*e)(int)) { CALL(s, r, QUEUES(e(0))); }", 1),
    ],
)
def test_the_comparison_finds_what_it_looks_for(text, wrong):
    here = Source(text)
    known = {name: here.longest(here.calls(*body), {}) for name, body in here.marked.items() if body}
    assert len(list(here.too_weak(known))) == wrong
