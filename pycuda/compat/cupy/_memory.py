"""The memory pool of arrays, by CuPy's names."""

from __future__ import annotations

import pycuda.driver as drv
from pycuda.compat.cupy._context import require


class MemoryPool:
    """The pool in which the current context's arrays are (pycuda.tools.default_memory_pool).

    See get_default_memory_pool, which returns it.
    """

    def free_all_blocks(self, stream: drv.Stream | None = None) -> None:
        """Free the blocks that the pool holds.

        Parameters
        ----------
        stream : Stream, optional
            Those of all streams are freed.
        """
        drv.default_memory_pool().free_held()

    def used_bytes(self) -> int:
        """Bytes of the blocks that arrays have, as they were allocated."""
        return self.total_bytes() - self.free_bytes()

    def total_bytes(self) -> int:
        """Bytes that the pool has from the driver."""
        return drv.default_memory_pool().managed_bytes

    def free_bytes(self) -> int:
        """Bytes of the blocks that are free."""
        return drv.default_memory_pool().snapshot().held_bytes

    def n_free_blocks(self) -> int:
        """The number of free blocks."""
        return drv.default_memory_pool().held_blocks


class _PinnedMemoryPool:
    """Page-locked memory is not pooled here: there is nothing to free."""

    def free_all_blocks(self) -> None:
        """Nothing: no block is free."""

    def n_free_blocks(self) -> int:
        """0"""
        return 0


def get_default_memory_pool() -> MemoryPool:
    """The pool of arrays' memory.

    Returns
    -------
    MemoryPool
    """
    require()
    return MemoryPool()


def get_default_pinned_memory_pool() -> _PinnedMemoryPool:
    """A pool without free blocks, since page-locked memory is not pooled by default."""
    return _PinnedMemoryPool()
