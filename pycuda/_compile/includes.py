"""Which files a source includes.

A textual scan follows every #include through the user's folders and ignores conditions and comments: it may
read a file too many, never one too few. The files' contents become part of the cache key. A file that is
found in none of the folders belongs to the toolkit or to the host, whose versions are part of the key
already. An #include of a macro, which a scan cannot follow, turns caching off for the source.
"""

from __future__ import annotations

import functools
import os
import re
from typing import NamedTuple

from .files import passing

# A gap has short comments only: after a long one, a scan takes what follows for the name of a macro.
_GAP = r"(?:[ \t]|\\\r?\n|/\*.{0,500}?\*/)*"
_INCLUDE = (
    rf"""(?:\#|%:|\?\?=){_GAP}(?:(?P<long>/\*)|(?:include_next|include|import|embed)\b{_GAP}"""
    r"""(?:<(?P<angle>[^>\n]+)>|"(?P<quote>[^"\n]+)"|(?P<other>\S)))"""
    rf"""|__has_(?:include|embed)(?:_next)?{_GAP}\({_GAP}"""
    r"""(?:<(?P<angle2>[^>\n]+)>|"(?P<quote2>[^"\n]+)"|(?P<other2>\S))"""
)


class Includes(NamedTuple):
    """The result of a scan."""

    contents: list[bytes]  # path and text of every file, in the order met
    watched: list[tuple]  # (path, stamp) of every file tried; the stamp of an absent one is None
    outside: list[str]  # names found in none of the folders
    computed: bool  # some #include names a macro


def signature(path: str):
    """(mtime, size) of a file, which change when the file does; None if there is no such file."""
    with passing:
        status = os.stat(path)
        return status.st_mtime_ns, status.st_size
    return None


def stamp(path: str):
    """A tuple that changes when a file does, for use within one process; None if there is no such file.
    Unlike signature(), it detects a new file of the same size whose time was set back, and differs between
    copies.
    """
    with passing:
        status = os.stat(path)
        return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev
    return None


def unchanged(watched) -> bool:
    """Whether no file of an earlier scan has changed. watched: that of its Includes."""
    return all(stamp(path) == old_stamp for path, old_stamp in watched)


def find(name: str, folders) -> str | None:
    """The path of the header in the first of the folders that has it; None if none does."""
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    return None


_DIRECTIVES = ("include", "import", "embed")


def _named(words: str):
    """(name, is quoted) of a plain #include, `words` being the line after the "#"; None for other lines."""
    rest = words[len("include") :].lstrip() if words.startswith("include") else ""
    end = rest.find(">" if rest.startswith("<") else '"', 1)
    return (rest[1:end], rest[0] == '"') if rest[:1] in ("<", '"') and end > 1 else None


def _plain_names(text: str):
    """The result of _all_names(), if every include is a plain line of its own; else None. It searches from
    one "#" to the next, which is ten times as fast as the regular expression.
    """
    if ("?" in text and "??=" in text) or ("%" in text and "%:" in text):
        return None  # other ways to write "#"
    if "\\" in text and "__has_" in text:
        return None  # __has_include may be split between two lines
    names = []
    at = text.find("#")
    while at >= 0:
        end = text.find("\n", at)
        words = text[at + 1 : len(text) if end < 0 else end].lstrip(" \t")
        if not words or words[0] in "/\\\r" or "__has_" in words or words.rfind("/*") > words.rfind("*/"):
            return None
        if words.startswith(_DIRECTIVES):
            name = _named(words)
            if name is None:
                return None
            names.append(name)
        at = text.find("#", at + 1)
    return names


@functools.lru_cache(256)
def _included_names(text: str):
    """(name, is quoted) of each include; (None, False) for one that names a macro."""
    plain = _plain_names(text)
    return _all_names(text) if plain is None else plain


def _all_names(text: str):
    """(name, is quoted) of each include; (None, False) for one that names a macro. By a regular
    expression."""
    names = []
    for match in re.finditer(_INCLUDE, text, re.DOTALL):
        quoted = match["quote"] or match["quote2"]
        names.append((quoted or match["angle"] or match["angle2"], bool(quoted)))
    return names


@functools.lru_cache(128)
def _content(path: str, file_stamp):
    """(bytes, text) of the file; None if the path is not a file. Cached, as many kernels include the same
    headers; file_stamp is part of the key, so that a changed file is read again."""
    if not os.path.isfile(path):
        return None
    with open(path, "rb", buffering=0) as file:
        data = file.read()
    return data, data.decode("utf-8", "replace")


class _Scan:
    """A scan in progress. `seen`: the paths of the files that were scanned."""

    def __init__(self, folders):
        self.folders = list(folders)
        self.result = Includes([], [], [], False)
        self.seen: set[str] = set()
        self.computed = False

    def try_read(self, path: str) -> str | None:
        """The file's text; None if it cannot be read. Both outcomes are noted in `watched`, as a later change
        of either makes the scan's result outdated.
        """
        file_stamp = stamp(path)
        self.result.watched.append((path, file_stamp))
        found = None if file_stamp is None else _content(path, file_stamp)
        if found is None:
            return None
        data, text = found
        self.result.contents.extend((path.encode("utf-8", "surrogateescape"), data))
        return text

    def follow(self, name: str, folders) -> None:
        """Scan the first file of this name in the folders. If there is none, note the name as an outside
        header."""
        for folder in folders:
            path = os.path.normpath(os.path.join(folder, name))
            if path in self.seen:
                return
            text = self.try_read(path)
            if text is not None:
                self.seen.add(path)
                self.scan_text(text, os.path.dirname(path))
                return
        if name not in self.result.outside:
            self.result.outside.append(name)

    def scan_text(self, source: str, folder: str | None) -> None:
        """Follow the includes of a text. folder: that of its file, where quoted names are searched first."""
        for name, quoted in _included_names(source):
            if name is None:
                self.computed = True
            else:
                self.follow(name, [folder, *self.folders] if quoted and folder else self.folders)


def scan(source: str, folders, forced=()) -> Includes:
    """The Includes of a source: every file reached through these folders from it and from the headers
    `forced`, which options include before it."""
    work = _Scan(folders)
    for name in forced:
        work.follow(name, work.folders)
    work.scan_text(source, None)
    return work.result._replace(computed=work.computed)
