"""Kernels that do the same to every element of some arrays."""

from __future__ import annotations

import builtins
from typing import NamedTuple

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda._driver import _views
from pycuda._kernels import elementwise_ready as _ready
from pycuda._kernels import layout, operands, user
from pycuda._kernels import user_elementwise as source
from pycuda._kernels.caches import ContextCache, calls, remembering
from pycuda._kernels.elementwise_ready import *  # noqa: F403
from pycuda._kernels.user_elementwise import (
    get_elwise_kernel,
    get_elwise_kernel_and_types,
    get_elwise_module,
    get_elwise_range_module,
)
from pycuda.tools import ScalarArg, VectorArg, context_dependent_memoize, dtype_to_ctype

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

_LARGEST_GRID = 2**31 - 1
_current = drv.Context.get_current


class _Reading(NamedTuple):
    """The arguments of a kernel and what its text says."""

    arguments: list
    positions: tuple[int, ...]  # of the vectors
    vectors: list
    pick: object  # arguments of a call -> its vectors
    analysis: user.Analysis


class _Plan(NamedTuple):
    """What a call with arguments of one form launches."""

    launch: object  # None where stream_from decides
    grid: tuple
    block: tuple
    tail: tuple
    stream_from: object  # a function of the arguments that may know a faster launch, or None


def _read(arguments, text: source.Text) -> _Reading:
    arguments = user.read_arguments(arguments)
    positions, vectors, pick = source.vectors_of(arguments)
    if not positions:
        raise AssertionError(
            f"{text.name}: an elementwise kernel needs a pointer among its arguments: it gives the size"
        )
    texts = (text.operation, text.loop_prep, text.after_loop)
    analysis = user.analyse([vector.name for vector in vectors], texts, text.preamble)
    return _Reading(arguments, positions, vectors, pick, analysis)


class ElementwiseKernel:
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
        arguments,
        operation: str,
        name: str = "kernel",
        keep: bool = False,
        options=None,
        *,
        preamble: str = "",
        loop_prep: str = "",
        after_loop: str = "",
    ):
        self.name = name
        self._given = arguments if isinstance(arguments, str) else list(arguments)
        self._text = source.Text(operation, name, preamble, loop_prep, after_loop)
        self._keep, self._options = keep, options
        self._reading: _Reading | None = None
        self._functions = ContextCache()
        self._calls = calls((-1,))  # none, until the arguments are read

    # ---- calls

    @remembering
    def __call__(self, *args, range=None, slice=None, stream=None) -> None:
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
            Where the kernel is queued.

        Raises
        ------
        TypeError
            An argument is missing, is no array on the device, or has another dtype than was declared.
        ValueError
            An array is too short for the indices.
        RuntimeError
            The text uses an array as a pointer that is not contiguous.
        CompileError
            The text does not compile.
        """
        if range is None and slice is None:
            try:
                if self._calls.launch(args, stream, None):
                    return
                plan = self._calls.find(args)
                if plan is not None:
                    plan = plan.stream_from(plan, args)
                    plan.launch(plan.grid, plan.block, stream, *args, *plan.tail)
                    return
            except TypeError:
                self._describe(args)  # says it better
                raise
        views = _views(args, stream)
        if views is not args:
            self(*views, range=range, slice=slice, stream=stream)
            return
        self._call(args, range, slice, stream)

    def _call(self, args, range_, slice_, stream) -> None:
        """A call whose form was not seen before."""
        reading = self._read()
        if len(args) < len(reading.arguments):
            raise operands.missing(self.name, reading.arguments, len(args))
        args = args[: len(reading.arguments)]
        forms = self._describe(args)
        if range_ is not None and slice_ is not None:
            raise TypeError(f"{self.name}: range= and slice= exclude each other")
        if range_ is not None or slice_ is not None:
            self._call_range(args, forms, _indices(self.name, range_, slice_, forms[0][0]), stream)
            return
        plan = self._plan(args, forms)
        if plan.stream_from is not None:
            plan = plan.stream_from(plan, args)
        plan.launch(plan.grid, plan.block, stream, *args, *plan.tail)

    def _read(self) -> _Reading:
        """The arguments, which are parsed at the first use: their types may be registered until then."""
        if self._reading is None:
            self._reading = _read(self._given, self._text)
            self._calls = calls(self._reading.positions)
        return self._reading

    def _describe(self, args) -> list:
        """The forms of the vectors among the arguments. TypeError as __call__ says."""
        reading = self._reading
        uses = reading.analysis.uses
        return [
            operands.describe(value, argument, self.name, uses[argument.name].written)
            for value, argument in zip(reading.pick(args), reading.vectors, strict=True)
        ]

    def _walk(self, forms, guarded: bool) -> layout.Walk:
        analysis = self._reading.analysis
        parts = [
            layout.Operand(vector.name, analysis.uses[vector.name], shape, strides, dtype.itemsize)
            for vector, (shape, strides, dtype) in zip(self._reading.vectors, forms, strict=True)
        ]
        try:
            return layout.arrange(
                parts, order_free=analysis.order_free, guarded=guarded, plain_only=analysis.stateful
            )
        except (ValueError, RuntimeError) as problem:
            raise type(problem)(f"{self.name}: {problem}") from None

    def _plan(self, args, forms) -> _Plan:
        """The plan for arrays of these forms, remembered."""
        walk = self._walk(forms, self._reading.analysis.guarded)
        if walk.size == 0:
            return _Plan(_nothing, (1, 1), (1, 1, 1), (), None)
        analysis = self._reading.analysis
        streams = walk.size >= source.STREAMING_FROM and not (analysis.own_loop or analysis.stateful)
        launch = None if streams else self._function(_variant(walk))
        grid, block = gpuarray.splay(walk.size)
        tail = (walk.size, walk.geometry) if walk.geometry else (walk.size,)
        plan = _Plan(launch, grid, block, tail, _Streams(self, forms, walk) if streams else None)
        self._remember(args, plan)
        return plan

    def _remember(self, args, plan: _Plan) -> None:
        """The launch, or what decides about it."""
        if plan.stream_from is not None:
            self._calls.remember(args, plan)
        else:
            self._calls.remember(args, None, (plan.launch, plan.grid, plan.block, plan.tail, None))

    def _call_range(self, args, forms, indices: builtins.range, stream) -> None:
        analysis = self._reading.analysis
        walk = self._walk(forms, guarded=True)
        if not indices:
            return
        if not analysis.guarded:
            self._check_range(forms, walk, indices)
        launch = self._function(("range", walk.signature if walk.geometry else None))
        grid, block = gpuarray.splay(len(indices))
        tail = (indices.start, indices.stop, indices.step)
        launch(grid, block, stream, *args, *tail, *((walk.geometry,) if walk.geometry else ()))

    def _check_range(self, forms, walk: layout.Walk, indices: builtins.range) -> None:
        """ValueError when an index is in no vector that is used with it."""
        low, high = min(indices[0], indices[-1]), max(indices[0], indices[-1])
        for vector, (shape, strides, dtype) in zip(self._reading.vectors, forms, strict=True):
            use = self._reading.analysis.uses[vector.name]
            part = layout.Operand(vector.name, use, shape, strides, dtype.itemsize)
            length = (
                part.size if part.size >= walk.size or not layout.broadcasts(part, forms[0][0]) else walk.size
            )
            if use.indexed and (low < 0 or high >= length):
                raise ValueError(
                    f"{self.name}: the range goes from index {low} to {high}, the argument {vector.name!r} "
                    f"has {length} elements"
                )

    # ---- code

    def _function(self, variant):
        """prepared_async_call of the kernel of this variant, compiled for the current context."""
        key = _current(), variant
        function = self._functions.get(key)
        if function is None:
            function = self._functions[key] = self._build(variant).prepared_async_call
        return function

    def _build(self, variant):
        reading, kind = self._reading, variant[0]
        if kind == "plain" or variant == ("range", None):
            return self.generate_stride_kernel_and_types(kind == "range")[1]
        if kind == "streaming":
            _, same, shape = variant
            text = source.streaming(reading.arguments, self._text, reading.analysis.uses, same, shape)
            more, bytes_of_geometry = [source.SIZE], 0
        elif kind == "apart":
            _, signature, same = variant
            text = source.strided_apart(reading.arguments, self._text, signature, reading.analysis.uses, same)
            more, bytes_of_geometry = [source.SIZE], layout.geometry_bytes(signature)
        else:
            text = source.strided(reading.arguments, self._text, variant[1], kind == "range")
            more = source.RANGE if kind == "range" else [source.SIZE]
            bytes_of_geometry = layout.geometry_bytes(variant[1])
        module = source.module(text, self._keep, self._options)
        extra = f"{bytes_of_geometry}s" if bytes_of_geometry else ""
        return source.prepared(module, self.name, [*reading.arguments, *more], extra)

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
        key = _current(), ("module", bool(use_range))
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
        return self.generate_stride_kernel_and_types(use_range)[0].get_texref(name)


def _variant(walk: layout.Walk) -> tuple:
    """The kernel for arrays that may overlap."""
    return ("strided", walk.signature) if walk.geometry else ("plain",)


def _nothing(*_args) -> None:
    """The launch for no elements."""


def _indices(name: str, range_, slice_, shape) -> builtins.range:
    """The indices of a call with range= or slice=."""
    given, what = (range_, "range") if slice_ is None else (slice_, "slice")
    if not isinstance(given, builtins.slice):
        raise TypeError(f"{name}: {what}= is {given!r}: it may be a slice object, as in slice(0, 10, 2)")
    if slice_ is not None:
        size = 1
        for length in shape:
            size *= length
        return builtins.range(*given.indices(size))
    if given.start is None or given.stop is None:
        raise TypeError(f"{name}: range= needs a start and a stop; slice= fills them in")
    return builtins.range(given.start, given.stop, 1 if given.step is None else given.step)


class _Streams:
    """Whether a call with long arrays can be streamed: looks at where they are."""

    def __init__(self, kernel: ElementwiseKernel, forms, walk: layout.Walk):
        self.kernel, self.walk = kernel, walk
        self.extents = [operands.extent(0, shape, strides, dtype.itemsize) for shape, strides, dtype in forms]
        self.dtypes = [dtype for _, _, dtype in forms]
        reading = kernel._reading
        self.shape = source.streaming_shape(reading.vectors, reading.analysis.uses)
        self.written = [reading.analysis.uses[vector.name].written for vector in reading.vectors]

    def __call__(self, plan: _Plan, args) -> _Plan:
        same, walk = self._same(self.kernel._reading.pick(args)), self.walk
        if same is None:
            return plan._replace(launch=self.kernel._function(_variant(walk)))
        try:
            variant = ("streaming", same, self.shape) if walk.plain else ("apart", walk.signature, same)
            launch = self.kernel._function(variant)
        except drv.CompileError:
            # What reads as read-only may be none after all: the plain kernel has no such assumption.
            plan = plan._replace(launch=self.kernel._function(_variant(walk)), stream_from=None)
            self.kernel._remember(args, plan)
            return plan
        tile = (self.shape if walk.plain else source.APART).tile
        grid = min(max(walk.size // tile, 1), _LARGEST_GRID), 1
        return plan._replace(launch=launch, grid=grid, block=(source.THREADS, 1, 1))

    def _same(self, vectors):
        """For each vector the position of the first that begins where it does. None when two overlap
        otherwise, of which one is written.
        """
        starts = [operands.address(vector) for vector in vectors]
        places = [
            (start + low, start + high) for start, (low, high) in zip(starts, self.extents, strict=True)
        ]
        same = list(builtins.range(len(starts)))
        for b in builtins.range(1, len(starts)):
            for a in builtins.range(b):
                if places[a][1] <= places[b][0] or places[b][1] <= places[a][0]:
                    continue
                if starts[a] == starts[b] and self.dtypes[a] == self.dtypes[b]:
                    same[b] = min(same[b], same[a])
                elif self.written[a] or self.written[b]:
                    return None
        return tuple(same)
