"""Milliseconds of special functions, with the peers that are installed.

On a GPU with 2^26 float32, on the CPU device 2^18; another exponent as argument. "addition" is ours of the
same operands: what the memory gives.
"""

import functools
import sys

import numpy as np
from arrays import ON_GPU
from libraries import Ours, compare, installed, milliseconds

# Name: the interval of each operand.
UNIT, REAL, POSITIVE = (0.01, 0.99), (-4.0, 4.0), (0.1, 20.0)
OPERANDS = {
    **dict.fromkeys(("erf", "erfc", "erfcx", "expit", "ndtr", "log_ndtr", "exp2", "expm1", "i0e"), (REAL,)),
    **dict.fromkeys(("i0", "i1", "j0", "j1"), (REAL,)),
    **dict.fromkeys(("gamma", "gammaln", "digamma", "y0", "y1", "entr", "log1p"), (POSITIVE,)),
    **dict.fromkeys(("erfinv", "erfcinv", "ndtri", "logit"), (UNIT,)),
    **dict.fromkeys(("beta", "xlogy", "xlog1py", "rel_entr", "kl_div"), (POSITIVE, POSITIVE)),
    **dict.fromkeys(("gammainc", "gammaincc", "zeta"), ((1.5, 20.0), POSITIVE)),
    "betainc": (POSITIVE, POSITIVE, UNIT),
}


def functions_of(library):
    """The module in which a library has its special functions."""
    if library.name == "cupy":
        from cupyx.scipy import special
    elif library.name == "numpy":
        from scipy import special
    elif library.name == "torch":
        special = library.functions.special
    else:
        from pycuda.numpy import special
    return special


def call(name, library, *operands):
    return getattr(functions_of(library), name)(*operands)


def numbers(intervals, count):
    """An array of float32 for each interval, on the host."""
    random = np.random.default_rng(1)
    return [random.uniform(*interval, count).astype(np.float32) for interval in intervals]


def addition(name, hosts, call):
    """Milliseconds of adding the operands, with which `call` is measured."""
    first, *others = hosts
    return milliseconds(Ours(), name, hosts, lambda lib, x, *rest: sum(rest, x) if others else x + 0.5)


def main():
    exponent = int(sys.argv[1]) if len(sys.argv) > 1 else 26 if ON_GPU else 18
    work = {
        name: (functools.partial(numbers, intervals, 1 << exponent), functools.partial(call, name))
        for name, intervals in OPERANDS.items()
    }
    title = f"Special functions of 2^{exponent} float32"
    compare(title, installed(ON_GPU), work, "addition", addition)


if __name__ == "__main__":
    main()
