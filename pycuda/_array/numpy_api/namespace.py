"""What pycuda.numpy, its linalg and its fft have under NumPy's names.

A name is looked up when it is used first: a ufunc of NumPy's becomes a Ufunc, a function what protocols.py
has for it, and what is of dtypes and numbers stays NumPy's own.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.elementwise import ELEMENTWISE
from pycuda._array.numpy_api import host_data, protocols
from pycuda._array.numpy_api.ufunc_objects import Ufunc

# Names that stand for NumPy's own objects: dtypes, constants, functions of dtypes and shapes, and functions
# that return numbers or text or write files. Those that take arrays call our functions by the protocol.
NUMPYS_OWN = """
    False_ True_ e euler_gamma inf nan newaxis pi little_endian
    bool bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128
    byte ubyte short ushort intc uintc int_ uint intp uintp long ulong longlong ulonglong half single double
    csingle cdouble
    generic number integer signedinteger unsignedinteger inexact floating complexfloating flexible void
    dtype iinfo ScalarType typecodes sctypeDict isdtype issubdtype promote_types result_type can_cast
    common_type min_scalar_type mintypecode typename broadcast_shapes einsum_path
    iscomplexobj isrealobj isscalar iterable ndim shape size isfortran may_share_memory shares_memory
    array2string array_repr array_str base_repr binary_repr format_float_positional format_float_scientific
    printoptions get_printoptions set_printoptions errstate geterr seterr exceptions
    index_exp s_ ndindex save savetxt savez savez_compressed
    """.split()
_OF_LINALG = ["LinAlgError"]
# Older names, that some versions of NumPy 2 have.
_OLD = frozenset(("in1d", "row_stack", "trapz"))
# Functions whose arguments are shapes, numbers, or data in host memory: they need no copies of arguments.
_CREATE = frozenset(
    """array asarray asanyarray ascontiguousarray asfortranarray require zeros ones empty full arange eye
    identity tri indices diag_indices mask_indices tril_indices triu_indices bartlett blackman hamming hanning
    kaiser frombuffer fromfile fromfunction fromiter fromstring genfromtxt loadtxt fftfreq rfftfreq""".split()
)
# What the array API standard defines otherwise than some versions of NumPy do.
_STANDARDS = {
    ("numpy", "clip"): ("numpy_api.standard_signatures", "clip"),
    ("numpy.linalg", "pinv"): ("linear.least_squares", "standard_pinv"),
    ("numpy.linalg", "eig"): ("linear.eigenvalues", "complex_eig"),
    ("numpy.linalg", "eigvals"): ("linear.eigenvalues", "complex_eigvals"),
}
# Objects, not functions, that make an array of an index: r_[1:5].
_INDEX_TRICKS = frozenset(("c_", "mgrid", "ogrid", "r_"))


def _index_trick(name: str) -> Any:
    return getattr(importlib.import_module("pycuda._array.numpy_api.index_tricks"), name)


@functools.cache
def _ufunc(ufunc: np.ufunc) -> Ufunc:
    return Ufunc(ufunc)


def _docstring(ours: Callable[..., Any], name: str) -> str:
    """The docstring of pycuda.numpy's function: that of ours, unless it is missing or only names NumPy's."""
    text = ours.__doc__ or ""
    is_name = not text or text.startswith(("np.", "numpy."))
    return f"{name} of arrays on the device, with its parameters." if is_name else text


@functools.cache
def _function(module: str, place: tuple[str, str], numpys: Callable[..., Any] | None, name: str) -> Any:
    """The function `name` of pycuda.numpy, or of a module in it: our implementation, of which `place` is the
    module and the name, with data in host memory copied. numpys: NumPy's function, or None.
    """
    ours = protocols.loaded(*place)
    if name in _CREATE:
        found = takes_arrays(ours.__wrapped__)
    else:
        asks = host_data.array_parameters(numpys, ours, name)
        found = functools.wraps(ours)(host_data.taking_host_data(ours, asks))
    found.__module__, found.__name__, found.__qualname__ = module, name, name
    found.__doc__ = _docstring(ours, f"{module.removeprefix('pycuda.')}.{name}")
    return found


def _place(home: Any, name: str) -> tuple[str, str] | None:
    """(module, name) of our implementation of the function `name` in `home`, a module of NumPy's. None if
    there is none. It is looked up by the name, or else by the function, which may have another name:
    asanyarray.
    """
    found = _STANDARDS.get((home.__name__, name)) or protocols.places_in(home).get(name)
    theirs = getattr(home, name, None)
    return protocols.places().get(theirs) if found is None and callable(theirs) else found


def _maker(module: str, home: Any, name: str) -> Callable[[], Any] | None:
    """A function that makes the object of this name. None if pycuda.numpy has no such object."""
    if name in _OLD:
        return None
    theirs = getattr(home, name, None)
    if hasattr(home, name) and name in (NUMPYS_OWN if home is np else _OF_LINALG):
        return lambda: theirs
    if home is np and name in _INDEX_TRICKS:
        return functools.partial(_index_trick, name)
    if isinstance(theirs, np.ufunc):
        known = theirs in ELEMENTWISE or theirs.signature is not None
        return functools.partial(_ufunc, theirs) if known else None
    place = _place(home, name)
    if place is None:
        return None
    return functools.partial(_function, module, place, theirs, getattr(theirs, "__name__", name))


def lookup(module: str, home: Any, name: str) -> Any:
    """The object that a module has under a name of NumPy's.

    Parameters
    ----------
    module : str
        pycuda.numpy, or one in it.
    home : module
        Of NumPy.
    name : str

    Raises
    ------
    AttributeError
        NumPy has no such name, or it is not for arrays on the device.
    """
    make = _maker(module, home, name)
    if make is not None:
        return make()
    if name.startswith("_") or name in _OLD or not hasattr(home, name):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    raise AttributeError(
        f"module {module!r} has no attribute {name!r}: it does not work on the device; call "
        f"{home.__name__}.{name} with copies in host memory, which array.get() makes"
    )


def names(home: Any, module: str, *own: str) -> list[str]:
    """The names that a module has: those of NumPy's that lookup() finds, and its own ones."""
    theirs = {*home.__all__, *protocols.places_in(home)}
    return sorted({*own, *(name for name in theirs if _maker(module, home, name) is not None)})
