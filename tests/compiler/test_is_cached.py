"""SourceModule.is_cached: the answer is that of the look-up that the constructor makes."""

import inspect
import os

import pytest

from pycuda._compile import nvrtc, requests
from pycuda.compiler import SourceModule
from pycuda.compiler import compile as compile_source

SOURCE = "__global__ void k(int *a) { a[0] = 1; }"
TEMPLATE = "template <class T> __global__ void t(T *a) { a[0] = 1; }"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A cache folder of the test's own, and nothing remembered in the process."""
    monkeypatch.delenv("PYCUDA_DISABLE_CACHE", raising=False)
    monkeypatch.setenv("PYCUDA_CACHE_DIR", str(tmp_path / "cache"))
    requests._memory.clear()
    yield tmp_path / "cache"
    requests._memory.clear()


@pytest.fixture
def compilations(monkeypatch):
    """A list that grows by one with each run of NVRTC."""
    runs, real = [], nvrtc.compile_source

    def counted(*arguments):
        runs.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(nvrtc, "compile_source", counted)
    return runs


def entries(folder):
    """The files of code in a cache folder."""
    return [path for path in folder.glob("*") if path.suffix in (".ptx", ".cubin")]


def answers(*args, **kwargs):
    """is_cached() in this process, and as a new process has it."""
    first = SourceModule.is_cached(*args, **kwargs)
    requests._memory.clear()
    return first, SourceModule.is_cached(*args, **kwargs)


CASES = {
    "plain": {},
    "bytes": {"source": SOURCE.encode()},
    "options": {"options": ["-DN=2"]},
    "no options": {"options": []},
    "no_extern_c": {"no_extern_c": True},
    "arch": {"arch": "compute_75"},
    "expressions": {"source": TEMPLATE, "no_extern_c": True, "name_expressions": ["t<int>", "t<float>"]},
}
SAME = {"plain", "bytes", "no options"}  # cases of one compilation


@pytest.mark.parametrize("case", CASES)
def test_false_before_true_after(compilations, case):
    arguments = {"source": SOURCE, **CASES[case]}
    assert answers(**arguments) == (False, False) and not compilations
    SourceModule(**arguments)
    assert len(compilations) == 1
    assert answers(**arguments) == (True, True)
    SourceModule(**arguments)
    assert len(compilations) == 1
    for other, change in CASES.items():
        same = other == case or {other, case} <= SAME
        assert SourceModule.is_cached(**{"source": SOURCE, **change}) == same, other


def test_the_arguments_are_the_constructors():
    asked, made = (inspect.signature(each).parameters for each in (SourceModule.is_cached, SourceModule))
    assert [*asked.values()] == [*made.values()]


def test_after_true_the_constructor_needs_no_compiler(monkeypatch):
    SourceModule(SOURCE)
    requests._memory.clear()
    assert SourceModule.is_cached(SOURCE)
    monkeypatch.setattr(nvrtc, "compile_source", None)  # a call would raise
    assert SourceModule(SOURCE).get_function("k")


@pytest.mark.parametrize("remembered", [True, False], ids=["same process", "new process"])
def test_edited_header(tmp_path, remembered):
    (tmp_path / "value.h").write_text("#define VALUE 1\n")
    arguments = {"source": '#include "value.h"\n' + SOURCE, "include_dirs": [tmp_path]}
    SourceModule(**arguments)
    assert SourceModule.is_cached(**arguments)
    (tmp_path / "value.h").write_text("#define VALUE 2\n")
    if not remembered:
        requests._memory.clear()
    assert not SourceModule.is_cached(**arguments)


def test_damaged_and_removed_entries(folder):
    SourceModule(SOURCE)
    (entry,) = entries(folder)
    whole = entry.read_bytes()
    for damaged in (whole[:-1], b""):
        entry.write_bytes(damaged)
        requests._memory.clear()
        assert not SourceModule.is_cached(SOURCE)
    entry.write_bytes(whole)
    assert SourceModule.is_cached(SOURCE)
    requests._memory.clear()
    os.unlink(entry)
    assert not SourceModule.is_cached(SOURCE)


def test_computed_include_is_never_cached(tmp_path):
    (tmp_path / "value.h").write_text("#define VALUE 1\n")
    source = '#define WHICH "value.h"\n#include WHICH\n' + SOURCE
    SourceModule(source, include_dirs=[tmp_path])
    assert answers(source, include_dirs=[tmp_path]) == (False, False)


def test_without_a_cache(monkeypatch, folder):
    SourceModule(SOURCE)
    assert not SourceModule.is_cached(SOURCE, cache_dir=False)
    assert not SourceModule.is_cached(SOURCE, keep=True)
    monkeypatch.setenv("PYCUDA_DISABLE_CACHE", "1")
    assert answers(SOURCE) == (False, False)


def test_another_folder(tmp_path):
    SourceModule(SOURCE, cache_dir=tmp_path / "other")
    assert SourceModule.is_cached(SOURCE, cache_dir=tmp_path / "other")
    assert not SourceModule.is_cached(SOURCE)


def test_for_the_debugger_kernels_are_always_compiled(monkeypatch):
    SourceModule(SOURCE)
    monkeypatch.setattr("pycuda.driver.CUDA_DEBUGGING", True)
    assert answers(SOURCE) == (False, False)


def test_source_that_does_not_compile(compilations, folder):
    assert not SourceModule.is_cached("__global__ void f() { undefined; }")
    assert not SourceModule.is_cached(SOURCE, nvcc="/no/such/nvcc")
    assert not compilations and not list(folder.glob("*.nvcc"))


def test_nothing_is_written(folder):
    assert not SourceModule.is_cached(SOURCE)
    assert not entries(folder)


@pytest.mark.parametrize(
    "wrong, error",
    [
        ({"source": 3}, TypeError),
        ({"options": [3]}, TypeError),
        ({"arch": 75}, TypeError),
        ({"name_expressions": 3}, TypeError),
    ],
)
def test_wrong_arguments_are_refused_as_by_the_constructor(wrong, error):
    texts = []
    for call in (SourceModule, SourceModule.is_cached):
        with pytest.raises(error) as caught:
            call(**{"source": SOURCE, **wrong})
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


def test_takes_what_the_constructor_takes():
    constructor, asked = inspect.signature(SourceModule), inspect.signature(SourceModule.is_cached)
    assert list(constructor.parameters.values()) == list(asked.parameters.values())


def test_compile_shares_the_files():
    """compile() stores the code that a SourceModule loads."""
    compile_source(SOURCE)
    assert answers(SOURCE) == (True, True)


def test_nvcc_is_not_run_to_compile(tmp_path):
    """A command that stands for nvcc says its version and writes down that it was called for more."""
    command = tmp_path / "nvcc"
    command.write_text(
        f"""#!/bin/sh
case "$*" in --version) echo "Cuda compilation tools, release 12.8, V12.8.93";;
*) touch {tmp_path}/ran; exit 1;; esac
"""
    )
    command.chmod(0o755)
    assert not SourceModule.is_cached(SOURCE, nvcc=str(command))
    assert not (tmp_path / "ran").exists()
