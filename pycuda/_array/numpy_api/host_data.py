"""Data in host memory among the arguments of pycuda.numpy's functions is copied to the device: a program that
calls them wants results there. NumPy's own functions, called with GPUArrays, refuse it.

NumPy's function itself shows which parameters are arrays and which are lists of arrays: those are the
arguments that it asks for `__array_function__`. `array_parameters` calls it once, with a probe for each
parameter.
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

# Types of data in host memory that are copied where an array is wanted.
HOST = (list, tuple, range, np.ndarray)
_NUMBERS = (int, float, complex, np.generic)


def as_operand(value: Any, numbers: bool = False) -> Any:
    """The value; data in host memory as an array on the device, and with `numbers` a number as a 0-d
    array.
    """
    if isinstance(value, HOST) or (numbers and isinstance(value, _NUMBERS)):
        from pycuda._array.numpy_api.likes import asarray

        return asarray(value)
    return value


# ---- roles of parameters: functions that make of an argument what the implementation takes


def _each(value: Any) -> Any:
    """as_operand() of each item of a list of arrays; numbers become arrays, too."""
    if not isinstance(value, list | tuple):
        return as_operand(value)
    if {*map(type, value)} == {_driver.GPUArray}:
        return value
    return type(value)([as_operand(each, numbers=True) for each in value])


def _array(value: Any) -> Any:
    """as_operand(), with numbers as arrays, too."""
    return as_operand(value, numbers=True)


def _leaves(value: Any) -> Any:
    """Nested lists, with as_operand() of each item that is not a list."""
    return [_leaves(each) for each in value] if isinstance(value, list) else as_operand(value)


def _written(value: Any) -> Any:
    """The array itself, to which the function writes. TypeError for data in host memory, as what is written
    to a copy would be lost.
    """
    if isinstance(value, HOST):
        raise TypeError(f"a GPUArray is needed to write to, not {type(value).__name__}")
    refuse_parts((value,))
    return value


def _mapped(role: Callable[[Any], Any], values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(map(role, values))


def _of_einsum(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands of einsum: after a text all are arrays; without one they alternate with lists of
    subscripts.
    """
    if values and isinstance(values[0], str):
        return values[0], *map(_array, values[1:])
    return tuple(each if at % 2 else _array(each) for at, each in enumerate(values))


# ---- what NumPy asks


class _Probe:
    """An argument for which NumPy's function returns the types of all arguments that it asks for the
    protocol.
    """

    def __array_function__(self, function, types, args, kwargs):
        return types


class _Listed(_Probe):
    """A probe that is also a list with one item: another probe, which NumPy asks if it wants a list of
    arrays.
    """

    item: Any = None

    def __getitem__(self, index):
        if index:
            raise IndexError(index)
        return self.item

    def __len__(self) -> int:
        return 1


def _probe_classes(index: int) -> tuple[type, type]:
    """(class of a parameter's probe, class of the item of that): each parameter has its own classes, by which
    it is recognized.
    """
    item = type(f"_Item{index}", (_Probe,), {})
    return type(f"_Parameter{index}", (_Listed,), {"item": item()}), item


@functools.cache
def _probes() -> list[tuple[type, type]]:
    return [_probe_classes(index) for index in range(16)]


class ArrayParameters(NamedTuple):
    """The roles of a function's parameters. None: the argument is passed as it is."""

    placed: tuple[Callable[[Any], Any] | None, ...]  # by position
    named: dict[str, Callable[[Any], Any]]  # by name
    others: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None  # of all arguments in *args at once


# The roles of parameters for which NumPy's function shows none or another one: lists are subscripts, or one
# array. Those of clip have other places in ours than in NumPy's function.
_SPECIAL = {
    ("block", "arrays"): _leaves,
    ("clip", "a_min"): as_operand,
    ("clip", "a_max"): as_operand,
    ("einsum", "operands"): _of_einsum,
    ("lexsort", "keys"): _each,
    ("poly", "seq_of_zeros"): _array,
    ("roots", "p"): _array,
}
# Parameters that stay as they are, as the host reads them, or as they are written to.
_STAYS = frozenset("bins dtype indices_or_sections obj out q reps".split())
# Functions whose first argument, if it is a number, is not made an array, as its type decides about the
# dtype.
_KEEP_NUMBERS = frozenset(("linspace", "logspace", "geomspace"))


def _classes_asked(function: Callable[..., Any], parameters: list[inspect.Parameter]) -> tuple[type, ...]:
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
        except TypeError:  # this version of NumPy's function lacks some of the parameters: try with fewer
            continue
    raise TypeError(f"{function.__name__} does not ask for the protocol")


def array_parameters(
    function: Callable[..., Any] | None, ours: Callable[..., Any], name: str
) -> ArrayParameters:
    """The roles of the parameters of `ours`, our implementation of NumPy's `function` of this name, which has
    the same parameters except where _SPECIAL says otherwise. If NumPy has no such function, the first one is
    the array.
    """
    parameters = list(inspect.signature(ours).parameters.values())
    asked = _classes_asked(function, parameters) if function is not None else (_probes()[0][0],)
    placed: list[Callable[[Any], Any] | None] = []
    named: dict[str, Callable[[Any], Any]] = {}
    others, no_array_yet = None, True
    for (probe, item), parameter in zip(_probes(), parameters, strict=False):
        role: Callable[[Any], Any] | None = None
        # The first rule that fits decides. A number for the first array becomes an array; a number for a
        # later one stays a number, whose type is weak in promotion.
        if parameter.name in _STAYS:
            pass
        elif no_array_yet and name in WRITTEN:
            role, no_array_yet = _written, False
        elif (name, parameter.name) in _SPECIAL:
            role = _SPECIAL[name, parameter.name]
        elif item in asked:
            role = _each
        elif probe in asked:
            role = _array if no_array_yet and name not in _KEEP_NUMBERS else as_operand
            no_array_yet = False
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
        # Most calls have only GPUArrays, whose roles need not be called.
        for each, role in zip(args, placed, strict=False):
            if role is not None and (type(each) is not kind or role is _written):
                args = (*map(_in_role, args, placed), *args[count:])
                break
        if others is not None:
            args = (*args[:count], *others(args[count:]))
        if kwargs:
            for name in kwargs.keys() & named.keys():
                kwargs[name] = named[name](kwargs[name])
        return ours(*args, **kwargs)

    return call


def _in_role(value: Any, role: Callable[[Any], Any] | None) -> Any:
    return value if role is None else role(value)
