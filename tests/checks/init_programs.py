"""Kernels that read what nothing has written, and similar ones that do not.

A program is a function of (kernel, module) that allocates, writes and launches; `PROGRAMS` says what the
check reports of it.
"""

import numpy as np

import pycuda.driver as drv

SOURCE = r"""
#define KERNEL extern "C" __global__ void
#define I (blockIdx.x * blockDim.x + threadIdx.x)

KERNEL copy_ints(int *to, const int *from, int count) { if (I < count) to[I] = from[I]; }
KERNEL read_all_written(int *to, const int *from, int count) { if (I < count) to[I] = from[I]; }
KERNEL read_nothing_written(int *to, const int *from, int count) { if (I < count) to[I] = from[I]; }
KERNEL read_last_unwritten(int *to, const int *from, int count) { if (I < count) to[I] = from[I]; }
KERNEL read_one_byte_unwritten(int *to, const int *from, int count) { if (I < count) to[I] = from[I]; }
KERNEL read_filled(int *to, const int *from, int count) { if (I < count) to[I] = from[I]; }
KERNEL read_filled_rows(int *to, const int *from, int count) { if (I < count) to[I] = from[I * 128]; }
KERNEL read_padding(int *to, const int *from, int count) { if (I < count) to[I] = from[I * 127]; }
KERNEL read_copied(int *to, const int *from, int count) { if (I < count) to[I] = from[I]; }
KERNEL read_copied_unwritten(int *to, const int *from, int count) { if (I < count) to[I] = from[I]; }
KERNEL read_what_a_kernel_wrote(int *to, const int *from, int count) { if (I < count) to[I] = from[I]; }
KERNEL read_freed_and_new(int *to, const int *from, int count) { if (I < count) to[I] = from[I]; }
KERNEL read_managed(int *to, const int *from, int count) { if (I < count) to[I] = from[I]; }
KERNEL read_page_locked(int *to, const int *from, int count) { if (I < count) to[I] = from[I]; }

__device__ int table[64];
KERNEL read_variable(int *to, const int *from, int count) { if (I < count) to[I] = table[I]; }

KERNEL add_to_unwritten(int *to, const int *from, int count) { atomicAdd(&to[I % 2], 1); }
KERNEL add_to_written(int *to, const int *from, int count)
{
    to[I] = 0;
    __syncthreads();
    atomicAdd(&to[I], 1);
}
KERNEL exchange_unwritten(int *to, const int *from, int count) { atomicExch(&to[I], 1); }
KERNEL store_relaxed(int *to, const int *from, int count)
{
    asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" ::"l"(&to[I]) : "memory");
    int seen;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(&to[I]) : "memory");
}
KERNEL load_relaxed_unwritten(int *to, const int *from, int count)
{
    int seen;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(&to[I]) : "memory");
    to[I] = seen;
}
KERNEL written_by_half(int *to, const int *from, int count)
{
    if (I < count / 2) to[I] = I;
    __syncthreads();
    to[I] += 1;
}
KERNEL written_by_all(int *to, const int *from, int count) { to[I] = I; __syncthreads(); to[I] += 1; }
KERNEL write_only(int *to, const int *from, int count) { if (I < count) to[I] = I; }

struct Padded { char c; int i; };
KERNEL padding_is_not_read(Padded *to, const int *from, int count)
{
    to[I].c = 1, to[I].i = 2;
    to[I].i += to[I].c;
}
KERNEL wide_read_of_padding(Padded *to, const int *from, int count)
{
    to[I].c = 1, to[I].i = 2;
    long long *whole = (long long *)&to[I];
    *whole += 1;
}

KERNEL shared_unwritten(int *to, const int *from, int count)
{
    __shared__ int part[64];
    if (threadIdx.x < 32) part[threadIdx.x] = 1;
    __syncthreads();
    to[I] = part[threadIdx.x];
}
KERNEL shared_written(int *to, const int *from, int count)
{
    __shared__ int part[64];
    part[threadIdx.x] = 1;
    __syncthreads();
    to[I] = part[threadIdx.x];
}
KERNEL shared_of_the_block_before(int *to, const int *from, int count)
{
    __shared__ int part[64];
    if (blockIdx.x == 0) part[threadIdx.x] = 1;
    __syncthreads();
    to[I] = part[threadIdx.x];
}
KERNEL shared_added_to(int *to, const int *from, int count)
{
    __shared__ int part[64];
    atomicAdd(&part[threadIdx.x], 1);
    __syncthreads();
    to[I] = part[threadIdx.x];
}

KERNEL heap_unwritten(int *to, const int *from, int count)
{
    int *own = (int *)malloc(16);
    if (own) own[0] = 1, to[I] = own[0] + own[I % 2], free(own);
}
KERNEL heap_written(int *to, const int *from, int count)
{
    int *own = (int *)malloc(16);
    if (own) own[0] = 1, to[I] = own[0], free(own);
}
"""

COUNT, BYTES = 64, 256
ONES = np.ones(COUNT, np.int32)


def launch(kernel, to, source, *, grid=1):
    """Runs a kernel with `grid` blocks of COUNT threads, until it is done."""
    kernel(to, source, np.int32(COUNT), block=(COUNT, 1, 1), grid=(grid, 1))
    drv.Context.synchronize()


def reads(prepare):
    """A program whose kernel reads 64 integers at the address that prepare(module) returns."""

    def program(kernel, module):
        to = drv.mem_alloc(BYTES)
        launch(kernel, to, prepare(module))

    return program


# Functions for reads(): each returns memory that was written in the way that its name says.


def written(module):
    return drv.to_device(ONES)


def nothing_written(module):
    return drv.mem_alloc(BYTES)


def last_unwritten(module):
    memory = drv.mem_alloc(BYTES)
    drv.memcpy_htod(memory, ONES[:-1])
    return memory


def one_byte_unwritten(module):
    memory = drv.mem_alloc(BYTES)
    drv.memcpy_htod(memory, ONES.view(np.uint8)[:-1])
    return memory


def filled(module):
    memory = drv.mem_alloc(BYTES)
    drv.memset_d16_async(memory, 7, BYTES // 2, drv.Stream())
    drv.Context.synchronize()
    return memory


def filled_rows(module):
    """64 rows of 100 bytes, 512 apart."""
    memory = drv.mem_alloc(512 * COUNT)
    drv.memset_d2d8(memory, 512, 7, 100, COUNT)
    return memory


def copied(module):
    memory, here = drv.mem_alloc(BYTES), drv.to_device(ONES)
    drv.memcpy_dtod(memory, here, BYTES)
    return memory


def copied_unwritten(module):
    memory, here = drv.mem_alloc(BYTES), last_unwritten(module)
    drv.memcpy_dtod(memory, here, BYTES)
    return memory


def kernel_wrote(module):
    memory = drv.mem_alloc(BYTES)
    launch(module.get_function("copy_ints"), memory, drv.to_device(ONES))
    return memory


def freed_and_new(module):
    """Memory at an address that was written, freed and allocated again, and not written since."""
    first = drv.to_device(ONES)
    seen = {int(first)}
    first.free()
    for _ in range(20000):  # until the device allocates at an address for the second time
        memory = drv.mem_alloc(BYTES)
        if int(memory) in seen:
            return memory
        drv.memcpy_htod(memory, ONES)
        seen.add(int(memory))
        memory.free()
    raise AssertionError("no address came again")


def managed(module):
    return drv.managed_empty(COUNT, np.int32, mem_flags=drv.mem_attach_flags.GLOBAL).base


def page_locked(module):
    host = drv.pagelocked_empty(COUNT, np.int32, mem_flags=drv.host_alloc_flags.DEVICEMAP)
    keep.append(host)
    return np.intp(host.base.get_device_pointer())


keep = []  # host memory that kernels use by its device pointer


def writes(size=BYTES, grid=1):
    """A program whose kernel gets memory that nothing has written, `size` bytes for each block."""

    def program(kernel, module):
        launch(kernel, drv.mem_alloc(grid * size), np.intp(0), grid=grid)

    return program


# name: (function, words that the message has or None if nothing is reported)
PROGRAMS = {
    "read_all_written": (reads(written), None),
    "read_nothing_written": (reads(nothing_written), "256 bytes"),
    "read_last_unwritten": (reads(last_unwritten), "252 bytes into the device memory"),
    "read_one_byte_unwritten": (reads(one_byte_unwritten), "255 bytes into"),
    "read_filled": (reads(filled), None),
    "read_filled_rows": (reads(filled_rows), None),
    "read_padding": (reads(filled_rows), "device memory"),
    "read_copied": (reads(copied), None),
    "read_copied_unwritten": (reads(copied_unwritten), "252 bytes into"),
    "read_what_a_kernel_wrote": (reads(kernel_wrote), None),
    "read_freed_and_new": (reads(freed_and_new), "device memory"),
    "read_managed": (reads(managed), None),
    "read_page_locked": (reads(page_locked), None),
    "read_variable": (reads(written), None),
    "add_to_unwritten": (writes(), "device memory"),
    "add_to_written": (writes(), None),
    "exchange_unwritten": (writes(), None),
    "store_relaxed": (writes(), None),
    "load_relaxed_unwritten": (writes(), "device memory"),
    "written_by_half": (writes(), "bytes into the device memory"),
    "written_by_all": (writes(), None),
    "write_only": (writes(), None),
    "padding_is_not_read": (writes(2 * BYTES), None),
    "wide_read_of_padding": (writes(2 * BYTES), "bytes into the device memory"),
    "shared_unwritten": (writes(), "part + "),
    "shared_written": (writes(), None),
    "shared_of_the_block_before": (writes(grid=64), "part + "),
    "shared_added_to": (writes(), "part + "),
    "heap_unwritten": (writes(), "device heap"),
    "heap_written": (writes(), None),
}


def call(name, program, module):
    """Runs a program. In place of runner.call(), whose parameters it has."""
    program[0](module.get_function(name), module)
