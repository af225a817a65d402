"""Files and folders that are missing, not to be used, or gone.

A signal handler may raise in the middle of any of this, TimeoutError for one, which is an OSError: that goes
on to the program. What the system or a loader says has an error number, or is an OSError and nothing more.
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
    """The path from the root; as it is, and of no use, where the working folder was removed."""
    with passing:
        return os.path.abspath(path)
    return path


def real(path: str) -> str:
    """The same after symbolic links."""
    with passing:
        return os.path.realpath(path)
    return path
