"""meson-python, with one addition: an editable install still works when the environment that built it is
deleted.

meson-python's loader runs ninja at each import, by the path that ninja had at the build. pip builds in an
environment that it deletes afterwards, with ninja, meson and NumPy's headers. So the loader gets a small
script in place of ninja: it runs ninja as long as that exists, and then leaves what was built as it is.
"""

import hashlib
import os
import shlex
import shutil

import mesonpy
from mesonpy import (
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
]

SCRIPT = """#!/bin/sh
# Written by tools/build_backend.py: ninja, as long as the environment is there that it came with.
if [ -x {ninja} ]; then exec {ninja} "$@"; fi
echo "ninja: no work to do."
"""


def lasting_ninja(ninja: str) -> str:
    """Writes the script that runs this ninja as long as it exists. Returns the script's path."""
    folder = os.path.abspath("build")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "ninja-" + hashlib.sha256(ninja.encode()).hexdigest()[:12])
    with open(path, "w") as file:
        file.write(SCRIPT.format(ninja=shlex.quote(ninja)))
    os.chmod(path, 0o755)
    return path


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """As meson-python's function (PEP 660), with a lasting ninja in $NINJA, which meson-python reads."""
    candidates = [os.environ["NINJA"]] if os.environ.get("NINJA") else ["ninja", "ninja-build", "samu"]
    ninja = next(filter(None, map(shutil.which, candidates)), None)
    if ninja is not None:
        os.environ["NINJA"] = lasting_ninja(os.path.abspath(ninja))
    return mesonpy.build_editable(wheel_directory, config_settings, metadata_directory)
