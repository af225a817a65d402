"""Memory pools, contexts, caches that follow them, what a device allows, and C types of arguments."""

from __future__ import annotations

import contextlib
import functools
import math
import operator
import sys
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, ParamSpec, TextIO, TypeVar

import numpy as np

import pycuda.driver as drv
from pycuda._capabilities import multiprocessor
from pycuda._compile.target import default_ordinal
from pycuda._kernels.plans import caches as _caches
from pycuda._pool_snapshot import PoolBlock as PoolBlock
from pycuda._pool_snapshot import PoolSnapshot as PoolSnapshot
from pycuda._public import name_public_module as _name_public_module
from pycuda.compyte import dtypes as _dtypes

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

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

_dtypes.fill_registry_with_c_types(_dtypes.TYPE_REGISTRY, respect_windows=True)
_dtypes.fill_registry_with_c99_stdint_types(_dtypes.TYPE_REGISTRY)
_dtypes.fill_registry_with_cuda_types(_dtypes.TYPE_REGISTRY)
get_or_register_dtype("char", np.int8)
get_or_register_dtype(("half", "__half"), np.float16)
get_or_register_dtype("pycuda::complex<float>", np.complex64)
get_or_register_dtype("pycuda::complex<double>", np.complex128)


def _register_bfloat16() -> None:
    """CUDA's names for the dtype of the package ml_dtypes, which need not be installed."""
    with contextlib.suppress(ImportError):
        import ml_dtypes

        get_or_register_dtype(("__nv_bfloat16", "nv_bfloat16"), ml_dtypes.bfloat16)


# ---- memory pools


class DebugMemoryPool(DeviceMemoryPool):
    """A DeviceMemoryPool that prints where each allocation was requested, and the memory in
    use then.

    Parameters
    ----------
    interactive : bool
        Wait for the return key each time.
    logfile : file
        None is standard output.
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
            input("[pool] return to go on: ")
        return block


def set_allocator(allocator: Any = None) -> None:
    """Choose where arrays of the current context get their memory from that are given no allocator.

    Arrays that are there keep theirs. ``default_memory_pool()`` is the pool that results.

    Parameters
    ----------
    allocator : object
        A memory pool of the current context; a callable that takes the bytes; anything with
        ``allocate(nbytes, stream)``, as memory resources of RMM and cuda.core have it (see
        ExternalMemoryPool). None is a new DeviceMemoryPool, as at first.
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


# ---- caches that follow the context

context_dependent_memoized_functions: list[Any] = []


def context_dependent_memoize(func: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorator: remember results per current context and arguments until
    clear_context_caches().

    Parameters
    ----------
    func : callable
        Its arguments must be hashable.

    Returns
    -------
    callable
    """
    cache = _caches.ContextCache()

    @functools.wraps(func)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        context = 0 if drv.Context.get_current() is None else _caches.current()
        key = context, args, frozenset(kwargs.items())
        try:
            return cache[key]
        except KeyError:
            result = cache[key] = func(*args, **kwargs)
            return result

    wrapper.clear_cache = cache.clear  # type: ignore[attr-defined]
    context_dependent_memoized_functions.append(wrapper)
    return wrapper


def clear_context_caches() -> None:
    """Forget what context_dependent_memoize and kernels remember."""
    for function in context_dependent_memoized_functions:
        function.clear_cache()
    _caches.clear_caches()


# ---- tests


def init_cuda_context_fixture() -> Generator[drv.Context, None, None]:
    """Generator for a pytest fixture: a default context round one test."""
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


class DeviceData:
    """Limits of a device, for hand-made launch shapes.

    Parameters
    ----------
    dev : Device or (int, int)
        None is the current one; a compute capability stands for any device of it.
    """

    def __init__(self, dev: drv.Device | tuple[int, int] | None = None) -> None:
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


def _count(value: Any, what: str, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is {value!r}: it must be an integer") from None
    if number < least:
        raise ValueError(f"{what} is {number}: it must be {least} or more")
    return number


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


# Names that programs for PyCUDA use.


def _int_ceiling(value: float, multiple_of: int = 1) -> int:
    return math.ceil(value / multiple_of) * multiple_of


def _int_floor(value: float, multiple_of: int = 1) -> int:
    return math.floor(value / multiple_of) * multiple_of


def _exact_div(dividend: int, divisor: int) -> int:
    if dividend % divisor:
        raise AssertionError(f"{divisor} does not divide {dividend}")
    return dividend // divisor


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
        threads = _count(threads, "threads", 1)
        shared_mem = _count(shared_mem, "shared_mem", 0)
        registers = _count(registers, "registers", 0)
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


# ---- C types of arguments

_TEXTURE_TYPES = {
    "float": "fp_tex_float",
    "double": "fp_tex_double",
    "pycuda::complex<float>": "fp_tex_cfloat",
    "pycuda::complex<double>": "fp_tex_cdouble",
}


def dtype_to_ctype(dtype: DTypeLike, with_fp_tex_hack: bool = False) -> str:
    """The C type of a dtype in kernels.

    Parameters
    ----------
    dtype : dtype-like
    with_fp_tex_hack : bool
        The types of pycuda-helpers.hpp for textures of float64 and complex numbers.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        It has none.
    """
    if dtype is not None and np.dtype(dtype).name == "bfloat16":
        _register_bfloat16()
    name = _dtypes.dtype_to_ctype(dtype)
    return _TEXTURE_TYPES.get(name, name) if with_fp_tex_hack else name


class Argument:
    """An argument of a kernel.

    Parameters
    ----------
    dtype : dtype-like
    name : str

    Attributes
    ----------
    struct_char : str
        Its code in an argument format.
    """

    def __init__(self, dtype: DTypeLike, name: str) -> None:
        self.dtype = np.dtype(dtype)
        self.name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.dtype})"


class VectorArg(Argument):
    """A pointer to elements of dtype."""

    struct_char = "P"

    def declarator(self) -> str:
        """The declaration in C, as in ``float *x``.

        Returns
        -------
        str
        """
        return f"{dtype_to_ctype(self.dtype)} *{self.name}"


class ScalarArg(Argument):
    """A value of dtype."""

    def declarator(self) -> str:
        """The declaration in C, as in ``float x``.

        Returns
        -------
        str
        """
        return f"{dtype_to_ctype(self.dtype)} {self.name}"

    @property
    def struct_char(self) -> str:
        """The dtype's code; for a structured dtype its size in bytes, as in "12s"."""
        return f"{self.dtype.itemsize}s" if self.dtype.char == "V" else self.dtype.char


def parse_c_arg(c_arg: str) -> VectorArg | ScalarArg:
    """Read the declaration of an argument in C.

    Parameters
    ----------
    c_arg : str

    Returns
    -------
    VectorArg or ScalarArg
        A VectorArg for a pointer or an array.

    Raises
    ------
    ValueError
        It is not a declaration of a known type.
    """
    if "bfloat16" in c_arg:
        _register_bfloat16()
    return _dtypes.parse_c_arg_backend(c_arg, ScalarArg, VectorArg)


def get_arg_type(c_arg: str) -> str:
    """The struct code of an argument declared in C.

    Parameters
    ----------
    c_arg : str

    Returns
    -------
    str
    """
    return parse_c_arg(c_arg).struct_char


_name_public_module(globals(), ["PoolBlock", "PoolSnapshot"])
