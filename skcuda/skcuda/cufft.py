"""cuFFT by the names of its functions. A plan is a handle."""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import pycuda.driver as drv
from pycuda._libraries import host

from ._host_fft import HostTransform
from ._library import Handle, Library
from ._memory import address_of
from ._streams import MemoryInUse


class cufftError(Exception):
    """A function of cuFFT failed."""


class cufftInvalidPlan(cufftError):
    """The handle is not a plan, or was destroyed."""


class cufftAllocFailed(cufftError):
    """There is no memory for what the library needs."""


class cufftInvalidType(cufftError):
    """There are no such types of transforms."""


class cufftInvalidValue(cufftError):
    """A parameter has a value that the function does not take."""


class cufftInternalError(cufftError):
    """An internal operation of the library failed."""


class cufftExecFailed(cufftError):
    """A kernel failed."""


class cufftSetupFailed(cufftError):
    """The library could not be initialized."""


class cufftInvalidSize(cufftError):
    """There are no transforms of this size."""


class cufftUnalignedData(cufftError):
    """The memory is not aligned."""


_INVALID_PLAN, _INVALID_TYPE, _INVALID_SIZE = 1, 3, 8

cufftExceptions = {
    -1: cufftError,
    _INVALID_PLAN: cufftInvalidPlan,
    2: cufftAllocFailed,
    _INVALID_TYPE: cufftInvalidType,
    4: cufftInvalidValue,
    5: cufftInternalError,
    6: cufftExecFailed,
    7: cufftSetupFailed,
    _INVALID_SIZE: cufftInvalidSize,
    9: cufftUnalignedData,
}

_library = Library("cufft", cufftExceptions, "skcuda._host_fft")
cufftCheckStatus = _library.check

CUFFT_FORWARD, CUFFT_INVERSE = -1, 1
CUFFT_R2C, CUFFT_C2R, CUFFT_C2C = 0x2A, 0x2C, 0x29
CUFFT_D2Z, CUFFT_Z2D, CUFFT_Z2Z = 0x6A, 0x6C, 0x69
CUFFT_COMPATIBILITY_NATIVE, CUFFT_COMPATIBILITY_FFTW_PADDING = 0, 1
CUFFT_COMPATIBILITY_FFTW_ASYMMETRIC, CUFFT_COMPATIBILITY_FFTW_ALL = 2, 3

_DTYPES = {
    CUFFT_R2C: (np.float32, np.complex64),
    CUFFT_C2R: (np.complex64, np.float32),
    CUFFT_C2C: (np.complex64, np.complex64),
    CUFFT_D2Z: (np.float64, np.complex128),
    CUFFT_Z2D: (np.complex128, np.float64),
    CUFFT_Z2Z: (np.complex128, np.complex128),
}


# ---- functions whose parameters describe a transform: each verb in four forms (cufftPlan1d, cufftPlan2d,
# ...)

# The parameters of each form.
_FORMS = {
    "1d": "nx fft_type batch",
    "2d": "nx ny fft_type",
    "3d": "nx ny nz fft_type",
    "Many": "rank n inembed istride idist onembed ostride odist fft_type batch",
}
_ARRAYS = "n", "inembed", "onembed"  # parameters that are arrays of `rank` ints
# What the functions of each verb return.
_VERBS = {
    "Plan": "It returns a plan.",
    "MakePlan": "It returns the bytes of the plan's work area.",
    "GetSize": "It returns the bytes of the plan's work area.",
    "Estimate": "It returns the bytes of the work area, estimated.",
}


def _integers(value, rank: int) -> np.ndarray | None:
    """An array of int32 from a sequence or, if the value is an address in host memory, of the `rank` C ints
    there. None for None and 0.
    """
    if value is None or (isinstance(value, int) and not value):
        return None
    if isinstance(value, int):
        value = (ctypes.c_int * rank).from_address(value)
    return np.ascontiguousarray(value, np.int32)


def _transform(given: dict[str, Any]) -> HostTransform:
    """The transform that the parameters of any form describe. Raises cuFFT's exception for an invalid type or
    size.
    """
    if "n" in given:
        sizes = given["n"].tolist()
    else:
        sizes = [given[each] for each in ("nx", "ny", "nz") if each in given]
    if given["fft_type"] not in _DTYPES:
        _library.check(_INVALID_TYPE)
    if min(sizes) < 1 or given.get("batch", 1) < 1:
        _library.check(_INVALID_SIZE)
    embeds = given.get("inembed"), given.get("onembed")
    layouts = None, None
    if all(each is not None for each in embeds):  # as in cuFFT, one is ignored without the other
        places = (given["istride"], given["idist"]), (given["ostride"], given["odist"])
        layouts = tuple((each.tolist(), *place) for each, place in zip(embeds, places, strict=True))
    return HostTransform(tuple(sizes), given.get("batch", 1), _DTYPES[given["fft_type"]], *layouts)


class _TransformFunction:
    """cuFFT's function of a verb and a form, whose parameters describe a transform: it makes a plan of it, or
    returns the bytes of the work area that a plan of it needs.
    """

    def __init__(self, verb: str, form: str):
        self.__name__ = self.__qualname__ = f"cufft{verb}{form}"
        self.__doc__ = f"NVIDIA's function of this name. {_VERBS[verb]}"
        self._takes_plan, self._returns_plan = verb in ("MakePlan", "GetSize"), verb == "Plan"
        self._makes_plan = verb in ("Plan", "MakePlan")
        names = [*(["plan"] if self._takes_plan else []), *_FORMS[form].split()]
        optional = {"batch": 1} if form == "1d" and not self._makes_plan else {}  # as in scikit-cuda
        kind, required = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(name, kind, default=optional.get(name, required)) for name in names]
        )

    def __call__(self, *arguments, **keywords):
        bound = self.__signature__.bind(*arguments, **keywords)
        bound.apply_defaults()
        given = dict(bound.arguments)
        plan = _library.valid(given.pop("plan")) if self._takes_plan else None
        given = {
            name: _integers(value, given["rank"]) if name in _ARRAYS else int(value)
            for name, value in given.items()
        }
        transform = _transform(given)
        plan, size = self._on_host(plan) if host.is_possible() else self._on_gpu(plan, given)
        if self._makes_plan:
            plan.transform = transform
        return plan if self._returns_plan else size

    def _on_host(self, plan) -> tuple[Handle | None, int]:
        """(plan, size): a new plan if the function returns one. The work area is not used; a size of 1 can be
        allocated.
        """
        return (_library.create("") if self._returns_plan else plan), 1

    def _on_gpu(self, plan, given) -> tuple[Handle | None, int]:
        """(plan, size) as of _on_host, by a call of cuFFT; the size is 0 if the function returns a plan."""
        words = [
            ctypes.c_void_p(address_of(value)) if name in _ARRAYS else ctypes.c_int(value)
            for name, value in given.items()
        ]
        if self._returns_plan:
            made = ctypes.c_int()
            _library.call(self.__name__, ctypes.byref(made), *words)
            return Handle(made.value), 0
        size = ctypes.c_size_t()
        first = () if plan is None else (ctypes.c_int(plan),)
        _library.call(self.__name__, *first, *words, ctypes.byref(size))
        return plan, size.value


globals().update((f"cufft{verb}{form}", _TransformFunction(verb, form)) for verb in _VERBS for form in _FORMS)


# ---- plans


def cufftCreate() -> Handle:
    """A plan that `cufftMakePlan1d`, `2d`, `3d` or `Many` makes one of a transform."""
    return _library.create("cufftCreate")


def cufftDestroy(plan) -> None:
    """Release a plan."""
    _library.destroy("cufftDestroy", plan)


def cufftSetStream(plan, stream) -> None:
    """Queue the plan's transforms on a stream: its number (`stream.handle`), or a Stream."""
    _library.set_stream("cufftSetStream", plan, stream)


def cufftSetCompatibilityMode(plan, mode) -> None:
    """Nothing: the library has one mode since CUDA 9.2."""
    _library.valid(plan)


def _set(name: str, plan, value) -> None:
    """Call cuFFT's function that sets a value of a plan. On the CPU device the value is ignored."""
    _library.valid(plan)
    if not host.is_possible():
        _library.call(name, ctypes.c_int(plan), value)


def cufftSetAutoAllocation(plan, auto_allocate) -> None:
    """Whether the library allocates the plan's work area."""
    _set("cufftSetAutoAllocation", plan, ctypes.c_int(bool(auto_allocate)))


def cufftSetWorkArea(plan, work_area) -> None:
    """Let the plan's transforms use this device memory."""
    _set("cufftSetWorkArea", plan, ctypes.c_void_p(address_of(work_area)))


def cufftGetSize(plan) -> int:
    """The bytes of the plan's work area."""
    _library.valid(plan)
    if host.is_possible():
        return 1
    size = ctypes.c_size_t()
    _library.call("cufftGetSize", ctypes.c_int(plan), ctypes.byref(size))
    return size.value


def cufftGetVersion() -> int:
    """The version of the library; on the CPU device that of the CUDA driver it has."""
    if host.is_possible():
        return drv.get_driver_version()
    version = ctypes.c_int()
    _library.call("cufftGetVersion", ctypes.byref(version))
    return version.value


# ---- transforms


def _execute(name: str, plan, idata, odata, *direction: int) -> None:
    """Queue a plan's transform by cuFFT's function `name`. Complex-to-complex transforms take one
    `direction`, the others none.
    """
    plan = _library.valid(plan)
    if host.is_possible():
        if getattr(plan, "transform", None) is None:
            _library.check(_INVALID_PLAN)
        plan.transform.queue(idata, odata, direction == (CUFFT_INVERSE,), plan.stream)
        return
    places = (ctypes.c_void_p(address_of(each)) for each in (idata, odata))
    with MemoryInUse(plan.stream, (idata, odata)):
        _library.call(name, ctypes.c_int(plan), *places, *map(ctypes.c_int, direction))


def _execution(name: str, complex_to_complex: bool) -> Callable[..., None]:
    """The function of this name that executes plans, with a direction if it is complex_to_complex."""

    def execute_either_way(plan, idata, odata, direction):
        _execute(name, plan, idata, odata, int(direction))

    def execute(plan, idata, odata):
        _execute(name, plan, idata, odata)

    function = execute_either_way if complex_to_complex else execute
    function.__name__ = function.__qualname__ = name
    function.__doc__ = "NVIDIA's function of this name: the plan's transform of device memory."
    return function


globals().update(
    (f"cufftExec{each}", _execution(f"cufftExec{each}", each in ("C2C", "Z2Z")))
    for each in ("C2C", "R2C", "C2R", "Z2Z", "D2Z", "Z2D")
)
