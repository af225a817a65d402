"""Pools report by NVTX which bytes of their blocks are in use, for memory checkers."""

import shutil
import subprocess
import sys

import pytest

# An NVTX tool that prints its calls: "heap" is a block of the driver's, "use" and "end" a region in it. The
# first numbers say whether domain (which is 7), size of the structure and address are right, the last is a
# size or count.
TOOL = """
#include <stdio.h>
#include "abi/nvtx_memory.h"

static nvtxDomainHandle_t create_domain(const char *name)
{
    printf("domain %s\\n", name);
    return (nvtxDomainHandle_t)7;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t tables)
{
    const NvtxExportTableCallbacks *callbacks = tables(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table;
    unsigned size;
    for (int module = 1; module < NVTX_CB_MODULE_SIZE; module++) {
        if (!callbacks->GetModuleFunctionTable(module, &table, &size)) return 0;
        for (unsigned i = 1; i < size; i++) *table[i] = NULL;
        if (table[0] || table[size]) return 0;
    }
    if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_SIZE, &table, &size)) return 0;
    callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size);
    *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create_domain;
    return 1;
}

static nvtxMemHeapHandle_t heap(nvtxDomainHandle_t domain, const nvtxMemHeapDesc_t *heap)
{
    const nvtxMemVirtualRangeDesc_t *range = heap->typeSpecificDesc;
    int is_whole = heap->structSize == sizeof *heap;
    printf("heap %d %d %zu\\n", domain == (nvtxDomainHandle_t)7, is_whole, range->size);
    return (nvtxMemHeapHandle_t)range->ptr;
}

static void use(nvtxDomainHandle_t domain, const nvtxMemRegionsRegisterBatch_t *batch)
{
    const nvtxMemVirtualRangeDesc_t *range = batch->regionDescElements;
    printf("use %d %d %zu\\n", domain == (nvtxDomainHandle_t)7, range->ptr == batch->heap, range->size);
}

static void end(nvtxDomainHandle_t domain, const nvtxMemRegionsUnregisterBatch_t *batch)
{
    printf("end %d %zu\\n", domain == (nvtxDomainHandle_t)7, batch->refCount);
    fflush(stdout);
}

int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *info)
{
    if (info->moduleId != NVTX_EXT_MODULEID_MEM || info->structSize != sizeof *info) return 0;
    intptr_t *slots = info->segments->functionSlots;
    for (size_t i = 0; i < info->segments->slotCount; i++) slots[i] = 1;
    slots[NVTX3EXT_CBID_nvtxMemHeapRegister] = (intptr_t)heap;
    slots[NVTX3EXT_CBID_nvtxMemRegionsRegister] = (intptr_t)use;
    slots[NVTX3EXT_CBID_nvtxMemRegionsUnregister] = (intptr_t)end;
    return 1;
}
"""

PROGRAM = """
import ctypes
import os

tool = ctypes.CDLL(os.environ["TOOL"])
import pycuda.autoinit
import pycuda.driver as drv

pool = drv.DeviceMemoryPool()
first = pool.allocate(100)
first.free()
again, other = pool.allocate(102), pool.allocate(0)
again.free()
other.free()
pool.free_held()
drv.ManagedMemoryPool().allocate(100).free()
ctypes.CDLL(None).fflush(None)
"""

# A block of 103 bytes is used twice; one of 1 byte, for no bytes, has no region.
REPORTED = """domain pycuda
heap 1 1 103
use 1 1 100
end 1 1
use 1 1 102
heap 1 1 1
end 1 1
"""


def test_what_a_tool_reads(compiled, run_python):
    """The requested bytes are in use from allocate() to free(); of an allocation of 0 bytes nothing is
    reported."""
    tool = compiled(TOOL)
    done = run_python(PROGRAM, env={"TOOL": tool, "NVTX_INJECTION64_PATH": tool}, check=True)
    assert done.stdout == REPORTED


@pytest.mark.parametrize(
    "changed, options",
    [
        ({"NVTX_INJECTION64_PATH": None}, []),
        ({"NVTX_INJECTION64_PATH": ""}, []),
        ({"NVTX_INJECTION64_PATH": "/not/there.so"}, []),
        ({"PYCUDA_POOL": "0"}, []),
        ({}, ["-DInitializeInjectionNvtxExtension=other"]),
    ],
)
def test_without_a_tool_for_memory_nothing_is_reported(compiled, run_python, changed, options):
    """No tool, a missing one, no pooling, a tool without the extension for memory."""
    tool = compiled(TOOL, *options)
    environment = {"TOOL": tool, "NVTX_INJECTION64_PATH": tool, **changed}
    done = run_python(PROGRAM, env=environment, check=True)
    assert done.stdout in ("", "domain pycuda\n")


WORK = """
import ctypes
import os

tool = ctypes.CDLL(os.environ["TOOL"])
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda import gpuarray, tools

stream = drv.Stream()
order = []
a = gpuarray.empty(100, np.float32)
pool = tools.default_memory_pool()
block = pool.allocate(400, stream)
stream.add_callback(lambda *_: order.append("work"))
block.free()
order.append("end")
with stream.capture() as graph:
    captured = pool.allocate(400, stream)
    captured.free()
assert (a * 2.0 + 1).get().shape == (100,)
print(order)
"""


def test_free_waits_for_the_work_on_the_block(compiled, run_python):
    """A checker compares an access with the regions at the time of the access, so that the end of a region is
    reported once the work is done. In a captured stream there is no wait, which would end the capture."""
    tool = compiled(TOOL)
    done = run_python(WORK, env={"TOOL": tool, "NVTX_INJECTION64_PATH": tool}, check=True)
    assert "['work', 'end']" in done.stdout


OVERRUN = """
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule

write = SourceModule("__global__ void write(char *out, int n) { out[n] = 1; }").get_function("write")
pool = drv.DeviceMemoryPool()
block = pool.allocate(100)
write(block, np.int32(99), block=(1, 1, 1))
drv.Context.synchronize()
address = int(block)
if AFTER_FREE:
    block.free()
    write(np.uintp(address), np.int32(99), block=(1, 1, 1))
else:
    write(block, np.int32(100), block=(1, 1, 1))
drv.Context.synchronize()
"""


@pytest.mark.gpu("compute-sanitizer watches NVIDIA's own driver only")
@pytest.mark.parametrize("after_free", [False, True])
def test_compute_sanitizer_reports_wrong_accesses(tmp_path, after_free):
    """A store one byte after the 100 that were requested, in a block of 103; or a store to a freed block,
    which the pool holds."""
    checker = shutil.which("compute-sanitizer") or shutil.which("/usr/local/cuda/bin/compute-sanitizer")
    if not checker:
        pytest.skip("compute-sanitizer is not installed")
    program = tmp_path / "overrun.py"
    program.write_text(f"AFTER_FREE = {after_free}\n{OVERRUN}")
    command = [checker, "--tool", "memcheck", "--nvtx", "yes", sys.executable, str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.count("Invalid __global__ write of size 1 bytes") == 1, done.stdout + done.stderr
