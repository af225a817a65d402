"""The ufuncs of pycuda.numpy: what NumPy's ufuncs are for GPUArrays, as objects of their own, which take data
in host memory, too.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, overload

import numpy as np

from pycuda import _driver
from pycuda._array.core.elementwise import ELEMENTWISE, apply
from pycuda._array.numpy_api.host_data import HOST, as_operand
from pycuda._array.numpy_api.protocols import __array_ufunc__
from pycuda._array.numpy_api.ufunc_kinds import Kind
from pycuda._base.public_names import documented_init
from pycuda._driver import _elementwise

if TYPE_CHECKING:
    from pycuda._array.core.types import Inexact, Number, Scalar, Single
    from pycuda._array.numpy_api import ufunc_kinds as kinds
    from pycuda.gpuarray import GPUArray

# The type of an array, on the device or in host memory, of which the dtype is known.
_Of: TypeAlias = "GPUArray[Scalar] | np.ndarray[Any, np.dtype[Scalar]]"

# The characters of dtypes, in NumPy's ufunc.types, that no kernel has.
_UNKNOWN = frozenset("gGOmM")


def _signature(ufunc) -> inspect.Signature:
    """The parameters of a ufunc as NumPy documents them: operands by position, the rest by name."""
    names = ["x"] if ufunc.nin == 1 else [f"x{n + 1}" for n in range(ufunc.nin)]
    out = None if ufunc.nout == 1 else (None,) * ufunc.nout
    keywords: dict[str, Any] = {"casting": "same_kind", "order": "K", "dtype": None, "subok": True}
    if ufunc.signature is None:
        keywords = {"where": True, **keywords}
    else:
        keywords.update({"axes": None, "axis": -1} if ufunc.signature == "(n),(n)->()" else {"axes": None})
    Parameter = inspect.Parameter
    return inspect.Signature(
        [
            *(Parameter(name, Parameter.POSITIONAL_ONLY) for name in names),
            Parameter("out", Parameter.POSITIONAL_OR_KEYWORD, default=out),
            *(Parameter(name, Parameter.KEYWORD_ONLY, default=value) for name, value in keywords.items()),
        ]
    )


class OwnUfunc:
    """A function of pycuda.numpy.special with those attributes of numpy.ufunc that Ufunc and ufuncs.py
    read.
    """

    nout, identity, signature = 1, None, None

    def __init__(self, name: str, operands: int) -> None:
        self.__name__ = name
        self.nin, self.nargs = operands, operands + 1
        self.types = ["f" * operands + "->f", "d" * operands + "->d"]


@documented_init
class Ufunc(Generic[Kind]):
    """A function of the elements of arrays that broadcast against each other, as numpy.ufunc.

    Operands may be GPUArrays, other libraries' arrays, numbers, and data in host memory (lists, NumPy's
    arrays), which is copied to the device. Results are GPUArrays, 0-d where all operands are.

    Attributes
    ----------
    nin, nout, nargs : int
        The number of operands, of results, and of both.
    ntypes : int
        The number of `types`.
    types : list of str
        The dtypes that there are loops for, as in numpy.ufunc.types.
    identity : number or None
        The neutral element of `reduce`.
    signature : str or None
        The axes that matmul and similar ones work on.
    """

    def __init__(self, ufunc: np.ufunc) -> None:
        self.__module__ = "pycuda.numpy"
        self.__name__ = self.__qualname__ = ufunc.__name__
        self.__doc__ = f"numpy.{ufunc.__name__}, element by element on the device."
        self.__signature__ = _signature(ufunc)
        self._ufunc = ufunc
        self._row = ELEMENTWISE.get(ufunc)
        self._empty_out = None if ufunc.nout == 1 else (None,) * ufunc.nout
        self.nin, self.nout, self.nargs = ufunc.nin, ufunc.nout, ufunc.nargs
        self.identity, self.signature = ufunc.identity, ufunc.signature

    @property
    def types(self) -> list[str]:
        return [each for each in self._ufunc.types if not _UNKNOWN & {*each}]

    @property
    def ntypes(self) -> int:
        return len(self.types)

    def __repr__(self) -> str:
        return f"<ufunc {self.__module__}.{self.__name__}>"

    def __reduce__(self) -> str:
        return self.__name__

    @overload
    def __call__(self: Ufunc[kinds.Booleans], *operands: Any, **keywords: Any) -> GPUArray[np.bool_]: ...
    @overload
    def __call__(
        self: Ufunc[kinds.TwoResults], *operands: Any, **keywords: Any
    ) -> tuple[GPUArray, GPUArray]: ...
    @overload
    def __call__(
        self: Ufunc[kinds.OneInexact], x: _Of[Inexact], /, *, where: Any = True
    ) -> GPUArray[Inexact]: ...
    @overload
    def __call__(
        self: Ufunc[kinds.OneSingle], x: _Of[Single], /, *, where: Any = True
    ) -> GPUArray[Single]: ...
    @overload
    def __call__(
        self: Ufunc[kinds.TwoSingle], x1: _Of[Single], x2: _Of[Single], /, *, where: Any = True
    ) -> GPUArray[Single]: ...
    @overload
    def __call__(
        self: Ufunc[kinds.OneScalar], x: _Of[Scalar], /, *, where: Any = True
    ) -> GPUArray[Scalar]: ...
    @overload
    def __call__(
        self: Ufunc[kinds.Magnitude], x: _Of[np.complex64], /, *, where: Any = True
    ) -> GPUArray[np.float32]: ...
    @overload
    def __call__(
        self: Ufunc[kinds.Magnitude], x: _Of[np.complex128], /, *, where: Any = True
    ) -> GPUArray[np.float64]: ...
    @overload
    def __call__(
        self: Ufunc[kinds.Magnitude], x: _Of[Scalar], /, *, where: Any = True
    ) -> GPUArray[Scalar]: ...
    @overload
    def __call__(
        self: Ufunc[kinds.TwoScalars], x1: _Of[Scalar], x2: _Of[Scalar], /, *, where: Any = True
    ) -> GPUArray[Scalar]: ...
    @overload  # numpy.float64, which is a float, decides about the dtype as an array does
    def __call__(self, x1: Any, x2: np.generic, /, **keywords: Any) -> GPUArray: ...
    @overload
    def __call__(self, x1: np.generic, x2: Any, /, **keywords: Any) -> GPUArray: ...
    @overload
    def __call__(
        self: Ufunc[kinds.TwoInexact] | Ufunc[kinds.TwoNumbers] | Ufunc[kinds.TwoScalars],
        x1: _Of[Inexact],
        x2: _Of[Inexact] | float,
        /,
        *,
        where: Any = True,
    ) -> GPUArray[Inexact]: ...
    @overload
    def __call__(
        self: Ufunc[kinds.TwoInexact] | Ufunc[kinds.TwoNumbers] | Ufunc[kinds.TwoScalars],
        x1: float,
        x2: _Of[Inexact],
        /,
        *,
        where: Any = True,
    ) -> GPUArray[Inexact]: ...
    @overload
    def __call__(
        self: Ufunc[kinds.TwoNumbers] | Ufunc[kinds.TwoScalars],
        x1: _Of[Number],
        x2: _Of[Number] | int,
        /,
        *,
        where: Any = True,
    ) -> GPUArray[Number]: ...
    @overload
    def __call__(
        self: Ufunc[kinds.TwoNumbers] | Ufunc[kinds.TwoScalars],
        x1: int,
        x2: _Of[Number],
        /,
        *,
        where: Any = True,
    ) -> GPUArray[Number]: ...
    @overload
    def __call__(self, *operands: Any, **keywords: Any) -> GPUArray: ...

    def __call__(self, *operands: Any, **keywords: Any) -> Any:
        """The function of operands that broadcast against each other.

        Parameters
        ----------
        *operands : GPUArray, number, or data in host memory
            After them `out` may be given by position.
        **keywords
            `out`, `where`, `dtype`, `casting` and `order`, as in NumPy.
        """
        out, is_plain = self._empty_out, self._row is not None and len(operands) == self.nin
        if keywords and is_plain:
            out = keywords.get("out")
            is_plain = (
                len(keywords) == self.nout == 1 and type(out) is _driver.GPUArray and not out._is_of_part
            )
        if is_plain:
            try:
                result = _elementwise(self._row, operands, out)
                if result is not NotImplemented:
                    return result
            except (TypeError, OverflowError):
                if not any(isinstance(each, HOST) for each in operands):
                    return apply(self._row, *operands, out=out)  # raises, or compares with a large int
        return self._run("__call__", operands, keywords, self.nin)

    def _run(self, method: str, operands: tuple[Any, ...], keywords: dict[str, Any], arrays: int) -> Any:
        """A method of the ufunc; the first `arrays` operands may be in host memory."""
        given = tuple(map(as_operand, operands[:arrays])) + operands[arrays:]
        if method == "__call__" and len(given) > arrays:
            if "out" in keywords or len(given) > self.nargs:
                raise TypeError(f"{self.__name__}() takes from {arrays} to {self.nargs} positional arguments")
            given, keywords = given[:arrays], {**keywords, "out": given[arrays:]}
        if len(given) < arrays:
            raise TypeError(f"{self.__name__}() takes {arrays} operands, not {len(given)}")
        keywords = {name: value for name, value in keywords.items() if name != "out" or value is not None}
        if "out" in keywords and not isinstance(keywords["out"], tuple):
            keywords["out"] = (keywords["out"],)
        if keywords.get("where", True) is not True:
            keywords["where"] = as_operand(keywords["where"])
        result = __array_ufunc__(given[0], self._ufunc, method, *given, **keywords)
        if result is NotImplemented:
            kinds = ", ".join(type(each).__name__ for each in given)
            raise TypeError(f"{self.__name__} is not defined on ({kinds})")
        return result

    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, **keywords: Any) -> Any:
        """The elements along axes combined, as numpy.ufunc.reduce.

        Parameters
        ----------
        array : GPUArray, or data in host memory
        axis : int, tuple of int, or None, optional
        dtype : dtype, optional
        out : GPUArray, optional
        **keywords
            `keepdims`, `initial` and `where`.
        """
        return self._folds("reduce", array, axis, dtype, out, keywords)

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """The results of combining the elements one after another, as numpy.ufunc.accumulate.

        Parameters
        ----------
        array : GPUArray, or data in host memory
        axis : int, optional
        dtype : dtype, optional
        out : GPUArray, optional
        """
        return self._folds("accumulate", array, axis, dtype, out, {})

    def _folds(self, method, array, axis, dtype, out, keywords) -> Any:
        """reduce() or accumulate(), by its name."""
        named = {"axis": axis, "dtype": dtype, "out": out, **keywords}
        return self._run(method, (self._array(array),), named, 1)

    @staticmethod
    def _array(value: Any) -> Any:
        """An operand as an array: a number is a 0-d one."""
        return as_operand(value, numbers=True)

    def reduceat(self, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """The elements of parts of an axis combined, as numpy.ufunc.reduceat.

        Parameters
        ----------
        array : GPUArray, or data in host memory
        indices : sequence of int, or GPUArray
            Where parts begin.
        axis : int, optional
        dtype : dtype, optional
        out : GPUArray, optional
        """
        named = {"axis": axis, "dtype": dtype, "out": out}
        return self._run("reduceat", (self._array(array), indices), named, 1)

    def outer(self, A: Any, B: Any, /, **keywords: Any) -> Any:
        """The function of all pairs of elements, as numpy.ufunc.outer.

        Parameters
        ----------
        A, B : GPUArray, number, or data in host memory
        **keywords
            As of a call.
        """
        return self._run("outer", (A, B), keywords, 2)

    def at(self, a: Any, indices: Any, *operands: Any) -> None:
        """Changes the elements at the indices, repeated ones repeatedly, as numpy.ufunc.at.

        Parameters
        ----------
        a : GPUArray
        indices : index
        *operands : GPUArray, number, or data in host memory
            The second operand, where there is one.
        """
        if not isinstance(a, _driver.GPUArray):
            raise TypeError(f"{self.__name__}.at changes a GPUArray, not {type(a).__name__}")
        self._run("at", (a, indices, *map(as_operand, operands)), {}, 0)
