"""CuPy's ReductionKernel, as a pycuda.reduction.ReductionKernel for each combination of types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from pycuda import gpuarray, reduction
from pycuda._base.public_names import documented_init
from pycuda.compat.cupy import _notation
from pycuda.compat.cupy._context import require
from pycuda.compat.cupy._elementwise_kernel import ElementwiseKernel
from pycuda.compat.cupy.cuda import driver_stream
from pycuda.gpuarray import GPUArray


@documented_init
class ReductionKernel:
    """A reduction in CuPy's notation: map each element, combine two, change the result.

    Parameters
    ----------
    in_params, out_params : str
        As ElementwiseKernel takes them; one output.
    map_expr : str
        CUDA C++: an expression of the inputs.
    reduce_expr : str
        An expression of `a` and `b`, which must be associative.
    post_map_expr : str
        What the output becomes of the last `a`: ``"y = sqrt(a)"``.
    identity : str or number
        What changes nothing.
    name : str, optional
    reduce_type : str, optional
        The type of `a` and `b`; by default that of the output.
    reduce_dims : bool, optional
        Changes nothing.
    preamble : str, optional
        CUDA C++ at file scope.
    options : sequence of str, optional
        The compiler's.

    Examples
    --------
    >>> import pycuda.compat.cupy as cp
    >>> norm = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    >>> norm(cp.array([3.0, 4.0])).get()
    array(5.)
    """

    def __init__(
        self, in_params: str, out_params: str, map_expr: str, reduce_expr: str, post_map_expr: str,
        identity: Any, name: str = "reduce_kernel", reduce_type: str | None = None, reduce_dims: bool = True,
        preamble: str = "", options: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.in_params, outputs = _notation.parameters(in_params), _notation.parameters(out_params)
        if len(outputs) != 1 or outputs[0].raw:
            raise ValueError("a ReductionKernel has one output, which is not raw")
        if identity is None or identity == "":
            raise ValueError("identity must be given: the reduction begins with it")
        self.out_param, self.identity, self.name = outputs[0], str(identity), name
        self.map_expr, self.reduce_expr, self.preamble = map_expr, reduce_expr, preamble
        self.reduce_type = reduce_type
        self._uses_index = _notation.uses_index(map_expr, self.in_params)
        self._options = list(options)
        name_out = re.escape(outputs[0].name)
        plain = re.fullmatch(rf"\s*{name_out}\s*=\s*a\s*;?\s*", post_map_expr)
        self._post_map_expr = None if plain and reduce_type is None else post_map_expr
        self._posts: dict[Any, ElementwiseKernel] = {}
        self._kernels: dict[Any, tuple[Any, set[str]]] = {}

    def __call__(
        self, *args: Any, out: Any = None, axis: Any = None, keepdims: bool = False, stream: Any = None
    ) -> Any:
        """Reduce operands that broadcast against each other.

        Parameters
        ----------
        *args : GPUArray or number
            The inputs.
        out : GPUArray, optional
            Gets the result.
        axis : int or tuple of int, optional
            Along which is reduced; all without it.
        keepdims : bool, optional
            Whether reduced axes stay, with length 1.
        stream : Stream, optional

        Returns
        -------
        GPUArray
        """
        require()
        if len(args) == len(self.in_params) + 1 and out is None:
            *args, out = args  # type: ignore[assignment]
        if len(args) != len(self.in_params):
            raise TypeError(f"{self.name} takes {len(self.in_params)} operands, not {len(args)}")
        types = _notation.bound_types(self.in_params, list(args))
        if out is not None and self.out_param.dtype is None:
            types.setdefault(self.out_param.type_name, out.dtype)
        pairs = list(zip(self.in_params, args, strict=True))
        values = [_notation.contiguous(each, _notation.checked(each, value, types)) for each, value in pairs]
        values = self._broadcast(values)
        if self._uses_index:  # in C order, as CuPy numbers elements
            values = [
                value.copy("C") if isinstance(value, GPUArray) and not value.flags.c_contiguous else value
                for value in values
            ]
        kernel, sizes = self._kernel(values, types)
        given = [
            one for k in self._order() for one in _notation.arguments(self.in_params[k], values[k], sizes)
        ]
        stream = driver_stream(stream)
        result = kernel(*given, axis=axis, keepdims=keepdims, stream=stream)
        if keepdims and axis is None:
            first = next(value for value in values if isinstance(value, GPUArray))
            result = result.reshape((1,) * first.ndim)
        return self._finished(result, types, out, stream)

    def _broadcast(self, values: list[Any]) -> list[Any]:
        walked = [
            isinstance(value, GPUArray) and not each.raw
            for each, value in zip(self.in_params, values, strict=True)
        ]
        if not any(walked):
            raise ValueError(f"{self.name} needs an operand that is an array and not raw")
        shape = np.broadcast_shapes(
            *(value.shape for value, is_walked in zip(values, walked, strict=True) if is_walked)
        )
        return [
            np.broadcast_to(value, shape) if is_walked and value.shape != shape else value
            for value, is_walked in zip(values, walked, strict=True)
        ]

    def _order(self) -> list[int]:
        """The order of PyCUDA's arguments: raw ones, which have lengths of their own, come last."""
        return sorted(range(len(self.in_params)), key=lambda k: self.in_params[k].raw)

    def _kernel(self, values, types) -> tuple[Any, set[str]]:
        """(kernel, names of raw parameters whose sizes are arguments)"""
        arrays = [isinstance(value, GPUArray) for value in values]
        key = tuple(sorted(types.items())), tuple(arrays)
        if key not in self._kernels:
            indexed = {
                each.name
                for each, is_array in zip(self.in_params, arrays, strict=True)
                if is_array and not each.raw
            }
            text, sizes = _notation.translated(self.map_expr, self.in_params, indexed, types)
            if any(each.raw for each in self.in_params):
                # By a condition PyCUDA's kernel knows that arrays may be shorter than the loop.
                text = f"i < n ? ({text}) : ({self.identity})"
            parts = [
                part
                for k in self._order()
                for part in _notation.declaration(self.in_params[k], types, arrays[k], sizes)
            ]
            accumulated: Any = types.get(self.reduce_type or "", self.reduce_type)  # a letter, or a dtype
            kernel = reduction.ReductionKernel(
                np.dtype(accumulated or _notation.dtype_of(self.out_param, types)),
                self.identity,
                self.reduce_expr,
                text,
                ", ".join(parts),
                f"{self.name}_kernel",
                options=self._options or None,
                preamble=_notation.typedefs(types, self.preamble),
            )
            self._kernels[key] = kernel, sizes
        return self._kernels[key]

    def _post(self, given: np.dtype, types) -> ElementwiseKernel:
        """What makes the output of the last `a`."""
        key = given, tuple(sorted(types.items()))
        if key not in self._posts:
            result = _notation.dtype_of(self.out_param, types)
            self._posts[key] = ElementwiseKernel(
                f"{given.name} a",
                f"{result.name} {self.out_param.name}",
                self._post_map_expr or "",
                f"{self.name}_post",
                preamble=_notation.typedefs(types, self.preamble),
                options=self._options,
            )
        return self._posts[key]

    def _finished(self, result, types, out, stream) -> Any:
        """The result after post_map_expr, in `out` where that is given."""
        if self._post_map_expr is None:
            if out is None:
                return result
            out[...] = result
            return out
        if out is None:
            out = gpuarray.empty(result.shape, _notation.dtype_of(self.out_param, types))
        return self._post(result.dtype, types)(result, out, stream=stream)
