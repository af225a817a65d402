# Written by tools/numpy_stubs.py.
# fmt: off
# ruff: noqa: F401, I001, RUF022
import builtins as _builtins
from collections.abc import Callable as _Callable
from collections.abc import Sequence as _Sequence
from typing import Any as _Any
from typing import Literal as _Literal
from typing import TypeAlias as _TypeAlias
from typing import overload

import numpy as _np

from pycuda._array.core import types as _types
from pycuda._array.core.types import DTypeOf as _DTypeOf
from pycuda._array.core.types import Floating as _Floating
from pycuda._array.core.types import Inexact as _Inexact
from pycuda._array.core.types import Result as _Result
from pycuda._array.core.types import Scalar as _Scalar
from pycuda.gpuarray import GPUArray as _GPUArray
from numpy import False_ as False_
from numpy import ScalarType as ScalarType
from numpy import True_ as True_
from numpy import array2string as array2string
from numpy import array_repr as array_repr
from numpy import array_str as array_str
from numpy import base_repr as base_repr
from numpy import binary_repr as binary_repr
from numpy import bool as bool
from numpy import bool_ as bool_
from numpy import broadcast_shapes as broadcast_shapes
from numpy import byte as byte
from numpy import can_cast as can_cast
from numpy import cdouble as cdouble
from numpy import common_type as common_type
from numpy import complex128 as complex128
from numpy import complex64 as complex64
from numpy import complexfloating as complexfloating
from numpy import csingle as csingle
from numpy import double as double
from numpy import dtype as dtype
from numpy import e as e
from numpy import einsum_path as einsum_path
from numpy import errstate as errstate
from numpy import euler_gamma as euler_gamma
from numpy import exceptions as exceptions
from numpy import flexible as flexible
from numpy import float16 as float16
from numpy import float32 as float32
from numpy import float64 as float64
from numpy import floating as floating
from numpy import format_float_positional as format_float_positional
from numpy import format_float_scientific as format_float_scientific
from numpy import generic as generic
from numpy import get_printoptions as get_printoptions
from numpy import geterr as geterr
from numpy import half as half
from numpy import iinfo as iinfo
from numpy import index_exp as index_exp
from numpy import inexact as inexact
from numpy import inf as inf
from numpy import int16 as int16
from numpy import int32 as int32
from numpy import int64 as int64
from numpy import int8 as int8
from numpy import int_ as int_
from numpy import intc as intc
from numpy import integer as integer
from numpy import intp as intp
from numpy import iscomplexobj as iscomplexobj
from numpy import isdtype as isdtype
from numpy import isfortran as isfortran
from numpy import isrealobj as isrealobj
from numpy import isscalar as isscalar
from numpy import issubdtype as issubdtype
from numpy import iterable as iterable
from numpy import little_endian as little_endian
from numpy import long as long
from numpy import longlong as longlong
from numpy import may_share_memory as may_share_memory
from numpy import min_scalar_type as min_scalar_type
from numpy import mintypecode as mintypecode
from numpy import nan as nan
from numpy import ndim as ndim
from numpy import ndindex as ndindex
from numpy import newaxis as newaxis
from numpy import number as number
from numpy import pi as pi
from numpy import printoptions as printoptions
from numpy import promote_types as promote_types
from numpy import result_type as result_type
from numpy import s_ as s_
from numpy import save as save
from numpy import savetxt as savetxt
from numpy import savez as savez
from numpy import savez_compressed as savez_compressed
from numpy import sctypeDict as sctypeDict
from numpy import set_printoptions as set_printoptions
from numpy import seterr as seterr
from numpy import shape as shape
from numpy import shares_memory as shares_memory
from numpy import short as short
from numpy import signedinteger as signedinteger
from numpy import single as single
from numpy import size as size
from numpy import typecodes as typecodes
from numpy import typename as typename
from numpy import ubyte as ubyte
from numpy import uint as uint
from numpy import uint16 as uint16
from numpy import uint32 as uint32
from numpy import uint64 as uint64
from numpy import uint8 as uint8
from numpy import uintc as uintc
from numpy import uintp as uintp
from numpy import ulong as ulong
from numpy import ulonglong as ulonglong
from numpy import unsignedinteger as unsignedinteger
from numpy import ushort as ushort
from numpy import void as void
from pycuda._array.interop.interchange import asnumpy as asnumpy
from pycuda._array.interop.interchange import from_dlpack as from_dlpack
from pycuda._array.numpy_api import ufunc_kinds as _kinds
from pycuda._array.numpy_api.inspection import __array_namespace_info__ as __array_namespace_info__
from pycuda._array.numpy_api.inspection import finfo as finfo
from pycuda._array.numpy_api.ufunc_objects import Ufunc as ufunc
from pycuda._array.sorting.unique import UniqueAll as _UniqueAll
from pycuda._array.sorting.unique import UniqueCounts as _UniqueCounts
from pycuda._array.sorting.unique import UniqueInverse as _UniqueInverse
from pycuda.gpuarray import GPUArray as ndarray
from pycuda.numpy import fft as fft
from pycuda.numpy import linalg as linalg
from pycuda.numpy import random as random
from pycuda.numpy import special as special
from pycuda._array.numpy_api.index_tricks import c_ as c_
from pycuda._array.numpy_api.index_tricks import mgrid as mgrid
from pycuda._array.numpy_api.index_tricks import ogrid as ogrid
from pycuda._array.numpy_api.index_tricks import r_ as r_

__array_api_version__: str

__all__ = [
    "False_", "ScalarType", "True_", "__array_namespace_info__", "abs", "absolute", "acos", "acosh",
    "add", "all", "allclose", "amax", "amin", "angle", "any", "append", "apply_along_axis",
    "apply_over_axes", "arange", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "argmax", "argmin", "argpartition", "argsort", "argwhere", "around", "array", "array2string",
    "array_equal", "array_equiv", "array_repr", "array_split", "array_str", "asanyarray", "asarray",
    "ascontiguousarray", "asfortranarray", "asin", "asinh", "asnumpy", "astype", "atan", "atan2", "atanh",
    "atleast_1d", "atleast_2d", "atleast_3d", "average", "bartlett", "base_repr", "binary_repr",
    "bincount", "bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not",
    "bitwise_or", "bitwise_right_shift", "bitwise_xor", "blackman", "block", "bool", "bool_",
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "byte", "c_", "can_cast", "cbrt", "cdouble",
    "ceil", "choose", "clip", "column_stack", "common_type", "complex128", "complex64", "complexfloating",
    "compress", "concat", "concatenate", "conj", "conjugate", "convolve", "copy", "copysign", "copyto",
    "corrcoef", "correlate", "cos", "cosh", "count_nonzero", "cov", "cross", "csingle", "cumprod",
    "cumsum", "cumulative_prod", "cumulative_sum", "deg2rad", "degrees", "delete", "diag", "diag_indices",
    "diag_indices_from", "diagflat", "diagonal", "diff", "digitize", "divide", "divmod", "dot", "double",
    "dsplit", "dstack", "dtype", "e", "ediff1d", "einsum", "einsum_path", "empty", "empty_like", "equal",
    "errstate", "euler_gamma", "exceptions", "exp", "exp2", "expand_dims", "expm1", "extract", "eye",
    "fabs", "fft", "fill_diagonal", "finfo", "fix", "flatnonzero", "flexible", "flip", "fliplr", "flipud",
    "float16", "float32", "float64", "float_power", "floating", "floor", "floor_divide", "fmax", "fmin",
    "fmod", "format_float_positional", "format_float_scientific", "frexp", "from_dlpack", "frombuffer",
    "fromfile", "fromfunction", "fromiter", "fromstring", "full", "full_like", "gcd", "generic",
    "genfromtxt", "geomspace", "get_printoptions", "geterr", "gradient", "greater", "greater_equal",
    "half", "hamming", "hanning", "heaviside", "histogram", "histogram2d", "histogram_bin_edges",
    "histogramdd", "hsplit", "hstack", "hypot", "i0", "identity", "iinfo", "imag", "index_exp", "indices",
    "inexact", "inf", "inner", "insert", "int16", "int32", "int64", "int8", "int_", "intc", "integer",
    "interp", "intersect1d", "intp", "invert", "isclose", "iscomplex", "iscomplexobj", "isdtype",
    "isfinite", "isfortran", "isin", "isinf", "isnan", "isneginf", "isposinf", "isreal", "isrealobj",
    "isscalar", "issubdtype", "iterable", "ix_", "kaiser", "kron", "lcm", "ldexp", "left_shift", "less",
    "less_equal", "lexsort", "linalg", "linspace", "little_endian", "loadtxt", "log", "log10", "log1p",
    "log2", "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor",
    "logspace", "long", "longlong", "mask_indices", "matmul", "matrix_transpose", "matvec", "max",
    "maximum", "may_share_memory", "mean", "median", "meshgrid", "mgrid", "min", "min_scalar_type",
    "minimum", "mintypecode", "mod", "modf", "moveaxis", "multiply", "nan", "nan_to_num", "nanargmax",
    "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile",
    "nanprod", "nanquantile", "nanstd", "nansum", "nanvar", "ndarray", "ndim", "ndindex", "negative",
    "newaxis", "nextafter", "nonzero", "not_equal", "number", "ogrid", "ones", "ones_like", "outer",
    "packbits", "pad", "partition", "percentile", "permute_dims", "pi", "piecewise", "place", "poly",
    "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval", "positive",
    "pow", "power", "printoptions", "prod", "promote_types", "ptp", "put", "put_along_axis", "putmask",
    "quantile", "r_", "rad2deg", "radians", "random", "ravel", "ravel_multi_index", "real",
    "real_if_close", "reciprocal", "remainder", "repeat", "require", "reshape", "resize", "result_type",
    "right_shift", "rint", "roll", "rollaxis", "roots", "rot90", "round", "s_", "save", "savetxt",
    "savez", "savez_compressed", "sctypeDict", "searchsorted", "select", "set_printoptions", "setdiff1d",
    "seterr", "setxor1d", "shape", "shares_memory", "short", "sign", "signbit", "signedinteger", "sin",
    "sinc", "single", "sinh", "size", "sort", "sort_complex", "spacing", "special", "split", "sqrt",
    "square", "squeeze", "stack", "std", "subtract", "sum", "swapaxes", "take", "take_along_axis", "tan",
    "tanh", "tensordot", "tile", "trace", "transpose", "trapezoid", "tri", "tril", "tril_indices",
    "tril_indices_from", "trim_zeros", "triu", "triu_indices", "triu_indices_from", "true_divide",
    "trunc", "typecodes", "typename", "ubyte", "ufunc", "uint", "uint16", "uint32", "uint64", "uint8",
    "uintc", "uintp", "ulong", "ulonglong", "union1d", "unique", "unique_all", "unique_counts",
    "unique_inverse", "unique_values", "unpackbits", "unravel_index", "unsignedinteger", "unstack",
    "unwrap", "ushort", "vander", "var", "vdot", "vecdot", "vecmat", "void", "vsplit", "vstack", "where",
    "zeros", "zeros_like",
]

_Array: _TypeAlias = _GPUArray[_Scalar] | _np.ndarray[_Any, _np.dtype[_Scalar]]

abs: ufunc[_kinds.Magnitude]
absolute: ufunc[_kinds.Magnitude]
acos: ufunc[_kinds.OneInexact]
acosh: ufunc[_kinds.OneInexact]
add: ufunc[_kinds.TwoScalars]
arccos: ufunc[_kinds.OneInexact]
arccosh: ufunc[_kinds.OneInexact]
arcsin: ufunc[_kinds.OneInexact]
arcsinh: ufunc[_kinds.OneInexact]
arctan: ufunc[_kinds.OneInexact]
arctan2: ufunc[_kinds.TwoInexact]
arctanh: ufunc[_kinds.OneInexact]
asin: ufunc[_kinds.OneInexact]
asinh: ufunc[_kinds.OneInexact]
atan: ufunc[_kinds.OneInexact]
atan2: ufunc[_kinds.TwoInexact]
atanh: ufunc[_kinds.OneInexact]
bitwise_and: ufunc[_kinds.TwoScalars]
bitwise_count: ufunc[_kinds.Other]
bitwise_invert: ufunc[_kinds.OneScalar]
bitwise_left_shift: ufunc[_kinds.TwoNumbers]
bitwise_not: ufunc[_kinds.OneScalar]
bitwise_or: ufunc[_kinds.TwoScalars]
bitwise_right_shift: ufunc[_kinds.TwoNumbers]
bitwise_xor: ufunc[_kinds.TwoScalars]
cbrt: ufunc[_kinds.OneInexact]
ceil: ufunc[_kinds.OneScalar]
conj: ufunc[_kinds.OneScalar]
conjugate: ufunc[_kinds.OneScalar]
copysign: ufunc[_kinds.TwoInexact]
cos: ufunc[_kinds.OneInexact]
cosh: ufunc[_kinds.OneInexact]
deg2rad: ufunc[_kinds.OneInexact]
degrees: ufunc[_kinds.OneInexact]
divide: ufunc[_kinds.TwoInexact]
divmod: ufunc[_kinds.TwoResults]
equal: ufunc[_kinds.Booleans]
exp: ufunc[_kinds.OneInexact]
exp2: ufunc[_kinds.OneInexact]
expm1: ufunc[_kinds.OneInexact]
fabs: ufunc[_kinds.OneInexact]
float_power: ufunc[_kinds.Other]
floor: ufunc[_kinds.OneScalar]
floor_divide: ufunc[_kinds.TwoNumbers]
fmax: ufunc[_kinds.TwoScalars]
fmin: ufunc[_kinds.TwoScalars]
fmod: ufunc[_kinds.TwoNumbers]
frexp: ufunc[_kinds.TwoResults]
gcd: ufunc[_kinds.TwoNumbers]
greater: ufunc[_kinds.Booleans]
greater_equal: ufunc[_kinds.Booleans]
heaviside: ufunc[_kinds.TwoInexact]
hypot: ufunc[_kinds.TwoInexact]
invert: ufunc[_kinds.OneScalar]
isfinite: ufunc[_kinds.Booleans]
isinf: ufunc[_kinds.Booleans]
isnan: ufunc[_kinds.Booleans]
lcm: ufunc[_kinds.TwoNumbers]
ldexp: ufunc[_kinds.Other]
left_shift: ufunc[_kinds.TwoNumbers]
less: ufunc[_kinds.Booleans]
less_equal: ufunc[_kinds.Booleans]
log: ufunc[_kinds.OneInexact]
log10: ufunc[_kinds.OneInexact]
log1p: ufunc[_kinds.OneInexact]
log2: ufunc[_kinds.OneInexact]
logaddexp: ufunc[_kinds.TwoInexact]
logaddexp2: ufunc[_kinds.TwoInexact]
logical_and: ufunc[_kinds.Booleans]
logical_not: ufunc[_kinds.Booleans]
logical_or: ufunc[_kinds.Booleans]
logical_xor: ufunc[_kinds.Booleans]
matmul: ufunc[_kinds.TwoScalars]
matvec: ufunc[_kinds.TwoScalars]
maximum: ufunc[_kinds.TwoScalars]
minimum: ufunc[_kinds.TwoScalars]
mod: ufunc[_kinds.TwoNumbers]
modf: ufunc[_kinds.TwoResults]
multiply: ufunc[_kinds.TwoScalars]
negative: ufunc[_kinds.OneScalar]
nextafter: ufunc[_kinds.TwoInexact]
not_equal: ufunc[_kinds.Booleans]
positive: ufunc[_kinds.OneScalar]
pow: ufunc[_kinds.TwoNumbers]
power: ufunc[_kinds.TwoNumbers]
rad2deg: ufunc[_kinds.OneInexact]
radians: ufunc[_kinds.OneInexact]
reciprocal: ufunc[_kinds.OneScalar]
remainder: ufunc[_kinds.TwoNumbers]
right_shift: ufunc[_kinds.TwoNumbers]
rint: ufunc[_kinds.OneInexact]
sign: ufunc[_kinds.OneScalar]
signbit: ufunc[_kinds.Booleans]
sin: ufunc[_kinds.OneInexact]
sinh: ufunc[_kinds.OneInexact]
spacing: ufunc[_kinds.OneInexact]
sqrt: ufunc[_kinds.OneInexact]
square: ufunc[_kinds.OneScalar]
subtract: ufunc[_kinds.TwoNumbers]
tan: ufunc[_kinds.OneInexact]
tanh: ufunc[_kinds.OneInexact]
true_divide: ufunc[_kinds.TwoInexact]
trunc: ufunc[_kinds.OneScalar]
vecdot: ufunc[_kinds.TwoScalars]
vecmat: ufunc[_kinds.TwoScalars]
def all(
    a: _Any, axis: _Any = None, out: _Any = None, keepdims: _Any = False, *, where: _Any = True,
) -> _GPUArray[_np.bool_]: ...
def allclose(
    a: _Any, b: _Any, rtol: _Any = 1e-05, atol: _Any = 1e-08, equal_nan: _Any = False,
) -> _GPUArray[_np.bool_]: ...
@overload
def amax(
    a: _Array[_Scalar], axis: _Any = None, out: None = None, keepdims: _Any = False, initial: _Any = ...,
    where: _Any = True,
) -> _GPUArray[_Scalar]: ...
@overload
def amax(
    a: _Any, axis: _Any = None, out: _Any = None, keepdims: _Any = False, initial: _Any = ...,
    where: _Any = True,
) -> _GPUArray: ...
@overload
def amin(
    a: _Array[_Scalar], axis: _Any = None, out: None = None, keepdims: _Any = False, initial: _Any = ...,
    where: _Any = True,
) -> _GPUArray[_Scalar]: ...
@overload
def amin(
    a: _Any, axis: _Any = None, out: _Any = None, keepdims: _Any = False, initial: _Any = ...,
    where: _Any = True,
) -> _GPUArray: ...
def angle(z: _Any, deg: _Any = False) -> _GPUArray: ...
def any(
    a: _Any, axis: _Any = None, out: _Any = None, keepdims: _Any = False, *, where: _Any = True,
) -> _GPUArray[_np.bool_]: ...
def append(arr: _Any, values: _Any, axis: _Any = None) -> _GPUArray: ...
def apply_along_axis(func1d: _Any, axis: _Any, arr: _Any, *args: _Any, **kwargs: _Any) -> _GPUArray: ...
def apply_over_axes(func: _Any, a: _Any, axes: _Any) -> _GPUArray: ...
@overload
def arange(
    start_or_stop: int, /, stop: int | None = None, step: int = 1, dtype: None = None, *,
    device: _Any = None,
) -> _GPUArray[_np.int_]: ...
@overload
def arange(
    start_or_stop: float, /, stop: float | None = None, step: float = 1, dtype: None = None, *,
    device: _Any = None,
) -> _GPUArray[_np.float64]: ...
@overload
def arange(
    start_or_stop: _Any, /, stop: _Any = None, step: _Any = 1, *, dtype: _DTypeOf[_Scalar],
    device: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def arange(
    start_or_stop: _Any, /, stop: _Any = None, step: _Any = 1, dtype: _Any = None, *, device: _Any = None,
) -> _GPUArray: ...
def argmax(
    a: _Any, axis: _Any = None, out: _Any = None, *, keepdims: _Any = False,
) -> _GPUArray[_np.intp]: ...
def argmin(
    a: _Any, axis: _Any = None, out: _Any = None, *, keepdims: _Any = False,
) -> _GPUArray[_np.intp]: ...
def argpartition(
    a: _Any, kth: _Any, axis: _Any = -1, kind: _Any = 'introselect', order: _Any = None,
) -> _GPUArray[_np.intp]: ...
def argsort(
    a: _Any, axis: _Any = -1, kind: _Any = None, order: _Any = None, *, stable: _Any = None,
    descending: _Any = None,
) -> _GPUArray[_np.intp]: ...
def argwhere(a: _Any) -> _GPUArray[_np.intp]: ...
@overload
def around(a: _Array[_Scalar], decimals: _Any = 0, out: None = None) -> _GPUArray[_Scalar]: ...
@overload
def around(a: _Any, decimals: _Any = 0, out: _Any = None) -> _GPUArray: ...
@overload
def array(
    object: _Array[_Scalar], dtype: None = None, *, copy: _Any = True, order: _Any = 'K',
    subok: _Any = False, ndmin: _Any = 0, ndmax: _Any = 0,
) -> _GPUArray[_Scalar]: ...
@overload
def array(
    object: _Any, dtype: _DTypeOf[_Scalar], *, copy: _Any = True, order: _Any = 'K', subok: _Any = False,
    ndmin: _Any = 0, ndmax: _Any = 0,
) -> _GPUArray[_Scalar]: ...
@overload
def array(
    object: _Any, dtype: _Any = None, *, copy: _Any = True, order: _Any = 'K', subok: _Any = False,
    ndmin: _Any = 0, ndmax: _Any = 0,
) -> _GPUArray: ...
def array_equal(a1: _Any, a2: _Any, equal_nan: _Any = False) -> _GPUArray[_np.bool_]: ...
def array_equiv(a1: _Any, a2: _Any) -> _GPUArray[_np.bool_]: ...
@overload
def array_split(
    ary: _Array[_Scalar], indices_or_sections: _Any, axis: _Any = 0,
) -> list[_GPUArray[_Scalar]]: ...
@overload
def array_split(ary: _Any, indices_or_sections: _Any, axis: _Any = 0) -> list[_GPUArray]: ...
@overload
def asanyarray(
    a: _Array[_Scalar], dtype: None = None, order: _Any = None, *, device: _Any = None, copy: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def asanyarray(
    a: _Any, dtype: _DTypeOf[_Scalar], order: _Any = None, *, device: _Any = None, copy: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def asanyarray(
    a: _Any, dtype: _Any = None, order: _Any = None, *, device: _Any = None, copy: _Any = None,
) -> _GPUArray: ...
@overload
def asarray(
    a: _Array[_Scalar], dtype: None = None, order: _Any = None, *, device: _Any = None, copy: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def asarray(
    a: _Any, dtype: _DTypeOf[_Scalar], order: _Any = None, *, device: _Any = None, copy: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def asarray(
    a: _Any, dtype: _Any = None, order: _Any = None, *, device: _Any = None, copy: _Any = None,
) -> _GPUArray: ...
@overload
def ascontiguousarray(a: _Array[_Scalar], dtype: None = None) -> _GPUArray[_Scalar]: ...
@overload
def ascontiguousarray(a: _Any, dtype: _DTypeOf[_Scalar]) -> _GPUArray[_Scalar]: ...
@overload
def ascontiguousarray(a: _Any, dtype: _Any = None) -> _GPUArray: ...
@overload
def asfortranarray(a: _Array[_Scalar], dtype: None = None) -> _GPUArray[_Scalar]: ...
@overload
def asfortranarray(a: _Any, dtype: _DTypeOf[_Scalar]) -> _GPUArray[_Scalar]: ...
@overload
def asfortranarray(a: _Any, dtype: _Any = None) -> _GPUArray: ...
@overload
def astype(
    x: _Any, dtype: _DTypeOf[_Scalar], /, *, copy: _Any = True, device: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def astype(x: _Any, dtype: _Any, /, *, copy: _Any = True, device: _Any = None) -> _GPUArray: ...
@overload
def atleast_1d(ary: _Array[_Scalar], /) -> _GPUArray[_Scalar]: ...
@overload
def atleast_1d(*arys: _Any) -> _GPUArray | tuple[_GPUArray, ...]: ...
@overload
def atleast_2d(ary: _Array[_Scalar], /) -> _GPUArray[_Scalar]: ...
@overload
def atleast_2d(*arys: _Any) -> _GPUArray | tuple[_GPUArray, ...]: ...
@overload
def atleast_3d(ary: _Array[_Scalar], /) -> _GPUArray[_Scalar]: ...
@overload
def atleast_3d(*arys: _Any) -> _GPUArray | tuple[_GPUArray, ...]: ...
def average(
    a: _Any, axis: _Any = None, weights: _Any = None, returned: _Any = False, *, keepdims: _Any = False,
) -> _GPUArray | tuple[_GPUArray, _GPUArray]: ...
def bartlett(*args: _Any, **kwargs: _Any) -> _GPUArray: ...
def bincount(
    x: _Any, /, weights: _Any = None, minlength: _Any = 0, *, stream: _Any = None, allocator: _Any = None,
) -> _GPUArray: ...
def blackman(*args: _Any, **kwargs: _Any) -> _GPUArray: ...
def block(arrays: _Any) -> _GPUArray: ...
@overload
def broadcast_arrays(*args: _Array[_Scalar], subok: _Any = False) -> tuple[_GPUArray[_Scalar], ...]: ...
@overload
def broadcast_arrays(*args: _Any, subok: _Any = False) -> tuple[_GPUArray, ...]: ...
@overload
def broadcast_to(array: _Array[_Scalar], shape: _Any, subok: _Any = False) -> _GPUArray[_Scalar]: ...
@overload
def broadcast_to(array: _Any, shape: _Any, subok: _Any = False) -> _GPUArray: ...
def choose(a: _Any, choices: _Any, out: _Any = None, mode: _Any = 'raise') -> _GPUArray: ...
def clip(
    a: _Any, min: _Any = None, max: _Any = None, out: _Any = None, *, a_min: _Any = ...,
    a_max: _Any = ..., **kwargs: _Any,
) -> _GPUArray: ...
@overload
def column_stack(tup: _Sequence[_Array[_Scalar]]) -> _GPUArray[_Scalar]: ...
@overload
def column_stack(tup: _Any) -> _GPUArray: ...
@overload
def compress(
    condition: _Any, a: _Array[_Scalar], axis: _Any = None, out: None = None, *, stream: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def compress(
    condition: _Any, a: _Any, axis: _Any = None, out: _Any = None, *, stream: _Any = None,
) -> _GPUArray: ...
@overload
def concat(
    arrays: _Sequence[_Array[_Scalar]], /, axis: _Any = 0, out: None = None, *, dtype: None = None,
    casting: _Any = 'same_kind',
) -> _GPUArray[_Scalar]: ...
@overload
def concat(
    arrays: _Any, /, axis: _Any = 0, out: _Any = None, *, dtype: _DTypeOf[_Scalar],
    casting: _Any = 'same_kind',
) -> _GPUArray[_Scalar]: ...
@overload
def concat(
    arrays: _Any, /, axis: _Any = 0, out: _Any = None, *, dtype: _Any = None, casting: _Any = 'same_kind',
) -> _GPUArray: ...
@overload
def concatenate(
    arrays: _Sequence[_Array[_Scalar]], /, axis: _Any = 0, out: None = None, *, dtype: None = None,
    casting: _Any = 'same_kind',
) -> _GPUArray[_Scalar]: ...
@overload
def concatenate(
    arrays: _Any, /, axis: _Any = 0, out: _Any = None, *, dtype: _DTypeOf[_Scalar],
    casting: _Any = 'same_kind',
) -> _GPUArray[_Scalar]: ...
@overload
def concatenate(
    arrays: _Any, /, axis: _Any = 0, out: _Any = None, *, dtype: _Any = None, casting: _Any = 'same_kind',
) -> _GPUArray: ...
@overload
def convolve(a: _Array[_Scalar], v: _Array[_Scalar], mode: _Any = 'full') -> _GPUArray[_Scalar]: ...
@overload
def convolve(a: _Any, v: _Any, mode: _Any = 'full') -> _GPUArray: ...
@overload
def copy(a: _Array[_Scalar], order: _Any = 'K', subok: _Any = False) -> _GPUArray[_Scalar]: ...
@overload
def copy(a: _Any, order: _Any = 'K', subok: _Any = False) -> _GPUArray: ...
def copyto(dst: _Any, src: _Any, casting: _Any = 'same_kind', where: _Any = True) -> None: ...
@overload
def corrcoef(
    x: _Any, y: _Any = None, rowvar: _Any = True, *, dtype: None = None,
) -> _GPUArray[_np.inexact]: ...
@overload
def corrcoef(
    x: _Any, y: _Any = None, rowvar: _Any = True, *, dtype: _DTypeOf[_Scalar],
) -> _GPUArray[_Scalar]: ...
@overload
def corrcoef(x: _Any, y: _Any = None, rowvar: _Any = True, *, dtype: _Any = None) -> _GPUArray: ...
@overload
def correlate(a: _Array[_Scalar], v: _Array[_Scalar], mode: _Any = 'valid') -> _GPUArray[_Scalar]: ...
@overload
def correlate(a: _Any, v: _Any, mode: _Any = 'valid') -> _GPUArray: ...
def count_nonzero(
    a: _Any, axis: _Any = None, *, keepdims: _Any = False, stream: _Any = None, allocator: _Any = None,
) -> _GPUArray[_np.intp]: ...
def cov(
    m: _Any, y: _Any = None, rowvar: _Any = True, bias: _Any = False, ddof: _Any = None,
    fweights: _Any = None, aweights: _Any = None, *, dtype: _Any = None,
) -> _GPUArray[_np.inexact]: ...
@overload
def cross(
    a: _Array[_Scalar], b: _Array[_Scalar], axisa: _Any = -1, axisb: _Any = -1, axisc: _Any = -1,
    axis: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def cross(
    a: _Any, b: _Any, axisa: _Any = -1, axisb: _Any = -1, axisc: _Any = -1, axis: _Any = None,
) -> _GPUArray: ...
@overload
def cumprod(
    a: _Array[_Inexact], axis: _Any = None, dtype: None = None, out: None = None,
) -> _GPUArray[_Inexact]: ...
@overload
def cumprod(
    a: _Any, axis: _Any = None, *, dtype: _DTypeOf[_Scalar], out: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def cumprod(a: _Any, axis: _Any = None, dtype: _Any = None, out: _Any = None) -> _GPUArray: ...
@overload
def cumsum(
    a: _Array[_Inexact], axis: _Any = None, dtype: None = None, out: None = None,
) -> _GPUArray[_Inexact]: ...
@overload
def cumsum(
    a: _Any, axis: _Any = None, *, dtype: _DTypeOf[_Scalar], out: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def cumsum(a: _Any, axis: _Any = None, dtype: _Any = None, out: _Any = None) -> _GPUArray: ...
@overload
def cumulative_prod(
    x: _Array[_Inexact], /, *, axis: _Any = None, dtype: None = None, out: None = None,
    include_initial: _Any = False,
) -> _GPUArray[_Inexact]: ...
@overload
def cumulative_prod(
    x: _Any, /, *, axis: _Any = None, dtype: _DTypeOf[_Scalar], out: _Any = None,
    include_initial: _Any = False,
) -> _GPUArray[_Scalar]: ...
@overload
def cumulative_prod(
    x: _Any, /, *, axis: _Any = None, dtype: _Any = None, out: _Any = None, include_initial: _Any = False,
) -> _GPUArray: ...
@overload
def cumulative_sum(
    x: _Array[_Inexact], /, *, axis: _Any = None, dtype: None = None, out: None = None,
    include_initial: _Any = False,
) -> _GPUArray[_Inexact]: ...
@overload
def cumulative_sum(
    x: _Any, /, *, axis: _Any = None, dtype: _DTypeOf[_Scalar], out: _Any = None,
    include_initial: _Any = False,
) -> _GPUArray[_Scalar]: ...
@overload
def cumulative_sum(
    x: _Any, /, *, axis: _Any = None, dtype: _Any = None, out: _Any = None, include_initial: _Any = False,
) -> _GPUArray: ...
@overload
def delete(arr: _Array[_Scalar], obj: _Any, axis: _Any = None) -> _GPUArray[_Scalar]: ...
@overload
def delete(arr: _Any, obj: _Any, axis: _Any = None) -> _GPUArray: ...
@overload
def diag(v: _Array[_Scalar], k: _Any = 0) -> _GPUArray[_Scalar]: ...
@overload
def diag(v: _Any, k: _Any = 0) -> _GPUArray: ...
def diag_indices(n: _Any, ndim: _Any = 2) -> tuple[_GPUArray[_np.intp], ...]: ...
def diag_indices_from(arr: _Any) -> tuple[_GPUArray[_np.intp], ...]: ...
@overload
def diagflat(v: _Array[_Scalar], k: _Any = 0) -> _GPUArray[_Scalar]: ...
@overload
def diagflat(v: _Any, k: _Any = 0) -> _GPUArray: ...
@overload
def diagonal(
    a: _Array[_Scalar], offset: _Any = 0, axis1: _Any = 0, axis2: _Any = 1,
) -> _GPUArray[_Scalar]: ...
@overload
def diagonal(a: _Any, offset: _Any = 0, axis1: _Any = 0, axis2: _Any = 1) -> _GPUArray: ...
def diff(a: _Any, n: _Any = 1, axis: _Any = -1, prepend: _Any = ..., append: _Any = ...) -> _GPUArray: ...
def digitize(x: _Any, bins: _Any, right: _Any = False) -> _GPUArray[_np.intp]: ...
@overload
def dot(a: _Array[_Scalar], b: _Array[_Scalar], out: None = None) -> _GPUArray[_Scalar]: ...
@overload
def dot(a: _Any, b: _Any, out: _Any = None) -> _GPUArray: ...
@overload
def dsplit(ary: _Array[_Scalar], indices_or_sections: _Any) -> list[_GPUArray[_Scalar]]: ...
@overload
def dsplit(ary: _Any, indices_or_sections: _Any) -> list[_GPUArray]: ...
@overload
def dstack(tup: _Sequence[_Array[_Scalar]]) -> _GPUArray[_Scalar]: ...
@overload
def dstack(tup: _Any) -> _GPUArray: ...
@overload
def ediff1d(ary: _Array[_Scalar], to_end: _Any = None, to_begin: _Any = None) -> _GPUArray[_Scalar]: ...
@overload
def ediff1d(ary: _Any, to_end: _Any = None, to_begin: _Any = None) -> _GPUArray: ...
@overload
def einsum(
    *operands: _Any, out: _Any = None, optimize: _Any = False, dtype: _DTypeOf[_Scalar],
    order: _Any = 'K', casting: _Any = 'safe',
) -> _GPUArray[_Scalar]: ...
@overload
def einsum(
    *operands: _Any, out: _Any = None, optimize: _Any = False, dtype: _Any = None, order: _Any = 'K',
    casting: _Any = 'safe',
) -> _GPUArray: ...
@overload
def empty(
    shape: _Any, dtype: None = ..., order: _Any = 'C', *, device: _Any = None,
) -> _GPUArray[_np.float64]: ...
@overload
def empty(
    shape: _Any, dtype: _DTypeOf[_Scalar], order: _Any = 'C', *, device: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def empty(shape: _Any, dtype: _Any = ..., order: _Any = 'C', *, device: _Any = None) -> _GPUArray: ...
@overload
def empty_like(
    prototype: _Array[_Scalar], dtype: None = None, order: _Any = 'K', subok: _Any = True,
    shape: _Any = None, *, device: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def empty_like(
    prototype: _Any, dtype: _DTypeOf[_Scalar], order: _Any = 'K', subok: _Any = True, shape: _Any = None,
    *, device: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def empty_like(
    prototype: _Any, dtype: _Any = None, order: _Any = 'K', subok: _Any = True, shape: _Any = None, *,
    device: _Any = None,
) -> _GPUArray: ...
@overload
def expand_dims(a: _Array[_Scalar], axis: _Any) -> _GPUArray[_Scalar]: ...
@overload
def expand_dims(a: _Any, axis: _Any) -> _GPUArray: ...
@overload
def extract(condition: _Any, arr: _Array[_Scalar], *, stream: _Any = None) -> _GPUArray[_Scalar]: ...
@overload
def extract(condition: _Any, arr: _Any, *, stream: _Any = None) -> _GPUArray: ...
@overload
def eye(
    N: _Any, M: _Any = None, k: _Any = 0, dtype: None = ..., order: _Any = 'C', *, device: _Any = None,
) -> _GPUArray[_np.float64]: ...
@overload
def eye(
    N: _Any, M: _Any = None, k: _Any = 0, *, dtype: _DTypeOf[_Scalar], order: _Any = 'C',
    device: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def eye(
    N: _Any, M: _Any = None, k: _Any = 0, dtype: _Any = ..., order: _Any = 'C', *, device: _Any = None,
) -> _GPUArray: ...
def fill_diagonal(a: _Any, val: _Any, wrap: _Any = False) -> None: ...
@overload
def fix(x: _Array[_Scalar], out: None = None) -> _GPUArray[_Scalar]: ...
@overload
def fix(x: _Any, out: _Any = None) -> _GPUArray: ...
def flatnonzero(a: _Any, *, stream: _Any = None) -> _GPUArray[_np.intp]: ...
@overload
def flip(m: _Array[_Scalar], axis: _Any = None) -> _GPUArray[_Scalar]: ...
@overload
def flip(m: _Any, axis: _Any = None) -> _GPUArray: ...
@overload
def fliplr(m: _Array[_Scalar]) -> _GPUArray[_Scalar]: ...
@overload
def fliplr(m: _Any) -> _GPUArray: ...
@overload
def flipud(m: _Array[_Scalar]) -> _GPUArray[_Scalar]: ...
@overload
def flipud(m: _Any) -> _GPUArray: ...
def frombuffer(*args: _Any, **kwargs: _Any) -> _GPUArray: ...
def fromfile(*args: _Any, **kwargs: _Any) -> _GPUArray: ...
def fromfunction(
    function: _Callable[..., _Result], shape: _Any, *, dtype: _Any = ..., **kwargs: _Any,
) -> _Result: ...
def fromiter(*args: _Any, **kwargs: _Any) -> _GPUArray: ...
def fromstring(*args: _Any, **kwargs: _Any) -> _GPUArray: ...
@overload
def full(
    shape: _Any, fill_value: _Any, dtype: _DTypeOf[_Scalar], order: _Any = 'C', *, device: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def full(
    shape: _Any, fill_value: _Any, dtype: _Any = None, order: _Any = 'C', *, device: _Any = None,
) -> _GPUArray: ...
@overload
def full_like(
    a: _Array[_Scalar], fill_value: _Any, dtype: None = None, order: _Any = 'K', subok: _Any = True,
    shape: _Any = None, *, device: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def full_like(
    a: _Any, fill_value: _Any, dtype: _DTypeOf[_Scalar], order: _Any = 'K', subok: _Any = True,
    shape: _Any = None, *, device: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def full_like(
    a: _Any, fill_value: _Any, dtype: _Any = None, order: _Any = 'K', subok: _Any = True,
    shape: _Any = None, *, device: _Any = None,
) -> _GPUArray: ...
def genfromtxt(*args: _Any, **kwargs: _Any) -> _GPUArray: ...
@overload
def geomspace(
    start: _Any, stop: _Any, num: _Any = 50, endpoint: _Any = True, *, dtype: _DTypeOf[_Scalar],
    axis: _Any = 0,
) -> _GPUArray[_Scalar]: ...
@overload
def geomspace(
    start: _Any, stop: _Any, num: _Any = 50, endpoint: _Any = True, dtype: _Any = None, axis: _Any = 0,
) -> _GPUArray: ...
def gradient(
    f: _Any, *varargs: _Any, axis: _Any = None, edge_order: _Any = 1,
) -> _GPUArray | tuple[_GPUArray, ...]: ...
def hamming(*args: _Any, **kwargs: _Any) -> _GPUArray: ...
def hanning(*args: _Any, **kwargs: _Any) -> _GPUArray: ...
def histogram(
    a: _Any, bins: _Any = 10, range: _Any = None, density: _Any = None, weights: _Any = None, *,
    stream: _Any = None, allocator: _Any = None,
) -> tuple[_GPUArray, _GPUArray]: ...
def histogram2d(
    x: _Any, y: _Any, bins: _Any = 10, range: _Any = None, density: _Any = None, weights: _Any = None,
) -> tuple[_GPUArray, _GPUArray, _GPUArray]: ...
def histogram_bin_edges(
    a: _Any, bins: _Any = 10, range: _Any = None, weights: _Any = None,
) -> _GPUArray: ...
def histogramdd(
    sample: _Any, bins: _Any = 10, range: _Any = None, density: _Any = None, weights: _Any = None,
) -> tuple[_GPUArray, list[_GPUArray]]: ...
@overload
def hsplit(ary: _Array[_Scalar], indices_or_sections: _Any) -> list[_GPUArray[_Scalar]]: ...
@overload
def hsplit(ary: _Any, indices_or_sections: _Any) -> list[_GPUArray]: ...
@overload
def hstack(
    tup: _Sequence[_Array[_Scalar]], *, dtype: None = None, casting: _Any = 'same_kind',
) -> _GPUArray[_Scalar]: ...
@overload
def hstack(tup: _Any, *, dtype: _DTypeOf[_Scalar], casting: _Any = 'same_kind') -> _GPUArray[_Scalar]: ...
@overload
def hstack(tup: _Any, *, dtype: _Any = None, casting: _Any = 'same_kind') -> _GPUArray: ...
@overload
def i0(x: _Array[_Floating]) -> _GPUArray[_Floating]: ...
@overload
def i0(x: _Any) -> _GPUArray: ...
@overload
def identity(n: _Any, dtype: None = None) -> _GPUArray[_np.float64]: ...
@overload
def identity(n: _Any, dtype: _DTypeOf[_Scalar]) -> _GPUArray[_Scalar]: ...
@overload
def identity(n: _Any, dtype: _Any = None) -> _GPUArray: ...
def imag(val: _Any) -> _GPUArray: ...
def indices(
    dimensions: _Any, dtype: _Any = ..., sparse: _Any = False,
) -> _GPUArray | tuple[_GPUArray, ...]: ...
@overload
def inner(a: _Array[_Scalar], b: _Array[_Scalar], /) -> _GPUArray[_Scalar]: ...
@overload
def inner(a: _Any, b: _Any, /) -> _GPUArray: ...
@overload
def insert(arr: _Array[_Scalar], obj: _Any, values: _Any, axis: _Any = None) -> _GPUArray[_Scalar]: ...
@overload
def insert(arr: _Any, obj: _Any, values: _Any, axis: _Any = None) -> _GPUArray: ...
def interp(
    x: _Any, xp: _Any, fp: _Any, left: _Any = None, right: _Any = None, period: _Any = None,
) -> _GPUArray: ...
@overload
def intersect1d(
    ar1: _Array[_Scalar], ar2: _Array[_Scalar], assume_unique: _builtins.bool = False,
    return_indices: _Literal[False] = False,
) -> _GPUArray[_Scalar]: ...
@overload
def intersect1d(
    ar1: _Any, ar2: _Any, assume_unique: _builtins.bool = False, return_indices: _Literal[False] = False,
) -> _GPUArray: ...
@overload
def intersect1d(
    ar1: _Any, ar2: _Any, assume_unique: _builtins.bool = False, *, return_indices: _Literal[True],
) -> tuple[_GPUArray, _GPUArray[_np.intp], _GPUArray[_np.intp]]: ...
def isclose(
    a: _Any, b: _Any, rtol: _Any = 1e-05, atol: _Any = 1e-08, equal_nan: _Any = False,
) -> _GPUArray[_np.bool_]: ...
def iscomplex(x: _Any) -> _GPUArray[_np.bool_]: ...
def isin(
    element: _Any, test_elements: _Any, assume_unique: _Any = False, invert: _Any = False, *,
    kind: _Any = None,
) -> _GPUArray[_np.bool_]: ...
def isneginf(x: _Any, out: _Any = None) -> _GPUArray[_np.bool_]: ...
def isposinf(x: _Any, out: _Any = None) -> _GPUArray[_np.bool_]: ...
def isreal(x: _Any) -> _GPUArray[_np.bool_]: ...
def ix_(*args: _Any) -> tuple[_GPUArray, ...]: ...
def kaiser(*args: _Any, **kwargs: _Any) -> _GPUArray: ...
@overload
def kron(a: _Array[_Scalar], b: _Array[_Scalar]) -> _GPUArray[_Scalar]: ...
@overload
def kron(a: _Any, b: _Any) -> _GPUArray: ...
def lexsort(
    keys: _Any, axis: _Any = -1, *, stream: _Any = None, allocator: _Any = None,
) -> _GPUArray[_np.intp]: ...
@overload
def linspace(
    start: float, stop: float, num: int = 50, endpoint: _builtins.bool = True,
    retstep: _Literal[False] = False, dtype: None = None, axis: int = 0, *, device: _Any = None,
) -> _GPUArray[_np.float64]: ...
@overload
def linspace(
    start: _Any, stop: _Any, num: int = 50, endpoint: _builtins.bool = True,
    retstep: _Literal[False] = False, *, dtype: _DTypeOf[_Scalar], axis: int = 0, device: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def linspace(
    start: _Any, stop: _Any, num: int = 50, endpoint: _builtins.bool = True,
    retstep: _Literal[False] = False, dtype: _Any = None, axis: int = 0, *, device: _Any = None,
) -> _GPUArray: ...
@overload
def linspace(
    start: _Any, stop: _Any, num: int = 50, endpoint: _builtins.bool = True,
    retstep: _builtins.bool = False, dtype: _Any = None, axis: int = 0, *, device: _Any = None,
) -> _GPUArray | tuple[_GPUArray, _GPUArray]: ...
def loadtxt(*args: _Any, **kwargs: _Any) -> _GPUArray: ...
@overload
def logspace(
    start: _Any, stop: _Any, num: _Any = 50, endpoint: _Any = True, base: _Any = 10.0, *,
    dtype: _DTypeOf[_Scalar], axis: _Any = 0,
) -> _GPUArray[_Scalar]: ...
@overload
def logspace(
    start: _Any, stop: _Any, num: _Any = 50, endpoint: _Any = True, base: _Any = 10.0, dtype: _Any = None,
    axis: _Any = 0,
) -> _GPUArray: ...
def mask_indices(n: _Any, mask_func: _Any, k: _Any = 0) -> tuple[_GPUArray[_np.intp], ...]: ...
@overload
def matrix_transpose(x: _Array[_Scalar], /) -> _GPUArray[_Scalar]: ...
@overload
def matrix_transpose(x: _Any, /) -> _GPUArray: ...
@overload
def max(
    a: _Array[_Scalar], axis: _Any = None, out: None = None, keepdims: _Any = False, initial: _Any = ...,
    where: _Any = True,
) -> _GPUArray[_Scalar]: ...
@overload
def max(
    a: _Any, axis: _Any = None, out: _Any = None, keepdims: _Any = False, initial: _Any = ...,
    where: _Any = True,
) -> _GPUArray: ...
@overload
def mean(
    a: _Array[_Inexact], axis: _Any = None, dtype: None = None, out: None = None, keepdims: _Any = False,
    *, where: _Any = True,
) -> _GPUArray[_Inexact]: ...
@overload
def mean(
    a: _Any, axis: _Any = None, *, dtype: _DTypeOf[_Scalar], out: _Any = None, keepdims: _Any = False,
    where: _Any = True,
) -> _GPUArray[_Scalar]: ...
@overload
def mean(
    a: _Any, axis: _Any = None, dtype: _Any = None, out: _Any = None, keepdims: _Any = False, *,
    where: _Any = True,
) -> _GPUArray: ...
@overload
def median(
    a: _Array[_Inexact], axis: _Any = None, out: None = None, overwrite_input: _Any = False,
    keepdims: _Any = False,
) -> _GPUArray[_Inexact]: ...
@overload
def median(
    a: _Any, axis: _Any = None, out: _Any = None, overwrite_input: _Any = False, keepdims: _Any = False,
) -> _GPUArray: ...
@overload
def meshgrid(
    *xi: _Array[_Scalar], copy: _Any = True, sparse: _Any = False, indexing: _Any = 'xy',
) -> tuple[_GPUArray[_Scalar], ...]: ...
@overload
def meshgrid(
    *xi: _Any, copy: _Any = True, sparse: _Any = False, indexing: _Any = 'xy',
) -> tuple[_GPUArray, ...]: ...
@overload
def min(
    a: _Array[_Scalar], axis: _Any = None, out: None = None, keepdims: _Any = False, initial: _Any = ...,
    where: _Any = True,
) -> _GPUArray[_Scalar]: ...
@overload
def min(
    a: _Any, axis: _Any = None, out: _Any = None, keepdims: _Any = False, initial: _Any = ...,
    where: _Any = True,
) -> _GPUArray: ...
@overload
def moveaxis(a: _Array[_Scalar], source: _Any, destination: _Any) -> _GPUArray[_Scalar]: ...
@overload
def moveaxis(a: _Any, source: _Any, destination: _Any) -> _GPUArray: ...
@overload
def nan_to_num(
    x: _Array[_Scalar], copy: _Any = True, nan: _Any = 0.0, posinf: _Any = None, neginf: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def nan_to_num(
    x: _Any, copy: _Any = True, nan: _Any = 0.0, posinf: _Any = None, neginf: _Any = None,
) -> _GPUArray: ...
def nanargmax(
    a: _Any, axis: _Any = None, out: _Any = None, *, keepdims: _Any = False,
) -> _GPUArray[_np.intp]: ...
def nanargmin(
    a: _Any, axis: _Any = None, out: _Any = None, *, keepdims: _Any = False,
) -> _GPUArray[_np.intp]: ...
@overload
def nancumprod(
    a: _Array[_Inexact], axis: _Any = None, dtype: None = None, out: None = None,
) -> _GPUArray[_Inexact]: ...
@overload
def nancumprod(
    a: _Any, axis: _Any = None, *, dtype: _DTypeOf[_Scalar], out: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def nancumprod(a: _Any, axis: _Any = None, dtype: _Any = None, out: _Any = None) -> _GPUArray: ...
@overload
def nancumsum(
    a: _Array[_Inexact], axis: _Any = None, dtype: None = None, out: None = None,
) -> _GPUArray[_Inexact]: ...
@overload
def nancumsum(
    a: _Any, axis: _Any = None, *, dtype: _DTypeOf[_Scalar], out: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def nancumsum(a: _Any, axis: _Any = None, dtype: _Any = None, out: _Any = None) -> _GPUArray: ...
@overload
def nanmax(
    a: _Array[_Scalar], axis: _Any = None, out: None = None, keepdims: _Any = False, initial: _Any = None,
    where: _Any = True,
) -> _GPUArray[_Scalar]: ...
@overload
def nanmax(
    a: _Any, axis: _Any = None, out: _Any = None, keepdims: _Any = False, initial: _Any = None,
    where: _Any = True,
) -> _GPUArray: ...
@overload
def nanmean(
    a: _Array[_Inexact], axis: _Any = None, dtype: None = None, out: None = None, keepdims: _Any = False,
    *, where: _Any = True,
) -> _GPUArray[_Inexact]: ...
@overload
def nanmean(
    a: _Any, axis: _Any = None, *, dtype: _DTypeOf[_Scalar], out: _Any = None, keepdims: _Any = False,
    where: _Any = True,
) -> _GPUArray[_Scalar]: ...
@overload
def nanmean(
    a: _Any, axis: _Any = None, dtype: _Any = None, out: _Any = None, keepdims: _Any = False, *,
    where: _Any = True,
) -> _GPUArray: ...
@overload
def nanmedian(
    a: _Array[_Inexact], axis: _Any = None, out: None = None, overwrite_input: _Any = False,
    keepdims: _Any = False,
) -> _GPUArray[_Inexact]: ...
@overload
def nanmedian(
    a: _Any, axis: _Any = None, out: _Any = None, overwrite_input: _Any = False, keepdims: _Any = False,
) -> _GPUArray: ...
@overload
def nanmin(
    a: _Array[_Scalar], axis: _Any = None, out: None = None, keepdims: _Any = False, initial: _Any = None,
    where: _Any = True,
) -> _GPUArray[_Scalar]: ...
@overload
def nanmin(
    a: _Any, axis: _Any = None, out: _Any = None, keepdims: _Any = False, initial: _Any = None,
    where: _Any = True,
) -> _GPUArray: ...
def nanpercentile(
    a: _Any, q: _Any, axis: _Any = None, out: _Any = None, overwrite_input: _Any = False,
    method: _Any = 'linear', keepdims: _Any = False, *, weights: _Any = None, interpolation: _Any = None,
) -> _GPUArray: ...
@overload
def nanprod(
    a: _Array[_Inexact], axis: _Any = None, dtype: None = None, out: None = None, keepdims: _Any = False,
    initial: _Any = None, where: _Any = True,
) -> _GPUArray[_Inexact]: ...
@overload
def nanprod(
    a: _Any, axis: _Any = None, *, dtype: _DTypeOf[_Scalar], out: _Any = None, keepdims: _Any = False,
    initial: _Any = None, where: _Any = True,
) -> _GPUArray[_Scalar]: ...
@overload
def nanprod(
    a: _Any, axis: _Any = None, dtype: _Any = None, out: _Any = None, keepdims: _Any = False,
    initial: _Any = None, where: _Any = True,
) -> _GPUArray: ...
def nanquantile(
    a: _Any, q: _Any, axis: _Any = None, out: _Any = None, overwrite_input: _Any = False,
    method: _Any = 'linear', keepdims: _Any = False, *, weights: _Any = None, interpolation: _Any = None,
) -> _GPUArray: ...
@overload
def nanstd(
    a: _Array[_Floating], axis: _Any = None, dtype: None = None, out: None = None, ddof: _Any = 0,
    keepdims: _Any = False, *, where: _Any = True, mean: _Any = None, correction: _Any = None,
) -> _GPUArray[_Floating]: ...
@overload
def nanstd(
    a: _Any, axis: _Any = None, dtype: _Any = None, out: _Any = None, ddof: _Any = 0,
    keepdims: _Any = False, *, where: _Any = True, mean: _Any = None, correction: _Any = None,
) -> _GPUArray: ...
@overload
def nansum(
    a: _Array[_Inexact], axis: _Any = None, dtype: None = None, out: None = None, keepdims: _Any = False,
    initial: _Any = None, where: _Any = True,
) -> _GPUArray[_Inexact]: ...
@overload
def nansum(
    a: _Any, axis: _Any = None, *, dtype: _DTypeOf[_Scalar], out: _Any = None, keepdims: _Any = False,
    initial: _Any = None, where: _Any = True,
) -> _GPUArray[_Scalar]: ...
@overload
def nansum(
    a: _Any, axis: _Any = None, dtype: _Any = None, out: _Any = None, keepdims: _Any = False,
    initial: _Any = None, where: _Any = True,
) -> _GPUArray: ...
@overload
def nanvar(
    a: _Array[_Floating], axis: _Any = None, dtype: None = None, out: None = None, ddof: _Any = 0,
    keepdims: _Any = False, *, where: _Any = True, mean: _Any = None, correction: _Any = None,
) -> _GPUArray[_Floating]: ...
@overload
def nanvar(
    a: _Any, axis: _Any = None, dtype: _Any = None, out: _Any = None, ddof: _Any = 0,
    keepdims: _Any = False, *, where: _Any = True, mean: _Any = None, correction: _Any = None,
) -> _GPUArray: ...
def nonzero(a: _Any) -> tuple[_GPUArray[_np.intp], ...]: ...
@overload
def ones(
    shape: _Any, dtype: None = None, order: _Any = 'C', *, device: _Any = None,
) -> _GPUArray[_np.float64]: ...
@overload
def ones(
    shape: _Any, dtype: _DTypeOf[_Scalar], order: _Any = 'C', *, device: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def ones(shape: _Any, dtype: _Any = None, order: _Any = 'C', *, device: _Any = None) -> _GPUArray: ...
@overload
def ones_like(
    a: _Array[_Scalar], dtype: None = None, order: _Any = 'K', subok: _Any = True, shape: _Any = None, *,
    device: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def ones_like(
    a: _Any, dtype: _DTypeOf[_Scalar], order: _Any = 'K', subok: _Any = True, shape: _Any = None, *,
    device: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def ones_like(
    a: _Any, dtype: _Any = None, order: _Any = 'K', subok: _Any = True, shape: _Any = None, *,
    device: _Any = None,
) -> _GPUArray: ...
@overload
def outer(a: _Array[_Scalar], b: _Array[_Scalar], out: None = None) -> _GPUArray[_Scalar]: ...
@overload
def outer(a: _Any, b: _Any, out: _Any = None) -> _GPUArray: ...
def packbits(a: _Any, /, axis: _Any = None, bitorder: _Any = 'big') -> _GPUArray[_np.uint8]: ...
@overload
def pad(
    array: _Array[_Scalar], pad_width: _Any, mode: _Any = 'constant', **kwargs: _Any,
) -> _GPUArray[_Scalar]: ...
@overload
def pad(array: _Any, pad_width: _Any, mode: _Any = 'constant', **kwargs: _Any) -> _GPUArray: ...
@overload
def partition(
    a: _Array[_Scalar], kth: _Any, axis: _Any = -1, kind: _Any = 'introselect', order: None = None, *,
    stream: _Any = None, allocator: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def partition(
    a: _Any, kth: _Any, axis: _Any = -1, kind: _Any = 'introselect', order: None = None, *,
    stream: _Any = None, allocator: _Any = None,
) -> _GPUArray: ...
def percentile(
    a: _Any, q: _Any, axis: _Any = None, out: _Any = None, overwrite_input: _Any = False,
    method: _Any = 'linear', keepdims: _Any = False, *, weights: _Any = None, interpolation: _Any = None,
) -> _GPUArray: ...
@overload
def permute_dims(a: _Array[_Scalar], axes: _Any = None) -> _GPUArray[_Scalar]: ...
@overload
def permute_dims(a: _Any, axes: _Any = None) -> _GPUArray: ...
@overload
def piecewise(
    x: _Array[_Scalar], condlist: _Any, funclist: _Any, *args: _Any, **kw: _Any,
) -> _GPUArray[_Scalar]: ...
@overload
def piecewise(x: _Any, condlist: _Any, funclist: _Any, *args: _Any, **kw: _Any) -> _GPUArray: ...
def place(arr: _Any, mask: _Any, vals: _Any) -> None: ...
def poly(seq_of_zeros: _Any) -> _GPUArray: ...
def polyadd(a1: _Any, a2: _Any) -> _GPUArray: ...
def polyder(p: _Any, m: _Any = 1) -> _GPUArray: ...
def polydiv(u: _Any, v: _Any) -> tuple[_GPUArray, _GPUArray]: ...
def polyfit(
    x: _Any, y: _Any, deg: _Any, rcond: _Any = None, full: _Any = False, w: _Any = None,
    cov: _Any = False,
) -> _GPUArray | tuple[_GPUArray, ...]: ...
def polyint(p: _Any, m: _Any = 1, k: _Any = None) -> _GPUArray: ...
def polymul(a1: _Any, a2: _Any) -> _GPUArray: ...
def polysub(a1: _Any, a2: _Any) -> _GPUArray: ...
def polyval(p: _Any, x: _Any) -> _GPUArray: ...
@overload
def prod(
    a: _Array[_Inexact], axis: _Any = None, dtype: None = None, out: None = None, keepdims: _Any = False,
    initial: _Any = ..., where: _Any = True,
) -> _GPUArray[_Inexact]: ...
@overload
def prod(
    a: _Any, axis: _Any = None, *, dtype: _DTypeOf[_Scalar], out: _Any = None, keepdims: _Any = False,
    initial: _Any = ..., where: _Any = True,
) -> _GPUArray[_Scalar]: ...
@overload
def prod(
    a: _Any, axis: _Any = None, dtype: _Any = None, out: _Any = None, keepdims: _Any = False,
    initial: _Any = ..., where: _Any = True,
) -> _GPUArray: ...
@overload
def ptp(
    a: _Array[_Scalar], axis: _Any = None, out: None = None, keepdims: _Any = False,
) -> _GPUArray[_Scalar]: ...
@overload
def ptp(a: _Any, axis: _Any = None, out: _Any = None, keepdims: _Any = False) -> _GPUArray: ...
def put(a: _Any, ind: _Any, v: _Any, mode: _Any = 'raise') -> None: ...
def put_along_axis(arr: _Any, indices: _Any, values: _Any, axis: _Any) -> None: ...
def putmask(a: _Any, /, mask: _Any, values: _Any) -> None: ...
def quantile(
    a: _Any, q: _Any, axis: _Any = None, out: _Any = None, overwrite_input: _Any = False,
    method: _Any = 'linear', keepdims: _Any = False, *, weights: _Any = None, interpolation: _Any = None,
) -> _GPUArray: ...
@overload
def ravel(a: _Array[_Scalar], order: _Any = 'C', stream: _Any = None) -> _GPUArray[_Scalar]: ...
@overload
def ravel(a: _Any, order: _Any = 'C', stream: _Any = None) -> _GPUArray: ...
def ravel_multi_index(
    multi_index: _Any, dims: _Any, mode: _Any = 'raise', order: _Any = 'C',
) -> _GPUArray[_np.intp]: ...
def real(val: _Any) -> _GPUArray: ...
def real_if_close(a: _Any, tol: _Any = 100) -> _GPUArray: ...
@overload
def repeat(a: _Array[_Scalar], repeats: _Any, axis: _Any = None) -> _GPUArray[_Scalar]: ...
@overload
def repeat(a: _Any, repeats: _Any, axis: _Any = None) -> _GPUArray: ...
@overload
def require(a: _Array[_Scalar], dtype: None = None, requirements: _Any = None) -> _GPUArray[_Scalar]: ...
@overload
def require(a: _Any, dtype: _DTypeOf[_Scalar], requirements: _Any = None) -> _GPUArray[_Scalar]: ...
@overload
def require(a: _Any, dtype: _Any = None, requirements: _Any = None) -> _GPUArray: ...
@overload
def reshape(
    a: _Array[_Scalar], /, shape: _Any = None, order: _Any = 'C', *, newshape: _Any = None,
    copy: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def reshape(
    a: _Any, /, shape: _Any = None, order: _Any = 'C', *, newshape: _Any = None, copy: _Any = None,
) -> _GPUArray: ...
@overload
def resize(a: _Array[_Scalar], new_shape: _Any) -> _GPUArray[_Scalar]: ...
@overload
def resize(a: _Any, new_shape: _Any) -> _GPUArray: ...
@overload
def roll(a: _Array[_Scalar], shift: _Any, axis: _Any = None) -> _GPUArray[_Scalar]: ...
@overload
def roll(a: _Any, shift: _Any, axis: _Any = None) -> _GPUArray: ...
@overload
def rollaxis(a: _Array[_Scalar], axis: _Any, start: _Any = 0) -> _GPUArray[_Scalar]: ...
@overload
def rollaxis(a: _Any, axis: _Any, start: _Any = 0) -> _GPUArray: ...
def roots(p: _Any) -> _GPUArray: ...
@overload
def rot90(m: _Array[_Scalar], k: _Any = 1, axes: _Any = ...) -> _GPUArray[_Scalar]: ...
@overload
def rot90(m: _Any, k: _Any = 1, axes: _Any = ...) -> _GPUArray: ...
@overload
def round(a: _Array[_Scalar], decimals: _Any = 0, out: None = None) -> _GPUArray[_Scalar]: ...
@overload
def round(a: _Any, decimals: _Any = 0, out: _Any = None) -> _GPUArray: ...
def searchsorted(a: _Any, v: _Any, side: _Any = 'left', sorter: _Any = None) -> _GPUArray[_np.intp]: ...
def select(condlist: _Any, choicelist: _Any, default: _Any = 0) -> _GPUArray: ...
@overload
def setdiff1d(ar1: _Array[_Scalar], ar2: _Any, assume_unique: _Any = False) -> _GPUArray[_Scalar]: ...
@overload
def setdiff1d(ar1: _Any, ar2: _Any, assume_unique: _Any = False) -> _GPUArray: ...
@overload
def setxor1d(
    ar1: _Array[_Scalar], ar2: _Array[_Scalar], assume_unique: _Any = False,
) -> _GPUArray[_Scalar]: ...
@overload
def setxor1d(ar1: _Any, ar2: _Any, assume_unique: _Any = False) -> _GPUArray: ...
@overload
def sinc(x: _Array[_Inexact]) -> _GPUArray[_Inexact]: ...
@overload
def sinc(x: _Any) -> _GPUArray: ...
@overload
def sort(
    a: _Array[_Scalar], axis: _Any = -1, kind: _Any = None, order: None = None, *, stable: _Any = None,
    descending: _Any = None, stream: _Any = None, allocator: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def sort(
    a: _Any, axis: _Any = -1, kind: _Any = None, order: None = None, *, stable: _Any = None,
    descending: _Any = None, stream: _Any = None, allocator: _Any = None,
) -> _GPUArray: ...
def sort_complex(a: _Any) -> _GPUArray[_np.complexfloating]: ...
@overload
def split(
    ary: _Array[_Scalar], indices_or_sections: _Any, axis: _Any = 0,
) -> list[_GPUArray[_Scalar]]: ...
@overload
def split(ary: _Any, indices_or_sections: _Any, axis: _Any = 0) -> list[_GPUArray]: ...
@overload
def squeeze(a: _Array[_Scalar], axis: _Any = None) -> _GPUArray[_Scalar]: ...
@overload
def squeeze(a: _Any, axis: _Any = None) -> _GPUArray: ...
@overload
def stack(
    arrays: _Sequence[_Array[_Scalar]], axis: _Any = 0, out: None = None, *, dtype: None = None,
    casting: _Any = 'same_kind',
) -> _GPUArray[_Scalar]: ...
@overload
def stack(
    arrays: _Any, axis: _Any = 0, out: _Any = None, *, dtype: _DTypeOf[_Scalar],
    casting: _Any = 'same_kind',
) -> _GPUArray[_Scalar]: ...
@overload
def stack(
    arrays: _Any, axis: _Any = 0, out: _Any = None, *, dtype: _Any = None, casting: _Any = 'same_kind',
) -> _GPUArray: ...
@overload
def std(
    a: _Array[_Floating], axis: _Any = None, dtype: None = None, out: None = None, ddof: _Any = 0,
    keepdims: _Any = False, *, where: _Any = True, mean: _Any = ..., correction: _Any = ...,
) -> _GPUArray[_Floating]: ...
@overload
def std(
    a: _Any, axis: _Any = None, dtype: _Any = None, out: _Any = None, ddof: _Any = 0,
    keepdims: _Any = False, *, where: _Any = True, mean: _Any = ..., correction: _Any = ...,
) -> _GPUArray: ...
@overload
def sum(
    a: _Array[_Inexact], axis: _Any = None, dtype: None = None, out: None = None, keepdims: _Any = False,
    initial: _Any = ..., where: _Any = True,
) -> _GPUArray[_Inexact]: ...
@overload
def sum(
    a: _Any, axis: _Any = None, *, dtype: _DTypeOf[_Scalar], out: _Any = None, keepdims: _Any = False,
    initial: _Any = ..., where: _Any = True,
) -> _GPUArray[_Scalar]: ...
@overload
def sum(
    a: _Any, axis: _Any = None, dtype: _Any = None, out: _Any = None, keepdims: _Any = False,
    initial: _Any = ..., where: _Any = True,
) -> _GPUArray: ...
@overload
def swapaxes(a: _Array[_Scalar], axis1: _Any, axis2: _Any) -> _GPUArray[_Scalar]: ...
@overload
def swapaxes(a: _Any, axis1: _Any, axis2: _Any) -> _GPUArray: ...
@overload
def take(
    a: _Array[_Scalar], indices: _Any, axis: _Any = None, out: None = None, mode: _Any = 'raise',
) -> _GPUArray[_Scalar]: ...
@overload
def take(
    a: _Any, indices: _Any, axis: _Any = None, out: _Any = None, mode: _Any = 'raise',
) -> _GPUArray: ...
@overload
def take_along_axis(arr: _Array[_Scalar], indices: _Any, axis: _Any = -1) -> _GPUArray[_Scalar]: ...
@overload
def take_along_axis(arr: _Any, indices: _Any, axis: _Any = -1) -> _GPUArray: ...
@overload
def tensordot(a: _Array[_Scalar], b: _Array[_Scalar], axes: _Any = 2) -> _GPUArray[_Scalar]: ...
@overload
def tensordot(a: _Any, b: _Any, axes: _Any = 2) -> _GPUArray: ...
@overload
def tile(A: _Array[_Scalar], reps: _Any) -> _GPUArray[_Scalar]: ...
@overload
def tile(A: _Any, reps: _Any) -> _GPUArray: ...
@overload
def trace(
    a: _Array[_Inexact], offset: _Any = 0, axis1: _Any = 0, axis2: _Any = 1, dtype: None = None,
    out: None = None,
) -> _GPUArray[_Inexact]: ...
@overload
def trace(
    a: _Any, offset: _Any = 0, axis1: _Any = 0, axis2: _Any = 1, *, dtype: _DTypeOf[_Scalar],
    out: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def trace(
    a: _Any, offset: _Any = 0, axis1: _Any = 0, axis2: _Any = 1, dtype: _Any = None, out: _Any = None,
) -> _GPUArray: ...
@overload
def transpose(a: _Array[_Scalar], axes: _Any = None) -> _GPUArray[_Scalar]: ...
@overload
def transpose(a: _Any, axes: _Any = None) -> _GPUArray: ...
def trapezoid(y: _Any, x: _Any = None, dx: _Any = 1.0, axis: _Any = -1) -> _GPUArray: ...
@overload
def tri(N: _Any, M: _Any = None, k: _Any = 0, dtype: None = ...) -> _GPUArray[_np.float64]: ...
@overload
def tri(N: _Any, M: _Any = None, k: _Any = 0, *, dtype: _DTypeOf[_Scalar]) -> _GPUArray[_Scalar]: ...
@overload
def tri(N: _Any, M: _Any = None, k: _Any = 0, dtype: _Any = ...) -> _GPUArray: ...
@overload
def tril(m: _Array[_Scalar], k: _Any = 0, *, stream: _Any = None) -> _GPUArray[_Scalar]: ...
@overload
def tril(m: _Any, k: _Any = 0, *, stream: _Any = None) -> _GPUArray: ...
def tril_indices(n: _Any, k: _Any = 0, m: _Any = None) -> tuple[_GPUArray[_np.intp], ...]: ...
def tril_indices_from(arr: _Any, k: _Any = 0) -> tuple[_GPUArray[_np.intp], ...]: ...
@overload
def trim_zeros(filt: _Array[_Scalar], trim: _Any = 'fb', axis: _Any = None) -> _GPUArray[_Scalar]: ...
@overload
def trim_zeros(filt: _Any, trim: _Any = 'fb', axis: _Any = None) -> _GPUArray: ...
@overload
def triu(m: _Array[_Scalar], k: _Any = 0, *, stream: _Any = None) -> _GPUArray[_Scalar]: ...
@overload
def triu(m: _Any, k: _Any = 0, *, stream: _Any = None) -> _GPUArray: ...
def triu_indices(n: _Any, k: _Any = 0, m: _Any = None) -> tuple[_GPUArray[_np.intp], ...]: ...
def triu_indices_from(arr: _Any, k: _Any = 0) -> tuple[_GPUArray[_np.intp], ...]: ...
@overload
def union1d(ar1: _Array[_Scalar], ar2: _Array[_Scalar]) -> _GPUArray[_Scalar]: ...
@overload
def union1d(ar1: _Any, ar2: _Any) -> _GPUArray: ...
@overload
def unique(
    ar: _Array[_Scalar], return_index: _Literal[False] = False, return_inverse: _Literal[False] = False,
    return_counts: _Literal[False] = False, axis: int | None = None, *, equal_nan: _builtins.bool = True,
    sorted: _builtins.bool = True, stream: _Any = None, allocator: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def unique(
    ar: _Any, return_index: _Literal[True], return_inverse: _builtins.bool = False,
    return_counts: _builtins.bool = False, axis: int | None = None, *, equal_nan: _builtins.bool = True,
    sorted: _builtins.bool = True, stream: _Any = None, allocator: _Any = None,
) -> tuple[_GPUArray, ...]: ...
@overload
def unique(
    ar: _Any, return_index: _builtins.bool = False, *, return_inverse: _Literal[True],
    return_counts: _builtins.bool = False, axis: int | None = None, equal_nan: _builtins.bool = True,
    sorted: _builtins.bool = True, stream: _Any = None, allocator: _Any = None,
) -> tuple[_GPUArray, ...]: ...
@overload
def unique(
    ar: _Any, return_index: _builtins.bool = False, return_inverse: _builtins.bool = False, *,
    return_counts: _Literal[True], axis: int | None = None, equal_nan: _builtins.bool = True,
    sorted: _builtins.bool = True, stream: _Any = None, allocator: _Any = None,
) -> tuple[_GPUArray, ...]: ...
@overload
def unique(
    ar: _Any, return_index: _builtins.bool = False, return_inverse: _builtins.bool = False,
    return_counts: _builtins.bool = False, axis: int | None = None, *, equal_nan: _builtins.bool = True,
    sorted: _builtins.bool = True, stream: _Any = None, allocator: _Any = None,
) -> _Any: ...
def unique_all(x: _Any) -> _UniqueAll: ...
def unique_counts(x: _Any) -> _UniqueCounts: ...
def unique_inverse(x: _Any) -> _UniqueInverse: ...
@overload
def unique_values(x: _Array[_Scalar]) -> _GPUArray[_Scalar]: ...
@overload
def unique_values(x: _Any) -> _GPUArray: ...
def unpackbits(
    a: _Any, /, axis: _Any = None, count: _Any = None, bitorder: _Any = 'big',
) -> _GPUArray[_np.uint8]: ...
def unravel_index(indices: _Any, shape: _Any, order: _Any = 'C') -> tuple[_GPUArray[_np.intp], ...]: ...
@overload
def unstack(x: _Array[_Scalar], /, *, axis: _Any = 0) -> tuple[_GPUArray[_Scalar], ...]: ...
@overload
def unstack(x: _Any, /, *, axis: _Any = 0) -> tuple[_GPUArray, ...]: ...
def unwrap(
    p: _Any, discont: _Any = None, axis: _Any = -1, *, period: _Any = 6.283185307179586,
) -> _GPUArray: ...
def vander(x: _Any, N: _Any = None, increasing: _Any = False) -> _GPUArray: ...
@overload
def var(
    a: _Array[_Floating], axis: _Any = None, dtype: None = None, out: None = None, ddof: _Any = 0,
    keepdims: _Any = False, *, where: _Any = True, mean: _Any = ..., correction: _Any = ...,
) -> _GPUArray[_Floating]: ...
@overload
def var(
    a: _Any, axis: _Any = None, dtype: _Any = None, out: _Any = None, ddof: _Any = 0,
    keepdims: _Any = False, *, where: _Any = True, mean: _Any = ..., correction: _Any = ...,
) -> _GPUArray: ...
@overload
def vdot(a: _Array[_Scalar], b: _Array[_Scalar], /) -> _GPUArray[_Scalar]: ...
@overload
def vdot(a: _Any, b: _Any, /) -> _GPUArray: ...
@overload
def vsplit(ary: _Array[_Scalar], indices_or_sections: _Any) -> list[_GPUArray[_Scalar]]: ...
@overload
def vsplit(ary: _Any, indices_or_sections: _Any) -> list[_GPUArray]: ...
@overload
def vstack(
    tup: _Sequence[_Array[_Scalar]], *, dtype: None = None, casting: _Any = 'same_kind',
) -> _GPUArray[_Scalar]: ...
@overload
def vstack(tup: _Any, *, dtype: _DTypeOf[_Scalar], casting: _Any = 'same_kind') -> _GPUArray[_Scalar]: ...
@overload
def vstack(tup: _Any, *, dtype: _Any = None, casting: _Any = 'same_kind') -> _GPUArray: ...
@overload
def where(condition: _Any, /) -> tuple[_GPUArray[_np.intp], ...]: ...
@overload
def where(condition: _Any, x: _Array[_Scalar], y: _Array[_Scalar], /) -> _GPUArray[_Scalar]: ...
@overload
def where(condition: _Any, x: _Array[_Inexact], y: float, /) -> _GPUArray[_Inexact]: ...
@overload
def where(condition: _Any, x: float, y: _Array[_Inexact], /) -> _GPUArray[_Inexact]: ...
@overload
def where(condition: _Any, x: _Any, y: _Any, /) -> _GPUArray: ...
@overload
def zeros(
    shape: _Any, dtype: None = ..., order: _Any = 'C', *, device: _Any = None,
) -> _GPUArray[_np.float64]: ...
@overload
def zeros(
    shape: _Any, dtype: _DTypeOf[_Scalar], order: _Any = 'C', *, device: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def zeros(shape: _Any, dtype: _Any = ..., order: _Any = 'C', *, device: _Any = None) -> _GPUArray: ...
@overload
def zeros_like(
    a: _Array[_Scalar], dtype: None = None, order: _Any = 'K', subok: _Any = True, shape: _Any = None, *,
    device: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def zeros_like(
    a: _Any, dtype: _DTypeOf[_Scalar], order: _Any = 'K', subok: _Any = True, shape: _Any = None, *,
    device: _Any = None,
) -> _GPUArray[_Scalar]: ...
@overload
def zeros_like(
    a: _Any, dtype: _Any = None, order: _Any = 'K', subok: _Any = True, shape: _Any = None, *,
    device: _Any = None,
) -> _GPUArray: ...
