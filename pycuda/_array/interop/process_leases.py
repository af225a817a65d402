"""Which other processes use what this process shares with them.

A process that shares something has a folder with a file for each thing. Who uses the thing holds a lock on
its file: the system takes the lock away when that process ends, in whatever way. What was sent and has not
arrived yet has a file of its own, which the receiver removes. The owner holds a lock on the file `owner`, by
which others see whether it lives.

Locks are those of fcntl, which belong to a process: a forked child has none of them. As closing any
descriptor of a file gives up the process's locks on it, each process opens a file once.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import itertools
import os
import shutil
import tempfile
import threading
import time
from pathlib import Path

_PREFIX = "pycuda-ipc-"
_YOUNG = 60.0  # seconds in which a folder without the file `owner` may still get it

_lock = threading.Lock()
_own: tuple[int, Path] | None = None  # the process that made it, and its folder
_numbers = itertools.count()


class OwnerGone(RuntimeError):
    """What another process shared is not there any more."""


def _place() -> Path:
    """Where the folders are: in memory, if the system has that."""
    shared = Path("/dev/shm")
    return shared if os.access(shared, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())


def _is_held(path: Path) -> bool:
    """Whether another process holds the exclusive lock on the file. FileNotFoundError without a file."""
    file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def _remove_old_folders(place: Path) -> None:
    """Remove the folders of processes that were killed."""
    for folder in place.glob(f"{_PREFIX}{os.getuid()}-*"):
        with contextlib.suppress(OSError):
            owner = folder / "owner"
            if owner.exists():
                abandoned = not _is_held(owner)
            else:
                abandoned = time.time() - folder.stat().st_mtime > _YOUNG
            if abandoned:
                shutil.rmtree(folder)


def _remove_own(process: int, folder: Path) -> None:
    if process == os.getpid():
        shutil.rmtree(folder, ignore_errors=True)


def own_folder() -> Path:
    """The folder of this process, made at the first call."""
    global _own
    with _lock:
        if _own is not None and _own[0] == os.getpid():
            return _own[1]
        place = _place()
        _remove_old_folders(place)
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getuid()}-", dir=place))
        file = os.open(folder / "new", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.lockf(file, fcntl.LOCK_EX)
        os.rename(folder / "new", folder / "owner")  # from now on others may look at the lock
        _own = os.getpid(), folder
        atexit.register(_remove_own, *_own)
        return folder


class Share:
    """Something that this process shares, as its owner."""

    def __init__(self) -> None:
        self.folder = own_folder()
        self.name = f"share{next(_numbers)}"
        self._path = self.folder / self.name
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._released = False

    def announce(self) -> str:
        """The name of a message that another process is going to get."""
        message = f"{self.name}.{next(_numbers)}"
        (self.folder / message).touch(0o600)
        return message

    def release(self, cancel: bool = False) -> bool:
        """Whether no other process uses it and no message is on its way, or `cancel` is given and the
        messages are called back: then no process can begin to use it any more.
        """
        if self._released:
            return True
        messages = list(self.folder.glob(f"{self.name}.*"))
        for message in messages if cancel else ():
            message.unlink(missing_ok=True)
        if messages and not cancel:
            return False
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        self._path.unlink(missing_ok=True)
        os.close(self._file)
        self._released = True
        return True


def arrived(folder: Path, message: str) -> None:
    """The message was received: it holds nothing any more."""
    (folder / message).unlink(missing_ok=True)


def join(folder: Path, message: str, process: int) -> int:
    """Begin to use what another process shares: a descriptor, which end() takes. OwnerGone if the process has
    ended or released it.
    """
    gone = OwnerGone(
        f"the array was shared by process {process}, which has ended or released it before it was opened "
        "here: keep the result of share() until the other process has the array"
    )
    try:
        file = os.open(folder / message.partition(".")[0], os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        raise gone from None
    try:
        fcntl.lockf(file, fcntl.LOCK_SH)
        if not os.fstat(file).st_nlink or not _is_held(folder / "owner"):
            raise gone
    except FileNotFoundError:
        os.close(file)
        raise gone from None
    except BaseException:
        os.close(file)
        raise
    arrived(folder, message)
    return file


def end(file: int) -> None:
    """This process uses it no more."""
    os.close(file)
