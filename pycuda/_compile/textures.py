"""Rewrites sources with texture or surface references so that they compile.

CUDA 12 removed texture<> and surface<>. pycuda-textures.hpp has them as templates whose variables hold the
handle of an object. Such a variable must be in constant memory, so __constant__ is put before each
declaration in the source. Headers are not rewritten: NVRTC gets an option that puts variables without a
memory space on the device, nvcc a macro.
"""

from __future__ import annotations

import re

from .tokens import HIDDEN

HEADER = "pycuda-textures.hpp"
IN_HEADERS = "-DPYCUDA_TEXTURES_IN_HEADERS"

_REFERENCE = r"\b(?:texture|surface)\s*<[\w\s,:#]*>"
_ALIAS = rf"\btypedef\s+{_REFERENCE}\s*(\w+)\s*;|\busing\s+(\w+)\s*=\s*{_REFERENCE}\s*;"
# The declaration of a variable: the type, before a name and what may follow one. In brackets it is a
# parameter.
_DECLARATION = r"(?P<declaration>(?:%s)\s*(?=[A-Za-z_][\w\#]*\s*(?:[;,=({]|\\?$)))"
# What may precede a declaration that is left as it is: a memory space, or the beginning of an alias. It is
# searched in the last _MARK_LENGTH characters before the declaration.
_MARKED = r"__(?:constant|device)__\s*$|\b(?:typedef|using\s+\w+\s*=)\s*$"
_MARK_LENGTH = 80


def mentioned(text) -> bool:
    """Whether there may be a texture or surface reference in a text, which is str or bytes. A quick test."""
    words = (b"texture", b"surface") if isinstance(text, bytes) else ("texture", "surface")
    return any(word in text for word in words)


def _tokens(source: str):
    """Matches of comments and literals, brackets, declarations, and other uses of texture<> or surface<>."""
    names = [name for match in re.finditer(_ALIAS, source) for name in match.groups() if name]
    types = "|".join([_REFERENCE, *(rf"\b{name}\b" for name in names)]).replace("#", r"\#")
    uses = _REFERENCE.replace("#", r"\#")
    pattern = rf"(?msx){HIDDEN} | (?P<bracket>[()]) | {_DECLARATION % types} | (?P<use>{uses})"
    return re.finditer(pattern, source)


def annotate(source: str) -> str | None:
    """The source with its references declared in constant memory; None if it has no texture<> or
    surface<>."""
    if not re.search(_REFERENCE, source):
        return None
    depth, starts, used, marked = 0, [], False, re.compile(_MARKED)
    for match in _tokens(source):
        if match["bracket"]:
            depth += 1 if match["bracket"] == "(" else -1
        used = used or match["use"] is not None or match["declaration"] is not None
        start = match.start("declaration")  # -1: it is not a declaration
        if start >= 0 and depth <= 0 and not marked.search(source, max(0, start - _MARK_LENGTH), start):
            starts.append(start)
    pieces = [source[begin:end] for begin, end in zip([0, *starts], [*starts, None], strict=True)]
    return "__constant__ ".join(pieces) if used else None


def declared_in(headers) -> bool:
    """Whether one of these texts (bytes) declares a reference."""
    return any(mentioned(text) and annotate(text.decode("utf-8", "replace")) is not None for text in headers)
