"""Other packages that are imported as `pycuda`: PyCUDA itself, whose distribution has the same name.

pip replaces one by the other, so both are there only where it was asked not to (`pip install -I`), or where
there are several folders of packages (a system's and a virtual environment's).
"""

from __future__ import annotations

import os
import sys
import warnings


def warn_of_left_file(path: str) -> None:
    """Warns that PyCUDA was installed into the folder of this package as well. path: the file that is left
    of it."""
    warnings.warn(
        f"PyCUDA, whose package has the name of this one, was installed into the same folder, and "
        f"{path} is left of it: run `pip uninstall pycuda` until it finds nothing, remove "
        f"{os.path.dirname(path)}, and install this package again",
        RuntimeWarning,
        stacklevel=4,
    )


def hidden_copies(file: str, search: list[str] | None = None) -> list[tuple[str, str]]:
    """[(folder, version)] of the other packages `pycuda` on the search path, which this one hides.

    The version is that of the distribution there, or empty. file: this package's __init__.py; search:
    sys.path if None.
    """
    import importlib.metadata  # 15 ms, which programs are spared

    found = {}
    for entry in sys.path if search is None else search:
        other = os.path.join(os.path.abspath(entry), "pycuda")
        first = os.path.join(other, "__init__.py")
        if os.path.exists(first) and not os.path.samefile(first, file):
            known = importlib.metadata.distributions(name="pycuda", path=[os.path.dirname(other)])
            found[other] = next((each.version for each in known), "")
    return list(found.items())
