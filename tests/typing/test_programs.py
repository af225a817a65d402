"""Programs with types, as users write them: they run, and two type checkers find no error in them."""

import importlib
import importlib.util
import subprocess
import sys
import typing
from pathlib import Path

import numpy as np
import pytest

from pycuda.gpuarray import GPUArray

FOLDER = Path(__file__).with_name("programs")
ROOT = FOLDER.parents[2]
PROGRAMS = sorted(each.stem for each in FOLDER.glob("*.py"))

needs_assert_type = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="typing.assert_type is of Python 3.11"
)


def element(of):
    """The elements' class in a type of arrays, as NDArray[np.float32] or GPUArray[np.float32]; np.generic for
    Any."""
    last = typing.get_args(of)[-1]
    last = typing.get_args(last)[0] if typing.get_origin(last) is np.dtype else last
    return np.generic if last is typing.Any else last


def without_alias(of):
    """The type without alias: from NumPy 2.5 on, NDArray[np.float32] is an alias of an ndarray[...]."""
    alias = getattr(typing.get_origin(of), "__value__", None)
    return of if alias is None else alias[typing.get_args(of)]


def assert_is_of(value, of):
    """Asserts at run time what typing.assert_type(value, of) says to a type checker; returns the value."""
    of = without_alias(of)
    origin, arguments = typing.get_origin(of) or of, typing.get_args(of)
    assert isinstance(value, origin), f"expected {of}, got {type(value).__name__}"
    if origin in (GPUArray, np.ndarray) and arguments:
        assert issubclass(value.dtype.type, element(of)), f"expected {of}, got an array of {value.dtype}"
    elif origin is tuple and arguments[-1] is not ...:
        for each, part in zip(value, arguments, strict=True):
            assert_is_of(each, part)
    elif origin in (list, tuple):
        for each in value:
            assert_is_of(each, arguments[0])
    return value


def test_a_wrong_type_is_found(primary_context):
    array = GPUArray(3, np.float32)
    for value, of in (
        (array, GPUArray[np.float64]), (array, np.ndarray), ((array, 1), tuple[GPUArray, ...]),
        (array.get(), np.ndarray[typing.Any, np.dtype[np.int8]]), ([array], list[GPUArray[np.bool_]]),
    ):  # fmt: skip
        with pytest.raises(AssertionError):
            assert_is_of(value, of)


@needs_assert_type
@pytest.mark.usefixtures("primary_context")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_runs_and_its_types_are_true(name, monkeypatch):
    """Its calls of typing.assert_type, which does nothing at run time, check the values."""
    monkeypatch.setattr(typing, "assert_type", assert_is_of)
    spec = importlib.util.spec_from_file_location(f"typed_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main()


@needs_assert_type
def test_mypy_finds_no_error(tmp_path):
    pytest.importorskip("mypy", reason="one of the tools of make lint")
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nstrict = True\n[mypy-scipy.*,mako.*]\nignore_missing_imports = True\n")
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), "--follow-imports", "silent"]
    command += ["--cache-dir", str(tmp_path / "cache"), str(FOLDER)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_assert_type
def test_pyright_finds_no_error():
    checker = next(filter(importlib.util.find_spec, ("pyright", "basedpyright")), None)
    if checker is None:
        pytest.skip("one of the tools of make lint")
    command = [sys.executable, "-m", checker, "--level", "error", "--pythonpath", sys.executable]
    done = subprocess.run([*command, "--project", str(FOLDER)], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
