"""What the tests of functions at special values share."""

import numpy as np

from pycuda import gpuarray
from pycuda._array.core.elementwise import apply
from pycuda._kernels.builtin.functions import TABLE

# How far results may be off, in units in the last place: of float, of double. After the table of CUDA's
# programming guide, whose editions differ for some; exp of float was seen to be off by 2.
BOUNDS = {
    "sqrt": (0, 0),
    "cbrt": (1, 1),
    "exp": (2, 1),
    "exp2": (2, 1),
    "expm1": (1, 1),
    "log": (1, 1),
    "log2": (1, 1),
    "log10": (2, 1),
    "log1p": (1, 1),
    "sin": (2, 2),
    "cos": (2, 2),
    "tan": (4, 2),
    "arcsin": (2, 2),
    "arccos": (2, 2),
    "arctan": (2, 2),
    "sinh": (3, 2),
    "cosh": (2, 1),
    "tanh": (2, 1),
    "arcsinh": (3, 3),
    "arccosh": (4, 3),
    "arctanh": (3, 2),
    "arctan2": (3, 2),
    "hypot": (3, 2),
    "power": (4, 2),
}


def outputs(results):
    """The results of a ufunc as a tuple."""
    return results if isinstance(results, tuple) else (results,)


def evaluate(name, operands):
    """The results of our elementwise function of that name, as arrays of the host."""
    out = (None,) * TABLE[name].outputs if TABLE[name].outputs > 1 else None
    got = apply(name, *[gpuarray.to_gpu(each) for each in operands], out=out)
    return [each.get() for each in got] if out else [got.get()]


def distance(got, want):
    """The distance in units in the last place of the expected value."""
    unit = np.spacing(abs(want)).astype(np.longdouble)
    return abs(got.astype(np.longdouble) - want.astype(np.longdouble)) / unit


def show_wrong(wrong, got, want, operands):
    """Fails where an element of the mask `wrong` is true, with operands and results of some."""
    lines = [
        f"{[each[i] for each in operands]}: {got[i]!r}, not {want[i]!r}" for i in np.flatnonzero(wrong)[:10]
    ]
    assert not wrong.any(), f"{wrong.sum()} wrong, e.g.\n" + "\n".join(lines)
