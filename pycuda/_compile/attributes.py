"""Attributes after the closing brace of a class: `typedef struct { float x, y; } __align__(16) Pair;`.

nvcc, like its host compilers, applies them to the class. NVRTC applies them to the declared variable, or
ignores them, without a message: sizes and arrays differ. For NVRTC they are moved to where both apply them to
the class, after the word struct, class or union.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from .tokens import COMMENT, HIDDEN

_WORDS = ("__align__", "__attribute__")
_DEFINE = re.compile(r"^[ \t]*\#[ \t]*define[ \t]+(\w+)\b((?:[^\\\n]|\\.)*)", re.M | re.S)
_TOKEN = re.compile(
    rf"""{HIDDEN}
      | (?P<directive>^[ \t]*\#(?:[^\\\n]|\\.)*)
      | (?P<head>\b(?:struct|class|union)\b)
      | (?P<sign>[;{{}}])""",
    re.X | re.S | re.M,
)
_GAP = re.compile(rf"(?:\s | {COMMENT})*", re.X | re.S)
_WORD = re.compile(r"\w+")
_BRACKET = re.compile(r"[()]")


def names(texts: Iterable[str]) -> frozenset[str]:
    """The words that begin an attribute: the language's, and macros of these texts that stand for them."""
    found = set(_WORDS)
    for text in texts:
        if any(word in text for word in _WORDS):
            found.update(name for name, body in _DEFINE.findall(text) if any(word in body for word in _WORDS))
    return frozenset(found)


def _gap(text: str, at: int) -> int:
    """The index after the white space and comments that stand there."""
    match = _GAP.match(text, at)
    return match.end() if match else at


def _end_of_brackets(text: str, at: int) -> int:
    """The index after the brackets that open there; `at` itself where none do, or they do not close."""
    depth = 0
    for match in _BRACKET.finditer(text, at):
        if depth == 0 and match.start() != at:
            break
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.end()
    return at


def _end_of_attributes(text: str, at: int, words: frozenset[str]) -> int:
    """The index after the attributes that follow there."""
    end = at
    while True:
        begin = _gap(text, end)
        word = _WORD.match(text, begin)
        if word is None or word[0] not in words:
            return end
        end = _end_of_brackets(text, _gap(text, word.end()))
        end = max(end, word.end())


def _find_classes(text: str, words: frozenset[str]):
    """(where a class begins, where its attributes begin and end) of each that has some after its brace."""
    opened: list[int | None] = []
    head = None
    for match in _TOKEN.finditer(text):
        if match["head"]:
            head = match.end()
        elif match["sign"] == ";":
            head = None
        elif match["sign"] == "{":
            opened.append(head)
            head = None
        elif match["sign"] == "}" and opened:
            head, begin = opened.pop(), match.end()
            end = _end_of_attributes(text, begin, words) if head is not None else begin
            if end > begin:
                yield head, begin, end
            head = None


def _may_have(text: str, words: frozenset[str]) -> bool:
    return any(word in text for word in words) and "}" in text


@functools.lru_cache(64)
def first_line(text: str, words: frozenset[str]) -> int | None:
    """The line of the first class with such attributes; None where there is none."""
    if not _may_have(text, words):
        return None
    for _, begin, _ in _find_classes(text, words):
        return text.count("\n", 0, begin) + 1
    return None


def moved(text: str, words: frozenset[str]) -> str:
    """The text with each attribute before its class's name, on as many lines."""
    if not _may_have(text, words):
        return text
    edits = []
    for head, begin, end in _find_classes(text, words):
        attribute = " ".join(re.sub(COMMENT, " ", text[begin:end], flags=re.X | re.S).split())
        edits += [(head, head, f" {attribute}"), (begin, end, "\n" * text.count("\n", begin, end))]
    parts, done = [], 0
    for begin, end, new in sorted(edits):
        parts += [text[done:begin], new]
        done = end
    return "".join(parts) + text[done:]
