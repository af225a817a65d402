"""Sources that NVRTC refuses: nvcc compiles them, with a warning the first time; without nvcc the error says
that nvcc may take them.
"""

import warnings

import numpy as np
import pytest

import pycuda.compiler as compiler
import pycuda.driver as drv
from pycuda._compile import build, finder, requests
from pycuda._compile import nvcc as nvcc_command
from pycuda._compile import nvrtc as nvrtc_library
from pycuda.compiler import SourceModule

KERNEL = 'extern "C" __global__ void k(int *a) { a[0] = 42; }\n'
REFUSED = {
    "marked for the host": "__host__ int twice(int a) { return 2 * a; }\n" + KERNEL,
    "unmarked, for the host": "int allocate(void **p) { return cudaMalloc(p, 8); }\n" + KERNEL,
    "exceptions": "int f(int a) { try { throw a; } catch (int b) { return b; } }\n" + KERNEL,
    "launch": KERNEL + "void launch(int *a) { k<<<1, 1>>>(a); }\n",
    "main": KERNEL + "int main() { int *a; cudaMalloc(&a, 4); k<<<1, 1>>>(a); return cudaFree(a); }\n",
    "the host's library": "inline int least(std::pair<int, int> a) { return a.first; }\n" + KERNEL,
    "of cub": "#include <cub/cub.cuh>\n" + KERNEL,
    "of thrust": "#include <thrust/complex.h>\n" + KERNEL,
}
has_toolkit = bool((finder.find_nvrtc(None, None)[0] or finder.Compiler("", (0, 0), "", (), "")).folders)
CASES = [name for name in REFUSED if has_toolkit or not name.startswith("of ")]


def run(module):
    """What the kernel k(int *a) of a module stores in a[0]."""
    result = np.zeros(1, np.int32)
    module.get_function("k")(drv.Out(result), block=(1, 1, 1))
    return result[0]


@pytest.fixture
def no_nvcc(monkeypatch):
    """No nvcc is found."""
    monkeypatch.setattr(finder, "find_nvcc", lambda nvcc: None)


@pytest.mark.parametrize("name", CASES)
def test_nvcc_compiles_it(nvcc, name):
    with pytest.warns(UserWarning, match=r"NVRTC refuses .*nvcc compiled it"):
        module = SourceModule(REFUSED[name], no_extern_c=True, cache_dir=False)
    assert run(module) == 42


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("of ")])
def test_the_error_says_what_may_take_it(no_nvcc, name):
    with pytest.raises(drv.CompileError, match="limit of NVRTC. nvcc may compile it, and none that runs"):
        SourceModule(REFUSED[name], no_extern_c=True, cache_dir=False)


@pytest.mark.parametrize("name", ["vector", "iostream"])
def test_a_header_of_the_hosts_library_is_nvccs(no_nvcc, name):
    with pytest.raises(drv.CompileError, match=f"limit of NVRTC. nvcc may(.|\n)*{name}"):
        SourceModule(f"#include <{name}>\n" + KERNEL, no_extern_c=True, cache_dir=False)


def test_what_nvrtc_refused_goes_to_nvcc_at_once_in_later_processes(nvcc, tmp_path, monkeypatch):
    """The second time nvcc's code comes from the cache, without a call of either compiler and without a
    warning. If there is no nvcc then, NVRTC is called and its error raised.
    """
    source = REFUSED["marked for the host"]

    def compile_and_run():
        return run(SourceModule(source, no_extern_c=True, cache_dir=tmp_path))

    with pytest.warns(UserWarning, match="compiled it"):
        assert compile_and_run() == 42
    requests._memory.clear()
    monkeypatch.setattr(nvcc_command, "compile_source", None)
    with monkeypatch.context() as patch:
        patch.setattr(nvrtc_library, "compile_source", None)
        assert compile_and_run() == 42
    requests._memory.clear()
    monkeypatch.setattr(finder, "find_nvcc", lambda nvcc: None)
    with pytest.raises(drv.CompileError, match="__host__"):
        compile_and_run()


@pytest.mark.parametrize(
    "source",
    ["__global__ void k(int *a) { a[0] = b; }", "__global__ void k(int *a) { a[0] = 1 }", "#error stop"],
)
def test_what_is_wrong_for_both_is_not_compiled_twice(nvcc, monkeypatch, source):
    monkeypatch.setattr(nvcc_command, "compile_source", None)
    with pytest.raises(drv.CompileError, match="NVRTC"):
        SourceModule(source, cache_dir=False)


def test_an_error_together_with_a_function_for_the_host(nvcc):
    """The errors are nvcc's: NVRTC's would name the function for the host as well, which is correct."""
    with pytest.raises(drv.CompileError, match='identifier "b" is undefined') as caught:
        SourceModule("__host__ int f();\n__global__ void k(int *a) { a[0] = b; }", cache_dir=False)
    assert "__host__" not in caught.value.stderr and "(2): error" in caught.value.stderr


def script(folder, text):
    """The path of an executable `nvcc` in the folder: a shell script with this text."""
    path = folder / "nvcc"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def test_the_error_is_nvrtcs_if_nvcc_fails_for_another_reason(tmp_path, monkeypatch):
    """An nvcc that finds no host compiler reports nothing about the source."""
    broken = 'case "$1" in --version) echo release 1;; *) echo "nvcc fatal: no gcc" >&2; exit 1;; esac\n'
    path = script(tmp_path, broken)
    monkeypatch.setattr(finder, "find_nvcc", lambda nvcc: path)
    with pytest.raises(drv.CompileError, match="__host__ function is not allowed"):
        SourceModule(REFUSED["marked for the host"], no_extern_c=True, cache_dir=False)


def test_an_nvcc_that_cannot_be_run_is_not_used(tmp_path, monkeypatch):
    """A script that starts an nvcc which no longer exists counts as no nvcc."""
    path = script(tmp_path, "exec /no/such/toolkit/bin/nvcc\n")
    monkeypatch.setattr(finder, "find_nvcc", lambda nvcc: path)
    assert run(SourceModule(KERNEL, nvcc="nvcc", no_extern_c=True, cache_dir=False)) == 42
    with pytest.raises(drv.CompileError, match="none that runs was found"):
        SourceModule(REFUSED["marked for the host"], no_extern_c=True, cache_dir=False)
    with pytest.raises(drv.CompileError, match="cannot be run"):
        compiler.compile(KERNEL, target="fatbin", cache_dir=False)


def test_compiling_by_nvrtc_never_looks_for_nvcc(monkeypatch):
    monkeypatch.setattr(build, "_nvcc_of", None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(SourceModule(KERNEL, no_extern_c=True, cache_dir=False)) == 42


def test_wide_integers():
    """__int128 works without an option, as in nvcc."""
    a, b = 0x1234567890ABCDEF1234567890ABCDEF, 0xFEDCBA9876543210
    source = """
    __global__ void k(unsigned long long *out, unsigned long long high, unsigned long long low,
                      unsigned long long b)
    {
        unsigned __int128 a = (unsigned __int128)high << 64 | low, r[] = {a / b, a % b, a * b, a + b};
        __int128 n = -(__int128)a / 3;
        for (int i = 0; i < 4; i++)
            out[2 * i] = (unsigned long long)r[i], out[2 * i + 1] = (unsigned long long)(r[i] >> 64);
        out[8] = (unsigned long long)n, out[9] = (unsigned long long)(n >> 64);
    }
    """
    out = np.zeros(10, np.uint64)
    low = 2**64 - 1
    arguments = [np.uint64(each) for each in (a >> 64, a & low, b)]
    SourceModule(source).get_function("k")(drv.Out(out), *arguments, block=(1, 1, 1))
    found = [int(out[i]) | int(out[i + 1]) << 64 for i in range(0, 10, 2)]
    assert found == [value % 2**128 for value in (a // b, a % b, a * b, a + b, -(a // 3))]
