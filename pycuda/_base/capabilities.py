"""Limits of a multiprocessor by compute capability: from the CUDA programming guide, and units of allocation
from NVIDIA's occupancy calculator."""

from __future__ import annotations

from collections import namedtuple

Multiprocessor = namedtuple(
    "Multiprocessor", "warps blocks registers block_registers shared block_shared shared_unit reserved parts"
)
Multiprocessor.__doc__ = """What a multiprocessor has, and what a block can get of it.

warps, blocks : int
    The maximum number that it runs at a time.
registers, block_registers : int
    Registers of 32 bits: all, and the maximum of one block.
shared, block_shared : int
    Bytes of shared memory: all, and the maximum of one block, which has to request more than 48 KiB.
shared_unit, reserved : int
    A block gets a multiple of so many bytes of shared memory; of these the system uses so many.
parts : int
    The number of schedulers: each has an equal part of the registers, and each warp belongs to one.
"""


def _multiprocessor(
    warps: int, blocks: int, shared: int, block_shared: int, *,
    registers: int = 64, block_registers: int = 64, parts: int = 4, new: bool = False,
) -> Multiprocessor:  # fmt: skip
    """A row of CAPABILITIES. Registers and bytes are in units of 1024; new: compute capability 8.0 and
    later.
    """
    return Multiprocessor(
        warps,
        blocks,
        registers << 10,
        block_registers << 10,
        shared << 10,
        block_shared << 10,
        128 if new else 256,
        1024 if new else 0,
        parts,
    )


CAPABILITIES = {
    (3, 0): _multiprocessor(64, 16, 48, 48),
    (3, 2): _multiprocessor(64, 16, 48, 48),
    (3, 5): _multiprocessor(64, 16, 48, 48),
    (3, 7): _multiprocessor(64, 16, 112, 48, registers=128),
    (5, 0): _multiprocessor(64, 32, 64, 48),
    (5, 2): _multiprocessor(64, 32, 96, 48),
    (5, 3): _multiprocessor(64, 32, 64, 48, block_registers=32),
    (6, 0): _multiprocessor(64, 32, 64, 48, parts=2),
    (6, 1): _multiprocessor(64, 32, 96, 48),
    (6, 2): _multiprocessor(64, 32, 64, 48, block_registers=32),
    (7, 0): _multiprocessor(64, 32, 96, 96),
    (7, 2): _multiprocessor(64, 32, 96, 96),
    (7, 5): _multiprocessor(32, 16, 64, 64),
    (8, 0): _multiprocessor(64, 32, 164, 163, new=True),
    (8, 6): _multiprocessor(48, 16, 100, 99, new=True),
    (8, 7): _multiprocessor(48, 16, 164, 163, new=True),
    (8, 9): _multiprocessor(48, 24, 100, 99, new=True),
    (9, 0): _multiprocessor(64, 32, 228, 227, new=True),
    (10, 0): _multiprocessor(64, 32, 228, 227, new=True),
    (10, 1): _multiprocessor(48, 24, 228, 227, new=True),
    (10, 3): _multiprocessor(64, 32, 228, 227, new=True),
    (11, 0): _multiprocessor(48, 24, 228, 227, new=True),
    (12, 0): _multiprocessor(48, 24, 100, 99, new=True),
    (12, 1): _multiprocessor(48, 24, 100, 99, new=True),
}


def multiprocessor(capability: tuple[int, int]) -> Multiprocessor:
    """The row of a compute capability, or of the last one before it.

    Parameters
    ----------
    capability : (int, int)

    Returns
    -------
    Multiprocessor
    """
    known = [each for each in CAPABILITIES if each <= tuple(capability)]
    return CAPABILITIES[max(known) if known else min(CAPABILITIES)]
