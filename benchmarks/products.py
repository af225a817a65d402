"""GFLOP/s of products of square matrices against their size, with the peers that are installed.

On a GPU up to 8192 x 8192, on the CPU device up to 512 x 512; another side as argument. "Own kernels" are
ours in pycuda.same_bits().
"""

import json
import sys

import numpy as np
from arrays import ON_GPU
from common import RESULTS, table
from libraries import installed, milliseconds

import pycuda

DTYPES = {"float": "f4", "double": "f8", "half": "f2"}


def product(library, a, b):
    return a @ b


def rates(libraries, side, dtype):
    """{library: GFLOP/s} of a product with matrices of this side, without libraries that do not
    support it.
    """
    hosts = list(np.random.default_rng(1).standard_normal((2, side, side), np.float32).astype(dtype))
    name = f"{side}, {dtype}"
    found = {library.name: milliseconds(library, name, hosts, product) for library in libraries}
    with pycuda.same_bits():
        found["pycuda, own kernels"] = milliseconds(libraries[0], name, hosts, product)
    operations = 2 * side**3
    return {name: operations / (time * 1e6) for name, time in found.items() if time}


def main():
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 8192 if ON_GPU else 512
    libraries = installed(ON_GPU)
    sides = [side for side in (1 << k for k in range(4, 16)) if side <= largest]
    work, rows = {}, []
    for name, dtype in DTYPES.items():
        curves = work[name] = {}
        for side in sides:
            for series, rate in rates(libraries, side, dtype).items():
                curves.setdefault(series, {})[side] = rate
        rows += [
            [
                f"{name}, {side}",
                *(f"{curve[side]:.1f}" if side in curve else "-" for curve in curves.values()),
            ]
            for side in sides
        ]
        header = ["GFLOP/s", *curves]
    table("Products of square matrices", header, rows)
    (RESULTS / "products.data.json").write_text(json.dumps({"work": work}))


if __name__ == "__main__":
    main()
