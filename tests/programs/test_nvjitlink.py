"""The library that stands in for nvJitLink: a program in C that links PTX with it and runs the result, its
errors, and LTO-IR, which it has NVIDIA's library translate to PTX."""

import ctypes
import os
import subprocess

import pytest
from cuda_cpu import preload, run

from pycuda import cpu

pytestmark = pytest.mark.cpu("the folder of the CPU device's libraries")

KERNEL = """.version 7.0
.target sm_50
.address_size 64
.extern .func (.param .b32 result) other(.param .b32 x);
.visible .entry fill(.param .u64 to) {
    .reg .b32 %r<2>; .reg .b64 %d<3>; .param .b32 given, taken;
    mov.u32 %r0, %tid.x;
    st.param.b32 [given], %r0;
    call (taken), other, (given);
    ld.param.b32 %r1, [taken];
    ld.param.u64 %d0, [to];
    mul.wide.u32 %d1, %r0, 4;
    add.u64 %d2, %d0, %d1;
    st.global.u32 [%d2], %r1;
    ret;
}
"""
OTHER = """.version 7.0
.target sm_50
.address_size 64
.visible .func (.param .b32 result) other(.param .b32 x) {
    .reg .b32 %r<2>;
    ld.param.b32 %r0, [x];
    add.s32 %r1, %r0, 40;
    st.param.b32 [result], %r1;
    ret;
}
"""

PROGRAM = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cuInit(unsigned), cuCtxCreate_v2(void **, unsigned, int), cuCtxSynchronize(void);
int cuModuleLoadData(void **, const void *), cuModuleGetFunction(void **, void *, const char *);
int cuMemAlloc_v2(unsigned long long *, size_t), cuMemcpyDtoH_v2(void *, unsigned long long, size_t);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                   void **, void **);

#define CHECK(call) do { int code = call; if (code) return printf("%s: %d\n", #call, code), 3; } while (0)
#define PASTE(name, version) __nvJitLink##name##_##version
#define NAME(name, version) PASTE(name, version)
#define F(name) NAME(name, VERSION)
int F(Create)(void **, unsigned, const char **), F(Complete)(void *), F(Destroy)(void **);
int F(AddData)(void *, int, const void *, size_t, const char *), F(AddFile)(void *, int, const char *);
int F(GetLinkedCubinSize)(void *, size_t *), F(GetLinkedCubin)(void *, void *);

int main(int count, char **files)
{
    const char *options[] = {"-arch=sm_90", "-O3"};
    void *link, *context, *module, *function;
    unsigned long long memory;
    unsigned out[3];
    size_t size;
    CHECK(F(Create)(&link, 2, options));
    for (int i = 1; i < count; i++) CHECK(F(AddFile)(link, 2, files[i]));
    CHECK(F(Complete)(link));
    CHECK(F(GetLinkedCubinSize)(link, &size));
    char *cubin = malloc(size);
    CHECK(F(GetLinkedCubin)(link, cubin));
    CHECK(F(Destroy)(&link));
    CHECK(cuInit(0));
    CHECK(cuCtxCreate_v2(&context, 0, 0));
    CHECK(cuModuleLoadData(&module, cubin));
    CHECK(cuModuleGetFunction(&function, module, "fill"));
    CHECK(cuMemAlloc_v2(&memory, sizeof out));
    void *parameters[] = {&memory};
    CHECK(cuLaunchKernel(function, 1, 1, 1, 3, 1, 1, 0, 0, parameters, 0));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH_v2(out, memory, sizeof out));
    printf("%u %u %u\n", out[0], out[1], out[2]);
    return link != NULL;
}
"""

# nvJitLinkResult and nvJitLinkInputType
UNRECOGNIZED_OPTION, MISSING_ARCH, INVALID_INPUT, PTX_COMPILE = 1, 2, 3, 4
INTERNAL, UNRECOGNIZED_INPUT, INCOMPATIBLE_OPTIONS, UNRECOGNIZED_ARCH, NO_LTO = 6, 8, 11, 16, 18
CUBIN, PTX, LTOIR, ANY = 1, 2, 3, 10
MAJORS = [12, 13]


def library_path(major):
    """The path of the stand-in for nvJitLink of that version."""
    return os.path.join(cpu.path(), f"libnvJitLink.so.{major}")


class Link:
    """A link by the functions of nvJitLink. created: the result of nvJitLinkCreate."""

    def __init__(self, library, *options):
        self.library, self.handle = library, ctypes.c_void_p()
        texts = (ctypes.c_char_p * len(options))(*map(str.encode, options))
        self.created = library.nvJitLinkCreate(ctypes.byref(self.handle), len(options), texts)

    def add(self, data, kind=PTX, name=b"input"):
        """Adds an input; returns the code."""
        data = data.encode() if isinstance(data, str) else data
        return self.library.nvJitLinkAddData(self.handle, kind, data, ctypes.c_size_t(len(data)), name)

    def complete(self):
        """Links what was added; returns the code."""
        return self.library.nvJitLinkComplete(self.handle)

    def text(self, size_function, function):
        """The bytes that `function` writes, as many as `size_function` says."""
        size = ctypes.c_size_t()
        assert getattr(self.library, size_function)(self.handle, ctypes.byref(size)) == 0
        text = ctypes.create_string_buffer(size.value + 1)
        assert getattr(self.library, function)(self.handle, text) == 0
        return text.raw[: size.value]

    def log(self):
        """The error log, which ends with a zero byte unless it is empty."""
        text = self.text("nvJitLinkGetErrorLogSize", "nvJitLinkGetErrorLog")
        assert not text or text.endswith(b"\0")
        return text[:-1].decode()

    def cubin(self):
        """What was linked."""
        return self.text("nvJitLinkGetLinkedCubinSize", "nvJitLinkGetLinkedCubin")


@pytest.fixture(params=MAJORS)
def link(request):
    """A function that makes a Link with the given options; all are destroyed after the test."""
    library, links = ctypes.CDLL(library_path(request.param)), []

    def make(*options):
        links.append(Link(library, *options))
        return links[-1]

    yield make
    for each in links:
        assert library.nvJitLinkDestroy(ctypes.byref(each.handle)) == 0 and not each.handle


def major_of(made):
    """The major version that the library of a Link reports."""
    major, minor = ctypes.c_uint(), ctypes.c_uint()
    assert made.library.nvJitLinkVersion(ctypes.byref(major), ctypes.byref(minor)) == 0
    return major.value


@pytest.mark.parametrize("version", ["12_0", "12_9", "13_0", "13_9"])
def test_a_program_that_is_linked_with_it(tmp_path, compiler, version):
    """The headers of each version give the functions that version's names."""
    (tmp_path / "program.c").write_text(PROGRAM)
    library = f"-l:libnvJitLink.so.{version[:2]}"
    command = [compiler, f"-DVERSION={version}", "program.c", "-o", "program", f"-L{cpu.path()}", library]
    command += ["-l:libcuda.so.1", "-Wl,--allow-shlib-undefined"]
    subprocess.run(command, cwd=tmp_path, check=True)
    (tmp_path / "kernel.ptx").write_text(KERNEL)
    (tmp_path / "other.ptx").write_text(OTHER)
    done = run(tmp_path / "program", tmp_path / "kernel.ptx", tmp_path / "other.ptx")
    assert (done.stdout, done.stderr, done.returncode) == ("40 41 42\n", "", 0)


def test_a_result_can_be_linked_again(link):
    first, second = link("-arch=sm_90"), link("-arch=sm_75", "-maxrregcount=32", "-lineinfo", "-Xptxas=-v")
    assert first.add(OTHER) == 0 and first.complete() == 0
    assert second.add(KERNEL + "\0", ANY) == 0 and second.add(first.cubin(), CUBIN) == 0
    assert second.complete() == 0 and second.log() == ""
    assert len(second.cubin()) > len(first.cubin()) + len(KERNEL)


def test_an_undefined_function_is_named(link):
    """With -r, which version 13 has, it is not an error."""
    made = link("-arch=sm_90")
    assert made.add(KERNEL, name=b"main.ptx") == 0
    assert made.complete() == INTERNAL
    assert "Undefined reference to 'other' in 'main.ptx'" in made.log()
    if major_of(made) >= 13:
        relocatable = link("-arch=sm_90", "-r")
        assert relocatable.add(KERNEL) == 0 and relocatable.complete() == 0


def test_two_definitions_are_named(link):
    made = link("-arch=sm_90")
    assert made.add(OTHER, name=b"one") == 0
    assert made.add(OTHER, name=b"two") == INTERNAL
    assert "Multiple definition of 'other' in 'two', first defined in 'one'" in made.log()


@pytest.mark.parametrize(
    ("data", "kind", "code", "text"),
    [
        (OTHER.replace("add.s32", "addd.s32"), PTX, PTX_COMPILE, "addd"),
        (OTHER.replace("sm_50", "sm_100"), PTX, UNRECOGNIZED_INPUT, "sm_100"),
        (
            b"\x7fELF\2\1\1".ljust(18, b"\0") + b"\xbe\0".ljust(80, b"\0"),
            CUBIN,
            UNRECOGNIZED_INPUT,
            "machine code",
        ),
        (b"no code at all", ANY, UNRECOGNIZED_INPUT, "neither PTX nor a fat binary"),
        (b"\xedCN\x7f".ljust(64, b"\0"), LTOIR, INVALID_INPUT, "LTO-IR: the option -lto is missing"),
        (OTHER, 99, None, "of type 99"),
        (b"", PTX, INVALID_INPUT, ""),
    ],
)
def test_inputs_that_are_refused(link, data, kind, code, text):
    made = link("-arch=sm_90")
    result = made.add(data, kind)
    if kind == LTOIR and major_of(made) >= 13:
        code = NO_LTO
    assert result == code if code else result
    assert text in made.log()


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        ([], MISSING_ARCH, "-arch=sm_NN is missing"),
        (["-arch=sm_90", "-O1"], UNRECOGNIZED_OPTION, "unrecognized option: -O1"),
        (["-arch=sm_90", "--verbose"], UNRECOGNIZED_OPTION, "unrecognized option: --verbose"),
        (["-arch=hopper"], UNRECOGNIZED_ARCH, "-arch=hopper"),
        (["-arch=sm_90x"], UNRECOGNIZED_ARCH, "-arch=sm_90x"),
        (["-arch=sm_90", "-ptx"], INCOMPATIBLE_OPTIONS, "-ptx requires -lto"),
    ],
)
def test_options_that_are_refused(link, options, code, text):
    made = link(*options)
    only_in_13 = code > 9 and major_of(made) < 13
    assert made.created == (INVALID_INPUT if only_in_13 else code)
    assert text in made.log()
    assert made.add(OTHER) == made.complete() == INTERNAL


# A library in place of NVIDIA's: it returns as PTX what follows the magic number of an LTO-IR.
NVIDIAS = r"""
#include <string.h>
static char text[4096];
static size_t length;
#define F(name) int nvJitLink##name
F(Version)(unsigned *major, unsigned *minor) { *major = 13; *minor = 4; return 0; }
F(Create)(void **handle, unsigned count, const char **options)
{
    length = 0;
    *handle = text;
    return count != 3 || strcmp(options[0], "-arch=sm_90") || strcmp(options[1], "-lto")
           || strcmp(options[2], "-ptx");
}
F(Destroy)(void **handle) { *handle = 0; return 0; }
F(AddData)(void *handle, int type, const void *data, size_t size, const char *name)
{
    memcpy(text + length, (const char *)data + 4, size - 4); /* without the magic number */
    length += size - 4;
    return type == 3 && size > 8 ? 0 : 5;
}
F(AddFile)(void *handle, int type, const char *path) { return 6; }
F(Complete)(void *handle) { return strstr(text, ".version") ? 0 : 5; }
F(GetLinkedCubinSize)(void *handle, size_t *size) { return 6; }
F(GetLinkedCubin)(void *handle, void *out) { return 6; }
F(GetLinkedPtxSize)(void *handle, size_t *size) { *size = length + 1; return 0; }
F(GetLinkedPtx)(void *handle, char *out) { memcpy(out, text, length); out[length] = 0; return 0; }
F(GetLinkedLTOIRSize)(void *handle, size_t *size) { return 6; }
F(GetLinkedLTOIR)(void *handle, void *out) { return 6; }
F(GetErrorLogSize)(void *handle, size_t *size) { *size = sizeof "what NVIDIA's says"; return 0; }
F(GetErrorLog)(void *handle, char *log) { strcpy(log, "what NVIDIA's says"); return 0; }
F(GetInfoLogSize)(void *handle, size_t *size) { *size = 0; return 0; }
F(GetInfoLog)(void *handle, char *log) { return 0; }
"""

LTO_PROGRAM = """
import ctypes, sys
sys.path.insert(0, {tests!r})
from test_nvjitlink import KERNEL, OTHER, PTX, LTOIR, Link

library = ctypes.CDLL({library!r}, mode=ctypes.RTLD_GLOBAL)
major, minor = ctypes.c_uint(), ctypes.c_uint()
library.nvJitLinkVersion(ctypes.byref(major), ctypes.byref(minor))
print(major.value, minor.value)
link = Link(library, "-arch=sm_90", "-lto")
print(link.created, link.add(KERNEL), link.add(b"\\xedCN\\x7f" + OTHER.encode(), LTOIR), link.complete())
print(OTHER.encode() in link.cubin(), KERNEL.encode() in link.cubin())
wrong = Link(library, "-arch=sm_90", "-lto")
print(wrong.created, wrong.add(b"\\xedCN\\x7f" + b"damaged", LTOIR), wrong.complete(), wrong.log())
as_ptx = Link(library, "-arch=sm_90", "-lto", "-ptx")
print(as_ptx.add(b"\\xedCN\\x7f" + OTHER.encode(), LTOIR), as_ptx.complete())
print(as_ptx.text("nvJitLinkGetLinkedPtxSize", "nvJitLinkGetLinkedPtx") == OTHER.encode() + b"\\0")
"""
LTO_ANSWERS = "0 0 0 0\nTrue True\n0 0 5 what NVIDIA's says\n\n0 0\nTrue\n"


@pytest.fixture
def nvidias(tmp_path, compiler):
    """The path of the library of NVIDIAS, compiled."""
    folder = tmp_path / "toolkit"
    folder.mkdir()
    (folder / "nvjitlink.c").write_text(NVIDIAS)
    (folder / "nvjitlink.map").write_text("libnvJitLink.so.13 { global: nvJitLink*; local: *; };")
    made = "libnvJitLink.so.13"
    command = [compiler, "-shared", "-fPIC", "-w", "nvjitlink.c", "-o", made, f"-Wl,-soname,{made}"]
    subprocess.run([*command, "-Wl,--version-script=nvjitlink.map"], cwd=folder, check=True)
    return str(folder / made)


def run_python_on_cpu_device(run_python, source, **environment):
    """What the program prints, with the CPU device's libraries on its path."""
    path = os.pathsep.join(filter(None, [cpu.path(), environment.pop("LD_LIBRARY_PATH", "")]))
    return run_python(source, env={"LD_LIBRARY_PATH": path, **environment}, fresh=True, check=True).stdout


def test_lto_ir_by_the_library_that_the_program_has_opened(run_python, nvidias):
    """The program opens NVIDIA's by its path, as packages do: it gets the functions of the stand-in, and
    NVIDIA's version number."""
    source = LTO_PROGRAM.format(tests=os.path.dirname(__file__), library=nvidias)
    preloaded = preload(os.path.join(cpu.path(), "libcuda-preload.so"))
    answers = run_python_on_cpu_device(run_python, source, LD_PRELOAD=preloaded)
    assert answers == "13 4\n" + LTO_ANSWERS


def test_lto_ir_by_a_library_on_the_path(run_python, nvidias):
    source = LTO_PROGRAM.format(tests=os.path.dirname(__file__), library="libnvJitLink.so.13")
    for environment in {"LD_LIBRARY_PATH": os.path.dirname(nvidias)}, {"CUDA_HOME": os.path.dirname(nvidias)}:
        if "CUDA_HOME" in environment:
            folder = os.path.join(environment["CUDA_HOME"], "lib64")
            os.mkdir(folder)
            os.rename(nvidias, os.path.join(folder, "libnvJitLink.so.13"))
        answers = run_python_on_cpu_device(run_python, source, **environment)
        assert answers == "13 0\n" + LTO_ANSWERS
