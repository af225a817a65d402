"""C types of dtypes, and of arguments of kernels."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy as np

from pycuda._base.public_names import documented_init
from pycuda.compyte import dtypes as _dtypes

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

_dtypes.fill_registry_with_c_types(_dtypes.TYPE_REGISTRY, respect_windows=True)
_dtypes.fill_registry_with_c99_stdint_types(_dtypes.TYPE_REGISTRY)
_dtypes.fill_registry_with_cuda_types(_dtypes.TYPE_REGISTRY)
_dtypes.get_or_register_dtype("char", np.int8)
_dtypes.get_or_register_dtype(("half", "__half"), np.float16)
_dtypes.get_or_register_dtype("pycuda::complex<float>", np.complex64)
_dtypes.get_or_register_dtype("pycuda::complex<double>", np.complex128)


def _register_bfloat16() -> None:
    """CUDA's names for the dtype of the package ml_dtypes, which need not be installed."""
    with contextlib.suppress(ImportError):
        import ml_dtypes

        _dtypes.get_or_register_dtype(("__nv_bfloat16", "nv_bfloat16"), ml_dtypes.bfloat16)


_TEXTURE_TYPES = {
    "float": "fp_tex_float",
    "double": "fp_tex_double",
    "pycuda::complex<float>": "fp_tex_cfloat",
    "pycuda::complex<double>": "fp_tex_cdouble",
}


def dtype_to_ctype(dtype: DTypeLike, with_fp_tex_hack: bool = False) -> str:
    """The C type of a dtype in kernels.

    Parameters
    ----------
    dtype : dtype-like
    with_fp_tex_hack : bool
        The types of pycuda-helpers.hpp for textures of float64 and complex numbers.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        It has none.
    """
    if dtype is not None and np.dtype(dtype).name == "bfloat16":
        _register_bfloat16()
    name = _dtypes.dtype_to_ctype(dtype)
    return _TEXTURE_TYPES.get(name, name) if with_fp_tex_hack else name


@documented_init
class Argument:
    """An argument of a kernel.

    Parameters
    ----------
    dtype : dtype-like
    name : str

    Attributes
    ----------
    struct_char : str
        Its code in an argument format.
    """

    def __init__(self, dtype: DTypeLike, name: str) -> None:
        self.dtype = np.dtype(dtype)
        self.name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.dtype})"


class VectorArg(Argument):
    """A pointer to elements of dtype."""

    struct_char = "P"

    def declarator(self) -> str:
        """The declaration in C, as in ``float *x``.

        Returns
        -------
        str
        """
        return f"{dtype_to_ctype(self.dtype)} *{self.name}"


class ScalarArg(Argument):
    """A value of dtype."""

    def declarator(self) -> str:
        """The declaration in C, as in ``float x``.

        Returns
        -------
        str
        """
        return f"{dtype_to_ctype(self.dtype)} {self.name}"

    @property
    def struct_char(self) -> str:
        """The dtype's code; for a structured dtype its size in bytes, as in "12s"."""
        return f"{self.dtype.itemsize}s" if self.dtype.char == "V" else self.dtype.char


def parse_c_arg(c_arg: str) -> VectorArg | ScalarArg:
    """Read the declaration of an argument in C.

    Parameters
    ----------
    c_arg : str

    Returns
    -------
    VectorArg or ScalarArg
        A VectorArg for a pointer or an array.

    Raises
    ------
    ValueError
        It is not a declaration of a known type.
    """
    if "bfloat16" in c_arg:
        _register_bfloat16()
    return _dtypes.parse_c_arg_backend(c_arg, ScalarArg, VectorArg)


def get_arg_type(c_arg: str) -> str:
    """The struct code of an argument declared in C.

    Parameters
    ----------
    c_arg : str

    Returns
    -------
    str
    """
    return parse_c_arg(c_arg).struct_char
