"""Kernels that copy to shared memory asynchronously, or synchronize by barriers in shared memory (compute
capability 8.0). SOURCE and PROGRAMS have the form of race_programs.py.
"""

SOURCE = r"""
#include <cuda_pipeline.h>
#include <cuda/barrier>
#define T threadIdx.x
#define KERNEL extern "C" __global__ void

KERNEL waits_and_meets(int *data) {
    __shared__ int part[64];
    __pipeline_memcpy_async(&part[T], &data[T], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    data[T] = part[63 - T];
}
KERNEL meets_without_waiting(int *data) {
    __shared__ int part[64];
    __pipeline_memcpy_async(&part[T], &data[T], 4);
    __pipeline_commit();
    __syncthreads();
    data[T] = part[63 - T];
}
KERNEL waits_without_meeting(int *data) {
    __shared__ int part[64];
    __pipeline_memcpy_async(&part[T], &data[T], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    data[T] = part[63 - T];
}
KERNEL reads_its_own_too_soon(int *data) {
    __shared__ int part[64];
    __pipeline_memcpy_async(&part[T], &data[T], 4);
    __pipeline_commit();
    data[T] = part[T];
}
KERNEL two_stages(int *data) {
    __shared__ int part[2][64];
    __pipeline_memcpy_async(&part[0][T], &data[T], 4);
    __pipeline_commit();
    for (int k = 1; k <= 4; k++) {
        if (k < 4) __pipeline_memcpy_async(&part[k % 2][T], &data[64 * k + T], 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        data[512 + T] += part[(k - 1) % 2][63 - T];
        __syncthreads();
    }
}
KERNEL two_stages_one_too_few(int *data) {
    __shared__ int part[2][64];
    __pipeline_memcpy_async(&part[0][T], &data[T], 4);
    __pipeline_commit();
    for (int k = 1; k <= 4; k++) {
        if (k < 4) __pipeline_memcpy_async(&part[k % 2][T], &data[64 * k + T], 4);
        __pipeline_commit();
        __pipeline_wait_prior(2);
        __syncthreads();
        data[512 + T] += part[(k - 1) % 2][63 - T];
        __syncthreads();
    }
}
KERNEL copies_over_what_is_read(int *data) {
    __shared__ int part[64];
    part[T] = data[T];
    __syncthreads();
    data[T] = part[63 - T];
    __pipeline_memcpy_async(&part[T], &data[64 + T], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
}

using Barrier = cuda::barrier<cuda::thread_scope_block>;
#pragma nv_diag_suppress static_var_with_dynamic_init
KERNEL barrier_orders(int *data) {
    __shared__ Barrier bar;
    __shared__ int part[64];
    if (T == 0) init(&bar, 64);
    __syncthreads();
    part[T] = data[T];
    bar.arrive_and_wait();
    data[T] = part[63 - T];
}
KERNEL arrives_too_soon(int *data) {
    __shared__ Barrier bar;
    __shared__ int part[64];
    if (T == 0) init(&bar, 64);
    __syncthreads();
    auto token = bar.arrive();
    part[T] = data[T];
    bar.wait(static_cast<Barrier::arrival_token &&>(token));
    data[T] = part[63 - T];
}
KERNEL barrier_made_too_late(int *data) {
    __shared__ Barrier bar;
    if (T == 0) init(&bar, 1);
    if (T == 0 || T == 32) (void)bar.arrive();
    data[T] += 1;
}
"""

# name: (threads, dynamic shared bytes, words that the message has or None if nothing is reported)
PROGRAMS = {
    "waits_and_meets": (64, 0, None),
    "meets_without_waiting": (64, 0, ("read", "has not waited for it")),
    "waits_without_meeting": (64, 0, ("read", "race")),
    "reads_its_own_too_soon": (64, 0, ("read", "has not waited for it")),
    "two_stages": (64, 0, None),
    "two_stages_one_too_few": (64, 0, ("read", "has not waited for it")),
    "copies_over_what_is_read": (64, 0, ("read", "race")),
    "barrier_orders": (64, 0, None),
    "arrives_too_soon": (64, 0, ("read", "write")),
    "barrier_made_too_late": (64, 0, ("atomic", "write")),
}
