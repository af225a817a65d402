"""SourceModule and compile: their results and their parameters."""

import os
import re

import numpy as np
import pytest

import pycuda.compiler as compiler
import pycuda.driver as drv
from pycuda._compile import target
from pycuda.compiler import SourceModule
from pycuda.compiler import compile as compile_source

DOUBLE = "__global__ void k(float *a) { a[threadIdx.x] *= 2; }"


def run(module, name="k", count=32, dtype=np.int32):
    """Runs a kernel on an array of `count` zeros, with as many threads. Returns the array."""
    result = np.zeros(count, dtype)
    module.get_function(name)(drv.InOut(result), block=(count, 1, 1))
    return result


def value_of(expression, **options):
    """The value of a C expression on the device, as an int."""
    source = f"__global__ void k(int *a) {{ a[0] = ({expression}); }}"
    return int(run(SourceModule(source, **options), count=1)[0])


def test_kernel_runs():
    data = np.arange(32, dtype=np.float32)
    SourceModule(DOUBLE).get_function("k")(drv.InOut(data), block=(32, 1, 1))
    assert np.array_equal(data, 2 * np.arange(32, dtype=np.float32))


def test_source_may_be_bytes():
    assert SourceModule(DOUBLE.encode()).get_function("k")


def test_module_attribute_and_getters():
    module = SourceModule("__device__ int table[5]; __global__ void k(int *a) { a[0] = table[0]; }")
    assert isinstance(module.module, drv.Module)
    address, size = module.get_global("table")
    assert address and size == 5 * 4
    with pytest.raises(drv.LogicError, match=r"^cuModuleGetFunction failed: .*"):
        module.get_function("no_such_kernel")
    with pytest.raises(drv.LogicError, match=r"^cuModuleGetGlobal failed: .*"):
        module.get_global("no_such_variable")


@pytest.mark.parametrize("method", ["get_texref", "get_surfref"])
def test_missing_references(method):
    module = SourceModule("__device__ int t[8]; " + DOUBLE)
    with pytest.raises(drv.LogicError, match=rf"^cuModuleGet{method[4:7].title()}.* failed: .*'none'"):
        getattr(module, method)("none")
    with pytest.raises(drv.LogicError, match="variable 't' is not a (texture|surface) reference"):
        getattr(module, method)("t")


def test_names_that_nvcc_defines():
    source = """
    __global__ void k(int *a)
    {
        const uint u = 1; const ushort s = 2; const ulong l = 3; int8_t i = 4; int64_t j = 5; size_t z = 6;
        assert(a != NULL);
        a[0] = u + s + l + i + j + z; a[1] = INT_MAX; a[2] = (int)(M_PI * 1000000); a[3] = isinf(INFINITY);
        a[4] = isnan(NAN); a[5] = (int)std::sqrt(81.0); a[6] = min(3, 4); a[7] = CHAR_BIT;
    }"""
    result = run(SourceModule(source))
    assert list(result[:8]) == [21, 2**31 - 1, 3141592, 1, 1, 9, 3, 8]


def test_no_extern_c():
    source = "template <class T> __device__ T twice(T a) { return 2 * a; }\n"
    source += 'extern "C" __global__ void k(int *a) { a[0] = twice(21); }'
    assert run(SourceModule(source, no_extern_c=True))[0] == 42
    plain = "__global__ void k(int *a) { a[0] = 1; }"
    with pytest.raises(drv.LogicError):
        SourceModule(plain, no_extern_c=True).get_function("k")
    assert SourceModule(plain, no_extern_c=True).get_function("_Z1kPi")


def test_unmarked_functions_are_for_the_device():
    """nvcc takes an unmarked constexpr function for the device, with an option; NVRTC any unmarked
    function.
    """
    source = "constexpr int seven() { return 7; }\n__global__ void k(int *a) { a[0] = seven(); }"
    assert run(SourceModule(source, options=["--expt-relaxed-constexpr"]))[0] == 7


def test_default_flags_are_read_at_each_call(monkeypatch):
    assert value_of("VALUE", options=["-DVALUE=1"]) == 1
    monkeypatch.setattr(compiler, "DEFAULT_NVCC_FLAGS", ["-DVALUE=2"])
    assert value_of("VALUE") == 2
    compiler.DEFAULT_NVCC_FLAGS[0] = "-DVALUE=3"
    assert value_of("VALUE") == 3
    assert value_of("VALUE", options=("-DVALUE=4",)) == 4


def test_default_flags_come_from_the_environment(run_python):
    done = run_python(
        "import pycuda.compiler as c; print(c.DEFAULT_NVCC_FLAGS)",
        check=True,
        env={"PYCUDA_DEFAULT_NVCC_FLAGS": " -DA=1  -w "},
    )
    assert done.stdout == "['-DA=1', '-w']\n"


def test_callers_options_are_not_changed():
    options, include_dirs = ["-DVALUE=1"], ["/nowhere"]
    value_of("VALUE", options=options, include_dirs=include_dirs)
    assert options == ["-DVALUE=1"] and include_dirs == ["/nowhere"]


def test_compile_to_ptx():
    ptx = compile_source(DOUBLE, target="ptx", arch="sm_80")
    assert re.search(rb"^\.target sm_80$", ptx, re.M) and b".entry k(" in ptx
    assert not ptx.endswith(b"\0")


@pytest.mark.parametrize(
    "driver, newest", [((11, 4), b"7.4"), ((12, 5), b"8.5"), ((12, 8), b"8.7"), ((12, 9), b"8.8")]
)
def test_ptx_for_the_cpu_device_is_one_it_reads(driver, newest, monkeypatch):
    monkeypatch.setattr(target, "current", lambda: target.CompileTarget((7, 5), True, driver))
    assert b".version " + newest + b"\n" in compile_source(DOUBLE)


def test_virtual_architecture_gives_ptx_that_loads():
    ptx = compile_source(DOUBLE, arch="compute_75")
    assert b".target sm_75" in ptx
    assert drv.module_from_buffer(ptx).get_function("k")


def test_compile_gives_what_the_device_loads():
    code = compile_source(DOUBLE)
    assert isinstance(code, bytes) and code.startswith((b"\x7fELF", b"//"))
    assert drv.module_from_buffer(code).get_function("k")


def test_default_architecture_is_the_devices():
    major, minor = drv.Context.get_device().compute_capability()
    assert value_of("__CUDA_ARCH__") == major * 100 + minor * 10


def test_compile_plain_adds_nothing():
    ptx = compiler.compile_plain(DOUBLE, ["-arch", "compute_80"], False, "nvcc", None, target="ptx")
    assert b".entry _Z1kPf(" in ptx and b".target sm_80" in ptx


def test_bad_target():
    with pytest.raises(ValueError, match="cubin, ptx or fatbin"):
        compile_source(DOUBLE, target="obj")


@pytest.mark.parametrize(
    "arch, warns", [("sm_121", True), ("sm_100a", True), ("sm_75", False), ("compute_75", False)]
)
def test_warning_for_an_architecture_beyond_the_device(arch, warns):
    module = compiler.CudaModule()
    has = drv.Context.get_device().compute_capability()
    if warns and has >= (10, 0):
        pytest.skip("the device is newer")
    if warns:
        with pytest.warns(UserWarning, match=f"architecture {arch}"):
            module._warn_of_arch(arch)
    else:
        module._warn_of_arch(arch)


def test_lines_are_those_of_a_source_without_a_folder():
    """The code names the source kernel.cu, without the current folder: there is no such file in it."""
    ptx = compile_source(DOUBLE, options=["-lineinfo"], target="ptx", cache_dir=False)
    assert b'.file\t1 "kernel.cu"' in ptx


def test_keep_leaves_the_files(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert SourceModule(DOUBLE, keep=True).get_function("k")
    folder = re.search(r"compiler output in (\S+)", capsys.readouterr().out)[1]
    assert os.path.dirname(folder) == str(tmp_path)
    with open(os.path.join(folder, "kernel.cu")) as file:
        assert DOUBLE in file.read()
    assert any(name.endswith((".cubin", ".ptx")) for name in os.listdir(folder))


def test_debugging_compiles_for_the_debugger(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    before = compile_source(DOUBLE, target="ptx")
    drv.set_debugging()
    try:
        assert drv.CUDA_DEBUGGING is True
        ptx = compile_source(DOUBLE, target="ptx")
    finally:
        drv.set_debugging(False)
    assert b".target" in before and b"debug" not in before.split(b".target")[1].split(b"\n")[0]
    assert re.search(rb"^\.target sm_\d+, debug$", ptx, re.M)
    assert "*** compiler output in /" in capsys.readouterr().out
    assert compile_source(DOUBLE, target="ptx") == before


DEBUGGED = """
// Two lines of the user's, then a kernel.
__global__ void k(int *a)
{
    a[0] = 41;
    a[0] += 1;
}
"""


@pytest.mark.parametrize("name", ["nvrtc", "nvcc"])
def test_a_debugger_finds_the_users_lines(request, monkeypatch, capsys, tmp_path, name):
    """The lines in the code are those of a file that exists and has the source as the user wrote it."""
    if name == "nvcc":
        request.getfixturevalue("nvcc")
    monkeypatch.setenv("PYCUDA_COMPILER", "nvcc" if name == "nvcc" else "")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    drv.set_debugging()
    try:
        ptx = compile_source(DEBUGGED, target="ptx")
    finally:
        drv.set_debugging(False)
    files = dict(re.findall(rb'^\s*\.file\s+(\d+) "([^"]+)"', ptx, re.M))
    lines = {
        (files[number], int(line)) for number, line in re.findall(rb"^\s*\.loc\s+(\d+) (\d+)", ptx, re.M)
    }
    (path,) = {path for path, line in lines if line == 5}
    with open(path) as file:
        text = file.read().splitlines()
    assert text == DEBUGGED.splitlines() and text[4] == "    a[0] = 41;" and (path, 6) in lines
    assert os.path.dirname(path.decode()) in capsys.readouterr().out


def test_output_of_a_successful_compilation_is_a_warning():
    source = "__global__ void k(int *a) { int unused_number; a[0] = 1; }"
    with pytest.warns(UserWarning, match=r"CUDA compiler succeeded(.|\n)*unused_number") as caught:
        SourceModule(source, cache_dir=False)
    assert caught[0].filename == __file__


def test_second_identical_module_is_not_compiled(monkeypatch):
    source = f"// {os.urandom(8).hex()}\n{DOUBLE}"
    SourceModule(source)
    monkeypatch.setattr("pycuda._compile.build.run", None)
    assert SourceModule(source).get_function("k")


def test_import_is_light(run_python):
    program = """
        import sys
        import numpy, pycuda  # an editable install brings its own loader with the first import
        before = set(sys.modules)
        import pycuda.driver, pycuda.compiler
        heavy = ("cuda.pathfinder", "mako", "asyncio", "subprocess", "tempfile")
        print([name for name in heavy if name in sys.modules and name not in before])
    """
    assert run_python(program, check=True, fresh=True).stdout == "[]\n"


def test_a_compiler_in_a_usual_place_is_found_quickly(run_python):
    """cuda.pathfinder, whose import is slow, is not imported. It is only needed if one of CUDA's headers is
    missing: then the test is skipped.
    """
    program = """
        import os, sys
        import pycuda.autoinit, pycuda.compiler
        from pycuda._compile import finder
        pycuda.compiler.SourceModule("__global__ void k() {}", cache_dir=False)
        (found,) = finder._found.values()
        headers = [row[1] for row in finder._HEADERS]
        print(all(any(os.path.isfile(os.path.join(f, h)) for f in found.folders) for h in headers))
        print("cuda.pathfinder" in sys.modules)
    """
    are_headers_complete, is_pathfinder_imported = run_python(program, check=True).stdout.split()
    if are_headers_complete == "False":
        pytest.skip("not all of CUDA's headers are installed")
    assert is_pathfinder_imported == "False"


WRONG_ARGUMENTS = [
    ({"source": None}, "source is None"),
    ({"source": 5}, "source is 5"),
    ({"source": ["x"]}, "source is .'x'."),
    ({"options": [None]}, r"options.0. is None"),
    ({"options": [b"-O3"]}, r"options.0. is b'-O3'"),
    ({"options": 5}, "options is 5"),
    ({"options": {"-O3": 1}}, "options is "),
    ({"include_dirs": [None]}, r"include_dirs.0. is None"),
    ({"include_dirs": 5}, "include_dirs is 5"),
    ({"arch": 75}, "arch is 75"),
    ({"code": 75}, "code is 75"),
    ({"nvcc": None}, "nvcc is None"),
    ({"cache_dir": True}, "cache_dir is True"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG_ARGUMENTS, ids=lambda value: str(value))
@pytest.mark.parametrize("call", [SourceModule, compile_source, compiler.DynamicSourceModule])
def test_argument_of_the_wrong_type(call, arguments, message):
    with pytest.raises(TypeError, match=message + ".*it must be"):
        call(**{"source": DOUBLE, **arguments})


def test_a_string_is_one_option_and_one_folder(tmp_path):
    (tmp_path / "here.h").write_text("#define HERE 1\n")
    source = '#include "here.h"\n#if !HERE || !THERE\n#error\n#endif\n' + DOUBLE
    for folder in (tmp_path, str(tmp_path), bytes(tmp_path), [tmp_path]):
        assert SourceModule(source, options="-DTHERE", include_dirs=folder).get_function("k")
    module = compiler.DynamicModule(include_dirs=str(tmp_path)).add_source(source, nvcc_options="-DTHERE")
    assert module.link().get_function("k")
    plain = compiler.compile_plain(DOUBLE, "-DTHERE", False, "nvcc", None, target="ptx")
    assert plain == compiler.compile_plain(DOUBLE, ["-DTHERE"], False, "nvcc", None, target="ptx")
