"""What PyCUDA has and this version has not yet: one table, for errors that say so by name.

Programs that try an import and do something else without it go on as they do where PyCUDA lacks that part.
"""

from __future__ import annotations

import sys

MODULES = frozenset(f"pycuda.{name}" for name in ("gl",))


def text(name: str) -> str:
    """The sentence for an error."""
    from pycuda import VERSION_TEXT

    return f"{name} is not there yet in this version of pycuda ({VERSION_TEXT})"


class _Finder:
    """Asked last, for modules that nobody found."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        """None, or the error of a module that is to come."""
        parts = fullname.split(".")
        if ".".join(parts[:2]) in MODULES:
            raise ImportError(text(fullname), name=fullname)
        return None


def install() -> None:
    """Once a process."""
    if not any(finder is _Finder for finder in sys.meta_path):
        sys.meta_path.append(_Finder)


def getter(module: str):
    """The __getattr__ of a module."""

    def __getattr__(name):
        whole = f"{module}.{name}"
        if whole in MODULES:
            raise AttributeError(text(whole), name=name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)

    return __getattr__
