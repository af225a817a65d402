"""The nvcc command: it compiles if it is named, and what NVRTC cannot compile."""

import contextlib
import inspect
import os
import re
from pathlib import Path

import numpy as np
import pytest

import pycuda.compiler as compiler
import pycuda.driver as drv
from pycuda._compile import finder, nvrtc, requests
from pycuda.compiler import SourceModule
from pycuda.compiler import compile as compile_source

pytestmark = pytest.mark.usefixtures("nvcc")

PLAIN = "__global__ void k(int *a) { a[0] = 42; }"


@pytest.fixture
def no_nvrtc(monkeypatch):
    """NVRTC's function is removed: a call of it fails the test."""
    monkeypatch.setattr(nvrtc, "compile_source", None)


def run(module):
    """What the kernel k(int *a) of a module stores in a[0]."""
    result = np.zeros(1, np.int32)
    module.get_function("k")(drv.Out(result), block=(1, 1, 1))
    return result[0]


def test_an_nvcc_that_is_named_compiles(no_nvrtc, nvcc):
    assert run(SourceModule(PLAIN, nvcc=nvcc)) == 42


@pytest.mark.parametrize("name", ["nvcc", b"nvcc", Path("nvcc")])
def test_named_by_its_plain_name(no_nvrtc, monkeypatch, nvcc, name):
    monkeypatch.setenv("PATH", os.path.dirname(nvcc) + os.pathsep + os.environ["PATH"])
    assert run(SourceModule(PLAIN + f"\n// {name!r}", nvcc=name, cache_dir=False)) == 42
    with pytest.raises(TypeError, match="NoneType"):  # not one product for both
        SourceModule(PLAIN + f"\n// {name!r}", cache_dir=False)


def test_plain_name_where_there_is_none(monkeypatch):
    """Programs for PyCUDA may pass its default, nvcc="nvcc", although no nvcc is installed."""
    monkeypatch.setattr(finder, "find_nvcc", lambda nvcc: None)
    assert run(SourceModule(PLAIN, nvcc="nvcc")) == 42


def test_the_default_is_the_name():
    assert inspect.signature(SourceModule).parameters["nvcc"].default == "nvcc"


def test_asked_for_by_the_environment(no_nvrtc, monkeypatch):
    monkeypatch.setenv("PYCUDA_COMPILER", "nvcc")
    assert run(SourceModule(PLAIN + "\n// by the environment")) == 42


def test_nvcc_makes_fat_binaries(no_nvrtc):
    code = compile_source(PLAIN, target="fatbin", arch="sm_80")
    assert code[:4] == bytes.fromhex("50ed55ba")


def test_header_only_the_host_has():
    text = "#include <vector>\n" + PLAIN
    with pytest.warns(UserWarning, match="NVRTC has no header vector"):
        assert run(SourceModule(text, cache_dir=False)) == 42


def test_option_only_nvcc_has(no_nvrtc):
    code = compile_source(PLAIN, options=["-gencode=arch=compute_80,code=sm_80", "--keep"], target="ptx")
    assert b".entry k(" in code


def test_second_time_from_the_cache(monkeypatch, tmp_path, nvcc):
    first = compile_source(PLAIN, nvcc=nvcc, cache_dir=tmp_path, target="ptx", arch="sm_80")
    requests._memory.clear()
    monkeypatch.setattr("pycuda._compile.nvcc.compile_source", None)
    assert compile_source(PLAIN, nvcc=nvcc, cache_dir=tmp_path, target="ptx", arch="sm_80") == first


def test_header_edit_is_seen(tmp_path, nvcc):
    header = tmp_path / "value.h"
    arguments = {
        "source": '#include "value.h"\n__global__ void k(int *a) { a[0] = VALUE; }',
        "nvcc": nvcc,
        "target": "ptx",
        "include_dirs": [str(tmp_path)],
        "cache_dir": str(tmp_path / "cache"),
    }
    header.write_text("#define VALUE 11111\n")
    assert b"11111" in compile_source(**arguments)
    header.write_text("#define VALUE 22222\n")
    assert b"22222" in compile_source(**arguments)


def test_an_error_of_nvcc_has_its_command_and_line(nvcc):
    with pytest.raises(drv.CompileError) as caught:
        SourceModule("\n__global__ void k() { nonsense }", nvcc=nvcc)
    assert caught.value.command_line[0] == nvcc and 'kernel.cu(2): error: identifier "nonsense"' in (
        caught.value.stdout + caught.value.stderr
    )


def test_keep_prints_the_folder_with_the_output(capsys, tmp_path, monkeypatch, nvcc):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    compile_source(PLAIN, nvcc=nvcc, keep=True, target="ptx", arch="sm_80")
    assert re.search(r"compiler output in (\S+)", capsys.readouterr().out)[1].startswith(str(tmp_path))


def test_no_folder_stays(tmp_path, monkeypatch, nvcc):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    for source in (PLAIN, "nonsense"):
        with contextlib.suppress(drv.CompileError):
            compile_source(source, nvcc=nvcc, cache_dir=False, target="ptx", arch="sm_80")
    assert not list(tmp_path.iterdir())


def test_preprocess_source(nvcc):
    text = compiler.preprocess_source("#define TWO 2\nint a = TWO;", [], nvcc)
    assert "int a = 2;" in text
    with pytest.raises(drv.CompileError):
        compiler.preprocess_source("#error stop", [], nvcc)


def test_version(nvcc):
    assert re.search(r"release \d+\.\d+", compiler.get_nvcc_version(nvcc))
    with pytest.warns(UserWarning, match="/nowhere/nvcc"):
        assert compiler.get_nvcc_version("/nowhere/nvcc") == ""


def test_lines_are_those_of_a_source_without_a_folder(nvcc):
    """The code does not name the temporary folder that nvcc compiled in, which no longer exists."""
    ptx = compile_source(PLAIN, nvcc=nvcc, options=["-lineinfo"], target="ptx", cache_dir=False)
    assert b'.file\t1 "kernel.cu"' in ptx
