"""Functions of NVIDIA's libraries, made from the rows of a table (_rows.py): on a GPU they call the library,
on the CPU device a function of a module that computes on its memory by NumPy and SciPy.
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
from ._rows import ENUMERATIONS, REAL, Row, letter, rows
from ._streams import memory_in_use, queued_on, stream_of

# Handles of the CPU device.
_numbers = itertools.count(1)


class Handle(int):
    """A handle of a library: the number that the library knows it by. It remembers its stream."""

    stream: Any = None
    destroyed = False

    @property
    def stream_number(self) -> int:
        return 0 if self.stream is None else self.stream.__cuda_stream__()[1]


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

    def invalid_value(self) -> None:
        """Raise the library's exception for a parameter with a value that it does not take."""
        self.check(self.stand_in.INVALID_VALUE)

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
        self.valid(handle).stream = stream_of(stream)
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
        dtypes = {"number": dtype, "value": dtype, "real number": REAL[dtype], "real": REAL[dtype]}
        return np.array([value], dtypes.get(kind, np.int32))

    def _on_gpu(self, handle, values):
        words, memory, numbers = [], [], []
        given, result = iter(values), None
        for name, kind in self._row.parameters:
            if kind == "enumeration":
                words.append(ctypes.c_int(ENUMERATIONS[name][letter(name, next(given))]))
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

    def _argument(self, parameter, value):
        """As a function of the stand-in takes it."""
        name, kind = parameter
        if kind == "address":
            return value
        if kind == "enumeration":
            return letter(name, value)
        return int(value) if kind == "integer" else self._number(kind, value)[0]

    def _on_host(self, handle, values):
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
