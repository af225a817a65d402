"""`python -m pycuda.debug SCRIPT ARGUMENTS...` runs a script with its kernels compiled for cuda-gdb.

::

    cuda-gdb --args python -m pycuda.debug SCRIPT ARGUMENTS...
"""

from __future__ import annotations

import os
import sys

_USAGE = "usage: python -m pycuda.debug SCRIPT ARGUMENTS..."
_HELP = f"""{_USAGE}

Runs a script with its kernels compiled for cuda-gdb (-g -G), and keeps their source where the debugger finds
it; the folder is printed. Lines of kernels are those of source.cu there:

    cuda-gdb --args python -m pycuda.debug program.py
    (cuda-gdb) break source.cu:4
    (cuda-gdb) run

This needs a GPU. python -m pycuda.check finds faults of kernels without one.
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the script that the arguments name.

    Parameters
    ----------
    arguments : list of str
        None is those of this process.

    Returns
    -------
    int
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments or arguments[0] in ("-h", "--help"):
        asked = bool(arguments)
        print(_HELP if asked else _USAGE, file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    if not os.path.isfile(arguments[0]):
        print(f"{arguments[0]}: no such file", file=sys.stderr)
        return 1
    import runpy

    from pycuda.driver import set_debugging

    set_debugging()
    sys.argv = list(arguments)
    sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[0])))
    runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
