#!/usr/bin/env python3
"""Writes the stubs of pycuda.numpy, for type checkers, from what its functions are when it is imported.

Usage: python tools/numpy_stubs.py, with the version of NumPy whose names they are to have. They say names,
parameters and which functions return one array.
"""

import inspect
import textwrap
import types
from pathlib import Path

import numpy

import pycuda.numpy
from pycuda import gpuarray

FOLDER = Path(pycuda.numpy.__file__).parent
HEAD = """# Written by tools/numpy_stubs.py.
# fmt: off
# ruff: noqa: I001, RUF022
from typing import Any as _Any

"""
OWN = """from pycuda._array.interop.interchange import asnumpy as asnumpy
from pycuda._array.interop.interchange import from_dlpack as from_dlpack
from pycuda._array.numpy_api.inspection import __array_namespace_info__ as __array_namespace_info__
from pycuda._array.numpy_api.inspection import finfo as finfo
from pycuda._array.numpy_api.ufunc_objects import Ufunc as ufunc
from pycuda.gpuarray import GPUArray as ndarray
"""
MODULES = (
    ("__init__", pycuda.numpy, numpy),
    ("linalg", pycuda.numpy.linalg, numpy.linalg),
    ("fft", pycuda.numpy.fft, numpy.fft),
)
OWN_NAMES = {"asnumpy", "from_dlpack", "__array_namespace_info__", "finfo", "ufunc", "ndarray"}


def default(value):
    """A default as text, ... for what is not a literal."""
    return repr(value) if value is None or type(value) in (bool, int, float, str) else "..."


def parameter(each):
    """A parameter as text, without the marks / and *."""
    stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
    value = "" if each.default is each.empty else f" = {default(each.default)}"
    return f"{stars}{each.name}: _Any{value}"


def parameters(signature):
    """The parameters as text, with the marks."""
    found, before = [], None
    for each in signature.parameters.values():
        if before == each.POSITIONAL_ONLY and each.kind != each.POSITIONAL_ONLY:
            found.append("/")
        if each.kind == each.KEYWORD_ONLY and before not in (each.KEYWORD_ONLY, each.VAR_POSITIONAL):
            found.append("*")
        found.append(parameter(each))
        before = each.kind
    return [*found, "/"] if before == inspect.Parameter.POSITIONAL_ONLY else found


def definition(name, function):
    """A function as text."""
    signature = inspect.signature(function)
    array = signature.return_annotation in ("GPUArray", gpuarray.GPUArray)
    result = "_GPUArray" if array else "None" if signature.return_annotation in ("None", None) else "_Any"
    text = f"def {name}({', '.join(parameters(signature))}) -> {result}: ..."
    if len(text) <= 110:
        return text
    inner = textwrap.fill(f"{', '.join(parameters(signature))},", 106, break_on_hyphens=False)
    return f"def {name}(\n{textwrap.indent(inner, '    ')}\n) -> {result}: ..."


def imported(names, module):
    """NumPy's own objects."""
    return [f"from {module} import {name} as {name}" for name in names]


def stub(name):
    """The text of the stub of a module."""
    module, theirs = next(found for each, *found in MODULES if each == name)
    values = {each: getattr(module, each) for each in module.__all__ if each not in OWN_NAMES}
    modules = [each for each in values if isinstance(values[each], types.ModuleType) and each != "exceptions"]
    own = [each for each in values if each not in modules and values[each] is getattr(theirs, each, object)]
    ufuncs = [each for each in values if isinstance(values[each], pycuda.numpy.ufunc)]
    others = [each for each in values if each not in {*modules, *own, *ufuncs}]
    lines = imported(own, theirs.__name__)
    if name == "__init__":
        lines += [*OWN.splitlines(), "from pycuda.gpuarray import GPUArray as _GPUArray"]
        lines += [f"from pycuda.numpy import {each} as {each}" for each in modules]
        lines += ["", "__array_api_version__: str"]
    else:
        lines += ["from pycuda.gpuarray import GPUArray as _GPUArray"]
    listed = textwrap.fill(", ".join(f'"{each}"' for each in module.__all__), 106)
    lines += ["", "__all__ = [", textwrap.indent(listed, "    ") + ",", "]", ""]
    lines += [f"{each}: ufunc" for each in ufuncs]
    lines += [f"{each}: _Any" for each in others if not callable(values[each])]
    lines += [definition(each, values[each]) for each in others if callable(values[each])]
    return HEAD + "\n".join(lines) + "\n"


def main():
    for name, *_ in MODULES:
        (FOLDER / f"{name}.pyi").write_text(stub(name))


if __name__ == "__main__":
    main()
