"""Kernels whose blocks race in global memory, and similar ones whose blocks do not.

Each kernel is named by what it does; `PROGRAMS` says what the check reports. All take (int *data, int *out),
4096 zeros and 4096 ones, and run with BLOCKS blocks of 64 threads.
"""

import numpy as np

import pycuda.driver as drv

BLOCKS = 8

SOURCE = r"""
#include <cooperative_groups.h>
#include <cuda/atomic>
#define T threadIdx.x
#define B blockIdx.x
#define N gridDim.x
#define I (blockIdx.x * 64 + threadIdx.x) // the thread's index in the grid
#define KERNEL extern "C" __global__ void
__device__ int counter, sense, total;

/* --- elements --------------------------------------------------------------------------------------- */
KERNEL own_elements(int *data, int *out) { data[I] = out[I] + data[I]; }
KERNEL overlapping_elements(int *data, int *out) { data[B * 63 + T] = I; }
KERNEL stencil(int *data, int *out) { out[I] = data[I] + data[I + 1] + (I ? data[I - 1] : 0); }
KERNEL stencil_in_place(int *data, int *out) { data[I] = I + data[I + 1]; }
KERNEL stencil_by_barrier(int *data, int *out) {
    int next = out[I + 1];
    __syncthreads();
    out[I] = next + B + 2;
}
KERNEL all_write_one_value(int *data, int *out) { data[0] = 1; if (T == 0) data[1] = 7; }
KERNEL all_write_their_own(int *data, int *out) { if (T == 0) data[0] = B; }
KERNEL what_was_there(int *data, int *out) { out[0] = 1; data[I] = out[0]; }
KERNEL bytes_of_their_own(int *data, int *out) { if (T == 0) ((char *)data)[B] = B + 1; }
KERNEL bytes_of_others(int *data, int *out) { if (T == 0) ((short *)((char *)data))[B / 2] = B + 1; }
KERNEL wide_elements(int *data, int *out) { ((int4 *)data)[I] = make_int4(I, 1, 2, 3); }
KERNEL wide_elements_overlap(int *data, int *out) {
    ((int4 *)data)[I] = make_int4(I, I, I, I);
    if (I + 64 < 64 * N) data[4 * (I + 64)] = 5;
}
KERNEL histogram(int *data, int *out) { atomicAdd(&data[T % 16], 1); }
KERNEL histogram_without_atomics(int *data, int *out) { if (T < 16) data[T] += 1; }
KERNEL sum_by_swaps(int *data, int *out) {
    int old = data[0], seen;
    do { seen = old; old = atomicCAS(data, seen, seen + 1); } while (old != seen);
}
KERNEL counter_cleared_by_one(int *data, int *out) {
    if (I == 0) data[0] = 0x100;
    __syncthreads();
    if (T == 0) atomicAdd(data, 1);
}
KERNEL variable_cleared_by_one(int *data, int *out) {
    if (I == 0) total = 0x100;
    __syncthreads();
    if (T == 0) atomicAdd(&total, 1);
}
KERNEL local_arrays(int *data, int *out) {
    int own[64];
    for (int k = 0; k < 64; k++) own[k] = data[(k + I) % 64] + k;
    out[I] = own[out[I]];
}
KERNEL heap(int *data, int *out) {
    int *own = (int *)malloc(16);
    if (!own) return;
    own[0] = I;
    out[I] = own[0];
    free(own);
}

/* --- the last block --------------------------------------------------------------------------------- */
#define LAST(FENCE, READ, COUNT) \
    __shared__ bool last; \
    data[I] = I; \
    FENCE; \
    __syncthreads(); \
    if (T == 0) last = COUNT == N - 1; \
    __syncthreads(); \
    if (last) { \
        int sum = 0; \
        for (int k = T; k < 64 * N; k += 64) sum += READ; \
        out[T] = sum; \
        if (T == 0) data[4000] = 0; \
    }
#define TICKET atomicAdd(&data[4000], 1)
KERNEL last_block(int *data, int *out) { LAST(__threadfence(), data[k], TICKET) }
KERNEL last_block_volatile(int *data, int *out) {
    LAST(__threadfence(), ((volatile int *)data)[k], TICKET)
}
KERNEL last_block_one_fence(int *data, int *out) {
    LAST(, data[k], (__threadfence(), TICKET))
}
KERNEL last_block_without_fence(int *data, int *out) { LAST(, data[k], TICKET) }
KERNEL last_block_with_narrow_fence(int *data, int *out) { LAST(__threadfence_block(), data[k], TICKET) }
KERNEL last_block_without_atomic(int *data, int *out) { LAST(__threadfence(), data[k], data[4000]++) }
KERNEL last_block_atomic_ref(int *data, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> count(data[4000]);
    LAST(, data[k], count.fetch_add(1, cuda::std::memory_order_acq_rel))
}
KERNEL last_block_relaxed_ref(int *data, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> count(data[4000]);
    LAST(, data[k], count.fetch_add(1, cuda::std::memory_order_relaxed))
}

/* --- locks ------------------------------------------------------------------------------------------ */
#define LOCKED(LOCK, BODY, UNLOCK) if (T == 0) { LOCK; BODY; UNLOCK; }
#define TAKE while (atomicCAS(out + 4000, 1, 2) != 1)
KERNEL lock(int *data, int *out) {
    LOCKED(TAKE; __threadfence(), data[0] += B + 1, __threadfence(); atomicExch(out + 4000, 1))
}
KERNEL lock_without_fences(int *data, int *out) {
    LOCKED(TAKE;, data[0] += B + 1, atomicExch(out + 4000, 1))
}
KERNEL lock_given_back_by_a_store(int *data, int *out) {
    LOCKED(TAKE; __threadfence(), data[0] += B + 1, __threadfence(); out[4000] = 1)
}
KERNEL lock_by_volatile_store(int *data, int *out) {
    LOCKED(TAKE; __threadfence(), data[0] += B + 1, __threadfence(); *(volatile int *)(out + 4000) = 1)
}
KERNEL beside_the_lock(int *data, int *out) {
    LOCKED(TAKE; __threadfence(), data[0] += B + 1,
           __threadfence(); atomicExch(out + 4000, 1); data[1] += B + 1)
}
KERNEL lock_of_atomic_ref(int *data, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> bit(out[4000]);
    LOCKED(while (bit.exchange(2, cuda::std::memory_order_acquire) == 2);, data[0] += B + 1,
           bit.store(1, cuda::std::memory_order_release))
}

/* --- chains ----------------------------------------------------------------------------------------- */
#define CHAIN(WAIT, PUBLISH) \
    __shared__ int before; \
    if (T == 0) { \
        before = 0; \
        if (B > 0) { WAIT; before = data[B - 1]; } \
        data[B] = before + B + 1; \
        PUBLISH; \
    } \
    __syncthreads(); \
    out[I] = before;
#define FLAG(n) (data[1000 + (n)])
KERNEL chain_by_volatile(int *data, int *out) {
    volatile int *flags = data + 1000;
    CHAIN(while (flags[B - 1] == 0); __threadfence(), __threadfence(); flags[B] = 1)
}
KERNEL chain_by_volatile_without_fence(int *data, int *out) {
    volatile int *flags = data + 1000;
    CHAIN(while (flags[B - 1] == 0);, flags[B] = 1)
}
KERNEL chain_by_plain_store(int *data, int *out) {
    CHAIN(while (atomicAdd(&FLAG(B - 1), 0) == 0);, __threadfence(); FLAG(B) = 1)
}
KERNEL chain_by_cached_loads(int *data, int *out) {
    CHAIN(while (__ldcg(&FLAG(B - 1)) == 0) __nanosleep(20);, __threadfence(); __stcg(&FLAG(B), 1))
}
KERNEL chain_by_acquire_and_release(int *data, int *out) {
    using Ref = cuda::atomic_ref<int, cuda::thread_scope_device>;
    CHAIN(while (Ref(FLAG(B - 1)).load(cuda::std::memory_order_acquire) == 0);,
          Ref(FLAG(B)).store(1, cuda::std::memory_order_release))
}
KERNEL chain_by_relaxed(int *data, int *out) {
    using Ref = cuda::atomic_ref<int, cuda::thread_scope_device>;
    CHAIN(while (Ref(FLAG(B - 1)).load(cuda::std::memory_order_relaxed) == 0);,
          Ref(FLAG(B)).store(1, cuda::std::memory_order_relaxed))
}
/* A single pass: each block looks back over sums of others, or a prefix. */
#define LOOK_BACK(FENCE) \
    volatile int *state = data + 1000; \
    if (T == 0) { \
        int mine = B + 1, sum = 0; \
        data[B] = mine; \
        FENCE; \
        state[B] = B ? 1 : 2; \
        for (int k = (int)B - 1; k >= 0; k--) { \
            int s; \
            while ((s = state[k]) == 0); \
            FENCE; \
            sum += s == 2 ? (k ? data[100 + k] : data[0]) : data[k]; \
            if (s == 2) break; \
        } \
        data[100 + B] = sum + mine; \
        FENCE; \
        if (B) state[B] = 2; \
        out[B] = sum + mine; \
    }
KERNEL look_back(int *data, int *out) { LOOK_BACK(__threadfence()) }
KERNEL look_back_without_fences(int *data, int *out) { LOOK_BACK() }

/* --- persistent blocks ------------------------------------------------------------------------------ */
KERNEL grid_sync(int *data, int *out) {
    auto grid = cooperative_groups::this_grid();
    for (int k = 1; k < 4; k++) {
        data[I] = k * I;
        grid.sync();
        out[I] = data[(I + 64) % (64 * N)];
        grid.sync();
    }
}
KERNEL grid_sync_too_late(int *data, int *out) {
    auto grid = cooperative_groups::this_grid();
    data[I] = I;
    out[I] = data[(I + 64) % (64 * N)];
    grid.sync();
}
#define BARRIER(FENCE) \
    __syncthreads(); \
    if (T == 0) { \
        FENCE; \
        int round = *(volatile int *)&sense; \
        if (atomicAdd(&counter, 1) == N - 1) { \
            counter = 0; \
            FENCE; \
            atomicAdd(&sense, 1); \
        } else { \
            while (*(volatile int *)&sense == round); \
        } \
        FENCE; \
    } \
    __syncthreads();
#define PERSISTENT(FENCE) \
    for (int k = 1; k < 4; k++) { \
        data[I] = k * I; \
        BARRIER(FENCE) \
        out[I] = data[(I + 64) % (64 * N)]; \
        BARRIER(FENCE) \
    }
KERNEL persistent(int *data, int *out) { PERSISTENT(__threadfence()) }
KERNEL persistent_without_fences(int *data, int *out) { PERSISTENT() }
KERNEL work_queue(int *data, int *out) {
    __shared__ int item;
    for (;;) {
        if (T == 0) item = atomicAdd(&data[4000], 1);
        __syncthreads();
        if (item >= 40) return;
        out[64 * item + T] = item;
        __syncthreads();
    }
}
"""

# The kinds of the two accesses that race.
RW, WW = ("read", "write"), ("write", "write")

# name: words that the message has, None if nothing is reported
PROGRAMS = {
    "own_elements": None,
    "overlapping_elements": WW,
    "stencil": None,
    "stencil_in_place": RW,
    "stencil_by_barrier": RW,
    "all_write_one_value": None,
    "all_write_their_own": WW,
    "what_was_there": None,
    "bytes_of_their_own": None,
    "bytes_of_others": WW,
    "wide_elements": None,
    "wide_elements_overlap": WW,
    "histogram": None,
    "histogram_without_atomics": RW,
    "sum_by_swaps": None,
    "counter_cleared_by_one": ("atomic operation", "write"),
    "variable_cleared_by_one": ("atomic operation", "write"),
    "local_arrays": None,
    "heap": None,
    "last_block": None,
    "last_block_volatile": None,
    "last_block_one_fence": None,
    "last_block_without_fence": RW,
    "last_block_with_narrow_fence": RW,
    "last_block_without_atomic": RW,
    "last_block_atomic_ref": None,
    "last_block_relaxed_ref": RW,
    "lock": None,
    "lock_without_fences": RW,
    "lock_given_back_by_a_store": None,
    "lock_by_volatile_store": None,
    "beside_the_lock": RW,
    "lock_of_atomic_ref": None,
    "chain_by_volatile": None,
    "chain_by_volatile_without_fence": RW,
    "chain_by_plain_store": None,
    "chain_by_cached_loads": None,
    "chain_by_acquire_and_release": None,
    "chain_by_relaxed": RW,
    "look_back": None,
    "look_back_without_fences": RW,
    "grid_sync": None,
    "grid_sync_too_late": RW,
    "persistent": None,
    "persistent_without_fences": RW,
    "work_queue": None,
}


def call(name, program, module):
    """Launches the kernel of this name once. In place of runner.call(), whose parameters it has."""
    data, out = (drv.to_device(np.full(4096, value, np.int32)) for value in (0, 1))
    module.get_function(name)(
        data, out, block=(64, 1, 1), grid=(BLOCKS, 1), cooperative=name.startswith("grid_sync")
    )
    drv.Context.synchronize()
    data.free()
    out.free()
