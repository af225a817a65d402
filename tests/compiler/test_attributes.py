"""Attributes after a class's closing brace belong to the class with NVRTC as well, as they do with nvcc."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda._compile import attributes, build
from pycuda.compiler import SourceModule

pytestmark = pytest.mark.usefixtures("primary_context")

# source: (sizeof, alignof) of its type T, as gcc and nvcc have them.
FORMS = {
    "typedef struct S {int a, b, c, d;} __align__(32) T;": (32, 32),
    "typedef struct {int a, b, c, d;} __attribute__((aligned(32))) T;": (32, 32),
    "typedef struct {int a, b, c, d;} /* } */ __align__ (32) // ;\n T;": (32, 32),
    "typedef union {int a; char c[5];} __align__(16) T;": (16, 16),
    "struct T {int a;} __align__(16);": (16, 16),
    "typedef struct {char c; int a; double d;} __attribute__((packed)) T;": (13, 1),
    "typedef struct {int a;} __align__(8) __attribute__((unused)) T;": (8, 8),
    "typedef struct {int a, b, c, d;} __align__(32) E; struct T {char c; E e[2];};": (96, 32),
    "struct T {char c; struct {int a;} __align__(16) in;};": (32, 16),
    "#define ALIGNED(n) __align__(n)\ntypedef struct {int a;} ALIGNED(16) T;": (16, 16),
    "typedef struct {int a, b, c, d;} T __align__(32);": (16, 32),
    "typedef struct __align__(32) {int a, b, c, d;} T;": (32, 32),
    "struct __align__(32) T {int a;};": (32, 32),
    # Sources that pycuda leaves as they are.
    "#pragma pack(push, 1)\nstruct T {char c; int a; double d;};\n#pragma pack(pop)": (13, 1),
    "struct T {unsigned a : 3; unsigned b : 30; char c; short d : 4;};": (12, 4),
    "enum E {A = 1, B = 0x100000000LL}; struct T {E e; char c;};": (16, 8),
    "struct T {long a; char c; unsigned long b;};": (24, 8),
    "struct T {char c; float3 d; float2 e; float4 f;};": (48, 16),
    "struct E {}; struct T : E {int a;};": (4, 4),
}


def sizes(source, **options):
    """(size, alignment) of the type T that the source defines, on the device."""
    kernel = (
        "__global__ void sizes(int *out) { out[0] = sizeof(T), out[1] = alignof(T), out[2] = (char)-1 < 0; }"
    )
    out = np.zeros(3, np.int32)
    module = SourceModule(f"{source}\n{kernel}", **options)
    module.get_function("sizes")(drv.InOut(out), block=(1, 1, 1), grid=(1, 1))
    assert out[2] == 1  # char is signed
    return tuple(out[:2].tolist())


def test_sizes():
    """All sizes are in one module: a compilation for each would take seconds."""
    spaces = [f"namespace n{k} {{\n{source}\n}}\n" for k, source in enumerate(FORMS)]
    stores = "".join(
        f"out[{2 * k}] = sizeof(n{k}::T); out[{2 * k + 1}] = alignof(n{k}::T);\n" for k in range(len(FORMS))
    )
    source = "".join(spaces) + f'extern "C" __global__ void sizes(int *out) {{ {stores} }}'
    out = np.zeros((len(FORMS), 2), np.int32)
    SourceModule(source, no_extern_c=True).get_function("sizes")(drv.InOut(out), block=(1, 1, 1), grid=(1, 1))
    assert dict(zip(FORMS, map(tuple, out.tolist()), strict=True)) == FORMS


def test_a_macro_of_the_options():
    options = ["-DALIGNED(n)=__align__(n)"]
    assert sizes("typedef struct {int a;} ALIGNED(16) T;", options=options) == (16, 16)


def test_lines_of_errors_are_those_of_the_source():
    source = "typedef struct {\n int a; }\n __align__(8)\n\n T;\n__global__ void k() { nothing; }"
    with pytest.raises(drv.CompileError) as caught:
        SourceModule(source)
    assert "kernel.cu(6)" in caught.value.stderr


def test_other_attributes_are_not_moved():
    words = attributes.names([])
    for text in (
        "struct S s = {1}; int a __align__(8);",
        '"} __align__(8)" /* } __align__(8) */',
        "void f() {} __align__(8) int x;",
        "struct S {int a;} s, *p;",
    ):
        assert attributes.moved(text, words) == text and attributes.first_line(text, words) is None


def test_in_a_header_the_message_names_the_place_to_correct(tmp_path, monkeypatch):
    (tmp_path / "pair.h").write_text("// a\ntypedef struct {float x, y;} __align__(32) T;\n")
    monkeypatch.setattr(build.finder, "find_nvcc", lambda name: None)
    with pytest.raises(drv.CompileError, match=r"pair\.h\(2\): .*struct __align__\(16\) Name"):
        SourceModule('#include "pair.h"\n__global__ void k() {}', include_dirs=[str(tmp_path)])


@pytest.mark.usefixtures("nvcc")
def test_in_a_header_with_nvcc(tmp_path):
    (tmp_path / "pair.h").write_text("typedef struct {float x, y;} __align__(32) T;\n")
    assert sizes('#include "pair.h"\n', include_dirs=[str(tmp_path)]) == (32, 32)
