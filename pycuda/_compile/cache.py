"""Compiled code on disk.

A file is named by the digest of everything its content depends on, and opens with a checksum of that name and
content: a truncated, damaged or renamed file is treated as absent. A file that another user owns or may write
to could hold any code and is not used; files and folders are private to their owner. Files are written under
a temporary name in the same folder and renamed, so that a reader in another process sees a complete file or
none. A folder that cannot be used causes one warning and no failure.
"""

from __future__ import annotations

import os
import stat
import warnings

try:
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

from .files import is_of_system, passing

_MAGIC = b"pycuda-cache-2\n"
_SUM_SIZE = 16
_warned: set[str] = set()


class NotCached(Exception):
    """Code that must not be compiled is not in the cache."""


def digest(*parts: bytes) -> str:
    """Hex digest of a sequence of byte strings. It covers their lengths, so that sequences that differ only
    in where the parts end have different digests."""
    state = blake2b(digest_size=24)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()


def _user_cache_folder() -> str:
    """The user's cache folder by the XDG specification, which ignores relative paths. The result is relative
    if HOME is not set and the system does not know the user."""
    base = os.environ.get("XDG_CACHE_HOME", "").strip()
    return os.path.join(base if os.path.isabs(base) else os.path.expanduser("~/.cache"), "pycuda")


def is_off(cache_dir) -> bool:
    """Whether caching is turned off, by this cache_dir argument or the environment."""
    return cache_dir is False or "PYCUDA_DISABLE_CACHE" in os.environ


def folder(cache_dir=None) -> str | None:
    """The absolute path of the cache folder for this cache_dir argument. None if caching is off or, with a
    warning, if there is no absolute path: the working folder was removed, or HOME is unknown.
    """
    if is_off(cache_dir):
        return None
    named = os.environ.get("PYCUDA_CACHE_DIR") if cache_dir is None else cache_dir
    where = os.fsdecode(named or os.path.join(_user_cache_folder(), "compiler-cache-v2"))
    if named or os.path.isabs(where):
        with passing:
            return os.path.abspath(where)
    _warn_once(where, "is not used", "the working folder was removed" if named else "HOME is not set")
    return None


def _sum(name: str, content: bytes) -> bytes:
    """The checksum of an entry's name and content."""
    label = name.encode("utf-8", "surrogateescape")
    state = blake2b(len(label).to_bytes(8, "little"), digest_size=_SUM_SIZE)
    state.update(label)
    state.update(content)
    return state.digest()


def _own_id() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0


def _untrusted_owner(status: os.stat_result) -> int | None:
    """The owner's user ID, if that is neither this user nor root; else None. Root is trusted, as it may
    change this process's memory anyway."""
    return None if status.st_uid in (0, _own_id()) else status.st_uid


def _is_private_group(number: int) -> bool:
    """Whether this is a group of this user alone: many systems make one for each user."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(_own_id()), grp.getgrgid(number)
    except KeyError:
        return False
    return user.pw_gid == number and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def _distrust(status: os.stat_result) -> str | None:
    """Why another user may have written this file or folder, as the end of a sentence; None if no other may.
    In a folder with the sticky bit other users cannot replace this user's files.
    """
    owner, mode = _untrusted_owner(status), status.st_mode
    if owner is not None:
        return f"is owned by another user (uid {owner})"
    others = mode & (stat.S_IWGRP | stat.S_IWOTH)
    if not others or (stat.S_ISDIR(mode) and mode & stat.S_ISVTX):
        return None
    if others == stat.S_IWGRP and _is_private_group(status.st_gid):
        return None
    return f"is writable by other users (mode {stat.S_IMODE(mode):03o}): chmod go-w"


def _is_ours(where: str) -> bool:
    """Whether no other user may write to the folder; if others may, a warning, once for each folder. The
    folders above it are not checked, as each file is checked after it is opened.
    """
    why = None
    with passing:  # the folder may not exist yet
        why = _distrust(os.stat(where))
    if why:
        _warn_once(where, "is not used", f"it {why}")
    return why is None


def _load(where: str, name: str) -> bytes | None:
    """The content of the file; None if there is none, or, with a warning, if other users may have written
    it."""
    why = None
    with passing, open(os.path.join(where, name), "rb") as file:
        why = _distrust(os.fstat(file.fileno()))
        if why is None:
            return file.read()
    if why:
        _warn_once(where, "contains files that were ignored", f"{name} {why}")
    return None


def read(where: str, name: str) -> bytes | None:
    """The content of one entry; None if it is absent, damaged, or may be another user's."""
    data = _load(where, name) if _is_ours(where) else None
    start = len(_MAGIC) + _SUM_SIZE
    if data is None or not data.startswith(_MAGIC) or data[len(_MAGIC) : start] != _sum(name, data[start:]):
        return None
    return data[start:]


def is_entry(where: str, name: str) -> bool:
    """Whether the file begins as the files that write() makes."""
    with passing, open(os.path.join(where, name), "rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC
    return False


def _warn_once(where: str, what: str, why: str) -> None:
    """Warns that kernels are compiled again, once for each folder: the folder `where` `what`, because of
    `why`."""
    if where in _warned:
        return
    _warned.add(where)
    warnings.warn(
        f"the compiler cache folder {where} {what} ({why}): "
        "kernels are compiled again in every process. PYCUDA_CACHE_DIR names another folder, "
        "PYCUDA_DISABLE_CACHE=1 turns the cache off.",
        stacklevel=2,
    )


def write(where: str, name: str, content: bytes, warns: bool = True) -> None:
    """Store one entry. If that fails, a warning, once for each folder, unless `warns` is false."""
    if not _is_ours(where):
        return
    data = _MAGIC + _sum(name, content) + content
    # Unique among the threads and processes that share the folder; on a network file system almost certainly.
    temporary = os.path.join(where, f".{name}.{os.getpid()}.{os.urandom(6).hex()}")
    try:
        os.makedirs(where, mode=0o700, exist_ok=True)
        try:
            with open(temporary, "xb", opener=_for_the_owner) as file:
                file.write(data)
            os.replace(temporary, os.path.join(where, name))
        except BaseException:
            _remove(temporary)
            raise
    except OSError as problem:
        if not is_of_system(problem):
            raise
        if warns:
            _warn_once(where, "cannot be written", problem.strerror or str(problem))


def _for_the_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _remove(path: str) -> None:
    with passing:
        os.unlink(path)
