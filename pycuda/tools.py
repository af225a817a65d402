"""Memory pools, contexts, caches that follow them, what a device allows, and C types of arguments."""

from __future__ import annotations

import functools
import math
import operator
import sys
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, ParamSpec, TextIO, TypeVar

import pycuda.driver as drv
from pycuda._base.pool_snapshot import PoolBlock as PoolBlock
from pycuda._base.pool_snapshot import PoolSnapshot as PoolSnapshot
from pycuda._base.public_names import documented_init as _documented_init
from pycuda._base.public_names import name_public_module as _name_public_module
from pycuda._compile.target import default_ordinal
from pycuda._kernels.plans.caches import clear_context_caches as clear_context_caches
from pycuda._kernels.plans.caches import context_dependent_memoize as context_dependent_memoize
from pycuda._kernels.plans.caches import (
    context_dependent_memoized_functions as context_dependent_memoized_functions,
)
from pycuda._kernels.user.c_types import Argument as Argument
from pycuda._kernels.user.c_types import ScalarArg as ScalarArg
from pycuda._kernels.user.c_types import VectorArg as VectorArg
from pycuda._kernels.user.c_types import dtype_to_ctype as dtype_to_ctype
from pycuda._kernels.user.c_types import get_arg_type as get_arg_type
from pycuda._kernels.user.c_types import parse_c_arg as parse_c_arg
from pycuda.compyte import dtypes as _dtypes

if TYPE_CHECKING:
    from pycuda._driver import _Stream

_P = ParamSpec("_P")
_R = TypeVar("_R")

get_or_register_dtype = _dtypes.get_or_register_dtype
register_dtype = _dtypes.register_dtype

MemoryPool = drv.MemoryPool
DeviceMemoryPool = drv.DeviceMemoryPool
ManagedMemoryPool = drv.ManagedMemoryPool
StreamOrderedMemoryPool = drv.StreamOrderedMemoryPool
ExternalMemoryPool = drv.ExternalMemoryPool
default_memory_pool = drv.default_memory_pool
set_default_memory_pool = drv.set_default_memory_pool
PooledDeviceAllocation = drv.PooledDeviceAllocation
PageLockedAllocator = drv.PageLockedAllocator
PageLockedMemoryPool = drv.PageLockedMemoryPool
PooledHostAllocation = drv.PooledHostAllocation
bitlog2 = drv.bitlog2

# ---- memory pools


@_documented_init
class DebugMemoryPool(DeviceMemoryPool):
    """A DeviceMemoryPool that prints where each allocation was requested, and the memory in
    use then.

    Parameters
    ----------
    interactive : bool
        Wait for the Return key after each allocation.
    logfile : file
        By default the standard output.
    """

    def __init__(self, interactive: bool = True, logfile: TextIO | None = None) -> None:
        super().__init__()
        self.interactive = interactive
        self.logfile = sys.stdout if logfile is None else logfile
        self._origins: weakref.WeakKeyDictionary[PooledDeviceAllocation, str] = weakref.WeakKeyDictionary()

    def allocate(self, size: int, stream: _Stream = None) -> PooledDeviceAllocation:
        """Allocate device memory for use on a stream, and print it.

        Parameters
        ----------
        size : int
            Bytes.
        stream : Stream

        Returns
        -------
        PooledDeviceAllocation
        """
        caller = sys._getframe(1)
        origin = f"{caller.f_code.co_name} ({caller.f_code.co_filename}:{caller.f_lineno})"
        counts = Counter((len(block), where) for block, where in self._origins.items())
        print(f"[pool] {size} bytes for {origin}; in use:", file=self.logfile)
        for (used, where), count in sorted(counts.items(), reverse=True):
            print(f"    {count} x {used} bytes for {where}", file=self.logfile)
        block = super().allocate(size, stream)
        self._origins[block] = origin
        if self.interactive:
            input("[pool] press Return to continue: ")
        return block


def set_allocator(allocator: Any = None) -> None:
    """Set the allocator of the current context's arrays, used where no other is given.

    Existing arrays keep their memory. ``default_memory_pool()`` returns the pool that is made of it.

    Parameters
    ----------
    allocator : object
        A memory pool of the current context; a callable that takes a number of bytes; an object with
        ``allocate(nbytes, stream)``, like the memory resources of RMM and cuda.core (see
        ExternalMemoryPool). With None, a new DeviceMemoryPool is used, as it is by default.
    """
    owner = getattr(allocator, "__self__", None)
    if isinstance(owner, DeviceMemoryPool) and allocator == owner.allocate:
        allocator = owner
    plain = isinstance(allocator, DeviceMemoryPool) and type(allocator).allocate is DeviceMemoryPool.allocate
    if allocator is None or plain:
        set_default_memory_pool(allocator)
    else:
        set_default_memory_pool(ExternalMemoryPool(allocator))


# ---- contexts


def _first_working(make: Callable[[drv.Device], drv.Context]) -> drv.Context:
    """make(device) of the first device for which it works. RuntimeError if there is none."""
    problem = None
    for number in range(drv.Device.count()):
        try:
            return make(drv.Device(number))
        except drv.Error as error:
            problem = error
    raise RuntimeError(f"no context could be made on any device: {problem}") from problem


def make_default_context(ctx_maker: Callable[[drv.Device], drv.Context] | None = None) -> drv.Context:
    """Make a context on the device that CUDA_DEVICE or ~/.cuda_device names, else on the
    first that allows it.

    pycuda.driver.init() must have been called.

    Parameters
    ----------
    ctx_maker : callable
        ctx_maker(device) makes it; None is device.make_context().

    Returns
    -------
    Context

    Raises
    ------
    RuntimeError
        No device works.
    """
    make = ctx_maker or (lambda device: device.make_context())
    number = default_ordinal()
    return make(drv.Device(number)) if number is not None else _first_working(make)


def get_default_device(default: int = 0) -> drv.Device:
    """Deprecated: make_default_context also tries other devices.

    Parameters
    ----------
    default : int

    Returns
    -------
    Device
    """
    warnings.warn(
        "get_default_device() is deprecated, use make_default_context()", DeprecationWarning, stacklevel=2
    )
    number = default_ordinal()
    return drv.Device(default if number is None else number)


# ---- tests


def init_cuda_context_fixture() -> Generator[drv.Context, None, None]:
    """Generator for a pytest fixture: a default context around one test."""
    import gc

    drv.init()
    context = make_default_context()
    try:
        yield context
    finally:
        context.pop()
        clear_context_caches()
        del context
        gc.collect()


def mark_cuda_test(f: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorator of a test: run it in a default context, with the pytest mark ``cuda`` where
    pytest is there.

    Parameters
    ----------
    f : callable

    Returns
    -------
    callable
    """

    @functools.wraps(f)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        fixture = init_cuda_context_fixture()
        next(fixture)
        try:
            return f(*args, **kwargs)
        finally:
            fixture.close()

    try:
        import pytest
    except ImportError:
        return wrapper
    with warnings.catch_warnings():
        # The project need not know the mark, nor when warnings are errors or with --strict-markers.
        warnings.simplefilter("ignore", pytest.PytestUnknownMarkWarning)
        try:
            return pytest.mark.cuda(wrapper)
        except pytest.fail.Exception:
            return wrapper


# ---- what a device allows


def _attribute(device: drv.Device, name: str, default: int) -> int:
    """An attribute of the device; the default where the driver does not know it."""
    try:
        return device.get_attribute(getattr(drv.device_attribute, name))
    except (AttributeError, drv.Error):
        return default


@_documented_init
class DeviceData:
    """Limits of a device, for hand-made launch shapes.

    Parameters
    ----------
    dev : Device or (int, int)
        None is the current one; a compute capability stands for any device of it.
    """

    def __init__(self, dev: drv.Device | tuple[int, int] | None = None) -> None:
        from pycuda._base.capabilities import multiprocessor

        dev = drv.Context.get_device() if dev is None else dev
        device = dev if isinstance(dev, drv.Device) else None
        row = multiprocessor(dev.compute_capability() if isinstance(dev, drv.Device) else dev)

        def ask(name: str, default: int) -> int:
            return default if device is None else _attribute(device, name, default)

        self.max_threads = ask("MAX_THREADS_PER_BLOCK", 1024)
        self.warp_size = ask("WARP_SIZE", 32)
        self.warps_per_mp = ask("MAX_THREADS_PER_MULTIPROCESSOR", row.warps * 32) // self.warp_size
        self.thread_blocks_per_mp = ask("MAX_BLOCKS_PER_MULTIPROCESSOR", row.blocks)
        self.registers = ask("MAX_REGISTERS_PER_BLOCK", row.block_registers)
        self.registers_per_mp = ask("MAX_REGISTERS_PER_MULTIPROCESSOR", row.registers)
        self.max_registers_per_thread = 255
        self.register_allocation_unit = "warp"
        self.register_granularity = 256
        self.register_partitions: int = row.parts
        self.shared_memory = ask("MAX_SHARED_MEMORY_PER_BLOCK", 49152)
        self.shared_memory_optin = ask("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", row.block_shared)
        self.shared_memory_per_mp = ask("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR", row.shared)
        self.shared_memory_reserved = ask("RESERVED_SHARED_MEMORY_PER_BLOCK", row.reserved)
        self.smem_alloc_granularity: int = row.shared_unit
        self.smem_granularity = 32

    def align(self, bytes: int, word_size: int = 4) -> int:
        """Round up to what one coalesced access covers.

        Parameters
        ----------
        bytes : int
        word_size : int
            Bytes of a word.

        Returns
        -------
        int
            Bytes.
        """
        unit = self.align_bytes(word_size)
        return -(-bytes // unit) * unit

    def align_dtype(self, elements: int, dtype_size: int) -> int:
        """Round elements up so that a row ends at a coalesced access.

        Parameters
        ----------
        elements : int
        dtype_size : int
            Bytes of an element.

        Returns
        -------
        int
            Elements.
        """
        return self.align(elements * dtype_size, dtype_size) // dtype_size

    def align_words(self, word_size: int) -> int:
        """Words in one coalesced access.

        Parameters
        ----------
        word_size : int
            Bytes of a word.

        Returns
        -------
        int
        """
        return self.align_bytes(word_size) // word_size

    def align_bytes(self, word_size: int = 4) -> int:
        """Bytes in one coalesced access.

        Parameters
        ----------
        word_size : {4, 8, 16}
            Bytes of a word.

        Returns
        -------
        int
        """
        if word_size not in (4, 8, 16):
            raise ValueError(f"a word has 4, 8 or 16 bytes, not {word_size}")
        return 64 if word_size == 4 else 128

    def coalesce(self, thread_count: int) -> int:
        """Round up to a half warp.

        Parameters
        ----------
        thread_count : int

        Returns
        -------
        int
        """
        return -(-thread_count // 16) * 16

    @staticmethod
    def make_valid_tex_channel_count(size: int) -> int:
        """The channels that a texture of this many channels takes.

        Parameters
        ----------
        size : int

        Returns
        -------
        int
            1, 2 or 4.
        """
        for count in (1, 2, 4):
            if 0 < size <= count:
                return count
        if size <= 0:
            raise ValueError(f"a texture has at least 1 channel, not {size}")
        raise ValueError(f"a texture has at most 4 channels, not {size}")


def _checked_integer(value: Any, what: str, minimum: int) -> int:
    """An integer of at least `minimum`; TypeError or ValueError otherwise."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is {value!r}: it must be an integer") from None
    if number < minimum:
        raise ValueError(f"{what} is {number}: it must be {minimum} or more")
    return number


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


# ---- private names of PyCUDA that programs use


def _int_ceiling(value: float, multiple_of: int = 1) -> int:
    return math.ceil(value / multiple_of) * multiple_of


def _int_floor(value: float, multiple_of: int = 1) -> int:
    return math.floor(value / multiple_of) * multiple_of


def _exact_div(dividend: int, divisor: int) -> int:
    if dividend % divisor:
        raise AssertionError(f"{divisor} does not divide {dividend}")
    return dividend // divisor


@_documented_init
class OccupancyRecord:
    """How many blocks of a shape a multiprocessor holds at once.

    Its attributes are tb_per_mp, warps_per_mp, occupancy (0 to 1), limited_by ("device",
    "warps", "regs" or "smem") and tb_per_mp_limits, a list of (blocks, reason).

    Parameters
    ----------
    devdata : DeviceData
    threads : int
        Of a block.
    shared_mem : int
        Bytes of a block.
    registers : int
        Of a thread.

    Raises
    ------
    ValueError
        One block alone does not fit.
    """

    def __init__(self, devdata: DeviceData, threads: int, shared_mem: int = 0, registers: int = 0) -> None:
        threads = _checked_integer(threads, "threads", 1)
        shared_mem = _checked_integer(shared_mem, "shared_mem", 0)
        registers = _checked_integer(registers, "registers", 0)
        if threads > devdata.max_threads:
            raise ValueError(f"{threads} threads: a block has at most {devdata.max_threads}")
        if registers > devdata.max_registers_per_thread:
            raise ValueError(
                f"{registers} registers: a thread has at most {devdata.max_registers_per_thread}"
            )
        if shared_mem > devdata.shared_memory_optin:
            raise ValueError(
                f"{shared_mem} bytes of shared memory: a block has at most {devdata.shared_memory_optin}"
            )
        warps = max(_round_up(threads, devdata.warp_size) // devdata.warp_size, 1)
        limits = [(devdata.thread_blocks_per_mp, "device"), (devdata.warps_per_mp // warps, "warps")]
        if registers:
            by_warp = _round_up(registers * devdata.warp_size, devdata.register_granularity)
            if warps * by_warp > devdata.registers:
                raise ValueError(
                    f"{threads} threads of {registers} registers: a block has at most {devdata.registers}"
                )
            # Each scheduler has its part of the registers, for whole warps.
            parts = getattr(devdata, "register_partitions", 4)
            limits.append((devdata.registers_per_mp // parts // by_warp * parts // warps, "regs"))
        if shared_mem or devdata.shared_memory_reserved:
            by_block = _round_up(shared_mem + devdata.shared_memory_reserved, devdata.smem_alloc_granularity)
            limits.append((devdata.shared_memory_per_mp // by_block, "smem"))
        self.tb_per_mp_limits = limits
        self.tb_per_mp, self.limited_by = min(limits, key=lambda limit: limit[0])
        self.warps_per_mp = self.tb_per_mp * warps
        self.occupancy = self.warps_per_mp / devdata.warps_per_mp


_name_public_module(
    globals(),
    [
        "Argument",
        "PoolBlock",
        "PoolSnapshot",
        "ScalarArg",
        "VectorArg",
        "clear_context_caches",
        "context_dependent_memoize",
        "dtype_to_ctype",
        "get_arg_type",
        "parse_c_arg",
    ],
)
