"""Headers of the C++ library: with NVRTC those of the CUDA C++ library, with nvcc the host's."""

import re

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda._compile import build, finder, nvrtc
from pycuda.compiler import SourceModule

has_toolkit = pytest.mark.skipif(
    not (finder.find_nvrtc(None, None)[0] or finder.Compiler("", (0, 0), "", (), "")).folders,
    reason="CUDA's headers are not installed",
)
COMPLEX_FUNCTIONS = (
    "abs sqrt exp log log10 sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh".split()
)
# For each header, expressions that a kernel computes with it, and their values as integers.
USES = {
    "type_traits": [
        ("std::is_same<int, signed>::value", 1),
        ("std::is_integral_v<std::decay_t<float &>>", 0),
    ],
    "limits": [("std::numeric_limits<short>::max()", 32767), ("std::numeric_limits<float>::digits", 24)],
    "utility": [("std::make_pair(3, 4.0f).first", 3), ("sizeof(std::pair<char, int>)", 8)],
    "array": [("(std::array<int, 3>{1, 2, 3})[2]", 3), ("std::array<int, 5>{}.size()", 5)],
    "algorithm": [("std::max(2, 5)", 5), ("std::min(2.5, 1.0)", 1), ("std::clamp(7, 0, 4)", 4)],
    "tuple": [
        ("std::get<1>(std::make_tuple(1, 2, 3))", 2),
        ("std::tuple_size<std::tuple<int, int>>::value", 2),
    ],
    "functional": [("std::plus<int>()(2, 3)", 5), ("std::less<>()(2, 3)", 1)],
    "initializer_list": [("std::initializer_list<int>{1, 2, 3}.size()", 3)],
    "cstdint": [("(std::uint8_t)257", 1), ("sizeof(std::int64_t)", 8)],
}


def evaluate(header, **arguments):
    """([the values that the device computes], [the expected ones]) of the uses of this header."""
    lines = "".join(f"    a[{i}] = (int)({text});\n" for i, (text, _) in enumerate(USES[header]))
    source = f"#include <{header}>\n__global__ void k(int *a)\n{{\n{lines}}}\n"
    result = np.zeros(len(USES[header]), np.int32)
    SourceModule(source, **arguments).get_function("k")(drv.Out(result), block=(1, 1, 1))
    return result.tolist(), [right for _, right in USES[header]]


@pytest.fixture
def no_nvcc(monkeypatch):
    """No nvcc is found, so that NVRTC must take the source."""
    monkeypatch.setattr(finder, "find_nvcc", lambda nvcc: None)


@has_toolkit
@pytest.mark.parametrize("header", USES)
def test_each_header_gives_the_right_values(header, no_nvcc):
    found, right = evaluate(header)
    assert found == right


@pytest.mark.parametrize("header", ["limits", "algorithm", "array"])
def test_constexpr_functions_of_the_hosts_library_under_nvcc(header, nvcc, monkeypatch):
    """They are functions for the host: kernels may call them because of --expt-relaxed-constexpr."""
    monkeypatch.setattr(nvrtc, "compile_source", None)
    found, right = evaluate(header, nvcc=nvcc)
    assert found == right


@has_toolkit
def test_all_together(no_nvcc):
    """All headers in one source, together with C's, in an extern "C" block of the source's own."""
    names = [name for name, _ in build._cuda_std() if "." not in name]
    assert set(USES) - {"cstdint"} < set(names)
    lines = [f"#include <{name}>\n" for name in ["cmath", *names, "complex", "limits.h", "stdint.h"]]
    source = 'extern "C" {\n' + "".join(lines) + "__global__ void k(int *a) { a[0] = std::max(1, 2); }\n}\n"
    result = np.zeros(1, np.int32)
    module = SourceModule(source, no_extern_c=True)
    module.get_function("k")(drv.Out(result), block=(1, 1, 1))
    assert result[0] == 2


@has_toolkit
def test_complex_numbers(no_nvcc):
    """NVRTC's std::abs and other functions of real numbers do not hide those of complex numbers."""
    z = np.complex64(0.3 + 0.4j)
    calls = [f"std::{name}(z)" for name in COMPLEX_FUNCTIONS] + ["exp(z)", "std::norm(z)", "std::conj(z)"]
    calls += ["std::pow(z, 2.0f)", "std::pow(z, z)", "std::pow(2.0f, z)", "std::arg(z)", "z * z / (z + 1.0f)"]
    calls += ["std::abs(-2.5f)", "std::sqrt(2.25f)"]
    numpys = [re.sub("^a(?!bs)", "arc", name) for name in COMPLEX_FUNCTIONS]
    right = [getattr(np, name)(z) for name in numpys]
    right += [np.exp(z), abs(z) ** 2, z.conj(), z**2, z**z, 2**z, np.angle(z), z * z / (z + 1)]
    lines = "".join(f"    a[{i}] = {call};\n" for i, call in enumerate(calls))
    parameters = "std::complex<float> *a, std::complex<float> z"
    source = f"#include <complex>\n__global__ void k({parameters})\n{{\n{lines}}}\n"
    result = np.zeros(len(calls), np.complex64)
    SourceModule(source).get_function("k")(drv.Out(result), z, block=(1, 1, 1))
    assert np.allclose(result, [*right, 2.5, 1.5], rtol=1e-5)


@has_toolkit
def test_complex_functions_after_using_namespace_std(no_nvcc):
    source = """
    #include <complex>
    using namespace std;
    __global__ void k(float *a) { complex<float> z(3, 4); a[0] = abs(z); a[1] = sqrt(z * z).imag(); }
    """
    result = np.zeros(2, np.float32)
    SourceModule(source).get_function("k")(drv.Out(result), block=(1, 1, 1))
    assert np.allclose(result, [5, 4])


@has_toolkit
def test_in_a_header_of_the_users(tmp_path, no_nvcc):
    (tmp_path / "least.h").write_text(
        "#include <limits>\n__device__ int least() { return std::numeric_limits<int>::min(); }\n"
    )
    source = '#include "least.h"\n__global__ void k(int *a) { a[0] = least(); }'
    result = np.zeros(1, np.int32)
    module = SourceModule(source, include_dirs=[str(tmp_path)])
    module.get_function("k")(drv.Out(result), block=(1, 1, 1))
    assert result[0] == -(2**31)


@has_toolkit
def test_a_source_that_only_the_hosts_library_takes_is_left_to_nvcc(nvcc):
    """abs, which two namespaces have, is ambiguous to NVRTC; the host's library has only one."""
    source = """
    #include <algorithm>
    using namespace std;
    __global__ void k(int *a) { a[0] = max(abs(-3), 2); }
    """
    result = np.zeros(1, np.int32)
    with pytest.warns(UserWarning, match="NVRTC refuses"):
        module = SourceModule(source, cache_dir=False)
    module.get_function("k")(drv.Out(result), block=(1, 1, 1))
    assert result[0] == 3


def test_without_the_cuda_library_the_error_says_what_to_install(monkeypatch, no_nvcc):
    real = finder.find_nvrtc
    monkeypatch.setattr(finder, "find_nvrtc", lambda *a: (real(*a)[0]._replace(folders=()), None))
    with pytest.raises(drv.CompileError, match=r"pip install pycuda\[cu1(.|\n)*limits"):
        SourceModule("#include <limits>\n__global__ void k() {}", cache_dir=False)
