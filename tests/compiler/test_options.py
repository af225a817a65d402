"""nvcc's options are translated to NVRTC's, and the installed NVRTC takes each translation."""

import re

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda._compile import options, target
from pycuda.compiler import SourceModule
from pycuda.compiler import compile as compile_source

PLAIN = "__global__ void k(float *a) { a[0] = a[1] / a[2]; }"

# (nvcc's options, NVRTC's)
TRANSLATED = [
    (["-use_fast_math"], ["--use_fast_math"]),
    (["--use_fast_math"], ["--use_fast_math"]),
    (["-lineinfo"], ["--generate-line-info"]),
    (["-G", "-g"], ["--device-debug"]),
    (["-O3"], []),
    (["-O", "2"], []),
    (["--optimize=3"], []),
    (["-m64"], []),
    (["--machine", "64"], []),
    (["-Xcompiler", "-fPIC,-O3"], []),
    (["-Xcompiler=-Wall"], []),
    (["--compiler-options", "-fPIC"], []),
    (["-ccbin", "/usr/bin/gcc"], []),
    (["-lcudadevrt", "-L/usr/lib"], []),
    (["--expt-relaxed-constexpr", "--expt-extended-lambda", "-extended-lambda"], []),
    (["-Wno-deprecated-gpu-targets"], []),
    (
        ["-DA=1", "-D", "B=2", "-D C=3", "--define-macro=D"],
        ["--define-macro=A=1", "--define-macro=B=2", "--define-macro=C=3", "--define-macro=D"],
    ),
    (["-UA", "-U", "B"], ["--undefine-macro=A", "--undefine-macro=B"]),
    (["-maxrregcount=32"], ["--maxrregcount=32"]),
    (["--maxrregcount", "32"], ["--maxrregcount=32"]),
    (["--maxrregcount=0"], []),
    (
        ["-ftz=true", "--prec-div=false", "-prec-sqrt=false", "-fmad=false"],
        ["--ftz=true", "--prec-div=false", "--prec-sqrt=false", "--fmad=false"],
    ),
    (["-std=c++17"], ["--std=c++17"]),
    (["-std", "c++14"], ["--std=c++14"]),
    (["-rdc=true"], ["--relocatable-device-code=true"]),
    (["-rdc", "true"], ["--relocatable-device-code=true"]),
    (["-dc"], ["--device-c"]),
    (["-Xptxas", "-v,-O2"], ["--ptxas-options=-v", "--ptxas-options=-O2"]),
    (["-Xptxas=-O1"], ["--ptxas-options=-O1"]),
    (["--ptxas-options=-dlcm=ca"], ["--ptxas-options=-dlcm=ca"]),
    (["-Xptxas -O2"], ["--ptxas-options=-O2"]),
    (["--resource-usage"], ["--ptxas-options=-v"]),
    (["-w"], ["--disable-warnings"]),
    (["-restrict"], ["--restrict"]),
    (["-Xcudafe", "--diag_suppress=177"], ["--diag-suppress=177"]),
    (["-diag-suppress", "177"], ["--diag-suppress=177"]),
    (["-default-device"], ["-default-device"]),
]


@pytest.mark.parametrize("given, expected", TRANSLATED, ids=[" ".join(given) for given, _ in TRANSLATED])
def test_translation(given, expected):
    parsed = options.parse(given)
    assert parsed.nvrtc == expected
    assert parsed.needs_nvcc is None and parsed.arch is None and not parsed.folders


@pytest.mark.parametrize(
    "given", [given for given, _ in TRANSLATED], ids=[" ".join(given) for given, _ in TRANSLATED]
)
@pytest.mark.filterwarnings("ignore:The CUDA compiler succeeded")
def test_nvrtc_takes_every_translated_option(given, monkeypatch):
    monkeypatch.setattr("pycuda._compile.finder.find_nvcc", lambda nvcc: None)
    assert b".entry k(" in compile_source(PLAIN, options=given, target="ptx", cache_dir=False)


@pytest.mark.parametrize(
    "given, folders",
    [
        (["-I/a", "-I", "/b", "--include-path=/c", "-I /d"], ["/a", "/b", "/c", "/d"]),
        (["-isystem", "/e", "-isystem=/f"], ["/e", "/f"]),
    ],
)
def test_include_folders(given, folders):
    assert options.parse(given).folders == folders


@pytest.mark.parametrize(
    "given, arch, code",
    [
        (["-arch=sm_80"], "sm_80", None),
        (["-arch", "sm_90a"], "sm_90a", None),
        (["--gpu-architecture=compute_75", "-code=sm_75"], "compute_75", "sm_75"),
        (["-gencode", "arch=compute_80,code=sm_80"], "compute_80", "sm_80"),
        (["-gencode=arch=compute_80,code=compute_80"], "compute_80", "compute_80"),
    ],
)
def test_architecture(given, arch, code):
    parsed = options.parse(given)
    assert (parsed.arch, parsed.code, parsed.needs_nvcc) == (arch, code, None)


@pytest.mark.parametrize(
    "given, named",
    [
        (["-m32"], "-m32"),
        (["--keep"], "--keep"),
        (["-optf", "file"], "-optf file"),
        (["-gencode=arch=compute_75,code=sm_75", "-gencode=arch=compute_80,code=sm_80"], "compute_80"),
        (["--dryrun"], "--dryrun"),
    ],
)
def test_options_only_nvcc_takes(given, named, monkeypatch):
    assert named in options.parse(given).needs_nvcc
    monkeypatch.setattr("pycuda._compile.finder.find_nvcc", lambda nvcc: None)
    with pytest.raises(drv.CompileError, match=named) as caught:
        compile_source(PLAIN, options=given, cache_dir=False)
    assert "no nvcc that runs was found" in str(caught.value)


def test_the_error_names_an_unknown_option(monkeypatch):
    monkeypatch.setattr("pycuda._compile.finder.find_nvcc", lambda nvcc: None)
    with pytest.raises(drv.CompileError, match="--no-such-option"):
        compile_source(PLAIN, options=["--no-such-option"], cache_dir=False)


@pytest.mark.parametrize(
    "arch, capability",
    [
        ("sm_75", (7, 5)),
        ("sm_90a", (9, 0)),
        ("sm_120", (12, 0)),
        ("compute_103f", (10, 3)),
        ("native", None),
        (None, None),
    ],
)
def test_capability(arch, capability):
    assert options.capability(arch) == capability


def test_fast_math_changes_the_code():
    exact = compile_source(PLAIN, options=[], target="ptx")
    fast = compile_source(PLAIN, options=["-use_fast_math"], target="ptx")
    assert b"div.rn.f32" in exact and b"div.rn" not in fast and b"div.approx.ftz.f32" in fast


def test_lineinfo_adds_lines_to_the_ptx():
    assert b".loc" in compile_source(PLAIN, options=["-lineinfo"], target="ptx")
    assert b".loc" not in compile_source(PLAIN, options=[], target="ptx")


def test_maximum_of_registers(monkeypatch):
    """-maxrregcount limits the registers that the assembler reports, for sm_80, which need not exist. Each
    option is tried twice: the report must not be missing when NVRTC's own cache has the code.
    """
    monkeypatch.setattr(target, "current", lambda: target.CompileTarget((8, 0), False, (99, 0)))
    source = """
    __global__ void k(float *a)
    {
        float x[64];
        for (int i = 0; i < 64; i++) x[i] = a[i];
        for (int i = 0; i < 64; i++) a[i] = x[63 - i];
    }"""
    for options_of_it, maximum in (([], 255), (["-maxrregcount=24"], 24)) * 2:
        with pytest.warns(UserWarning, match="Used") as caught:
            code = compile_source(source, options=[*options_of_it, "-Xptxas", "-v"], cache_dir=False)
        used = int(re.search(r"Used (\d+) registers", str(caught[0].message))[1])
        assert code.startswith(b"\x7fELF") and (used <= 24) == (maximum == 24), used


def test_definitions_reach_the_kernel():
    source = "__global__ void k(int *a) {\n#ifdef GONE\n  a[0] = -1;\n#else\n  a[0] = A * 100 + B;\n#endif\n}"
    result = np.zeros(1, np.int32)
    module = SourceModule(source, options=["-DA=12", "-D", "B=34", "-DGONE", "-UGONE"])
    module.get_function("k")(drv.Out(result), block=(1, 1, 1))
    assert result[0] == 1234


def test_a_header_of_include_is_compiled_first(tmp_path):
    (tmp_path / "forced.h").write_text("#define ANSWER 42\n")
    result = np.zeros(1, np.int32)
    module = SourceModule(
        "__global__ void k(int *a) { a[0] = ANSWER; }",
        options=["-include", "forced.h"],
        include_dirs=[tmp_path],
    )
    module.get_function("k")(drv.Out(result), block=(1, 1, 1))
    assert result[0] == 42
