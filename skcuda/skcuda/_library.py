"""Functions of NVIDIA's libraries, made from the rows of a table (_rows.py): on a GPU they call the library,
on the CPU device a function of the library's stand-in, a module that computes with NumPy and SciPy.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import inspect
import itertools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from cuda.pathfinder import load_nvidia_dynamic_lib

import pycuda.driver as drv
from pycuda._libraries import finding, host

from ._memory import Memory, address_of
from ._rows import REAL, FunctionRow, letter, number_of, rows
from ._streams import MemoryInUse, queued_on, stream_of

_C_TYPES = {
    np.float32: ctypes.c_float,
    np.float64: ctypes.c_double,
    np.complex64: ctypes.c_float * 2,
    np.complex128: ctypes.c_double * 2,
}

# The numbers of handles on the CPU device.
_numbers = itertools.count(1)


class Handle(int):
    """A handle of a library: the number that the library knows it by. It remembers its stream."""

    stream: Any = None
    destroyed = False

    @property
    def stream_number(self) -> int:
        """The CUstream of its stream; 0 is the default stream."""
        return 0 if self.stream is None else self.stream.__cuda_stream__()[1]


def _reference(c_type, number):
    """A pointer to a copy of the number in host memory, for ctypes; a complex number is an array of two."""
    if issubclass(c_type, ctypes.Array):
        number = complex(number)
        return ctypes.byref(c_type(number.real, number.imag))
    return ctypes.byref(c_type(number))


class Library:
    """One of NVIDIA's libraries.

    Parameters
    ----------
    name : str
        Of the library, without "lib".
    errors : dict
        Its exceptions by status; -1 is for a status without one.
    stand_in : str
        The name of the module that computes on the CPU device.
    """

    # The status for an invalid handle, of cuBLAS, cuFFT and cuSOLVER alike.
    INVALID_HANDLE = 1

    def __init__(self, name: str, errors: dict[int, type[Exception]], stand_in: str):
        self.name = name
        self.errors = errors
        self._stand_in = stand_in

    @functools.cached_property
    def _loaded(self) -> ctypes.CDLL:
        finding.require(self.name)
        return ctypes.CDLL(load_nvidia_dynamic_lib(self.name).abs_path)

    @functools.cached_property
    def stand_in(self) -> ModuleType:
        return importlib.import_module(self._stand_in)

    def invalid_value(self) -> None:
        """Raise the library's exception for a parameter with a value that it does not take."""
        self.check(self.stand_in.INVALID_VALUE)

    def check(self, status: int) -> None:
        """Raise the exception of a status that is not success."""
        if status:
            raise self.errors.get(status, self.errors[-1])(f"{self.name} returned status {status}")

    def symbol(self, name: str) -> Callable[..., int]:
        """The library's function: its second version (name_v2), if there is one."""
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
        """The handle as a Handle. Raises the library's exception if it was destroyed. A plain number is taken
        on a GPU, where another package may have made it, and refused on the CPU device.
        """
        if not isinstance(handle, Handle) and not host.is_possible():
            return Handle(handle)
        if getattr(handle, "destroyed", True):
            self.check(self.INVALID_HANDLE)
        return handle

    def destroy(self, name: str, handle) -> None:
        """Release a handle by the function of this name."""
        self.valid(handle)
        if not host.is_possible():
            self.call(name, ctypes.c_void_p(handle))
        handle.destroyed = True

    def set_stream(self, name: str, handle, stream) -> None:
        """Set the stream of a handle by the function of this name."""
        self.valid(handle).stream = stream_of(stream)
        if not host.is_possible():
            self.call(name, ctypes.c_void_p(handle), ctypes.c_void_p(handle.stream_number))

    def functions(self, table: str) -> dict[str, LibraryFunction]:
        """The functions of a table's rows, by name."""
        return {row.name: LibraryFunction(self, row) for row in rows(table)}


class LibraryFunction:
    """A function of a library, which takes a handle first."""

    def __init__(self, library: Library, row: FunctionRow):
        self._library = library
        self._row = row
        self._given = row.given
        self._result = row.result
        self._addresses = [i for i, each in enumerate(self._given) if each.kind == "address"]
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
        symbol = self._library.symbol(self.__name__)
        is_int = [each.kind in ("integer", "enumeration") for each in self._row.parameters]
        symbol.argtypes = [ctypes.c_void_p, *(ctypes.c_int if each else ctypes.c_void_p for each in is_int)]
        return symbol

    @functools.cached_property
    def _converters(self) -> list[Callable[[Any], Any]]:
        """For each parameter that a caller gives, the function that makes ctypes' argument of its value."""
        own, real = (_C_TYPES[each] for each in (self._row.dtype, REAL[self._row.dtype]))
        of_kind = {
            "integer": int,
            "address": address_of,
            "number": functools.partial(_reference, own),
            "real number": functools.partial(_reference, real),
        }
        return [of_kind.get(kind) or functools.partial(number_of, name) for name, kind in self._given]

    @functools.cached_property
    def _returned(self) -> tuple[int, Any] | None:
        """(place, C type) of the parameter through which the library returns a result; None if
        there is none.
        """
        for place, (name, kind) in enumerate(self._row.parameters):
            if kind == "result":
                types = {"value": self._row.dtype, "real": REAL[self._row.dtype]}
                return place, _C_TYPES[types[name]] if name in types else ctypes.c_int
        return None

    def _on_gpu(self, handle, values):
        """Call the library; returns its result, or None if the function has none."""
        words = [convert(value) for convert, value in zip(self._converters, values, strict=True)]
        if self._returned is not None:
            place, c_type = self._returned
            result = c_type()
            words.insert(place, ctypes.byref(result))
        with MemoryInUse(handle.stream, [values[place] for place in self._addresses]):
            self._library.check(self._symbol(handle, *words))
        if self._returned is None:
            return None
        if isinstance(result, ctypes.Array):
            return complex(*result)
        if self._result == "index":  # the library counts from 1
            return result.value - 1
        return result.value

    # ---- on the CPU device

    def _argument(self, parameter, value):
        """The value as a function of the stand-in takes it: an address as given, an enumeration as a letter,
        a number as a NumPy scalar of the function's dtype.
        """
        name, kind = parameter
        if kind == "address":
            return value
        if kind == "enumeration":
            return letter(name, value)
        if kind == "integer":
            return int(value)
        return np.array(value, self._row.dtype if kind == "number" else REAL[self._row.dtype])[()]

    def _on_host(self, handle, values):
        """Queue the stand-in's function on the handle's stream, and wait for it only if it has a result."""
        function = getattr(self._library.stand_in, self._row.family)
        row = self._row
        memory = Memory(row.dtype, REAL[row.dtype], self._library.invalid_value)
        inputs, outputs, compute = function(memory, *map(self._argument, self._given, values))
        results: list[Any] = []
        with queued_on(handle.stream):
            host.queue(lambda *views: results.append(compute(*views)), inputs, outputs)
            if self._result is None:
                return None
            drv.Event().record(drv.current_stream()).synchronize()
        return results[0]
