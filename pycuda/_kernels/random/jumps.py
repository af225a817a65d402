"""Jumps ahead in a generator's sequence: powers of the matrix of one step, which skip the steps between.

They are computed by squaring when first requested, and kept.
"""

from __future__ import annotations

import functools

import numpy as np

# Logarithms (base 2) of the steps between sequences, and between subsequences, as in cuRAND.
XORWOW_SEQUENCE = 67
MRG_SUBSEQUENCE, MRG_SEQUENCE = 76, 127


# ---- XORWOW: a state has 160 bits, in five words; row i of a matrix is the image of bit i


def _xorwow_step(v: np.ndarray) -> np.ndarray:
    """States after one step."""
    t = v[:, 0] ^ (v[:, 0] >> np.uint32(2))
    last = v[:, 4] ^ (v[:, 4] << np.uint32(4)) ^ t ^ (t << np.uint32(1))
    return np.column_stack([v[:, 1:], last])


def _identity_matrix() -> np.ndarray:
    """The matrix of 0 steps."""
    return np.packbits(np.eye(160, dtype=np.uint8), axis=1, bitorder="little").view("<u4").astype(np.uint32)


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The matrix of the steps of a, then those of b: row i of the result is the sum (XOR) of the rows of b
    that the bits of row i of a select.

    For each eight neighboring rows of b, their 256 sums are made first, so that a byte of a selects one of
    them.
    """
    rows = b.reshape(20, 8, 5)
    sums = np.zeros((20, 256, 5), np.uint32)
    for bit in range(8):
        half = 1 << bit
        sums[:, half : 2 * half] = sums[:, :half] ^ rows[:, bit : bit + 1]
    picked = sums[np.arange(20), a.astype("<u4").view(np.uint8)]
    return np.bitwise_xor.reduce(picked, axis=1)


@functools.cache
def _xorwow_power(exponent: int) -> np.ndarray:
    """The matrix of 2**exponent steps."""
    if exponent == 0:
        return _xorwow_step(_identity_matrix())
    half = _xorwow_power(exponent - 1)
    return _product(half, half)


def _xorwow_powers(first: int, count: int) -> np.ndarray:
    """For each hexadecimal digit of a number n of `count` bits, the matrices of 1 ... 15 times 2**first times
    the digit's place value, one after another."""
    for exponent in range(first):  # in this order each is made from the one before, without deep recursion
        _xorwow_power(exponent)
    matrices = []
    for digit in range(first, first + count, 4):
        multiples = [_xorwow_power(digit)]
        for _ in range(14):
            multiples.append(_product(multiples[-1], multiples[0]))
        matrices += multiples
        for exponent in range(digit, digit + 4):
            _xorwow_power(exponent)
    return np.concatenate(matrices).ravel()


def _xorwow_jump(first: int, times: int) -> np.ndarray:
    """The matrix of 2**first * times steps of the generator, in the form that kernels read."""
    matrix = _identity_matrix()
    for exponent in range(first):
        _xorwow_power(exponent)
    for k in range(times.bit_length()):
        if times >> k & 1:
            matrix = _product(matrix, _xorwow_power(first + k))
    return matrix.ravel()


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
    """Pairs of matrices as kernels read them: row by row, the elements modulo m1 and m2."""
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
    """The pair of matrices of 2**first * times steps of the generator, in the form that kernels read."""
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
