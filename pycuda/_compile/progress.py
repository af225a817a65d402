"""A message about a compilation that takes long: what is compiled, and how to turn the message off.

It is printed once for a compilation, to a terminal only, never to a pipe or a file. PYCUDA_PROGRESS=0 turns
it off.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
from collections.abc import Iterator

AFTER = 5.0  # seconds of compilation before the message


def _message(compiler: str, source: str) -> str:
    """The message, with the names of the source's first kernels."""
    kernels = re.findall(r"__global__[^;{]*?\b(?!__)(\w+)\s*\(", source)
    named = ", ".join(kernels[:3]) + (", ..." if kernels[3:] else "")
    what = f"{named or 'a source without kernels'} ({len(source.splitlines())} lines)"
    return (
        f"pycuda: {compiler} has been compiling {what} for {AFTER:g} s (PYCUDA_PROGRESS=0 turns this off)\n"
    )


def _write_line(stream, text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # the terminal is gone
        stream.write(text)
        stream.flush()


@contextlib.contextmanager
def watched(compiler: str, source: str) -> Iterator[None]:
    """A context manager around a compilation, which prints the message if the block takes long."""
    stream = sys.stderr
    if os.environ.get("PYCUDA_PROGRESS") == "0" or stream is None or not stream.isatty():
        yield
        return
    timer = threading.Timer(AFTER, _write_line, (stream, _message(compiler, source)))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
