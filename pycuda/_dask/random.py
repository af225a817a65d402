"""Random numbers for `da.random`: what dask looks for at the top of the package that a bit generator's class
is of, `pycuda.random`, with the numbers of pycuda.numpy.random."""

from __future__ import annotations

from numpy.random import SeedSequence


class BitGenerator:
    """Stands for Philox, as a bit generator of NumPy's does: dask makes one for each chunk.

    Parameters
    ----------
    seed : int, sequence of int or SeedSequence, optional
    """

    def __init__(self, seed=None):
        self._seed_seq = seed if isinstance(seed, SeedSequence) else SeedSequence(seed)

    def __dask_tokenize__(self):
        state = self._seed_seq.state
        return "pycuda.random.BitGenerator", *sorted((name, repr(state[name])) for name in state)


def default_rng(seed=None):
    """pycuda.numpy.random.default_rng, also of a BitGenerator."""
    from pycuda.numpy import random

    return random.default_rng(seed._seed_seq if isinstance(seed, BitGenerator) else seed)


# What RandomState's methods are called in Generator, where it has them by another name.
_OF_GENERATOR = {"random_sample": "random", "randint": "integers"}


class RandomState:
    """The methods of numpy.random.RandomState which Generator has, for `da.random.normal` and others.

    Parameters
    ----------
    seed : int or sequence of int, optional
    """

    def __init__(self, seed=None):
        self._generator = default_rng(seed)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._generator, _OF_GENERATOR.get(name, name))
