"""Rewrites sources with texture or surface references so that they compile.

CUDA 12 removed texture<> and surface<>. pycuda-textures.hpp has them as templates whose variables hold the
handle of an object; such a variable must be in constant memory, so __constant__ is put before each
declaration in the source. Headers stay as they are: NVRTC takes their unmarked variables for the device's,
nvcc gets a macro.
"""

from __future__ import annotations

import re

from .tokens import HIDDEN

HEADER = "pycuda-textures.hpp"
IN_HEADERS = "-DPYCUDA_TEXTURES_IN_HEADERS"

_REFERENCE = r"\b(?:texture|surface)\s*<[\w\s,:#]*>"
_ALIAS = rf"\btypedef\s+{_REFERENCE}\s*(\w+)\s*;|\busing\s+(\w+)\s*=\s*{_REFERENCE}\s*;"
# A variable: the type, a name and what may follow one; not in brackets, where it is a parameter.
_DECLARATION = r"(?P<declaration>(?:%s)\s*(?=[A-Za-z_][\w\#]*\s*(?:[;,=({]|\\?$)))"
_MARKED = re.compile(r"__(?:constant|device)__\s*$|\b(?:typedef|using\s+\w+\s*=)\s*$")


def mentioned(text) -> bool:
    """Whether there may be a declaration in text, which is str or bytes."""
    words = (b"texture", b"surface") if isinstance(text, bytes) else ("texture", "surface")
    return any(word in text for word in words)


def _tokens(source: str):
    """Matches of all that matters: what is skipped, declarations, other uses, brackets."""
    names = [name for match in re.finditer(_ALIAS, source) for name in match.groups() if name]
    types = "|".join([_REFERENCE, *(rf"\b{name}\b" for name in names)]).replace("#", r"\#")
    uses = _REFERENCE.replace("#", r"\#")
    pattern = rf"(?msx){HIDDEN} | (?P<bracket>[()]) | {_DECLARATION % types} | (?P<use>{uses})"
    return re.finditer(pattern, source)


def annotate(source: str) -> str | None:
    """The source with its references in constant memory; None when it has none."""
    if not re.search(_REFERENCE, source):
        return None
    depth, starts, used = 0, [], False
    for match in _tokens(source):
        if match["bracket"]:
            depth += 1 if match["bracket"] == "(" else -1
        used = used or match["use"] is not None or match["declaration"] is not None
        start = match.start("declaration")
        if start >= 0 and depth <= 0 and not _MARKED.search(source, max(0, start - 80), start):
            starts.append(start)
    pieces = [source[begin:end] for begin, end in zip([0, *starts], [*starts, None], strict=True)]
    return "__constant__ ".join(pieces) if used else None


def declared_in(headers) -> bool:
    """Whether one of these texts (bytes) declares a reference."""
    return any(mentioned(text) and annotate(text.decode("utf-8", "replace")) is not None for text in headers)
