"""The extern "C" wrapping.

Kernels are wrapped in extern "C" { } so that they keep their plain names, and #line keeps the numbers of the
user's lines. A header of the toolkit or of the language has C++ code, which is not allowed inside such a
block: the block is closed before an #include of one at the top level, and opened again after it. A user's
header stays inside, because its kernels are looked up by their plain names too.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from .tokens import HIDDEN

NAME = "kernel.cu"

# Comments and literals, which can hide a brace or an include; then #include lines, other directives, braces.
_TOKENS = rf"""(?xms){HIDDEN}
      | (?P<include>^[ \t]*\#[ \t]*include[ \t]*(?P<name><[^>\n]+>|"[^"\n]+").*?$)
      | (?P<directive>^[ \t]*\#(?:[^\\\n]|\\.|\\\n)*)
      | (?P<brace>[{{}}])"""


# The name of the file with the user's own text, in a folder where the compiler's files are kept.
USERS_NAME = "source.cu"


def _line(number: int) -> str:
    """The directive after which lines count from `number`."""
    return f'#line {number} "{NAME}"\n'


def lines_of(text: str, path: str) -> str:
    """The wrapped text with #line directives that name the user's file at `path`, which a debugger then
    opens."""
    quoted = path.replace("\\", "\\\\").replace('"', '\\"')
    return re.sub(rf'(?m)^(#line \d+) "{re.escape(NAME)}"$', lambda match: f'{match[1]} "{quoted}"', text)


def without_folder(ptx: bytes, folder: str) -> bytes:
    """The PTX with the source's name in place of its path: the folder it was compiled in has no such file, or
    was removed."""
    return ptx.replace(os.fsencode(os.path.join(folder, NAME)) + b'"', NAME.encode() + b'"')


class _Include(NamedTuple):
    """An #include line: the line, <name> or "name", where the line starts and ends."""

    text: str
    name: str
    start: int
    end: int


def _by_tokens(source: str):
    """The #include lines outside of all braces, found token by token."""
    depth = 0
    for match in re.finditer(_TOKENS, source):
        if match["brace"]:
            depth += 1 if match["brace"] == "{" else -1
        elif match["include"] and depth == 0:
            yield _Include(match["include"], match["name"], match.start(), match.end())


def _by_lines(source: str):
    """The #include lines of a source whose includes all precede its first brace and comment: faster than
    tokens."""
    start = 0
    for text in source.split("\n"):
        words = text.strip()
        if words.startswith("#") and (rest := words[1:].lstrip()).startswith("include"):
            name = rest[len("include") :].lstrip()
            end = name.find(">" if name.startswith("<") else '"', 1)
            if end > 0:
                yield _Include(text, name[: end + 1], start, start + len(text))
        start += len(text) + 1


def _top_level_includes(source: str):
    """The #include lines outside of all braces."""
    head = source[: source.rfind("include")]
    plain = not any(mark in head for mark in ("{", "/*", 'R"', "\\\n"))
    return _by_lines(source) if plain else _by_tokens(source)


def _split_block(source: str, is_users) -> str:
    """Close the block around each top-level #include for which is_users(name) is false."""
    parts, done = [], 0
    for line in _top_level_includes(source):
        if is_users(line.name) or "/*" in line.text:
            continue
        number = source.count("\n", 0, line.start) + 1
        parts += [
            source[done : line.start],
            "}\n",
            _line(number),
            line.text,
            '\nextern "C" {\n',
            _line(number + 1),
        ]
        done = line.end + 1
    return "".join(parts) + source[done:]


def wrap(source: str, *, extern_c: bool, is_users) -> str:
    """The text for the compiler. is_users(name): whether <name> or "name" is found in the user's own
    folders."""
    if not extern_c:
        return f"{_line(1)}{source}\n"
    body = _split_block(source, is_users) if "include" in source else source
    return f'extern "C" {{\n{_line(1)}{body}\n}}\n'
