"""CuPy's ElementwiseKernel, as a pycuda.elementwise.ElementwiseKernel for each combination of types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pycuda import elementwise, gpuarray
from pycuda._array.core.elementwise import apply
from pycuda._base.public_names import documented_init
from pycuda.compat.cupy import _notation
from pycuda.compat.cupy._context import require
from pycuda.compat.cupy.cuda import driver_stream
from pycuda.gpuarray import GPUArray, broadcast_to


@documented_init
class ElementwiseKernel:
    """A function of elements in CuPy's notation: ``ElementwiseKernel("T x, T y", "T z", "z = x + y")``.

    Parameters
    ----------
    in_params, out_params : str
        Type and name of each: a dtype's name, or a letter that stands for the dtype of the operand. ``raw``
        before it: the whole array, indexed in the text. `i` is the index, ``_ind.size()`` the number of
        elements.
    operation : str
        CUDA C++.
    name : str, optional
    preamble, loop_prep, after_loop : str, optional
        CUDA C++ at file scope, and before and after each thread's loop.
    options : sequence of str, optional
        The compiler's.
    return_tuple : bool, optional
        Whether one output is returned as a tuple, too.
    no_return : bool, optional
        Whether None is returned.
    reduce_dims : bool, optional
        Changes nothing: axes are always merged where they can be.

    Examples
    --------
    >>> import pycuda.compat.cupy as cp
    >>> squared = cp.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared")
    >>> squared(cp.arange(4.0), 1).get()
    array([1., 0., 1., 4.])
    """

    def __init__(
        self, in_params: str, out_params: str, operation: str, name: str = "kernel", reduce_dims: bool = True,
        preamble: str = "", no_return: bool = False, return_tuple: bool = False, *, loop_prep: str = "",
        after_loop: str = "", options: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.in_params = _notation.parameters(in_params)
        self.out_params = _notation.parameters(out_params)
        if not self.out_params:
            raise ValueError("an ElementwiseKernel has at least one output")
        self.operation, self.name, self.preamble = operation, name, preamble
        self.no_return, self.return_tuple = no_return, return_tuple
        self._texts = {"loop_prep": loop_prep, "after_loop": after_loop}
        self._uses_index = _notation.uses_index(
            " ".join([operation, loop_prep, after_loop]), [*self.in_params, *self.out_params]
        )
        self._options = list(options)
        self._kernels: dict[Any, tuple[Any, set[str]]] = {}

    def __call__(self, *args: Any, size: int | None = None, stream: Any = None, block_size: int = 128) -> Any:
        """The outputs for operands that broadcast against each other.

        Parameters
        ----------
        *args : GPUArray or number
            The inputs, then, where they are given, the outputs.
        size : int, optional
            The number of elements, where all operands are raw or numbers.
        stream : Stream, optional
        block_size : int, optional
            Changes nothing.

        Returns
        -------
        GPUArray, tuple of GPUArray, or None
        """
        require()
        declared = [*self.in_params, *self.out_params]
        if len(args) not in (len(self.in_params), len(declared)):
            raise TypeError(
                f"{self.name} takes {len(self.in_params)} or {len(declared)} operands, not {len(args)}"
            )
        types = _notation.bound_types(declared, list(args))
        values = [_notation.checked(each, value, types) for each, value in zip(declared, args, strict=False)]
        shape = self._shape(values, size)
        for each in self.out_params[len(values) - len(self.in_params) :]:
            values.append(gpuarray.empty(shape, _notation.dtype_of(each, types)))
        values = self._prepared(values, shape)
        outputs = tuple(values[len(self.in_params) :])
        self._launch(declared, self._in_c_order(values), types, shape, driver_stream(stream), outputs)
        if self.no_return:
            return None
        return outputs if len(outputs) > 1 or self.return_tuple else outputs[0]

    def _shape(self, values: list[Any], size: int | None) -> tuple[int, ...]:
        """The shape of the loop: that of the operands that are not raw, or `size`."""
        pairs = zip([*self.in_params, *self.out_params], values, strict=False)
        shapes = [value.shape for each, value in pairs if isinstance(value, GPUArray) and not each.raw]
        if not shapes:
            if size is None:
                raise ValueError("Loop size is undecided: no operand is an array that is not raw; pass size=")
            return (int(size),)
        if size is not None:
            raise ValueError("Specified 'size' can be used only if all of the ndarray are 'raw'.")
        return np.broadcast_shapes(*shapes)

    def _prepared(self, values: list[Any], shape: tuple[int, ...]) -> list[Any]:
        """The operands, with inputs broadcast to the shape of the loop and raw inputs C-contiguous. TypeError
        or ValueError for outputs that do not fit.
        """
        prepared = []
        for k, (each, value) in enumerate(zip([*self.in_params, *self.out_params], values, strict=True)):
            is_output = k >= len(self.in_params)
            if not isinstance(value, GPUArray):
                if is_output:
                    raise TypeError(f"{each.name} is an output: it must be an array")
            elif each.raw:
                if is_output and not value.flags.c_contiguous:
                    raise ValueError(f"{each.name} is a raw output: it must be C-contiguous")
                value = _notation.contiguous(each, value)
            elif value.shape != shape:
                if is_output:
                    raise ValueError(f"Out shape is mismatched: {each.name} is {value.shape}, not {shape}")
                value = broadcast_to(value, shape)
            prepared.append(value)
        return prepared

    def _in_c_order(self, values: list[Any]) -> list[Any]:
        """The operands; if the kernel uses the index `i`, with copies in C order in place of outputs in
        another order.

        The index counts elements in C order in CuPy, but in PyCUDA in F order if all arrays have that order.
        """
        count = len(self.in_params)
        if not self._uses_index:
            return values
        return values[:count] + [
            each if each.flags.c_contiguous else each.copy("C") for each in values[count:]
        ]

    def _launch(self, declared, values, types, shape, stream, outputs) -> None:
        """Launch the kernel. outputs: those of the caller, to which outputs that are copies among `values`
        are copied then.
        """
        if not np.prod(shape, dtype=int):
            return
        arrays = [isinstance(value, GPUArray) for value in values]
        key = tuple(sorted(types.items())), tuple(arrays)
        if key not in self._kernels:
            self._kernels[key] = self._kernel(declared, arrays, types)
        kernel, sizes = self._kernels[key]
        given = [
            one for k in self._order(declared) for one in _notation.arguments(declared[k], values[k], sizes)
        ]
        if all(each.raw or not is_array for each, is_array in zip(declared, arrays, strict=True)):
            given.insert(0, gpuarray.empty(shape, np.uint8))  # for pycuda_all, of _kernel()
        kernel(*given, stream=stream)
        for output, computed in zip(outputs, values[len(self.in_params) :], strict=True):
            if output is not computed:
                apply("copy", computed, out=output, stream=stream)

    def _order(self, declared) -> list[int]:
        """The indices of the parameters in the order in which PyCUDA's kernel has them. It takes the number
        of elements from its first array, so outputs come first, and raw parameters, which may have other
        lengths, last.
        """
        order = [*range(len(self.in_params), len(declared)), *range(len(self.in_params))]
        return sorted(order, key=lambda k: declared[k].raw)

    def _kernel(self, declared, arrays, types) -> tuple[Any, set[str]]:
        """(kernel, names of raw parameters whose sizes are arguments)"""
        indexed = {
            each.name for each, is_array in zip(declared, arrays, strict=True) if is_array and not each.raw
        }
        texts, sizes = {}, set()
        for what, text in {"operation": self.operation, **self._texts}.items():
            texts[what], asked = _notation.translated(text, declared, indexed, types)
            sizes |= asked
        parts = [
            part
            for k in self._order(declared)
            for part in _notation.declaration(declared[k], types, arrays[k], sizes)
        ]
        if any(each.raw for each in declared):
            # PyCUDA's kernel refuses arrays that are shorter than the loop unless the operation has a
            # condition.
            texts["operation"] = f"if (i < n) {{ {texts['operation']}\n; }}"
        if not indexed:
            # An array of as many elements as size= says, from which the kernel takes the number of elements.
            parts.insert(0, "const unsigned char *pycuda_all")
        kernel = elementwise.ElementwiseKernel(
            ", ".join(parts),
            texts["operation"],
            f"{self.name}_kernel",  # CUDA's headers have functions of such names: norm, max
            options=self._options or None,
            preamble=_notation.typedefs(types, self.preamble),
            loop_prep=texts["loop_prep"],
            after_loop=texts["after_loop"],
        )
        return kernel, sizes
