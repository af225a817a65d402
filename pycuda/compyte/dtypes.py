"""C type names of NumPy data types, and the other way round."""

from __future__ import annotations

import re
import sys

import numpy as np


class TypeNameNotKnown(RuntimeError, KeyError):
    """No data type of this C name is registered."""


def _list_of_names(c_names) -> list[str]:
    names = [c_names] if isinstance(c_names, str) else c_names
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"c_names is {c_names!r}: it may be a str, or a list or tuple of str")
    if not names:
        raise ValueError(f"c_names is {c_names!r}: a dtype needs at least one name")
    return list(names)


class DTypeRegistry:
    """Two maps: C names to dtypes, and each dtype to the first name registered for it."""

    def __init__(self):
        self.name_to_dtype: dict[str, np.dtype] = {}
        self.dtype_to_name: dict[np.dtype, str] = {}

    def get_or_register_dtype(self, c_names, dtype=None) -> np.dtype:
        """The dtype registered for these names, after registering it when one is given.

        Parameters
        ----------
        c_names : str or sequence of str
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
        names = _list_of_names(c_names)
        if dtype is None:
            try:
                return self.name_to_dtype[names[0]]
            except KeyError:
                raise TypeNameNotKnown(names[0]) from None
        dtype = np.dtype(dtype)
        known = next((each for each in self.dtype_to_name if each == dtype), None)
        dtype = dtype if known is None else known
        for name in names:
            other = self.name_to_dtype.setdefault(name, dtype)
            if other != dtype:
                raise RuntimeError(f"the name {name!r} is already registered for {other}, not {dtype}")
        self.dtype_to_name.setdefault(dtype, names[0])
        return dtype

    def dtype_to_ctype(self, dtype) -> str:
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


def register_dtype(dtype, c_names, alias_ok=False) -> None:
    """The older form of get_or_register_dtype.

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


def fill_registry_with_c_types(registry, respect_windows, include_bool=True) -> None:
    """Register the types of C under their usual names.

    Parameters
    ----------
    registry : DTypeRegistry
    respect_windows : bool
        On Windows a long has 32 bits.
    include_bool : bool
    """
    if include_bool:
        registry.get_or_register_dtype("bool", np.dtype(bool))
    for dtype, names in _INTEGER_NAMES:
        registry.get_or_register_dtype(names, dtype)
    if respect_windows and sys.platform == "win32":
        registry.get_or_register_dtype("long long", np.int64)
        registry.get_or_register_dtype("unsigned long long", np.uint64)
    else:
        registry.get_or_register_dtype(("long", "long int"), np.int64)
        registry.get_or_register_dtype(("unsigned long", "unsigned long int"), np.uint64)
        registry.get_or_register_dtype(("long long", "long long int"), np.int64)
        registry.get_or_register_dtype(("unsigned long long", "unsigned long long int"), np.uint64)
    registry.get_or_register_dtype("float", np.float32)
    registry.get_or_register_dtype("double", np.float64)


def fill_registry_with_opencl_c_types(registry) -> None:
    """Register OpenCL's scalar names.

    Parameters
    ----------
    registry : DTypeRegistry
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
        registry.get_or_register_dtype(names, dtype)


def fill_registry_with_c99_stdint_types(registry) -> None:
    """Register int8_t and its like.

    Parameters
    ----------
    registry : DTypeRegistry
    """
    for kind in ("int", "uint"):
        for bits in (8, 16, 32, 64):
            registry.get_or_register_dtype(f"{kind}{bits}_t", np.dtype(f"{kind}{bits}"))


def fill_registry_with_c99_complex_types(registry) -> None:
    """Register C99's complex types.

    Parameters
    ----------
    registry : DTypeRegistry
    """
    registry.get_or_register_dtype(("float complex",), np.complex64)
    registry.get_or_register_dtype(("double complex",), np.complex128)


_QUALIFIERS = re.compile(r"\b(?:const|volatile|restrict|__restrict__|__restrict)\b")
_DECLARATION = re.compile(
    r"^\s*(?P<type>[\w:<>,\s]*?[\w>])(?P<pointer>\s*[*&\s]*?)\s*\b(?P<name>\w+)\s*"
    r"(?P<array>\[\s*\d*\s*\])?\s*$"
)


def parse_c_arg_backend(c_arg, scalar_factory, vec_factory, name_to_dtype=None):
    """Read the declaration of an argument in C.

    Parameters
    ----------
    c_arg : str
    scalar_factory : callable
        Called with (dtype, name) for values.
    vec_factory : callable
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
        It is no declaration of a known type.
    """
    text = _QUALIFIERS.sub(" ", c_arg)
    match = _DECLARATION.match(text.replace("*", " * "))
    if match is None:
        raise ValueError(f"the argument {c_arg!r} cannot be read as a C declaration")
    type_name = re.sub(r"\s+", " ", re.sub(r"\s*([<>:,])\s*", r"\1", match["type"])).strip()
    look_up = name_to_dtype or TYPE_REGISTRY.name_to_dtype
    look_up = getattr(look_up, "name_to_dtype", look_up)
    try:
        dtype = look_up(type_name) if callable(look_up) else look_up[type_name]
    except (KeyError, TypeNameNotKnown):
        raise ValueError(f"the argument {c_arg!r} has the unknown type {type_name!r}") from None
    factory = vec_factory if "*" in match["pointer"] or match["array"] else scalar_factory
    return factory(dtype, match["name"])
