"""The errors when a source does not compile, and when no compiler is found."""

import re
import traceback

import pytest

import pycuda.driver as drv
from pycuda import _driver
from pycuda._compile import arguments, finder, modules, nvrtc, requests, target
from pycuda.compiler import SourceModule
from pycuda.compiler import compile as compile_source

PLAIN = "__global__ void k(int *a) { a[0] = 1; }"


def error_of(source, **arguments):
    """The CompileError of a source that does not compile."""
    with pytest.raises(drv.CompileError) as caught:
        SourceModule(source, **arguments)
    return caught.value


def test_a_compile_error_has_message_command_and_output():
    error = error_of("__global__ void k() { nonsense }")
    assert isinstance(error, drv.Error)
    assert "kernel.cu" in error.msg and 'identifier "nonsense" is undefined' in error.stderr
    assert error.command_line[0] == "nvrtc" and error.command_line[-1] == "kernel.cu"
    assert error.stdout == ""
    for part in (error.msg, " ".join(error.command_line), error.stderr):
        assert part in str(error)


def test_constructed_as_users_do():
    error = drv.CompileError("failed", ["nvcc", "x.cu"])
    assert (error.msg, error.command_line, error.stdout, error.stderr) == (
        "failed",
        ["nvcc", "x.cu"],
        None,
        None,
    )
    assert str(error) == "failed\n[command: nvcc x.cu]"
    assert "[stdout:\nout]" in str(drv.CompileError("failed", [], "out", "err"))


@pytest.mark.parametrize(
    "before, line",
    [
        ("", 1),
        ("\n\n", 3),
        ("#include <stdint.h>\n", 2),
        ("\n#include <stdint.h>\n#include <math.h>\nint8_t f();\n", 5),
        ("__device__ int g() { return 1; }\n#include <stdio.h>\n\n", 4),
        ("/* two\nlines */\n", 3),
    ],
)
@pytest.mark.parametrize("no_extern_c", [False, True])
def test_line_numbers_are_the_users(before, line, no_extern_c):
    error = error_of(before + "__global__ void k() { nonsense }", no_extern_c=no_extern_c)
    assert re.findall(r"kernel\.cu\((\d+)\): error", error.stderr)[0] == str(line)


def test_line_numbers_in_a_users_header(tmp_path):
    (tmp_path / "wrong.h").write_text("\n\n__device__ int f() { return nonsense; }\n")
    error = error_of('#include "wrong.h"\n' + PLAIN, include_dirs=[str(tmp_path)])
    assert "wrong.h(3): error" in error.stderr


def test_template_in_extern_c_gets_a_hint():
    error = error_of("template <class T> __device__ T f(T a) { return a; }\n" + PLAIN)
    assert "no_extern_c=True" in str(error)


def test_an_unknown_architecture_is_a_compile_error():
    with pytest.raises(drv.CompileError):
        compile_source(PLAIN, arch="sm_1")


@pytest.fixture
def nothing_installed(monkeypatch):
    """pycuda finds neither NVRTC nor nvcc."""
    monkeypatch.setattr(finder, "_candidates", lambda: [])
    monkeypatch.setattr(finder, "_found", {})
    monkeypatch.setattr(finder, "find_nvcc", lambda nvcc: None)


def test_no_compiler_says_what_to_install(nothing_installed):
    error = error_of(PLAIN, cache_dir=False)
    assert "pip install pycuda[cu13]" in str(error) and "PYCUDA_NVRTC" in str(error)


def test_no_compiler_for_an_older_driver(nothing_installed, monkeypatch):
    monkeypatch.setattr(target, "current", lambda: target.CompileTarget((8, 0), False, (12, 4)))
    with pytest.raises(drv.CompileError, match=r"pip install pycuda\[cu12\]"):
        compile_source(PLAIN, cache_dir=False)


def test_the_error_names_the_nvrtc_that_pycuda_nvrtc_says_and_is_not_there(monkeypatch, tmp_path):
    monkeypatch.setenv("PYCUDA_NVRTC", str(tmp_path / "libnvrtc.so"))
    monkeypatch.setattr(finder, "_found", {})
    assert str(tmp_path / "libnvrtc.so") in str(error_of(PLAIN, cache_dir=False))


def test_nvcc_that_is_not_there():
    error = error_of(PLAIN, nvcc="/nowhere/nvcc")
    assert "/nowhere/nvcc" in str(error) and "no such command" in str(error)


@pytest.fixture
def two_compilers(monkeypatch):
    """pycuda finds two NVRTCs, 13.0 and then 12.4, which need not exist."""
    versions = {"/a/libnvrtc.so.13": (13, 0), "/b/libnvrtc.so.12": (12, 4)}
    monkeypatch.setattr(finder, "_candidates", lambda: list(versions))
    monkeypatch.setattr(finder, "_found", {})
    monkeypatch.setattr(nvrtc, "open_library", versions.__getitem__)


@pytest.mark.parametrize(
    "driver, path",
    [
        (13, "/a/libnvrtc.so.13"),
        (14, "/a/libnvrtc.so.13"),
        (12, "/b/libnvrtc.so.12"),
        (None, "/a/libnvrtc.so.13"),
        (11, "/a/libnvrtc.so.13"),
    ],
)
def test_compiler_newer_than_the_driver_is_not_taken_if_an_older_one_is_there(two_compilers, driver, path):
    assert finder.find_nvrtc(driver, None)[0].path == path


def test_load_failure_names_a_compiler_newer_than_the_driver(monkeypatch):
    """The driver's error on loading says that NVRTC is newer than the driver. Both are replaced: an older
    driver is reported, and its load function fails.
    """

    def refuse(code, options):
        raise drv.RuntimeError("cuModuleLoadData failed: no kernel image is available")

    request = requests.Request(PLAIN, arguments.NVCC, [], False, False, None, None, None, None)
    product = requests.compiled_code(requests.checked(request))
    monkeypatch.setattr(target, "current", lambda: target.CompileTarget((8, 0), False, (11, 8)))
    monkeypatch.setattr(_driver, "module_from_buffer", refuse)
    with pytest.raises(
        drv.RuntimeError, match=r"^cuModuleLoadData failed: .*newer than the driver's CUDA 11\.8: pip install"
    ):
        modules._load(product, [])


def test_architecture_newer_than_the_compiler_falls_back_to_ptx(monkeypatch):
    """For a device of compute capability 99.9, which NVRTC does not know, it makes PTX."""
    monkeypatch.setattr(target, "current", lambda: target.CompileTarget((99, 9), False, (99, 0)))
    code = compile_source(PLAIN, cache_dir=False)
    assert code.startswith(b"//") and b".entry k(" in code


def test_the_traceback_has_few_frames_of_pycuda():
    error = error_of("__global__ void k() { nonsense }", cache_dir=False)
    text = "".join(traceback.format_exception(error))
    assert text.count("  File ") <= 5 and "During handling" not in text


def test_a_missing_include_is_named():
    assert "nowhere.h is in none of the include folders; include_dirs=" in str(
        error_of('#include "nowhere.h"\n' + PLAIN)
    )
