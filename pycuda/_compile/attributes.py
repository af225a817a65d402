"""Attributes after the closing brace of a class: `typedef struct { float x, y; } __align__(16) Pair;`.

nvcc, like its host compilers, applies them to the class. NVRTC applies them to the declared variable, or
ignores them, without a message, so the class's size and alignment differ. For NVRTC they are moved to where
both compilers apply them to the class: after the word struct, class or union.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from .tokens import COMMENT, HIDDEN

_ATTRIBUTES = ("__align__", "__attribute__")
# Patterns are compiled at their first use, which programs that find all their code in the cache have not.
_DEFINE = r"(?ms)^[ \t]*\#[ \t]*define[ \t]+(\w+)\b((?:[^\\\n]|\\.)*)"
_TOKEN = rf"""(?xms){HIDDEN}
      | (?P<directive>^[ \t]*\#(?:[^\\\n]|\\.)*)
      | (?P<head>\b(?:struct|class|union)\b)
      | (?P<sign>[;{{}}])"""
_GAP = rf"(?xs)(?:\s | {COMMENT})*"


def names(texts: Iterable[str]) -> frozenset[str]:
    """The words that begin an attribute: the language's, and the macros of these texts whose definition has
    one of the language's."""
    found = set(_ATTRIBUTES)
    for text in texts:
        if any(word in text for word in _ATTRIBUTES):
            macros = re.findall(_DEFINE, text)
            found.update(name for name, body in macros if any(word in body for word in _ATTRIBUTES))
    return frozenset(found)


def _end_of_gap(text: str, at: int) -> int:
    """The index after the white space and comments that begin at `at`; `at` itself if there are none."""
    match = re.compile(_GAP).match(text, at)
    return match.end() if match else at


def _end_of_brackets(text: str, at: int) -> int:
    """The index after the round brackets that open at `at`; `at` itself if none open there, or they do not
    close."""
    depth = 0
    for match in re.compile(r"[()]").finditer(text, at):
        if depth == 0 and match.start() != at:
            break
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.end()
    return at


def _end_of_attributes(text: str, at: int, words: frozenset[str]) -> int:
    """The index after the attributes that follow `at`; `at` itself if there are none. words: those that begin
    an attribute."""
    end = at
    while True:
        begin = _end_of_gap(text, end)
        word = re.compile(r"\w+").match(text, begin)
        if word is None or word[0] not in words:
            return end
        end = _end_of_brackets(text, _end_of_gap(text, word.end()))
        end = max(end, word.end())  # an attribute without brackets, a macro


def _find_classes(text: str, words: frozenset[str]):
    """For each class with attributes after its closing brace: (the index after the word struct, class or
    union; the indices where the attributes begin and end)."""
    opened: list[int | None] = []  # for each open brace the head of its class; None for other braces
    # The index after the last word struct, class or union, if no brace or semicolon has followed it.
    head = None
    for match in re.finditer(_TOKEN, text):
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
    """The line of the first class with attributes after its closing brace; None if there is none."""
    if not _may_have(text, words):
        return None
    for _, begin, _ in _find_classes(text, words):
        return text.count("\n", 0, begin) + 1
    return None


def moved(text: str, words: frozenset[str]) -> str:
    """The text with each attribute before its class's name. Line numbers stay the same."""
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
