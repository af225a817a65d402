"""The tables of functions that skcuda declares (_rows.py) agree with NVIDIA's headers and libraries, if they
are installed."""

import re
from pathlib import Path

import numpy as np
import pytest
from cuda.pathfinder import DynamicLibNotFoundError, load_nvidia_dynamic_lib
from devices import in_nvidias_wheels

from skcuda import _library, _rows, cublas, cufft, cusolver

FOLDERS = [Path("/usr/local/cuda/include"), Path("/usr/local/include"), Path("/usr/include")]
FOLDERS += in_nvidias_wheels("include")


def prototypes(header):
    """{function's name: [its parameters as C declares them]} of a header; skips the test if there is no
    header.

    Names have no suffix _v2.
    """
    for folder in FOLDERS:
        if (folder / header).is_file():
            text = re.sub(r"/\*.*?\*/|//[^\n]*", "", (folder / header).read_text(), flags=re.S)
            found = re.findall(r"\b(cu\w+?)(?:_v2)?\s*\(([^()]*)\)\s*;", text)
            return {name: [" ".join(each.split()) for each in params.split(",")] for name, params in found}
    pytest.skip(f"no {header} here")


# Functions of skcuda that the libraries do not have, or no longer have.
NOT_IN_LIBRARIES = {
    "cublasCheckStatus",
    "cufftCheckStatus",
    "cusolverCheckStatus",
    "cufftSetCompatibilityMode",
}
C_TYPES = {
    np.float32: "float",
    np.float64: "double",
    np.complex64: "cuComplex",
    np.complex128: "cuDoubleComplex",
}


def declaration(row, parameter):
    """The regular expression that the C declaration of a row's parameter must match."""
    own, real = C_TYPES[row.dtype], C_TYPES[_rows.REAL[row.dtype]]
    results = {"index": r"int ?\*", "int": r"int ?\*", "value": rf"{own} ?\*", "real": rf"{real} ?\*"}
    if parameter.kind == "result":
        return results[parameter.name]
    return {
        "integer": "int ",
        "enumeration": "(cublas|cusolver)[A-Z][a-z]+[A-Z]?[a-z]*_t |signed char ",
        "address": r".*[*\[]|syevjInfo_t ",
        "number": rf"const {own} ?\*",
        "real number": rf"const {real} ?\*",
    }[parameter.kind]


@pytest.mark.parametrize("module", [cublas, cufft, cusolver])
def test_the_libraries_have_the_functions(module, monkeypatch):
    """The libraries need to be installed, but no GPU is needed."""
    name = module._library.name
    try:
        load_nvidia_dynamic_lib(name)
    except DynamicLibNotFoundError:
        pytest.skip(f"lib{name} is not installed")
    monkeypatch.setattr(_library.finding, "require", lambda name: None)
    library = _library.Library(name, {}, "")
    functions = {
        key
        for key, value in vars(module).items()
        if re.match(rf"{name}[A-Z]", key) and callable(value) and not isinstance(value, type)
    }
    assert len(functions) > 30
    assert all(map(library.symbol, functions - NOT_IN_LIBRARIES))


@pytest.mark.parametrize("module", [cublas, cusolver])
def test_the_cpu_device_has_the_functions(module):
    families = {row.family for row in _rows.rows(module._TABLE)}
    stand_in = module._library.stand_in
    assert [family for family in families if not callable(getattr(stand_in, family, None))] == []


@pytest.mark.parametrize("module, header", [(cublas, "cublas_api.h"), (cusolver, "cusolverDn.h")])
def test_parameters_agree_with_the_header(module, header):
    declared, wrong = prototypes(header), []
    rows = list(_rows.rows(module._TABLE))
    assert len(rows) > 60
    for row in rows:
        handle, *in_header = declared[row.name]
        pairs = zip(row.parameters, in_header, strict=False)
        fits = [re.match(declaration(row, parameter), text) for parameter, text in pairs]
        if not re.match(r"\w+Handle_t ", handle) or len(in_header) != len(row.parameters) or not all(fits):
            wrong.append((row, in_header))
    assert not wrong
