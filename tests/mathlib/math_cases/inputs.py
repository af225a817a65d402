"""The arguments of the functions: special values, random bits, values near each other and near ties.

They depend only on an argument's type, its position and whether it is the only one. A record (record.py)
holds results for exactly these values: changing them makes every record void.
"""

from functools import cache

import numpy as np
from ptx_cases import inputs

LANES = 4096
# Letter of a signature (table.TYPES): kind of ptx_cases.inputs. values() makes those of the other letters.
KINDS = {
    "f": "f32",
    "d": "f64",
    "h": "f16",
    "b": "bf16",
    "H": "f16x2",
    "B": "bf16x2",
    "t": "b16",
    "T": "b16",
    "i": "b32",
    "u": "b32",
    "l": "b64",
    "L": "b64",
    "s": "shift",
}
DTYPES = {2: np.uint16, 4: np.uint32, 8: np.uint64}


def lanes_of(function):
    """The number of inputs, one a lane: all values if the only argument has 16 bits, else LANES."""
    return inputs.ALL_16_BIT if function.signature[1:] in ("h", "b", "t", "T") else LANES


def exponents(operand):
    """For ldexp and scalbn: exponents in the ranges of f32 and of f64, and far beyond, as int64."""
    random = inputs.random_bits(operand + 200, LANES).astype(np.int64)
    single, double = random % 301 - 150, (random >> 9) % 4401 - 2200
    values = np.where(random >> 60 & 1, single, double)
    values[:8] = [0, 1, -1, 2**31 - 1, -(2**31), 1000000, -1000000, 127]
    # so that the special values of two arguments are in different lanes
    return np.roll(values, 37 * operand)


def special_first(kind, operand):
    """Random values whose first ones are the special values of the kind, each once."""
    values = inputs.random_floats(kind, operand, LANES)
    special = np.array(inputs.special_floats(kind), np.uint64)
    values[: len(special)] = special
    return values


@cache
def values(letter, operand, lanes, is_unary):
    """The values of one argument, one a lane.

    letter: its letter in the signature; operand: its position from 0; is_unary: the function has no other.
    """
    if letter in "eE":
        return exponents(operand).astype(np.int32 if letter == "e" else np.int64)
    if letter == "n":  # -1 to 7
        return (inputs.random_bits(operand + 300, LANES) % np.uint64(9)).astype(np.int32) - 1
    if letter == "F":  # rows of two floats, as bits
        pair = [inputs.words("f32", operand + part, lanes).astype(np.uint32) for part in (0, 1)]
        return np.stack(pair, 1)
    kind = KINDS[letter]
    if lanes == inputs.ALL_16_BIT:
        return np.arange(lanes, dtype=np.uint16)
    words = (
        special_first(kind, operand)
        if is_unary and kind in inputs.FLOATS
        else inputs.words(kind, operand, lanes)
    )
    return words.astype(DTYPES[max(inputs.WIDTH[kind], 16) // 8])


def arguments(function):
    """The values of all arguments of a Function (table.py), as arrays."""
    is_unary = len(function.signature) == 2
    lanes = lanes_of(function)
    return [values(letter, place, lanes, is_unary) for place, (_, letter) in enumerate(function.arguments)]


def describe(function, lane):
    """The arguments of a lane as text: hexadecimal bits, the most significant first."""
    words = [np.atleast_1d(array[lane]) for array in arguments(function)]
    return ", ".join(word.tobytes()[::-1].hex() for word in words)  # bytes are stored least significant first
