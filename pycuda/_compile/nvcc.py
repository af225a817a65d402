"""Compiling by the nvcc command."""

from __future__ import annotations

import os
from typing import NamedTuple

from .files import is_of_system, real
from .includes import stamp
from .source import NAME, USERS_NAME, lines_of, without_folder

_versions: dict = {}  # version_text() by (path, stamp of the file)


class Outcome(NamedTuple):
    """The result of one run of nvcc."""

    code: bytes | None  # None: it failed
    command: list[str]
    stdout: str
    stderr: str
    folder: str | None  # where the files are kept; None: they were removed


def _environment() -> dict[str, str]:
    """The environment of nvcc: messages are in English."""
    return {**os.environ, "LC_ALL": "C"}


def version_text(path: str) -> str:
    """What `nvcc --version` prints; it is run once for each file. OSError if it cannot be run."""
    import subprocess

    key = path, stamp(real(path))
    if key not in _versions:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, errors="replace", env=_environment()
        )
        if done.returncode:
            raise OSError(f"{path} --version failed: {done.stderr.strip()}")
        _versions[key] = done.stdout
    return _versions[key]


def runs(path: str) -> bool:
    """Whether the file is an nvcc that can be run."""
    try:
        version_text(path)
    except OSError as problem:
        if not is_of_system(problem):  # a TimeoutError of a signal handler ends the call
            raise
        return False
    return True


def preprocess(path: str, source: str, options) -> tuple[str | None, list[str], str]:
    """(the preprocessed text, None if nvcc failed; the command; nvcc's messages)."""
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory(prefix="pycuda-") as folder:
        _write(os.path.join(folder, NAME), source)
        command = [path, "--preprocess", *options, NAME]
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", env=_environment()
        )
    return (done.stdout if done.returncode == 0 else None), command, done.stderr


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(text)


def _result(path: str, returncode: int) -> bytes | None:
    """The content of the file that nvcc has written; None if it failed."""
    if returncode or not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return file.read()


def compile_source(path: str, source: str, options, target: str, keep: bool, users: str | None) -> Outcome:
    """Run nvcc on a source in a new folder. If `keep`, the folder stays, and has the user's text (`users`)
    for a debugger to show.
    """
    import shutil
    import subprocess
    import tempfile

    folder = tempfile.mkdtemp(prefix="pycuda-")
    try:
        shown = os.path.join(folder, USERS_NAME)
        if keep and users is not None:
            _write(shown, users)
            source = lines_of(source, shown)
        _write(os.path.join(folder, NAME), source)
        kept = ["--keep"] if keep else []
        command = [path, f"--{target}", *kept, *options, NAME]
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", env=_environment()
        )
        code = _result(os.path.join(folder, f"{NAME.partition('.')[0]}.{target}"), done.returncode)
        if code and target == "ptx" and not keep:
            code = without_folder(code, folder)
        stdout, stderr = (text.replace(shown, NAME) for text in (done.stdout, done.stderr))
        return Outcome(code, command, stdout, stderr, folder if keep else None)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
