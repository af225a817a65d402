"""Includes: pycuda's stand-ins for C's headers, the user's headers, the toolkit's."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import pycuda.driver as drv
from pycuda._compile import finder, includes, source
from pycuda.compiler import SourceModule

C_HEADERS = [
    "assert",
    "float",
    "inttypes",
    "limits",
    "math",
    "stdarg",
    "stdbool",
    "stddef",
    "stdint",
    "stdio",
    "stdlib",
]
C_HEADERS += ["string", "time"]
STAND_INS = [f"{name}.h" for name in C_HEADERS] + [f"c{name}" for name in C_HEADERS] + ["sys/types.h", "new"]


def evaluate(expressions, headers=(), dtype=np.int64, **arguments):
    """The values of C expressions on the device, converted to the dtype, as a list."""
    ctype = {np.int64: "long long", np.float64: "double"}[dtype]
    text = "".join(f"#include <{header}>\n" for header in headers)
    text += f"__global__ void k({ctype} *a)\n{{\n"
    text += (
        "".join(f"    a[{i}] = ({ctype})({expression});\n" for i, expression in enumerate(expressions))
        + "}\n"
    )
    result = np.zeros(len(expressions), dtype)
    SourceModule(text, **arguments).get_function("k")(drv.Out(result), block=(1, 1, 1))
    return list(result)


@pytest.fixture
def no_nvcc(monkeypatch):
    """No nvcc is found, so that NVRTC must take the source."""
    monkeypatch.setattr(finder, "find_nvcc", lambda nvcc: None)


@pytest.mark.parametrize("extern_c", [True, False])
@pytest.mark.parametrize("header", STAND_INS)
def test_stand_in_compiles(header, extern_c, no_nvcc):
    text = f'#include <{header}>\n#include <{header}>\nextern "C" __global__ void k(int *a) {{ a[0] = 1; }}'
    assert SourceModule(text, no_extern_c=not extern_c).get_function("k")


def test_all_stand_ins_together(no_nvcc):
    for order in (STAND_INS, STAND_INS[::-1]):
        text = (
            "".join(f"#include <{header}>\n" for header in order) + "__global__ void k(int *a) { a[0] = 1; }"
        )
        assert SourceModule(text).get_function("k")


def test_every_stand_in_is_tested():
    from pycuda._compile import build

    assert build._stand_ins().keys() - {"pycuda_prelude.h"} == set(STAND_INS)


def test_integers(no_nvcc):
    limits = [
        (f"{sign}{bits}", np.iinfo(f"{sign.lower()}{bits}"))
        for sign in ("INT", "UINT")
        for bits in (8, 16, 32)
    ]
    names = [f"{name}_MAX" for name, _ in limits] + ["INT64_MAX", "INT64_MIN", "INT8_MIN", "INT32_MIN"]
    expected = [info.max for _, info in limits] + [2**63 - 1, -(2**63), -128, -(2**31)]
    assert evaluate(names, ["stdint.h"]) == expected
    sizes = [
        f"sizeof({kind}{bits}_t)"
        for kind in ("int", "uint", "int_least", "uint_least")
        for bits in (8, 16, 32, 64)
    ]
    assert evaluate(sizes, ["stdint.h"]) == [1, 2, 4, 8] * 4
    assert evaluate(
        ["sizeof(intptr_t)", "sizeof(size_t)", "sizeof(ptrdiff_t)", "(uint64_t)-1 == UINT64_MAX"],
        ["stdint.h", "stddef.h"],
    ) == [8, 8, 8, 1]


def test_limits(no_nvcc):
    assert evaluate(
        ["CHAR_BIT", "SHRT_MIN", "USHRT_MAX", "INT_MIN", "UINT_MAX", "LONG_MAX", "LLONG_MIN", "SCHAR_MIN"],
        ["limits.h"],
    ) == [8, -(2**15), 2**16 - 1, -(2**31), 2**32 - 1, 2**63 - 1, -(2**63), -128]


def test_floating_point(no_nvcc):
    single, double = np.finfo(np.float32), np.finfo(np.float64)
    assert evaluate(
        ["FLT_MAX", "FLT_MIN", "FLT_EPSILON", "DBL_MAX", "DBL_MIN", "DBL_EPSILON"], ["float.h"], np.float64
    ) == [single.max, single.tiny, single.eps, double.max, double.tiny, double.eps]
    assert evaluate(["M_PI", "M_E", "M_SQRT2", "M_LN2", "HUGE_VAL", "INFINITY"], ["math.h"], np.float64) == [
        np.pi,
        np.e,
        np.sqrt(2),
        np.log(2),
        np.inf,
        np.inf,
    ]
    assert evaluate(
        ["std::sqrt(2.0)", "std::fabs(-1.5f)", "std::abs(-3)", "std::floor(2.7)"], ["cmath"], np.float64
    ) == [np.sqrt(2), 1.5, 3, 2]


def test_strings(no_nvcc):
    expressions = [
        'strlen("four")',
        'strcmp("a", "b") < 0',
        'strcmp("b", "a") > 0',
        'strcmp("a", "a")',
        'strncmp("abx", "aby", 2)',
        'memcmp("abc", "abd", 3) < 0',
    ]
    assert evaluate(expressions, ["string.h"]) == [4, 1, 1, 0, 0, 1]


def test_moving_memory(no_nvcc):
    text = """
    #include <string.h>
    __global__ void k(unsigned char *a)
    {
        memmove(a + 1, a, 4); memmove(a + 8, a + 9, 4); memset(a + 14, 7, 2);
    }
    """
    data = np.arange(16, dtype=np.uint8)
    SourceModule(text).get_function("k")(drv.InOut(data), block=(1, 1, 1))
    assert list(data) == [0, 0, 1, 2, 3, 5, 6, 7, 9, 10, 11, 12, 12, 13, 7, 7]


def test_placement_new(no_nvcc):
    text = "#include <new>\n__global__ void k(int *a) { struct P { int x; }; new (a) P{7}; }"
    data = np.zeros(1, np.int32)
    SourceModule(text).get_function("k")(drv.InOut(data), block=(1, 1, 1))
    assert data[0] == 7


def test_assert_can_be_switched_off(no_nvcc):
    text = "#define NDEBUG\n#include <assert.h>\n__global__ void k(int *a) { assert(a[0] == 99); a[0] = 1; }"
    data = np.zeros(1, np.int32)
    SourceModule(text).get_function("k")(drv.InOut(data), block=(1, 1, 1))
    assert data[0] == 1


def test_typedefs_and_macros_of_the_same_names(no_nvcc):
    """A source may define names that pycuda's stand-ins define as well."""
    text = "typedef unsigned int uint;\n#define M_PI 3\n__global__ void k(uint *a) { a[0] = M_PI; }"
    with pytest.warns(UserWarning, match="M_PI"):
        SourceModule(text, cache_dir=False)


def test_headers_include_others_relative_to_themselves(tmp_path):
    (tmp_path / "kernels.cuh").write_text(
        '#include "parts/add.h"\n__global__ void k(long long *a) { a[0] = add(1, 2); }\n'
    )
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "add.h").write_text(
        '#include "more.h"\n__device__ int add(int a, int b) { return a + b + MORE; }\n'
    )
    (tmp_path / "parts" / "more.h").write_text("#define MORE 100\n")
    for line in ('#include "kernels.cuh"', "#include <kernels.cuh>"):
        result = np.zeros(1, np.int64)
        # The kernel of a header has its plain name too.
        SourceModule(line, include_dirs=[str(tmp_path)]).get_function("k")(drv.Out(result), block=(1, 1, 1))
        assert result[0] == 103


def test_current_folder_is_not_searched(tmp_path, monkeypatch, no_nvcc):
    (tmp_path / "here.h").write_text("#define HERE 1\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(drv.CompileError, match=r"here\.h"):
        SourceModule('#include "here.h"')
    assert SourceModule('#include "here.h"\n__global__ void k() {}', include_dirs=["."]).get_function("k")


def test_missing_header_is_named(no_nvcc):
    with pytest.raises(drv.CompileError, match=r"no_such_header\.h(.|\n)*kernel\.cu\(2\)"):
        SourceModule("\n#include <no_such_header.h>\n")


has_toolkit = pytest.mark.skipif(
    not (finder.find_nvrtc(None, None)[0] or finder.Compiler("", (0, 0), "", (), "")).folders,
    reason="CUDA's headers are not installed",
)


@has_toolkit
@pytest.mark.parametrize(
    "header",
    [
        "cuda_fp16.h",
        "cuda_bf16.h",
        "cuda_runtime.h",
        "vector_types.h",
        "math_constants.h",
        "cuComplex.h",
        "device_launch_parameters.h",
    ],
)
@pytest.mark.parametrize("extern_c", [True, False])
def test_headers_of_the_toolkit_compile(header, extern_c, no_nvcc):
    text = f'#include <{header}>\nextern "C" __global__ void k(float4 *a) {{ a[0].x = 1; }}'
    assert SourceModule(text, no_extern_c=not extern_c).get_function("k")


@has_toolkit
def test_half_inside_extern_c(no_nvcc):
    text = "#include <cuda_fp16.h>\n__global__ void k(half *a) { a[0] = __hadd(a[1], a[2]); }"
    data = np.array([0, 1.5, 2.25], np.float16)
    SourceModule(text).get_function("k")(drv.InOut(data), block=(1, 1, 1))
    assert data[0] == 3.75


@has_toolkit
@pytest.mark.parametrize(
    "headers",
    [
        ["curand_kernel.h", "stdint.h", "math.h"],
        ["stdio.h", "cuda/std/cstdint", "stdint.h", "limits.h"],
        ["cooperative_groups.h", "stdint.h"],
    ],
    ids=lambda headers: headers[0],
)
@pytest.mark.filterwarnings("default:The CUDA compiler succeeded")
def test_large_headers_together_with_stand_ins(headers, no_nvcc):
    text = (
        "".join(f"#include <{header}>\n" for header in headers)
        + "__global__ void k(uint32_t *a) { a[0] = 1; }"
    )
    assert SourceModule(text).get_function("k")


# ---- the scan for includes, and the extern "C" block around a source


@pytest.mark.parametrize(
    "text, names",
    [
        ('#include "a.h"\n#include <b.h>', [("a.h", True), ("b.h", False)]),
        ("  #  include\t<sys/c.h> // why", [("sys/c.h", False)]),
        ("/* c */ #include <d.h>", [("d.h", False)]),
        ("# /* \n */ include <e.h>", [("e.h", False)]),
        ("#include \\\n <f.h>", [("f.h", False)]),
        ("#if __has_include(<g.h>)", [("g.h", False)]),
        ("// include nothing\nint include;", []),
        ("#define H <h.h>\n#include H", [(None, False)]),
        ("%:include <i.h>", [("i.h", False)]),
        ("#include <>", [(None, False)]),  # an error of the compiler
    ],
)
def test_a_scan_finds_the_names_of_include_directives(text, names):
    assert list(includes._included_names(text)) == names


# Pieces of random sources, with everything that the scan treats in a special way.
PIECES = [
    "#", "# ", "%:", "??=", "include", "include_next", "import", "embed", "__has_include", "__has_embed(",
    " ", "\t", "\n", "\r\n", "\\\n", "/*", "*/", "//", "<a.h>", '"b.h"', "<", ">", '"', "(", ")", "define X",
    "if", "X", "%", "?", "##",
]  # fmt: skip


@settings(max_examples=1000, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_a_scan_of_plain_lines_misses_nothing(pieces):
    """The fast scan finds at least the names that the complete one finds, or returns None."""
    text = "".join(pieces)
    clean = re.sub(r"/\*.*?\*/", " ", text.replace("\\\n", ""), flags=re.DOTALL)
    for line in clean.split("\n"):  # __has_include means something in directives only
        before, asks, _ = line.partition("__has_")
        assume(not asks or any(mark in before for mark in ("#", "%:", "??=")))
    plain = includes._plain_names(text)
    assert plain is None or set(plain) >= set(includes._all_names(clean))


def test_headers_of_the_package_are_scanned_without_a_regular_expression():
    """Otherwise a program's first call of a kind, which reads several of them, would be slower."""
    package = Path(includes.__file__).parent.parent
    headers = [*(package / "cuda").rglob("*.hpp"), *(package / "_headers").glob("*.h")]
    assert len(headers) > 40
    assert [path.name for path in headers if includes._plain_names(path.read_text()) is None] == []


def wrap(text, users=()):
    """The source in an extern "C" block that is closed around headers, except for those in `users`."""
    return source.wrap(text, extern_c=True, is_users=lambda name: name in users)


@pytest.mark.parametrize(
    "text, outside",
    [
        ("#include <a.h>\n", ["<a.h>"]),
        ('#include "users.h"\n#include <a.h>\n', ["<a.h>"]),
        ("int f() { return 0; }\n#include <a.h>\n", ["<a.h>"]),
        ("namespace n {\n#include <a.h>\n}\n", []),
        ('const char *brace = "{";\n#include <a.h>\n', ["<a.h>"]),
        ("char brace = '{';\n// {\n/* { */\n#include <a.h>\n", ["<a.h>"]),
        ('auto raw = R"x({ )" )x";\n#include <a.h>\n', ["<a.h>"]),
        ("/*\n#include <a.h>\n*/ int f();\n", []),
        ("#define OPEN {\n#include <a.h>\n", ["<a.h>"]),
    ],
)
def test_extern_c_block_closes_for_headers(text, outside):
    """The includes outside of the block are those expected, and every line keeps its number."""
    lines = wrap(text, {'"users.h"'}).split("\n")
    found, is_open, number, numbers = [], False, 0, {}
    for line, after in zip(lines, [*lines[1:], "#line"], strict=True):
        if line.startswith("#line"):
            number = int(line.split()[1])
        elif line == 'extern "C" {':
            is_open = True
        elif line == "}" and (after.startswith("#line") or number > len(text.split("\n"))):
            is_open = False
        else:
            found += [line.split()[1]] if "#include" in line and not is_open else []
            numbers.setdefault(line, number)
            number += 1
    assert found == outside
    assert [numbers[line] for line in text.split("\n") if line] == [
        number for number, line in enumerate(text.split("\n"), 1) if line
    ]
