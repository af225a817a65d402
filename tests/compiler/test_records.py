"""Records of requests in the cache folder: when they lead to code, and what makes them void."""

import errno
import os
import shutil
import warnings

import pytest

import pycuda.driver as drv
from pycuda._compile import build, includes, requests
from pycuda.compiler import SourceModule
from pycuda.compiler import compile as compile_source

SOURCE = "__global__ void k(int *a) { a[0] = VALUE; }"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache folder of the test's own."""
    monkeypatch.delenv("PYCUDA_DISABLE_CACHE", raising=False)
    monkeypatch.setenv("PYCUDA_CACHE_DIR", str(tmp_path / "cache"))
    yield tmp_path / "cache"
    requests._memory.clear()


@pytest.fixture
def runs(monkeypatch):
    """A list that grows by one whenever no record leads to the code."""
    made, real = [], build.run

    def counted(job):
        made.append(job)
        return real(job)

    monkeypatch.setattr(build, "run", counted)
    return made


def compiled(**arguments):
    """The code, as a new process gets it: nothing is remembered in memory."""
    requests._memory.clear()
    return compile_source(SOURCE, **{"options": ["-DVALUE=1"], "target": "ptx", **arguments})


def record(folder):
    """The one record in the folder."""
    (found,) = folder.glob("request.*")
    return found


def test_a_new_process_needs_no_module_that_compiles(folder, run_python):
    program = """
import sys
import numpy as np
import pycuda.autoprimaryctx
from pycuda import gpuarray
a = gpuarray.to_gpu(np.arange(5, dtype=np.float32))
assert ((a + a).get() == [0, 2, 4, 6, 8]).all() and float(a.sum().get()) == 10
print("pycuda._compile.build" in sys.modules)
"""
    answers = [run_python(program, env={"PYCUDA_CACHE_DIR": str(folder)}) for _ in range(2)]
    assert [answer.stdout.split() for answer in answers] == [["True"], ["False"]], answers[0].stderr


def test_the_second_request_is_answered_by_the_record(folder, runs):
    assert compiled() == compiled() and len(runs) == 1
    assert compiled(options=["-DVALUE=2"]) != compiled() and len(runs) == 2


def test_names_of_expressions_are_in_the_record(folder, runs):
    source = "template <class T> __global__ void fill(T *a) { a[0] = 1; }"
    for _ in range(2):
        requests._memory.clear()
        module = SourceModule(source, no_extern_c=True, name_expressions=["fill<float>", "fill<int>"])
        names = [module.get_function(f"fill<{kind}>").name for kind in ("float", "int")]
        assert names[0] != names[1] and all("fill" in name for name in names)
    assert len(runs) == 1


@pytest.mark.parametrize("what", ["the package's code", "a header of the package", "NVRTC"])
def test_a_changed_file_of_the_installation_makes_it_void(folder, runs, tmp_path, monkeypatch, what):
    """What a record watches is replaced by files of the test's, which it may change."""
    mine = tmp_path / "watched"
    mine.write_text("1")
    watched = (str(mine), includes.stamp(str(mine)))
    real = build._recordable

    def with_mine(*arguments):
        made = real(*arguments)
        kinds = {
            "the package's code": "/_compile/",
            "a header of the package": "/_headers/",
            "NVRTC": "nvrtc.so",
        }
        replaced = tuple(watched if kinds[what] in path else (path, old) for path, old in made.installed)
        assert watched in replaced
        return made._replace(installed=replaced)

    monkeypatch.setattr(build, "_recordable", with_mine)
    first = compiled()
    assert compiled() == first and len(runs) == 1
    mine.write_text("2 now")
    assert compiled() == first and len(runs) == 2


def test_a_header_that_appears_makes_it_void(folder, runs, tmp_path):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    (tmp_path / "second" / "value.h").write_text("#define VALUE 11111\n")
    folders = [tmp_path / "first", tmp_path / "second"]
    requests._memory.clear()
    source = '#include "value.h"\n' + SOURCE
    before = compile_source(source, options=[], target="ptx", include_dirs=folders)
    (tmp_path / "first" / "value.h").write_text("#define VALUE 22222\n")
    requests._memory.clear()
    after = compile_source(source, options=[], target="ptx", include_dirs=folders)
    assert b"11111" in before and b"22222" in after and len(runs) == 2


@pytest.mark.parametrize("change", ["PATH", "PYCUDA_NVRTC", "version"])
def test_what_decides_about_the_compiler_makes_another_request(folder, runs, monkeypatch, change):
    first = compiled()
    if change == "PATH":
        monkeypatch.setenv("PATH", os.environ["PATH"] + ":/nowhere")
    elif change == "PYCUDA_NVRTC":
        from pycuda._compile import cache, finder

        monkeypatch.setenv("PYCUDA_NVRTC", finder.find_nvrtc(None, cache.folder())[0].path)
    else:
        monkeypatch.setattr("pycuda.VERSION_TEXT", "0.0")
    assert compiled().splitlines()[-5:] == first.splitlines()[-5:] and len(runs) == 2


@pytest.mark.parametrize("include_dirs, count", [((), 1), (["."], 2)])
def test_the_working_folder_counts_if_a_path_can_be_relative(
    folder, runs, tmp_path, monkeypatch, include_dirs, count
):
    first = compiled(include_dirs=include_dirs)
    monkeypatch.chdir(tmp_path)
    assert compiled(include_dirs=include_dirs) == first and len(runs) == count


def test_without_its_entry_the_source_is_compiled_again(folder, runs):
    first = compiled()
    (entry,) = folder.glob("*.ptx")
    entry.unlink()
    assert compiled() == first and len(runs) == 2 and entry.exists()


def test_of_the_installation_size_and_time_count_alone(folder, runs, tmp_path, monkeypatch):
    """The files of an image have other inodes, and times of change, than those it was made of."""
    mine, copy = tmp_path / "watched", tmp_path / "copy"
    mine.write_text("1")
    shutil.copy2(mine, copy)
    watched = (str(mine), includes.stamp(str(mine)))
    monkeypatch.setattr(build, "_OWN_MODULES", (watched,))
    first = compiled()
    copy.replace(mine)
    assert includes.stamp(str(mine)) != watched[1]
    assert compiled() == first and len(runs) == 1
    os.utime(mine, ns=(1, 1))
    assert compiled() == first and len(runs) == 2


def test_a_folder_that_cannot_be_written_to_is_used_without_a_warning(folder, runs, monkeypatch):
    first = compiled()
    record(folder).unlink()

    def refused(*arguments):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "replace", refused)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled() == first
    assert len(runs) == 2 and not list(folder.glob("request.*"))


@pytest.mark.parametrize("size", [0, 40, -1])
def test_a_damaged_record_is_written_again(folder, runs, size):
    first = compiled()
    whole = record(folder).read_bytes()
    record(folder).write_bytes(whole[:size])
    assert compiled() == first and len(runs) == 2
    assert record(folder).read_bytes() == whole


@pytest.mark.parametrize("how", ["keep", "debugging", "cache_dir", "computed include"])
def test_what_is_not_cached_has_no_record(folder, runs, tmp_path, monkeypatch, how, capsys):
    arguments = {"keep": {"keep": True}, "cache_dir": {"cache_dir": False}}.get(how, {})
    if how == "debugging":
        monkeypatch.setattr(drv, "CUDA_DEBUGGING", True)
    if how == "computed include":
        (tmp_path / "which.h").write_text('#define WHICH "none.h"\n#if 0\n#include WHICH\n#endif\n')
        arguments = {"options": ["-DVALUE=1", "-include", "which.h", f"-I{tmp_path}"]}
    compiled(**arguments)
    compiled(**arguments)
    assert len(runs) == 2 and not list(folder.glob("request.*"))
