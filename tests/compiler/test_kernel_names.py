"""Kernels and variables by their C++ names, and the errors for names that do not exist."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda._compile import nvrtc, symbols
from pycuda.compiler import SourceModule, compile

SOURCE = """
template <class T> __global__ void scale(T *a) { *a *= 2; }
template <class T, int n> __global__ void add(T *a) { *a += n; }
__global__ void over(int *a) { *a = 1; }
__global__ void over(float *a) { *a = 2; }
namespace space { __global__ void k(float *a) { *a = 3; } }
extern "C" __global__ void plain(float *a) { *a = 4; }
"""
WITH_VARIABLE = SOURCE + "namespace space { __constant__ float c; __device__ int d[3]; }"
# name of a kernel: (dtype of its argument, what it makes of a 5)
NAMES = {
    "scale<float>": (np.float32, 10),
    "scale< unsigned  int >": (np.uint32, 10),
    "add<double, 7>": (np.float64, 12),
    "(void (*)(int *))over": (np.int32, 1),
    "(void(*)(float*)) over": (np.float32, 2),
    "space::k": (np.float32, 3),
    "plain": (np.float32, 4),
}


def result_of(module, name):
    """Runs the kernel of this name in NAMES on a 5 of its dtype. Returns the result."""
    dtype, _ = NAMES[name]
    value = np.array(5, dtype)
    module.get_function(name)(drv.InOut(value), block=(1, 1, 1))
    return value


@pytest.mark.parametrize("expressions", [list(NAMES), []], ids=["named", "when_asked"])
def test_kernels_by_expression(expressions):
    module = SourceModule(SOURCE, no_extern_c=True, name_expressions=expressions)
    for name, (_, expected) in NAMES.items():
        assert result_of(module, name) == expected, name


def test_spaces_do_not_matter():
    module = SourceModule(SOURCE, no_extern_c=True, name_expressions=["add< double,7 >"])
    assert result_of(module, "add<double, 7>") == 12


def test_names_are_in_the_cache(tmp_path, monkeypatch):
    """With an entry in the cache name expressions work without NVRTC, whose function is removed."""
    monkeypatch.setattr("pycuda._compile.requests._memory", {})
    SourceModule(SOURCE, no_extern_c=True, name_expressions=["scale<float>"], cache_dir=tmp_path)
    monkeypatch.setattr("pycuda._compile.requests._memory", {})
    monkeypatch.setattr(nvrtc, "compile_source", None)
    module = SourceModule(SOURCE, no_extern_c=True, name_expressions=["scale<float>"], cache_dir=tmp_path)
    assert result_of(module, "scale<float>") == 10


def test_variables_by_expression():
    module = SourceModule(
        WITH_VARIABLE, no_extern_c=True, name_expressions=["&space::c", "scale<float>", "&space::d"]
    )
    assert module.get_global("space::c")[1] == 4 and module.get_global("&space::d")[1] == 12
    assert result_of(module, "scale<float>") == 10
    assert result_of(module, "space::k") == 3


def test_missing_names_of_a_module_with_variables_are_errors():
    """They are not compiled in a second module, which would have its own variables: the errors list the names
    that exist.
    """
    module = SourceModule(WITH_VARIABLE, no_extern_c=True)
    with pytest.raises(drv.LogicError, match=r"_ZN5space1c.*name_expressions=\['scale<float>'\]"):
        module.get_function("scale<float>")
    with pytest.raises(drv.LogicError, match=r"variables are: .*_ZN5space1[cd]"):
        module.get_global("c")


@pytest.mark.parametrize(
    "name, message",
    [
        ("scael", r"kernel 'scael'; the module's kernels are: .*plain"),
        ("over", r'mangled name _Z4overP[if]: declare it extern "C".*name_expressions=\["over"\].*plain'),
        ("ver", r"kernel 'ver'; the module's kernels are"),
        ("scael<float>", r"(?s)no kernel 'scael<float>'.*scael"),
        ("over(int*)", r"(?s)no kernel 'over\(int\*\)'"),
    ],
)
def test_a_kernel_that_is_not_there(name, message):
    module = SourceModule(SOURCE, no_extern_c=True)
    with pytest.raises(drv.LogicError, match=message):
        module.get_function(name)


def test_a_long_list_is_cut():
    source = "".join(f"__global__ void a_kernel_with_a_rather_long_name_{i}() {{}}\n" for i in range(30))
    with pytest.raises(drv.LogicError, match=r"kernels are: .*, \.\.\.$"):
        SourceModule(source).get_function("k")


def test_an_expression_that_names_nothing():
    with pytest.raises(drv.CompileError, match="missing"):
        SourceModule(SOURCE, no_extern_c=True, name_expressions=["missing<int>"])
    with pytest.raises(TypeError, match=r"name_expressions\[0\] is 5"):
        SourceModule(SOURCE, name_expressions=[5])


@pytest.mark.parametrize("target, arch", [("ptx", "compute_80"), ("cubin", "sm_80"), ("cubin", "sm_90")])
def test_symbols(target, arch, monkeypatch):
    """The names are read from PTX and from cubins."""
    # For the CPU device compile() makes PTX, whatever `target` is; for no device it makes what `target` says.
    monkeypatch.setattr("pycuda._compile.target.current", lambda: None)
    text = """__constant__ float c[4]; __device__ int d = 3; __device__ void *p; __shared__ int s;
    extern "C" __global__ void k(double *a) { *a = sin(*a) + c[d] + (p != 0); printf("%d", d); }"""
    code = compile("#include <stdio.h>\n" + text, target=target, arch=arch)
    assert symbols.kernels(code) == ["k"]
    assert set(symbols.variables(code)) == {"c", "d", "p"}
