"""Whether the annotations of pycuda.numpy's functions match the results of calls."""

import ast
import contextlib
import importlib.util
import inspect
import re
from pathlib import Path

import numpy as np

import pycuda.numpy as xp
from pycuda.gpuarray import GPUArray

BOUNDS = {"Scalar": np.generic, "Number": np.number, "Inexact": np.inexact, "Floating": np.floating}


def tool_of_stubs():
    """tools/numpy_stubs.py, which writes the stubs from the annotations."""
    path = Path(__file__).parents[2] / "tools" / "numpy_stubs.py"
    spec = importlib.util.spec_from_file_location("numpy_stubs", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


STUBS = tool_of_stubs()


def as_dtype(value):
    """The dtype that an argument `dtype=` means, if it is a dtype or a scalar class of NumPy; otherwise
    None."""
    known = isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic))
    return np.dtype(value) if known else None


def matches(note, value, given, found):
    """Whether an argument has the type that its annotation, the text `note`, says.

    given: False if `value` is the default of a parameter that was not passed. found: {type variable: dtypes
    of the arguments annotated with it}, which is extended.
    """
    variable = re.search(r"\[(Scalar|Number|Inexact|Floating)\]", note)
    if note == "None":
        return not given or value is None
    if literals := re.match(r"Literal\[(.*)\]$", note):
        return value in ast.literal_eval(f"[{literals[1]}]")
    if note in ("int", "float"):
        return type(value) in ((int,) if note == "int" else (int, float))
    if variable is None or variable[1] not in BOUNDS:
        return True
    if "DTypeOf" in note:
        found[variable[1]] = [as_dtype(value)]
        return as_dtype(value) is not None
    values = list(value) if isinstance(value, tuple | list) else [value]
    arrays = [each for each in values if isinstance(each, GPUArray)]
    found.setdefault(variable[1], []).extend(each.dtype for each in arrays)
    return len(arrays) == len(values) and all(
        np.issubdtype(each.dtype, BOUNDS[variable[1]]) for each in arrays
    )


def has_type(note, result, found):
    """Whether a result has the type that its annotation, the text `note`, says. found: as in matches()."""
    if note.startswith("GPUArray["):
        name = note[len("GPUArray[") : -1]
        if name in found:  # with operands of several dtypes the annotation names only their common class
            return len({*found[name]}) > 1 or result.dtype == found[name][0]
        return np.issubdtype(result.dtype, getattr(np, name.removeprefix("np.")))
    if parts := re.match(r"(tuple|list)\[(GPUArray[^,]*)(, \.\.\.)?\]$", note):
        return type(result).__name__ == parts[1] and all(has_type(parts[2], each, found) for each in result)
    if note == "GPUArray":
        return isinstance(result, GPUArray)
    return True


def check(name, function, arguments, keywords, result):
    """Asserts that the result has the type that the annotations give for these arguments: that of the first
    form (overload) whose parameters match them. Returns the type as text."""
    for form in STUBS.forms(function):
        signature = inspect.Signature(form.parameters)
        with contextlib.suppress(TypeError):
            given = signature.bind(*arguments, **keywords).arguments
            found = {}
            if all(
                matches(each.annotation, given.get(each.name, each.default), each.name in given, found)
                for each in form.parameters
            ):
                assert has_type(form.result, result, found), f"{name}: {form.result}, {found}, {result!r}"
                return form.result
    raise AssertionError(f"no form of {name} takes {arguments}, {keywords}")


def check_ufunc(name, operands, result):
    """Asserts what the stub of this kind of ufunc says of the result, where all arrays have one dtype."""
    kind = STUBS.kind_of(getattr(np, name))
    dtypes = {each.dtype for each in operands if hasattr(each, "dtype")}
    if kind == "TwoResults":
        assert type(result) is tuple and len(result) == 2, name
    elif kind == "Booleans":
        assert result.dtype == np.bool_, name
    elif kind != "Other" and len(dtypes) == 1 and len(operands) <= 2:
        dtype = dtypes.pop()
        if kind == "Magnitude":
            assert result.dtype == np.abs(np.ones(1, dtype)).dtype, name
        elif (
            dtype.char in "fdFD"
            or (dtype.char == "e" and "Single" not in kind)
            or (kind in ("OneScalar", "TwoScalars", "TwoNumbers") and dtype.kind in "iu")
        ):
            assert result.dtype == dtype, f"{name}: {kind}, {result.dtype} of {dtype}"


class Checked:
    """pycuda.numpy, or a module in it, whose functions are checked at each call."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        """The module's attribute: a function or ufunc with checks, a module as Checked, all others as they
        are."""
        value = getattr(self._module, name)
        if inspect.ismodule(value):
            return Checked(value) if value.__name__ != "pycuda.numpy.random" else value
        is_ufunc = isinstance(value, xp.ufunc)
        if not (is_ufunc or inspect.isfunction(inspect.unwrap(value))) or isinstance(value, type):
            return value

        def function(*arguments, **keywords):
            result = value(*arguments, **keywords)
            if not is_ufunc:
                check(name, value, arguments, keywords, result)
            elif not keywords:
                check_ufunc(name, arguments, result)
            return result

        return CheckedUfunc(value, function) if is_ufunc else function


class CheckedUfunc:
    """A ufunc whose calls are checked; its methods are not."""

    def __init__(self, ufunc, call):
        self._ufunc, self._call = ufunc, call

    def __call__(self, *operands, **keywords):
        return self._call(*operands, **keywords)

    def __getattr__(self, name):
        return getattr(self._ufunc, name)
