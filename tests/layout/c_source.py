"""C files as the preprocessor leaves them, and what is called in them: for tests of how calls are made.

Macros of the project are expanded, those of its headers and tables too, except the ones in KEPT. System
headers are left out, Python's and NumPy's among them: the names of these remain.
"""

import atexit
import functools
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("abi", "core", "ext")
# Who decides about the GIL, and marks for the tests: the files that define them, and which names stay.
KEPT_IN = ("ext/errors.h", "ext/wait.h", "ext/gate.h", "core/driver_table.h", "core/exclusive.h")
KEPT = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?:CALL|CALL_\w+|WITHOUT_GIL|QUEUES|EXCLUSIVE|IN_CALL|DRIVER_HAS)\b"
    r"(?:[^\n]*\\\n)*[^\n]*$",
    re.M,
)
# Rows that say nothing of calls: the table's own, and numbers.
LEFT_OUT = {"abi/cuda_functions.def", "abi/cuda_enums.def", "abi/cuda_errors.def"}
# What conditions ask for, apart from the names of headers: each file is read with none of them and with all.
CONDITIONS = ("Py_GIL_DISABLED=1", "PY_VERSION_HEX=0x030E0000", "__GNUC__=14", "__GLIBC__=2")
KEYWORDS = frozenset(
    "if else while for do switch case return sizeof goto default typedef struct union enum const static"
    " inline extern _Alignof _Static_assert __attribute__".split()
)
CONTROL = frozenset("if while for switch sizeof return else do case".split())
TOKEN = re.compile(r"[A-Za-z_]\w*|\.?\d[\w.]*|->|[^\s\w]")
NAME = re.compile(r"[A-Za-z_]\w*")
PAIRS = {"(": ")", "[": "]", "{": "}"}


def without_comments(text):
    """Comments, strings and characters blanked, positions kept."""

    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())

    return re.sub(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'""", blank, text, flags=re.S)


@functools.cache
def compiler():
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def prepared(text, keeps, exists):
    """For the preprocessor: without what the project does not have, and without the macros that stay."""

    def include(match):
        return match.group() if exists(match[1]) else ""

    text = re.sub(r"^[ \t]*#[ \t]*(?:error|pragma)\b.*$", "", text, flags=re.M)
    text = re.sub(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^">]+)[">].*$', include, text, flags=re.M)
    return KEPT.sub("", text) if keeps else text


@functools.cache
def prepared_tree():
    """A copy of the folders, prepared. Lives as long as the process."""

    def has(name):
        return name not in LEFT_OUT and (ROOT / name).is_file()

    place = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, place)
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.[chd]*"):
            name = path.relative_to(ROOT)
            if path.suffix not in (".c", ".h", ".def"):
                continue
            target = place / name
            target.parent.mkdir(parents=True, exist_ok=True)
            text = prepared(path.read_text(), name.as_posix() in KEPT_IN, has)
            target.write_text(text)
    return place


def preprocessed(path, conditions=()):
    """(what the file says itself, rows of tables included; what its headers say). Paths that are not absolute
    are those of the prepared tree."""
    tree = prepared_tree()
    command = [compiler(), "-E", "-undef", "-nostdinc", "-w", "-xc", f"-I{tree}"]
    command += [f"-D{condition}" for condition in conditions] + [str(Path(tree, path))]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    own, headers, stack = [], [], []
    for line in done.stdout.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"((?: \d)*)$', line)
        if not marker:
            (own if all(name.endswith(".def") for name in stack) else headers).append(line)
        elif "1" in marker[2].split() and not marker[1].startswith("<"):
            stack.append(marker[1])
        elif "2" in marker[2].split() and stack:
            stack.pop()
    return without_comments("\n".join(own)), without_comments("\n".join(headers))


class Tokens:
    """Words and signs of a text, with the place of each bracket's other one."""

    def __init__(self, text):
        found = list(TOKEN.finditer(text))
        self.text = text
        self.words = [match.group() for match in found]
        self.starts = [match.start() for match in found]
        self.other = {}
        open_ones = []
        for index, word in enumerate(self.words):
            if word in PAIRS:
                open_ones.append(index)
            elif word in PAIRS.values():
                begin = open_ones.pop()
                if PAIRS[self.words[begin]] != word:
                    raise ValueError("brackets do not match")
                self.other[begin], self.other[index] = index, begin
        if open_ones:
            raise ValueError("a bracket is not closed")

    def __len__(self):
        return len(self.words)

    def word(self, index):
        return self.words[index] if 0 <= index < len(self.words) else ""

    def is_name(self, index):
        return NAME.fullmatch(self.word(index)) is not None

    def names(self, start, end):
        return {word for word in self.words[start:end] if NAME.fullmatch(word)}

    def quote(self, index):
        """As it stands there, for a message."""
        start = self.starts[index]
        return " ".join(self.text[start : start + 90].split())

    def arguments(self, begin):
        """(first, end) of each, of the bracket that opens there."""
        end, start, index = self.other[begin], begin + 1, begin + 1
        while index < end:
            if self.words[index] in PAIRS:
                index = self.other[index]
            elif self.words[index] == ",":
                yield start, index
                start = index + 1
            index += 1
        yield start, end


class Call:
    """A call, or what looks like one: `at` is its bracket, `first` where the name or the expression begins
    that is called. `names` are those that it may be called by: one, unless an expression in brackets stands
    there."""

    def __init__(self, tokens, at):
        self.tokens, self.at = tokens, at
        before, self.bracketed = at - 1, False
        while tokens.word(before) == "]":
            before = tokens.other[before] - 1
        if tokens.word(before) == ")":
            self.bracketed = True
            self.first = tokens.other[before]
            self.names = tokens.names(self.first, before)
        else:
            self.first = before
            self.names = tokens.names(before, before + 1)
        before = tokens.word(self.first - 1)
        self.is_member = not self.bracketed and before in (".", "->")
        self.of = tokens.word(self.first - 2) + before if self.is_member else ""

    @property
    def name(self):
        return self.tokens.words[self.first]

    def is_call(self):
        """Not a condition, a declaration or a definition."""
        tokens, before = self.tokens, self.tokens.word(self.first - 1)
        if not self.names:
            return False
        if self.bracketed:
            if before in CONTROL - {"return", "else", "do", "case"}:
                return False
            pointer = tokens.word(self.first + 1) == "*" and self.is_type(self.first - 1)
            return not pointer
        return self.name not in KEYWORDS and (self.is_member or not self.is_type(self.first - 1))

    def is_type(self, index):
        """Whether a declaration's type ends there."""
        word = self.tokens.word(index)
        if word == "*":
            while self.tokens.word(index) in ("*", "const"):
                index -= 1
            begin = self.tokens.word(index - 1)
            starts = begin in ("", ";", "{", "}", "IN_CALL", "struct", "static", "const", "inline", "extern")
            starts |= begin in ("(", ",") and self.bracketed
            return self.tokens.is_name(index) and self.tokens.word(index) not in CONTROL and starts
        return self.tokens.is_name(index) and word not in CONTROL


def calls_in(tokens, start, end):
    for index in range(start, end):
        if tokens.words[index] == "(" and index > 0:
            call = Call(tokens, index)
            if call.is_call():
                yield call


def definitions_in(tokens):
    """(name, its place, the end of its body) of each function."""
    index = 0
    while index < len(tokens):
        if tokens.words[index] == "(" and tokens.is_name(index - 1):
            end = tokens.other[index]
            if tokens.word(end + 1) == "{" and tokens.word(index - 1) not in KEYWORDS:
                yield tokens.words[index - 1], index - 1, tokens.other[end + 1]
                index = tokens.other[end + 1]
        index += 1


# ---- pointers to functions that give a CUresult

POINTER = re.compile(
    r"\b(typedef\s+)?CUresult\s*\(\s*(?:\w+\s+)?\*+\s*(?:const\s+)?(\w+)\s*(?:\[[^\]]*\]\s*)*(\()?"
)
FUNCTION_TYPE = re.compile(r"\btypedef\s+CUresult\s+\(?\s*(\w+)\s*\)?\s*\(")


def pointer_types(text):
    """Names of types: of pointers, of functions, and other names of them."""
    types = {match[2] for match in POINTER.finditer(text) if match[1]} | set(FUNCTION_TYPE.findall(text))
    before = None
    while types and types != before:
        before = set(types)
        for new in re.findall(rf"\btypedef\s+(?:const\s+)?(?:{'|'.join(types)})\s*\*?\s*(\w+)\s*;", text):
            types.add(new)
    return types


def pointer_names(text, types):
    """Names of variables, parameters and members that are such pointers, of arrays of them, and of functions
    that give one back. The table's own are not among them."""
    names = {match[2] for match in POINTER.finditer(text) if not match[1]}
    if types:
        declared = rf"\b(?:{'|'.join(types)})\b(?!\s*\))((?:[\s*]|const\b)*\w+[^;{{}}()]*)"
        for declarators in re.findall(declared, text):
            for part in re.sub(r"\{.*|=[^,]*", "", declarators).split(","):
                name = re.match(r"\s*(?:\*|\s|const\b)*(\w+)\s*(?:\[.*)?$", part)
                if name:
                    names.add(name[1])
    return {name for name in names if not re.match(r"cu[A-Z]", name)} - types
