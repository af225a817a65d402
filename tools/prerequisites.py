"""Prints what `make` needs and this machine lacks, and the Debian packages that have it.

It runs in the Python that is to be used, before anything is installed, so it imports nothing that may be
missing.
"""

import importlib.util
import os
import shutil
import sys
import sysconfig


def missing():
    """Yields (what is missing, the Debian package that has it)."""
    headers = sysconfig.get_path("include")
    if sys.version_info < (3, 10):  # noqa: UP036  this Python is the user's
        yield (
            f"Python 3.10 or later, this is {sys.version.split()[0]} (make PYTHON=... names another)",
            "python3",
        )
    for module in ("venv", "ensurepip"):
        if importlib.util.find_spec(module) is None:
            yield f"Python's module {module}", "python3-venv"
    if not os.path.isfile(os.path.join(headers, "Python.h")):
        yield f"Python.h in {headers}", "python3-dev"
    if not any(map(shutil.which, (os.environ.get("CC") or "cc", "gcc", "clang"))):
        yield "a C compiler", "gcc"


def main():
    found = list(missing())
    if not found:
        return 0
    for what, _ in found:
        print("missing: " + what, file=sys.stderr)
    packages = " ".join(dict.fromkeys(package for _, package in found))
    print("on Debian and Ubuntu: apt-get install " + packages, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
