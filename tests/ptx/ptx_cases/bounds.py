"""How far an approximate instruction may be off (PTX manual), measured against references of our own.

The references work in a wider type, so their own error does not count. Each bound is (reference, limit of the
error, where it holds): special results (NaN, infinity, zero) are compared with the GPU's samples instead.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Bound:
    reference: Callable
    relative: float = 0.0  # error allowed, relative to the exact value
    absolute: float = 0.0
    holds: Callable = None  # where the manual gives the error; everywhere without


def quarter(lo, hi):
    return lambda a, *_: (np.abs(a) >= lo) & (np.abs(a) <= hi)


def lg2_error(a):
    return np.where((a > 0.5) & (a < 2), 2.0**-22, np.abs(np.log2(a)) * 2.0**-22)


def normal_divisor(a, b):
    return quarter(2.0**-126, 2.0**126)(b)


ULP = 2.0**-23
BOUNDS = {
    "rcp": Bound(lambda a: 1 / a, relative=ULP),
    "sqrt": Bound(np.sqrt, relative=ULP),
    "rsqrt": Bound(lambda a: 1 / np.sqrt(a), relative=2.0**-22.9),
    "sin": Bound(np.sin, absolute=2.0**-20.5, holds=quarter(0, 2 * np.pi)),
    "cos": Bound(np.cos, absolute=2.0**-20.5, holds=quarter(0, 2 * np.pi)),
    "lg2": Bound(np.log2, absolute=2.0**-22, relative=2.0**-22),
    "ex2": Bound(np.exp2, relative=2.0**-22),
    "tanh": Bound(np.tanh, relative=2.0**-11),
    "div.approx": Bound(np.divide, relative=2 * ULP, holds=normal_divisor),
    "div.full": Bound(np.divide, relative=2 * ULP),
    "rcp f64": Bound(lambda a: 1 / a, relative=2.0**-19),
    "rsqrt f64": Bound(lambda a: 1 / np.sqrt(a), relative=2.0**-18),
    "tanh f16": Bound(np.tanh, absolute=2.0**-10.987),
    "ex2 f16": Bound(np.exp2, relative=2.0**-9.9),
    "tanh bf16": Bound(np.tanh, absolute=2.0**-8 * 1.01),  # the GPU itself is just beyond 2^-8
    "ex2 bf16": Bound(np.exp2, relative=2.0**-7),
}
