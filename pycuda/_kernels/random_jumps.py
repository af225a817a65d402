"""Far ahead in a generator's sequence without the steps between: powers of the matrix of one step.

They are computed when first asked for, by squaring, and kept: nothing here is a table.
"""

from __future__ import annotations

import functools

import numpy as np

# Both generators' sequences are so many steps apart, as a power of two; cuRAND's figures.
XORWOW_SEQUENCE = 67
MRG_SUBSEQUENCE, MRG_SEQUENCE = 76, 127


# ---- XORWOW: 160 bits; row i of a matrix is what becomes of bit i


def _xorwow_step(v: np.ndarray) -> np.ndarray:
    """States after one step: five words in a row."""
    t = v[:, 0] ^ (v[:, 0] >> np.uint32(2))
    last = v[:, 4] ^ (v[:, 4] << np.uint32(4)) ^ t ^ (t << np.uint32(1))
    return np.column_stack([v[:, 1:], last])


def _bits(words: np.ndarray) -> np.ndarray:
    """Of each row, as numbers 0 and 1 whose sums of 160 float32 holds exactly."""
    return np.unpackbits(words.astype("<u4").view(np.uint8), axis=1, bitorder="little").astype(np.float32)


def _words(bits: np.ndarray) -> np.ndarray:
    return np.packbits(bits.astype(np.uint8), axis=1, bitorder="little").view("<u4").astype(np.uint32)


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return ((a @ b).astype(np.uint8) & 1).astype(np.float32)


@functools.cache
def _xorwow_power(exponent: int) -> np.ndarray:
    """The bits of the matrix of 2**exponent steps."""
    if exponent == 0:
        units = _words(np.eye(160))
        return _bits(_xorwow_step(units))
    half = _xorwow_power(exponent - 1)
    return _product(half, half)


def _xorwow_powers(first: int, count: int) -> np.ndarray:
    """For each hexadecimal digit of a number of `count` bits the matrices of 1 ... 15 times its unit."""
    for exponent in range(first):  # one after the other: each is made from the one before
        _xorwow_power(exponent)
    matrices = []
    for digit in range(first, first + count, 4):
        multiples = [_xorwow_power(digit)]
        for _ in range(14):
            multiples.append(_product(multiples[-1], multiples[0]))
        matrices += map(_words, multiples)
    return np.concatenate(matrices).ravel()


def _xorwow_jump(first: int, times: int) -> np.ndarray:
    matrix = np.eye(160, dtype=np.float32)
    for k in range(first):
        _xorwow_power(k)
    for k in range(times.bit_length()):
        if times >> k & 1:
            matrix = _product(matrix, _xorwow_power(first + k))
    return _words(matrix).ravel()


# ---- MRG32k3a: two matrices of 3 x 3

_MODULI = 4294967087, 4294944443
_STEPS = (
    ((0, 1, 0), (0, 0, 1), (-810728, 1403580, 0)),
    ((0, 1, 0), (0, 0, 1), (-1370589, 0, 527612)),
)


def _mrg_product(a, b, modulus: int):
    columns = tuple(zip(*b, strict=True))
    return tuple(
        tuple(sum(x * y for x, y in zip(row, column, strict=True)) % modulus for column in columns)
        for row in a
    )


@functools.cache
def _mrg_power(exponent: int):
    """The pair of matrices of 2**exponent steps."""
    if exponent == 0:
        return _STEPS
    half = _mrg_power(exponent - 1)
    return tuple(_mrg_product(m, m, modulus) for m, modulus in zip(half, _MODULI, strict=True))


def _mrg_flat(pairs) -> np.ndarray:
    flat = [
        number % modulus
        for pair in pairs
        for matrix, modulus in zip(pair, _MODULI, strict=True)
        for row in matrix
        for number in row
    ]
    return np.array(flat, np.uint32)


def _mrg_powers(first: int, count: int) -> np.ndarray:
    for exponent in range(first):
        _mrg_power(exponent)
    return _mrg_flat([_mrg_power(first + k) for k in range(count)])


def _mrg_jump(first: int, times: int) -> np.ndarray:
    pair = (((1, 0, 0), (0, 1, 0), (0, 0, 1)),) * 2
    _mrg_powers(first, times.bit_length() or 1)
    for k in range(times.bit_length()):
        if times >> k & 1:
            power = _mrg_power(first + k)
            pair = tuple(_mrg_product(*each) for each in zip(pair, power, _MODULI, strict=True))
    return _mrg_flat([pair])


_POWERS = {"xorwow": _xorwow_powers, "mrg32k3a": _mrg_powers}
_JUMPS = {"xorwow": _xorwow_jump, "mrg32k3a": _mrg_jump}


def powers(generator: str, first: int, count: int) -> np.ndarray:
    """The matrices for jumps of n * 2**first steps, n having `count` bits, as the kernels read them."""
    return _POWERS[generator](first, count)


def jump(generator: str, first: int, times: int) -> np.ndarray:
    """The one matrix of times * 2**first steps."""
    return _JUMPS[generator](first, times)
