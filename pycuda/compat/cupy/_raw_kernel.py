"""CuPy's kernels of whole CUDA C++ sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pycuda._base.public_names import documented_init
from pycuda.compat.cupy._context import require
from pycuda.compat.cupy.cuda import driver_stream
from pycuda.compiler import SourceModule


def _same(value: Any) -> Any:
    return value


# How Python's numbers are passed to kernels, as in CuPy.
_AS_NUMPY: dict[type, Callable[[Any], Any]] = {
    bool: np.bool_,
    int: np.int64,
    float: np.float64,
    complex: np.complex128,
}


def _three(sizes: int | Sequence[int]) -> tuple[int, int, int]:
    """The sizes of a grid or a block; missing ones are 1."""
    given = (sizes,) if isinstance(sizes, int | np.integer) else tuple(sizes)
    return tuple(map(int, (*given, 1, 1)[: max(3, len(given))]))  # type: ignore[return-value]


def _refuse(**options: Any) -> None:
    """NotImplementedError if one of the options is true."""
    given = [name for name, value in options.items() if value]
    if given:
        raise NotImplementedError(f"{', '.join(given)}: not supported by pycuda.compat.cupy")


@documented_init
class RawModule:
    """A module of CUDA C++.

    Parameters
    ----------
    code : str
    options : sequence of str, optional
        The compiler's.
    backend : {"nvrtc", "nvcc"}, optional
        What compiles is chosen as everywhere in pycuda.
    name_expressions : sequence of str, optional
        Instances of templates that get_function is to find, ``"scale<float>"``.
    translate_cucomplex, enable_cooperative_groups, jitify : bool, optional
        Must be False.
    """

    def __init__(
        self, *, code: str, options: Sequence[str] = (), backend: str = "nvrtc",
        name_expressions: Sequence[str] | None = None, translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False, jitify: bool = False,
    ) -> None:  # fmt: skip
        if backend not in ("nvrtc", "nvcc"):
            raise ValueError(f"backend must be 'nvrtc' or 'nvcc', not {backend!r}")
        _refuse(
            translate_cucomplex=translate_cucomplex,
            enable_cooperative_groups=enable_cooperative_groups,
            jitify=jitify,
        )
        self.code, self.options, self.backend = code, tuple(options), backend
        self._expressions = tuple(name_expressions or ())
        self._modules: dict[Any, SourceModule] = {}

    def _module(self) -> SourceModule:
        """Compiled for the current context."""
        import pycuda.driver as drv

        require()
        context = drv.Context.get_current()
        if context not in self._modules:
            self._modules[context] = SourceModule(
                self.code,
                options=list(self.options),
                no_extern_c=True,
                name_expressions=self._expressions,
            )
        return self._modules[context]

    def compile(self) -> None:
        """Compile now, not at the first call."""
        self._module()

    def get_function(self, name: str) -> RawKernel:
        """A kernel of the module.

        Parameters
        ----------
        name : str

        Returns
        -------
        RawKernel
        """
        return RawKernel._of(self, name)

    def get_global(self, name: str) -> Any:
        """The address of a variable of the module.

        Parameters
        ----------
        name : str
        """
        return self._module().get_global(name)[0]


@documented_init
class RawKernel:
    """A kernel of CUDA C++: ``kernel(grid, block, args)``.

    Parameters
    ----------
    code : str
        With an ``extern "C" __global__`` function.
    name : str
        Of that function.
    options : sequence of str, optional
    backend, translate_cucomplex, enable_cooperative_groups, jitify
        As in RawModule.

    Examples
    --------
    >>> import pycuda.compat.cupy as cp
    >>> add = cp.RawKernel('extern "C" __global__ void add(float *x) { x[threadIdx.x] += 1; }', "add")
    >>> x = cp.zeros(4, cp.float32)
    >>> add((1,), (4,), (x,))
    >>> x.get()
    array([1., 1., 1., 1.], dtype=float32)
    """

    def __init__(
        self, code: str, name: str, options: Sequence[str] = (), backend: str = "nvrtc", *,
        translate_cucomplex: bool = False, enable_cooperative_groups: bool = False, jitify: bool = False,
    ) -> None:  # fmt: skip
        self._raw = RawModule(
            code=code,
            options=options,
            backend=backend,
            translate_cucomplex=translate_cucomplex,
            enable_cooperative_groups=enable_cooperative_groups,
            jitify=jitify,
        )
        self.name = name

    @classmethod
    def _of(cls, module: RawModule, name: str) -> RawKernel:
        kernel = cls.__new__(cls)
        kernel._raw, kernel.name = module, name
        kernel.kernel  # noqa: B018 - raises where there is none
        return kernel

    @property
    def code(self) -> str:
        """The source."""
        return self._raw.code

    @property
    def kernel(self) -> Any:
        """The pycuda.driver.Function in the current context."""
        return self._raw._module().get_function(self.name)

    def compile(self) -> None:
        """Compile now, not at the first call."""
        self._raw.compile()

    def __call__(
        self, grid: Any, block: Any, args: Sequence[Any], *, shared_mem: int = 0, stream: Any = None
    ) -> None:
        """Launch.

        Parameters
        ----------
        grid, block : tuple of int
            Of one to three numbers.
        args : sequence
            Arrays and numbers. Python's are passed as int64, float64, complex128 and bool; an integer may go
            to a smaller parameter, all others must have its size: numpy.float32(x) for a float.
        shared_mem : int, optional
            Bytes of dynamic shared memory.
        stream : Stream, optional
            Without it the current one.
        """
        given = [_AS_NUMPY.get(type(each), _same)(each) for each in args]
        self.kernel(
            *given, grid=_three(grid), block=_three(block), shared=shared_mem, stream=driver_stream(stream)
        )
