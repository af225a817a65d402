"""Elementwise operations: from name and dtypes to a compiled kernel.

ext/gpuarray/elementwise.c calls two functions and remembers their results: resolve() for the dtypes of the
loop, build_elementwise() for the kernel of one layout. The layouts, and the parameters of their kernels, are
the rows of core/layout/elementwise_layouts.def.
"""

from __future__ import annotations

import textwrap
from typing import Any, NamedTuple

import numpy as np

from pycuda._compile.requests import default_options
from pycuda._driver import _LAYOUT_THREADS, _LAYOUTS, _PARAMETER_AXES, _PARAMETER_HEAD, _PARAMETER_SLOT
from pycuda._kernels.builtin import elements
from pycuda._kernels.builtin.functions import TABLE, FloatLoops, Function, ufunc_dtypes
from pycuda._kernels.plans.axes import elements_per_access

# Bytes of shared memory that a block may have on every device.
_MAX_SHARED = 48 << 10
# Bytes of a row of a tile, at most: two cache lines, which the accesses of a warp use in full.
_TILE_ROW_BYTES = 256

_INTEGERS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


class Loop(NamedTuple):
    """An operation on given dtypes. The tuples have an element for each operand, outputs first."""

    function: Function
    storage: tuple[np.dtype, ...]  # of the arrays and scalars
    compute: tuple[np.dtype, ...]  # what inputs are converted to, and the operation's outputs are
    scalars: tuple[bool, ...]  # whether the operand is a scalar


def _stored_type(dtype: np.dtype) -> str:
    return elements.raw(dtype) if elements.kind(dtype) == "V" else elements.stored(dtype)


def _computed_type(dtype: np.dtype) -> str:
    return elements.raw(dtype) if elements.kind(dtype) == "V" else elements.computed(dtype)


def _loop_dtypes(row: Function, operands: tuple, dtype, casting):
    """The dtypes of the loop as NumPy chooses them: inputs, then outputs."""
    if isinstance(row.rule, FloatLoops):
        return row.rule.dtypes(operands, dtype, casting)
    if not isinstance(row.rule, np.ufunc):
        return row.rule(*operands)
    if all(isinstance(operand, type) for operand in operands):
        operands = tuple(np.result_type(operand(0)) for operand in operands)
    return ufunc_dtypes(row.rule, operands, dtype, casting)


def _check_output(row: Function, result: np.dtype, out: np.dtype, casting: Any) -> None:
    if not np.can_cast(result, out, casting):
        name = getattr(row.rule, "__name__", row.name.removeprefix("special_"))
        raise TypeError(
            f"Cannot cast ufunc '{name}' output from {result!r} to {out!r} with casting rule {casting!r}"
        )


def _check_moved(name: str, storage: list[np.dtype]) -> None:
    """TypeError for a conversion of elements that are not numbers, which can only be copied. storage: dtypes,
    outputs first."""
    moved = {each for each in storage if elements.kind(each) == "V"}
    if len(moved) > 1:
        raise TypeError(f"{storage[1]} is not converted to another dtype on the device")
    if moved and any(elements.kind(each) != "V" for each in storage[:2]):
        raise TypeError(f"{name}: no conversion between {storage[0]} and {storage[1]}")


def _is_copied_as_integer(dtype: np.dtype) -> bool:
    """Whether an element is copied as an unsigned integer of its size. Not complex numbers, which are aligned
    only to the size of their parts."""
    return dtype.itemsize in _INTEGERS and dtype.kind != "c"


def resolve(name: str, operands: tuple, outputs: tuple, dtype, casting: Any = "same_kind"):
    """(loop, dtypes of the outputs, dtypes of the inputs as they are passed: scalars in that of the loop).

    operands: for each input (dtype, or int, float or complex for one of Python's numbers; whether it is a
    scalar). outputs: for each output the dtype of the array in `out`, or None for a new array.
    """
    row = TABLE.get(name)
    if row is None:
        raise TypeError(f"there is no elementwise function {name!r}")
    kinds = tuple(operand for operand, _ in operands)
    scalars = tuple(scalar for _, scalar in operands)
    found = _loop_dtypes(row, kinds, dtype, casting)
    inputs, results = found[: len(kinds)], list(found[len(kinds) :])
    if not isinstance(row.rule, np.ufunc) and dtype is not None:
        results = [np.dtype(dtype)] * len(results)
    if elements.kind(inputs[0]) not in row.body:
        raise TypeError(f"{name} is not defined for {inputs[0]}")
    compute = (*found[len(kinds) :], *inputs)
    storage = []
    for given, result in zip(outputs, results, strict=True):
        if given is not None:
            _check_output(row, result, given, casting)
        storage.append(result if given is None else given)
    for (operand, scalar), loop in zip(operands, inputs, strict=True):
        storage.append(loop if scalar else operand)
    for each in (*storage, *compute):
        _stored_type(each)
    _check_moved(name, storage)
    given, taken = tuple(storage[: len(results)]), tuple(storage[len(results) :])
    if name == "copy" and storage[0] == storage[1] and _is_copied_as_integer(storage[0]):
        # Copied as integers, NaNs keep their bits, and dtypes of one size share a kernel.
        storage = compute = [_INTEGERS[storage[0].itemsize]] * 2
    # `compute` of outputs: the loop's results, which are cast to `storage` when they are stored.
    loop = Loop(row, tuple(storage), tuple(compute), (*(False,) * len(results), *scalars))
    return loop, given, taken


def _operation(loop: Loop) -> str:
    """The C++ function operation(results..., operands...), all of computed types."""
    outputs, inputs = loop.function.outputs, len(loop.compute) - loop.function.outputs
    body = loop.function.body[elements.kind(loop.compute[outputs])]
    if outputs == 1:
        body = f"x = static_cast<X0>({body})" if elements.kind(loop.compute[0]) != "V" else f"x = {body}"
    results = [f"X{k} &{'xy'[k]}" for k in range(outputs)]
    operands = [f"const L{k + 1} &{'abcd'[k]}" for k in range(inputs)]
    return f"PYCUDA_INLINE void operation({', '.join(results + operands)})\n{{\n    {body};\n}}\n"


def _types(loop: Loop) -> str:
    """Typedefs: T0, T1, ... for stored operands (outputs first), X0, X1 for computed results, L1, L2, ... for
    computed inputs; for the first input R1, the type of its real part, and S1, the stored type of its loop
    dtype."""
    outputs = loop.function.outputs
    lines = ["using namespace pycuda;"]
    lines += [f"typedef {_stored_type(dtype)} T{k};" for k, dtype in enumerate(loop.storage)]
    for k, dtype in enumerate(loop.compute):
        name = f"X{k}" if k < outputs else f"L{k - outputs + 1}"
        lines.append(f"typedef {_computed_type(dtype)} {name};")
    lines.append(f"typedef {_stored_type(loop.compute[outputs])} S1;")
    lines.append(f"typedef {elements.real(_computed_type(loop.compute[outputs]))} R1;")
    lines.append("#define TRUE(v) pycuda::convert<bool>(v)")
    return "\n".join(lines) + "\n"


def _round_operand(loop: Loop, k: int, value: str) -> str:
    """The expression `value` of operand k, rounded to the dtype of the loop. That is needed if the dtype is
    computed in a wider type (float16 in float) and the operand is stored in another dtype."""
    dtype = loop.compute[k]
    exact = dtype == loop.storage[k] or _stored_type(dtype) == _computed_type(dtype)
    return value if exact else f"pycuda::convert<{_stored_type(dtype)}>({value})"


def _step(loop: Loop, read: str, write: str) -> str:
    """The statements for one element: read and convert the operands, call operation(), convert and write the
    results. read, write: templates with {k}, the number of the operand, and {value}."""
    outputs = loop.function.outputs
    lines = [f"X{k} x{k};" for k in range(outputs)]
    operands = []
    for k in range(outputs, len(loop.storage)):
        value = _round_operand(loop, k, f"p.s{k}" if loop.scalars[k] else read.format(k=k))
        lines.append(f"const L{k - outputs + 1} a{k} = pycuda::convert<L{k - outputs + 1}>({value});")
        operands.append(f"a{k}")
    lines.append(f"operation({', '.join([f'x{k}' for k in range(outputs)] + operands)});")
    for k in range(outputs):
        lines.append(write.format(k=k, value=f"pycuda::convert<T{k}>({_round_operand(loop, k, f'x{k}')})"))
    return " ".join(lines)


def _parameters(loop: Loop, axes: int = 0) -> str:
    """The parameter block, as core/layout/elementwise_layout.c fills it."""
    slot = f"alignas({_PARAMETER_SLOT})"
    fields = [f"{c_type} {field};" for c_type, field in _PARAMETER_HEAD]
    for k, scalar in enumerate(loop.scalars):
        fields.append(
            f"{slot} {'' if k < loop.function.outputs else 'const '}T{k} {'' if scalar else '*'}s{k};"
        )
    if axes:
        fields.append(f"{slot} pycuda::OperandAxes<{len(loop.storage)}, {axes}> axes;")
    return f"struct Parameters {{\n    {' '.join(fields)}\n}};\n"


def _operand_axes() -> str:
    """The macro with the members of the header's struct OperandAxes: N operands over D axes, the innermost
    last."""
    fields = (
        f"{c_type} {field}{'[N]' if per_operand else ''}[D];"
        for c_type, field, per_operand in _PARAMETER_AXES
    )
    return f"#define PYCUDA_OPERAND_AXES {' '.join(fields)}\n"


def _head(name: str) -> str:
    return f'extern "C" __global__ void __launch_bounds__({_LAYOUT_THREADS}) {name}(const Parameters p)'


def _vectors(loop: Loop, name: str, vector: int) -> str:
    """The kernel for dense arrays that are aligned to the widest access: a thread makes one access to each
    array. More were slower on every GPU that was tried."""
    outputs = loop.function.outputs
    inputs = [k for k, scalar in enumerate(loop.scalars) if k >= outputs and not scalar]
    vectors = "".join(f"        pycuda::Vector<T{k}, V> v{k};\n" for k in [*range(outputs), *inputs])
    loads = "".join(f"        v{k} = pycuda::vector_at<V>(p.s{k} + at);\n" for k in inputs)
    stores = "".join(f"        pycuda::vector_at<V>(p.s{k} + at) = v{k};\n" for k in range(outputs))
    return f"""{_parameters(loop)}{_head(name)}
{{
    const int V = {vector};
    const unsigned long long first = blockIdx.x * ({_LAYOUT_THREADS}ull * V), at = first + threadIdx.x * V;
    if (first + {_LAYOUT_THREADS} * V <= p.size) {{
{vectors}{loads}#pragma unroll
        for (int v = 0; v < V; v++) {{ {_step(loop, "v{k}.at[v]", "v{k}.at[v] = {value};")} }}
{stores}    }} else {{
#pragma unroll 1
        for (unsigned long long i = first + threadIdx.x; i < p.size; i += {_LAYOUT_THREADS}) {{
            {_step(loop, "p.s{k}[i]", "p.s{k}[i] = {value};")}
        }}
    }}
}}
"""


def _rows_kernel(loop: Loop, name: str, axes: int, vector: int) -> str:
    """The kernel for rows of dense arrays, by accesses of `vector` elements. p.marked: operands that have one
    element for a row."""
    outputs = loop.function.outputs
    inputs = [k for k, scalar in enumerate(loop.scalars) if k >= outputs and not scalar]
    vectors = "".join(f"    pycuda::Vector<T{k}, V> v{k};\n" for k in [*range(outputs), *inputs])
    loads = "".join(
        f"    pycuda::load_of_row(v{k}, (const char *)p.s{k} + at[{k}], p.marked >> {k} & 1);\n"
        for k in inputs
    )
    stores = "".join(
        f"    pycuda::vector_at<V>((T{k} *)((char *)p.s{k} + at[{k}])) = v{k};\n" for k in range(outputs)
    )
    return f"""{_parameters(loop, axes)}{_head(name)}
{{
    const int V = {vector};
    const unsigned first = (blockIdx.x * {_LAYOUT_THREADS}u + threadIdx.x) * V;
    if (first >= p.size) return;
    long long at[{len(loop.storage)}];
    pycuda::find_offsets(p.axes, first, at);
{vectors}{loads}#pragma unroll
    for (int v = 0; v < V; v++) {{ {_step(loop, "v{k}.at[v]", "v{k}.at[v] = {value};")} }}
{stores}}}
"""


def _in_rounds(loop: Loop, number: str, rounds: int, unroll: int, offsets: str, read: str, write: str) -> str:
    """The body of a kernel whose threads have `rounds` elements each, _LAYOUT_THREADS apart. offsets:
    statements that find element i[u], the one of round u. number: the type of indices. All loads come before
    the first store, as otherwise each round would wait for its loads. The last block, and with unroll 1 (for
    operations that take long to compile) every block, instead loops over the elements one by one.
    """
    outputs = loop.function.outputs
    inputs = [k for k, scalar in enumerate(loop.scalars) if k >= outputs and not scalar]
    step = _step(loop, read, write).replace("[u]", "[0]")
    one_by_one = f"""    {number} i[1] = {{first}};
#pragma unroll 1
    for (int u = 0; u < {rounds} && i[0] < n; u++, i[0] += {_LAYOUT_THREADS}) {{
{offsets.replace("[u]", "[0]")}        {step}
    }}
"""
    if unroll == 1:
        return one_by_one
    values = "".join(f"    T{k} v{k}[{rounds}];\n" for k in inputs)
    loads = " ".join(f"v{k}[u] = {read.format(k=k)};" for k in inputs)
    return f"""    if (first - threadIdx.x + {_LAYOUT_THREADS * rounds} > n) {{
{textwrap.indent(one_by_one, "    ")}        return;
    }}
    {number} i[{rounds}];
{values}#pragma unroll
    for (int u = 0; u < {rounds}; u++) {{
        i[u] = first + u * {_LAYOUT_THREADS};
{offsets}        {loads}
    }}
#pragma unroll
    for (int u = 0; u < {rounds}; u++) {{ {_step(loop, "v{k}[u]", write)} }}
"""


def _dense_kernel(loop: Loop, name: str, rounds: int, unroll: int) -> str:
    """The kernel for dense arrays. p.marked: the operands that are arrays of one element."""
    body = _in_rounds(
        loop, "unsigned long long", rounds, unroll, "", "p.s{k}[p.marked >> {k} & 1 ? 0 : i[u]]",
        "p.s{k}[i[u]] = {value};",
    )  # fmt: skip
    return f"""{_parameters(loop)}{_head(name)}
{{
    const unsigned long long first = blockIdx.x * ({_LAYOUT_THREADS}ull * {rounds}) + threadIdx.x, n = p.size;
{body}}}
"""


def _strided_kernel(loop: Loop, name: str, axes: int, wide: bool, rounds: int, unroll: int) -> str:
    """The kernel for operands of any strides: offsets are found for each element."""
    number = "unsigned long long" if wide else "unsigned"
    body = _in_rounds(
        loop, number, rounds, unroll, "        pycuda::find_offsets(p.axes, i[u], at[u]);\n",
        "*(const T{k} *)((const char *)p.s{k} + at[u][{k}])",
        "*(T{k} *)((char *)p.s{k} + at[u][{k}]) = {value};",
    )  # fmt: skip
    return f"""{_parameters(loop, axes)}{_head(name)}
{{
    const {number} n = ({number})p.size;
    const {number} first = blockIdx.x * ({number})({_LAYOUT_THREADS} * {rounds}) + threadIdx.x;
    long long at[{1 if unroll == 1 else rounds}][{len(loop.storage)}];
{body}}}
"""


def _tile_side(sizes: list[int]) -> int:
    """The side of a square tile. Its rows have at most _TILE_ROW_BYTES, and one tile of each operand, whose
    rows are padded by an element, fits into shared memory."""
    side = 64
    padding = 16 * len(sizes)
    while side > 16 and (
        side * max(sizes, default=1) > _TILE_ROW_BYTES
        or sum(sizes) * side * (side + 1) + padding > _MAX_SHARED
    ):
        side //= 2
    return side


def _tiles(loop: Loop, name: str, axes: int, unroll: int) -> tuple[str, int]:
    """(source, side of a tile). p.marked: operands that are contiguous along the last axis but one."""
    outputs = loop.function.outputs
    inputs = [k for k, scalar in enumerate(loop.scalars) if k >= outputs and not scalar]
    side = _tile_side([loop.storage[k].itemsize for k in inputs])
    rounds = side * side // _LAYOUT_THREADS
    shared = "".join(
        f"    __shared__ alignas(16) unsigned char raw{k}[SIDE * (SIDE + 1) * sizeof(T{k})];\n"
        f"    T{k} *const tile{k} = (T{k} *)raw{k};\n    T{k} v{k}[U];\n"
        for k in inputs
    )
    loads = "".join(
        f"    pycuda::load_tile<SIDE>(v{k}, tile{k}, p.marked >> {k} & 1, (const char *)p.s{k} + at[{k}],\n"
        f"        p.axes.strides[{k}][{axes - 2}], p.axes.strides[{k}][{axes - 1}], rows, columns);\n"
        for k in inputs
    )
    transposes = "".join(
        f"    if (p.marked >> {k} & 1) pycuda::transpose_tile<SIDE>(v{k}, tile{k});\n" for k in inputs
    )
    target = f"at[{{k}}] + y * p.axes.strides[{{k}}][{axes - 2}] + x * p.axes.strides[{{k}}][{axes - 1}]"
    step = _step(loop, "v{k}[u]", f"*(T{{k}} *)((char *)p.s{{k}} + {target}) = {{value}};")
    return (
        f"""{_parameters(loop, axes)}{_head(name)}
{{
    const int SIDE = {side}, U = {rounds};
    long long at[{len(loop.storage)}], rows, columns;
    pycuda::find_tile<SIDE>(p.axes, at, rows, columns);
{shared}{loads}    __syncthreads();
{transposes}#pragma unroll {unroll}
    for (int u = 0; u < U; u++) {{
        const int x = threadIdx.x % SIDE, y = threadIdx.x / SIDE + u * ({_LAYOUT_THREADS} / SIDE);
        if (y < rows && x < columns) {{ {step} }}
    }}
}}
""",
        side,
    )


def _has_complex(loop: Loop) -> bool:
    return any(dtype.kind == "c" for dtype in (*loop.storage, *loop.compute))


def _compiles_slowly(loop: Loop) -> bool:
    """Whether the operation takes long to compile: the functions of complex numbers do."""
    return loop.function.complex_functions and loop.compute[loop.function.outputs].kind == "c"


def elementwise_head(loop: Loop) -> str:
    """The beginning of a kernel's source: headers, the types of the loop, the function operation()."""
    text = elements.include(*map(_stored_type, (*loop.storage, *loop.compute)))
    if _compiles_slowly(loop):
        text += '#include "complex/pycuda-complex-functions.hpp"\n'
    text += _operand_axes() + '#include "array/pycuda-elementwise.hpp"\n'
    if loop.function.special:
        text += '#include "array/pycuda-special.hpp"\n'
    return text + _types(loop) + _operation(loop)


def elementwise_options(loop: Loop) -> list[str]:
    """The compiler's options. For complex numbers, multiply-adds are not fused: the results are to be
    NumPy's, whose overflow and exact zeros depend on every rounding."""
    return ["-fmad=false"] if _has_complex(loop) else default_options()


def elementwise_source(loop: Loop, layout: int) -> tuple[str, str, int]:
    """(source, name of the kernel, elements of a block; for the layout TILES the side of a tile). layout: a
    row of _LAYOUTS."""
    name = f"elementwise_{loop.function.name}"
    widest = max(dtype.itemsize for dtype in (*loop.storage, *loop.compute))
    slow, begin = _compiles_slowly(loop), elementwise_head(loop)
    kind, axes, wide = _LAYOUTS[layout]
    unroll = 1 if slow else 16
    if kind == "VECTOR" and not slow:
        vector = elements_per_access(widest)
        return begin + _vectors(loop, name, vector), name, _LAYOUT_THREADS * vector
    if kind == "ROWS" and not slow:
        vector = elements_per_access(widest)
        return begin + _rows_kernel(loop, name, axes, vector), name, _LAYOUT_THREADS * vector
    if kind == "TILES":
        text, side = _tiles(loop, name, axes, unroll)
        return begin + text, name, side
    by_strides = kind in ("STRIDED", "ROWS")
    rounds = 2 if by_strides and widest > 8 else 4
    unroll = min(unroll, rounds)
    if by_strides:
        text = _strided_kernel(loop, name, axes, wide, rounds, unroll)
    else:
        text = _dense_kernel(loop, name, rounds, unroll)
    return begin + text, name, _LAYOUT_THREADS * rounds


def build_elementwise(loop: Loop, layout: int) -> tuple[Any, int]:
    """(function in the current context, elements of a block or the side of a tile)"""
    from pycuda._kernels.plans.modules import compiled

    text, name, elements = elementwise_source(loop, layout)
    return compiled(text, elementwise_options(loop)).get_function(name), elements
