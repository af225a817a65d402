"""What pycuda.numpy says about itself, as the array API standard asks: dtypes, devices, limits."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from pycuda import _driver
from pycuda._array.core.devices import check_device, current_device
from pycuda._array.core.operands import limits_of
from pycuda._base.public_names import documented_init

# Versions of the array API standard that pycuda.numpy implements: each has all names of those before it.
VERSIONS = "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"
MAX_DIMENSIONS = 64  # STRIDES_MAX_DIMS of core/layout/strides.h

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_GROUPS = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}


class __array_namespace_info__:
    """Dtypes, devices and limits of pycuda.numpy, as the array API standard's inspection functions."""

    def capabilities(self) -> dict[str, Any]:
        """Whether there are boolean indices and results whose shape depends on values (both wait for the
        stream), and the maximum number of axes of an array."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": MAX_DIMENSIONS}

    def default_device(self) -> _driver.Device:
        """That of the current context."""
        return current_device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of new arrays that are given none.

        Parameters
        ----------
        device : pycuda.driver.Device, optional
        """
        check_device(device)
        return {
            "real floating": np.dtype(np.float64),
            "complex floating": np.dtype(np.complex128),
            "integral": np.dtype(np.int64),
            "indexing": np.dtype(np.int64),
        }

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, np.dtype[Any]]:
        """The standard's dtypes by name; those of NumPy that it lacks, as float16, are not among them.

        Parameters
        ----------
        device : pycuda.driver.Device, optional
        kind : str or tuple of str, optional
            Only those of these kinds, as of isdtype.

        Raises
        ------
        ValueError
            For an unknown kind.
        """
        check_device(device)
        kinds = tuple(_KINDS) if kind is None else (kind,) if isinstance(kind, str) else kind
        names: dict[str, None] = {}
        for each in kinds:
            if each not in _KINDS and each not in _GROUPS:
                raise ValueError(f"unsupported kind {each!r}: there are {', '.join((*_KINDS, *_GROUPS))}")
            for part in _GROUPS.get(each, (each,)):
                names.update(dict.fromkeys(_KINDS[part]))
        return {name: np.dtype(name) for name in names}

    def devices(self) -> list[_driver.Device]:
        """Those on which arrays can be made now: that of the current context."""
        return [current_device()]


def array_namespace(api_version: str | None) -> Any:
    """pycuda.numpy, where it has this version of the standard."""
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(f"unsupported api_version {api_version!r}: there are {', '.join(VERSIONS)}")
    return importlib.import_module("pycuda.numpy")


@documented_init
class finfo:
    """Limits of floating-point numbers, as numpy.finfo, but Python's numbers as the array API standard asks.

    Parameters
    ----------
    dtype : dtype or array
        Of real or complex floating-point numbers: the limits are those of its parts.

    Raises
    ------
    ValueError
        For other dtypes.

    Examples
    --------
    >>> import pycuda.numpy as xp
    >>> xp.finfo(xp.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, dtype: Any) -> None:
        given = dtype if isinstance(dtype, type) else getattr(dtype, "dtype", dtype)
        self._numpys = limits_of(np.dtype(given))

    def __getattr__(self, name: str) -> Any:
        # In an object that copy or pickle makes _numpys is not set yet, and this method would call itself.
        if name == "_numpys":
            raise AttributeError(name)
        value = getattr(self._numpys, name)
        return value.item() if isinstance(value, np.generic) else value

    def __repr__(self) -> str:
        return repr(self._numpys)

    def __str__(self) -> str:
        return str(self._numpys)

    def __dir__(self) -> list[str]:
        return dir(self._numpys)
