"""Functions of NVIDIA's libraries, made from rows of a table: on a GPU they call the library, on the CPU
device a function of the same name of a module that computes on its memory by NumPy and SciPy.

A row is a line of text::

    cublas?gemm   S D C Z   transa transb m n k alpha* A lda B ldb beta* C ldc

the name, the type letters that replace the question mark, and the parameters after the handle. What a
parameter is, its name says (_ENUMERATIONS, _INTEGERS; all others are addresses). `name*` is a number of the
function's dtype, passed by reference, `name*r` a real one. `=index`, `=int`, `=value`, `=real` are what the
library writes and the function returns (an index is counted from 0, a value is of the function's dtype).
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import inspect
import itertools
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from cuda.pathfinder import load_nvidia_dynamic_lib

import pycuda.driver as drv
from pycuda import _driver
from pycuda._libraries import finding, host
from pycuda.gpuarray import GPUArray

# By the letters in a function's name; Sc, Dz: complex numbers of which real ones are returned, Cs, Zd: scaled
# by real ones, I: of which an index is returned.
_DTYPES = {
    **dict.fromkeys(("S", "Is"), np.float32),
    **dict.fromkeys(("D", "Id"), np.float64),
    **dict.fromkeys(("C", "Sc", "Cs", "Ic"), np.complex64),
    **dict.fromkeys(("Z", "Dz", "Zd", "Iz"), np.complex128),
}
_REAL = {np.float32: np.float32, np.complex64: np.float32, np.float64: np.float64, np.complex128: np.float64}

# Parameters that are enumerations, and what their letters are to the library.
_OPERATION = {"n": 0, "t": 1, "c": 2}
_LAPACK = {each: ord(each.upper()) for each in "asno"}
_ENUMERATIONS = {
    **dict.fromkeys(("trans", "transa", "transb"), _OPERATION),
    **dict.fromkeys(("jobu", "jobvt"), _LAPACK),
    "uplo": {"l": 0, "u": 1},
    "diag": {"n": 0, "u": 1},
    "side": {"l": 0, "r": 1},
    "jobz": {"n": 0, "v": 1},
}
# What NVIDIA's header calls them.
_LONG_NAMES = {"cusolver_eig_mode_novector": "n", "cusolver_eig_mode_vector": "v"}
_INTEGERS = frozenset(
    "m n k kl ku lda ldb ldc ldu ldvt incx incy nrhs lwork batchCount batchSize nx ny nz fft_type batch "
    "direction".split()
)


# Handles of the CPU device.
_numbers = itertools.count(1)


class _StreamNumber(NamedTuple):
    """A stream of which the number is known, for calls that take streams."""

    number: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.number


class Handle(int):
    """A handle of a library: the number that the library knows it by. It remembers its stream."""

    stream: Any = None
    destroyed = False

    @property
    def stream_number(self) -> int:
        return 0 if self.stream is None else self.stream.__cuda_stream__()[1]

    def use(self, stream) -> None:
        """Queue on this stream, a number or a Stream, from now on."""
        if stream is not None and not hasattr(stream, "__cuda_stream__"):
            stream = _StreamNumber(int(stream)) if int(stream) else None
        self.stream = stream


@contextlib.contextmanager
def queued_on(stream) -> Iterator[None]:
    """Functions of arrays queue on this stream meanwhile. One that is known by its number is waited for."""
    if stream is None or isinstance(stream, drv.Stream):
        with stream or contextlib.nullcontext():
            yield
    else:
        drv.Event().record(stream).synchronize()
        yield
        drv.Event().record(drv.current_stream()).synchronize()


@contextlib.contextmanager
def memory_in_use(stream, memory) -> Iterator[None]:
    """A library queues work on the stream meanwhile that uses this memory, which lives until it is done."""
    owners = tuple(each for each in memory if not isinstance(each, int | np.ndarray | None))
    is_number = isinstance(stream, _StreamNumber)  # of a stream whose end is not known
    if owners and not is_number:
        _driver._library_uses(stream, owners)
    yield
    if owners and is_number:
        _driver._launch_host_func(stream, _nothing, *owners)


def _nothing(*arguments) -> None:
    """For its arguments, which are dropped after it."""


def address_of(value) -> int:
    """The address of what a caller gives for device memory."""
    if value is None:
        return 0
    if isinstance(value, np.ndarray):  # where the library wants host memory
        return value.ctypes.data
    return value.ptr if isinstance(value, GPUArray) else int(value)


def letter(name: str, value) -> str:
    """The small letter of a parameter that is an enumeration, for which its number may stand."""
    letters = _ENUMERATIONS[name]
    text = value.decode() if isinstance(value, bytes) else value
    if isinstance(text, str):
        text = _LONG_NAMES.get(text.lower(), text.lower())
    else:
        text = next((each for each, number in letters.items() if number == value), "")
    if text not in letters:
        raise ValueError(f"{name} is {value!r}, must be one of {', '.join(letters)}")
    return text


class Parameter(NamedTuple):
    name: str
    kind: str  # "enumeration", "integer", "address", "number", "real number", "result"


def _parameter(text: str) -> Parameter:
    if text.startswith("="):
        return Parameter(text[1:], "result")
    name, star, real = text.partition("*")
    if star:
        return Parameter(name, "real number" if real else "number")
    if name in _ENUMERATIONS:
        return Parameter(name, "enumeration")
    return Parameter(name, "integer" if name in _INTEGERS else "address")


class Row(NamedTuple):
    """A function: its name, that without type letters, and what the library's function takes."""

    name: str
    family: str
    dtype: type
    parameters: tuple[Parameter, ...]

    @property
    def given(self) -> list[Parameter]:
        """The parameters that a caller gives."""
        return [each for each in self.parameters if each.kind != "result"]

    @property
    def result(self) -> str | None:
        """What is returned."""
        return next((each.name for each in self.parameters if each.kind == "result"), None)


def rows(table: str) -> Iterator[Row]:
    """The functions of a table of rows."""
    for line in filter(None, map(str.strip, table.splitlines())):
        pattern, *words = line.split()
        count = next((i for i, word in enumerate(words) if word not in _DTYPES), len(words))
        parameters = tuple(map(_parameter, words[count:]))
        family = pattern.partition("?")[2]
        for letters in words[:count]:
            yield Row(pattern.replace("?", letters), family, _DTYPES[letters], parameters)


class Library:
    """One of NVIDIA's libraries: its exceptions by status, and the module that stands in for it on the CPU
    device.
    """

    def __init__(self, name: str, errors: dict[int, type[Exception]], stand_in: str):
        self.name = name
        self.errors = errors
        self._stand_in = stand_in

    @functools.cached_property
    def _loaded(self) -> ctypes.CDLL:
        finding.need(self.name)
        return ctypes.CDLL(load_nvidia_dynamic_lib(self.name).abs_path)

    @functools.cached_property
    def stand_in(self) -> ModuleType:
        return importlib.import_module(self._stand_in)

    def check(self, status: int) -> None:
        """Raise the exception of a status that is not success."""
        if status:
            raise self.errors.get(status, self.errors[-1])(f"{self.name} returned status {status}")

    def symbol(self, name: str) -> Callable[..., int]:
        """The library's function; its second version, if there is one, which takes a handle first."""
        loaded = self._loaded
        for each in f"{name}_v2", name:
            if hasattr(loaded, each):
                return getattr(loaded, each)
        raise NotImplementedError(f"lib{self.name} has no {name}: it is in another version of CUDA")

    def call(self, name: str, *arguments) -> None:
        """Call a function with arguments that ctypes takes."""
        self.check(self.symbol(name)(*arguments))

    def create(self, name: str) -> Handle:
        """A handle, made by the function of this name; on the CPU device any number."""
        if host.is_possible():
            return Handle(next(_numbers))
        value = ctypes.c_void_p()
        self.call(name, ctypes.byref(value))
        return Handle(value.value or 0)

    def valid(self, handle) -> Handle:
        """The handle; the exception for one that is not initialized if there is no such handle any more."""
        if not isinstance(handle, Handle) and not host.is_possible():  # another program's
            return Handle(handle)
        if getattr(handle, "destroyed", True):
            self.check(1)
        return handle

    def destroy(self, name: str, handle) -> None:
        """Release a handle by the function of this name."""
        self.valid(handle)
        if not host.is_possible():
            self.call(name, ctypes.c_void_p(handle))
        handle.destroyed = True

    def set_stream(self, name: str, handle, stream) -> None:
        """Set the stream of a handle by the function of this name."""
        self.valid(handle).use(stream)
        if not host.is_possible():
            self.call(name, ctypes.c_void_p(handle), ctypes.c_void_p(handle.stream_number))

    def functions(self, table: str) -> dict[str, Function]:
        """The functions of a table's rows, by name."""
        return {row.name: Function(self, row) for row in rows(table)}


class Function:
    """A function of a library, which takes a handle first."""

    def __init__(self, library: Library, row: Row):
        self._library = library
        self._row = row
        self._given = row.given
        self._result = row.result
        self.__name__ = self.__qualname__ = row.name
        self.__doc__ = f"NVIDIA's function of this name ({library.name})."
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        names = ("handle", *(each.name for each in self._given))
        self.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])

    def __repr__(self) -> str:
        return f"<{self.__name__}{self.__signature__}>"

    def __call__(self, *arguments, **keywords):
        if keywords or len(arguments) != len(self._given) + 1:
            arguments = self.__signature__.bind(*arguments, **keywords).args
        handle, *values = arguments
        handle = self._library.valid(handle)
        return self._on_host(handle, values) if host.is_possible() else self._on_gpu(handle, values)

    # ---- on a GPU

    @functools.cached_property
    def _symbol(self) -> Callable[..., int]:
        return self._library.symbol(self.__name__)

    def _number(self, kind: str, value) -> np.ndarray:
        """A number in host memory, of the dtype that its kind says."""
        dtype = self._row.dtype
        dtypes = {"number": dtype, "value": dtype, "real number": _REAL[dtype], "real": _REAL[dtype]}
        return np.array([value], dtypes.get(kind, np.int32))

    def _on_gpu(self, handle, values):
        words, memory, numbers = [], [], []
        given, result = iter(values), None
        for name, kind in self._row.parameters:
            if kind == "enumeration":
                words.append(ctypes.c_int(_ENUMERATIONS[name][letter(name, next(given))]))
            elif kind == "integer":
                words.append(ctypes.c_int(int(next(given))))
            elif kind == "address":
                memory.append(next(given))
                words.append(ctypes.c_void_p(address_of(memory[-1])))
            else:
                number = self._number(name, 0) if kind == "result" else self._number(kind, next(given))
                result = number if kind == "result" else result
                numbers.append(number)
                words.append(ctypes.c_void_p(number.ctypes.data))
        with memory_in_use(handle.stream, memory):
            self._library.check(self._symbol(ctypes.c_void_p(handle), *words))
        return None if result is None else result[0].item() - (self._result == "index")

    # ---- on the CPU device

    def _on_host(self, handle, values):
        function = getattr(self._library.stand_in, self._row.family, None)
        if function is None:
            raise NotImplementedError(
                f"{self.__name__} is not there on the CPU device; use NumPy's functions with GPUArrays, "
                "skcuda.linalg or pycuda.linalg"
            )
        arguments = [
            letter(name, value) if kind == "enumeration" else int(value) if kind == "integer" else value
            for (name, kind), value in zip(self._given, values, strict=True)
        ]
        inputs, outputs, compute = function(Memory(self._library, self._row), *arguments)
        results: list[Any] = []
        with queued_on(handle.stream):
            host.queue(lambda *views: results.append(compute(*views)), inputs, outputs)
            if self._result is None:
                return None
            drv.Event().record(drv.current_stream()).synchronize()
        return results[0]


def array_at(memory, shape, strides, dtype) -> GPUArray:
    """An array of device memory, which is its address or owns it; strides in elements."""
    if 0 in shape:
        return GPUArray(shape, dtype)
    itemsize = np.dtype(dtype).itemsize
    owner = memory.gpudata if isinstance(memory, GPUArray) else memory
    return GPUArray(shape, dtype, gpudata=owner, strides=tuple(each * itemsize for each in strides))


class Memory:
    """Device memory of the dtype of a function, as arrays with BLAS's layouts."""

    def __init__(self, library: Library, row: Row):
        self.library = library
        self.dtype, self.real = np.dtype(row.dtype), np.dtype(_REAL[row.dtype])

    def need(self, condition: bool) -> None:
        """Raise the library's exception for an invalid value unless the condition holds."""
        if not condition:
            self.library.check(self.library.stand_in.INVALID_VALUE)

    def array(self, memory, shape, strides, dtype=None) -> GPUArray:
        """An array at an address; strides in elements."""
        self.need(min(shape) >= 0)
        self.need(0 in shape or address_of(memory) != 0)
        return array_at(memory, shape, strides, dtype or self.dtype)

    def matrix(self, memory, rows: int, columns: int, leading: int, dtype=None) -> GPUArray:
        """A matrix that lies there column by column."""
        self.need(leading >= max(rows, 1))
        return self.array(memory, (rows, columns), (1, leading), dtype)

    def vector(self, memory, count: int, step: int = 1, dtype=None) -> GPUArray:
        """A vector; with a negative step its first element is the last one there."""
        if step < 0 and count > 1:
            memory = address_of(memory) - (count - 1) * step * np.dtype(dtype or self.dtype).itemsize
        return self.array(memory, (max(count, 0),), (step,), dtype)

    def pointers(self, memory, count: int) -> list[int]:
        """The addresses in an array of them, as they are now."""
        return self.vector(memory, count, 1, np.uint64).get().tolist()
