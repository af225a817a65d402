#!/usr/bin/env python3
"""Writes the stubs of pycuda.gpuarray and pycuda.numpy, for type checkers, from the functions of the imported
modules.

Usage: python tools/numpy_stubs.py, with the version of NumPy whose names they are to have. Types come from
the functions' annotations. A function whose result is `GPUArray[Scalar]`, with a parameter `a:
Array[Scalar]`, becomes overloads: for a GPUArray of known dtype, for `dtype=` of known type, and for anything
else.
"""

import inspect
import re
import textwrap
import types
import typing
from pathlib import Path
from typing import NamedTuple

import numpy

import pycuda.numpy
from pycuda import gpuarray

FOLDER = Path(gpuarray.__file__).parent
VARIABLES = re.compile(r"\b(Scalar|Number|Inexact|Floating|Result)\b")  # type variables of core/types.py
ARRAY_OF_ONE_DTYPE = re.compile(r"GPUArray(\[[\w.]+\])?$")
WIDTH = 106  # of a line of a stub before it is indented
# Python 3.10 keeps no overloads: with it the functions are known, but no stubs are written.
overloads_of = getattr(typing, "get_overloads", lambda function: [])

# ---- the forms of a function


class Form(NamedTuple):
    """A signature: parameters whose annotations are text, and the result's annotation."""

    parameters: list[inspect.Parameter]
    result: str


def text_of(annotation):
    """An annotation as text; Any without one."""
    if annotation is inspect.Parameter.empty:
        return "Any"
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", repr(annotation))


def annotated(signature):
    """The parameters, with annotations that are texts."""
    return [each.replace(annotation=text_of(each.annotation)) for each in signature.parameters.values()]


def bound(parameters, result):
    """The form for a GPUArray of known dtype: `Array[Scalar]` becomes `GPUArray[Scalar]`, and `dtype` and
    `out`, which would decide about the result, must be None.
    """
    found = []
    for each in parameters:
        note = each.annotation
        if each.name in ("dtype", "out") and each.default is not each.empty:
            note = "None"
        elif variable := re.search(r"\b(Arrays?)\[(\w+)\]", note):
            known = f"GPUArray[{variable[2]}]"
            note = known if variable[1] == "Array" else f"Sequence[{known}]"
        found.append(each.replace(annotation=note))
    return Form(found, result)


def by_dtype(parameters):
    """The form in which `dtype=` is given and decides about the result's dtype. As it has no default here, it
    becomes keyword-only if a parameter before it has one, and so do all after it.
    """
    place = next(n for n, each in enumerate(parameters) if each.name == "dtype")
    found = [each.replace(annotation=VARIABLES.sub("Any", each.annotation)) for each in parameters]
    named = found[place].replace(annotation="DTypeOf[Scalar]", default=inspect.Parameter.empty)
    if any(each.default is not each.empty for each in found[:place]):
        named = named.replace(kind=named.KEYWORD_ONLY)
        after = [
            each.replace(kind=each.KEYWORD_ONLY) if each.kind == each.POSITIONAL_OR_KEYWORD else each
            for each in found[place + 1 :]
        ]
        return Form([*found[:place], named, *after], "GPUArray[Scalar]")
    return Form([*found[:place], named, *found[place + 1 :]], "GPUArray[Scalar]")


def forms(function):
    """The forms of a function: those of its overloads, or those that follow from its annotations. The last
    one is for arguments that no other form takes.
    """
    body = inspect.unwrap(function)
    overloads = overloads_of(body) if inspect.isfunction(body) else []
    if overloads:
        signatures = [inspect.signature(each) for each in overloads]
        return [Form(annotated(each), text_of(each.return_annotation)) for each in signatures]
    signature = inspect.signature(function)
    parameters, result = annotated(signature), text_of(signature.return_annotation)
    if "Result" in result:  # a tuple of arrays (EighResult), or what a callable argument returns (Result)
        return [Form(parameters, result)]
    names = {each.name: each for each in parameters}
    # `dtype` is the result's, except of a variance: the result is a float, whatever the computation's dtype.
    dtype_decides = "dtype" in names and "ddof" not in names and ARRAY_OF_ONE_DTYPE.match(result) is not None
    dtype_is_optional = dtype_decides and names["dtype"].default is not inspect.Parameter.empty
    has_variable = VARIABLES.search(result) is not None
    found = []
    if has_variable or (dtype_is_optional and result != "GPUArray"):
        found.append(bound(parameters, result))
    if dtype_decides:
        found.append(by_dtype(parameters))
    return [*found, unbound(parameters, "GPUArray" if dtype_decides else result)]


def unbound(parameters, result):
    """The form in which nothing is known of a dtype: type variables become Any."""
    parameters = [each.replace(annotation=VARIABLES.sub("Any", each.annotation)) for each in parameters]
    return Form(parameters, VARIABLES.sub("Any", result).replace("GPUArray[Any]", "GPUArray"))


# ---- forms as text
#
# `name_of` is a function that turns an annotation into that of one of the stubs: private_name or same_name.


def default(value):
    """A default as text, ... for what is not a literal."""
    return repr(value) if value is None or type(value) in (bool, int, float, str) else "..."


def parameter(each, name_of, is_self):
    """A parameter as text, without the marks / and *. Only the array of a method may go without
    annotation.
    """
    stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
    value = "" if each.default is each.empty else f" = {default(each.default)}"
    is_any_array = each.annotation in ("Any", "Array", "Array[Any]")
    note = "" if is_self and is_any_array else f": {name_of(each.annotation)}"
    return f"{stars}{each.name}{note}{value}"


def parameters_of(form, name_of, is_method):
    """The parameters as text, with the marks / and *."""
    found, before = [], None
    for n, each in enumerate(form.parameters):
        if before == each.POSITIONAL_ONLY and each.kind != each.POSITIONAL_ONLY:
            found.append("/")
        if each.kind == each.KEYWORD_ONLY and before not in (each.KEYWORD_ONLY, each.VAR_POSITIONAL):
            found.append("*")
        found.append(parameter(each, name_of, is_method and n == 0))
        before = each.kind
    return [*found, "/"] if before == inspect.Parameter.POSITIONAL_ONLY else found


def wrapped(items, end, indent=""):
    """The items, with commas, in lines of at most WIDTH characters, none of them broken; then `end`."""
    lines = [""]
    for each in items:
        if lines[-1] and len(lines[-1]) + len(each) + 2 + len(indent) > WIDTH:
            lines.append("")
        lines[-1] += f" {each}," if lines[-1] else f"{each},"
    return textwrap.indent("\n".join(lines), indent) + end


def definition(name, form, name_of, is_method=False):
    """A function as text."""
    items, result = parameters_of(form, name_of, is_method), name_of(form.result, is_result=True)
    text = f"def {name}({', '.join(items)}) -> {result}: ..."
    return text if len(text) <= WIDTH else f"def {name}(\n{wrapped(items, '', '    ')}\n) -> {result}: ..."


# What the array of a method must be, if the type variable of the function has a bound.
SELF = {"Inexact": "GPUArray[np.inexact[Any]]", "Floating": "GPUArray[np.floating[Any]]"}


def of_method(form):
    """The form of a method, from that of a function whose first parameter is the method's array. The
    function's type variable for it becomes that of the class, `_Scalar_co`.
    """
    own, *others = form.parameters
    variable = re.match(r"(?:GPU)?Array\[(Scalar|Inexact|Floating|Any)\]$", own.annotation)
    if not variable:
        return form
    own = own.replace(annotation=SELF.get(variable[1], "Any"))
    if variable[1] == "Any":
        return Form([own, *others], form.result)
    replaced = re.compile(rf"\b{variable[1]}\b")
    others = [each.replace(annotation=replaced.sub("_Scalar_co", each.annotation)) for each in others]
    return Form([own, *others], replaced.sub("_Scalar_co", form.result))


def definitions(name, function, name_of, is_method=False):
    """A function as texts, one for each form, which are overloads if there are several."""
    found = forms(function)
    if is_method and len(found) == 2 and "[Scalar]" in found[0].result:
        # A method's array is a GPUArray[Scalar] in any case: forms that differ only in it are one.
        first, second = ([each.annotation for each in form.parameters[1:]] for form in found)
        found = found[:1] if first == second else found
    found = [of_method(each) for each in found] if is_method else found
    mark = "@overload\n" if len(found) > 1 else ""
    return [mark + definition(name, each, name_of, is_method) for each in found]


# ---- pycuda.numpy

NUMPY_HEAD = """# Written by tools/numpy_stubs.py.
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
"""
# The annotation of operands in pycuda.numpy, which may be on the host.
OPERANDS = """
_Array: _TypeAlias = _GPUArray[_Scalar] | _np.ndarray[_Any, _np.dtype[_Scalar]]
"""
# What pycuda.numpy has from other modules of pycuda, and under these names.
OWN = """from pycuda._array.interop.interchange import asnumpy as asnumpy
from pycuda._array.interop.interchange import from_dlpack as from_dlpack
from pycuda._array.numpy_api import ufunc_kinds as _kinds
from pycuda._array.numpy_api.inspection import __array_namespace_info__ as __array_namespace_info__
from pycuda._array.numpy_api.inspection import finfo as finfo
from pycuda._array.numpy_api.ufunc_objects import Ufunc as ufunc
from pycuda._array.sorting.unique import UniqueAll as _UniqueAll
from pycuda._array.sorting.unique import UniqueCounts as _UniqueCounts
from pycuda._array.sorting.unique import UniqueInverse as _UniqueInverse
from pycuda.gpuarray import GPUArray as ndarray
"""
# (the stub's name, the module, the module of NumPy whose objects it may have)
MODULES = (
    ("__init__", pycuda.numpy, numpy),
    ("linalg", pycuda.numpy.linalg, numpy.linalg),
    ("fft", pycuda.numpy.fft, numpy.fft),
    ("special", pycuda.numpy.special, types.ModuleType("")),  # SciPy's names, none of NumPy's
)
OWN_NAMES = {"asnumpy", "from_dlpack", "__array_namespace_info__", "finfo", "ufunc", "ndarray"}
# Words of annotations that stay as they are in the stubs of pycuda.numpy.
PLAIN = {"None", "True", "False", "int", "float", "complex", "str", "list", "tuple", "type"}


def private_name(note, is_result=False):
    """An annotation in the stubs of pycuda.numpy: `Array` becomes `_Array`, because names without an
    underscore are NumPy's there (`bool`). An operand's `GPUArray[...]` becomes `_Array[...]`: it may be on
    the host.
    """
    note = note if is_result else note.replace("GPUArray[", "Array[")

    def replace(match):
        word = match[0]
        if word in PLAIN or word.startswith("'") or match.string[match.start() - 1 : match.start()] == ".":
            return word
        if word == "bool":
            return "_builtins.bool"
        if word.endswith("Result") and word != "Result":  # a tuple class, generic except for EigResult
            has_dtype = match.string[match.end() : match.end() + 1] == "["
            lacks_dtype = is_result and not has_dtype and word != "EigResult"
            return f"_types.{word}[_Any]" if lacks_dtype else f"_types.{word}"
        return "_Any" if word in ("Stream", "Allocator", "Shape", "Axes") else f"_{word}"

    return re.sub(r"'[^']*'|\b\w+\b", replace, note)


def numpys_form(form):
    """The form of a function in pycuda.numpy. It takes more than the function of pycuda._array does, so all
    parameters are Any, except those that decide about types.
    """
    typed = ("Array[", "Arrays[", "DTypeOf[", "Callable[", "Literal[")
    found = []
    for each in form.parameters:
        note = each.annotation
        is_typed = note == "None" or (VARIABLES.search(note) and any(word in note for word in typed))
        found.append(each.replace(annotation=note if is_typed else "Any"))
    return Form(found, form.result)


def numpy_function(name, function):
    """A function of pycuda.numpy as texts, one for each form."""
    is_overloaded = bool(overloads_of(inspect.unwrap(function)))
    found = forms(function)
    found = found if is_overloaded else [numpys_form(each) for each in found]
    mark = "@overload\n" if len(found) > 1 else ""
    return [mark + definition(name, each, private_name) for each in found]


# NumPy's letters of the dtypes that pycuda has in common with it; and of some integers: a ufunc has loops for
# all integers or for none.
DTYPES, INTEGERS = {*"?bBhHiIlLefdFD"}, {*"bil"}


class Loops(NamedTuple):
    """What kinds of ufuncs differ in: names, numbers of operands, and loops."""

    name: str
    nin: int
    nout: int
    inputs: set[str]  # the letters of all operands that have a loop
    all_booleans: bool  # every result is a boolean
    same_dtype: bool  # every result has the dtype of the operands


def loops_of(ufunc):
    """The Loops of a ufunc, from NumPy's list of them: "dd->d"."""
    pairs = [each.split("->") for each in ufunc.types]
    pairs = [(inputs, outputs) for inputs, outputs in pairs if {*inputs} <= DTYPES]
    return Loops(
        ufunc.__name__,
        ufunc.nin,
        ufunc.nout,
        inputs={letter for inputs, _ in pairs for letter in inputs},
        all_booleans=all(outputs == "?" for _, outputs in pairs),
        same_dtype=all({*inputs} == {*outputs} for inputs, outputs in pairs),
    )


# The classes of pycuda._array.numpy_api.ufunc_kinds, which say what dtype results have, and which ufuncs are
# of each: the first condition that holds counts.
KINDS = (
    ("Other", lambda it: it.nin > 2),
    ("TwoResults", lambda it: it.nout == 2),
    ("Booleans", lambda it: it.all_booleans),
    ("Magnitude", lambda it: it.name == "absolute"),
    ("Other", lambda it: not it.same_dtype or it.name == "float_power"),
    ("OneScalar", lambda it: it.nin == 1 and it.inputs & INTEGERS),
    ("OneInexact", lambda it: it.nin == 1 and "e" in it.inputs),
    ("OneSingle", lambda it: it.nin == 1),
    ("TwoScalars", lambda it: it.inputs & INTEGERS and "?" in it.inputs),
    ("TwoNumbers", lambda it: it.inputs & INTEGERS),
    ("TwoInexact", lambda it: "e" in it.inputs),
    ("TwoSingle", lambda it: True),
)


def kind_of(ufunc):
    """The name of the class of KINDS that a ufunc is of."""
    loops = loops_of(ufunc)
    return next(kind for kind, holds in KINDS if holds(loops))


def ufunc_line(name, ufunc):
    """A ufunc as text."""
    return f"{name}: ufunc[_kinds.{kind_of(ufunc)}]"


def imported(names, module):
    """Lines that import the names from a module and export them."""
    return [f"from {module} import {name} as {name}" for name in names]


def stub(name):
    """The text of the stub of a module of pycuda.numpy."""
    module, theirs = next(found for each, *found in MODULES if each == name)
    values = {each: getattr(module, each) for each in module.__all__ if each not in OWN_NAMES}
    modules = [each for each in values if isinstance(values[each], types.ModuleType) and each != "exceptions"]
    own = [each for each in values if each not in modules and values[each] is getattr(theirs, each, object)]
    ufuncs = [each for each in values if isinstance(values[each], pycuda.numpy.ufunc)]
    others = [each for each in values if each not in {*modules, *own, *ufuncs}]
    lines = imported(own, theirs.__name__)
    if name == "__init__":
        lines += OWN.splitlines()
        lines += [f"from pycuda.numpy import {each} as {each}" for each in modules]
        objects = [each for each in others if not callable(values[each])]
        lines += [f"from {type(values[each]).__module__} import {each} as {each}" for each in objects]
        lines += ["", "__array_api_version__: str"]
    elif ufuncs:
        lines += [
            "from pycuda._array.numpy_api import ufunc_kinds as _kinds",
            "from pycuda.numpy import ufunc",
        ]
    lines += ["", "__all__ = [", wrapped([f'"{each}"' for each in module.__all__], "", "    "), "]"]
    lines += [OPERANDS]
    lines += [ufunc_line(each, getattr(theirs, each, values[each])) for each in ufuncs]
    for each in others:
        if callable(values[each]):
            lines += numpy_function(each, values[each])
    return NUMPY_HEAD + "\n".join(lines) + "\n"


# ---- pycuda.gpuarray

ARRAY_HEAD = """# Written by tools/numpy_stubs.py.
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
"""
VECTORS = """
class _VectorTypes(type):
    def __getattr__(cls, name: str) -> Any: ...

class vec(metaclass=_VectorTypes): ...

empty = GPUArray
"""
# Attributes of GPUArray that its stub leaves out. __array__ raises: NumPy's stubs would take an object that
# has it for data that NumPy can read.
HIDDEN = {"__array__", "__module__", "__doc__", "__dict__", "__weakref__", "__class_getitem__"}
# Public names that ARRAY_HEAD, VECTORS or the class define.
ELSEWHERE = {"ArrayFlags", "GPUArray", "empty", "get_common_dtype", "get_or_register_dtype", "to_gpu"}
ELSEWHERE |= {"to_gpu_async", "vec"}


def same_name(note, is_result=False):
    """An annotation in the stub of pycuda.gpuarray: that of the source, with `Array` as `Array[Any]`."""
    return re.sub(r"\b(?<!GPU)(Arrays?)\b(?!\[)", r"\1[Any]", note)


def members():
    """The methods and properties of GPUArray as text."""
    lines = []
    for name, value in vars(gpuarray.GPUArray).items():
        if name in HIDDEN or (name.startswith("_") and not name.startswith("__")) or not value:
            continue
        if isinstance(value, property):
            result = text_of(inspect.signature(value.fget).return_annotation)
            lines.append(f"@property\ndef {name}(self) -> {result}: ...")
        elif inspect.isfunction(inspect.unwrap(value)):  # methods in C are in the base class, in _driver.pyi
            lines += definitions(name, value, same_name, is_method=True)
    return lines


def array_stub():
    """The text of the stub of pycuda.gpuarray."""
    lines = ["", "__all__ = [", wrapped([f'"{each}"' for each in gpuarray.__all__], "", "    "), "]"]
    lines += ["", "class GPUArray(_GPUArrayBase[_Scalar_co]):"]
    lines += ["    def __class_getitem__(cls, item: Any, /) -> GenericAlias: ..."]
    lines += [textwrap.indent(each, "    ") for each in members()]
    lines += [VECTORS]
    for each in gpuarray.__all__:
        if each not in ELSEWHERE:
            lines += definitions(each, getattr(gpuarray, each), same_name)
    return ARRAY_HEAD + "\n".join(lines) + "\n"


def stubs():
    """The texts of all stubs, by their files."""
    found = {FOLDER / "numpy" / f"{name}.pyi": stub(name) for name, *_ in MODULES}
    return {**found, FOLDER / "gpuarray.pyi": array_stub()}


def main():
    for path, text in stubs().items():
        path.write_text(text)


if __name__ == "__main__":
    main()
