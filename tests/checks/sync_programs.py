"""Kernels whose threads use barriers in ways that are not allowed, and similar ones that are correct.

All take (int *data); `PROGRAMS` says what the check reports of each: words of the message.
"""

SOURCE = r"""
#define T threadIdx.x
#define KERNEL extern "C" __global__ void

KERNEL all_threads(int *data) { data[T] += 1; __syncthreads(); data[T] += 1; }
KERNEL half_a_warp(int *data) {
    if (T % 32 < 16) { data[T] += 1; __syncthreads(); }
    data[T + 64] += 1;
}
KERNEL two_places(int *data) {
    if (T % 2) { data[T] += 1; __syncthreads(); data[T] += 1; }
    else { data[T] -= 1; __syncthreads(); data[T] -= 1; }
}
KERNEL two_places_by_warps(int *data) { /* allowed: no warp diverges, and all use barrier 0 */
    if (T / 32) { data[T] += 1; __syncthreads(); data[T] += 1; }
    else { data[T] -= 1; __syncthreads(); data[T] -= 1; }
}
KERNEL after_a_branch(int *data) { /* the threads have converged again */
    if (T % 2) data[T] += data[T + 1]; else data[T] -= 1;
    __syncthreads();
    data[T] += 1;
}
KERNEL after_a_loop(int *data) {
    for (unsigned k = 0; k < T; k++) data[T] += k;
    __syncthreads();
    data[T] += 1;
}
KERNEL returned_early(int *data) {
    if (T >= 40) return;
    __syncthreads();
    data[T] += 1;
}
KERNEL loop_of_unequal_length(int *data) { /* some lanes leave the loop before others */
    for (int k = 0; k < 4; k++) {
        int at = 64 * k + T;
        if (at < 240) { data[at] += 1; __syncthreads(); }
    }
    data[T + 512] += 1;
}
KERNEL count_by_half_a_warp(int *data) {
    if (T % 32 < 16) asm volatile("bar.sync 1, 32;" ::: "memory");
    data[T] += 1;
}
KERNEL arrives_by_half_a_warp(int *data) { /* `barrier`, unlike `bar`, allows divergence */
    if (T % 32 < 16) asm volatile("barrier.sync 1, 32;" ::: "memory");
    data[T] += 1;
}
KERNEL odd_count(int *data) {
    asm volatile("bar.sync 1, %0;" :: "r"(data[48]) : "memory");
    data[T] += 1;
}
KERNEL two_counts(int *data) {
    if (T < 32) asm volatile("barrier.sync 1, 64;" ::: "memory");
    else asm volatile("barrier.sync 1, 32;" ::: "memory");
    data[T] += 1;
}
KERNEL one_count(int *data) {
    if (T < 32) asm volatile("barrier.sync 1, 64;" ::: "memory");
    else asm volatile("barrier.sync 1, 64;" ::: "memory");
    data[T] += 1;
}
KERNEL count_of_the_block(int *data) { /* without a count, all threads of the block are meant */
    if (T < 32) asm volatile("barrier.sync 1, 64;" ::: "memory");
    else asm volatile("barrier.sync 1;" ::: "memory");
    data[T] += 1;
}
KERNEL counts_votes(int *data) { data[T] = __syncthreads_count(data[T] % 3 == 0); }
KERNEL votes_by_half_a_warp(int *data) {
    if (T % 32 < 16) data[T] = __syncthreads_or(data[T]);
    data[T + 64] += 1;
}
KERNEL syncwarp_without_caller(int *data) {
    if (T < 16) __syncwarp(0xffff0000);
    data[T] += 1;
}
KERNEL syncwarp_of_callers(int *data) {
    if (T < 16) __syncwarp(0x0000ffff);
    data[T] += 1;
}
KERNEL shuffle_without_caller(int *data) { data[T] = __shfl_sync(0x0000ffff, data[T], 0); }
__device__ __noinline__ void meet(int *data) { __syncthreads(); data[T] += 1; }
KERNEL in_a_function(int *data) { meet(data); }
KERNEL half_a_warp_in_a_function(int *data) {
    if (T % 32 < 16) meet(data);
    data[T + 64] += 1;
}
"""

# name: (threads, dynamic shared bytes, words that the message has or None if nothing is reported)
PROGRAMS = {
    "all_threads": (64, 0, None),
    "half_a_warp": (64, 0, "divergent threads"),
    "two_places": (64, 0, "divergent threads"),
    "two_places_by_warps": (64, 0, None),
    "after_a_branch": (64, 0, None),
    "after_a_loop": (64, 0, None),
    "returned_early": (64, 0, None),
    "loop_of_unequal_length": (64, 0, "divergent threads"),
    "count_by_half_a_warp": (64, 0, "divergent threads"),
    "arrives_by_half_a_warp": (64, 0, None),
    "odd_count": (64, 0, "multiple of 32"),
    "two_counts": (64, 0, "others wait there for 64"),
    "one_count": (64, 0, None),
    "count_of_the_block": (64, 0, None),
    "counts_votes": (64, 0, None),
    "votes_by_half_a_warp": (64, 0, "divergent threads"),
    "syncwarp_without_caller": (32, 0, "leaves out"),
    "syncwarp_of_callers": (32, 0, None),
    "shuffle_without_caller": (32, 0, "leaves out"),
    "in_a_function": (64, 0, None),
    "half_a_warp_in_a_function": (64, 0, "divergent threads"),
}
