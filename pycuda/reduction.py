"""Kernels that make one value of all elements of some arrays."""

from __future__ import annotations

import builtins
import math
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

import pycuda.driver as drv
from pycuda import _driver
from pycuda._array.core.creation import arange
from pycuda._array.core.decorators import takes_arrays
from pycuda._base.public_names import also_named as _also_named
from pycuda._base.public_names import documented_init as _documented_init
from pycuda._base.public_names import name_public_module as _name_public_module
from pycuda._driver import _check_writable, _share_memory
from pycuda._kernels.plans import layout, scratch
from pycuda._kernels.plans.caches import ContextCache, current, launch_cache, remembering
from pycuda._kernels.user import axis_reduction, operands, parsing, variables
from pycuda._kernels.user import reduction as kernels
from pycuda._kernels.user.elementwise import vectors_of
from pycuda._kernels.user.reduction import get_reduction_kernel_and_types, get_reduction_module
from pycuda.tools import VectorArg, context_dependent_memoize, dtype_to_ctype

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import DTypeLike

    from pycuda._array.core.types import Allocator, Array, Axes, Stream
    from pycuda._kernels.user.c_types import Argument
    from pycuda.gpuarray import GPUArray

    _Arguments = str | Sequence[Argument]


__all__ = [
    "ReductionKernel",
    "get_all_kernel",
    "get_any_kernel",
    "get_dot_kernel",
    "get_minmax_kernel",
    "get_minmax_neutral",
    "get_reduction_kernel_and_types",
    "get_reduction_module",
    "get_subset_dot_kernel",
    "get_subset_minmax_kernel",
    "get_subset_sum_kernel",
    "get_sum_kernel",
]


def __dir__() -> list[str]:
    return __all__


_BLOCK = (kernels.THREADS, 1, 1)


class _ReductionLaunch(NamedTuple):
    """What a call with arguments of one form launches."""

    launch: object
    grid: tuple
    numbers: tuple  # n and the length of a tile
    scratch: int  # bytes for a partial result of each block; 0 for a single block
    geometry: tuple  # the argument that describes strides; empty if there is none


@_documented_init
class ReductionKernel(variables.OneModule):
    """A function of arrays that gives one value, made of an operation between two.

    Parameters
    ----------
    dtype_out : dtype
        Of the result and of partial results; structures are allowed.
    neutral : str or number
        CUDA C: what changes nothing. The result for no elements.
    reduce_expr : str
        CUDA C: an expression of ``a`` and ``b``, as in ``"a+b"``. It must be associative; it need not be
        commutative, the elements keep their order.
    map_expr : str, optional
        CUDA C: an expression of the arguments at index ``i``, as in ``"x[i]*y[i]"``. Without it the
        elements of an argument named ``in``.
    arguments : str or list of VectorArg and ScalarArg, optional
        A C argument list; pointers are arrays. Without it, one array of dtype_out named ``in``.
    name : str
        Of the kernel.
    keep, options
        As `pycuda.compiler.SourceModule` takes them.
    preamble : str
        CUDA C++ at file scope.

    Notes
    -----
    One launch a call. The same elements give the same bits on every device, at every run: floating-point
    sums, too, are made in an order that depends on the number of elements alone.

    The first vector gives the number of elements; `pycuda.elementwise.ElementwiseKernel` says how other
    shapes and layouts go with it.

    Attributes
    ----------
    dtype_out : numpy.dtype
    block_size : int
        Threads of the two stages that clients launch themselves.
    stage1_func, stage2_func
        ``f(grid, block, stream, out, *arguments, seq_count, n, shared_size=0)``: each block leaves in
        ``out`` the value of seq_count * block_size elements. Stage 2 has an array of such values before the
        arguments.
    stage1_arg_types, stage2_arg_types : list of str
        Format codes of the arguments, "P" for a pointer.
    """

    @_also_named(dtype="dtype_out")
    def __init__(
        self,
        dtype_out: DTypeLike,
        neutral: float | str,
        reduce_expr: str,
        map_expr: str | None = None,
        arguments: _Arguments | None = None,
        name: str = "reduce_kernel",
        keep: bool = False,
        options: Sequence[str] | None = None,
        preamble: str = "",
        *,
        _accumulator: DTypeLike | None = None,
    ) -> None:
        self.dtype_out = np.dtype(dtype_out)
        self.block_size = kernels.BLOCK_SIZE
        self.name = name
        accumulator = self.dtype_out if _accumulator is None else np.dtype(_accumulator)
        self._text = kernels.ReductionText(
            self.dtype_out,
            accumulator,
            str(neutral),
            name=name,
            **parsing.texts(
                reduce_expr=reduce_expr,
                map_expr="in[i]" if map_expr is None else map_expr,
                preamble=preamble,
            ),
        )
        self._keep, self._options = keep, options
        self._arguments = kernels.default_arguments(arguments, dtype_to_ctype(self.dtype_out))
        self._positions, self._vectors, self._pick = vectors_of(self._arguments)
        if not self._vectors:
            raise AssertionError(
                f"{name}: a reduction needs a pointer among its arguments, which determines the size"
            )
        # In reduce_expr the names a and b are its two values, even if there are arguments of these names.
        texts = (self._text.map_expr, re.sub(r"\b[ab]\b", " ", self._text.reduce_expr))
        self._analysis = parsing.analyse(
            [vector.name for vector in self._vectors], texts, self._text.preamble
        )
        self._one_module = self._analysis.stateful
        self._tiling = kernels.reduction_tiling(self._vectors, self._analysis.uses)
        self._functions = ContextCache()
        self._launches = launch_cache(self._positions)
        self._stages: dict = {}
        self._chosen: ReductionKernel | None = None
        if drv.Context.get_current() is not None:
            self._whole(None)

    # ---- calls

    @remembering
    def __call__(
        self,
        *args: Any,
        stream: Stream = None,
        out: Array | None = None,
        allocator: Allocator = None,
        kernel_wrapper: Any = None,
        axis: Axes = None,
        keepdims: bool = False,
        range: builtins.range | builtins.slice | None = None,
        slice: builtins.slice | None = None,
    ) -> GPUArray:
        """Reduce arrays.

        Parameters
        ----------
        *args
            As declared: GPUArrays, other libraries' arrays on the device, and numbers.
        stream : Stream, optional
            The stream on which the kernel is queued.
        out : GPUArray, optional
            The array whose first element becomes the result.
        allocator : callable, optional
            Makes the memory of the result. By default that of the first vector.
        kernel_wrapper : callable, optional
            Is given the function that launches and returns the one that is called, to measure time, say.
        axis : int or tuple of int, optional
            Axes of the first vector's shape along which is reduced, one result for each index of the
            others; the other vectors broadcast to that shape. map_expr may use ``i`` only as in ``x[i]``.
            Without it everything is reduced to one value.
        keepdims : bool
            Reduced axes stay, with length 1.
        range, slice : slice, optional
            Reduce over these values of ``i`` only, as `pycuda.elementwise.ElementwiseKernel` takes them.

        Returns
        -------
        GPUArray
            ``out``, or a new one: of shape ``()``, or of the axes that are left.

        Raises
        ------
        TypeError
            An argument is missing, is not an array on the device, or has another dtype than was declared.
        ValueError
            An array is too short; ``out`` has another dtype or no element, or with ``axis`` another shape.
        numpy.exceptions.AxisError
            There is no such axis.
        """
        if range is not None or slice is not None:
            if axis is not None:
                raise TypeError(f"{self.name}: axis= cannot be combined with range= or slice=")
            return self._over_indices(
                *args, range_=range, slice_=slice, stream=stream, out=out, allocator=allocator,
                kernel_wrapper=kernel_wrapper,
            )  # fmt: skip
        if axis is None and out is None and kernel_wrapper is None:
            try:
                result = self._launches.launch(args, stream, allocator)
            except TypeError:
                self._describe(args)  # raises a more specific error
                raise
            if result is not None:
                return result
        return self._call(
            *args, stream=stream, out=out, allocator=allocator, kernel_wrapper=kernel_wrapper, axis=axis,
            keepdims=keepdims,
        )  # fmt: skip

    @takes_arrays
    def _call(self, *args, stream, out, allocator, kernel_wrapper, axis, keepdims):
        """A call that needs a plan, checks of its arguments, or a scratch area."""
        plan = self._launches.find(args) if axis is None else None
        if out is not None:
            _check_writable(out)
        if axis is not None:
            return self._along(args, axis, bool(keepdims), stream, out, allocator, kernel_wrapper)
        if plan is None:
            args = args[: len(self._arguments)]
            plan = self._plan(args)
        if out is None:
            if allocator is None:
                allocator = getattr(args[self._positions[0]], "allocator", None)
            result = _driver.GPUArray((), self.dtype_out, allocator)
        else:
            result = out
            if out.dtype != self.dtype_out:
                raise ValueError(f"{self.name}: out has dtype {out.dtype}, the result {self.dtype_out}")
            if out.size < 1:
                raise ValueError(f"{self.name}: out has no element for the result")
        launch = plan.launch if kernel_wrapper is None else kernel_wrapper(plan.launch)
        counter, parts = scratch.area(stream, plan.scratch) if plan.scratch else (0, 0)
        try:
            launch(plan.grid, _BLOCK, stream, *args, *plan.numbers, result, counter, parts, *plan.geometry)
        except TypeError:
            self._describe(args)  # raises a more specific error
            raise
        return result

    @takes_arrays
    def _over_indices(self, *args, range_, slice_, stream, out, allocator, kernel_wrapper):
        """A call with range= or slice=."""
        if len(args) < len(self._arguments):
            raise operands.missing_argument(self.name, self._arguments, len(args))
        args, forms = args[: len(self._arguments)], self._describe(args)
        indices = operands.indices(self.name, range_, slice_, forms[0][0])
        for vector, (shape, _, _) in zip(self._vectors, forms, strict=True):
            size = math.prod(shape)
            if self._analysis.uses[vector.name].indexed and not all(
                0 <= end < size for end in (*indices[:1], *indices[-1:])
            ):
                raise ValueError(
                    f"{self.name}: the range goes from index {indices[0]} to {indices[-1]}, the argument "
                    f"{vector.name!r} has {size} elements"
                )
        if allocator is None:
            allocator = getattr(args[self._positions[0]], "allocator", None)
        chosen = arange(len(indices), dtype=np.int64) * indices.step + indices.start
        return self._chosen_kernel()(
            chosen, *args, stream=stream, out=out, allocator=allocator, kernel_wrapper=kernel_wrapper
        )

    def _chosen_kernel(self) -> ReductionKernel:
        """A second kernel, for range= and slice=: it reduces over an array of the chosen values of i."""
        if self._chosen is None:
            text = self._text
            if re.search(r"^\s*#\s*define\b.*\bi\b", text.preamble, re.M):
                raise RuntimeError(
                    f"{self.name}: range= and slice= need a map_expr that uses i directly, not in a macro"
                )
            self._chosen = ReductionKernel(
                self.dtype_out,
                text.neutral,
                text.reduce_expr,
                re.sub(r"(?<![\w.])(?<!->)i\b", "pycuda_chosen[i]", text.map_expr),
                [VectorArg(np.int64, "pycuda_chosen"), *self._arguments],
                f"{self.name}_chosen",
                self._keep,
                self._options,
                text.preamble,
                _accumulator=text.accumulator,
            )
        return self._chosen

    def _along(self, args, axis, keepdims, stream, out, allocator, kernel_wrapper):
        """The call along axes."""
        if len(args) < len(self._arguments):
            raise operands.missing_argument(self.name, self._arguments, len(args))
        args, forms, uses = args[: len(self._arguments)], self._describe(args), self._analysis.uses
        if not self._analysis.order_free or not all(use.indexed and not use.written for use in uses.values()):
            raise ValueError(f"{self.name}: axis= needs a map_expr that uses i only as in x[i], to read")
        if self._one_module:
            raise RuntimeError(
                f"{self.name}: axis= needs a module of its own, the preamble declares variables"
            )
        shape = forms[0][0]
        axes = normalize_axis_tuple(axis, len(shape))
        kept = tuple(
            1 if position in axes else length
            for position, length in enumerate(shape)
            if keepdims or position not in axes
        )
        parts = [
            layout.Operand(vector.name, uses[vector.name], each, strides, dtype.itemsize)
            for vector, (each, strides, dtype) in zip(self._vectors, forms, strict=True)
        ]
        with operands.NamedErrors(self.name):
            division = axis_reduction.divide(parts, axes)
        allocator = getattr(self._pick(args)[0], "allocator", None) if allocator is None else allocator
        result = _driver.GPUArray(kept, self.dtype_out, allocator) if out is None else out
        if result.dtype != self.dtype_out or result.shape != kept or not result.flags.c_contiguous:
            raise ValueError(
                f"{self.name}: out has dtype {result.dtype} and shape {result.shape}; it must have "
                f"{self.dtype_out} and {kept}, C-contiguous"
            )
        if not division.results:
            return result
        # If `out` overlaps an argument, results would be written while other threads still read the argument.
        shared = out is not None and any(_share_memory(result, each) for each in self._pick(args))
        target = _driver.GPUArray(kept, self.dtype_out, allocator) if shared else result
        self._launch_along(args, division, target, stream, kernel_wrapper)
        if shared:
            result.set_async(target, stream)
        return result

    def _launch_along(self, args, division, result, stream, kernel_wrapper) -> None:
        """Queue one kernel, or two if each result is made of several parts: the second one reduces the
        parts.
        """
        wrap = kernel_wrapper or (lambda launch: launch)
        final, text = division.parts == 1, self._text
        launch = self._axis_function(self._arguments, text, division.signature, final)
        target = result
        if not final:
            size = division.results * division.parts * text.accumulator.itemsize
            target = scratch.area(stream, size).memory
        numbers = division.results, division.length, division.parts
        wrap(launch)(division.grid, _BLOCK, stream, *args, *numbers, target, division.geometry)
        if final:
            return
        itemsize, shape = text.accumulator.itemsize, (division.results, division.parts)
        part = layout.Operand("in", None, shape, (division.parts * itemsize, itemsize), itemsize)
        second = axis_reduction.divide([part], (1,), split=False)
        arguments = [VectorArg(text.accumulator, "in")]
        rest = text._replace(map_expr="in[i]", name=f"{self.name}_parts")
        launch = self._axis_function(arguments, rest, second.signature, True)
        numbers = second.results, second.length, second.parts
        wrap(launch)(second.grid, _BLOCK, stream, target, *numbers, result, second.geometry)

    def _axis_function(self, arguments, text, signature, final):
        """prepared_async_call of a kernel along axes, compiled for the current context."""
        key = current(), text.name, signature, final
        function = self._functions.get(key)
        if function is None:
            built = axis_reduction.build_axis_reduction(
                arguments, text, signature, final, self._keep, self._options
            )
            function = self._functions[key] = built.prepared_async_call
        return function

    def _describe(self, args) -> list:
        """(shape, strides, dtype) of each vector among the arguments. TypeError as __call__ says."""
        return [
            operands.describe(value, argument, self.name)
            for value, argument in zip(self._pick(args), self._vectors, strict=True)
        ]

    def _plan(self, args) -> _ReductionLaunch:
        """The plan for arguments of this form, remembered."""
        if len(args) < len(self._arguments):
            raise operands.missing_argument(self.name, self._arguments, len(args))
        forms, analysis = self._describe(args), self._analysis
        parts = [
            layout.Operand(vector.name, analysis.uses[vector.name], shape, strides, dtype.itemsize)
            for vector, (shape, strides, dtype) in zip(self._vectors, forms, strict=True)
        ]
        with operands.NamedErrors(self.name):
            walk = layout.arrange(parts, guarded=analysis.guarded, plain_only=self._one_module)
        _, launch = self._whole(walk.signature if walk.geometry else None)
        tile = self._tiling.tile(walk.size)
        blocks = max(-(-walk.size // tile), 1)
        nbytes = blocks * self._text.accumulator.itemsize if blocks > 1 else 0
        geometry = (walk.geometry,) if walk.geometry else ()
        plan = _ReductionLaunch(launch, (blocks, 1), (walk.size, tile), nbytes, geometry)
        alone = launch, plan.grid, _BLOCK, (walk.size, tile, ..., 0, 0, *geometry), ((), self.dtype_out)
        self._launches.remember(args, plan, None if nbytes else alone)
        return plan

    def _whole(self, signature):
        """(module, prepared_async_call) of the kernel for this layout, compiled for the current context."""
        key = current(), signature
        found = self._functions.get(key)
        if found is None:
            module, function = kernels.build_whole(
                self._arguments,
                self._text,
                self._analysis.uses,
                self._tiling,
                signature,
                self._keep,
                self._options,
            )
            found = self._functions[key] = module, function.prepared_async_call
        return found

    @variables.documented(
        "use_range",
        "``range=`` or ``slice=``",
        note="The stages that clients launch themselves have modules of their own.\n"
        "``axis=`` is not possible where there are variables.\n",
    )
    def get_global(self, name: str, use_range: bool = False) -> tuple[int, int]:
        if use_range:
            return self._chosen_kernel().get_global(name)
        return self._only_module().get_global(name)

    def _module(self, other: bool):
        return self._whole(None)[0]

    # ---- what subclasses of clients launch

    def _stage(self, stage: int):
        """(prepared_async_call, format codes) of a stage in the current context."""
        key = current(), stage
        found = self._functions.get(key)
        if found is None:
            text = self._text
            function, codes = get_reduction_kernel_and_types(
                stage,
                dtype_to_ctype(self.dtype_out),
                self.block_size,
                text.neutral,
                text.reduce_expr,
                text.map_expr,
                self._arguments,
                f"{self.name}_stage{stage}",
                self._keep,
                self._options,
                text.preamble,
            )
            found = self._functions[key] = function.prepared_async_call, codes
        return found

    @property
    def stage1_func(self):
        """Launches the first stage."""
        return self._stages.get("stage1_func") or self._stage(1)[0]

    @stage1_func.setter
    def stage1_func(self, value):
        self._stages["stage1_func"] = value

    @property
    def stage2_func(self):
        """Launches the second stage."""
        return self._stages.get("stage2_func") or self._stage(2)[0]

    @stage2_func.setter
    def stage2_func(self, value):
        self._stages["stage2_func"] = value

    @property
    def stage1_arg_types(self) -> list[str]:
        """Format codes of the first stage's arguments."""
        return [argument.struct_char for argument in self._arguments]

    @property
    def stage2_arg_types(self) -> list[str]:
        """Format codes of the second stage's arguments."""
        return ["P", *self.stage1_arg_types]

    @property
    def stage_1_inf(self) -> SimpleNamespace:
        """source and kernel name of the first stage."""
        text, name = self._text, f"{self.name}_stage1"
        code = kernels.stage_source(
            dtype_to_ctype(self.dtype_out),
            self.block_size,
            text.neutral,
            text.reduce_expr,
            text.map_expr,
            self._arguments,
            name,
            text.preamble,
        )
        return SimpleNamespace(source=code, name=name)


# ---- ready-made kernels


def _accumulator(dtype):
    """The dtype of sums if it is not that of the result: float32 for float16; otherwise None."""
    return np.float32 if np.dtype(dtype) == np.float16 else None


def _cast(ctype: str, text: str, dtype_from, dtype_to) -> str:
    """The C++ expression `text` of dtype_from, converted to dtype_to, whose C type is `ctype`."""
    if np.dtype(dtype_to).kind == "c" and np.dtype(dtype_from).kind != "c":
        return f"{ctype}(({ctype}::value_type) {text})"
    return f"(({ctype}) {text})"


def _sum_kernel(dtype_out, product, arguments, name):
    """A kernel of the sum of the map_expr `product`."""
    return ReductionKernel(
        dtype_out, "0", "a+b", product, arguments, name, _accumulator=_accumulator(dtype_out)
    )


def _sum_type(dtype_out) -> np.dtype:
    return np.dtype(_accumulator(dtype_out) or dtype_out)


@context_dependent_memoize
def get_sum_kernel(dtype_out, dtype_in):
    """The kernel of the sum of an array. dtype_out None: the array's dtype. Half is summed up in float."""
    dtype_out = np.dtype(dtype_in if dtype_out is None else dtype_out)
    text = _cast(dtype_to_ctype(_sum_type(dtype_out)), "in[i]", dtype_in, _sum_type(dtype_out))
    return _sum_kernel(dtype_out, text, [VectorArg(dtype_in, "in")], "sum")


@context_dependent_memoize
def get_subset_sum_kernel(dtype_out, dtype_subset, dtype_in):
    """The kernel of the sum of an array's elements at some indices: of (indices, array)."""
    dtype_out = np.dtype(dtype_in if dtype_out is None else dtype_out)
    text = _cast(dtype_to_ctype(_sum_type(dtype_out)), "in[lookup_tbl[i]]", dtype_in, _sum_type(dtype_out))
    arguments = [VectorArg(dtype_subset, "lookup_tbl"), VectorArg(dtype_in, "in")]
    return _sum_kernel(dtype_out, text, arguments, "subset_sum")


def _product(dtype_out, dtype_a, dtype_b, index: str) -> str:
    """The map_expr a[index] * b[index] in the dtype in which the products are summed."""
    wide = _sum_type(dtype_out)
    ctype = dtype_to_ctype(wide)
    a, b = _cast(ctype, f"a[{index}]", dtype_a, wide), _cast(ctype, f"b[{index}]", dtype_b, wide)
    return f"{a}*{b}"


def _dot_dtypes(dtype_out, dtype_a, dtype_b):
    """(dtype_out, dtype_a, dtype_b), with those that are None derived from the others."""
    if dtype_a is None and dtype_b is None:
        if dtype_out is None:
            raise ValueError("at least one of dtype_out, dtype_a and dtype_b is required")
        dtype_a = dtype_b = dtype_out
    dtype_a = dtype_b if dtype_a is None else dtype_a
    dtype_b = dtype_a if dtype_b is None else dtype_b
    dtype_out = np.result_type(dtype_a, dtype_b) if dtype_out is None else dtype_out
    return np.dtype(dtype_out), np.dtype(dtype_a), np.dtype(dtype_b)


@context_dependent_memoize
def get_dot_kernel(dtype_out, dtype_a=None, dtype_b=None):
    """The kernel of the sum of products of two arrays, without conjugation. dtype_out None: what both have in
    common.
    """
    dtype_out, dtype_a, dtype_b = _dot_dtypes(dtype_out, dtype_a, dtype_b)
    arguments = [VectorArg(dtype_a, "a"), VectorArg(dtype_b, "b")]
    return _sum_kernel(dtype_out, _product(dtype_out, dtype_a, dtype_b, "i"), arguments, "dot")


@context_dependent_memoize
def get_subset_dot_kernel(dtype_out, dtype_subset, dtype_a=None, dtype_b=None):
    """The kernel of the sum of products at some indices: of (indices, a, b)."""
    dtype_out, dtype_a, dtype_b = _dot_dtypes(dtype_out, dtype_a, dtype_b)
    arguments = [VectorArg(dtype_subset, "lookup_tbl"), VectorArg(dtype_a, "a"), VectorArg(dtype_b, "b")]
    return _sum_kernel(
        dtype_out, _product(dtype_out, dtype_a, dtype_b, "lookup_tbl[i]"), arguments, "subset_dot"
    )


def _is_not_zero(dtype) -> str:
    return f"in[i] != ({dtype_to_ctype(dtype)}) 0"


@context_dependent_memoize
def get_any_kernel(dtype_out, dtype_in):
    """The kernel that says whether an element is not 0."""
    return ReductionKernel(
        dtype_out, "false", "a || b", _is_not_zero(dtype_in), [VectorArg(dtype_in, "in")], "any"
    )


@context_dependent_memoize
def get_all_kernel(dtype_out, dtype_in):
    """The kernel that says whether no element is 0."""
    return ReductionKernel(
        dtype_out, "true", "a && b", _is_not_zero(dtype_in), [VectorArg(dtype_in, "in")], "all"
    )


def get_minmax_neutral(what: str, dtype) -> str:
    """CUDA C for what changes no minimum (what "min") or maximum ("max") of this dtype. TypeError when that
    has no order, ValueError for another word.
    """
    dtype = np.dtype(dtype)
    if what not in ("min", "max"):
        raise ValueError(f"what is {what!r}: it must be 'min' or 'max'")
    if dtype.kind == "f":
        return f"{'' if what == 'min' else '-'}__int_as_float(0x7f800000)"
    if dtype.kind == "b":
        return "true" if what == "min" else "false"
    if dtype.kind not in "iu":
        raise TypeError(f"{dtype} has no order, so no minimum or maximum")
    info = np.iinfo(dtype)
    if what == "min":
        return f"{info.max}{'u' if dtype.kind == 'u' else ''}{'ll' if dtype.itemsize == 8 else ''}"
    return f"(-{info.max}{'ll' if dtype.itemsize == 8 else ''}-1)" if dtype.kind == "i" else "0"


def _smaller_or_larger(what: str, dtype) -> str:
    """The expression of the smaller, or larger, of a and b. If one of them is NaN, the other one."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return f"f{what}(a, b)" if dtype.itemsize == 8 else f"f{what}f(a, b)"
    return f"a {'<' if what == 'min' else '>'} b ? a : b"


@context_dependent_memoize
def get_minmax_kernel(what: str, dtype):
    """The kernel of the smallest ("min") or largest ("max") element; NaN is ignored. TypeError for complex
    numbers and structures.
    """
    return ReductionKernel(
        dtype,
        get_minmax_neutral(what, dtype),
        _smaller_or_larger(what, dtype),
        "in[i]",
        [VectorArg(dtype, "in")],
        f"{what}_kernel",
        _accumulator=_accumulator(dtype),
    )


@context_dependent_memoize
def get_subset_minmax_kernel(what: str, dtype, dtype_subset):
    """The kernel of the smallest or largest element at some indices. Its arguments are the indices and the
    array."""
    arguments = [VectorArg(dtype_subset, "lookup_tbl"), VectorArg(dtype, "in")]
    return ReductionKernel(
        dtype,
        get_minmax_neutral(what, dtype),
        _smaller_or_larger(what, dtype),
        "in[lookup_tbl[i]]",
        arguments,
        f"subset_{what}_kernel",
        _accumulator=_accumulator(dtype),
    )


_name_public_module(globals())
