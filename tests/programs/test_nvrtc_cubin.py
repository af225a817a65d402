"""Programs under cuda-cpu that get a cubin from NVRTC: it is PTX, which the CPU device loads in its place."""

import os
import subprocess

import pytest
from cuda_cpu import RUNNER, preload, run

from pycuda import cpu
from pycuda._compile.finder import find_nvrtc

pytestmark = pytest.mark.cpu("the folder of the CPU device's libraries")

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

#ifdef LINKED
#define USE(name, ...) int name(__VA_ARGS__);
#define OPEN
#else
#define USE(name, ...) static int (*name)(__VA_ARGS__);
#define OPEN open_library();
#endif
USE(nvrtcCreateProgram, void **, const char *, const char *, int, const char **, const char **)
USE(nvrtcCompileProgram, void *, int, const char **)
USE(nvrtcGetCUBINSize, void *, size_t *)
USE(nvrtcGetCUBIN, void *, char *)
USE(nvrtcGetPTXSize, void *, size_t *)
USE(nvrtcDestroyProgram, void **)

#ifndef LINKED
static void open_library(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW);
    *(void **)&nvrtcCreateProgram = dlsym(library, "nvrtcCreateProgram");
    *(void **)&nvrtcCompileProgram = dlsym(library, "nvrtcCompileProgram");
    *(void **)&nvrtcGetCUBINSize = dlsym(library, "nvrtcGetCUBINSize");
    *(void **)&nvrtcGetCUBIN = dlsym(library, "nvrtcGetCUBIN");
    *(void **)&nvrtcGetPTXSize = dlsym(library, "nvrtcGetPTXSize");
    *(void **)&nvrtcDestroyProgram = dlsym(library, "nvrtcDestroyProgram");
}
#endif

static const char source[] =
    "extern \"C\" __global__ void fill(int *out) { out[threadIdx.x] = threadIdx.x + 40; }";

static int compile(const char *option, char **cubin, size_t *ptx_size)
{
    void *program;
    size_t size;
    CHECK(nvrtcCreateProgram(&program, source, "fill.cu", 0, 0, 0));
    CHECK(nvrtcCompileProgram(program, 1, &option));
    CHECK(nvrtcGetCUBINSize(program, &size));
    CHECK(nvrtcGetPTXSize(program, ptx_size));
    *cubin = size ? malloc(size) : 0;
    if (size) CHECK(nvrtcGetCUBIN(program, *cubin));
    if (size) printf("%d ", size == *ptx_size && strlen(*cubin) == size - 1 && strstr(*cubin, ".version"));
    return nvrtcDestroyProgram(&program);
}

int main(void)
{
    char *cubin, *nothing;
    void *context, *module, *function;
    unsigned long long memory;
    unsigned out[3];
    size_t size;
    OPEN
    CHECK(compile("-arch=sm_80", &cubin, &size));
    CHECK(compile("-arch=compute_80", &nothing, &size));
    if (nothing) return puts("a cubin of a virtual architecture"), 3;
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
    return 0;
}
"""


@pytest.fixture(scope="module")
def nvrtc():
    """The path of the NVRTC that PyCUDA would use."""
    found, problem = find_nvrtc(None, None)
    assert found, problem
    return found.path


def build(compiler, folder, source, *flags):
    """The path of the executable, compiled in the folder."""
    (folder / "program.c").write_text(source)
    subprocess.run([compiler, "-w", "program.c", "-o", "program", *flags], cwd=folder, check=True)
    return folder / "program"


DRIVER = ["-l:libcuda.so.1", "-Wl,--allow-shlib-undefined"]


def test_a_program_that_opens_nvrtc(tmp_path, compiler, nvrtc):
    driver = [f"-L{cpu.path()}", *DRIVER]
    program = build(compiler, tmp_path, PROGRAM, f'-DLIBRARY="{nvrtc}"', *driver, "-ldl")
    done = run(program)
    assert (done.stdout, done.stderr, done.returncode) == ("1 40 41 42\n", "", 0)


def test_a_program_that_is_linked_with_nvrtc(tmp_path, compiler, nvrtc):
    if not os.path.isabs(nvrtc):
        pytest.skip("NVRTC is found by its name alone")
    folder, file = os.path.split(nvrtc)
    libraries = [f"-L{folder}", f"-l:{file}", f"-Wl,-rpath,{folder}", f"-L{cpu.path()}", *DRIVER]
    done = run(build(compiler, tmp_path, PROGRAM, "-DLINKED", *libraries))
    assert (done.stdout, done.stderr, done.returncode) == ("1 40 41 42\n", "", 0)


# A library that replaces atoi by a function that calls the next one, and a program that calls atoi.
NEXT = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
int atoi(const char *text)
{
    int (*next)(const char *) = 0;
    *(void **)&next = dlsym(RTLD_NEXT, "atoi");
    return next(text) + 1;
}
"""
CALLS = r"""
#include <stdio.h>
#include <stdlib.h>
int main(void) { printf("%d\n", atoi("41")); return 0; }
"""


@pytest.mark.parametrize("how", ["linked", "preloaded"])
def test_lookups_of_the_next_function_start_at_the_library_that_calls_dlsym(tmp_path, compiler, how):
    """A library that replaces a function of the C library finds that one by RTLD_NEXT, not itself, although
    cuda-cpu's preloaded library replaces dlsym."""
    (tmp_path / "next.c").write_text(NEXT)
    command = [compiler, "-shared", "-fPIC", "-fno-builtin", "next.c", "-o", "libnext.so", "-ldl"]
    subprocess.run(command, cwd=tmp_path, check=True)
    library = str(tmp_path / "libnext.so")
    linked = ["-Wl,--no-as-needed", library, f"-Wl,-rpath,{tmp_path}"] if how == "linked" else []
    program = build(compiler, tmp_path, CALLS, "-fno-builtin", *linked)
    done = run(program, LD_PRELOAD=preload(library) if how == "preloaded" else preload())
    assert (done.stdout, done.stderr) == ("42\n", "")


def test_what_was_preloaded_stays(tmp_path):
    """cuda-cpu adds its library to LD_PRELOAD; one cuda-cpu may run another."""
    before = os.environ.get("LD_PRELOAD", "")
    done = run("sh", "-c", 'echo "$LD_PRELOAD"')
    assert done.stdout == ":".join(filter(None, [before, cpu.path() + "/libcuda-preload.so"])) + "\n"
    assert done.stderr == ""
    assert run(RUNNER, "sh", "-c", "true").stderr == ""
