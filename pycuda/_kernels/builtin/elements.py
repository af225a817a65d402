"""The C types of elements: as they are stored, and as kernels compute with them (pycuda-elements.hpp)."""

from __future__ import annotations

import functools

import numpy as np

# The C types of a dtype, by its code: (stored, computed), or one type for both.
_PLAIN = {
    "b1": ("boolean", "bool"),
    "i1": "signed char",
    "i2": "short",
    "i4": "int",
    "i8": "long long",
    "u1": "unsigned char",
    "u2": "unsigned short",
    "u4": "unsigned",
    "u8": "unsigned long long",
    "f2": ("half_bits", "float"),
    "f4": "float",
    "f8": "double",
    "c8": "complex<float>",
    "c16": "complex<double>",
    "bfloat16": ("bfloat16_bits", "float"),
}
_COMPUTED = dict(types for types in _PLAIN.values() if isinstance(types, tuple))
_REAL = {"complex<float>": "float", "complex<double>": "double"}


@functools.cache
def _types(dtype) -> tuple[str, str]:
    """(C type of elements in memory, type in which they are computed). TypeError for other dtypes."""
    code = "bfloat16" if dtype.name == "bfloat16" else f"{dtype.kind}{dtype.itemsize}"
    try:
        found = _PLAIN[code]
    except KeyError:
        raise TypeError(f"kernels do not compute with elements of dtype {dtype}") from None
    return (found, found) if isinstance(found, str) else found


def kind(dtype) -> str:
    """The kind of a dtype's elements: "b" bool, "i" integers, "f" floats (bfloat16 too), "c" complex numbers,
    "V" for elements that are only moved: structures, bytes, dates and strings."""
    plain = dtype.kind
    if plain in "mMSU":
        return "V"
    if plain == "V":  # NumPy computes the name at each access
        return "f" if dtype.name == "bfloat16" else "V"
    return "i" if plain in "iu" else plain


def stored(dtype) -> str:
    """The C type of an element in memory. TypeError for dtypes that kernels do not compute with."""
    return _types(dtype)[0]


def computed(dtype) -> str:
    """The C type that an element becomes in a kernel."""
    return _types(dtype)[1]


def computed_from(c_type: str) -> str:
    """The C type that an element of this stored C type becomes."""
    return _COMPUTED.get(c_type, c_type)


def real(c_type: str) -> str:
    """The C type of the parts of a complex type; the type itself where it is real."""
    return _REAL.get(c_type, c_type)


def is_float(c_type: str) -> bool:
    """Whether there are NaNs of this type."""
    return real(c_type) in ("float", "double")


_WORDS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "unsigned long long"}


@functools.cache
def raw(dtype) -> str:
    """The C type by which elements of this dtype are moved: of their size, and aligned as they are."""
    alignment = dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize
    word = next(size for size in (8, 4, 2, 1) if alignment % size == 0)
    count = dtype.itemsize // word
    return _WORDS[word] if count == 1 else f"Bytes<{count}, {_WORDS[word]}>"


def include(*c_types: str) -> str:
    """The #include lines that these types need before other headers; an empty string if none."""
    if not any("complex" in name for name in c_types):
        return ""
    return '#define PYCUDA_COMPLEX_ARITHMETIC_ONLY\n#include "pycuda-complex.hpp"\n'


def code(c_type: str) -> str:
    """The format code of an argument of a computed type."""
    return _CODES[c_type]


def infinity(c_type: str, sign: str) -> str:
    """The largest value of a computed type as a C expression, or with sign "-" the smallest: an infinity if
    the type has one."""
    if c_type == "bool":
        return "false" if sign else "true"
    if not is_float(c_type):
        limits = np.iinfo(_INTEGERS[c_type])
        return (
            f"({c_type})({limits.min + 1}LL - 1)"
            if sign and limits.min
            else (f"({c_type}){0 if sign else limits.max}ULL")
        )
    part = f"{sign}__int_as_float(0x7f800000)"
    return f"{c_type}({part}, {part})" if "complex" in c_type else f"{c_type}({part})"


def nan(c_type: str) -> str:
    """NaN of a computed type; of a complex one in both parts."""
    part = "__int_as_float(0x7fc00000)"
    return f"{c_type}({part}, {part})" if "complex" in c_type else f"{c_type}({part})"


_INTEGERS = {
    name: np.dtype(code) for code, name in _PLAIN.items() if isinstance(name, str) and code[0] in "iu"
}
_CODES = {computed(np.dtype(each)): each for each in "?bhiqBHIQfdFD"}
