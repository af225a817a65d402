"""The compiler cache: where it is, what it holds, and how to empty it.

::

    python -m pycuda.cache          the folder, how many files and bytes
    python -m pycuda.cache list     each file, the newest first
    python -m pycuda.cache clear    removes them

Compiled code outlives a reboot and is found again by every process of its user; nothing else removes it.

The plans of Fourier transforms that cuFFT makes are kept, too, by the process and for each context.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from typing import NamedTuple

from pycuda._base.pool_snapshot import size_text as _size_text
from pycuda._compile import cache as _cache
from pycuda._compile.files import passing as _passing


class FFTPlan(NamedTuple):
    """A plan of cuFFT that is kept with its workspace.

    Attributes
    ----------
    sizes : tuple of int
        Of the transform, along each of its axes.
    batch : int
        How many transforms it makes.
    source, result : str
        The dtypes.
    workspace : int
        Bytes.
    """

    sizes: tuple[int, ...]
    batch: int
    source: str
    result: str
    workspace: int


class Entry(NamedTuple):
    """A file of the cache.

    Attributes
    ----------
    path : str
    size : int
        Bytes.
    written : float
        When, in seconds since the epoch.
    """

    path: str
    size: int
    written: float


def folder() -> str | None:
    """Return the folder of the compiled code.

    Returns
    -------
    str or None
        None: PYCUDA_DISABLE_CACHE turns the cache off, or there is no folder for it.
    """
    return _cache.folder()


def entries() -> list[Entry]:
    """The files of the cache. Other files in its folder are not among them.

    Returns
    -------
    list of Entry
        The newest first.
    """
    where = folder()
    found = []
    for name in _entry_names(where):
        path = os.path.join(where or "", name)
        with _passing:  # another process may have been faster
            status = os.stat(path)
            found.append(Entry(path, status.st_size, status.st_mtime))
    return sorted(found, key=lambda entry: entry.written, reverse=True)


def _entry_names(where):
    """The names of the files that the cache has written."""
    names = []
    with _passing:
        names = os.listdir(where) if where else []
    return [name for name in names if _cache.is_entry(where, name)]


def clear() -> int:
    """Remove the files of the cache. Processes that run go on with what they have loaded.

    Returns
    -------
    int
        How many were removed.

    Raises
    ------
    OSError
        One cannot be removed.
    """
    removed = 0
    for entry in entries():
        try:
            os.unlink(entry.path)
        except FileNotFoundError:
            continue
        removed += 1
    return removed


def summary() -> str:
    """The folder, and how much there is in it, in one line.

    Returns
    -------
    str
    """
    where = folder()
    if where is None:
        return "off (PYCUDA_DISABLE_CACHE)" if _cache.is_off(None) else "off (there is no folder for it)"
    found = entries()
    return f"{where}: {len(found)} files, {_size_text(sum(entry.size for entry in found))}"


def fft_plans() -> list[FFTPlan]:
    """The plans of Fourier transforms that are kept in the current context.

    Returns
    -------
    list of FFTPlan
        The last used first.
    """
    from pycuda._libraries import fft

    return [
        FFTPlan(each.sizes, each.batch, each.source_type, each.result_type, plan.size)
        for each, plan in fft.kept_plans()
    ]


def clear_fft_plans() -> int:
    """Forget the plans of Fourier transforms of the current context, which gives their workspaces back.

    Returns
    -------
    int
        How many there were.
    """
    from pycuda._libraries import fft

    return fft.clear()


def limit_fft_plans(size: int | None) -> int:
    """Set how many bytes workspaces of plans may take that are kept in the current context.

    Parameters
    ----------
    size : int or None
        None is a sixteenth of the memory of the device. A plan with a larger workspace is not kept.

    Returns
    -------
    int
        The limit.
    """
    from pycuda._libraries import fft

    fft.set_limit(size)
    return fft.limit()


def main(arguments=None) -> int:
    """What `python -m pycuda.cache` does.

    Parameters
    ----------
    arguments : list of str
        None is those of this process.

    Returns
    -------
    int
    """
    parser = argparse.ArgumentParser(prog="python -m pycuda.cache", description=__doc__.split("\n")[0])
    parser.add_argument(
        "what",
        nargs="?",
        choices=["show", "list", "clear"],
        default="show",
        help="show: the folder, how many files and bytes (the default); list: each file, the newest first; "
        "clear: remove them",
    )
    what = parser.parse_args(arguments).what
    if what == "list":
        for entry in entries():
            when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.written))
            print(f"{when} {_size_text(entry.size):>12}  {entry.path}")
    elif what == "clear":
        print(f"{clear()} files removed")
    else:
        print(summary())
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `list | head` ends it without a word
    sys.exit(main())
