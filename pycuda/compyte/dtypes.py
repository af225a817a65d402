"""C type names of NumPy data types, and the other way round."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pycuda._base.public_names import also_named as _also_named

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

_S = TypeVar("_S")
_V = TypeVar("_V")


class TypeNameNotKnown(RuntimeError, KeyError):
    """No data type of this C name is registered."""


def _list_of_names(c_names: str | Sequence[str]) -> list[str]:
    """The names as a list. TypeError or ValueError unless they are strings, and at least one."""
    names = [c_names] if isinstance(c_names, str) else c_names
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"c_names is {c_names!r}: it must be a str, or a list or tuple of str")
    if not names:
        raise ValueError(f"c_names is {c_names!r}: a dtype needs at least one name")
    return list(names)


class DTypeRegistry:
    """Two maps: C names to dtypes, and each dtype to the first name registered for it."""

    def __init__(self) -> None:
        """Make a registry without names."""
        self.name_to_dtype: dict[str, np.dtype[Any]] = {}
        self.dtype_to_name: dict[np.dtype[Any], str] = {}

    @_also_named(c_names="names")
    def get_or_register_dtype(
        self, names: str | Sequence[str], dtype: DTypeLike | None = None
    ) -> np.dtype[Any]:
        """The dtype registered for these names, after registering it when one is given.

        Parameters
        ----------
        names : str or sequence of str
        dtype : dtype-like
            None: the first name is looked up.

        Returns
        -------
        numpy.dtype
            An equal one that was registered before is returned in place of the given one.

        Raises
        ------
        TypeNameNotKnown
            Nothing knows the name.
        RuntimeError
            A name stands for another dtype.
        """
        listed = _list_of_names(names)
        if dtype is None:
            try:
                return self.name_to_dtype[listed[0]]
            except KeyError:
                raise TypeNameNotKnown(listed[0]) from None
        dtype = np.dtype(dtype)
        known = next((each for each in self.dtype_to_name if each == dtype), None)
        dtype = dtype if known is None else known
        for name in listed:
            other = self.name_to_dtype.setdefault(name, dtype)
            if other != dtype:
                raise RuntimeError(f"the name {name!r} is already registered for {other}, not {dtype}")
        self.dtype_to_name.setdefault(dtype, listed[0])
        return dtype

    def dtype_to_ctype(self, dtype: DTypeLike) -> str:
        """The C name of a dtype.

        Parameters
        ----------
        dtype : dtype-like

        Returns
        -------
        str

        Raises
        ------
        ValueError
            It has none.
        """
        if dtype is None:
            raise ValueError("dtype may not be None")
        dtype = np.dtype(dtype)
        try:
            return self.dtype_to_name[dtype]
        except KeyError:
            raise ValueError(f"unable to map dtype {dtype} to a C type") from None


TYPE_REGISTRY = DTypeRegistry()
DTYPE_TO_NAME = TYPE_REGISTRY.dtype_to_name
NAME_TO_DTYPE = TYPE_REGISTRY.name_to_dtype
get_or_register_dtype = TYPE_REGISTRY.get_or_register_dtype
dtype_to_ctype = TYPE_REGISTRY.dtype_to_ctype


def register_dtype(dtype: DTypeLike, c_names: str | Sequence[str], alias_ok: bool = False) -> None:
    """Deprecated: the older form of get_or_register_dtype.

    Parameters
    ----------
    dtype : dtype-like
    c_names : str or sequence of str
    alias_ok : bool

    Raises
    ------
    RuntimeError
        The dtype has a name already, unless alias_ok.
    """
    warnings.warn(
        "register_dtype() is deprecated, use get_or_register_dtype()", DeprecationWarning, stacklevel=2
    )
    if not alias_ok and np.dtype(dtype) in TYPE_REGISTRY.dtype_to_name:
        raise RuntimeError(f"{np.dtype(dtype)} is already registered")
    TYPE_REGISTRY.get_or_register_dtype(c_names, dtype)


_INTEGER_NAMES: tuple[tuple[type, tuple[str, ...]], ...] = (
    (np.int8, ("signed char",)),
    (np.uint8, ("unsigned char",)),
    (np.int16, ("short", "signed short", "signed short int", "short signed int")),
    (np.uint16, ("unsigned short", "unsigned short int", "short unsigned int")),
    (np.int32, ("int", "signed int")),
    (np.uint32, ("unsigned", "unsigned int")),
)


def fill_registry_with_c_types(reg: DTypeRegistry, respect_windows: bool, include_bool: bool = True) -> None:
    """Register the types of C under their usual names.

    Parameters
    ----------
    reg : DTypeRegistry
    respect_windows : bool
        On Windows a long has 32 bits.
    include_bool : bool
    """
    if include_bool:
        reg.get_or_register_dtype("bool", np.dtype(bool))
    for dtype, names in _INTEGER_NAMES:
        reg.get_or_register_dtype(names, dtype)
    if respect_windows and sys.platform == "win32":
        reg.get_or_register_dtype("long long", np.int64)
        reg.get_or_register_dtype("unsigned long long", np.uint64)
    else:
        reg.get_or_register_dtype(("long", "long int"), np.int64)
        reg.get_or_register_dtype(("unsigned long", "unsigned long int"), np.uint64)
        reg.get_or_register_dtype(("long long", "long long int"), np.int64)
        reg.get_or_register_dtype(("unsigned long long", "unsigned long long int"), np.uint64)
    reg.get_or_register_dtype("float", np.float32)
    reg.get_or_register_dtype("double", np.float64)


def fill_registry_with_opencl_c_types(reg: DTypeRegistry) -> None:
    """Register OpenCL's scalar names.

    Parameters
    ----------
    reg : DTypeRegistry
    """
    for names, dtype in (
        (("char", "signed char"), np.int8),
        (("uchar", "unsigned char"), np.uint8),
        ("short", np.int16),
        (("ushort", "unsigned short"), np.uint16),
        ("int", np.int32),
        (("uint", "unsigned int"), np.uint32),
        ("long", np.int64),
        (("ulong", "unsigned long"), np.uint64),
        ("float", np.float32),
        ("double", np.float64),
    ):
        reg.get_or_register_dtype(names, dtype)


def fill_registry_with_c99_stdint_types(reg: DTypeRegistry) -> None:
    """Register int8_t and similar ones.

    Parameters
    ----------
    reg : DTypeRegistry
    """
    for kind in ("int", "uint"):
        for bits in (8, 16, 32, 64):
            reg.get_or_register_dtype(f"{kind}{bits}_t", np.dtype(f"{kind}{bits}"))


def fill_registry_with_cuda_types(reg: DTypeRegistry) -> None:
    """Register the short names of CUDA's headers, and those of sizes and addresses, as second names.

    Parameters
    ----------
    reg : DTypeRegistry
        With C's types.
    """
    for name, dtype in (
        ("uchar", np.uint8),
        ("ushort", np.uint16),
        ("uint", np.uint32),
        ("ulong", np.dtype("L")),
        ("longlong", np.int64),
        ("ulonglong", np.uint64),
        ("size_t", np.uintp),
        ("ssize_t", np.intp),
        ("ptrdiff_t", np.intp),
        ("intptr_t", np.intp),
        ("uintptr_t", np.uintp),
    ):
        reg.get_or_register_dtype(name, dtype)


def fill_registry_with_c99_complex_types(reg: DTypeRegistry) -> None:
    """Register C99's complex types.

    Parameters
    ----------
    reg : DTypeRegistry
    """
    reg.get_or_register_dtype(("float complex",), np.complex64)
    reg.get_or_register_dtype(("double complex",), np.complex128)


_QUALIFIERS = {"const", "volatile", "restrict", "__restrict__", "__restrict"}
_INTEGER_WORDS = {"signed", "unsigned", "char", "short", "int", "long"}
_TOKEN = r"\s*(?:([A-Za-z_]\w*)|(::|[<>,*])|\[\s*(\d*)\s*\])"


def _tokens(text: str) -> list[str]:
    """Names, "::", "<", ">", ",", "*", and "[]" for the length of an array. Nothing where there is anything
    else.
    """
    found: list[str] = []
    token, place = re.compile(_TOKEN), 0
    while text[place:].strip():
        match = token.match(text, place)
        if match is None:
            return []
        found.append("[]" if match[3] is not None else match[0].strip())
        place = match.end()
    return found


def _declaration(text: str) -> tuple[str, str, bool] | None:
    """(type, name, whether it is a pointer or an array) of a declaration in C; None of what is none."""
    tokens = [token for token in _tokens(text) if token not in _QUALIFIERS]
    is_vector = False
    while tokens and tokens[-1] == "[]":
        is_vector = True
        tokens.pop()
    name = tokens.pop() if tokens else ""
    while tokens and tokens[-1] == "*":
        is_vector = True
        tokens.pop()
    if not name.isidentifier() or not tokens or "*" in tokens or "[]" in tokens:
        return None
    if tokens[-1] in _INTEGER_WORDS | {"::"} and name in _INTEGER_WORDS:
        return None
    return re.sub(r" ?(::|[<>,]) ?", r"\1", " ".join(tokens)), name, is_vector


def _usual_integer_name(type_name: str) -> str:
    """The C name under which an integer type is registered, whatever the order of its words."""
    words = type_name.split()
    sizes, signs = {"char", "short", "long"}, {"signed", "unsigned"}
    if not set(words) <= _INTEGER_WORDS or words.count("long") > 2:
        return type_name
    if len(sizes & set(words)) > 1 or signs <= set(words):
        return type_name
    size = next((word for word in ("char", "short") if word in words), "long " * words.count("long"))
    sign = "unsigned" if "unsigned" in words else "signed" if "signed" in words and size == "char" else ""
    return " ".join(f"{sign} {size or 'int'}".split())


def parse_c_arg_backend(
    c_arg: str,
    scalar_arg_factory: Callable[[np.dtype[Any], str], _S],
    vec_arg_factory: Callable[[np.dtype[Any], str], _V],
    name_to_dtype: DTypeRegistry | Mapping[str, DTypeLike] | Callable[[str], DTypeLike] | None = None,
) -> _S | _V:
    """Read the declaration of an argument in C.

    Parameters
    ----------
    c_arg : str
    scalar_arg_factory : callable
        Called with (dtype, name) for values.
    vec_arg_factory : callable
        Called with (dtype, name) for pointers and arrays.
    name_to_dtype : DTypeRegistry, dict or callable
        From a C type name to a dtype.

    Returns
    -------
    object
        What the factory returned.

    Raises
    ------
    ValueError
        It is not a declaration of a known type.
    """
    declaration = _declaration(c_arg)
    if declaration is None:
        raise ValueError(f"the argument {c_arg!r} cannot be read as a C declaration")
    type_name, name, is_vector = declaration
    look_up: Any = name_to_dtype or TYPE_REGISTRY.name_to_dtype
    look_up = getattr(look_up, "name_to_dtype", look_up)
    look_up = look_up if callable(look_up) else look_up.__getitem__
    plain = type_name.removeprefix("std::") if type_name.endswith("_t") else type_name
    for candidate in (type_name, _usual_integer_name(type_name), plain):
        try:
            dtype = look_up(candidate)
        except (KeyError, TypeNameNotKnown):
            continue
        return vec_arg_factory(dtype, name) if is_vector else scalar_arg_factory(dtype, name)
    raise ValueError(f"the argument {c_arg!r} has the unknown type {type_name!r}")
