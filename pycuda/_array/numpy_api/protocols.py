"""NumPy's protocols: its ufuncs and functions called with GPUArrays.

NumPy asks each operand that implements the protocol. Another library's arrays that implement it and are not
on a CUDA device decide themselves: NotImplemented here.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from pycuda import _driver
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.elementwise import ELEMENTWISE, apply
from pycuda._array.interop.dask.registration import register_once

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


def _is_taken(kind, protocol: str) -> bool:
    """Whether operands of this class are passed to our functions, which may refuse them: classes that do not
    implement the protocol themselves, and arrays on the device.
    """
    own = getattr(kind, protocol, None)
    return (
        own is None
        or own is getattr(np.ndarray, protocol)
        or issubclass(kind, _driver.GPUArray)
        or hasattr(kind, "__cuda_array_interface__")
        or hasattr(kind, "__dlpack_c_exchange_api__")
    )


def refuse_parts(results) -> None:
    """ValueError for copies that z.real or z.imag made, among arrays that NumPy's functions are to write to:
    NumPy means the elements of z by them."""
    for each in results:
        if isinstance(each, _driver.GPUArray) and each._is_of_part:
            raise ValueError(
                "z.real and z.imag are copies, so writing to this one would not change z: assign to the "
                "property (z.real = x), write to the view numpy.real(z), or to a copy of your own (r = "
                "z.real.copy())"
            )


# Functions whose first argument is written to.
WRITTEN = frozenset("copyto fill_diagonal place put put_along_axis putmask".split())


# Functions that do not read elements: of arrays on several devices, too.
DESCRIBING = frozenset(
    """broadcast_arrays can_cast common_type einsum_path may_share_memory min_scalar_type ndim result_type
    shape shares_memory size""".split()
)


# ---- ufuncs


@takes_arrays
def __array_ufunc__(self: GPUArray, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """NumPy's ufuncs on GPUArrays: np.sin(a) is a GPUArray."""
    for each in inputs:
        if type(each) is not _driver.GPUArray and not _is_taken(type(each), "__array_ufunc__"):
            return NotImplemented
    if not kwargs and method == "__call__" and ufunc in ELEMENTWISE:
        return apply(ELEMENTWISE[ufunc], *inputs)
    for each in kwargs.get("out", ()):
        if not _is_taken(type(each), "__array_ufunc__"):
            return NotImplemented
    refuse_parts(kwargs.get("out", ()))
    if method == "at":
        refuse_parts(inputs[:1])
    from pycuda._array.numpy_api import ufuncs

    return ufuncs.run(ufunc, method, inputs, kwargs)


# ---- functions: for each module of pycuda._array the functions of NumPy's that it implements. A word is the
# name in both, or ours=theirs. _FUNCTIONS has those of the module numpy; the other tables have those of
# numpy.linalg, numpy.fft and numpy.lib.stride_tricks. pycuda.numpy has them all, those without arrays among
# their parameters, too, which NumPy's protocol never asks for.

_FUNCTIONS = {
    "core.creation": "tril triu",
    "editing.editing": "append block column_stack delete dstack insert resize trim_zeros",
    "editing.pad": "pad",
    "indexing.multi_index": "argwhere ix_ packbits ravel_multi_index unpackbits unravel_index",
    "indexing.putmask": "copyto place putmask",
    "indexing.mask": "flatnonzero",
    "indexing.take_put": "compress extract put_along_axis",
    "indexing.where": "choose piecewise select",
    "linear.diagonals": """diag diag_indices_from diagflat diagonal fill_diagonal trace tril_indices_from
        triu_indices_from""",
    "linear.einsum": "einsum einsum_path",
    "linear.products": "convolve correlate cross dot inner kron outer tensordot vdot",
    "math.differences": """cumulative_prod cumulative_sum diff ediff1d gradient
        trapezoid trapezoid=trapz unwrap""",
    "math.interpolation": "interp",
    "math.logic": """allclose array_equal array_equiv can_cast common_type iscomplex iscomplexobj isclose
        isneginf isposinf isreal isrealobj may_share_memory min_scalar_type nan_to_num real_if_close
        result_type shares_memory size""",
    "math.polynomials": "poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots",
    "math.special": "i0 sinc",
    "numpy_api.likes": """array asarray asarray=asanyarray ascontiguousarray asfortranarray bartlett blackman
        diag_indices frombuffer fromfile fromfunction fromiter fromstring genfromtxt geomspace hamming hanning
        indices kaiser loadtxt logspace mask_indices require tril_indices triu_indices vander""",
    "numpy_api.numpy_signatures": """all any angle arange argmax argmin argpartition argsort array2string
        array_repr array_str astype broadcast_to clip concatenate cumprod cumsum empty empty_like eye fix
        flip full full_like hstack identity imag linspace max max=amax mean meshgrid min min=amin ndim
        nonzero ones ones_like prod put real repeat reshape roll round round=around save savetxt savez
        savez_compressed searchsorted shape sort_complex stack std sum take take_along_axis tile transpose
        tri var vstack vstack=row_stack where zeros zeros_like""",
    "reduction.reductions": "count_nonzero",
    "shape.views": """array_split atleast_1d atleast_2d atleast_3d broadcast_arrays copy dsplit
        expand_dims fliplr flipud hsplit matrix_transpose moveaxis ravel rollaxis rot90 split
        squeeze swapaxes unstack vsplit""",
    "sorting.sorting": "lexsort partition sort",
    "sorting.sets": "in1d intersect1d isin setdiff1d setxor1d union1d",
    "sorting.unique": "unique unique_all unique_counts unique_inverse unique_values",
    "statistics.bincount": "bincount",
    "statistics.bins": "digitize histogram_bin_edges",
    "statistics.histogram": "histogram histogram2d histogramdd",
    "statistics.quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
    "statistics.statistics": """apply_along_axis apply_over_axes average corrcoef cov nanargmax nanargmin
        nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum nanvar ptp""",
}
_LINALG = {
    "linear.diagonals": "last_diagonal=diagonal last_trace=trace",
    "linear.norms": "matrix_norm norm vector_norm",
    "linear.decompositions": "cholesky qr svd svdvals",
    "linear.eigenvalues": "eig eigh eigvals eigvalsh",
    "linear.least_squares": "cond lstsq matrix_rank pinv",
    "linear.solving": "det inv matrix_power slogdet solve tensorinv tensorsolve",
    "linear.products": """linalg_cross=cross linalg_matmul=matmul linalg_tensordot=tensordot
        linalg_vecdot=vecdot multi_dot outer_of_vectors=outer""",
    "shape.views": "matrix_transpose",
}
_STRIDE_TRICKS = {"shape.views": "sliding_window_view"}
_FFT = {
    "fft.shifts": "fftfreq fftshift ifftshift rfftfreq",
    "fft.transforms": """fft fft2 fftn hfft ifft ifft2 ifftn ihfft irfft irfft2 irfftn rfft rfft2
        rfftn""",
}


def _homes():
    """(module of NumPy's, table) of each table. NumPy 2 imports its fft when that is asked for."""
    return (np, _FUNCTIONS), (np.linalg, _LINALG), (np.fft, _FFT), (np.lib.stride_tricks, _STRIDE_TRICKS)


@functools.cache
def places_in(home) -> dict[str, tuple[str, str]]:
    """{name in a module of NumPy's: (our module, our name)} of the functions that we implement."""
    found = {}
    for module, words in next(table for each, table in _homes() if each is home).items():
        for word in words.split():
            name, _, theirs = word.partition("=")
            found[theirs or name] = module, name
    return found


@functools.cache
def places() -> dict:
    """{NumPy's function: (our module, our name)} of those that this version of NumPy has."""
    return {
        getattr(home, name): place
        for home, _ in _homes()
        for name, place in places_in(home).items()
        if hasattr(home, name)
    }


@functools.cache
def loaded(module: str, name: str) -> Callable[..., Any]:
    """Our function in this module of pycuda._array, which takes other libraries' arrays, too."""
    body = getattr(importlib.import_module(f"pycuda._array.{module}"), name)
    found = takes_arrays(getattr(body, "__wrapped__", body), anywhere=name in DESCRIBING)
    found.__name__ = found.__qualname__ = name
    return found


def implementation(function) -> Callable[..., Any] | None:
    """Our implementation of NumPy's function; None if there is none."""
    place = places().get(function)
    return None if place is None else loaded(*place)


@functools.cache
def _place_of_out(function) -> int | None:
    """The position of a NumPy function's parameter `out`; None without it."""
    parameters = list(inspect.signature(function).parameters)
    return parameters.index("out") if "out" in parameters else None


@functools.partial(takes_arrays, anywhere=True)  # our function itself refuses arrays of several devices
def __array_function__(
    self: GPUArray,
    func: Callable[..., Any],
    types: Collection[type],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """NumPy's functions on GPUArrays, as far as this package has them."""
    register_once()
    for kind in types:
        if kind is not _driver.GPUArray and not _is_taken(kind, "__array_function__"):
            return NotImplemented
    function = implementation(func)
    out = kwargs.get("out")
    if out is None and args[1:]:
        place = _place_of_out(function or func)
        out = args[place] if place is not None and place < len(args) else None
    if out is not None:
        refuse_parts(out if isinstance(out, tuple) else (out,))
    if func.__name__ in WRITTEN:
        refuse_parts(args[:1])
    return NotImplemented if function is None else function(*args, **kwargs)
