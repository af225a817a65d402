"""Errors of files and folders that are missing, not usable, or removed.

A signal handler may raise at any point, and its exception may be an OSError, such as TimeoutError: that must
reach the program. It is distinguished from errors of the system or a loader, which have an error number or
are of the type OSError itself.
"""

from __future__ import annotations

import os


def is_of_system(problem: BaseException | None) -> bool:
    """Whether this is an OSError that no signal handler has raised."""
    return isinstance(problem, OSError) and (problem.errno is not None or type(problem) is OSError)


class Passing:
    """A context manager that suppresses errors of files: such an error ends the block, and the program goes
    on after it."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind, problem, trace) -> bool:
        return is_of_system(problem)


passing = Passing()


def absolute(path: str) -> str:
    """The absolute path; the path as it is, which leads nowhere, if the working folder was removed."""
    with passing:
        return os.path.abspath(path)
    return path


def real(path: str) -> str:
    """The path without symbolic links; the path as it is if the system cannot follow them."""
    with passing:
        return os.path.realpath(path)
    return path
