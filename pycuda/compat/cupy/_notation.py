"""CuPy's notation of kernels, translated to PyCUDA's.

A parameter list is "T x, raw T y, float32 z": type or type letter, name. A parameter that is not raw is the
element at the index, so its name becomes name[i] in the text; raw ones are pointers; numbers are themselves.
The texts that come out are those of pycuda.elementwise and pycuda.reduction, whose kernels read and write
arrays in any layout.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from pycuda.gpuarray import GPUArray
from pycuda.tools import dtype_to_ctype


class Parameter(NamedTuple):
    """A parameter of a kernel."""

    name: str
    type_name: str
    dtype: np.dtype | None  # None for a type letter
    raw: bool


def parameters(text: str) -> list[Parameter]:
    """The parameters of a list in CuPy's notation.

    Raises
    ------
    ValueError
        For what is not in the notation.
    """
    found = []
    for part in filter(None, map(str.strip, text.split(","))):
        words = part.split()
        raw = words[0] == "raw"
        if len(words) - raw != 2 or not words[-1].isidentifier():
            raise ValueError(f"{part!r} is no parameter of a kernel: 'T x', 'float32 x' or 'raw T x'")
        type_name, name = words[-2:]
        if name in ("i", "n", "_ind") or name.startswith("pycuda_"):
            raise ValueError(f"a parameter cannot be called {name!r}")
        letter = len(type_name) == 1 and type_name.isupper()
        found.append(Parameter(name, type_name, None if letter else np.dtype(type_name), raw))
    return found


def _dtype(value: Any) -> np.dtype:
    return value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype


def bound_types(declared: list[Parameter], values: list[Any]) -> dict[str, np.dtype]:
    """The dtype of each type letter: that of the arrays and NumPy scalars whose parameters have the letter;
    if there are none, that of the first Python number.

    Raises
    ------
    TypeError
        Two arrays of one letter have different dtypes.
    """
    types: dict[str, np.dtype] = {}
    pairs = [(each, value) for each, value in zip(declared, values, strict=False) if each.dtype is None]
    strong = [pair for pair in pairs if hasattr(pair[1], "dtype")]
    for each, value in strong:
        if types.setdefault(each.type_name, _dtype(value)) != _dtype(value):
            raise TypeError(
                f"Type is mismatched: {each.name} is {_dtype(value)}, {each.type_name} "
                f"{types[each.type_name]} before"
            )
    for each, value in pairs:
        types.setdefault(each.type_name, _dtype(value))
    return types


def dtype_of(each: Parameter, types: dict[str, np.dtype]) -> np.dtype:
    """The dtype of a parameter.

    Raises
    ------
    ValueError
        No operand says what the type letter is.
    """
    if each.dtype is not None:
        return each.dtype
    if each.type_name not in types:
        raise ValueError(f"no operand says what type {each.type_name} is, which {each.name} has")
    return types[each.type_name]


def checked(each: Parameter, value: Any, types: dict[str, np.dtype]) -> Any:
    """An operand in the dtype of its parameter: an array as it is, a number converted.

    Raises
    ------
    TypeError
        For an array of another dtype, or one in host memory.
    """
    dtype = dtype_of(each, types)
    if isinstance(value, GPUArray):
        if value.dtype != dtype:
            raise TypeError(f"Type is mismatched: {each.name} is {value.dtype}, not {dtype}")
        return value
    if isinstance(value, np.ndarray) and value.ndim:
        raise TypeError(f"{each.name} is in host memory: copy it with asarray()")
    if each.raw:
        raise TypeError(f"{each.name} is raw: it must be an array, not {type(value).__name__}")
    return dtype.type(value)


def typedefs(types: dict[str, np.dtype], preamble: str) -> str:
    """The preamble, with the types that letters stand for."""
    lines = [f"typedef {dtype_to_ctype(dtype)} {letter};" for letter, dtype in sorted(types.items())]
    return "\n".join([*lines, preamble])


# The pattern of a name that is not a member (x.name, x->name, x::name) and not a part of a longer name.
_NAME = r"(?<![\w.])(?<!->)(?<!::){}\b"


def translated(
    text: str, declared: list[Parameter], indexed: set[str], types: dict[str, np.dtype]
) -> tuple[str, set[str]]:
    """(the text in PyCUDA's notation, names of raw parameters whose size it asks for).

    indexed: the names of those that are arrays and not raw.
    """
    text = re.sub(r"\b_ind\.size\(\)", "((ptrdiff_t)n)", text)
    text = re.sub(_NAME.format("i"), "((ptrdiff_t)i)", text)
    sizes = set()
    for each in declared:
        name = _NAME.format(re.escape(each.name))
        if each.raw:
            asked = re.compile(name + r"\.size\(\)")
            if asked.search(text):
                sizes.add(each.name)
                text = asked.sub(f"((ptrdiff_t)pycuda_size_{each.name})", text)
            text = re.sub(name, f"pycuda_{each.name}", text)
        elif each.name in indexed:
            text = re.sub(name, f"pycuda_{each.name}[i]", text)
    return text, sizes


def declaration(each: Parameter, types: dict[str, np.dtype], is_array: bool, sizes: set[str]) -> list[str]:
    """The C parameters of PyCUDA's kernel for a parameter: itself and, if its name is in `sizes`, its
    size.
    """
    c_type = dtype_to_ctype(dtype_of(each, types))
    size = [f"unsigned long long pycuda_size_{each.name}"] if each.name in sizes else []
    return [f"{c_type} *pycuda_{each.name}" if is_array else f"{c_type} {each.name}", *size]


def arguments(each: Parameter, value: Any, sizes: set[str]) -> list[Any]:
    """The arguments that go with declaration()."""
    return [value, *([np.uint64(value.size)] if each.name in sizes else [])]


def uses_index(text: str, declared: list[Parameter]) -> bool:
    """Whether the result depends on the order in which elements are numbered."""
    return any(each.raw for each in declared) or re.search(_NAME.format("i"), text) is not None


def contiguous(each: Parameter, value: Any) -> Any:
    """A raw operand as a C-contiguous array: a copy where it is none."""
    return value.copy("C") if each.raw and not value.flags.c_contiguous else value
