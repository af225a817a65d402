"""What dask names a GPUArray by: a hash of its elements, computed on the device.

Two sums of mixed words, modulo 2**64, with another seed each. The mixing of a word depends on its place, and
the order of a sum does not change it: the hash is the same on every device, for every grid. Accidental
collisions are as rare as 128 random bits make them; it is no defence against those that are made on purpose.
"""

from __future__ import annotations

import functools

import numpy as np

from pycuda._array.interop.dask.registration import register_if_dask_is_loaded

_SEEDS = 0x243F6A8885A308D3, 0x13198A2E03707344  # of pi
_WORD = 8  # bytes

# The finalizer of splitmix64, a bijection whose result changes in half of its bits with each bit.
_MIXED = """
__device__ unsigned long long pycuda_mixed(unsigned long long x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}
"""


@functools.cache
def _sum_of_mixed_words():
    from pycuda.reduction import ReductionKernel

    return ReductionKernel(
        np.uint64,
        neutral="0",
        reduce_expr="a + b",
        map_expr="pycuda_mixed(pycuda_mixed(i ^ seed) ^ words[i])",
        arguments="const unsigned long long *words, unsigned long long seed",
        name="dask_token",
        preamble=_MIXED,
    )


def _in_c_order(array):
    """The array itself, or a copy, whose elements follow each other in C order from an aligned address."""
    if array.flags.c_contiguous and array.ptr % _WORD == 0:
        return array
    return array.copy(order="C")


def content_hash(array) -> tuple[int, int, bytes]:
    """Hash of the bytes of the elements in C order: two sums of all whole words, and the bytes after them."""
    if not array.size:
        return 0, 0, b""
    array = _in_c_order(array)
    count, rest = divmod(array.nbytes, _WORD)
    octets = array.reshape(-1).view(np.uint8)
    words = octets[: count * _WORD].view(np.uint64)
    kernel = _sum_of_mixed_words()
    sums = [kernel(words, np.uint64(seed)) for seed in _SEEDS] if count else []
    tail = octets[count * _WORD :].get().tobytes() if rest else b""
    first, second = (int(each.get()) for each in sums) if count else (0, 0)
    return first, second, tail


def token(array):
    """array.__dask_tokenize__()"""
    register_if_dask_is_loaded()
    return "pycuda.GPUArray", array.dtype.str, repr(array.dtype), array.shape, *content_hash(array)
