"""`python -m pycuda.check PROGRAM ARGUMENTS...` runs a program on the CPU device with all of its checks on.

::

    python -m pycuda.check program.py --size 100
    python -m pycuda.check -m pytest tests

It is `pycuda.cpu.check`, which the distribution pycuda-cpu has as well.
"""

import sys

from pycuda.cpu.check import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
