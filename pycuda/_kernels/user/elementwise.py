"""The source of elementwise kernels: PyCUDA's loop, and two of our own, around the user's statements.

    plain      PyCUDA's kernel: a thread computes one element in each round; arrays are plain pointers
    strided    the same loop; elements are found through the strides of arrays
    streaming  for long arrays that do not overlap: in each round a thread accesses 16 bytes of each array

In a streaming kernel x[i] may be a register. If x is only read, as x[i], the element is loaded together with
its neighbors; if a statement x[i] = ... is reached for every i, it is stored together with them. Otherwise x
is a pointer.
"""

from __future__ import annotations

from operator import itemgetter
from typing import NamedTuple

import numpy as np

from pycuda._base.driver_extras import CompileError
from pycuda._compile.modules import SourceModule
from pycuda._kernels.plans.axes import elements_per_access
from pycuda._kernels.user import parsing
from pycuda._kernels.user.c_types import ScalarArg, VectorArg, dtype_to_ctype

# Threads of a block of a streaming kernel.
THREADS = 256
# Arrays of this many elements are streamed. For shorter ones a plain kernel has as many loads in flight as
# there are elements.
STREAMING_FROM = 1 << 17
# The bytes that a thread of a streaming kernel should load before it computes, and the maximum number of
# rounds for that.
_BYTES_IN_FLIGHT, _MAX_ROUNDS = 32, 4

SIZE = ScalarArg(np.uintp, "n")
RANGE = [ScalarArg(np.intp, name) for name in ("start", "stop", "step")]


def vectors_of(arguments):
    """(positions of the VectorArgs, the VectorArgs, a function that returns the vectors among a call's
    arguments)."""
    positions = tuple(k for k, argument in enumerate(arguments) if isinstance(argument, VectorArg))
    if len(positions) > 1:
        pick = itemgetter(*positions)
    else:

        def pick(args):
            return (args[positions[0]],)

    return positions, [arguments[k] for k in positions], pick


class ElementwiseText(NamedTuple):
    """The user's text of a kernel."""

    operation: str
    name: str = "kernel"
    preamble: str = ""
    loop_prep: str = ""
    after_loop: str = ""

    def _with_own_lines(self, what: str, text: str) -> str:
        """The text between directives, so that the compiler counts its lines on their own."""
        return f"{parsing.line(f'{what} of {self.name}')}{text}\n;{parsing.line(f'kernel {self.name}')}"

    def body(self) -> str:
        """The operation, with its own line numbers."""
        return self._with_own_lines("operation", self.operation)

    def prepare(self) -> str:
        """The part of the source before the loop."""
        return self._with_own_lines("loop_prep", self.loop_prep) if self.loop_prep else ""

    def finish(self) -> str:
        """The part of the source after the loop."""
        return self._with_own_lines("after_loop", self.after_loop) if self.after_loop else ""


# Variables that PyCUDA's kernels have, and the user's text may use.
_PYCUDAS_NAMES = """
  const unsigned tid = threadIdx.x;
  const unsigned total_threads = gridDim.x * blockDim.x;
  const unsigned cta_start = blockDim.x * blockIdx.x;
  (void)tid; (void)total_threads; (void)cta_start;
"""


def _loop(text: ElementwiseText) -> str:
    """PyCUDA's loop around the statements."""
    return f"""{_PYCUDAS_NAMES}
  size_t i;
{text.prepare()}
  for (i = cta_start + tid; i < n; i += total_threads) {{{text.body()}
  }}
{text.finish()}"""


def _range_loop(text: ElementwiseText) -> str:
    """PyCUDA's loop over a range, whose step may be negative."""
    return f"""{_PYCUDAS_NAMES}
  long i;
{text.prepare()}
  if (step < 0) {{
    for (i = start + (long)(cta_start + tid) * step; i > stop; i += total_threads * step) {{{text.body()}
    }}
  }} else {{
    for (i = start + (long)(cta_start + tid) * step; i < stop; i += total_threads * step) {{{text.body()}
    }}
  }}
{text.finish()}"""


def _kernel(text: ElementwiseText, arguments, declarations, body: str, include="", layout="") -> str:
    """The whole source of a kernel with this body."""
    return f"""{parsing.headers(arguments)}{include}{parsing.line(f"preamble of {text.name}")}{text.preamble}
{parsing.line(f"kernel {text.name}")}
{parsing.size_checks(arguments)}{layout}
extern "C" __global__ void {text.name}({", ".join(declarations)})
{{{body}
}}
"""


def _declarator(argument, constant) -> str:
    return f"{'const ' if argument.name in constant else ''}{argument.declarator()}"


def plain_source(arguments, text: ElementwiseText, use_range=False, constant=()) -> str:
    """PyCUDA's kernel. arguments include n, or start, stop and step. constant: the names of vectors that are
    declared const."""
    declarations = [_declarator(argument, constant) for argument in arguments]
    return _kernel(text, arguments, declarations, _range_loop(text) if use_range else _loop(text))


# ---- arrays with strides


def pointers_of(vectors, constant=()):
    """The element types and parameters of vectors, for layout_of. Vectors whose names are in `constant` are
    only read."""
    return {
        v.name: (f"{'const ' if v.name in constant else ''}{dtype_to_ctype(v.dtype)}", f"pycuda_{v.name}")
        for v in vectors
    }


def layout_of(vectors, signature, pointers=None) -> tuple[str, str]:
    """(definition of the structure that layout.Walk packs as its geometry, declarations of the strided
    arrays), for a Walk's signature. The kernel's parameters are then pycuda_NAME for these arrays, and
    pycuda_at for the structure. pointers: for each name (element type, parameter), by default those of
    pointers_of().
    """
    pointers = pointers_of(vectors) if pointers is None else pointers
    wide, axes, groups = signature
    members = [f"pycuda::extent<{count}> shape{number};" for number, count in enumerate(axes)]
    names = []
    for argument, group in zip(vectors, groups, strict=True):
        if group is None:
            continue
        count, name = axes[group], argument.name
        ctype, parameter = pointers[name]
        members.append(f"pycuda::steps<{count}> {name};")
        names.append(
            f"  const pycuda::strided<{ctype}, {count}, {'true' if wide else 'false'}> "
            f"{name}({parameter}, pycuda_at.shape{group}, pycuda_at.{name});\n"
        )
    return f"struct __align__(16) pycuda_layout {{ {' '.join(members)} }};\n", "\n" + "".join(names)


def strided_source(arguments, text: ElementwiseText, signature, use_range=False, constant=()) -> str:
    """The strided kernel for a Walk's signature. arguments: the user's alone, without n. constant: the names
    of vectors that are declared const."""
    vectors = [argument for argument in arguments if isinstance(argument, VectorArg)]
    through = {
        argument.name for argument, group in zip(vectors, signature[2], strict=True) if group is not None
    }
    pointers = pointers_of(vectors, constant)
    layout, names = layout_of(vectors, signature, pointers)
    declarations = [
        " *".join(pointers[argument.name]) if argument.name in through else _declarator(argument, constant)
        for argument in arguments
    ]
    declarations += [argument.declarator() for argument in (RANGE if use_range else [SIZE])]
    declarations.append("const pycuda_layout pycuda_at")
    body = names + (_range_loop(text) if use_range else _loop(text))
    return _kernel(text, arguments, declarations, body, "#include <base/pycuda-strided.hpp>\n", layout)


# ---- long arrays


class StreamTiling(NamedTuple):
    """The tiling of a streaming kernel."""

    vector: int  # elements of an access
    rounds: int  # accesses to each array that a thread makes for a tile

    @property
    def tile(self) -> int:
        return THREADS * self.vector * self.rounds


# The tiling of strided_disjoint_source().
DISJOINT = StreamTiling(1, _MAX_ROUNDS)


def _tiled_loop(
    text: ElementwiseText, tiling: StreamTiling, outside, fits="", load="", lane="", store="", tail=""
) -> str:
    """A loop over whole tiles, unrolled, and one over the elements that are left. Inserted texts: `outside`
    before both loops; `fits`, a condition for the first one; `load` and `store` at the beginning and end of a
    tile; `lane` before the operation in the first loop, and `tail` before it in the second.
    """
    tile, step = tiling.tile, THREADS * tiling.vector
    return f"""
{outside}{text.prepare()}
  const size_t pycuda_tiled = true{fits} ? n - n % {tile} : 0;
  for (size_t pycuda_tile = blockIdx.x * (size_t){tile}; pycuda_tile < pycuda_tiled;
       pycuda_tile += gridDim.x * (size_t){tile}) {{
    const size_t pycuda_first = pycuda_tile + threadIdx.x * {tiling.vector};
{load}
#pragma unroll
    for (int pycuda_k = 0; pycuda_k < {tiling.vector * tiling.rounds}; pycuda_k++) {{
      const size_t i = pycuda_first + pycuda_k / {tiling.vector} * {step} + pycuda_k % {tiling.vector};
      (void)i;
{lane}{text.body()}
    }}
{store}
  }}
  for (size_t i = pycuda_tiled + blockIdx.x * (size_t){THREADS} + threadIdx.x; i < n;
       i += gridDim.x * (size_t){THREADS}) {{
{tail}{text.body()}
  }}
{text.finish()}"""


def stream_tiling(vectors, uses) -> StreamTiling:
    """The tiling for these vectors: the widest access holds whole elements of the largest dtype, and enough
    bytes are in flight."""
    sizes = [v.dtype.itemsize for v in vectors if uses[v.name].indexed]
    read = sum(v.dtype.itemsize for v in vectors if uses[v.name].indexed and not uses[v.name].written)
    vector = elements_per_access(max(sizes)) if sizes else 1
    rounds = 1
    while rounds < _MAX_ROUNDS and rounds * vector * max(read, 8) < _BYTES_IN_FLIGHT:
        rounds *= 2
    return StreamTiling(vector, rounds)


class _Streamed(NamedTuple):
    """The texts of one vector in a streaming kernel: `parameter` is its declaration as a parameter, the
    others are inserted by _tiled_loop()."""

    parameter: str
    outside: str = ""
    fits: str = ""  # its address is aligned for whole vectors
    load: str = ""
    lane: str = ""
    store: str = ""
    tail: str = ""


def _stream_declarations(
    name: str, ctype: str, first: str, use: parsing.Use, tiling: StreamTiling
) -> _Streamed:
    """The texts for the vector `name`, whose array is that of the vector `first`, perhaps itself. use: how
    all vectors that are this array are used together.
    """
    const = "" if use.written else "const "
    own = name == first
    parameter = f"{const}{ctype} *{'__restrict__ ' if own else ''}pycuda_{name}"
    pointer = f"pycuda_{first}"
    if not use.indexed or (use.written and not use.assigned):
        return _Streamed(parameter, f"  {const}{ctype} *const {name} = {pointer};\n")
    held, step = f"pycuda_lanes_{first}", THREADS * tiling.vector
    at = f"(pycuda_{first} + pycuda_first, {step});\n"
    lanes = f"pycuda::lanes<{ctype}, {tiling.vector}, {tiling.rounds}>"
    declaration = f"    {lanes} {held};\n"
    load = declaration + (f"    {held}.load{at}" if use.read else "")
    return _Streamed(
        parameter,
        fits=f" && {lanes}::fit(pycuda_{first})" if own else "",
        load=load if own else "",
        lane=f"      const pycuda::here<{const}{ctype}> {name}({held}(pycuda_k));\n",
        store=f"    {held}.store{at}" if own and use.assigned else "",
        tail=f"    {const}{ctype} *const {name} = pycuda_{first};\n",
    )


def _merge_uses(uses) -> parsing.Use:
    """How an array is used that is passed for several vectors. uses: those of the vectors."""
    indexed, subscripted, written, assigned, _, stored = map(list, zip(*uses, strict=True))
    return parsing.Use(
        all(indexed),
        all(subscripted),
        any(written),
        # Each vector that is written must be assigned for every i.
        any(written) and all(a for a, w in zip(assigned, written, strict=True) if w),
        # One vector may be read before another one is assigned: the old elements are needed.
        len(uses) > 1 or uses[0].read,
        any(stored),
    )


def streaming_source(arguments, text: ElementwiseText, uses, same, tiling: StreamTiling) -> str:
    """The streaming kernel, for arrays that do not overlap unless they are the same: same[k] is the number of
    the first vector that is the same array as vector k.
    """
    vectors = [argument for argument in arguments if isinstance(argument, VectorArg)]
    parts = [
        _stream_declarations(
            vector.name,
            dtype_to_ctype(vector.dtype),
            vectors[same[k]].name,
            _merge_uses([uses[v.name] for v, first in zip(vectors, same, strict=True) if first == same[k]]),
            tiling,
        )
        for k, vector in enumerate(vectors)
    ]
    parameters = {vector.name: part.parameter for vector, part in zip(vectors, parts, strict=True)}
    declarations = [parameters.get(argument.name) or argument.declarator() for argument in [*arguments, SIZE]]

    def joined(field):
        return "".join(getattr(part, field) for part in parts)

    body = _tiled_loop(
        text,
        tiling,
        **{field: joined(field) for field in ("outside", "fits", "load", "lane", "store", "tail")},
    )
    return _kernel(text, arguments, declarations, body, "#include <base/pycuda-streaming.hpp>\n")


def strided_disjoint_source(arguments, text: ElementwiseText, signature, uses, same) -> str:
    """The strided kernel for arrays that do not overlap unless they are the same (`same`: as in
    streaming_source()). A thread loads the elements of several rounds before it computes.
    """
    vectors = [argument for argument in arguments if isinstance(argument, VectorArg)]
    written = {first for vector, first in zip(vectors, same, strict=True) if uses[vector.name].written}
    pointers, parameters, plain_names = {}, {}, ""
    for k, (vector, group) in enumerate(zip(vectors, signature[2], strict=True)):
        name, first = vector.name, f"pycuda_{vectors[same[k]].name}"
        ctype = f"{'' if same[k] in written else 'const '}{dtype_to_ctype(vector.dtype)}"
        pointers[name] = ctype, first
        parameters[name] = f"{ctype} *{'__restrict__ ' if same[k] == k else ''}pycuda_{name}"
        if group is None:
            plain_names += f"  {ctype} *const {name} = {first};\n"
    layout, names = layout_of(vectors, signature, pointers)
    declarations = [parameters.get(argument.name) or argument.declarator() for argument in [*arguments, SIZE]]
    declarations.append("const pycuda_layout pycuda_at")
    body = _tiled_loop(text, DISJOINT, names + plain_names)
    return _kernel(text, arguments, declarations, body, "#include <base/pycuda-strided.hpp>\n", layout)


# ---- modules and functions


def get_elwise_module(
    arguments,
    operation,
    name="kernel",
    keep=False,
    options=None,
    preamble="",
    loop_prep="",
    after_loop="",
):
    """Compile PyCUDA's elementwise loop around an operation.

    Parameters
    ----------
    arguments : list of VectorArg and ScalarArg
        All arguments of the kernel, the last of which is the number of elements, ``n``.
    operation : str
        CUDA C: for each index ``i``.
    name : str
        Of the kernel.
    keep, options
        As `pycuda.compiler.SourceModule` takes them.
    preamble, loop_prep, after_loop : str
        CUDA C: at file scope, before and after the loop.

    Returns
    -------
    pycuda.compiler.SourceModule

    Raises
    ------
    pycuda.driver.CompileError
        With the user's own lines.
    """
    text = ElementwiseText(operation, name, preamble, loop_prep, after_loop)
    return module(plain_source(parsing.read_arguments(arguments), text), keep, options)


def get_elwise_range_module(
    arguments,
    operation,
    name="kernel",
    keep=False,
    options=None,
    preamble="",
    loop_prep="",
    after_loop="",
):
    """`get_elwise_module` for a kernel that goes from ``start`` to ``stop`` by ``step``; those three are
    the last of the arguments, of type ``long``.
    """
    text = ElementwiseText(operation, name, preamble, loop_prep, after_loop)
    return module(plain_source(parsing.read_arguments(arguments), text, use_range=True), keep, options)


def module(source: str, keep, options):
    """The SourceModule of a source whose kernels are extern "C". The message of a CompileError begins with
    brackets of the user's texts that do not match."""
    try:
        return SourceModule(source, keep=keep, options=options, no_extern_c=True)
    except CompileError as error:
        error.stderr = parsing.open_brackets(source) + (error.stderr or "")
        raise


def prepared(module, name: str, arguments, more: str = ""):
    """The kernel of a module, prepared for these arguments and further ones. more: the type codes of the
    latter."""
    return module.get_function(name)._prepare_strided(
        "".join(argument.struct_char for argument in arguments) + more
    )


def get_elwise_kernel_and_types(
    arguments, operation, name="kernel", keep=False, options=None, use_range=False, **kwargs
):
    """Compile and prepare an elementwise kernel.

    Parameters
    ----------
    arguments : str or list of VectorArg and ScalarArg
        Without the size or range, which is appended (to a list of our own).
    operation, name, keep, options
        As for `get_elwise_module`.
    use_range : bool
        Whether the kernel takes ``start, stop, step`` in place of ``n``.
    **kwargs
        preamble, loop_prep, after_loop of `get_elwise_module`.

    Returns
    -------
    (module, function, arguments)
        The function is prepared; the arguments are all that it takes.
    """
    arguments = [*parsing.read_arguments(arguments), *(RANGE if use_range else [SIZE])]
    make = get_elwise_range_module if use_range else get_elwise_module
    compiled = make(arguments, operation, name, keep, options, **kwargs)
    return compiled, prepared(compiled, name, arguments), arguments


def get_elwise_kernel(arguments, operation, name="kernel", keep=False, options=None, **kwargs):
    """The prepared function of an elementwise kernel, called as
    ``function.prepared_async_call(a._grid, a._block, stream, *arguments, a.mem_size)``. Parameters as for
    `get_elwise_kernel_and_types`.
    """
    return get_elwise_kernel_and_types(arguments, operation, name, keep, options, **kwargs)[1]
