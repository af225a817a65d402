"""Errors of files and folders that are missing, not usable, or removed.

A signal handler may raise at any point, TimeoutError for instance, which is an OSError: that is passed on to
the program. Errors of the system or a loader have an error number, or are plain OSErrors.
"""

from __future__ import annotations

import os


def is_of_system(problem: BaseException | None) -> bool:
    """Whether this is an OSError that no signal handler has raised."""
    return isinstance(problem, OSError) and (problem.errno is not None or type(problem) is OSError)


class Passing:
    """Ends the block at what the system says of a file."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind, problem, trace) -> bool:
        return is_of_system(problem)


passing = Passing()


def absolute(path: str) -> str:
    """The path from the root; the path itself, which leads nowhere, if the working folder was removed."""
    with passing:
        return os.path.abspath(path)
    return path


def real(path: str) -> str:
    """The path without symbolic links; the path itself where the system cannot follow them."""
    with passing:
        return os.path.realpath(path)
    return path
