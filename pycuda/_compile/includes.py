"""Which files a source includes.

A textual scan that follows every #include through the user's folders, conditions and comments ignored: it may
read a file too many, never one too few. Their contents become part of the cache key. A file found in no such
folder belongs to the toolkit or to the host, whose versions are part of the key already. What a scan cannot
know, an #include of a macro, turns caching off for that source.
"""

from __future__ import annotations

import functools
import os
import re
from typing import NamedTuple

from .files import passing

# A comment that stands there is short: what follows a long one counts as the name of a macro.
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
    """What changes when a file does: (mtime, size), or None when there is no such file."""
    with passing:
        status = os.stat(path)
        return status.st_mtime_ns, status.st_size
    return None


def stamp(path: str):
    """What changes when a file does, within one process: more than signature(), for a file of the same size
    whose time was set back. It differs for copies of the same file. None when there is no such file.
    """
    with passing:
        status = os.stat(path)
        return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev
    return None


def unchanged(watched) -> bool:
    """Whether every file of an earlier scan is as it was."""
    return all(stamp(path) == old_stamp for path, old_stamp in watched)


def find(name: str, folders) -> str | None:
    """The first of the folders that has this header."""
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    return None


_WORDS = ("include", "import", "embed")


def _named(words: str):
    """(name, is quoted) of a plain include that stands there; else None."""
    rest = words[len("include") :].lstrip() if words.startswith("include") else ""
    end = rest.find(">" if rest.startswith("<") else '"', 1)
    return (rest[1:end], rest[0] == '"') if rest[:1] in ("<", '"') and end > 1 else None


def _plain_names(text: str):
    """What _names gives, when every include is a plain line of its own; else None. From one "#" to the next,
    ten times as fast as a regular expression.
    """
    if ("?" in text and "??=" in text) or ("%" in text and "%:" in text):
        return None  # other ways to write "#"
    if "\\" in text and "__has_" in text:
        return None  # perhaps in a line that goes on in the next
    names = []
    at = text.find("#")
    while at >= 0:
        end = text.find("\n", at)
        words = text[at + 1 : len(text) if end < 0 else end].lstrip(" \t")
        if not words or words[0] in "/\\\r" or "__has_" in words or words.rfind("/*") > words.rfind("*/"):
            return None
        if words.startswith(_WORDS):
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
    names = []
    for match in re.finditer(_INCLUDE, text, re.DOTALL):
        quoted = match["quote"] or match["quote2"]
        names.append((quoted or match["angle"] or match["angle2"], bool(quoted)))
    return names


@functools.lru_cache(128)
def _content(path: str, file_stamp):
    """(bytes, text) of the file that had this stamp; None if it is none. Headers come with every kernel."""
    if not os.path.isfile(path):
        return None
    with open(path, "rb", buffering=0) as file:
        data = file.read()
    return data, data.decode("utf-8", "replace")


class _Scan:
    def __init__(self, folders):
        self.folders = list(folders)
        self.result = Includes([], [], [], False)
        self.seen: set[str] = set()
        self.computed = False

    def try_read(self, path: str) -> str | None:
        """The file's text, None if it cannot be read. Either is recorded: a later change makes the scan
        outdated.
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
        """Scans the first file of this name in the folders; one that is in none is noted as an outside
        header.
        """
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
        for name, quoted in _included_names(source):
            if name is None:
                self.computed = True
            else:
                self.follow(name, [folder, *self.folders] if quoted and folder else self.folders)


def scan(source: str, folders, forced=()) -> Includes:
    """Every file reached from source, and from the headers that options force in, through these folders."""
    work = _Scan(folders)
    for name in forced:
        work.follow(name, work.folders)
    work.scan_text(source, None)
    return work.result._replace(computed=work.computed)
