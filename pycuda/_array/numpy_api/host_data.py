"""Data in host memory among the arguments of pycuda.numpy's functions: it is copied to the device, as who
calls them wants results there. NumPy's own functions with GPUArrays refuse it.

Which parameters are arrays, and which are lists of them, is what NumPy's function asks for the protocol:
`array_parameters` calls it once, with a probe in the place of each parameter.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pycuda import _driver
from pycuda._array.numpy_api.protocols import WRITTEN, refuse_parts

if TYPE_CHECKING:
    from collections.abc import Callable

# What is copied where an array is wanted. NumPy's 0-d arrays are numbers.
HOST = (list, tuple, range, np.ndarray)
_NUMBERS = (int, float, complex, np.generic)


def as_operand(value: Any, numbers: bool = False) -> Any:
    """The value, where it is in host memory as an array on the device; if `numbers` a number, too."""
    if isinstance(value, HOST) or (numbers and isinstance(value, _NUMBERS)):
        from pycuda._array.numpy_api.likes import asarray

        return asarray(value)
    return value


def _each(value: Any) -> Any:
    """as_operand() of each item of a list of arrays."""
    if not isinstance(value, list | tuple):
        return as_operand(value)
    if {*map(type, value)} == {_driver.GPUArray}:
        return value
    return type(value)([as_operand(each, numbers=True) for each in value])


def _array(value: Any) -> Any:
    """as_operand() of numbers, too."""
    return as_operand(value, numbers=True)


def _leaves(value: Any) -> Any:
    """as_operand() of what lists in lists hold."""
    return [_leaves(each) for each in value] if isinstance(value, list) else as_operand(value)


def _written(value: Any) -> Any:
    """The array that a function writes to."""
    if isinstance(value, HOST):
        raise TypeError(f"a GPUArray is needed to write to, not {type(value).__name__}")
    refuse_parts((value,))
    return value


def _mapped(role: Callable[[Any], Any], values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(map(role, values))


def _of_einsum(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """After a text all are arrays; without one each second is a list of subscripts."""
    if values and isinstance(values[0], str):
        return values[0], *map(_array, values[1:])
    return tuple(each if at % 2 else _array(each) for at, each in enumerate(values))


# ---- what NumPy asks


class _Probe:
    """Reports the types that NumPy's function asks."""

    def __array_function__(self, function, types, args, kwargs):
        return types


class _Listed(_Probe):
    """Stands for a list with one item."""

    item: Any = None

    def __getitem__(self, index):
        if index:
            raise IndexError(index)
        return self.item

    def __len__(self) -> int:
        return 1


def _probe_classes(index: int) -> tuple[type, type]:
    """For a parameter: the class of its probe, and of the item of that."""
    item = type(f"_Item{index}", (_Probe,), {})
    return type(f"_Parameter{index}", (_Listed,), {"item": item()}), item


@functools.cache
def _probes() -> list[tuple[type, type]]:
    return [_probe_classes(index) for index in range(16)]


class ArrayParameters(NamedTuple):
    """How the arguments of a function become arrays: by position, by name, and those of *args."""

    placed: tuple[Callable[[Any], Any] | None, ...]
    named: dict[str, Callable[[Any], Any]]
    others: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None


# Parameters whose lists are something else than NumPy's function says: subscripts, or one array. Those of
# clip are keywords of ours alone.
_SPECIAL = {
    ("block", "arrays"): _leaves,
    ("clip", "a_min"): as_operand,
    ("clip", "a_max"): as_operand,
    ("einsum", "operands"): _of_einsum,
    ("lexsort", "keys"): _each,
    ("poly", "seq_of_zeros"): _array,
    ("roots", "p"): _array,
}
# What is read on the host, or written to.
_STAYS = frozenset("bins dtype indices_or_sections obj out q reps".split())
# Functions that take numbers as what they are, since they decide about the dtype.
_KEEP_NUMBERS = frozenset(("linspace", "logspace", "geomspace"))


def _asked(function: Callable[..., Any], parameters: list[inspect.Parameter]) -> tuple[type, ...]:
    """The classes of the probes that NumPy's function asks when it is called with one for each parameter."""
    args: list[_Probe] = []
    kwargs: dict[str, _Probe] = {}
    for (probe, _), parameter in zip(_probes(), parameters, strict=False):
        if parameter.kind == parameter.KEYWORD_ONLY:
            kwargs[parameter.name] = probe()
        elif parameter.kind != parameter.VAR_KEYWORD:
            args.append(probe())
    needed = sum(each.default is each.empty for each in parameters[: len(args)])
    attempts = [(args, kwargs), *((args[:count], {}) for count in range(len(args), needed - 1, -1))]
    for placed, named in attempts:
        try:
            return tuple(function(*placed, **named))
        except TypeError:  # parameters that NumPy's function does not have, or not in this version
            continue
    raise TypeError(f"{function.__name__} does not ask for the protocol")


def array_parameters(
    function: Callable[..., Any] | None, ours: Callable[..., Any], name: str
) -> ArrayParameters:
    """Of `ours`, which has the parameters of NumPy's function; without that the first one is the array."""
    parameters = list(inspect.signature(ours).parameters.values())
    asked = _asked(function, parameters) if function is not None else (_probes()[0][0],)
    placed: list[Callable[[Any], Any] | None] = []
    named: dict[str, Callable[[Any], Any]] = {}
    others, first = None, True
    for (probe, item), parameter in zip(_probes(), parameters, strict=False):
        role: Callable[[Any], Any] | None = None
        if parameter.name in _STAYS:
            pass
        elif first and name in WRITTEN:
            role, first = _written, False
        elif (name, parameter.name) in _SPECIAL:
            role = _SPECIAL[name, parameter.name]
        elif item in asked:
            role = _each
        elif probe in asked:
            role, first = (_array if first and name not in _KEEP_NUMBERS else as_operand), False
        elif parameter.name == "where":
            role = as_operand
        if parameter.kind == parameter.VAR_POSITIONAL:
            others = role if role in (None, _of_einsum) else functools.partial(_mapped, role)
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            placed.append(role)
        if role is not None and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            named[parameter.name] = role
    while placed and placed[-1] is None:
        placed.pop()
    return ArrayParameters(tuple(placed), named, others)


def taking_host_data(ours: Callable[..., Any], parameters: ArrayParameters) -> Callable[..., Any]:
    """The function with data in host memory copied to the device where it takes arrays."""
    placed, named, others = parameters
    kind, count = _driver.GPUArray, len(placed)

    def call(*args: Any, **kwargs: Any) -> Any:
        for each, role in zip(args, placed, strict=False):
            if role is not None and (type(each) is not kind or role is _written):
                args = (*map(_ready, args, placed), *args[count:])
                break
        if others is not None:
            args = (*args[:count], *others(args[count:]))
        if kwargs:
            for name in kwargs.keys() & named.keys():
                kwargs[name] = named[name](kwargs[name])
        return ours(*args, **kwargs)

    return call


def _ready(value: Any, role: Callable[[Any], Any] | None) -> Any:
    return value if role is None else role(value)
