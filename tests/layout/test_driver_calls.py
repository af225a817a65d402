"""Every call into the driver is made where it was decided who holds the GIL: inside a CALL macro, and inside
of one that suits the function (abi/cuda_waits.def). What stands there, and wherever else the GIL may be let
go of, asks nothing of Python.

A function marked IN_CALL makes driver calls on behalf of a CALL macro, so it may be used only inside one,
or by its like. Both may be passed on as pointers; what is called by a pointer stands in a CALL macro too.
Whoever calls by a pointer is found by the pointer's type: so what is passed on gives a CUresult, and is not
cast.
"""

import bisect
import functools
import itertools
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from c_source import (
    CONDITIONS,
    ROOT,
    Tokens,
    calls_in,
    compiler,
    definitions_in,
    pointer_names,
    pointer_types,
    preprocessed,
    without_comments,
)

# The table itself: its loader, what stands in for missing functions and makes calls fail.
TABLE = {"driver_table.c", "driver_table.h", "driver_locate.c", "driver_locate.h", "fault.c", "fault.h"}
# Where the CALL macros are.
MACROS = ["ext/errors.h", "ext/wait.h"]
ALL = sorted(path for folder in ("ext", "core") for path in (ROOT / folder).rglob("*.[ch]"))
FILES = [path for path in ALL if path.name not in TABLE]
ASKS, QUEUES, WAITS = range(3)
# What a call in the macro may do.
STRENGTH = {
    "CALL": ASKS, "CALL_NEAR": ASKS, "CALL_QUIET": ASKS, "CALL_REPORTED": ASKS, "CALL_DROPPED": ASKS,
    "CALL_QUEUING": QUEUES, "CALL_QUEUING_MUCH": QUEUES, "CALL_QUEUING_OR": QUEUES, "CALL_WITH_ROOM": QUEUES,
    "CALL_BLOCKING": WAITS, "CALL_UNLOCKED": WAITS, "CALL_QUIET_UNLOCKED": WAITS, "CALL_WAITING": WAITS,
    "CALL_RELEASING": WAITS, "CALL_COPYING_IN": WAITS,
}  # fmt: skip
HELPERS = {"CALL_HERE", "CALL_WANTS_CONTEXT", "CALL_LETS_GO"}
TABLE_NAME = re.compile(r"cu[A-Z]\w*")
# Of Python, without the GIL.
FREE_OF_GIL = re.compile(
    r"PyMem_Raw\w+|_?Py_IsFinalizing|Py_UNUSED|PyGILState_Check|PyThread_\w+|Py_ARRAY_LENGTH"
)
PYTHON = re.compile(r"_?Py[A-Z_]\w*")
# Takes the GIL for what it asks.
TAKES_GIL = "PyGILState_Ensure"
# What begins a thread of its own.
STARTERS = {"pthread_create"}


def macro_definitions():
    text = "".join((ROOT / name).read_text() for name in MACROS)
    return {
        name: [parameter.strip() for parameter in parameters.split(",")]
        for name, parameters in re.findall(r"^#define (CALL\w*)\(([^)]*)\)", text, re.M)
    }


EXPRESSION = {
    name: parameters.index("expression")
    for name, parameters in macro_definitions().items()
    if "expression" in parameters
}


def waiting_functions():
    """How long the driver's functions may take: those that are not there answer at once."""
    rows = re.findall(r"^CU_(QUEUES|WAITS)\((\w+)\)$", (ROOT / "abi/cuda_waits.def").read_text(), re.M)
    return {name: QUEUES if kind == "QUEUES" else WAITS for kind, name in rows}


LONGEST = waiting_functions()


def device_functions(table):
    """What the CPU device has beside the driver's functions, in tables of its own."""
    text = without_comments((ROOT / "abi/cpu_device.h").read_text())
    return set(re.findall(r"\(\*(\w+)\)\(", re.search(rf"struct {table} \{{(.*?)\}}", text, re.S)[1]))


OWN = device_functions("CpuDeviceTable")
NEVER_WAIT = device_functions("CpuMemoryMarks") | device_functions("CpuLaunchNumbers")


@functools.cache
def marked_everywhere():
    """The IN_CALL functions that other files may use, by their definitions and by their declarations."""
    found = set()
    for path in ALL:
        text = without_comments(path.read_text())
        found |= {
            match[2]
            for match in re.finditer(r"\bIN_CALL\b([^;{(]*?)\b(\w+)\(", text)
            if "static" not in match[1]
        }
    return found


class Source:
    """A file as it is read under these conditions. `others` are IN_CALL functions of other files."""

    def __init__(self, path, conditions=(), others=frozenset()):
        text, headers = preprocessed(path, conditions)
        self.tokens = Tokens(text)
        self.definitions = {name: (first, end) for name, first, end in definitions_in(self.tokens)}
        self.marked, self.results = {}, {}  # IN_CALL functions: name to (first, end), name to type
        self.declarations = {}  # of such without a body: place to name
        self.find_marked()
        inline = set(re.findall(r"\bIN_CALL\b[^;{]*?\b(\w+)\(", headers))
        self.names = {*self.marked, *self.declarations.values()} | inline | set(others)
        declared = text + "\n" + headers
        types = pointer_types(declared)
        self.members = (pointer_names(declared, types) - NEVER_WAIT) | OWN
        self.pointers = (pointer_names(text, types) | types) - (
            set(self.definitions) - self.getters(text, types)
        )

    @staticmethod
    def getters(text, types):
        """Functions that give a pointer back."""
        if not types:
            return set()
        return set(re.findall(rf"\b(?:{'|'.join(types)})\s*\**\s*(\w+)\s*\(", text))

    def find_marked(self):
        tokens = self.tokens
        for index, word in enumerate(tokens.words):
            if word == "IN_CALL":
                at = tokens.words.index("(", index)
                name, before = tokens.words[at - 1], tokens.words[index + 1 : at - 1]
                kept = [word for word in before if word not in ("static", "inline", "extern", "const")]
                self.results[name] = " ".join(kept)
                end = tokens.other[at]
                if tokens.word(end + 1) == "{":
                    self.marked[name] = (at - 1, tokens.other[end + 1])
                else:
                    self.declarations[at - 1] = name

    # ---- places

    @functools.cached_property
    def macros(self):
        """(macro, its place, first and end of the expression that it makes)"""
        found = []
        for index, word in enumerate(self.tokens.words):
            if word in EXPRESSION and word in STRENGTH and self.tokens.word(index + 1) == "(":
                arguments = list(self.tokens.arguments(index + 1))
                if EXPRESSION[word] < len(arguments):
                    found.append((word, index, *arguments[EXPRESSION[word]]))
        return found

    @functools.cached_property
    def spans(self):
        """(first, end) of the places where driver calls may stand."""
        return [(first, end) for _, _, first, end in self.macros] + list(self.marked.values())

    @functools.cached_property
    def released(self):
        """Where the GIL may be let go of."""
        by_hand = [
            (index + 1, self.tokens.other[index + 1])
            for index, word in enumerate(self.tokens.words)
            if word == "WITHOUT_GIL"
        ]
        return self.spans + by_hand

    # ---- what is called

    def kind_of(self, call):
        """What is called: a driver function by its name, others marked by "()", pointers by "*"; None is
        nobody's business."""
        if call.bracketed:
            known = self.pointers | self.members | self.names
            hidden = any(name in known or TABLE_NAME.fullmatch(name) for name in call.names)
            return "*" if hidden or self.is_cast(call) or self.gives_pointer(call) else None
        if TABLE_NAME.fullmatch(call.name):
            return call.name
        if call.is_member:
            return call.name if call.name in OWN else "*" if call.name in self.members else None
        if call.name in self.names:
            return call.name + "()"
        return "*" if call.name in self.pointers else None

    def is_cast(self, call):
        """((CUresult (*)(int))e)(0)"""
        words = self.tokens.words[call.first : call.at]
        return any(pair == ("CUresult", "(") for pair in itertools.pairwise(words))

    def gives_pointer(self, call):
        """pick()(0)"""
        before = self.tokens.word(call.first - 1)
        return before in self.pointers

    @functools.cached_property
    def every_call(self):
        return list(calls_in(self.tokens, 0, len(self.tokens)))

    def calls_between(self, start, end):
        """Those whose brackets open there."""
        first = bisect.bisect_left(self.every_call, start, key=lambda call: call.at)
        return itertools.takewhile(lambda call: call.at < end, self.every_call[first:])

    def calls(self, start, end):
        """The kinds of what is called there."""
        found, queues = set(), 0
        for call in self.calls_between(start, end):
            if call.name == "QUEUES":
                found.add("queues")
                queues = self.tokens.other[call.at]
            elif call.at > queues:
                found.add(self.kind_of(call))
        return found - {None}

    @functools.cached_property
    def passed_on(self):
        """Functions whose addresses are taken."""
        tokens, names = self.tokens, set()
        for index, word in enumerate(tokens.words):
            if tokens.word(index + 1) != "(":
                if TABLE_NAME.fullmatch(word) and tokens.word(index - 2) == "driver":
                    names.add(word)
                elif word in self.names and tokens.word(index - 1) not in (".", "->"):
                    names.add(word + "()")
        return names

    def longest(self, calls, known, seen=()):
        """How long these calls may take. A pointer may be any function whose address this file takes."""
        most = ASKS
        for name in calls - set(seen):
            if name == "*":
                targets = self.passed_on
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

    # ---- what is wrong

    def wrong_places(self, of_table=False):
        """Driver calls and their like outside of the macros, as they stand there. Of the table's own files
        only these of the CPU device's functions."""
        for call in self.every_call:
            kind = self.kind_of(call)
            if of_table:
                kind = kind if call.is_member and call.name in OWN else None
            if kind and not any(first <= call.first < end for first, end in self.spans):
                yield self.tokens.quote(max(call.first - 2, 0))
        if not of_table:
            yield from self.wrong_names()

    def wrong_names(self):
        """The table used in other ways than to call its functions, and addresses that go where no test
        finds them."""
        tokens = self.tokens
        for index, word in enumerate(tokens.words):
            before, after = tokens.word(index - 1), tokens.word(index + 1)
            if word == "DriverTable" or (word == "driver" and not self.is_row(index)):
                yield tokens.quote(index)
            elif TABLE_NAME.fullmatch(word) and after == "(" and tokens.word(index - 2) != "driver":
                yield tokens.quote(index - 1)
            elif re.fullmatch(r"(__)?typeof(__)?|__auto_type|auto|_Generic", word):
                yield tokens.quote(index)
            elif word in self.names and after != "(" and before not in (".", "->"):
                if before == ")" or not self.may_be_passed_on(word, index):
                    yield tokens.quote(index - 1)
            elif word in self.names and after == "(" and self.is_declared_unmarked(index):
                yield tokens.quote(index)

    def is_row(self, index):
        """driver.cuName( or an argument, for a parameter that is a pointer."""
        tokens = self.tokens
        if tokens.word(index + 1) != "." or not TABLE_NAME.fullmatch(tokens.word(index + 2)):
            return False
        if tokens.word(index - 1) in (".", "->"):
            return False
        if tokens.word(index + 3) == "(":
            return True
        return tokens.word(index + 3) in (",", ")") and self.parameter_is_pointer(index)

    def parameter_is_pointer(self, index):
        """Of the function, in this file, that it is an argument of."""
        tokens = self.tokens
        around = [at for at in range(index) if tokens.words[at] == "(" and tokens.other[at] > index]
        if not around or tokens.word(around[-1] - 1) not in self.definitions:
            return False
        at = self.definitions[tokens.word(around[-1] - 1)][0] + 1
        place = next(
            number for number, (first, end) in enumerate(tokens.arguments(around[-1])) if first <= index < end
        )
        first, end = list(tokens.arguments(at))[place]
        return bool(tokens.names(first, end) & self.pointers)

    def may_be_passed_on(self, name, index):
        """By its type the pointer is found. Threads are their own callers."""
        result = self.results.get(name)
        if result is None or result == "CUresult":
            return True
        tokens = self.tokens
        return any(
            tokens.words[at] in STARTERS and tokens.word(at + 1) == "(" and at < index < tokens.other[at + 1]
            for at in range(index)
        )

    def is_declared_unmarked(self, index):
        """Files that see only this declaration would not know."""
        tokens = self.tokens
        if tokens.word(tokens.other[index + 1] + 1) != ";" or index in self.declarations:
            return False
        before = tokens.word(index - 1)
        return before in ("CUresult", "void", "bool", "int", "*") and tokens.word(index - 2) != "="

    def too_weak(self, known):
        """Macros around calls that may take longer than they allow."""
        for macro, index, first, end in self.macros:
            if self.longest(self.calls(first, end), known) > STRENGTH[macro]:
                yield self.tokens.quote(index)

    def needlessly_strong(self):
        """Calls that are said to wait, of driver functions that answer at once."""
        for macro, index, first, end in self.macros:
            calls = self.calls(first, end)
            plain = calls and all(TABLE_NAME.fullmatch(name) for name in calls)
            if macro in ("CALL_BLOCKING", "CALL_WAITING") and plain and self.longest(calls, {}) == ASKS:
                yield self.tokens.quote(index)

    def asks_python(self, first, end, need):
        """Calls there that want the GIL: `need` are functions that do."""
        for call in self.calls_between(first, end):
            name = "" if call.bracketed or call.is_member else call.name
            python = PYTHON.fullmatch(name) and not FREE_OF_GIL.fullmatch(name)
            if python or name in need or name in STRENGTH or name == "WITHOUT_GIL":
                yield self.tokens.quote(call.first)

    def needs_gil(self, known):
        """The functions of this file that are to be called with the GIL: those for `known` too."""
        found, before = set(), None
        bodies = {
            name: (first + 1, end)
            for name, (first, end) in self.definitions.items()
            if TAKES_GIL not in self.tokens.words[first:end]
        }
        while found != before:
            before = set(found)
            for name, body in bodies.items():
                visible = (known - set(self.definitions)) | found
                if name not in found and next(self.asks_python(*body, visible), None):
                    found.add(name)
        return found

    def wrong_without_gil(self, known):
        need = (known - set(self.definitions)) | self.needs_gil(known)
        for first, end in self.released:
            yield from self.asks_python(first + 1, end, need)


def variants():
    """Files, and once more those that differ under the conditions."""
    for path in ALL:
        name = path.relative_to(ROOT).as_posix()
        if name not in MACROS:
            yield path, (), name
            text = path.read_text()
            if any(re.search(rf"^[ \t]*#.*\b{each.split('=')[0]}\b", text, re.M) for each in CONDITIONS):
                yield path, CONDITIONS, name + " with all conditions"


def source(path, conditions=()):
    return read_source(path, conditions)


@functools.cache
def read_source(path, conditions):
    return Source(path.relative_to(ROOT), conditions, marked_everywhere())


@functools.cache
def known_functions():
    """How long marked functions may take, those of other files included."""
    known, before = {}, None
    while known != before:
        before = dict(known)
        for path in ALL:
            here = source(path)
            for name, body in here.marked.items():
                known[name] = here.longest(here.calls(*body), before)
    return known


def visible_functions():
    """What a file defines for others."""
    for path in ALL:
        tokens = source(path).tokens
        for name, (first, _) in source(path).definitions.items():
            begin = next((at for at in range(first - 1, -1, -1) if tokens.words[at] in (";", "}", "{")), -1)
            if "static" not in tokens.words[begin + 1 : first] or path.suffix == ".h":
                yield path, name


@functools.cache
def functions_with_gil():
    """Which functions that files have for each other ask Python for something."""
    visible, known, before = list(visible_functions()), set(), None
    while known != before:
        before = set(known)
        for path in ALL:
            need = source(path).needs_gil(known)
            known |= {name for where, name in visible if where == path and name in need}
    return frozenset(known)


pytestmark = pytest.mark.skipif(not compiler(), reason="there is no C compiler, whose preprocessor is used")
EACH = pytest.mark.parametrize(
    ("path", "conditions"), [pytest.param(path, given, id=name) for path, given, name in variants()]
)


@EACH
def test_the_driver_is_called_inside_of_a_macro_only(path, conditions):
    wrong = list(source(path, conditions).wrong_places(of_table=path.name in TABLE))
    assert not wrong, "neither in a CALL macro nor in an IN_CALL function"


@EACH
def test_the_macro_suits_the_function(path, conditions):
    wrong = list(source(path, conditions).too_weak(known_functions()))
    assert not wrong, "the call may wait for longer (abi/cuda_waits.def)"


@EACH
def test_what_answers_at_once_is_not_waited_for(path, conditions):
    wrong = list(source(path, conditions).needlessly_strong())
    assert not wrong, "nothing there waits (abi/cuda_waits.def)"


@EACH
def test_without_the_gil_nothing_is_asked_of_python(path, conditions):
    """Nor is the GIL let go of a second time."""
    wrong = list(source(path, conditions).wrong_without_gil(functions_with_gil()))
    assert not wrong, "the GIL may be let go of there"


def test_the_macros_are_known():
    assert set(macro_definitions()) == set(STRENGTH) | HELPERS
    assert set(STRENGTH) <= set(EXPRESSION)


def test_the_functions_that_wait_are_the_drivers():
    functions = set(re.findall(r"^CU_FN\((\w+),", (ROOT / "abi/cuda_functions.def").read_text(), re.M))
    used = {word for path in FILES for word in source(path).tokens.words if word in functions}
    assert set(LONGEST) <= used


GREEN = re.compile(r"cuGreenCtx\w+|cuDevResourceGenerateDesc|cuCtxFromGreenCtx")


@pytest.mark.parametrize("path", [path for path in FILES if path.suffix == ".c"], ids=lambda path: path.name)
def test_calls_on_green_contexts_exclude_each_other(path):
    """By EXCLUSIVE, or in a function that is called inside of it."""
    here = source(path)
    tokens = here.tokens
    spans = [
        (index, tokens.other[index + 1]) for index, word in enumerate(tokens.words) if word == "EXCLUSIVE"
    ]
    inside = {word for first, end in spans for word in tokens.words[first:end]}
    spans += [body for name, body in here.marked.items() if name in inside]
    wrong = [
        word
        for index, word in enumerate(tokens.words)
        if GREEN.fullmatch(word) and not any(first <= index < end for first, end in spans)
    ]
    assert not wrong, "not in EXCLUSIVE (core/exclusive.h)"


def test_the_gil_is_let_go_of_where_the_end_of_the_process_counts_it():
    """By WITHOUT_GIL of ext/gate.h, whatever is done meanwhile."""
    release = r"Py_(BEGIN|END|UNBLOCK|BLOCK)\w*_THREADS|PyEval_(Save|Restore|Acquire|Release)\w*"
    by_hand = {
        path.relative_to(ROOT).as_posix()
        for path in ALL
        if re.search(release, without_comments(path.read_text()))
    }
    assert by_hand == {"ext/gate.h"}


# ---- tests of the tests


def lines_of_c(folder, text, header="", conditions=()):
    """A Source of some lines, after those of a header, if there is one."""
    (folder / "lines.h").write_text(header)
    (folder / "lines.c").write_text('#include "lines.h"\n' + text + "\n")
    return Source(folder / "lines.c", conditions)


MARKED = "IN_CALL static int f(void) { return driver.cuInit(0); }\n"
TYPE = "typedef CUresult (*EventFn)(int);\n"
GIVEN = "void g(void) { f(driver.cuEventCreate); }\n"


@pytest.mark.parametrize(
    "text",
    [
        "void f(void)\n{\n    CALL(s, r, driver.cuInit(0));\n}",
        MARKED + "void g(void) { CALL_NEAR(s, r, f()); }",
        "void f(CUresult (*e)(int)) { CALL(s, r, e(0)); }\n" + GIVEN,
        TYPE + "void f(EventFn e) { CALL(s, r, e(0)); }\n" + GIVEN,
        "IN_CALL static CUresult f(int a) { return driver.cuInit(0); }\nvoid g(void) { CALL(s, r, run(f)); }",
        "IN_CALL static void *f(void *a) { driver.cuInit(0); }\nint g(void) { pthread_create(&t, a, f, a); }",
        "typedef struct T { CUresult (*run)(int); void (*drop)(int); } T;\nvoid f(T *t) { t->drop(0); }",
        "void f(T *t) { if (DRIVER_HAS(cuInit)) CALL_QUIET(s, driver.cuInit((unsigned)(x))); }",
        "void f(void) { CALL_QUEUING_OR(s, r, h, driver.cuEventRecord(e, h), wait_for(h)); }",
        "void f(void) { CALL_UNLOCKED(r, EXCLUSIVE(driver.cuGreenCtxDestroy(h))); }",
        '#include "ext/errors.h"\nvoid f(void) { CALL(s, r, driver.cuInit(0)); }',
    ],
)
def test_what_is_right_is_taken(tmp_path, text):
    assert list(lines_of_c(tmp_path, text).wrong_places()) == []


@pytest.mark.parametrize(
    "text",
    [
        # In no macro, however it is written.
        "void f(void) { driver.cuInit(0); }",
        "void f(void) { CALL(s, r, g(1)); driver.cuInit(0); }",
        "void f(void) { CALL(s, driver.cuInit(0), g(1)); }",
        "void f(void) { CALL_QUEUING(s, r, (driver.cuInit(0), h), g(1)); }",
        "void f(void) { (driver.cuInit)(0); }",
        "void f(void) { (*driver.cuInit)(0); }",
        "void f(void) { driver.cuInit\n  (0); }",
        "void f(void) { driver . cuInit(0); }",
        "void f(void) { WITHOUT_GIL(driver.cuInit(0)); }",
        "void f(void) { cuInit(0); }",
        "#ifdef Py_GIL_DISABLED\nvoid f(void) { driver.cuInit(0); }\n#endif",
        # By another name of the table.
        "void f(void) { DriverTable *t = &driver; t->cuInit(0); }",
        "void f(void) { CALL(s, r, (&driver)->cuInit(0)); }",
        "void f(void) { CALL(s, r, state->driver.cuInit(0)); }",
        "void f(void) { CALL(s, r, state->table.cuInit(0)); }",
        "void f(void) { state->driver.cuInit(0); }",
        "typedef struct S { DriverTable driver; } S;",
        "void f(void *t) { memcpy(t, &driver, 8); }",
        # In a macro of another name.
        "#define X(bits) void f(void) { driver.cuMemsetD##bits(1); }\nX(8)",
        "#define X(call) void f(void) { driver.call(1); }\nX(cuInit)",
        "void f(void) { CALL_MINE(driver.cuInit(0)); }",
        "#define CALL_MINE(x) ((void)(x))\nvoid f(void) { CALL_MINE(driver.cuInit(0)); }",
        "#define CALL(s, r, x) ((r) = (x))\nvoid f(void) { CALL(s, r, driver.cuInit(0)); }",
        # By an IN_CALL function, also by its address.
        MARKED + "int g(void) { return f(); }",
        MARKED + "int g(void) { return f (); }",
        MARKED + "int g(void) { return (f)(); }",
        MARKED + "void g(void) { use(f); }",
        MARKED + "void g(void) { int (*p)(void) = f; p(); }",
        "IN_CALL static CUresult f(int a) { return driver.cuInit(0); }\nint (*p)(int) = (int (*)(int))f;",
        "IN_CALL CUresult f(int a) { return driver.cuInit(0); }\nCUresult f(int a);",
        # By a copied pointer.
        TYPE + "void f(void) { EventFn e = driver.cuEventCreate; }",
        TYPE + "void f(EventFn e) { e(0); }\n" + GIVEN,
        TYPE + "void f(EventFn e) { (*e)(0); }\n" + GIVEN,
        TYPE + "void f(EventFn e) { (e)(0); }\n" + GIVEN,
        TYPE + "void f(EventFn e) { EventFn a, b = e; b(0); }\n" + GIVEN,
        TYPE + "void f(EventFn e) { EventFn list[2] = {e, e}; list[1](0); }\n" + GIVEN,
        TYPE + "void f(EventFn const e) { if (x) e(0); }\n" + GIVEN,
        TYPE + "void f(void *e) { ((EventFn)e)(0); }",
        TYPE + "typedef EventFn OtherFn;\nvoid f(OtherFn e) { return e(0); }",
        TYPE + "EventFn pick(void);\nvoid f(void) { pick()(0); }",
        "typedef CUresult EventFn(int);\nvoid f(EventFn *e) { e(0); }",
        "typedef CUresult (CUDAAPI *EventFn)(int);\nvoid f(EventFn e) { e(0); }",
        "void f(CUresult (*e)(int)) { e(0); }\n" + GIVEN,
        "void f(CUresult (*e[2])(int)) { e[0](0); }",
        "void f(void *e) { ((CUresult (*)(int))e)(0); }",
        "void f(void) { CUresult (*e)(int) = driver.cuEventCreate; }",
        "void f(void *e) { e = (void *)driver.cuEventCreate; }",
        "void f(void *e);\n" + GIVEN,
        "const Row rows[] = {{1, driver.cuEventCreate}};",
        "void f(void) { __typeof__(driver.cuInit) e; get(&e); e(0); }",
        "void f(int x) { (x ? driver.cuCtxSynchronize : driver.cuInit)(0); }",
        "typedef struct T { CUresult (*run)(int); } T;\nvoid f(T *t) { t->run(0); }",
        "typedef struct T { CUresult (*run)(int); } T;\nvoid f(T *t) { (t->run)(0); }",
        "typedef struct T { CUresult (*runs[2])(int); } T;\nvoid f(T *t) { t->runs[1](0); }",
        TYPE + "typedef struct T { EventFn run; } T;\nvoid f(T t) { t.run(0); }",
        # Of the CPU device's own.
        "void f(void) { return cpu_device->parameter_kind(handle, 0); }",
    ],
)
def test_a_call_in_the_wrong_place_is_found(tmp_path, text):
    assert list(lines_of_c(tmp_path, text, conditions=CONDITIONS).wrong_places())


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ("#define ASK() driver.cuInit(0)", "void f(void) { ASK(); }"),
        ("#define ASK(name) driver.name(0)", "void f(void) { ASK(cuInit); }"),
        ("#define ASK(x) (x)", "void f(void) { ASK(driver.cuInit(0)); }"),
        (TYPE, "void f(EventFn e) { e(0); }"),
        (TYPE + "struct T { EventFn run; };", "void f(struct T *t) { t->run(0); }"),
        ("IN_CALL int core_f(void);", "int g(void) { return core_f(); }"),
        (
            "IN_CALL static inline int core_f(void) { return driver.cuInit(0); }",
            "int (*p)(void) = {core_f()};",
        ),
    ],
)
def test_what_a_header_hides_is_found(tmp_path, header, text):
    assert list(lines_of_c(tmp_path, text, header).wrong_places())


def test_a_function_of_core_is_known_without_its_header():
    (path,) = (path for path in FILES if path.name == "pool.c" and path.parent.name == "core")
    assert (
        {"pool_drop", "one_thread_run", "driver_parameter_kind"} <= marked_everywhere() <= source(path).names
    )


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
        ("void f(CUresult (*e)(int)) { CALL(s, r, (*e)(0)); }\nvoid g(void) { f(driver.cuMemFree); }", 1),
        ("void f(CUresult (*e)(int)) { CALL_QUEUING(s, r, h, QUEUES(e(0))); }", 0),
        ("void f(CUresult (*e)(int)) { CALL(s, r, QUEUES(e(0))); }", 1),
    ],
)
def test_the_comparison_finds_what_it_looks_for(tmp_path, text, wrong):
    here = lines_of_c(tmp_path, text)
    known = {name: here.longest(here.calls(*body), {}) for name, body in here.marked.items()}
    assert len(list(here.too_weak(known))) == wrong


ASKS_PYTHON = "static void *g(int x) { return PyMem_Malloc(x); }\nstatic void *h(int x) { return g(x); }\n"


@pytest.mark.parametrize(
    "text, wrong",
    [
        ("void f(void) { CALL(s, r, driver.cuInit(PyLong_AsLong(a))); }", 1),
        ("void f(void) { CALL_UNLOCKED(r, (p = PyMem_Malloc(8), driver.cuInit(0))); }", 1),
        ("void f(void) { CALL_UNLOCKED(r, (p = PyMem_RawMalloc(8), driver.cuInit(0))); }", 0),
        ("void f(void) { CALL_REPORTED(s, PyBytes_AS_STRING(a), driver.cuInit(0)); }", 0),
        ("void f(void) { WITHOUT_GIL(Py_DECREF(a)); }", 1),
        ("void f(void) { WITHOUT_GIL(pause()); Py_DECREF(a); }", 0),
        ("IN_CALL static int f(void) { Py_INCREF(a); return driver.cuInit(0); }", 1),
        ("void f(void) { WITHOUT_GIL(CALL_NEAR(s, r, driver.cuInit(0))); }", 1),
        ("void f(void) { CALL_NEAR(s, r, WITHOUT_GIL(pause())); }", 1),
        (ASKS_PYTHON + "void f(void) { CALL(s, r, driver.cuInit(h(1))); }", 1),
        (ASKS_PYTHON + "IN_CALL static int f(void) { return driver.cuInit(h(1)); }", 1),
        (ASKS_PYTHON + "void f(void) { WITHOUT_GIL(a = h(1)); }", 1),
        (ASKS_PYTHON + "void f(void) { void *p = h(1); WITHOUT_GIL(use(p)); }", 0),
        ("void g(void) { PyGILState_Ensure(); Py_DECREF(a); }\nvoid f(void) { WITHOUT_GIL(g()); }", 0),
        ("void g(void) { CALL(s, r, driver.cuInit(0)); }\nvoid f(void) { WITHOUT_GIL(g()); }", 1),
        ("void f(void) { CALL(s, r, driver.cuInit(elsewhere())); }", 1),
    ],
)
def test_what_asks_python_without_the_gil_is_found(tmp_path, text, wrong):
    assert len(list(lines_of_c(tmp_path, text).wrong_without_gil({"elsewhere"}))) == wrong
