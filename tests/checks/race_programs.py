"""Kernels that race in shared memory, and similar ones that do not.

Each kernel is named by what it does; `PROGRAMS` says what the check reports: two words of the message, the
kinds of the accesses that race. All take (int *data) and run with one block.
"""

SOURCE = r"""
#define T threadIdx.x
#define KERNEL extern "C" __global__ void

/* --- a tree of sums --------------------------------------------------------------------------------- */
KERNEL sum_with_barriers(int *data) {
    __shared__ int part[256];
    part[T] = data[T];
    __syncthreads();
    for (int step = 128; step; step /= 2) {
        if (T < step) part[T] += part[T + step];
        __syncthreads();
    }
    if (T == 0) data[0] = part[0];
}
KERNEL sum_without_barrier_in_loop(int *data) {
    __shared__ int part[256];
    part[T] = data[T];
    __syncthreads();
    for (int step = 128; step; step /= 2)
        if (T < step) part[T] += part[T + step];
    if (T == 0) data[0] = part[0];
}
KERNEL sum_without_first_barrier(int *data) {
    __shared__ int part[256];
    part[T] = data[T];
    for (int step = 128; step; step /= 2) {
        if (T < step) part[T] += part[T + step];
        __syncthreads();
    }
    if (T == 0) data[0] = part[0];
}
KERNEL last_warp_with_syncwarp(int *data) {
    __shared__ int part[64];
    part[T] = data[T];
    __syncthreads();
    if (T < 32) {
        int x = part[T];
        for (int step = 32; step; step /= 2) {
            int y = T < step ? part[T + step] : 0;
            __syncwarp();
            part[T] = x += y;
            __syncwarp();
        }
        if (T == 0) data[0] = x;
    }
}
KERNEL last_warp_without_syncwarp(int *data) {
    __shared__ int part[64];
    part[T] = data[T];
    __syncthreads();
    if (T < 32)
        for (int step = 32; step; step /= 2)
            if (T < step) part[T] += part[T + step];
    __syncthreads();
    data[T] = part[T];
}
KERNEL last_warp_volatile(int *data) {
    __shared__ volatile int part[64];
    part[T] = data[T];
    __syncthreads();
    if (T < 16) {
        part[T] += part[T + 16];
        part[T] += part[T + 8];
        part[T] += part[T + 4];
    }
    __syncthreads();
    data[T] = part[T];
}
KERNEL last_warp_by_shuffle(int *data) {
    __shared__ int part[64];
    part[T] = data[T];
    __syncthreads();
    if (T < 32) {
        int x = part[T] + part[T + 32];
        for (int step = 16; step; step /= 2) x += __shfl_down_sync(~0u, x, step);
        if (T == 0) data[0] = x;
    }
}
KERNEL shuffle_does_not_order(int *data) {
    __shared__ int part[32];
    part[T] = data[T];
    int x = __shfl_xor_sync(~0u, data[T], 1);
    data[T] = x + part[T ^ 1];
}
KERNEL vote_does_not_order(int *data) {
    __shared__ int part[32];
    part[T] = data[T];
    if (__any_sync(~0u, data[T] >= 0)) data[T] = part[T ^ 1];
}

/* --- tiles ------------------------------------------------------------------------------------------ */
KERNEL tiles_with_two_barriers(int *data) {
    __shared__ int tile[16][17];
    int x = T % 16, y = T / 16;
    for (int k = 0; k < 3; k++) {
        tile[y][x] = data[T] + k;
        __syncthreads();
        data[T] = tile[x][y];
        __syncthreads();
    }
}
KERNEL tiles_with_one_barrier(int *data) { /* written again while others still read */
    __shared__ int tile[16][17];
    int x = T % 16, y = T / 16;
    for (int k = 0; k < 3; k++) {
        tile[y][x] = data[T] + k;
        __syncthreads();
        data[T] = tile[x][y];
    }
}
KERNEL two_buffers(int *data) {
    __shared__ int tile[2][256];
    for (int k = 0; k < 4; k++) {
        tile[k % 2][T] = data[T] + k;
        __syncthreads();
        data[T] = tile[k % 2][255 - T];
    }
}
KERNEL two_buffers_one_used(int *data) {
    __shared__ int tile[2][256];
    for (int k = 0; k < 4; k++) {
        tile[0][T] = data[T] + k;
        __syncthreads();
        data[T] = tile[0][255 - T];
    }
}
KERNEL neighbors_read_bytes(int *data) {
    __shared__ unsigned char bytes[256];
    bytes[T] = (unsigned char)data[T];
    __syncthreads();
    data[T] = bytes[(T + 1) % 256];
}
KERNEL neighbors_write_bytes(int *data) { /* of one word, each its own */
    __shared__ unsigned char bytes[256];
    bytes[T] = (unsigned char)T;
    bytes[T] += 1;
    __syncthreads();
    data[T] = bytes[T];
}
KERNEL bytes_of_a_word_read_whole(int *data) {
    __shared__ unsigned bytes[64];
    ((unsigned char *)bytes)[T] = (unsigned char)T;
    data[T] = bytes[T / 4];
}

/* --- one place, many threads ------------------------------------------------------------------------ */
KERNEL all_write_one_value(int *data) {
    __shared__ int flag;
    if (T == 0) flag = 0;
    __syncthreads();
    if (data[T] >= 0) flag = 1;
    __syncthreads();
    data[T] = flag;
}
KERNEL all_write_their_own(int *data) {
    __shared__ int one;
    one = T;
    __syncthreads();
    data[T] = one;
}
KERNEL warps_write_their_own(int *data) {
    __shared__ int one;
    if (T % 32 == 0) one = T;
    __syncthreads();
    data[T] = one;
}
KERNEL first_thread_writes(int *data) {
    __shared__ int one;
    if (T == 0) one = data[0];
    data[T] = one;
}
KERNEL first_thread_writes_then_barrier(int *data) {
    __shared__ int one;
    if (T == 0) one = data[0];
    __syncthreads();
    data[T] = one;
}

/* --- atomics and locks ------------------------------------------------------------------------------ */
KERNEL histogram(int *data) {
    __shared__ int bins[16];
    if (T < 16) bins[T] = 0;
    __syncthreads();
    atomicAdd(&bins[data[T] % 16], 1);
    __syncthreads();
    if (T < 16) data[T] = bins[T];
}
KERNEL histogram_without_atomics(int *data) {
    __shared__ int bins[16];
    if (T < 16) bins[T] = 0;
    __syncthreads();
    bins[data[T] % 16] += 1;
    __syncthreads();
    if (T < 16) data[T] = bins[T];
}
KERNEL histogram_read_too_soon(int *data) {
    __shared__ int bins[16];
    if (T < 16) bins[T] = 0;
    __syncthreads();
    atomicAdd(&bins[data[T] % 16], 1);
    if (T < 16) data[T] = bins[T];
}
KERNEL histogram_cleared_too_late(int *data) {
    __shared__ int bins[16];
    if (T < 16) bins[T] = 0;
    atomicAdd(&bins[data[T] % 16], 1);
    __syncthreads();
    if (T < 16) data[T] = bins[T];
}
KERNEL lock_around_sum(int *data) {
    __shared__ int lock, total;
    if (T == 0) lock = total = 0;
    __syncthreads();
    for (bool done = false; !done;) {
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence_block();
            total += data[T];
            __threadfence_block();
            atomicExch(&lock, 0);
            done = true;
        }
    }
    __syncthreads();
    data[T] = total;
}
KERNEL sum_beside_the_lock(int *data) {
    __shared__ int lock, total;
    if (T == 0) lock = total = 0;
    __syncthreads();
    for (bool done = false; !done;) {
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence_block();
            done = true;
            atomicExch(&lock, 0);
        }
    }
    total += data[T];
    __syncthreads();
    data[T] = total;
}
KERNEL last_to_come_sums(int *data) { /* a counter says which thread is last */
    __shared__ int part[128], count;
    if (T == 0) count = 0;
    __syncthreads();
    part[T] = data[T];
    __threadfence_block();
    if (atomicAdd(&count, 1) == 127) {
        __threadfence_block();
        int sum = 0;
        for (int k = 0; k < 128; k++) sum += part[k];
        data[0] = sum;
    }
}

KERNEL flag_by_volatile(int *data) { /* in shared memory the check requires atomics for flags */
    __shared__ volatile int flag;
    __shared__ int value;
    if (T == 0) flag = 0;
    __syncthreads();
    if (T == 32) {
        value = data[0];
        __threadfence_block();
        flag = 1;
    } else if (T == 0) {
        while (flag == 0) {}
        __threadfence_block();
        data[0] = value;
    }
}
KERNEL flag_by_atomics(int *data) {
    __shared__ int flag, value;
    if (T == 0) flag = 0;
    __syncthreads();
    if (T == 32) {
        value = data[0];
        __threadfence_block();
        atomicExch(&flag, 1);
    } else if (T == 0) {
        while (atomicAdd(&flag, 0) == 0) {}
        __threadfence_block();
        data[0] = value;
    }
}
KERNEL flag_by_acquire_and_release(int *data) {
    __shared__ int flag, value;
    if (T == 0) flag = 0;
    __syncthreads();
    unsigned at = (unsigned)__cvta_generic_to_shared(&flag);
    if (T == 32) {
        value = data[0];
        asm volatile("st.release.cta.shared.u32 [%0], 1;" :: "r"(at) : "memory");
    } else if (T == 0) {
        int seen = 0;
        while (!seen) asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(seen) : "r"(at) : "memory");
        data[0] = value;
    }
}

/* --- named barriers --------------------------------------------------------------------------------- */
__device__ void named_sync(int barrier, int count) {
    asm volatile("barrier.sync %0, %1;" :: "r"(barrier), "r"(count) : "memory");
}
__device__ void named_arrive(int barrier, int count) {
    asm volatile("barrier.arrive %0, %1;" :: "r"(barrier), "r"(count) : "memory");
}
KERNEL halves_of_a_block(int *data) {
    __shared__ int part[128];
    int half = T / 64;
    part[T] = data[T];
    named_sync(1 + half, 64);
    data[T] = part[half * 64 + (T + 1) % 64];
}
KERNEL halves_read_the_other(int *data) {
    __shared__ int part[128];
    part[T] = data[T];
    named_sync(1 + T / 64, 64);
    data[T] = part[127 - T];
}
KERNEL producer_and_consumer(int *data) {
    __shared__ int slot[32];
    for (int k = 0; k < 3; k++) {
        if (T < 32) {
            if (k) named_sync(2, 64);
            slot[T] = data[T] + k;
            __threadfence_block();
            named_arrive(1, 64);
        } else {
            named_sync(1, 64);
            data[T] = slot[T % 32 ^ 1];
            if (k < 2) named_arrive(2, 64);
        }
    }
}
KERNEL producer_does_not_wait(int *data) {
    __shared__ int slot[32];
    for (int k = 0; k < 2; k++) {
        if (T < 32) {
            slot[T] = data[T] + k;
            __threadfence_block();
            if (k == 0) named_arrive(1, 64);
        } else if (k == 0) {
            named_sync(1, 64);
            data[T] = slot[T % 32 ^ 1];
        }
    }
}

/* --- within a warp ---------------------------------------------------------------------------------- */
KERNEL syncwarp_of_half(int *data) { /* the other half is not in the mask */
    __shared__ int part[32];
    part[T] = data[T];
    if (T < 16) {
        __syncwarp(0xffff);
        data[T] = part[31 - T];
    }
}
KERNEL syncwarp_of_own_half(int *data) {
    __shared__ int part[32];
    part[T] = data[T];
    if (T < 16) {
        __syncwarp(0xffff);
        data[T] = part[15 - T];
    }
}
KERNEL syncwarp_between_warps(int *data) {
    __shared__ int part[64];
    part[T] = data[T];
    __syncwarp();
    data[T] = part[63 - T];
}
__device__ __noinline__ void put(int *place, int value) { *place = value; }
KERNEL through_a_pointer(int *data) {
    __shared__ int part[64];
    put(&part[T], data[T]);
    data[T] = part[63 - T];
}
extern __shared__ int dynamic[];
KERNEL dynamic_memory(int *data) {
    dynamic[T] = data[T];
    data[T] = dynamic[63 - T];
}
KERNEL wide_stores_overlap(int *data) {
    __shared__ int4 part[65];
    int *ints = (int *)part;
    if (T == 0) part[8] = make_int4(1, 2, 3, 4);
    if (T == 40) ints[34] = 7;
    __syncthreads();
    data[T] = ints[T];
}
KERNEL exited_threads(int *data) {
    __shared__ int part[64];
    part[T] = data[T];
    if (T >= 32) return;
    __syncthreads();
    data[T] = part[T + 32];
}
"""

# name: (threads, dynamic shared bytes, words that the message has or None if nothing is reported)
PROGRAMS = {
    "sum_with_barriers": (256, 0, None),
    "sum_without_barrier_in_loop": (256, 0, ("read", "write")),
    "sum_without_first_barrier": (256, 0, ("read", "write")),
    "last_warp_with_syncwarp": (64, 0, None),
    "last_warp_without_syncwarp": (64, 0, ("write", "read")),
    "last_warp_volatile": (64, 0, ("write", "read")),
    "last_warp_by_shuffle": (64, 0, None),
    "shuffle_does_not_order": (32, 0, ("read", "write")),
    "vote_does_not_order": (32, 0, ("read", "write")),
    "tiles_with_two_barriers": (256, 0, None),
    "tiles_with_one_barrier": (256, 0, ("write", "read")),
    "two_buffers": (256, 0, None),
    "two_buffers_one_used": (256, 0, ("write", "read")),
    "neighbors_read_bytes": (256, 0, None),
    "neighbors_write_bytes": (256, 0, None),
    "bytes_of_a_word_read_whole": (256, 0, ("read", "write")),
    "all_write_one_value": (256, 0, None),
    "all_write_their_own": (256, 0, ("write", "write")),
    "warps_write_their_own": (256, 0, ("write", "write")),
    "first_thread_writes": (64, 0, ("read", "write")),
    "first_thread_writes_then_barrier": (64, 0, None),
    "histogram": (256, 0, None),
    "histogram_without_atomics": (256, 0, ("write", "read")),
    "histogram_read_too_soon": (256, 0, ("atomic", "read")),
    "histogram_cleared_too_late": (256, 0, ("atomic", "write")),
    "lock_around_sum": (64, 0, None),
    "sum_beside_the_lock": (64, 0, ("write", "read")),
    "last_to_come_sums": (128, 0, None),
    "flag_by_volatile": (64, 0, ("read", "write")),
    "flag_by_atomics": (64, 0, None),
    "flag_by_acquire_and_release": (64, 0, None),
    "halves_of_a_block": (128, 0, None),
    "halves_read_the_other": (128, 0, ("read", "write")),
    "producer_and_consumer": (64, 0, None),
    "producer_does_not_wait": (64, 0, ("write", "read")),
    "syncwarp_of_half": (32, 0, ("read", "write")),
    "syncwarp_of_own_half": (32, 0, None),
    "syncwarp_between_warps": (64, 0, ("read", "write")),
    "through_a_pointer": (64, 0, ("read", "write")),
    "dynamic_memory": (64, 256, ("read", "write")),
    "wide_stores_overlap": (64, 0, ("write", "write")),
    "exited_threads": (64, 0, None),
}
