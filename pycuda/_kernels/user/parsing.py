"""Kernels that users write expressions for: their arguments, and what the text says about them.

An expression is C++ and may do anything. What is certain from its text decides what the kernel around it may
do: walk arrays with strides, load several elements at once, broadcast an operand. In doubt the text gets
plain pointers, as PyCUDA passes them.
"""

from __future__ import annotations

import re
import sys
from typing import NamedTuple

import numpy as np

from pycuda._compile import arguments as _arguments
from pycuda._compile.tokens import HIDDEN
from pycuda._kernels.user.c_types import Argument, dtype_to_ctype, parse_c_arg
from pycuda.compyte.dtypes import NAME_TO_DTYPE

# ---- arguments


def split_arguments(text: str) -> list[str]:
    """The declarations of a C argument list, which is split at commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "<([") - (sign in ">)]")
        if sign == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def read_arguments(arguments) -> list[Argument]:
    """A new list of the arguments, given as declarations in C or as a sequence of VectorArg and ScalarArg.

    ValueError for a declaration that cannot be read, TypeError for arguments of other types.
    """
    if isinstance(arguments, str):
        return [parse_c_arg(part) for part in split_arguments(arguments)] if arguments.strip() else []
    arguments = list(arguments)
    for argument in arguments:
        if not isinstance(argument, Argument):
            raise TypeError(f"an argument is {argument!r}: it must be a VectorArg or a ScalarArg")
    return arguments


def texts(**given) -> dict[str, str]:
    """The parts of a kernel as strings (arguments.text() of pycuda._compile). A TypeError names the part."""
    return {what: _arguments.text(part, what) for what, part in given.items()}


def fits(declared: np.dtype, actual: np.dtype) -> bool:
    """Whether a kernel that declares elements of one dtype can read those of the actual dtype: they have the
    same numbers in the same places. float2 and complex64 fit; int32 and uint32 do not.
    """
    return declared == actual or _number_codes(declared) == _number_codes(actual)


def _number_codes(dtype: np.dtype) -> list:
    """(offset, code) of each number in an element, and at the end (size of the element, "")."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        count = int(np.prod(shape))
        return [
            (k * base.itemsize + at, code) for k in range(count) for at, code in _number_codes(base)[:-1]
        ] + [(dtype.itemsize, "")]
    if dtype.fields:
        found = [
            (field[1] + at, code)
            for field in (dtype.fields[name] for name in dtype.names)
            for at, code in _number_codes(field[0])[:-1]
        ]
        return sorted(found) + [(dtype.itemsize, "")]
    size = dtype.itemsize
    if dtype.kind == "c":
        return [(0, f"f{size // 2}"), (size // 2, f"f{size // 2}"), (size, "")]
    kind = {"b": "u", "m": "i", "M": "i"}.get(dtype.kind, dtype.kind)
    return [(0, f"{kind}{size}"), (size, "")]


# dtypes of C's own types, whose sizes need no check.
_BUILT_IN = frozenset(
    NAME_TO_DTYPE[name]
    for name in ("bool", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned", "long",
                 "unsigned long", "float", "double")
)  # fmt: skip


_HEADERS = {"float16": "cuda_fp16.h", "bfloat16": "cuda_bf16.h"}


def headers(arguments, *others) -> str:
    """#include lines for the types of arguments and of other dtypes."""
    dtypes = {argument.dtype for argument in arguments} | {np.dtype(other) for other in others}
    names = {dtype.name for dtype in dtypes}
    lines = [f"#include <{header}>\n" for name, header in _HEADERS.items() if name in names]
    return "".join(lines) + "#include <pycuda-complex.hpp>\n"


def size_checks(arguments) -> str:
    """Static assertions that each type in the user's declarations has the size of its dtype."""
    checked = {argument.dtype: dtype_to_ctype(argument.dtype) for argument in arguments}
    return "".join(
        f'static_assert(sizeof({name}) == {dtype.itemsize}, "{name} does not have the {dtype.itemsize} bytes '
        'of its dtype");\n'
        for dtype, name in checked.items()
        if dtype not in _BUILT_IN
    )


def line(what: str) -> str:
    """The #line directive after which the compiler counts lines from 1, and names the text `what` in
    messages."""
    quoted = what.replace("\\", "\\\\").replace('"', "'").replace("\n", " ")
    return f'\n#line 1 "{quoted}"\n'


_SECTION = re.compile(r'\n#line 1 "([^"\n]*)"\n')
_PAIRS = {")": "(", "]": "[", "}": "{"}


def open_brackets(source: str) -> str:
    """Messages about brackets that do not match in the user's texts of a source, which line() has divided.
    Compilers report such a bracket only at a later place."""
    _, *parts = _SECTION.split(source)
    found = (
        _mismatch(what, text)
        for what, text in zip(parts[::2], parts[1::2], strict=True)
        if not what.startswith("kernel ")
    )
    return "".join(dict.fromkeys(found))


def _mismatch(what: str, text: str) -> str:
    """A message about the first bracket of the user's text that has no partner; empty if all have one."""
    visible = _HIDDEN.sub(lambda hidden: re.sub(r"[^\n]", " ", hidden[0]), text)
    opened = []
    for at, sign in enumerate(visible):
        if sign in "([{":
            opened.append(at)
        elif sign in ")]}":
            if not opened or visible[opened[-1]] != _PAIRS[sign]:
                return _bracket_message(what, text, at, "closes nothing")
            opened.pop()
    return _bracket_message(what, text, opened[-1], "is not closed") if opened else ""


def _bracket_message(what: str, text: str, at: int, problem: str) -> str:
    """A message, as compilers write it, about the bracket at index `at`."""
    start = text.rfind("\n", 0, at) + 1
    number, shown = text.count("\n", 0, at) + 1, text[start:].split("\n", 1)[0]
    pointer = re.sub(r"[^\t]", " ", text[start:at])
    return f"{what}({number}): {text[at]!r} {problem}\n  {shown}\n  {pointer}^\n\n"


# ---- what the text says

_HIDDEN = re.compile(HIDDEN, re.X | re.S)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^)]*\))?((?:[^\\\n]|\\.|\\\n)*)", re.M)
# What precedes an & that takes an address, and is not the binary operator; or a cast to a pointer does.
_UNARY_BEFORE = r"(?:^|[(\[{,;=+\-*/%<>!?:|^~&]|\breturn)\s*$"
_POINTER_CAST = re.compile(r"\*\s*\)\s*$")
# What precedes an element whose address is the first argument of an atomic function.
_ATOMIC = re.compile(r"\batomic\w*\s*\(\s*&\s*$")
# What follows an element: an assignment, a call of a member function with arguments, members and subscripts.
_ASSIGNS = r"\s*(?:=(?!=)|[+\-*/%&|^]=|<<=|>>=|\+\+|--)"
_SETTER = re.compile(r"(?:\s*\.\s*\w+)*\s*\.\s*\w+\s*\(\s*[^)\s]")
_MEMBERS = re.compile(r"(?:\s*(?:\.|->)\s*\w+(?!\w*\s*\()|\s*\[[^\]]*\])*")
# Words by which a statement may be skipped for some i, or the loop end early.
_CONDITIONS = re.compile(
    r"\b(?:if|for|while|do|switch|continue|break|return|goto)\b|\?|&&|\|\||\bmin\b|\bmax\b"
)
# Words that need PyCUDA's own loop, in which a thread runs one iteration in each round.
_OWN_LOOP = re.compile(
    r"\b(?:tid|cta_start|total_threads|break|return|goto|asm|threadIdx|blockIdx|blockDim|gridDim|warpSize"
    r"|__shared__|__syncthreads\w*|__syncwarp|__shfl\w*|__ballot\w*|__any\w*|__all\w*|__activemask"
    r"|__match\w*)\b"
)
# Variables of the module. A user sets them in one module, so there may be no second module for other layouts.
_STATE = re.compile(
    r"\b(?:__constant__\b|__managed__\b|texture\s*<|surface\s*<)"
    r"|\b__device__\b(?:(?!\boperator\b)[^({;=\[])*[;=\[]"
)
_INT = r"(?:\b(?:int|long|short|unsigned|size_t|char|auto|u?int\d+_t|ptrdiff_t)\b[\s&]*)"


class Use(NamedTuple):
    """How an expression uses a vector argument x. Where the text leaves a doubt, indexed, subscripted and
    assigned are False, the others True."""

    indexed: bool  # x is used only as x[i]
    subscripted: bool  # x is used only as x[...], and no element's address is taken
    written: bool  # elements are changed
    assigned: bool  # a statement x[i] = ... is reached for every i
    read: bool  # x[i] is used before that statement is done
    stored: bool  # elements are changed by something other than an atomic function


# A use about which nothing is certain.
_UNKNOWN_USE = Use(indexed=False, subscripted=False, written=True, assigned=False, read=True, stored=True)


class Analysis(NamedTuple):
    """What is known from the text of a kernel."""

    uses: dict  # the Use of each vector, by name
    order_free: bool  # whether i occurs only as x[i], so that the order of elements does not matter
    own_loop: bool  # whether the text needs PyCUDA's loop
    stateful: bool  # whether there may be only one module
    guarded: bool  # whether there may be a condition on i
    conditional: bool  # whether there may be any condition


def _without_comments(text: str) -> str:
    """The text without comments and literals."""
    return _HIDDEN.sub(" ", text)


def _macros(preamble: str) -> list[str]:
    """The bodies of the preamble's macros, without the macros' own parameters."""
    bodies = []
    for _, parameters, body in _DEFINE.findall(preamble):
        for name in re.findall(r"\w+", parameters):
            body = re.sub(rf"\b{name}\b", " ", body)
        bodies.append(body)
    return bodies


def _by_reference(preamble: str) -> set[str]:
    """The names of the preamble's functions that may change their arguments: they take a reference that is
    not const."""
    return {
        name
        for name, parameters in re.findall(r"\b(\w+)\s*\(([^()]*)\)", preamble)
        if any("&" in one and not re.search(r"\bconst\b", one) for one in parameters.split(","))
    }


def _closing_bracket(text: str, start: int) -> int:
    """The index after the bracket that closes the one at start."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] in "[({") - (text[at] in ")]}")
        if depth == 0:
            return at + 1
    return len(text)


class _Assignment(NamedTuple):
    """Where a statement x[i] = ... begins and ends in the text; _NEVER if there is none."""

    start: int
    end: int


_CONTROL = re.compile(r"(?:(?:if|for|while|switch)\b\s*(\()|(?:else|do)\b)\s*")
_NEVER = _Assignment(sys.maxsize, sys.maxsize)


def _statement(text: str, at: int) -> int:
    """The index after the statement that begins at `at`, with the statements that it controls."""
    control = _CONTROL.match(text, at)
    if control:
        inner = _closing_bracket(text, control.start(1)) if control[1] else control.end()
        return _statement(text, inner + len(text[inner:]) - len(text[inner:].lstrip()))
    if text.startswith("{", at):
        return _closing_bracket(text, at)
    while at < len(text) and text[at] != ";":
        at = _closing_bracket(text, at) if text[at] in "([{" else at + 1
    return at + 1


# What, in a macro, may decide whether other statements are reached.
_MACRO_CONTROL = re.compile(r"\b(?:if|else|for|while|do|switch|case|continue)\b|[{}]")


def _first_assignment(name: str, text: str) -> _Assignment:
    """The first statement name[i] = ...; that is reached for every i: one that no other statement
    controls."""
    if re.search(r"\bcontinue\b|\bcase\b|#", text):
        return _NEVER
    wanted, at = re.compile(rf"{name}\s*\[\s*i\s*\]\s*=(?!=)"), 0
    while at < len(text):
        end = at + 1 if text[at].isspace() else _statement(text, at)
        if wanted.match(text, at):
            return _Assignment(at, end)
        at = end
    return _NEVER


def _look_at(name: str, text: str, assigned: _Assignment, changing: set[str]) -> Use:
    """How the text uses the vector `name`. assigned: its first certain assignment; changing: the functions
    that may change their arguments."""
    indexed = subscripted = True
    stored = atomic = read = False
    for found in re.finditer(rf"(?<![\w.])(?<!->){name}\b", text):
        before, end = text[: found.start()], found.end()
        opening = re.match(r"\s*\[", text[end:])
        if opening is None:
            return _UNKNOWN_USE
        close = _closing_bracket(text, end + opening.end() - 1)
        indexed = indexed and text[end + opening.end() : close - 1].strip() == "i"
        plain = before.replace("&&", "  ").rstrip()
        if plain.endswith("&"):
            head = plain[:-1].rstrip()
            if _ATOMIC.search(plain):
                atomic = True
            elif re.search(_UNARY_BEFORE, head) or _POINTER_CAST.search(head):
                return _UNKNOWN_USE
        after = text[close:]
        members = _MEMBERS.match(after).end()
        called = re.search(r"\b(\w+)\s*\([^;]*$", before)
        stored = (
            stored
            or re.match(_ASSIGNS, after[members:]) is not None
            or re.search(r"(?:\+\+|--|&\s*\w+\s*=)\s*$", before) is not None
            or _SETTER.match(after) is not None
            or (called is not None and any(re.search(rf"\b{f}\s*\(", before) for f in changing))
        )
        read = read or (found.start() < assigned.end and found.start() != assigned.start)
    return Use(indexed, subscripted, stored or atomic, assigned is not _NEVER, read, stored)


def analyse(vectors, texts, preamble="") -> Analysis:
    """The Analysis of a kernel's texts. vectors: the names of its vectors; texts: those inside the kernel, of
    which the first is run for every i; preamble: the text before the kernel.
    """
    preamble = _without_comments(preamble)
    operation, *others = map(_without_comments, texts)
    # Where macros are used is not known. They are looked at as if they came before everything else, and their
    # assignments do not count as certain.
    macros = _macros(preamble)
    whole = ";\n".join([*macros, operation, *others])
    before = sum(len(macro) + len(";\n") for macro in macros)
    is_plain = not any(map(_MACRO_CONTROL.search, macros))
    changing = _by_reference(preamble)
    uses = {}
    for name in vectors:
        first = _first_assignment(name, operation) if is_plain else _NEVER
        if first is not _NEVER:
            first = _Assignment(first.start + before, first.end + before)
        uses[name] = _look_at(name, whole, first, changing)
    rest = (
        re.sub(rf"\b(?:{'|'.join(map(re.escape, vectors))})\s*\[\s*i\s*\]", " ", whole) if vectors else whole
    )
    # Headers may define macros that use i.
    order_free = re.search(r"(?<![\w.])(?<!->)i\b", rest) is None and "#include" not in preamble
    conditional = _CONDITIONS.search(whole) is not None
    # Whether i itself is assigned, or declared once more.
    changed = re.search(rf"(?<![\w.])i\b{_ASSIGNS}|(?:\+\+|--)\s*i\b|(?<!&)&\s*i\b|{_INT}+i\b", rest)
    if changed:
        uses = {name: use._replace(indexed=False) for name, use in uses.items()}
    return Analysis(
        uses,
        order_free,
        bool(changed) or _OWN_LOOP.search(whole) is not None,
        _STATE.search(preamble) is not None,
        not order_free and conditional,
        conditional,
    )
