"""Programs under cuda-cpu, the command that runs them with the CPU device's libraries; one in C."""

import os
import subprocess

from pycuda import cpu

RUNNER = os.path.join(cpu.path(), "cuda-cpu")

# Prints the number of devices, the capability, and 40, 41, 42, which a kernel has stored.
SOURCE = r"""
#include <stdio.h>

int cuInit(unsigned), cuDeviceGet(int *, int), cuDeviceGetCount(int *), cuCtxSynchronize(void);
int cuDeviceGetAttribute(int *, int, int), cuCtxCreate_v2(void **, unsigned, int);
int cuModuleLoadData(void **, const void *), cuModuleGetFunction(void **, void *, const char *);
int cuMemAlloc_v2(unsigned long long *, size_t), cuMemcpyDtoH_v2(void *, unsigned long long, size_t);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                   void **, void **);

#define CHECK(call) do { int code = call; if (code) return printf("%s: %d\n", #call, code), 3; } while (0)

static const char ptx[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry fill(.param .u64 to) {\n"
    ".reg .b32 %r<2>; .reg .b64 %d<3>;\n"
    "ld.param.u64 %d0, [to]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.u64 %d2, %d0, %d1;\n"
    "add.u32 %r1, %r0, 40; st.global.u32 [%d2], %r1; ret;\n}\n";

int main(void)
{
    int count, device, major;
    void *context, *module, *function;
    unsigned long long memory;
    unsigned out[3];
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&count));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDeviceGetAttribute(&major, 75, device)); // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
    CHECK(cuCtxCreate_v2(&context, 0, device));
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&function, module, "fill"));
    CHECK(cuMemAlloc_v2(&memory, sizeof out));
    void *parameters[] = {&memory};
    CHECK(cuLaunchKernel(function, 1, 1, 1, FAULT ? 64 : 3, 1, 1, 0, 0, parameters, 0));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH_v2(out, memory, sizeof out));
    printf("%d %d %u %u %u\n", count, major, out[0], out[1], out[2]);
    return 0;
}
"""


def run(*arguments, command=(RUNNER,), cwd=None, timeout=60, **environment):
    """The finished process of cuda-cpu, or of the command in its place, with these arguments. environment:
    changes of the environment, which has none of the CPU device's settings otherwise.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYCUDA_CPU_")}
    command, environment = [*command, *map(str, arguments)], {**kept, **environment}
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=timeout, env=environment)


def compile_program(compiler, folder, libraries, fault=0):
    """The path of SOURCE's program, linked with the libraries in that folder. fault=1: its kernel writes past
    its memory.
    """
    (folder / "fill.c").write_text(SOURCE)
    made = folder / f"fill_{fault}"
    command = [compiler, f"-DFAULT={fault}", "fill.c", "-o", made, f"-L{libraries}", "-l:libcuda.so.1"]
    subprocess.run([*command, "-Wl,--allow-shlib-undefined"], cwd=folder, check=True)
    return made


def preload(*libraries):
    """LD_PRELOAD with these libraries after those that it has."""
    before = os.environ.get("LD_PRELOAD", "").replace(" ", ":")
    return ":".join(filter(None, [before, *libraries]))
