"""Kernels that do the same to every element of some arrays."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, NamedTuple

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda._base.public_names import documented_init as _documented_init
from pycuda._base.public_names import name_public_module as _name_public_module
from pycuda._driver import _views
from pycuda._kernels.plans import layout, sharing
from pycuda._kernels.plans.caches import ContextCache, current, launch_cache, remembering
from pycuda._kernels.user import elementwise as kernels
from pycuda._kernels.user import operands, parsing, variables
from pycuda._kernels.user import ready_made as _ready
from pycuda._kernels.user.elementwise import (
    get_elwise_kernel,
    get_elwise_kernel_and_types,
    get_elwise_module,
    get_elwise_range_module,
)
from pycuda._kernels.user.ready_made import *  # noqa: F403
from pycuda.tools import ScalarArg, VectorArg, context_dependent_memoize, dtype_to_ctype

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pycuda._array.core.types import Stream
    from pycuda._kernels.user.c_types import Argument

    _Arguments = str | Sequence[Argument]


__all__ = [
    "ElementwiseKernel",
    "ScalarArg",
    "VectorArg",
    "context_dependent_memoize",
    "dtype_to_ctype",
    "get_elwise_kernel",
    "get_elwise_kernel_and_types",
    "get_elwise_module",
    "get_elwise_range_module",
    *_ready.__all__,
]


def __dir__() -> list[str]:
    return __all__


_MAX_GRID = 2**31 - 1


class _Reading(NamedTuple):
    """The arguments of a kernel and what its text says."""

    arguments: list
    positions: tuple[int, ...]  # of the vectors
    vectors: list
    pick: object  # arguments of a call -> its vectors
    analysis: parsing.Analysis


class _LaunchPlan(NamedTuple):
    """The launch for calls with arguments of one form."""

    launch: object
    grid: tuple
    block: tuple
    tail: tuple  # the kernel's arguments after those of the call
    copies: tuple = ()  # (position among the arguments, count as sharing.copy takes it)


def _read(arguments, text: kernels.ElementwiseText) -> _Reading:
    """What is known of a kernel before its source is made: its arguments, and how the statements use them."""
    arguments = parsing.read_arguments(arguments)
    positions, vectors, pick = kernels.vectors_of(arguments)
    if not positions:
        raise AssertionError(
            f"{text.name}: an elementwise kernel needs a pointer among its arguments, which determines the "
            "size"
        )
    texts = (text.operation, text.loop_prep, text.after_loop)
    analysis = parsing.analyse([vector.name for vector in vectors], texts, text.preamble)
    return _Reading(arguments, positions, vectors, pick, analysis)


@_documented_init
class ElementwiseKernel(variables.OneModule):
    """A function over arrays, made of what is done for one index.

    Parameters
    ----------
    arguments : str or list of VectorArg and ScalarArg
        A C argument list, as in ``"float a, float *x, float *z"``. Pointers are arrays.
    operation : str
        CUDA C, one or more statements, run for each index ``i`` of the ``n`` elements: ``"z[i] = a * x[i]"``.
        ``tid``, ``cta_start`` and ``total_threads`` are the thread's number in its block, the number of the
        block's first thread, and the number of all threads. A call with ``range=`` or ``slice=`` has
        ``start``, ``stop`` and ``step`` in place of ``n``.
    name : str
        Of the kernel, as profilers and errors show it.
    keep, options
        As `pycuda.compiler.SourceModule` takes them.
    preamble, loop_prep, after_loop : str
        CUDA C++ at file scope, and before and after each thread's loop.

    Notes
    -----
    Compiled at the first call, once for each context and layout of arguments. An error of the compiler
    shows the user's own lines.

    The *first vector* gives the number of elements ``n``. Arrays that are all C-contiguous, or all
    F-contiguous, are walked as they lie in memory, whatever their shapes. In all other cases ``x[k]`` is
    element k of the array in C order, through any strides. An array with fewer elements that is only read,
    and only as ``x[i]``, is broadcast to the shape of the first. A shorter array that is written, or does
    not broadcast, is refused unless a condition on ``i`` may keep the kernel within it. Longer arrays are
    used from their start.

    Examples
    --------
    >>> import numpy as np
    >>> from pycuda import gpuarray
    >>> x = gpuarray.to_gpu(np.arange(4, dtype=np.float32))
    >>> z = gpuarray.empty_like(x)
    >>> double = ElementwiseKernel("const float *x, float *z", "z[i] = 2 * x[i]", "double_each")
    >>> double(x, z)
    >>> z.get()
    array([0., 2., 4., 6.], dtype=float32)
    """

    def __init__(
        self,
        arguments: _Arguments,
        operation: str,
        name: str = "kernel",
        keep: bool = False,
        options: Sequence[str] | None = None,
        *,
        preamble: str = "",
        loop_prep: str = "",
        after_loop: str = "",
    ) -> None:
        self.name = name
        self._given = arguments if isinstance(arguments, str) else list(arguments)
        texts = {
            "operation": operation,
            "preamble": preamble,
            "loop_prep": loop_prep,
            "after_loop": after_loop,
        }
        self._text = kernels.ElementwiseText(name=name, **parsing.texts(**texts))
        self._keep, self._options = keep, options
        self._reading: _Reading | None = None
        self._functions = ContextCache()
        self._launches = launch_cache((-1,))  # finds nothing; replaced when the arguments are read

    # ---- calls

    @remembering
    def __call__(
        self,
        *args: Any,
        range: builtins.range | builtins.slice | None = None,
        slice: builtins.slice | None = None,
        stream: Stream = None,
    ) -> None:
        """Run the operation for every index.

        Parameters
        ----------
        *args
            As declared: GPUArrays, other libraries' arrays on the device, and numbers. More than were
            declared are ignored, as PyCUDA does.
        range : slice, optional
            Indices ``start, stop, step`` in place of all; negative steps go downwards.
        slice : slice, optional
            The same, as Python counts: negative numbers from the end of the first vector.
        stream : Stream, optional
            The stream on which the kernel is queued.

        Raises
        ------
        TypeError
            An argument is missing, is not an array on the device, or has another dtype than was declared.
        ValueError
            An array is too short for the indices.
        RuntimeError
            The text uses an array as a pointer that is not contiguous.
        CompileError
            The text does not compile.
        """
        if range is None and slice is None:
            try:
                if self._launches.launch(args, stream, None):
                    return
                plan = self._launches.find(args)
                if plan is not None:
                    _run(plan, args, stream)
                    return
            except TypeError:
                self._describe(args)  # raises a more specific error
                raise
        views = _views(args, stream)
        if views is not args:
            self(*views, range=range, slice=slice, stream=stream)
            return
        self._call(args, range, slice, stream)

    def _call(self, args, range_, slice_, stream) -> None:
        """A call whose launch is not remembered."""
        reading = self._read()
        if len(args) < len(reading.arguments):
            raise operands.missing_argument(self.name, reading.arguments, len(args))
        args = args[: len(reading.arguments)]
        layouts = self._describe(args)
        if range_ is not None or slice_ is not None:
            self._call_range(
                args, layouts, operands.indices(self.name, range_, slice_, layouts[0][0]), stream
            )
            return
        _run(self._plan(args, layouts, stream), args, stream)

    def _read(self) -> _Reading:
        """The parsed arguments. They are parsed, and the cache of launches is made, at the first use: types
        of arguments may be registered until then.
        """
        if self._reading is None:
            self._reading = _read(self._given, self._text)
            self._one_module = self._one_module or self._reading.analysis.stateful
            uses = self._reading.analysis.uses
            written = tuple(
                position
                for position, vector in zip(self._reading.positions, self._reading.vectors, strict=True)
                if uses[vector.name].written
            )
            self._launches = launch_cache(self._reading.positions, written=written)
        return self._reading

    def _describe(self, args) -> list[tuple]:
        """(shape, strides, dtype) of each vector among the arguments. TypeError as __call__ says."""
        reading = self._reading
        uses = reading.analysis.uses
        return [
            operands.describe(value, argument, self.name, uses[argument.name].written)
            for value, argument in zip(reading.pick(args), reading.vectors, strict=True)
        ]

    def _walk(self, layouts, guarded: bool) -> layout.Walk:
        """How the kernel walks over vectors of these shapes and strides."""
        analysis = self._reading.analysis
        parts = [
            layout.Operand(vector.name, analysis.uses[vector.name], shape, strides, dtype.itemsize)
            for vector, (shape, strides, dtype) in zip(self._reading.vectors, layouts, strict=True)
        ]
        with operands.NamedErrors(self.name):
            return layout.arrange(
                parts, order_free=analysis.order_free, guarded=guarded, plain_only=self._one_module
            )

    def _plan(self, args, layouts, stream) -> _LaunchPlan:
        """The plan for arrays of these layouts that overlap in the same way. It is remembered for later
        calls.
        """
        analysis = self._reading.analysis
        walk = self._walk(layouts, analysis.guarded)
        if walk.size == 0:
            return _LaunchPlan(_nothing, (1, 1), (1, 1, 1), ())
        shared = self._sharing(args, walk, range(walk.size))
        plan = self._copying(args, shared.copies, stream) if shared.copies else None
        if plan is None:
            plan = self._streaming(walk, shared.same) or self._looping(walk)
        if plan.copies:
            self._launches.remember(args, plan)
        else:
            self._launches.remember(args, None, (plan.launch, plan.grid, plan.block, plan.tail, None))
        return plan

    def _sharing(self, args, walk: layout.Walk, indices: builtins.range) -> sharing.Sharing:
        """What the arrays have in common. ValueError as __call__ says."""
        reading = self._reading
        linear = _linear(walk, len(reading.vectors))
        vectors = [
            sharing.Vector(vector.name, reading.analysis.uses[vector.name], array, linear[k])
            for k, (vector, array) in enumerate(zip(reading.vectors, reading.pick(args), strict=True))
        ]
        with operands.NamedErrors(self.name):
            for vector in vectors:
                sharing.check_written(vector)
            return sharing.find_shared_memory(vectors, indices, reading.analysis.conditional)

    def _looping(self, walk: layout.Walk, indices: builtins.range | None = None, constant=()) -> _LaunchPlan:
        """PyCUDA's loop, over all elements or a range of indices. constant: names of vectors that the
        compiler keeps from being written to.
        """
        signature = walk.signature if walk.geometry else None
        if indices is None:
            kind, count, numbers = "strided" if walk.geometry else "plain", walk.size, (walk.size,)
        else:
            kind, count = "range", len(indices)
            numbers = indices.start, indices.stop, indices.step
        grid, block = gpuarray.splay(count)
        launch = self._function((kind, signature, constant))
        return _LaunchPlan(launch, grid, block, (*numbers, *_geometry(walk)))

    def _streaming(self, walk: layout.Walk, same) -> _LaunchPlan | None:
        """A kernel whose threads process several elements at a time. None if there are too few elements, or
        if it could give other results. same: as of sharing.Sharing.
        """
        analysis, vectors = self._reading.analysis, self._reading.vectors
        if same is None or walk.size < kernels.STREAMING_FROM or analysis.own_loop or self._one_module:
            return None
        tiling = kernels.stream_tiling(vectors, analysis.uses) if walk.plain else kernels.DISJOINT
        variant = ("streaming", same, tiling) if walk.plain else ("disjoint", walk.signature, same)
        try:
            launch = self._function(variant)
        except drv.CompileError:
            # A vector that the text seems only to read may be written after all, which the compiler refuses
            # here.
            return None
        grid = min(max(walk.size // tiling.tile, 1), _MAX_GRID), 1
        return _LaunchPlan(launch, grid, (kernels.THREADS, 1, 1), (walk.size, *_geometry(walk)))

    def _copying(self, args, copies, stream, indices: builtins.range | None = None) -> _LaunchPlan | None:
        """A plan with copies of some vectors, as `sharing.find_shared_memory` asks for them. None when these
        may be written to after all, or when there may be no other module.
        """
        reading = self._reading
        if self._one_module:
            return None
        copies = tuple((reading.positions[k], count) for k, count in copies)
        args = _with_copies(copies, args, stream)
        layouts = [(array.shape, array.strides, array.dtype) for array in reading.pick(args)]
        walk = self._walk(layouts, guarded=reading.analysis.guarded or indices is not None)
        same = self._sharing(args, walk, range(walk.size)).same if indices is None else None
        constant = tuple(reading.arguments[position].name for position, _ in copies)
        try:
            plan = self._streaming(walk, same) or self._looping(walk, indices, constant)
        except drv.CompileError:
            return None
        return plan._replace(copies=copies)

    def _call_range(self, args, layouts, indices: builtins.range, stream) -> None:
        """Launches for the indices of a range alone."""
        analysis = self._reading.analysis
        walk = self._walk(layouts, guarded=True)
        if not indices:
            return
        if not analysis.guarded:
            self._check_range(layouts, walk, indices)
        copies = self._sharing(args, walk, indices).copies
        plan = self._copying(args, copies, stream, indices) if copies else None
        _run(plan or self._looping(walk, indices), args, stream)

    def _check_range(self, layouts, walk: layout.Walk, indices: builtins.range) -> None:
        """ValueError when an index is in no vector that is used with it."""
        low, high = min(indices[0], indices[-1]), max(indices[0], indices[-1])
        for vector, (shape, strides, dtype) in zip(self._reading.vectors, layouts, strict=True):
            use = self._reading.analysis.uses[vector.name]
            part = layout.Operand(vector.name, use, shape, strides, dtype.itemsize)
            length = (
                part.size
                if part.size >= walk.size or not layout.is_broadcast(part, layouts[0][0])
                else walk.size
            )
            if use.indexed and (low < 0 or high >= length):
                raise ValueError(
                    f"{self.name}: the range goes from index {low} to {high}, the argument {vector.name!r} "
                    f"has {length} elements"
                )

    # ---- code

    def _function(self, variant):
        """prepared_async_call of the kernel of this variant, compiled for the current context."""
        key = current(), variant
        function = self._functions.get(key)
        if function is None:
            function = self._functions[key] = self._build(variant).prepared_async_call
        return function

    def _build(self, variant):
        """The function of one variant of the kernel in the current context. variant: kind of loop, the
        layout's signature (None if contiguous), how vectors are accessed (depends on the kind).
        """
        reading, (kind, signature, how) = self._reading, variant
        if signature is None and not how:
            return self.generate_stride_kernel_and_types(kind == "range")[1]
        more = kernels.RANGE if kind == "range" else [kernels.SIZE]
        uses, bytes_of_geometry = reading.analysis.uses, 0
        if kind == "streaming":
            text = kernels.streaming_source(reading.arguments, self._text, uses, signature, how)
        elif signature is None:
            text = kernels.plain_source([*reading.arguments, *more], self._text, kind == "range", how)
        elif kind == "disjoint":
            text = kernels.strided_disjoint_source(reading.arguments, self._text, signature, uses, how)
            bytes_of_geometry = layout.geometry_bytes(signature)
        else:
            text = kernels.strided_source(reading.arguments, self._text, signature, kind == "range", how)
            bytes_of_geometry = layout.geometry_bytes(signature)
        module = kernels.module(text, self._keep, self._options)
        extra = f"{bytes_of_geometry}s" if bytes_of_geometry else ""
        return kernels.prepared(module, self.name, [*reading.arguments, *more], extra)

    def generate_stride_kernel_and_types(self, use_range: bool):
        """The module, prepared function and arguments of the kernel for contiguous arrays.

        Parameters
        ----------
        use_range : bool
            Whether it is the kernel that calls with ``range=`` and ``slice=`` launch.

        Returns
        -------
        (module, function, arguments)
            The same objects at every call in a context.
        """
        self._read()
        key = current(), ("module", bool(use_range))
        found = self._functions.get(key)
        if found is None:
            text = self._text
            found = self._functions[key] = get_elwise_kernel_and_types(
                self._reading.arguments,
                text.operation,
                self.name,
                self._keep,
                self._options,
                bool(use_range),
                preamble=text.preamble,
                loop_prep=text.loop_prep,
                after_loop=text.after_loop,
            )
        return found

    def get_texref(self, name: str, use_range: bool = False):
        """The texture reference of that name, which the preamble declares.

        Parameters
        ----------
        name : str
        use_range : bool
            Whether it is for calls with ``range=`` or ``slice=``, which have a module of their own.

        Returns
        -------
        pycuda.driver.TextureReference
        """
        return self._only_module(use_range).get_texref(name)

    @variables.documented("use_range", "``range=`` or ``slice=``")
    def get_global(self, name: str, use_range: bool = False) -> tuple[int, int]:
        return self._only_module(use_range).get_global(name)

    def _module(self, other: bool):
        return self.generate_stride_kernel_and_types(other)[0]


def _geometry(walk: layout.Walk) -> tuple:
    """The kernel's argument with the strides of the arrays, in a tuple; empty if they are contiguous."""
    return (walk.geometry,) if walk.geometry else ()


def _linear(walk: layout.Walk, count: int) -> list[bool]:
    """Whether element i of a vector is i elements after its first one, for each of `count` vectors."""
    return [True] * count if walk.plain else [group is None for group in walk.signature[2]]


def _with_copies(copies, args, stream) -> list:
    """The arguments, with copies of some of the arrays."""
    args = list(args)
    for position, count in copies:
        args[position] = sharing.copy(args[position], count, stream)
    return args


def _run(plan: _LaunchPlan, args, stream) -> None:
    """Queue the launch of a plan, and the copies that it needs."""
    if plan.copies:
        args = _with_copies(plan.copies, args, stream)
    plan.launch(plan.grid, plan.block, stream, *args, *plan.tail)


def _nothing(*_args) -> None:
    """The launch for no elements."""


_name_public_module(globals())
