"""Elementwise operations: from name and dtypes to a compiled kernel.

ext/gpuarray/elementwise.c asks twice, and remembers: `resolve` for the dtypes of the loop, `build` for the
kernel of one layout. Kernels are of two kinds (pycuda/cuda/pycuda-elementwise.hpp has their parameter
blocks): flat ones, for operands that are dense in one order, read 16 bytes at a time; strided ones take any
strides.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pycuda._kernels import elements
from pycuda._kernels.functions import TABLE, Function

THREADS = 256

# Kinds of kernels, in the order of C's enum Layout: flat with 16-byte accesses, flat without, then strided
# ones by number # of axes, first with indices of 32 bits, then of 64.
STRIDED_AXES = (1, 2, 3, 4, 8, 64)


class Loop(NamedTuple):
    """What one operation on given dtypes comes to."""

    function: Function
    storage: tuple[np.dtype, ...]  # of the arrays and scalars: outputs first
    compute: tuple[np.dtype, ...]  # what they are converted to
    scalars: tuple[bool, ...]


def _stored(dtype: np.dtype) -> str:
    return elements.raw(dtype) if elements.kind(dtype) == "V" else elements.stored(dtype)


def _computed(dtype: np.dtype) -> str:
    return elements.raw(dtype) if elements.kind(dtype) == "V" else elements.computed(dtype)


def _loop_dtypes(row: Function, operands: tuple, dtype):
    """NumPy's choice: inputs, then outputs."""
    if not isinstance(row.rule, np.ufunc):
        return row.rule(*operands)
    signature = None if dtype is None else (*(None,) * row.rule.nin, *(dtype,) * row.rule.nout)
    if signature is None:
        return row.rule.resolve_dtypes((*operands, *(None,) * row.rule.nout))
    return row.rule.resolve_dtypes((*operands, *(None,) * row.rule.nout), signature=signature)


def _check_output(row: Function, result: np.dtype, out: np.dtype, casting: Any) -> None:
    if not np.can_cast(result, out, casting):
        raise TypeError(
            f"{row.name} gives {result}, which is not cast to {out} under the rule {casting!r}: "
            f"use an array of another dtype, or astype"
        )


def _check_moved(name: str, storage: list[np.dtype]) -> None:
    """What is no number is copied as it is."""
    moved = {each for each in storage if elements.kind(each) == "V"}
    if len(moved) > 1:
        raise TypeError(f"{storage[1]} is not converted to another dtype on the device")
    if moved and any(elements.kind(each) != "V" for each in storage[:2]):
        raise TypeError(f"{name}: no conversion between {storage[0]} and {storage[1]}")


def resolve(name: str, operands: tuple, outputs: tuple, dtype, casting: str):
    """(loop, dtypes of new outputs, dtypes that scalars are given in).

    operands: a dtype for each array and NumPy scalar, int, float or complex for Python's numbers, and a
    second tuple entry that tells scalars. outputs: the dtypes of `out`, None for what is to be made.
    """
    row = TABLE.get(name)
    if row is None:
        raise TypeError(f"there is no elementwise function {name!r}")
    kinds = tuple(operand for operand, _ in operands)
    scalars = tuple(scalar for _, scalar in operands)
    found = _loop_dtypes(row, kinds, dtype)
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
        _stored(each)
    _check_moved(name, storage)
    # Outputs are cast once more: from what the loop gives to what is stored.
    loop = Loop(row, tuple(storage), tuple(compute), (*(False,) * len(results), *scalars))
    return loop, tuple(storage[: len(results)]), tuple(storage[len(results) :])


def _operation(loop: Loop) -> str:
    """`operation`, from computed operands to computed results."""
    outputs, inputs = loop.function.outputs, len(loop.compute) - loop.function.outputs
    body = loop.function.body[elements.kind(loop.compute[outputs])]
    if outputs == 1:
        body = f"x = static_cast<X0>({body})" if elements.kind(loop.compute[0]) != "V" else f"x = {body}"
    results = [f"X{k} &{'xy'[k]}" for k in range(outputs)]
    operands = [f"const L{k + 1} &{'abc'[k]}" for k in range(inputs)]
    return f"PYCUDA_INLINE void operation({', '.join(results + operands)})\n{{\n    {body};\n}}\n"


def _types(loop: Loop) -> str:
    """T0.. of what is stored (outputs first), X and L of what is computed. Of the first operand: R1, the real
    type, and S1, as which its dtype is stored."""
    outputs = loop.function.outputs
    lines = ["using namespace pycuda;"]
    lines += [f"typedef {_stored(dtype)} T{k};" for k, dtype in enumerate(loop.storage)]
    for k, dtype in enumerate(loop.compute):
        name = f"X{k}" if k < outputs else f"L{k - outputs + 1}"
        lines.append(f"typedef {_computed(dtype)} {name};")
    lines.append(f"typedef {_stored(loop.compute[outputs])} S1;")
    lines.append(f"typedef {elements.real(_computed(loop.compute[outputs]))} R1;")
    lines.append("#define TRUE(v) pycuda::convert<bool>(v)")
    return "\n".join(lines) + "\n"


def _step(loop: Loop, read: str, write: str) -> str:
    """One element: operands read, converted, combined, results converted and written."""
    outputs = loop.function.outputs
    lines = [f"X{k} x{k};" for k in range(outputs)]
    operands = []
    for k in range(outputs, len(loop.storage)):
        value = f"s{k}" if loop.scalars[k] else read.format(k=k)
        lines.append(f"const L{k - outputs + 1} a{k} = pycuda::convert<L{k - outputs + 1}>({value});")
        operands.append(f"a{k}")
    lines.append(f"operation({', '.join([f'x{k}' for k in range(outputs)] + operands)});")
    lines += [write.format(k=k, value=f"pycuda::convert<T{k}>(x{k})") for k in range(outputs)]
    return " ".join(lines)


def _scalars(loop: Loop) -> str:
    return "".join(
        f"    const T{k} s{k} = pycuda::slot_value<T{k}>(p.slots[{k}]);\n"
        for k, scalar in enumerate(loop.scalars)
        if scalar
    )


def _single(loop: Loop) -> str:
    return _step(
        loop,
        "pycuda::load<T{k}, 1>(p, {k}, i).at[0]",
        "pycuda::slot_address<T{k}>(p.slots[{k}])[i] = {value};",
    )


def _flat_once(loop: Loop, name: str, rounds: int) -> str:
    """With the operation written once, element after element: for those that take long to compile."""
    return f"""extern "C" __global__ void __launch_bounds__({THREADS})
{name}(const pycuda::Flat<{len(loop.storage)}> p)
{{
    const unsigned long long first = blockIdx.x * ({THREADS}ull * {rounds});
    const unsigned long long next = first + {THREADS}ull * {rounds};
{_scalars(loop)}#pragma unroll 1
    for (unsigned long long i = first + threadIdx.x; i < (next < p.n ? next : p.n); i += {THREADS}) {{
        {_single(loop)}
    }}
}}
"""


def _flat(loop: Loop, name: str, vector: int, rounds: int) -> str:
    count = len(loop.storage)
    single = _single(loop)
    arrays = [k for k, scalar in enumerate(loop.scalars) if not scalar]
    inputs = [k for k in arrays if k >= loop.function.outputs]
    loads = "".join(
        f"            const pycuda::Vector<T{k}, V> v{k} = pycuda::load<T{k}, V>(p, {k}, i);\n"
        for k in inputs
    )
    results = "".join(f"            pycuda::Vector<T{k}, V> v{k};\n" for k in range(loop.function.outputs))
    stores = "".join(
        f"            pycuda::store<T{k}, V>(p, {k}, i, v{k});\n" for k in range(loop.function.outputs)
    )
    return f"""extern "C" __global__ void __launch_bounds__({THREADS}) {name}(const pycuda::Flat<{count}> p)
{{
    const int V = {vector}, U = {rounds};
    const unsigned long long first = blockIdx.x * ({THREADS}ull * V * U);
{_scalars(loop)}    if (first + {THREADS}ull * V * U <= p.n) {{
#pragma unroll
        for (int u = 0; u < U; u++) {{
            const unsigned long long i = first + (u * {THREADS} + threadIdx.x) * V;
{loads}{results}#pragma unroll
            for (int v = 0; v < V; v++) {{ {_step(loop, "v{k}.at[v]", "v{k}.at[v] = {value};")} }}
{stores}        }}
    }} else {{
        for (unsigned long long i = first + threadIdx.x; i < p.n; i += {THREADS}) {{
            {single}
        }}
    }}
}}
"""


def _strided(loop: Loop, name: str, axes: int, wide: bool, rounds: int, unroll: int) -> str:
    count = len(loop.storage)
    address = "*(const T{k} *)(pycuda::slot_address<const char>(p.slots[{k}]) + at[{k}])"
    target = "*(T{k} *)(pycuda::slot_address<char>(p.slots[{k}]) + at[{k}]) = {value};"
    return f"""extern "C" __global__ void __launch_bounds__({THREADS})
{name}(const pycuda::Strided<{count}, {axes}> p)
{{
    const unsigned long long first = blockIdx.x * ({THREADS}ull * {rounds}) + threadIdx.x;
{_scalars(loop)}#pragma unroll {unroll}
    for (int u = 0; u < {rounds}; u++) {{
        const unsigned long long i = first + u * {THREADS};
        if (i < p.n) {{
            long long at[{count}];
            pycuda::find_offsets<{str(wide).lower()}>(p, i, at);
            {_step(loop, address, target)}
        }}
    }}
}}
"""


def _has_complex(loop: Loop) -> bool:
    return any(dtype.kind == "c" for dtype in (*loop.storage, *loop.compute))


def source(loop: Loop, layout: int) -> tuple[str, str, int]:
    """(source, name of the kernel, elements a block)"""
    name = f"elementwise_{loop.function.name}"
    widest = max(dtype.itemsize for dtype in (*loop.storage, *loop.compute))
    long = loop.function.complex_functions and loop.compute[loop.function.outputs].kind == "c"
    head = elements.include(*map(_stored, (*loop.storage, *loop.compute)))
    if long:
        head += '#include "pycuda-complex-functions.hpp"\n'
    head += '#include "pycuda-elementwise.hpp"\n'
    head += _types(loop) + _operation(loop)
    if layout < 2 and long:
        return head + _flat_once(loop, name, 4), name, THREADS * 4
    if layout < 2:
        vector = max(1, 16 // widest) if layout == 0 else 1
        rounds = max(1, 8 // vector) if widest < 16 else 4
        return head + _flat(loop, name, vector, rounds), name, THREADS * vector * rounds
    wide, which = divmod(layout - 2, len(STRIDED_AXES))
    rounds = 4
    text = _strided(loop, name, STRIDED_AXES[which], bool(wide), rounds, 1 if long else rounds)
    return head + text, name, THREADS * rounds


def build(loop: Loop, layout: int) -> tuple[Any, int]:
    """(Function in the current context, elements a block)"""
    from pycuda.compiler import SourceModule

    text, name, elements = source(loop, layout)
    # A product of complex numbers is NumPy's: overflow, and zeros that are exact, depend on every rounding.
    options = ["-fmad=false"] if _has_complex(loop) else None
    module = SourceModule(text, options=options, no_extern_c=True)
    return module.get_function(name), elements
