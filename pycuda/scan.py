"""Scans (prefix sums): for each element the combination of all elements before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import pycuda.driver as drv
from pycuda import _driver
from pycuda._array.core.decorators import takes_arrays
from pycuda._base.public_names import documented_init as _documented_init
from pycuda._driver import _check_writable, _share_memory
from pycuda._kernels.plans import scratch
from pycuda._kernels.plans.caches import ContextCache, current
from pycuda._kernels.user import operands, parsing
from pycuda._kernels.user import scan as kernels
from pycuda.tools import dtype_to_ctype

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import DTypeLike

    from pycuda._array.core.types import Allocator, Stream
    from pycuda.gpuarray import GPUArray


__all__ = ["ExclusiveScanKernel", "InclusiveScanKernel"]


def __dir__() -> list[str]:
    return __all__


_FLAG = np.dtype(np.uint8)


@_documented_init
class _ScanKernel:
    """The base of both kinds."""

    _exclusive = False

    def __init__(
        self,
        dtype: DTypeLike,
        scan_expr: str,
        neutral: float | str | None = None,
        name_prefix: str = "scan",
        options: Sequence[str] | None = None,
        preamble: str = "",
        devices: Any = None,  # ignored: kernels are compiled for the current context's device
    ) -> None:
        self.dtype = np.dtype(dtype)
        self.neutral = neutral
        if self._exclusive and neutral is None:
            raise ValueError("an exclusive scan needs a neutral element, its first result")
        self._text = kernels.ScanText(
            self.dtype,
            neutral=None if neutral is None else str(neutral),
            exclusive=self._exclusive,
            name=name_prefix + "_scan",
            **parsing.texts(scan_expr=scan_expr, preamble=preamble),
        )
        dtype_to_ctype(self.dtype)  # ValueError for a dtype without a C type
        self._options = options
        self._tiling = kernels.scan_tiling(self.dtype.itemsize, self.dtype.itemsize)
        self._functions = ContextCache()
        if drv.Context.get_current() is not None:
            self._built(False)

    # ---- what PyCUDA's object shows

    @property
    def scan_wg_size(self) -> int:
        """Threads of a block."""
        return self._tiling.threads

    @property
    def update_wg_size(self) -> int:
        """Threads of a block: there is one kernel."""
        return self._tiling.threads

    @property
    def scan_wg_seq_batches(self) -> int:
        """Elements of a thread."""
        return self._tiling.items

    @property
    def scan_intervals_knl(self) -> drv.Function:
        """The kernel, in the current context."""
        return self._built(False)[1]

    @property
    def final_update_knl(self) -> drv.Function:
        """The kernel, in the current context: the same one."""
        return self._built(False)[1]

    def _built(self, segmented: bool):
        """(module, kernel) in the current context, built at the first call there."""
        key = current(), segmented
        found = self._functions.get(key)
        if found is None:
            tiling = self._segment_tiling() if segmented else self._tiling
            found = self._functions[key] = kernels.build_scan(self._text, tiling, segmented, self._options)
        return found

    def get_global(self, name: str, use_segments: bool = False) -> tuple[int, int]:
        """Find a ``__device__`` or ``__constant__`` variable that the preamble declares, in the current
        context.

        Parameters
        ----------
        name : str
        use_segments : bool
            Whether it is for calls with ``segments=``, which have a module, and variables, of their own.

        Returns
        -------
        (address, size) : tuple of int
            The device address and the size in bytes. Each context has variables of its own.

        Raises
        ------
        LogicError
            The kernel's module has no variable of this name.

        Notes
        -----
        Calls cuModuleGetGlobal. The module is kept until the context ends, or until
        `pycuda.tools.clear_context_caches`: then the next call has new variables.

        Examples
        --------
        >>> import numpy as np
        >>> import pycuda.driver as drv
        >>> from pycuda import gpuarray
        >>> kernel = InclusiveScanKernel(
        ...     np.int32, "(a + b) % modulus", preamble="__constant__ int modulus;"
        ... )
        >>> address, size = kernel.get_global("modulus")
        >>> drv.memcpy_htod(address, np.int32(5))
        >>> kernel(gpuarray.to_gpu(np.array([1, 2, 3, 4], np.int32))).get()
        array([1, 3, 1, 0], dtype=int32)
        """
        return self._built(bool(use_segments))[0].get_global(name)

    def _segment_tiling(self) -> kernels.ScanTiling:
        """An item carries its flag along."""
        return kernels.scan_tiling(self.dtype.itemsize, self._segment_bytes())

    def _segment_bytes(self) -> int:
        """The maximum bytes of an item with its flag."""
        itemsize = self.dtype.itemsize
        return itemsize + (16 if itemsize % 16 == 0 else kernels.flag_bytes(itemsize))

    # ---- calls

    def __call__(
        self,
        input_ary: GPUArray,
        output_ary: GPUArray | None = None,
        allocator: Allocator = None,
        stream: Stream = None,
        *,
        segments: GPUArray | None = None,
    ) -> GPUArray:
        """Scan an array.

        Parameters
        ----------
        input_ary : GPUArray
            It has one dimension, the kernel's dtype, and any stride.
        output_ary : GPUArray or "new", optional
            Gets the result. Without it the input does; "new" makes an array.
        allocator : callable, optional
            Makes the memory of a new result. By default that of the input.
        stream : Stream, optional
            The stream on which the kernel is queued.
        segments : GPUArray, optional
            Its dtype is uint8 or bool: where it is not 0 the scan restarts.

        Returns
        -------
        GPUArray
            The array with the result.

        Raises
        ------
        ValueError
            More than one dimension, different shapes, arrays that overlap in part.
        TypeError
            An array of another dtype.
        """
        result = self._call(input_ary, output_ary, allocator, stream, segments)
        given = input_ary if output_ary is None else output_ary
        return result if isinstance(given, str) else given

    @takes_arrays
    def _call(self, input_ary, output_ary, allocator, stream, segments):
        """The array with the result."""
        shape, strides = self._checked(input_ary, "input_ary", self.dtype)
        if isinstance(output_ary, str):
            if output_ary != "new":
                raise ValueError(f"output_ary is {output_ary!r}: it must be a GPUArray, None or 'new'")
            allocator = getattr(input_ary, "allocator", None) if allocator is None else allocator
            output_ary = _driver.GPUArray(shape, self.dtype, allocator)
        elif output_ary is None:
            output_ary = input_ary
        _check_writable(output_ary)
        out_shape, out_strides = self._checked(output_ary, "output_ary", self.dtype)
        if out_shape != shape:
            raise ValueError(f"the input has shape {shape}, the output {out_shape}")
        more: tuple[Any, ...] = ()
        tiling = self._tiling
        if segments is not None:
            flag_shape, flag_strides = self._checked(segments, "segments", _FLAG)
            if flag_shape != shape:
                raise ValueError(f"the input has shape {shape}, the segments {flag_shape}")
            if _share_memory(segments, output_ary):
                raise ValueError("the segments and the output share memory: flags would be lost")
            more, tiling = (segments, flag_strides), self._segment_tiling()
        size = shape[0]
        if size == 0:
            return output_ary
        one = operands.address(input_ary) == operands.address(output_ary) and strides == out_strides
        if not one and _share_memory(input_ary, output_ary):
            raise ValueError(
                "the input and the output overlap in part: they must be the same array, or not overlap"
            )
        function = self._built(segments is not None)[1]
        tiles = -(-size // tiling.tile)
        itemsize = self._segment_bytes() if segments is not None else self.dtype.itemsize
        max_blocks = kernels.RESIDENT * drv.Context.get_device().multiprocessor_count
        function.prepared_async_call(
            (min(tiles, max_blocks), 1),
            (tiling.threads, 1, 1),
            stream,
            input_ary,
            strides // self.dtype.itemsize,
            output_ary,
            out_strides // self.dtype.itemsize,
            size,
            tiles,
            *scratch.states(stream, scratch.partials_of_tiles(1, tiles), itemsize),
            *more,
        )
        return output_ary

    def _checked(self, ary, name: str, dtype):
        """(shape, stride in bytes). TypeError or ValueError for what cannot be scanned."""
        argument = kernels.NamedArray(name, dtype)
        shape, strides, _ = operands.describe(ary, argument, self._text.name)
        if len(shape) != 1:
            raise ValueError(f"{name} has {len(shape)} dimensions: a scan goes along one")
        if strides[0] % dtype.itemsize:
            raise ValueError(f"{name} has a stride of {strides[0]} bytes, not a multiple of its itemsize")
        return shape, strides[0]


@_documented_init
class ExclusiveScanKernel(_ScanKernel):
    """Exclusive scan: for each element the combination of all elements before it.

    Parameters
    ----------
    dtype : dtype
        Of the elements; structures are allowed.
    scan_expr : str
        CUDA C: an expression of ``a`` and ``b``, as in ``"a+b"``. It must be associative; it need not be
        commutative.
    neutral : str or number
        CUDA C: the first result.
    name_prefix : str
        How the kernel's name begins.
    options
        As `pycuda.compiler.SourceModule` takes them.
    preamble : str
        CUDA C++ at file scope.
    devices : optional
        Accepted, and of no meaning: kernels are compiled for the current context.

    Raises
    ------
    ValueError
        Without neutral, or when the elements are too large.

    Notes
    -----
    One launch, one pass over memory. The same elements give the same bits at every run and on every device.
    """

    _exclusive = True

    def __init__(
        self,
        dtype: DTypeLike,
        scan_expr: str,
        neutral: float | str | None = None,
        name_prefix: str = "scan",
        options: Sequence[str] | None = None,
        preamble: str = "",
        devices: Any = None,
    ) -> None:
        super().__init__(
            dtype,
            scan_expr,
            neutral=neutral,
            name_prefix=name_prefix,
            options=options,
            preamble=preamble,
            devices=devices,
        )


class InclusiveScanKernel(_ScanKernel):
    """Inclusive scan: for each element the combination of it and all before it. Parameters as for
    `ExclusiveScanKernel`; neutral is not needed.
    """
