# Written by tools/numpy_stubs.py.
# fmt: off
# ruff: noqa: F401, I001, RUF022
from collections.abc import Callable, Collection, Sequence
from types import GenericAlias, ModuleType
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

import pycuda.driver as drv
from pycuda._array.core.types import Allocator, Array, Arrays, Axes, DTypeOf, Floating, HostOrDevice, Inexact
from pycuda._array.core.types import Number, Operand, Scalar, Shape, Stream
from pycuda._array.sorting.greatest import TopK
from pycuda import _driver
from pycuda._driver import _GPUArrayBase, _Scalar_co
from pycuda._driver import _to_gpu as to_gpu, _to_gpu_async as to_gpu_async
from pycuda.compyte.array import ArrayFlags as ArrayFlags, get_common_dtype as get_common_dtype
from pycuda.tools import get_or_register_dtype as get_or_register_dtype

__all__ = [
    "ArrayFlags", "GPUArray", "all", "any", "arange", "argmax", "argmin", "argpartition", "argsort",
    "bincount", "broadcast_to", "clip", "compress", "concatenate", "count_nonzero", "cumprod", "cumsum",
    "dot", "empty", "empty_like", "extract", "eye", "flatnonzero", "flip", "from_dlpack", "full",
    "full_like", "get_common_dtype", "get_or_register_dtype", "histogram", "hstack", "identity",
    "if_positive", "lexsort", "linspace", "logical_and", "logical_not", "logical_or", "matmul", "max",
    "maximum", "mean", "meshgrid", "min", "minimum", "multi_put", "multi_take", "multi_take_put",
    "nonzero", "ones", "ones_like", "partition", "prod", "put", "repeat", "reshape", "roll", "round",
    "searchsorted", "sort", "sort_by_key", "splay", "split", "stack", "std", "subset_dot", "subset_max",
    "subset_min", "subset_sum", "sum", "take", "take_along_axis", "tile", "to_gpu", "to_gpu_async",
    "topk", "transpose", "tri", "tril", "triu", "unique", "var", "vec", "vstack", "where", "zeros",
    "zeros_like",
]

class GPUArray(_GPUArrayBase[_Scalar_co]):
    def __class_getitem__(cls, item: Any, /) -> GenericAlias: ...
    @overload
    def sum(
        self: GPUArray[np.inexact[Any]], axis: Axes = None, dtype: None = None, out: None = None,
        keepdims: bool = False, initial: Any = None, where: Array[Any] | bool = True, *,
        stream: Stream = None, allocator: Allocator = None,
    ) -> GPUArray[_Scalar_co]: ...
    @overload
    def sum(
        self, axis: Axes = None, *, dtype: DTypeOf[Scalar], out: Array[Any] | None = None,
        keepdims: bool = False, initial: Any = None, where: Array[Any] | bool = True, stream: Stream = None,
        allocator: Allocator = None,
    ) -> GPUArray[Scalar]: ...
    @overload
    def sum(
        self, axis: Axes = None, dtype: DTypeLike | None = None, out: Array[Any] | None = None,
        keepdims: bool = False, initial: Any = None, where: Array[Any] | bool = True, *,
        stream: Stream = None, allocator: Allocator = None,
    ) -> GPUArray: ...
    @overload
    def prod(
        self: GPUArray[np.inexact[Any]], axis: Axes = None, dtype: None = None, out: None = None,
        keepdims: bool = False, initial: Any = None, where: Array[Any] | bool = True, *,
        stream: Stream = None, allocator: Allocator = None,
    ) -> GPUArray[_Scalar_co]: ...
    @overload
    def prod(
        self, axis: Axes = None, *, dtype: DTypeOf[Scalar], out: Array[Any] | None = None,
        keepdims: bool = False, initial: Any = None, where: Array[Any] | bool = True, stream: Stream = None,
        allocator: Allocator = None,
    ) -> GPUArray[Scalar]: ...
    @overload
    def prod(
        self, axis: Axes = None, dtype: DTypeLike | None = None, out: Array[Any] | None = None,
        keepdims: bool = False, initial: Any = None, where: Array[Any] | bool = True, *,
        stream: Stream = None, allocator: Allocator = None,
    ) -> GPUArray: ...
    @overload
    def max(
        self, axis: Axes = None, out: None = None, keepdims: bool = False, initial: Any = None,
        where: Array[Any] | bool = True, *, stream: Stream = None, allocator: Allocator = None,
    ) -> GPUArray[_Scalar_co]: ...
    @overload
    def max(
        self, axis: Axes = None, out: Array[Any] | None = None, keepdims: bool = False, initial: Any = None,
        where: Array[Any] | bool = True, *, stream: Stream = None, allocator: Allocator = None,
    ) -> GPUArray: ...
    @overload
    def min(
        self, axis: Axes = None, out: None = None, keepdims: bool = False, initial: Any = None,
        where: Array[Any] | bool = True, *, stream: Stream = None, allocator: Allocator = None,
    ) -> GPUArray[_Scalar_co]: ...
    @overload
    def min(
        self, axis: Axes = None, out: Array[Any] | None = None, keepdims: bool = False, initial: Any = None,
        where: Array[Any] | bool = True, *, stream: Stream = None, allocator: Allocator = None,
    ) -> GPUArray: ...
    def any(
        self, axis: Axes = None, out: Array[Any] | None = None, keepdims: bool = False, *,
        where: Array[Any] | bool = True, stream: Stream = None, allocator: Allocator = None,
    ) -> GPUArray[np.bool_]: ...
    def all(
        self, axis: Axes = None, out: Array[Any] | None = None, keepdims: bool = False, *,
        where: Array[Any] | bool = True, stream: Stream = None, allocator: Allocator = None,
    ) -> GPUArray[np.bool_]: ...
    @overload
    def mean(
        self: GPUArray[np.inexact[Any]], axis: Axes = None, dtype: None = None, out: None = None,
        keepdims: bool = False, *, where: Array[Any] | bool = True, stream: Stream = None,
        allocator: Allocator = None,
    ) -> GPUArray[_Scalar_co]: ...
    @overload
    def mean(
        self, axis: Axes = None, *, dtype: DTypeOf[Scalar], out: Array[Any] | None = None,
        keepdims: bool = False, where: Array[Any] | bool = True, stream: Stream = None,
        allocator: Allocator = None,
    ) -> GPUArray[Scalar]: ...
    @overload
    def mean(
        self, axis: Axes = None, dtype: DTypeLike | None = None, out: Array[Any] | None = None,
        keepdims: bool = False, *, where: Array[Any] | bool = True, stream: Stream = None,
        allocator: Allocator = None,
    ) -> GPUArray: ...
    @overload
    def var(
        self: GPUArray[np.floating[Any]], axis: Axes = None, dtype: None = None, out: None = None,
        ddof: float = 0, keepdims: bool = False, *, where: Array[Any] | bool = True,
        mean: Array[Any] | None = None, correction: float | None = None, stream: Stream = None,
        allocator: Allocator = None,
    ) -> GPUArray[_Scalar_co]: ...
    @overload
    def var(
        self, axis: Axes = None, dtype: DTypeLike | None = None, out: Array[Any] | None = None,
        ddof: float = 0, keepdims: bool = False, *, where: Array[Any] | bool = True,
        mean: Array[Any] | None = None, correction: float | None = None, stream: Stream = None,
        allocator: Allocator = None,
    ) -> GPUArray: ...
    @overload
    def std(
        self: GPUArray[np.floating[Any]], axis: Axes = None, dtype: None = None, out: None = None,
        ddof: float = 0, keepdims: bool = False, *, where: Array[Any] | bool = True,
        mean: Array[Any] | None = None, correction: float | None = None, stream: Stream = None,
        allocator: Allocator = None,
    ) -> GPUArray[_Scalar_co]: ...
    @overload
    def std(
        self, axis: Axes = None, dtype: DTypeLike | None = None, out: Array[Any] | None = None,
        ddof: float = 0, keepdims: bool = False, *, where: Array[Any] | bool = True,
        mean: Array[Any] | None = None, correction: float | None = None, stream: Stream = None,
        allocator: Allocator = None,
    ) -> GPUArray: ...
    def argmax(
        self, axis: int | None = None, out: Array[Any] | None = None, keepdims: bool = False, *,
        stream: Stream = None, allocator: Allocator = None,
    ) -> GPUArray[np.intp]: ...
    def argmin(
        self, axis: int | None = None, out: Array[Any] | None = None, keepdims: bool = False, *,
        stream: Stream = None, allocator: Allocator = None,
    ) -> GPUArray[np.intp]: ...
    @overload
    def cumsum(
        self: GPUArray[np.inexact[Any]], axis: int | None = None, dtype: None = None, out: None = None, *,
        stream: Stream = None, allocator: Allocator = None,
    ) -> GPUArray[_Scalar_co]: ...
    @overload
    def cumsum(
        self, axis: int | None = None, *, dtype: DTypeOf[Scalar], out: Array[Any] | None = None,
        stream: Stream = None, allocator: Allocator = None,
    ) -> GPUArray[Scalar]: ...
    @overload
    def cumsum(
        self, axis: int | None = None, dtype: DTypeLike | None = None, out: Array[Any] | None = None, *,
        stream: Stream = None, allocator: Allocator = None,
    ) -> GPUArray: ...
    @overload
    def cumprod(
        self: GPUArray[np.inexact[Any]], axis: int | None = None, dtype: None = None, out: None = None, *,
        stream: Stream = None, allocator: Allocator = None,
    ) -> GPUArray[_Scalar_co]: ...
    @overload
    def cumprod(
        self, axis: int | None = None, *, dtype: DTypeOf[Scalar], out: Array[Any] | None = None,
        stream: Stream = None, allocator: Allocator = None,
    ) -> GPUArray[Scalar]: ...
    @overload
    def cumprod(
        self, axis: int | None = None, dtype: DTypeLike | None = None, out: Array[Any] | None = None, *,
        stream: Stream = None, allocator: Allocator = None,
    ) -> GPUArray: ...
    @overload
    def take(
        self, indices: HostOrDevice | int, axis: int | None = None, out: None = None, mode: str = 'raise', *,
        stream: Stream = None, allocator: Allocator = None,
    ) -> GPUArray[_Scalar_co]: ...
    @overload
    def take(
        self, indices: HostOrDevice | int, axis: int | None = None, out: Array[Any] | None = None,
        mode: str = 'raise', *, stream: Stream = None, allocator: Allocator = None,
    ) -> GPUArray: ...
    def put(
        self, indices: HostOrDevice, values: Any, mode: str = 'raise', *, stream: Stream = None,
    ) -> None: ...
    def choose(
        a, choices: Sequence[Operand], out: Array[Any] | None = None, mode: str = 'raise',
    ) -> GPUArray: ...
    def nonzero(a, *, stream: Stream = None) -> tuple[GPUArray[np.intp], ...]: ...
    def swapaxes(a, axis1: int, axis2: int) -> GPUArray[_Scalar_co]: ...
    def flatten(self, order: str = 'C', *, stream: Stream = None) -> GPUArray[_Scalar_co]: ...
    def repeat(
        self, repeats: Any, axis: int | None = None, *, stream: Stream = None, allocator: Allocator = None,
    ) -> GPUArray[_Scalar_co]: ...
    def argsort(
        a, axis: int | None = -1, kind: str | None = None, order: None = None, *, stable: bool | None = None,
        descending: bool | None = None, stream: Stream = None, allocator: Allocator = None,
    ) -> GPUArray[np.intp]: ...
    def argpartition(
        a, kth: int | Sequence[int], axis: int | None = -1, kind: str = 'introselect', order: None = None, *,
        stream: Stream = None, allocator: Allocator = None,
    ) -> GPUArray[np.intp]: ...
    def searchsorted(
        a, v: Any, side: str = 'left', sorter: HostOrDevice | None = None, *, stream: Stream = None,
        allocator: Allocator = None,
    ) -> GPUArray[np.intp]: ...
    @overload
    def astype(
        self, dtype: DTypeOf[Scalar], order: str | Stream = 'K', copy: bool = True, *,
        casting: Literal['no', 'equiv', 'safe', 'same_kind', 'unsafe'] = 'unsafe', subok: bool = True,
        stream: Stream = None,
    ) -> GPUArray[Scalar]: ...
    @overload
    def astype(
        self, dtype: DTypeLike, order: str | Stream = 'K', copy: bool = True, *,
        casting: Literal['no', 'equiv', 'safe', 'same_kind', 'unsafe'] = 'unsafe', subok: bool = True,
        stream: Stream = None,
    ) -> GPUArray: ...
    def fill(self, value: Any, stream: Stream = None) -> GPUArray[_Scalar_co]: ...
    def reverse(self, stream: Stream = None) -> GPUArray[_Scalar_co]: ...
    def clip(
        self, min: Operand | None = None, max: Operand | None = None, out: Array[Any] | None = None, *,
        stream: Stream = None,
    ) -> GPUArray: ...
    @overload
    def round(
        self, decimals: int = 0, out: None = None, *, stream: Stream = None,
    ) -> GPUArray[_Scalar_co]: ...
    @overload
    def round(
        self, decimals: int = 0, out: Array[Any] | None = None, *, stream: Stream = None,
    ) -> GPUArray: ...
    def mul_add(
        self, selffac: complex, other: Operand, otherfac: complex,
        add_timer: Callable[[int, Callable[[], float]], object] | None = None, stream: Stream = None,
        out: Array[Any] | None = None,
    ) -> GPUArray: ...
    @overload
    def conj(self, out: None = None, *, stream: Stream = None) -> GPUArray[_Scalar_co]: ...
    @overload
    def conj(self, out: Array[Any] | None = None, *, stream: Stream = None) -> GPUArray: ...
    @overload
    def conjugate(self, out: None = None, *, stream: Stream = None) -> GPUArray[_Scalar_co]: ...
    @overload
    def conjugate(self, out: Array[Any] | None = None, *, stream: Stream = None) -> GPUArray: ...
    def __array_ufunc__(self: GPUArray, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any: ...
    def __array_function__(
        self: GPUArray, func: Callable[..., Any], types: Collection[type], args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any: ...
    @overload
    def compress(
        self, condition: HostOrDevice, axis: int | None = None, out: None = None, *, stream: Stream = None,
    ) -> GPUArray[_Scalar_co]: ...
    @overload
    def compress(
        self, condition: HostOrDevice, axis: int | None = None, out: Array[Any] | None = None, *,
        stream: Stream = None,
    ) -> GPUArray: ...
    def sort(
        self, axis: int = -1, kind: str | None = None, order: None = None, *, stable: bool | None = None,
        descending: bool | None = None, stream: Stream = None,
    ) -> None: ...
    def partition(
        self, kth: int | Sequence[int], axis: int = -1, kind: str = 'introselect', order: None = None, *,
        stream: Stream = None,
    ) -> None: ...
    @overload
    def dot(self, b: GPUArray[_Scalar_co], out: None = None) -> GPUArray[_Scalar_co]: ...
    @overload
    def dot(self, b: Operand | Array[Any], out: Array[Any] | None = None) -> GPUArray: ...
    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> GPUArray[_Scalar_co]: ...
    @overload
    def trace(
        self: GPUArray[np.inexact[Any]], offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: None = None,
        out: None = None,
    ) -> GPUArray[_Scalar_co]: ...
    @overload
    def trace(
        self, offset: int = 0, axis1: int = 0, axis2: int = 1, *, dtype: DTypeOf[Scalar],
        out: Array[Any] | None = None,
    ) -> GPUArray[Scalar]: ...
    @overload
    def trace(
        self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike | None = None,
        out: Array[Any] | None = None,
    ) -> GPUArray: ...
    def bind_to_texref(self, texref: drv.TextureReference, allow_offset: bool = False) -> float: ...
    def bind_to_texref_ext(
        self, texref: drv.TextureReference, channels: int = 1, allow_double_hack: bool = False,
        allow_complex_hack: bool = False, allow_offset: bool = False,
    ) -> float: ...
    def item(self, *args: int | tuple[int, ...]) -> Any: ...
    @property
    def device(self) -> drv.Device: ...
    @overload
    def to_device(
        self, device: drv.Device | drv.Context | int, /, *, stream: Stream = None,
    ) -> GPUArray[_Scalar_co]: ...
    @overload
    def to_device(self, device: Literal['cpu'], /, *, stream: Stream = None) -> NDArray[_Scalar_co]: ...
    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType: ...
    def tolist(self) -> Any: ...
    def tobytes(self, order: Literal['C', 'F', 'A'] = 'C') -> bytes: ...
    def __bytes__(self) -> bytes: ...
    def __complex__(self) -> complex: ...
    def __format__(self, format_spec: str, /) -> str: ...
    def __reduce_ex__(self, protocol: Any, /) -> Any: ...
    def __copy__(self) -> GPUArray[_Scalar_co]: ...
    def __deepcopy__(self, memo: Any) -> GPUArray[_Scalar_co]: ...
    def __dask_tokenize__(self) -> object: ...

class _VectorTypes(type):
    def __getattr__(cls, name: str) -> Any: ...

class vec(metaclass=_VectorTypes): ...

empty = GPUArray

def all(a: Array[Any], stream: Stream = None, allocator: Allocator = None) -> GPUArray[np.bool_]: ...
def any(a: Array[Any], stream: Stream = None, allocator: Allocator = None) -> GPUArray[np.bool_]: ...
@overload
def arange(*args: float, dtype: DTypeOf[Scalar], **kwargs: Any) -> GPUArray[Scalar]: ...
@overload
def arange(*args: Any, **kwargs: Any) -> GPUArray: ...
def argmax(
    self: Array[Any], axis: int | None = None, out: Array[Any] | None = None, keepdims: bool = False, *,
    stream: Stream = None, allocator: Allocator = None,
) -> GPUArray[np.intp]: ...
def argmin(
    self: Array[Any], axis: int | None = None, out: Array[Any] | None = None, keepdims: bool = False, *,
    stream: Stream = None, allocator: Allocator = None,
) -> GPUArray[np.intp]: ...
def argpartition(
    a: Array[Any], kth: int | Sequence[int], axis: int | None = -1, kind: str = 'introselect',
    order: None = None, *, stream: Stream = None, allocator: Allocator = None,
) -> GPUArray[np.intp]: ...
def argsort(
    a: Array[Any], axis: int | None = -1, kind: str | None = None, order: None = None, *,
    stable: bool | None = None, descending: bool | None = None, stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[np.intp]: ...
def bincount(
    x: Array[Any], /, weights: HostOrDevice | None = None, minlength: int = 0, *, stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray: ...
@overload
def broadcast_to(a: GPUArray[Scalar], shape: Shape) -> GPUArray[Scalar]: ...
@overload
def broadcast_to(a: Array[Any], shape: Shape) -> GPUArray: ...
def clip(
    self: Array[Any], min: Operand | None = None, max: Operand | None = None,
    out: Array[Any] | None = None, *, stream: Stream = None,
) -> GPUArray: ...
@overload
def compress(
    condition: HostOrDevice, a: GPUArray[Scalar], axis: int | None = None, out: None = None, *,
    stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def compress(
    condition: HostOrDevice, a: Array[Any], axis: int | None = None, out: Array[Any] | None = None, *,
    stream: Stream = None,
) -> GPUArray: ...
@overload
def concatenate(
    arrays: Sequence[GPUArray[Scalar]], axis: int | None = 0, allocator: Allocator = None, *,
    out: None = None, dtype: None = None, stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def concatenate(
    arrays: Arrays[Any], axis: int | None = 0, allocator: Allocator = None, *,
    out: Array[Any] | None = None, dtype: DTypeOf[Scalar], stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def concatenate(
    arrays: Arrays[Any], axis: int | None = 0, allocator: Allocator = None, *,
    out: Array[Any] | None = None, dtype: DTypeLike | None = None, stream: Stream = None,
) -> GPUArray: ...
def count_nonzero(
    a: Array[Any], axis: Axes = None, *, keepdims: bool = False, stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[np.intp]: ...
@overload
def cumprod(
    self: GPUArray[Inexact], axis: int | None = None, dtype: None = None, out: None = None, *,
    stream: Stream = None, allocator: Allocator = None,
) -> GPUArray[Inexact]: ...
@overload
def cumprod(
    self: Array[Any], axis: int | None = None, *, dtype: DTypeOf[Scalar], out: Array[Any] | None = None,
    stream: Stream = None, allocator: Allocator = None,
) -> GPUArray[Scalar]: ...
@overload
def cumprod(
    self: Array[Any], axis: int | None = None, dtype: DTypeLike | None = None,
    out: Array[Any] | None = None, *, stream: Stream = None, allocator: Allocator = None,
) -> GPUArray: ...
@overload
def cumsum(
    self: GPUArray[Inexact], axis: int | None = None, dtype: None = None, out: None = None, *,
    stream: Stream = None, allocator: Allocator = None,
) -> GPUArray[Inexact]: ...
@overload
def cumsum(
    self: Array[Any], axis: int | None = None, *, dtype: DTypeOf[Scalar], out: Array[Any] | None = None,
    stream: Stream = None, allocator: Allocator = None,
) -> GPUArray[Scalar]: ...
@overload
def cumsum(
    self: Array[Any], axis: int | None = None, dtype: DTypeLike | None = None,
    out: Array[Any] | None = None, *, stream: Stream = None, allocator: Allocator = None,
) -> GPUArray: ...
@overload
def dot(
    a: GPUArray[Number], b: GPUArray[Number], dtype: None = None, stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Number]: ...
@overload
def dot(
    a: Array[Any], b: Array[Any], dtype: DTypeOf[Scalar], stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Scalar]: ...
@overload
def dot(
    a: Array[Any], b: Array[Any], dtype: DTypeLike | None = None, stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray: ...
@overload
def empty_like(
    other_ary: GPUArray[Scalar], dtype: None = None, order: str = 'K', *, stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def empty_like(
    other_ary: Array[Any], dtype: DTypeOf[Scalar], order: str = 'K', *, stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def empty_like(
    other_ary: Array[Any], dtype: DTypeLike | None = None, order: str = 'K', *, stream: Stream = None,
) -> GPUArray: ...
@overload
def extract(
    condition: HostOrDevice, arr: GPUArray[Scalar], *, stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def extract(condition: HostOrDevice, arr: Array[Any], *, stream: Stream = None) -> GPUArray: ...
@overload
def eye(
    N: int, M: int | None = None, k: int = 0, dtype: None = ..., *, allocator: Allocator = None,
    stream: Stream = None,
) -> GPUArray[np.float64]: ...
@overload
def eye(
    N: int, M: int | None = None, k: int = 0, *, dtype: DTypeOf[Scalar], allocator: Allocator = None,
    stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def eye(
    N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = ..., *, allocator: Allocator = None,
    stream: Stream = None,
) -> GPUArray: ...
def flatnonzero(a: Array[Any], *, stream: Stream = None) -> GPUArray[np.intp]: ...
@overload
def flip(a: GPUArray[Scalar], axis: Axes = None) -> GPUArray[Scalar]: ...
@overload
def flip(a: Array[Any], axis: Axes = None) -> GPUArray: ...
def from_dlpack(
    x: Any, /, *, device: _driver.Device | tuple[int, int] | None = None, copy: bool | None = None,
    stream: Stream = None,
) -> GPUArray: ...
@overload
def full(
    shape: Shape, fill_value: Any, dtype: DTypeOf[Scalar], allocator: Allocator = None, order: str = 'C',
    *, stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def full(
    shape: Shape, fill_value: Any, dtype: DTypeLike | None = None, allocator: Allocator = None,
    order: str = 'C', *, stream: Stream = None,
) -> GPUArray: ...
@overload
def full_like(
    other_ary: GPUArray[Scalar], fill_value: Any, dtype: None = None, order: str = 'K', *,
    stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def full_like(
    other_ary: Array[Any], fill_value: Any, dtype: DTypeOf[Scalar], order: str = 'K', *,
    stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def full_like(
    other_ary: Array[Any], fill_value: Any, dtype: DTypeLike | None = None, order: str = 'K', *,
    stream: Stream = None,
) -> GPUArray: ...
def histogram(
    a: Array[Any], bins: int | str | HostOrDevice = 10, range: tuple[float, float] | None = None,
    density: bool | None = None, weights: HostOrDevice | None = None, *, stream: Stream = None,
    allocator: Allocator = None,
) -> tuple[GPUArray, GPUArray]: ...
@overload
def hstack(
    arrays: Sequence[GPUArray[Scalar]], allocator: Allocator = None, *, dtype: None = None,
    stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def hstack(
    arrays: Arrays[Any], allocator: Allocator = None, *, dtype: DTypeOf[Scalar], stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def hstack(
    arrays: Arrays[Any], allocator: Allocator = None, *, dtype: DTypeLike | None = None,
    stream: Stream = None,
) -> GPUArray: ...
@overload
def identity(
    n: int, dtype: None = ..., *, allocator: Allocator = None, stream: Stream = None,
) -> GPUArray[np.float64]: ...
@overload
def identity(
    n: int, dtype: DTypeOf[Scalar], *, allocator: Allocator = None, stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def identity(
    n: int, dtype: DTypeLike = ..., *, allocator: Allocator = None, stream: Stream = None,
) -> GPUArray: ...
@overload
def if_positive(
    criterion: Operand, then_: GPUArray[Scalar], else_: GPUArray[Scalar], out: None = None,
    stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def if_positive(
    criterion: Operand, then_: Operand | Array[Any], else_: Operand | Array[Any],
    out: Array[Any] | None = None, stream: Stream = None,
) -> GPUArray: ...
def lexsort(
    keys: Array[Any] | Sequence[GPUArray], axis: int | None = -1, *, stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[np.intp]: ...
@overload
def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, *,
    dtype: DTypeOf[Scalar], allocator: Allocator = None, stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False,
    dtype: DTypeLike | None = None, *, allocator: Allocator = None, stream: Stream = None,
) -> GPUArray: ...
def logical_and(
    x1: Operand, x2: Operand, out: Array[Any] | None = None, *, allocator: Allocator = None,
    stream: Stream = None,
) -> GPUArray[np.bool_]: ...
def logical_not(
    x: Operand, out: Array[Any] | None = None, *, allocator: Allocator = None, stream: Stream = None,
) -> GPUArray[np.bool_]: ...
def logical_or(
    x1: Operand, x2: Operand, out: Array[Any] | None = None, *, allocator: Allocator = None,
    stream: Stream = None,
) -> GPUArray[np.bool_]: ...
@overload
def matmul(
    x1: Array[Any], x2: Array[Any], /, out: Array[Any] | None = None, *, dtype: DTypeOf[Scalar],
    stream: Stream = None, allocator: Allocator = None,
) -> GPUArray[Scalar]: ...
@overload
def matmul(
    x1: Array[Any], x2: Array[Any], /, out: Array[Any] | None = None, *, dtype: DTypeLike | None = None,
    stream: Stream = None, allocator: Allocator = None,
) -> GPUArray: ...
@overload
def max(a: GPUArray[Scalar], stream: Stream = None) -> GPUArray[Scalar]: ...
@overload
def max(a: Array[Any], stream: Stream = None) -> GPUArray: ...
@overload
def maximum(
    a: GPUArray[Scalar], b: GPUArray[Scalar], out: None = None, stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def maximum(
    a: Operand | Array[Any], b: Operand | Array[Any], out: Array[Any] | None = None,
    stream: Stream = None,
) -> GPUArray: ...
@overload
def mean(
    self: GPUArray[Inexact], axis: Axes = None, dtype: None = None, out: None = None,
    keepdims: bool = False, *, where: Array[Any] | bool = True, stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Inexact]: ...
@overload
def mean(
    self: Array[Any], axis: Axes = None, *, dtype: DTypeOf[Scalar], out: Array[Any] | None = None,
    keepdims: bool = False, where: Array[Any] | bool = True, stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Scalar]: ...
@overload
def mean(
    self: Array[Any], axis: Axes = None, dtype: DTypeLike | None = None, out: Array[Any] | None = None,
    keepdims: bool = False, *, where: Array[Any] | bool = True, stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray: ...
def meshgrid(
    *xi: Array[Any], copy: bool = True, sparse: bool = False, indexing: str = 'xy', stream: Stream = None,
) -> list[GPUArray]: ...
@overload
def min(a: GPUArray[Scalar], stream: Stream = None) -> GPUArray[Scalar]: ...
@overload
def min(a: Array[Any], stream: Stream = None) -> GPUArray: ...
@overload
def minimum(
    a: GPUArray[Scalar], b: GPUArray[Scalar], out: None = None, stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def minimum(
    a: Operand | Array[Any], b: Operand | Array[Any], out: Array[Any] | None = None,
    stream: Stream = None,
) -> GPUArray: ...
@overload
def multi_put(
    arrays: Sequence[GPUArray[Scalar]], dest_indices: Array[Any], dest_shape: Shape | None = None,
    out: None = None, stream: Stream = None,
) -> list[GPUArray[Scalar]]: ...
@overload
def multi_put(
    arrays: Arrays[Any], dest_indices: Array[Any], dest_shape: Shape | None = None,
    out: Arrays[Any] | None = None, stream: Stream = None,
) -> list[GPUArray]: ...
@overload
def multi_take(
    arrays: Sequence[GPUArray[Scalar]], indices: HostOrDevice, out: None = None, stream: Stream = None,
) -> list[GPUArray[Scalar]]: ...
@overload
def multi_take(
    arrays: Arrays[Any], indices: HostOrDevice, out: Arrays[Any] | None = None, stream: Stream = None,
) -> list[GPUArray]: ...
@overload
def multi_take_put(
    arrays: Sequence[GPUArray[Scalar]], dest_indices: Array[Any], src_indices: Array[Any],
    dest_shape: Shape | None = None, out: None = None, stream: Stream = None,
    src_offsets: Sequence[int] | None = None,
) -> list[GPUArray[Scalar]]: ...
@overload
def multi_take_put(
    arrays: Arrays[Any], dest_indices: Array[Any], src_indices: Array[Any],
    dest_shape: Shape | None = None, out: Arrays[Any] | None = None, stream: Stream = None,
    src_offsets: Sequence[int] | None = None,
) -> list[GPUArray]: ...
def nonzero(a: Array[Any], *, stream: Stream = None) -> tuple[GPUArray[np.intp], ...]: ...
@overload
def ones(
    shape: Shape, dtype: None = ..., allocator: Allocator = None, order: str = 'C', *,
    stream: Stream = None,
) -> GPUArray[np.float64]: ...
@overload
def ones(
    shape: Shape, dtype: DTypeOf[Scalar], allocator: Allocator = None, order: str = 'C', *,
    stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def ones(
    shape: Shape, dtype: DTypeLike = ..., allocator: Allocator = None, order: str = 'C', *,
    stream: Stream = None,
) -> GPUArray: ...
@overload
def ones_like(
    other_ary: GPUArray[Scalar], dtype: None = None, order: str = 'K', *, stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def ones_like(
    other_ary: Array[Any], dtype: DTypeOf[Scalar], order: str = 'K', *, stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def ones_like(
    other_ary: Array[Any], dtype: DTypeLike | None = None, order: str = 'K', *, stream: Stream = None,
) -> GPUArray: ...
@overload
def partition(
    a: GPUArray[Scalar], kth: int | Sequence[int], axis: int | None = -1, kind: str = 'introselect',
    order: None = None, *, stream: Stream = None, allocator: Allocator = None,
) -> GPUArray[Scalar]: ...
@overload
def partition(
    a: Array[Any], kth: int | Sequence[int], axis: int | None = -1, kind: str = 'introselect',
    order: None = None, *, stream: Stream = None, allocator: Allocator = None,
) -> GPUArray: ...
@overload
def prod(
    self: GPUArray[Inexact], axis: Axes = None, dtype: None = None, out: None = None,
    keepdims: bool = False, initial: Any = None, where: Array[Any] | bool = True, *,
    stream: Stream = None, allocator: Allocator = None,
) -> GPUArray[Inexact]: ...
@overload
def prod(
    self: Array[Any], axis: Axes = None, *, dtype: DTypeOf[Scalar], out: Array[Any] | None = None,
    keepdims: bool = False, initial: Any = None, where: Array[Any] | bool = True, stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Scalar]: ...
@overload
def prod(
    self: Array[Any], axis: Axes = None, dtype: DTypeLike | None = None, out: Array[Any] | None = None,
    keepdims: bool = False, initial: Any = None, where: Array[Any] | bool = True, *,
    stream: Stream = None, allocator: Allocator = None,
) -> GPUArray: ...
def put(
    self: Array[Any], indices: HostOrDevice, values: Any, mode: str = 'raise', *, stream: Stream = None,
) -> None: ...
@overload
def repeat(
    self: GPUArray[Scalar], repeats: Any, axis: int | None = None, *, stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Scalar]: ...
@overload
def repeat(
    self: Array[Any], repeats: Any, axis: int | None = None, *, stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray: ...
@overload
def reshape(
    a: GPUArray[Scalar], *shape: Any, order: str = 'C', stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def reshape(a: Array[Any], *shape: Any, order: str = 'C', stream: Stream = None) -> GPUArray: ...
@overload
def roll(
    a: GPUArray[Scalar], shift: int | tuple[int, ...], axis: Axes = None, *, stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Scalar]: ...
@overload
def roll(
    a: Array[Any], shift: int | tuple[int, ...], axis: Axes = None, *, stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray: ...
@overload
def round(
    self: GPUArray[Scalar], decimals: int = 0, out: None = None, *, stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def round(
    self: Array[Any], decimals: int = 0, out: Array[Any] | None = None, *, stream: Stream = None,
) -> GPUArray: ...
def searchsorted(
    a: Array[Any], v: Any, side: str = 'left', sorter: HostOrDevice | None = None, *,
    stream: Stream = None, allocator: Allocator = None,
) -> GPUArray[np.intp]: ...
@overload
def sort(
    a: GPUArray[Scalar], axis: int | None = -1, kind: str | None = None, order: None = None, *,
    stable: bool | None = None, descending: bool | None = None, stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Scalar]: ...
@overload
def sort(
    a: Array[Any], axis: int | None = -1, kind: str | None = None, order: None = None, *,
    stable: bool | None = None, descending: bool | None = None, stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray: ...
def sort_by_key(
    keys: Array[Any], values: Array[Any], *, stream: Stream = None, allocator: Allocator = None,
) -> tuple[GPUArray, GPUArray]: ...
def splay(n: int, dev: drv.Device | None = None) -> tuple[tuple[int, int], tuple[int, int, int]]: ...
@overload
def split(a: GPUArray[Scalar], parts: int | Sequence[int], axis: int = 0) -> list[GPUArray[Scalar]]: ...
@overload
def split(a: Array[Any], parts: int | Sequence[int], axis: int = 0) -> list[GPUArray]: ...
@overload
def stack(
    arrays: Sequence[GPUArray[Scalar]], axis: int = 0, allocator: Allocator = None, *, out: None = None,
    dtype: None = None, stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def stack(
    arrays: Arrays[Any], axis: int = 0, allocator: Allocator = None, *, out: Array[Any] | None = None,
    dtype: DTypeOf[Scalar], stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def stack(
    arrays: Arrays[Any], axis: int = 0, allocator: Allocator = None, *, out: Array[Any] | None = None,
    dtype: DTypeLike | None = None, stream: Stream = None,
) -> GPUArray: ...
@overload
def std(
    self: GPUArray[Floating], axis: Axes = None, dtype: None = None, out: None = None, ddof: float = 0,
    keepdims: bool = False, *, where: Array[Any] | bool = True, mean: Array[Any] | None = None,
    correction: float | None = None, stream: Stream = None, allocator: Allocator = None,
) -> GPUArray[Floating]: ...
@overload
def std(
    self: Array[Any], axis: Axes = None, dtype: DTypeLike | None = None, out: Array[Any] | None = None,
    ddof: float = 0, keepdims: bool = False, *, where: Array[Any] | bool = True,
    mean: Array[Any] | None = None, correction: float | None = None, stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray: ...
@overload
def subset_dot(
    subset: Array[Any], a: GPUArray[Number], b: GPUArray[Number], dtype: None = None,
    stream: Stream = None, allocator: Allocator = None,
) -> GPUArray[Number]: ...
@overload
def subset_dot(
    subset: Array[Any], a: Array[Any], b: Array[Any], dtype: DTypeOf[Scalar], stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Scalar]: ...
@overload
def subset_dot(
    subset: Array[Any], a: Array[Any], b: Array[Any], dtype: DTypeLike | None = None,
    stream: Stream = None, allocator: Allocator = None,
) -> GPUArray: ...
@overload
def subset_max(subset: Array[Any], a: GPUArray[Scalar], stream: Stream = None) -> GPUArray[Scalar]: ...
@overload
def subset_max(subset: Array[Any], a: Array[Any], stream: Stream = None) -> GPUArray: ...
@overload
def subset_min(subset: Array[Any], a: GPUArray[Scalar], stream: Stream = None) -> GPUArray[Scalar]: ...
@overload
def subset_min(subset: Array[Any], a: Array[Any], stream: Stream = None) -> GPUArray: ...
@overload
def subset_sum(
    subset: Array[Any], a: GPUArray[Number], dtype: None = None, stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Number]: ...
@overload
def subset_sum(
    subset: Array[Any], a: Array[Any], dtype: DTypeOf[Scalar], stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Scalar]: ...
@overload
def subset_sum(
    subset: Array[Any], a: Array[Any], dtype: DTypeLike | None = None, stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray: ...
@overload
def sum(
    a: GPUArray[Number], dtype: None = None, stream: Stream = None, allocator: Allocator = None,
) -> GPUArray[Number]: ...
@overload
def sum(
    a: Array[Any], dtype: DTypeOf[Scalar], stream: Stream = None, allocator: Allocator = None,
) -> GPUArray[Scalar]: ...
@overload
def sum(
    a: Array[Any], dtype: DTypeLike | None = None, stream: Stream = None, allocator: Allocator = None,
) -> GPUArray: ...
@overload
def take(
    a: GPUArray[Scalar], indices: HostOrDevice, out: None = None, stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def take(
    a: Array[Any], indices: HostOrDevice, out: Array[Any] | None = None, stream: Stream = None,
) -> GPUArray: ...
@overload
def take_along_axis(
    a: GPUArray[Scalar], indices: HostOrDevice, axis: int | None = -1, *, mode: str = 'raise',
    stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def take_along_axis(
    a: Array[Any], indices: HostOrDevice, axis: int | None = -1, *, mode: str = 'raise',
    stream: Stream = None,
) -> GPUArray: ...
@overload
def tile(
    a: GPUArray[Scalar], reps: int | Sequence[int], *, stream: Stream = None, allocator: Allocator = None,
) -> GPUArray[Scalar]: ...
@overload
def tile(
    a: Array[Any], reps: int | Sequence[int], *, stream: Stream = None, allocator: Allocator = None,
) -> GPUArray: ...
def topk(
    a: Array[Any], k: int, axis: int | None = -1, largest: bool = True, *, stream: Stream = None,
    allocator: Allocator = None,
) -> TopK: ...
@overload
def transpose(a: GPUArray[Scalar], axes: Sequence[int] | None = None) -> GPUArray[Scalar]: ...
@overload
def transpose(a: Array[Any], axes: Sequence[int] | None = None) -> GPUArray: ...
@overload
def tri(
    N: int, M: int | None = None, k: int = 0, dtype: None = ..., *, allocator: Allocator = None,
    stream: Stream = None,
) -> GPUArray[np.float64]: ...
@overload
def tri(
    N: int, M: int | None = None, k: int = 0, *, dtype: DTypeOf[Scalar], allocator: Allocator = None,
    stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def tri(
    N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = ..., *, allocator: Allocator = None,
    stream: Stream = None,
) -> GPUArray: ...
@overload
def tril(m: GPUArray[Scalar], k: int = 0, *, stream: Stream = None) -> GPUArray[Scalar]: ...
@overload
def tril(m: Array[Any], k: int = 0, *, stream: Stream = None) -> GPUArray: ...
@overload
def triu(m: GPUArray[Scalar], k: int = 0, *, stream: Stream = None) -> GPUArray[Scalar]: ...
@overload
def triu(m: Array[Any], k: int = 0, *, stream: Stream = None) -> GPUArray: ...
@overload
def unique(
    ar: Array[Scalar], return_index: Literal[False] = False, return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False, axis: int | None = None, *, equal_nan: bool = True,
    sorted: bool = True, stream: Stream = None, allocator: Allocator = None,
) -> GPUArray[Scalar]: ...
@overload
def unique(
    ar: Any, return_index: Literal[True], return_inverse: bool = False, return_counts: bool = False,
    axis: int | None = None, *, equal_nan: bool = True, sorted: bool = True, stream: Stream = None,
    allocator: Allocator = None,
) -> tuple[GPUArray, ...]: ...
@overload
def unique(
    ar: Any, return_index: bool = False, *, return_inverse: Literal[True], return_counts: bool = False,
    axis: int | None = None, equal_nan: bool = True, sorted: bool = True, stream: Stream = None,
    allocator: Allocator = None,
) -> tuple[GPUArray, ...]: ...
@overload
def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, *, return_counts: Literal[True],
    axis: int | None = None, equal_nan: bool = True, sorted: bool = True, stream: Stream = None,
    allocator: Allocator = None,
) -> tuple[GPUArray, ...]: ...
@overload
def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    axis: int | None = None, *, equal_nan: bool = True, sorted: bool = True, stream: Stream = None,
    allocator: Allocator = None,
) -> Any: ...
@overload
def var(
    self: GPUArray[Floating], axis: Axes = None, dtype: None = None, out: None = None, ddof: float = 0,
    keepdims: bool = False, *, where: Array[Any] | bool = True, mean: Array[Any] | None = None,
    correction: float | None = None, stream: Stream = None, allocator: Allocator = None,
) -> GPUArray[Floating]: ...
@overload
def var(
    self: Array[Any], axis: Axes = None, dtype: DTypeLike | None = None, out: Array[Any] | None = None,
    ddof: float = 0, keepdims: bool = False, *, where: Array[Any] | bool = True,
    mean: Array[Any] | None = None, correction: float | None = None, stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray: ...
@overload
def vstack(
    arrays: Sequence[GPUArray[Scalar]], allocator: Allocator = None, *, dtype: None = None,
    stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def vstack(
    arrays: Arrays[Any], allocator: Allocator = None, *, dtype: DTypeOf[Scalar], stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def vstack(
    arrays: Arrays[Any], allocator: Allocator = None, *, dtype: DTypeLike | None = None,
    stream: Stream = None,
) -> GPUArray: ...
@overload
def where(
    criterion: Operand, then_: GPUArray[Scalar], else_: GPUArray[Scalar], out: None = None,
    stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def where(
    criterion: Operand, then_: Operand | Array[Any], else_: Operand | Array[Any],
    out: Array[Any] | None = None, stream: Stream = None,
) -> GPUArray: ...
@overload
def zeros(
    shape: Shape, dtype: None = ..., allocator: Allocator = None, order: str = 'C', *,
    stream: Stream = None,
) -> GPUArray[np.float64]: ...
@overload
def zeros(
    shape: Shape, dtype: DTypeOf[Scalar], allocator: Allocator = None, order: str = 'C', *,
    stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def zeros(
    shape: Shape, dtype: DTypeLike = ..., allocator: Allocator = None, order: str = 'C', *,
    stream: Stream = None,
) -> GPUArray: ...
@overload
def zeros_like(
    other_ary: GPUArray[Scalar], dtype: None = None, order: str = 'K', *, stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def zeros_like(
    other_ary: Array[Any], dtype: DTypeOf[Scalar], order: str = 'K', *, stream: Stream = None,
) -> GPUArray[Scalar]: ...
@overload
def zeros_like(
    other_ary: Array[Any], dtype: DTypeLike | None = None, order: str = 'K', *, stream: Stream = None,
) -> GPUArray: ...
