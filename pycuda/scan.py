"""Scans (prefix sums): for each element the combination of all elements before it."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import numpy as np

import pycuda.driver as drv
from pycuda import _driver, gpuarray
from pycuda._array.core.decorators import takes_arrays
from pycuda._base.public_names import documented_init as _documented_init
from pycuda._driver import _check_writable, _share_memory
from pycuda._kernels.plans import scratch
from pycuda._kernels.plans.axes import elements_per_access
from pycuda._kernels.plans.caches import ContextCache, current
from pycuda._kernels.user import generic_scan, operands, parsing, variables
from pycuda._kernels.user import scan as kernels
from pycuda._kernels.user.elementwise import vectors_of
from pycuda.tools import dtype_to_ctype

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import DTypeLike

    from pycuda._array.core.types import Allocator, Stream
    from pycuda._kernels.user.c_types import Argument
    from pycuda.gpuarray import GPUArray


__all__ = ["ExclusiveScanKernel", "GenericScanKernel", "InclusiveScanKernel"]


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
        self._tiling = kernels.scan_tiling(elements_per_access(self.dtype.itemsize), self.dtype.itemsize)
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

    @variables.documented("use_segments", "``segments=``")
    def get_global(self, name: str, use_segments: bool = False) -> tuple[int, int]:
        return self._built(bool(use_segments))[0].get_global(name)

    def _segment_tiling(self) -> kernels.ScanTiling:
        """An item carries its flag along."""
        itemsize = self.dtype.itemsize
        return kernels.scan_tiling(elements_per_access(itemsize), kernels.flagged_bytes(itemsize))

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
        itemsize = self.dtype.itemsize if segments is None else kernels.flagged_bytes(self.dtype.itemsize)
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


@_documented_init
class GenericScanKernel(variables.OneModule):
    """A scan of values that an expression computes, whose results a statement uses: compaction, segmented
    sums, indices of sorted groups. PyOpenCL's kernel of this name takes the same texts.

    Parameters
    ----------
    dtype : dtype
        Of the values; structures are allowed. In the texts it is ``scan_type``.
    arguments : str or list of VectorArg and ScalarArg
        A C argument list, as in ``"const int *x, int *out"``. Pointers are arrays.
    input_expr : str
        CUDA C: the value for each index ``i`` from 0 to ``N-1``, as in ``"x[i] > 0 ? 1 : 0"``.
    scan_expr : str
        CUDA C: an expression of ``a`` and ``b``, as in ``"a+b"``. It must be associative; it need not be
        commutative. With segments it may use ``across_seg_boundary``, which says whether a segment starts
        at ``b`` or in what it stands for: the result must be ``b`` then. Where it does not, that is done for
        it.
    neutral : str or number
        CUDA C: `prev_item` where there is none.
    output_statement : str
        CUDA C, one or more statements that are run for each ``i``. ``item`` is the combination of all
        values up to and including that at ``i``, ``prev_item`` of those before it, ``last_item`` the
        ``item`` at ``N-1``. With segments all values are those of the segment; ``last_item`` is of the
        last one.
    is_segment_start_expr : str, optional
        CUDA C: whether a segment starts at ``i``, as in ``"i == 0 || key[i] != key[i-1]"``.
    input_fetch_exprs : sequence of (str, str, int), optional
        ``(name, array argument, offset)``: names for elements ``i + offset``, which input_expr and
        is_segment_start_expr may use. The offset is 0 or -1; before the first element there is a value of
        zeros.
    index_dtype : dtype
        Of ``i`` and ``N``. In the texts it is ``index_type``.
    name_prefix : str
        How the kernels' names begin.
    options
        As `pycuda.compiler.SourceModule` takes them.
    preamble : str
        CUDA C++ at file scope.
    devices : optional
        Accepted, and of no meaning: kernels are compiled for the current context.

    Raises
    ------
    ValueError
        The values are too large for a scan; no array among the arguments; wrong input_fetch_exprs.

    Notes
    -----
    What input_expr and is_segment_start_expr read is what was there before the call. Where the output
    statement writes to it, other than to ``x[i]`` where they read ``x[i]``, the results are stored first,
    and a second kernel runs the statement; so with ``last_item``. Otherwise there is one launch, and one
    pass over memory. The same values give the same bits at every run and on every device.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        arguments: str | Sequence[Argument],
        input_expr: str,
        scan_expr: str,
        neutral: float | str,
        output_statement: str,
        is_segment_start_expr: str | None = None,
        input_fetch_exprs: Sequence[tuple[str, str, int]] | None = None,
        index_dtype: DTypeLike = np.int64,
        name_prefix: str = "scan",
        options: Sequence[str] | None = None,
        preamble: str = "",
        devices: Any = None,  # ignored: kernels are compiled for the current context's device
    ) -> None:
        self.dtype, self.index_dtype = np.dtype(dtype), np.dtype(index_dtype)
        self.name = f"{name_prefix}_scan"
        if self.index_dtype.kind not in "iu":
            raise ValueError(f"{self.name}: index_dtype is {self.index_dtype}: it must be an integer dtype")
        listed = parsing.read_arguments(arguments)
        texts = {
            "input_expr": input_expr,
            "scan_expr": scan_expr,
            "neutral": str(neutral),
            "output_statement": output_statement,
            "preamble": preamble,
        }
        starts = None
        if is_segment_start_expr is not None:
            starts = parsing.texts(is_segment_start_expr=is_segment_start_expr)["is_segment_start_expr"]
        self._positions, self._vectors, self._pick = vectors_of(listed)
        if not self._vectors:
            raise ValueError(f"{self.name}: a scan needs a pointer among its arguments")
        self._text = generic_scan.GenericScanText(
            self.dtype,
            self.index_dtype,
            listed,
            generic_scan.read_fetches(input_fetch_exprs, self._vectors, self.name),
            self.name,
            is_segment_start_expr=starts,
            **parsing.texts(**texts),
        )
        dtype_to_ctype(self.dtype)  # ValueError for a dtype without a C type
        self._tiling = self._text.tiling()
        self._reading = generic_scan.analyse(self._text)
        self._one_module = self._reading.stateful
        self._options = options
        self._built = ContextCache()
        if drv.Context.get_current() is not None:
            self._build(2 if self._reading.uses_last else 1)

    def _build(self, way: int) -> generic_scan.BuiltScan:
        """The kernels for one or two passes in the current context, built at the first call there."""
        both = self._one_module and not self._reading.uses_last
        ways = (1, 2) if both else (way,)  # both are in one module if they have variables in common
        key = current(), ways
        found = self._built.get(key)
        if found is None:
            found = self._built[key] = generic_scan.build_generic_scan(self._text, ways, self._options)
        return found

    @variables.documented()
    def get_global(self, name: str) -> tuple[int, int]:
        return self._only_module().get_global(name)

    def _module(self, other: bool):
        return self._build(2).module

    def __call__(
        self, *args: Any, size: int | None = None, allocator: Allocator = None, stream: Stream = None
    ) -> None:
        """Scan, and run the output statement for each index.

        Parameters
        ----------
        *args
            As declared: GPUArrays, other libraries' arrays on the device, and numbers. Arrays must be
            contiguous, and may have any length that the texts keep to.
        size : int, optional
            The number of values, ``N``. By default the size of the first array.
        allocator : callable, optional
            Makes the memory for results that are stored. By default that of the first array.
        stream : Stream, optional
            The stream on which the kernels are queued.

        Raises
        ------
        TypeError
            An argument is missing, is not an array on the device, or has another dtype than was declared.
        ValueError
            An array is too short, not contiguous, or read-only and written to; a negative size, or one that
            the index dtype does not have.
        CompileError
            The text does not compile.
        """
        self._call(*args, size=size, allocator=allocator, stream=stream)

    @takes_arrays
    def _call(self, *args, size, allocator, stream):
        text, count = self._text, len(self._text.arguments)
        if len(args) != count:
            if len(args) < count:
                raise operands.missing_argument(self.name, text.arguments, len(args))
            raise TypeError(f"{self.name}: takes {count} arguments, {len(args)} were given")
        arrays = self._pick(args)
        size = self._size(arrays, size)
        if size == 0:
            return
        way = 2 if self._reading.uses_last or self._overlaps(arrays) else 1
        built = self._build(way)
        tiles = -(-size // self._tiling.tile)
        max_blocks = kernels.RESIDENT * drv.Context.get_device().multiprocessor_count
        grid, block = (min(tiles, max_blocks), 1), (self._tiling.threads, 1, 1)
        state = scratch.states(stream, scratch.partials_of_tiles(1, tiles), text.item_bytes)
        if way == 1:
            built.one_pass(grid, block, stream, *args, size, tiles, *state)
            return
        if allocator is None:
            allocator = getattr(arrays[0], "allocator", None)
        items = _driver.GPUArray((size,), self.dtype, allocator)
        before = _driver.GPUArray((size,), self.dtype, allocator) if self._reading.uses_before else 0
        built.items(grid, block, stream, *args, items, before, size, tiles, *state)
        built.output(*gpuarray.splay(size), stream, *args, items, before, size)

    def _size(self, arrays, size) -> int:
        """N of a call. TypeError or ValueError as __call__ says."""
        uses = self._reading.outputs
        shapes = []
        for vector, array in zip(self._vectors, arrays, strict=True):
            shape, _, _ = operands.describe(array, vector, self.name, uses[vector.name].written)
            if not (array.flags.c_contiguous or array.flags.f_contiguous):
                raise ValueError(
                    f"{self.name}: the argument {vector.name!r} is not contiguous: pass a copy of it"
                )
            shapes.append(shape)
        size = math.prod(shapes[0]) if size is None else operator.index(size)
        if not 0 <= size <= np.iinfo(self.index_dtype).max:
            raise ValueError(
                f"{self.name}: the size is {size}: it must be from 0 to {np.iinfo(self.index_dtype).max}, as "
                f"{self.index_dtype} has it"
            )
        for vector, shape in zip(self._vectors, shapes, strict=True):
            least = self._reading.least_size(vector.name, size)
            if math.prod(shape) < least:
                raise ValueError(
                    f"{self.name}: the argument {vector.name!r} has {math.prod(shape)} elements, the scan "
                    f"needs {least}"
                )
        return size

    def _overlaps(self, arrays) -> bool:
        """Whether outputs may be written over what the values of other indices are computed from."""
        reading = self._reading
        named = [(vector.name, array) for vector, array in zip(self._vectors, arrays, strict=True)]
        for read, source in named:
            for written, target in named:
                if not reading.reads(read) or not reading.outputs[written].written:
                    continue
                one = operands.address(source) == operands.address(target)
                one = one and source.dtype.itemsize == target.dtype.itemsize
                if not (one and reading.in_place(read, written)) and _share_memory(source, target):
                    return True
        return False
