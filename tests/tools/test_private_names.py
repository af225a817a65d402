"""Private names of PyCUDA that programs use nevertheless."""

import hashlib
import os
import shutil

import numpy as np
import pytest

from pycuda import compiler, driver, tools


def test_rounding_of_integers():
    assert [tools._int_ceiling(7, 4), tools._int_ceiling(8, 4), tools._int_ceiling(2.5)] == [8, 8, 3]
    assert [tools._int_floor(7, 4), tools._int_floor(8, 4), tools._int_floor(2.5)] == [4, 8, 2]
    assert tools._exact_div(12, 4) == 3
    with pytest.raises(AssertionError, match="5 does not divide 12"):
        tools._exact_div(12, 5)


def test_names_of_the_compiler(monkeypatch, tmp_path):
    """PATH has only a folder with a file named nvcc, which is found."""
    assert os.path.isfile(os.path.join(compiler._find_pycuda_include_path(), "pycuda-complex.hpp"))
    md5 = compiler._new_md5()
    md5.update(b"kernel")
    assert md5.hexdigest() == hashlib.md5(b"kernel").hexdigest()
    nvcc = tmp_path / "nvcc"
    shutil.copy(shutil.which("true"), nvcc)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert compiler._find_nvcc_on_path() == str(nvcc)


def test_modules_that_programs_take_from_pycuda_driver():
    assert driver.np is np and driver.os is os
