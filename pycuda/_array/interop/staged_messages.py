"""The host memory of a GPUArray in a message: what is copied to it before, and from it after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pycuda import _driver


class Buffer:
    """Page-locked memory in place of an array, in the order of its memory.

    loads: MPI reads it. stores: MPI writes it. counted: how much MPI writes is in the status.
    """

    def __init__(self, array: Any, pool: Any, loads: bool, stores: bool, counted: bool) -> None:
        if not array.flags.forc:
            raise BufferError("the array of a message must be contiguous, in C or Fortran order")
        if stores and not array.flags.writeable:
            raise BufferError("the array of a message that is received is read-only")
        self._flat = (array if array.flags.c_contiguous else array.T).reshape(-1)
        self._loads, self._stores, self._counted = loads, stores, counted
        self._host = pool.allocate(self._flat.shape, array.dtype)

    def message(self) -> np.ndarray:
        """What mpi4py gets in place of the array. Types that it does not know are bytes."""
        unknown = self._host.dtype.kind == "V" and self._host.dtype.names is None
        return self._host.view(np.uint8) if unknown else self._host

    def load(self) -> None:
        """Copies from the array, after the work that is queued on it, and waits."""
        if self._loads and self._flat.size:
            self._flat.get(ary=self._host)

    def store(self, status: Any) -> None:
        """Copies to the array what has arrived. status: of mpi4py, None if all has."""
        if not self._stores:
            return
        count = self._flat.size
        if self._counted and status is not None:
            from mpi4py import MPI

            count = min(count, status.Get_count(MPI.BYTE) // self._flat.dtype.itemsize)
        if count > 0:
            self._flat[:count].set(self._host[:count])


def buffer_of(
    message: Any, pool: Callable[[], Any], loads: bool, stores: bool, counted: bool, filled: bool
) -> tuple[Any, Buffer | None]:
    """(what mpi4py gets, the Buffer) for the argument of a method; (message, None) without a GPUArray.

    An array that MPI fills is not read before; any other that is written is, so that elements which MPI
    leaves as they are keep their values: filled says whether the method fills an array that is given without
    counts, counted that the status says how far.
    """
    listed = isinstance(message, list | tuple) and len(message) > 0
    array = message[0] if listed else message
    if not isinstance(array, _driver._GPUArrayBase):
        return message, None
    if not loads and not stores:
        return None, None
    loads = loads or (stores and (listed or not (filled or counted)))
    buffer = Buffer(array, pool(), loads, stores, counted and not listed)
    return ([buffer.message(), *message[1:]] if listed else buffer.message()), buffer
