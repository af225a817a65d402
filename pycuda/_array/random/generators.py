"""Generators of random numbers: what pycuda.curandom's classes do with arrays, streams and their states."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from pycuda import _driver
from pycuda._array.core import captures
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import on_device
from pycuda._base.driver_extras import LEGACY_DEFAULT_STREAM
from pycuda._base.public_names import documented_init
from pycuda._driver import Function, Module, _check_writable
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.random import generators as kernels
from pycuda._kernels.random import jumps, sobol

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from pycuda._driver import _Stream
    from pycuda.gpuarray import GPUArray


def to_gpu(array: np.ndarray[Any, Any]) -> GPUArray:
    """A copy in device memory."""
    return on_device(array)


def _c_order_copy(array: GPUArray) -> GPUArray:
    """A copy in C order."""
    return apply("copy", array, out=_driver.GPUArray(array.shape, array.dtype))


def fill_random(kind: str, data: GPUArray, key: list[int], stream: _Stream) -> None:
    """What curandom.rand does. A graph counts its launches in a word on the device, so that each fills the
    array with other numbers.
    """
    grid = -(-data.nbytes // kernels.RAND_TILE), 1
    block = kernels.RAND_THREADS, 1, 1
    if not captures.is_captured(stream):
        kernels.rand(kind).prepared_async_call(grid, block, stream, data, data.nbytes, *key)
        return
    launches = to_gpu(np.zeros(1, np.uint32))
    kernels.rand_round(kind).prepared_async_call(grid, block, stream, data, data.nbytes, *key, launches)
    apply("add", launches, np.uint32(1), out=launches, stream=stream)


SEEDS = (1 << 31) - 1  # seeds are from 0 to SEEDS - 1


def unique_seeds(count: int) -> GPUArray:
    """Seeds drawn from NumPy's global generator."""
    return to_gpu(np.random.randint(0, SEEDS, count).astype(np.int32))


def directions(count: int, bits: int, scrambled: bool) -> GPUArray:
    """The direction vectors of `count` dimensions: a row for each."""
    vectors = sobol.scrambled_vectors(count) if scrambled else sobol.vectors(count)
    if bits == 32:
        vectors = (vectors[:, :32] >> np.uint64(32)).astype(np.uint32)
    return to_gpu(vectors)


def scramble_constants_array(count: int, bits: int) -> GPUArray:
    """The constants of `count` dimensions."""
    constants = sobol.scramble_constants(count)
    return to_gpu((constants >> np.uint64(32)).astype(np.uint32) if bits == 32 else constants)


# ---- what all generators have in common


_FLOATS = {np.dtype(np.float32), np.dtype(np.float64)}
_BITS32 = {np.dtype(np.int32), np.dtype(np.uint32)}
_BITS64 = {np.dtype(np.int64), np.dtype(np.uint64)}
_COUNTS = _FLOATS | {np.dtype(np.uint32)}
# Gives the name of the kernel for a dtype; None if there is none.
_Choice = Callable[[np.dtype[Any]], "str | None"]


def _checked_count(i: SupportsIndex) -> int:
    """How many numbers, or sequences, to skip. ValueError unless it is 0 to 2**64 - 1."""
    number = operator.index(i)
    if not 0 <= number < 1 << 64:
        raise ValueError(f"cannot skip {number} numbers: it must be 0 to 2**64 - 1")
    return number


class CurandGenerator:
    """Methods that fill arrays; subclasses implement _launch()."""

    #: There are block_count * generators_per_block generators.
    block_count = 0
    #: See `block_count`.
    generators_per_block = 0
    #: Bits of a number: 32 or 64.
    generator_bits = 32
    #: cuRAND's name for the state of a generator.
    state_type = ""
    #: Whether normal numbers are made two at a time, by the Box-Muller transform.
    has_box_muller = False

    def __init__(self) -> None:
        self._last: Any = _driver.current_stream()

    # ---- filling

    def fill_raw(self, data: GPUArray, stream: _Stream = None) -> None:
        """Fill an array with the generator's outputs as they are: random bits, as `fill_uniform` does for
        integer dtypes.

        Parameters
        ----------
        data : GPUArray
            Its dtype is int32 or uint32, and with the 64-bit Sobol generators int64 or uint64.
        stream : Stream, optional

        Raises
        ------
        NotImplementedError
            For other dtypes.
        """
        self._fill(self._raw, data, stream)

    def gen_raw(
        self, shape: int | Iterable[int], dtype: DTypeLike | None = None, stream: _Stream = None
    ) -> GPUArray:
        """A new array of the generator's outputs; dtypes as for `fill_raw`, by default unsigned ones."""
        dtype = np.dtype(f"u{self.generator_bits // 8}") if dtype is None else dtype
        return self._generate(self._raw, shape, dtype, stream)

    def fill_uniform(self, data: GPUArray, stream: _Stream = None) -> None:
        """Fill an array with uniformly distributed numbers.

        Parameters
        ----------
        data : GPUArray
            float32 and float64 get numbers in (0, 1]; int32 and uint32, and with the 64-bit Sobol generators
            int64 and uint64, get random bits.
        stream : Stream, optional

        Raises
        ------
        NotImplementedError
            For other dtypes.
        """
        self._fill(self._uniform, data, stream)

    def gen_uniform(self, shape: int | Iterable[int], dtype: DTypeLike, stream: _Stream = None) -> GPUArray:
        """A new array of uniformly distributed numbers; dtypes as for `fill_uniform`."""
        return self._generate(self._uniform, shape, dtype, stream)

    def fill_normal(self, data: GPUArray, stream: _Stream = None) -> None:
        """Fill an array with normally distributed numbers of mean 0 and standard deviation 1.

        Parameters
        ----------
        data : GPUArray
            Its dtype is float32 or float64.
        stream : Stream, optional

        Raises
        ------
        NotImplementedError
            For other dtypes.
        """
        self._fill(self._normal, data, stream)

    def gen_normal(self, shape: int | Iterable[int], dtype: DTypeLike, stream: _Stream = None) -> GPUArray:
        """A new array of normally distributed numbers; dtypes as for `fill_normal`."""
        return self._generate(self._normal, shape, dtype, stream)

    def fill_log_normal(self, data: GPUArray, mean: float, stddev: float, stream: _Stream = None) -> None:
        """Fill an array with numbers whose logarithms are normally distributed.

        Parameters
        ----------
        data : GPUArray
            Its dtype is float32 or float64.
        mean, stddev : float
            Of the logarithms.
        stream : Stream, optional

        Raises
        ------
        NotImplementedError
            For other dtypes.
        """
        self._fill(self._log_normal, data, stream, float(mean), float(stddev))

    def gen_log_normal(
        self, shape: int | Iterable[int], dtype: DTypeLike, mean: float, stddev: float, stream: _Stream = None
    ) -> GPUArray:
        """A new array of numbers whose logarithms are normally distributed, as for `fill_log_normal`."""
        return self._generate(self._log_normal, shape, dtype, stream, float(mean), float(stddev))

    def fill_poisson(self, data: GPUArray, lambda_value: float | None = None, stream: _Stream = None) -> None:
        """Fill an array with Poisson-distributed counts.

        Parameters
        ----------
        data : GPUArray
            Its dtype is uint32, float32 or float64.
        lambda_value : float, optional
            The mean. Without it each element is the mean of its own count, which replaces it.
        stream : Stream, optional

        Raises
        ------
        NotImplementedError
            For other dtypes.
        ValueError
            For a mean that is negative or not finite. If it is an element of `data` the count is 0.
        """
        if lambda_value is None:
            self._fill(self._poisson_each, data, stream)
        else:
            self._fill(self._poisson, data, stream, self._mean(lambda_value))

    def gen_poisson(
        self, shape: int | Iterable[int], dtype: DTypeLike, lambda_value: float, stream: _Stream = None
    ) -> GPUArray:
        """A new array of Poisson-distributed counts, as for `fill_poisson`."""
        return self._generate(self._poisson, shape, dtype, stream, self._mean(lambda_value))

    # ---- kernels by dtype

    @staticmethod
    def _mean(value: float) -> float:
        value = float(value)
        if not 0 <= value < float("inf"):
            raise ValueError(f"lambda_value is {value}: it must be finite and 0 or more")
        return value

    def _raw(self, dtype: np.dtype[Any]) -> str | None:
        return "Raw" if dtype in _BITS32 or (self.generator_bits == 64 and dtype in _BITS64) else None

    def _uniform(self, dtype: np.dtype[Any]) -> str | None:
        return "Uniform" if dtype in _FLOATS else self._raw(dtype)

    @staticmethod
    def _normal(dtype: np.dtype[Any]) -> str | None:
        return "Normal" if dtype in _FLOATS else None

    @staticmethod
    def _log_normal(dtype: np.dtype[Any]) -> str | None:
        return "LogNormal" if dtype in _FLOATS else None

    @staticmethod
    def _poisson(dtype: np.dtype[Any]) -> str | None:
        return "Poisson" if dtype in _COUNTS else None

    @staticmethod
    def _poisson_each(dtype: np.dtype[Any]) -> str | None:
        return "PoissonEach" if dtype in _COUNTS else None

    def _distribution(self, choose: _Choice, dtype: np.dtype[Any]) -> str:
        name = choose(dtype)
        if name is None or not dtype.isnative:
            raise NotImplementedError(f"{type(self).__name__} does not support such numbers of dtype {dtype}")
        return name

    # ---- arrays

    @takes_arrays
    def _generate(
        self, choose: _Choice, shape: int | Iterable[int], dtype: DTypeLike, stream: _Stream,
        a: float = 0.0, b: float = 0.0,
    ) -> GPUArray:  # fmt: skip
        """A new array of numbers of the distribution that `choose` names; a, b: its parameters."""
        dtype = np.dtype(dtype)
        name = self._distribution(choose, dtype)
        result = _driver.GPUArray(shape, dtype)
        self._run(name, result, stream, a, b)
        return result

    @takes_arrays
    def _fill(self, choose: _Choice, data: GPUArray, stream: _Stream, a: float = 0.0, b: float = 0.0) -> None:
        """Fills the array with numbers of the distribution that `choose` names; a, b: its parameters. One
        that is not packed is filled through a packed copy.
        """
        if not isinstance(data, _driver.GPUArray):
            raise TypeError(f"data must be a GPUArray, not {type(data).__name__}")
        name = self._distribution(choose, data.dtype)
        _check_writable(data)
        if data.flags.forc:
            self._run(name, data, stream, a, b)
            return
        packed = _driver.GPUArray(data.shape, data.dtype)
        if name == "PoissonEach":
            apply("copy", data, out=packed, stream=stream)
        self._run(name, packed, stream, a, b)
        apply("copy", packed, out=data, stream=stream)

    def _run(self, name: str, data: GPUArray, stream: _Stream, a: float, b: float) -> None:
        if data.size:
            self._launch(name, data, self._in_order(stream), a, b)

    def _in_order(self, stream: _Stream) -> _Stream:
        """The stream for the next launch, None being the current one. It is made to wait for the stream that
        changed the states last, if that is another one.

        A captured stream is not made to wait: as for arrays, the program has to launch the graph after that
        work.
        """
        stream = _driver.current_stream() if stream is None else stream
        last = self._last
        if last is not stream and not (isinstance(stream, _driver.Stream) and stream.is_capturing):
            self._last = stream
            if isinstance(stream, _driver.Stream):
                last = LEGACY_DEFAULT_STREAM if last is None else last
                stream.wait_for_event(captures.last_work(last))
            elif isinstance(last, _driver.Stream):
                last.synchronize()
            else:
                _driver.Context.synchronize()
        return stream

    def _launch(self, name: str, data: GPUArray, stream: _Stream, a: float, b: float) -> None:
        """Fills the packed array and advances the states by what it took."""
        raise NotImplementedError

    # ---- jumps

    def _skip(self, kind: int, i: SupportsIndex, stream: _Stream) -> None:
        """Every generator skips i steps of this kind: STEPS, SEQUENCES or SUBSEQUENCES of the kernels."""
        raise NotImplementedError

    def _skip_array(self, kind: int, i: GPUArray, stream: _Stream) -> None:
        """Generator g skips i[g] steps of this kind."""
        raise NotImplementedError

    def call_skip_ahead(self, i: SupportsIndex, stream: _Stream = None) -> None:
        """Every generator (of Sobol's sequence: dimension) leaves out i outputs.

        Parameters
        ----------
        i : int
        stream : Stream, optional

        Raises
        ------
        ValueError
            For less than 0, or 2**64 and more.
        """
        self._skip(kernels.STEPS, i, stream)

    def call_skip_ahead_array(self, i_gpu: GPUArray, stream: _Stream = None) -> None:
        """Generator g leaves out i_gpu[g] outputs.

        Parameters
        ----------
        i_gpu : GPUArray
            Of integers, which count modulo 2**64: one for each of the block_count * generators_per_block
            generators.
        stream : Stream, optional

        Raises
        ------
        TypeError
            For anything but a GPUArray of integers.
        ValueError
            For another number of them.
        """
        self._skip_array(kernels.STEPS, i_gpu, stream)

    # ---- what PyCUDA's object shows

    @classmethod
    def _count(cls) -> int:
        return cls.block_count * cls.generators_per_block

    @property
    def generators(self) -> dict[str, Function]:
        """The kernels, by the names that PyCUDA has for them."""
        names = {"uniform_int": ("Raw", np.uint32), "uniform_float": ("Uniform", np.float32),
                 "uniform_double": ("Uniform", np.float64), "normal_float": ("Normal", np.float32),
                 "normal_double": ("Normal", np.float64), "normal_log_float": ("LogNormal", np.float32),
                 "normal_log_double": ("LogNormal", np.float64)}  # fmt: skip
        if self.generator_bits == 64:
            names["uniform_long"] = "Raw", np.uint64
        return {key: self._function(name, np.dtype(dtype)) for key, (name, dtype) in names.items()}

    def _function(self, name: str, dtype: np.dtype[Any]) -> Function:
        raise NotImplementedError

    def _checked_counts(self, i: GPUArray) -> GPUArray:
        """The array itself, which says how many steps each generator skips. TypeError or ValueError if it
        does not fit.
        """
        if not isinstance(i, _driver.GPUArray) or i.dtype.kind not in "iu":
            raise TypeError("the offsets of the generators must be a GPUArray of integers")
        if i.size != self._count():
            raise ValueError(f"there are {self._count()} generators: {i.size} offsets do not match")
        return i

    @takes_arrays
    def _packed_counts(self, i_gpu: GPUArray, stream: _Stream) -> GPUArray:
        """A packed copy of the counts, as uint64."""
        packed = _driver.GPUArray(i_gpu.shape, np.uint64)
        return apply("copy", i_gpu, out=packed, stream=stream, casting="unsafe")


# ---- pseudo-random generators


@context_dependent_memoize
def _powers(generator: str, first: int, count: int) -> GPUArray:
    """The matrices of jumps.powers(), on the device."""
    return to_gpu(jumps.powers(generator, first, count))


SeedGetter = Callable[[int], _driver.GPUArray]
Seed = SupportsIndex | np.random.SeedSequence


def _seeds_from(seed: Seed) -> SeedGetter:
    """The function that makes a seed for each of `count` generators of one seed."""
    try:
        sequence = (
            seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(operator.index(seed))
        )
    except TypeError:
        raise TypeError(
            "seed_getter must be a function that takes a count and returns a GPUArray of that many seeds, an "
            f"integer, or a numpy.random.SeedSequence, not {type(seed).__name__}"
        ) from None
    return lambda count: to_gpu((sequence.generate_state(count) >> np.uint32(1)).astype(np.int32))


_MAX_GRID_Y = 65535  # CUDA's limit of a grid's second length


@documented_init
class PseudoRandom(CurandGenerator):
    """Many generators of one kind, generator g at the beginning of sequence g."""

    block_count = kernels.BLOCKS
    generators_per_block = kernels.THREADS
    has_box_muller = True
    _name = ""
    # For each kind of step the exponent of its matrix, the base-2 logarithm of its length. It is empty for a
    # generator whose state at any place is computed without matrices.
    _first_of: dict[int, int] = {}

    def __init__(self, seed_getter: SeedGetter | Seed | None = None, offset: SupportsIndex = 0) -> None:
        super().__init__()
        self._offset = _checked_count(offset)
        count = self._count()
        if seed_getter is not None and not callable(seed_getter):
            seed_getter = _seeds_from(seed_getter)
        seeds = (unique_seeds if seed_getter is None else seed_getter)(count)
        if not isinstance(seeds, _driver.GPUArray) or seeds.dtype != np.int32 or seeds.size != count:
            raise TypeError(f"seed_getter({count}) must return a GPUArray of {count} elements of int32")
        # A copy: the states are made when they are first needed, before which the caller may change its
        # array.
        self._seeds = seeds if seed_getter is None else _c_order_copy(seeds)
        self._states = _driver.GPUArray((kernels.STATE_WORDS, count), np.uint32)
        self._ready = 0  # how many generators have states

    @property
    def state(self) -> GPUArray:
        """The states: a row for each word, a column for each generator."""
        self._prepare(self._count(), self._in_order(None))
        return self._states

    @property
    def module(self) -> Module:
        """The module with the kernels that make states and change them."""
        return kernels.states(self._name)["module"]

    def _function(self, name: str, dtype: np.dtype[Any]) -> Function:
        return kernels.fill(self._name, name, dtype)

    def _prepare(self, count: int, stream: _Stream) -> None:
        """Make the states of the first `count` generators, and of some more, unless they are made. Under
        capture they are made at once, and are no part of the graph.
        """
        if count <= self._ready:
            return
        if captures.is_captured(stream):
            captures.in_own_stream(stream, self._prepare, count, None)
            return
        last = min(self._count(), 1 << (count - 1).bit_length())
        by_sequence: Any = 0
        by_offset: Any = 0
        bits = 64
        if self._first_of:
            bits = self._count().bit_length() - 1
            by_sequence = _powers(self._name, self._first_of[kernels.SUBSEQUENCES], bits)
            if self._offset:
                by_offset = to_gpu(jumps.jump(self._name, 0, self._offset))
        blocks = -(-(last - self._ready) // kernels.THREADS)
        kernels.states(self._name)["prepare"].prepared_async_call(
            (blocks, 1), (kernels.THREADS, 1, 1), stream, self._states, self._seeds, self._ready, last,
            by_sequence, bits, by_offset, self._offset,
        )  # fmt: skip
        self._ready = last

    def _launch(self, name: str, data: GPUArray, stream: _Stream, a: float, b: float) -> None:
        """Fills the packed array and advances the sequence by what it took."""
        function = self._function(name, data.dtype)
        groups = -(-data.size // 4)  # a generator makes 4 numbers in a round
        count = min(groups, self._count())
        self._prepare(count, stream)
        rounds = -(-groups // count)
        if not self._first_of:
            # Several blocks may share a generator, each at its own place of the sequence: fewer rounds in
            # each.
            wanted = kernels.ROUNDS.get(name, kernels.MORE_ROUNDS)
            rounds = min(rounds, max(wanted, -(-rounds // _MAX_GRID_Y)))
        grid = -(-count // kernels.THREADS), -(-groups // (count * rounds))
        block = kernels.THREADS, 1, 1
        function.prepared_async_call(grid, block, stream, self._states, data, data.size, rounds, a, b)
        if grid[1] > 1:
            words = kernels.group_words(name, data.dtype)
            advance = kernels.states(self._name)["advance"]
            advance.prepared_async_call((grid[0], 1), block, stream, self._states, data.size, words)

    # ---- jumps

    def _skip(self, kind: int, i: SupportsIndex, stream: _Stream) -> None:
        count = _checked_count(i)
        stream = self._in_order(stream)
        self._prepare(self._count(), stream)
        matrix = to_gpu(jumps.jump(self._name, self._first_of[kind], count)) if self._first_of else 0
        self._skip_by(matrix, 0, count, kind, stream)

    def _skip_array(self, kind: int, i: GPUArray, stream: _Stream) -> None:
        counts = self._checked_counts(i)
        stream = self._in_order(stream)
        self._prepare(self._count(), stream)
        matrices = _powers(self._name, self._first_of[kind], 64) if self._first_of else 0
        self._skip_by(matrices, self._packed_counts(counts, stream), 0, kind, stream)

    def _skip_by(
        self, matrices: GPUArray | int, counts: GPUArray | int, count: int, kind: int, stream: _Stream
    ) -> None:
        """Skip in each generator's sequence, counts[g] steps or, if `counts` is 0, `count` steps. matrices:
        those of jumps.powers() or, if `counts` is 0, the one of the whole skip; 0 for generators without
        matrices.
        """
        kernels.states(self._name)["skip"].prepared_async_call(
            (self.block_count, 1),
            (kernels.THREADS, 1, 1),
            stream,
            self._states,
            matrices,
            counts,
            count,
            kind,
        )

    def call_skip_ahead_sequence(self, i: SupportsIndex, stream: _Stream = None) -> None:
        """Every generator goes on by i sequences; otherwise as `call_skip_ahead`."""
        self._skip(kernels.SEQUENCES, i, stream)

    def call_skip_ahead_sequence_array(self, i_gpu: GPUArray, stream: _Stream = None) -> None:
        """Generator g goes on by i_gpu[g] sequences; otherwise as `call_skip_ahead_array`."""
        self._skip_array(kernels.SEQUENCES, i_gpu, stream)


# ---- quasi-random generators


@documented_init
class Sobol(CurandGenerator):
    """Sobol's sequence: generator g makes the coordinates of its points in dimension g."""

    block_count = 2
    generators_per_block = kernels.DIMENSIONS // 2
    _name = "sobol32"
    _scrambled = False

    def __init__(self, dir_vector: GPUArray | None = None, offset: SupportsIndex = 0) -> None:
        super().__init__()
        word = np.dtype(f"u{self.generator_bits // 8}")
        count = self._count()
        if dir_vector is None:
            dir_vector = directions(count, self.generator_bits, self._scrambled)
        self._check("dir_vector", dir_vector, word, (count, self.generator_bits))
        first = _checked_count(offset)
        self._directions = _c_order_copy(dir_vector.T)  # a kernel reads the same vector of four dimensions
        self._indices = to_gpu(np.full(count, first, np.uint64))
        self._scramble: Any = 0

    @staticmethod
    def _check(name: str, array: GPUArray, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        if not isinstance(array, _driver.GPUArray) or array.dtype != dtype or array.shape != shape:
            raise TypeError(f"{name} must be a GPUArray of {dtype} and shape {shape}")

    @property
    def state(self) -> GPUArray:
        """The index of each dimension's next number."""
        self._in_order(None)
        return self._indices

    @property
    def module(self) -> Module:
        """The module with the kernels that change states."""
        return kernels.indices()["module"]

    def _function(self, name: str, dtype: np.dtype[Any]) -> Function:
        return kernels.fill_sobol(self._name, name, dtype)

    def _launch(self, name: str, data: GPUArray, stream: _Stream, a: float, b: float) -> None:
        function = self._function(name, data.dtype)
        points = min(-(-data.size // kernels.DIMENSIONS), kernels.SOBOL_POINTS)
        grid = -(-points * (kernels.DIMENSIONS // 4) // kernels.THREADS), 1
        function.prepared_async_call(
            grid, (kernels.THREADS, 1, 1), stream, self._indices, self._directions, self._scramble, data,
            data.size, a, b,
        )  # fmt: skip
        self._change("advance", stream, data.size)

    def _change(self, kernel: str, stream: _Stream, *arguments: GPUArray | int) -> None:
        """Launch a kernel, "advance" or "skip", that changes the index of each dimension."""
        function = kernels.indices()[kernel]
        block = kernels.DIMENSIONS, 1, 1
        function.prepared_async_call((1, 1), block, stream, self._indices, *arguments)

    def _skip(self, kind: int, i: SupportsIndex, stream: _Stream) -> None:
        self._change("skip", self._in_order(stream), 0, _checked_count(i))

    def _skip_array(self, kind: int, i: GPUArray, stream: _Stream) -> None:
        counts = self._checked_counts(i)
        stream = self._in_order(stream)
        self._change("skip", stream, self._packed_counts(counts, stream), 0)


@documented_init
class ScrambledSobol(Sobol):
    """Sobol's sequence with a constant for each dimension, to which the bits of its numbers are added modulo
    2.
    """

    _scrambled = True

    def __init__(
        self,
        dir_vector: GPUArray | None = None,
        scramble_vector: GPUArray | None = None,
        offset: SupportsIndex = 0,
    ) -> None:
        super().__init__(dir_vector, offset)
        count = self._count()
        if scramble_vector is None:
            scramble_vector = scramble_constants_array(count, self.generator_bits)
        else:
            self._check("scramble_vector", scramble_vector, self._directions.dtype, (count,))
            scramble_vector = _c_order_copy(scramble_vector)
        self._scramble = scramble_vector
