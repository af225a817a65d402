"""What a memory pool has at one time: its blocks, and their picture in text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from pycuda._base.public_names import documented_init

if TYPE_CHECKING:
    from pycuda._driver import MemoryPool


class PoolBlock(NamedTuple):
    """A block of a memory pool.

    Attributes
    ----------
    address : int
    size : int
        Bytes that were requested; 0 while the block is held.
    capacity : int
        Bytes as allocated.
    bin : int
        The number of its bin: a held block is used for the next request of its bin.
    active : bool
        In use, or held for the next request.
    stream : int or None
        The handle of the stream after whose work it is used again; 0 is the default stream. None: it is used
        again after an event.
    """

    address: int
    size: int
    capacity: int
    bin: int
    active: bool
    stream: int | None


_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def size_text(size: int) -> str:
    """A size for readers.

    Parameters
    ----------
    size : int

    Returns
    -------
    str
        As in "1.5 GiB".
    """
    unit, value = 0, float(size)
    while value >= 1024 and unit + 1 < len(_UNITS):
        unit, value = unit + 1, value / 1024
    return f"{value:.1f} {_UNITS[unit]}" if unit else f"{size} bytes"


@documented_init
class PoolSnapshot:
    """The blocks of a memory pool as they were when it was taken; print() shows them bin by bin.

    Parameters
    ----------
    pool : str
        The kind of the pool.
    blocks : list of PoolBlock
    limit : int
        None is no limit.
    """

    def __init__(self, pool: str, blocks: list[PoolBlock], limit: int | None = None) -> None:
        self.pool, self.blocks, self.limit = pool, blocks, limit

    @property
    def active(self) -> list[PoolBlock]:
        """The blocks in use."""
        return [block for block in self.blocks if block.active]

    @property
    def held(self) -> list[PoolBlock]:
        """The blocks that wait for reuse."""
        return [block for block in self.blocks if not block.active]

    @property
    def managed_bytes(self) -> int:
        """Bytes of all blocks, as they were allocated."""
        return sum(block.capacity for block in self.blocks)

    @property
    def active_bytes(self) -> int:
        """Bytes in use, as they were requested."""
        return sum(block.size for block in self.blocks)

    @property
    def held_bytes(self) -> int:
        """Bytes that wait for reuse."""
        return sum(block.capacity for block in self.held)

    def bins(self) -> list[tuple[int, int, int, int]]:
        """The blocks of each bin, in the order of their sizes.

        Returns
        -------
        list of (bin, capacity, active, held)
            The largest block's bytes, and how many blocks are in use and held.
        """
        capacity: dict[int, int] = {}
        active: Counter[int] = Counter()
        held: Counter[int] = Counter()
        for block in self.blocks:
            capacity[block.bin] = max(capacity.get(block.bin, 0), block.capacity)
            (active if block.active else held)[block.bin] += 1
        return [(number, capacity[number], active[number], held[number]) for number in sorted(capacity)]

    def __str__(self) -> str:
        lines = [
            f"{self.pool}: {size_text(self.managed_bytes)} in {len(self.blocks)} blocks"
            + (f", of at most {size_text(self.limit)}" if self.limit else ""),
            f"  in use  {len(self.active):6}  {size_text(self.active_bytes):>12}",
            f"  held    {len(self.held):6}  {size_text(self.held_bytes):>12}",
        ]
        if self.blocks:
            lines.append("     bin   blocks up to   in use     held")
            lines += [f"  {n:6}   {size_text(capacity):>12} {a:8} {h:8}" for n, capacity, a, h in self.bins()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<PoolSnapshot of {len(self.blocks)} blocks>"


def take(pool: MemoryPool, blocks: Iterable[tuple[Any, ...]]) -> PoolSnapshot:
    """Make the result of MemoryPool.snapshot(), which calls this from C."""
    return PoolSnapshot(type(pool).__name__, [PoolBlock(*block) for block in blocks], pool.limit)
