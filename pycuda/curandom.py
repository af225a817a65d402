"""Random numbers: rand() and generators with states.

The same seed gives the same numbers, bit by bit, on every device, on every run and for every stream: an
element's number depends on the seed and on its place in the array, never on how a launch is cut up.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from pycuda import _driver
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.random.generators import (
    SEEDS,
    PseudoRandom,
    ScrambledSobol,
    Sobol,
    directions,
    fill_random,
    scramble_constants_array,
    to_gpu,
    unique_seeds,
)
from pycuda._base.public_names import also_named as _also_named
from pycuda._kernels.random import generators as kernels
from pycuda._kernels.random import jumps, md5, sobol
from pycuda._kernels.random.curand_sources import (
    gen_log_template,
    gen_poisson_template,
    gen_template,
    mrg32k3a_random_source,
    mrg32k3a_skip_ahead_sequence_source,
    random_skip_ahead32_source,
    random_skip_ahead64_source,
    random_source,
    scrambledsobol_random_source,
    sobol_random_source,
    xorwow_random_source,
    xorwow_skip_ahead_sequence_source,
)

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from pycuda._driver import _Stream
    from pycuda.gpuarray import GPUArray

__all__ = [
    "MRG32k3aRandomNumberGenerator",
    "Philox4x32_10RandomNumberGenerator",
    "ScrambledSobol32RandomNumberGenerator",
    "ScrambledSobol64RandomNumberGenerator",
    "Sobol32RandomNumberGenerator",
    "Sobol64RandomNumberGenerator",
    "XORWOWRandomNumberGenerator",
    "direction_vector_set",
    "gen_log_template",
    "gen_poisson_template",
    "gen_template",
    "generate_direction_vectors",
    "generate_scramble_constants32",
    "generate_scramble_constants64",
    "get_curand_version",
    "md5_code",
    "mrg32k3a_random_source",
    "mrg32k3a_skip_ahead_sequence_source",
    "rand",
    "random_skip_ahead32_source",
    "random_skip_ahead64_source",
    "random_source",
    "scrambledsobol_random_source",
    "seed_getter_uniform",
    "seed_getter_unique",
    "sobol_random_source",
    "xorwow_random_source",
    "xorwow_skip_ahead_sequence_source",
]


def __dir__() -> list[str]:
    return __all__


_VERSION = 10, 4, 5  # of the cuRAND whose numbers these are


def get_curand_version() -> tuple[int, int, int]:
    """The version of cuRAND that is installed; without one that of the cuRAND whose numbers pycuda gives.

    Returns
    -------
    tuple of int
        Major, minor, revision.
    """
    import ctypes

    library, number = sobol.library(), ctypes.c_int()
    if library is None or library.curandGetVersion(ctypes.byref(number)):
        return _VERSION
    return number.value // 1000, number.value % 1000 // 100, number.value % 100


# ---- seeds


def seed_getter_uniform(n: SupportsIndex) -> GPUArray:
    """The same seed for every generator, drawn from NumPy's global generator.

    Parameters
    ----------
    n : int
        How many generators.

    Returns
    -------
    GPUArray
        Its dtype is int32.
    """
    seeds = np.full(operator.index(n), np.random.randint(0, SEEDS), np.int32)
    return to_gpu(seeds)


def seed_getter_unique(n: SupportsIndex) -> GPUArray:
    """A seed for each generator, drawn from NumPy's global generator.

    Parameters
    ----------
    n : int
        How many generators.

    Returns
    -------
    GPUArray
        Its dtype is int32.
    """
    return unique_seeds(operator.index(n))


# ---- rand


# For kernels of users: declares a, b, c and d, of the thread's place and the names seed, i and n.
md5_code: str = md5.code()


_RAND_KINDS = {np.dtype(np.float16): "Half", np.dtype(np.float32): "Float", np.dtype(np.float64): "Double"}


@takes_arrays
def rand(shape: int | Iterable[int], dtype: DTypeLike = np.float32, stream: _Stream = None) -> GPUArray:
    """An array of random numbers, by Philox 4x32-10.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype
        float16, float32 and float64 are uniform in [0, 1); integers have random bits: their whole range.
    stream : Stream, optional

    Returns
    -------
    GPUArray

    Raises
    ------
    NotImplementedError
        For other dtypes.

    Notes
    -----
    The seed is drawn from NumPy's global generator: numpy.random.seed() before makes the numbers come again.
    The array's bytes are those of one Philox sequence, 16 for each counter. Under capture the seed is drawn
    once: the first launch of the graph gives these bytes, each later one those of another such sequence.
    """
    dtype = np.dtype(dtype)
    kind = "Bits" if dtype.kind in "iu" else _RAND_KINDS.get(dtype)
    if kind is None or not dtype.isnative:
        raise NotImplementedError(f"rand makes integers, float16, float32 and float64, not {dtype}")
    key = np.random.randint(0, 1 << 32, 2, np.uint32).tolist()
    result = _driver.GPUArray(shape, dtype)
    if result.nbytes:
        fill_random(kind, result, key, stream)
    return result


_PSEUDO = """

    Parameters
    ----------
    seed_getter : callable, int or numpy.random.SeedSequence, optional
        A function takes a number and returns a GPUArray of that many int32 seeds, one for each generator: for
        instance `seed_getter_uniform` and `seed_getter_unique`, which is the default. A number, or a sequence
        of NumPy's, gives the same seeds every time.
    offset : int
        Outputs that every generator leaves out.

    Raises
    ------
    TypeError
        When the seeds are not GPUArray, of another dtype or another number.
    ValueError
        For a negative seed, or an offset below 0 or beyond 2**64 - 1.

    Notes
    -----
    There are block_count * generators_per_block = 65536 generators on every device. Generator g gives
    elements 4 g ... 4 g + 3 of an array, then those 4 * 65536 later, and so on; it always draws for four.
    Its outputs are those of cuRAND's device interface after curand_init(seeds[g], g, offset, ...).
    """


class XORWOWRandomNumberGenerator(PseudoRandom):
    __doc__ = "Marsaglia's XORWOW generators, whose sequences are 2**67 outputs long." + _PSEUDO

    state_type = "curandStateXORWOW"
    _name = "xorwow"
    _first_of = {
        kernels.STEPS: 0,
        kernels.SEQUENCES: jumps.XORWOW_SEQUENCE,
        kernels.SUBSEQUENCES: jumps.XORWOW_SEQUENCE,
    }


class MRG32k3aRandomNumberGenerator(PseudoRandom):
    __doc__ = (
        "L'Ecuyer's MRG32k3a generators, whose sequences are 2**127 outputs long, subsequences 2**76;\n"
        "    generator g begins with subsequence g." + _PSEUDO
    )

    state_type = "curandStateMRG32k3a"
    _name = "mrg32k3a"
    _first_of = {
        kernels.STEPS: 0,
        kernels.SEQUENCES: jumps.MRG_SEQUENCE,
        kernels.SUBSEQUENCES: jumps.MRG_SUBSEQUENCE,
    }

    def call_skip_ahead_subsequence(self, i: SupportsIndex, stream: _Stream = None) -> None:
        """Every generator goes on by i subsequences; otherwise as `call_skip_ahead`."""
        self._skip(kernels.SUBSEQUENCES, i, stream)

    @_also_named(i="i_gpu")
    def call_skip_ahead_subsequence_array(self, i_gpu: GPUArray, stream: _Stream = None) -> None:
        """Generator g goes on by i_gpu[g] subsequences; otherwise as `call_skip_ahead_array`."""
        self._skip_array(kernels.SUBSEQUENCES, i_gpu, stream)


class Philox4x32_10RandomNumberGenerator(PseudoRandom):
    __doc__ = "Philox 4x32-10 generators: 2**64 sequences of 2**64 outputs, any of which is near." + _PSEUDO

    state_type = "curandStatePhilox4_32_10"
    _name = "philox"


# ---- quasi-random generators


class direction_vector_set:
    """Which direction vectors `generate_direction_vectors` gives."""

    VECTOR_32 = 101
    SCRAMBLED_VECTOR_32 = 102
    VECTOR_64 = 103
    SCRAMBLED_VECTOR_64 = 104


def generate_direction_vectors(
    count: SupportsIndex, direction: int = direction_vector_set.VECTOR_32
) -> GPUArray:
    """The direction vectors of the first `count` dimensions of Sobol's sequence.

    Parameters
    ----------
    count : int
        They repeat after 20000 dimensions. Beyond 481 dimensions libcurand must be installed.
    direction : int
        One of `direction_vector_set`.

    Returns
    -------
    GPUArray
        (count, 32) of uint32 or (count, 64) of uint64.

    Raises
    ------
    ValueError
        For a negative count or an unknown set.
    RuntimeError
        When libcurand is needed and not installed.

    Notes
    -----
    Plain vectors are those of Joe and Kuo (2008), as in cuRAND. Scrambled ones are theirs after a random
    linear scrambling of pycuda's own, which is the same everywhere; cuRAND's are scrambled otherwise.
    """
    count = _dimensions(count)
    sets = vars(direction_vector_set)
    plain = direction in (sets["VECTOR_32"], sets["VECTOR_64"])
    if not plain and direction not in (sets["SCRAMBLED_VECTOR_32"], sets["SCRAMBLED_VECTOR_64"]):
        raise ValueError(f"direction is {direction!r}: it must be one of direction_vector_set")
    narrow = direction in (sets["VECTOR_32"], sets["SCRAMBLED_VECTOR_32"])
    return directions(count, 32 if narrow else 64, not plain)


def generate_scramble_constants32(count: SupportsIndex) -> GPUArray:
    """The constants that are added, modulo 2, to the numbers of a scrambled sequence's dimensions.

    Parameters
    ----------
    count : int
        They repeat after 20000 dimensions.

    Returns
    -------
    GPUArray
        (count,) of uint32.
    """
    return scramble_constants_array(_dimensions(count), 32)


def generate_scramble_constants64(count: SupportsIndex) -> GPUArray:
    """The same as generate_scramble_constants32, with results of uint64."""
    return scramble_constants_array(_dimensions(count), 64)


def _dimensions(count: SupportsIndex) -> int:
    count = operator.index(count)
    if count < 0:
        raise ValueError(f"count is {count}: it must be 0 or more")
    return count


_QUASI = """

    Parameters
    ----------
    dir_vector : GPUArray, optional
        The direction vectors, a row for each generator; by default `generate_direction_vectors`.{more}
    offset : int
        Numbers that every dimension leaves out.

    Raises
    ------
    TypeError
        When an array is not a GPUArray, or of another dtype or shape.
    ValueError
        For an offset below 0 or beyond 2**64 - 1.

    Notes
    -----
    There are block_count * generators_per_block = 256 generators on every device, each of one dimension.
    Element e of an array is of dimension e % 256: a (points, 256) array has a point in each row. The numbers
    are those of cuRAND's device interface for the same vectors and offset.
    """
_SCRAMBLE = """
    scramble_vector : GPUArray, optional
        A constant for each generator; by default `generate_scramble_constants32` or 64."""


class Sobol32RandomNumberGenerator(Sobol):
    __doc__ = "Quasi-random numbers: Sobol's sequence in 32 bits." + _QUASI.format(more="")

    state_type = "curandStateSobol32"


class ScrambledSobol32RandomNumberGenerator(ScrambledSobol):
    __doc__ = "Quasi-random numbers: a scrambled Sobol sequence in 32 bits." + _QUASI.format(more=_SCRAMBLE)

    state_type = "curandStateScrambledSobol32"


class Sobol64RandomNumberGenerator(Sobol):
    __doc__ = "Quasi-random numbers: Sobol's sequence in 64 bits." + _QUASI.format(more="")

    state_type = "curandStateSobol64"
    generator_bits = 64
    _name = "sobol64"


class ScrambledSobol64RandomNumberGenerator(ScrambledSobol):
    __doc__ = "Quasi-random numbers: a scrambled Sobol sequence in 64 bits." + _QUASI.format(more=_SCRAMBLE)

    state_type = "curandStateScrambledSobol64"
    generator_bits = 64
    _name = "sobol64"
