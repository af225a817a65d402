"""What the tests of functions at special values share."""

import numpy as np

from pycuda import gpuarray
from pycuda._array.core.elementwise import apply
from pycuda._kernels.builtin.functions import TABLE

# The maximum error of results in units in the last place: (of float, of double). From the table of CUDA's
# programming guide, whose editions differ for some functions; an error of 2 was seen for exp of float.
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
    """The results of our elementwise function of that name: a list of arrays of NumPy.

    operands: arrays of NumPy.
    """
    out = (None,) * TABLE[name].outputs if TABLE[name].outputs > 1 else None
    got = apply(name, *[gpuarray.to_gpu(each) for each in operands], out=out)
    return [each.get() for each in got] if out else [got.get()]


def distance(got, want):
    """|got - want| by element, in units in the last place of `want`."""
    unit = np.spacing(abs(want)).astype(np.longdouble)
    return abs(got.astype(np.longdouble) - want.astype(np.longdouble)) / unit


def show_wrong(wrong, got, want, operands):
    """Asserts that the mask `wrong` has no true element; the message shows operands and results of up to
    ten."""
    lines = [
        f"{[each[i] for each in operands]}: {got[i]!r}, not {want[i]!r}" for i in np.flatnonzero(wrong)[:10]
    ]
    assert not wrong.any(), f"{wrong.sum()} wrong, e.g.\n" + "\n".join(lines)
