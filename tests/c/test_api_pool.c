/* Stream-ordered allocation: a stream reuses what it has freed at once; which other streams may reuse it and
 * when; what is released to the device; kernels see the memory that is allocated at their place in the
 * stream. */
#include "check.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "api/base/api.h"

#define OK(call) CHECK_EQUAL(call, CUDA_SUCCESS)
#define BAD(call) CHECK_EQUAL(call, CUDA_ERROR_INVALID_VALUE)
#define MIB ((size_t)1 << 20)

/* put: [a] = value. take: [to] = [from]. */
static const char source[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry put(.param .u64 a, .param .u32 value)\n{\n  .reg .b32 %r<2>;\n  .reg .b64 %rd<3>;\n"
    "  ld.param.u64 %rd1, [a];\n  ld.param.u32 %r1, [value];\n  cvta.to.global.u64 %rd2, %rd1;\n"
    "  st.global.u32 [%rd2], %r1;\n  ret;\n}\n"
    ".visible .entry take(.param .u64 to, .param .u64 from)\n{\n  .reg .b32 %r<2>;\n  .reg .b64 %rd<3>;\n"
    "  ld.param.u64 %rd1, [to];\n  ld.param.u64 %rd2, [from];\n  ld.global.u32 %r1, [%rd2];\n"
    "  st.global.u32 [%rd1], %r1;\n  ret;\n}\n";

static CUfunction put, take;
static CUstream first, second;
static CUmemoryPool pool;
static _Atomic int gate;

static void wait_gate(void *unused)
{
    struct timespec moment = {0, 1000000};
    (void)unused;
    while (!atomic_load(&gate)) nanosleep(&moment, NULL);
}

/* Work of the stream that is queued after hold() waits until go(). */
static void hold(CUstream stream)
{
    atomic_store(&gate, 0);
    OK(cuLaunchHostFunc(stream, wait_gate, NULL));
}

static void go(CUstream stream)
{
    atomic_store(&gate, 1);
    OK(cuStreamSynchronize(stream));
}

static CUdeviceptr get(size_t size, CUstream stream)
{
    CUdeviceptr address = 0;
    OK(cuMemAllocAsync(&address, size, stream));
    return address;
}

static void launch(CUfunction function, CUstream stream, CUdeviceptr a, uint64_t b)
{
    void *arguments[] = {&a, &b};
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

static uint64_t attribute(CUmemPool_attribute name)
{
    uint64_t value = 0;
    OK(cuMemPoolGetAttribute(pool, name, &value));
    return value;
}

static void set_policy(CUmemPool_attribute name, int value) { OK(cuMemPoolSetAttribute(pool, name, &value)); }

static void set_threshold(uint64_t bytes)
{
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes));
}

static size_t free_bytes(void)
{
    size_t bytes = 0, total;
    OK(cuMemGetInfo_v2(&bytes, &total));
    return bytes;
}

/* Allocations and frees in a loop reuse the memory, also while none of the work has run. The device has 1
 * GiB. */
static void test_a_loop_reuses_memory(void)
{
    CUdeviceptr place = get(256 * MIB, first);
    OK(cuMemFreeAsync(place, first));
    for (int i = 0; i < 2000; i++) {
        CUdeviceptr again = get(256 * MIB, first);
        CHECK(again == place);
        OK(cuMemsetD8Async(again, 1, 100, first));
        OK(cuMemFreeAsync(again, first));
    }
    OK(cuStreamSynchronize(first));
    hold(first);
    for (int i = 0; i < 200; i++) {
        CUdeviceptr next = get((200 + (size_t)i % 50) * MIB, first);
        CHECK(next != 0);
        OK(cuMemFreeAsync(next, first));
    }
    go(first);
    CHECK(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) <= 1024 * MIB);
}

/* Memory is freed and allocated again in a held stream: kernels before and after that read what was written
 * there at their place. */
static void test_order(void)
{
    unsigned *seen;
    OK(cuMemHostAlloc((void **)&seen, 2 * sizeof *seen, 0));
    hold(first);
    CUdeviceptr a = get(1000, first);
    launch(put, first, a + 996, 7);
    launch(take, first, (CUdeviceptr)(uintptr_t)&seen[0], a + 996);
    OK(cuMemFreeAsync(a, first));
    CUdeviceptr b = get(900, first);
    CHECK(a == b);
    launch(put, first, b + 896, 8);
    launch(take, first, (CUdeviceptr)(uintptr_t)&seen[1], b + 896);
    OK(cuMemFreeAsync(b, first));
    go(first);
    CHECK(seen[0] == 7 && seen[1] == 8);
    OK(cuMemFreeHost(seen));
}

/* Calls of the host see an allocation or a free at once, also while the stream is held. */
static void test_host_calls_see_changes_at_once(void)
{
    CUdeviceptr base = 0;
    size_t size = 0;
    unsigned long long id = 0, next = 0;
    hold(first);
    CUdeviceptr a = get(1000, first);
    OK(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, a));
    CHECK_EQUAL(attribute(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1000);
    OK(cuMemFreeAsync(a, first));
    CHECK_EQUAL(attribute(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
    BAD(cuMemFreeAsync(a, first));
    BAD(cuMemFree_v2(a));
    BAD(cuPointerGetAttribute(&next, CU_POINTER_ATTRIBUTE_BUFFER_ID, a));
    BAD(cuMemsetD8Async(a, 0, 1, first));
    CUdeviceptr b = get(900, first);
    CHECK(a == b);
    OK(cuMemGetAddressRange_v2(&base, &size, b + 899));
    CHECK(base == b && size == 900);
    OK(cuPointerGetAttribute(&next, CU_POINTER_ATTRIBUTE_BUFFER_ID, b));
    CHECK(next != id);
    BAD(cuMemsetD8Async(b, 0, 901, first));
    OK(cuMemsetD8Async(b, 0, 900, first));
    OK(cuMemFreeAsync(b, first));
    go(first);
}

static void set_policies(int follow, int opportunistic, int internal)
{
    set_policy(CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, follow);
    set_policy(CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, opportunistic);
    set_policy(CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, internal);
}

/* Whether the second stream gets the memory that the first one has freed. done: the first one's work is done
 * (which the host has not waited for); with_event: the second stream waits for an event after the free. */
static bool is_reused(bool done, bool with_event)
{
    CUevent event;
    set_threshold(UINT64_MAX);
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CUdeviceptr a = get(5000, first);
    if (!done) hold(first);
    OK(cuMemFreeAsync(a, first));
    OK(cuEventRecord(event, first));
    while (done && cuStreamQuery(first) == CUDA_ERROR_NOT_READY) {}
    if (with_event) OK(cuStreamWaitEvent(second, event, 0));
    CUdeviceptr b = get(5000, second);
    OK(cuMemFreeAsync(b, second));
    atomic_store(&gate, 1);
    set_threshold(0);
    OK(cuCtxSynchronize());
    OK(cuEventDestroy_v2(event));
    return a == b;
}

/* Each of the pool's policies allows a reuse by another stream: following events, or when the work is done.
 * Once the host has waited, it needs none. */
static void test_other_streams(void)
{
    for (int policies = 0; policies < 8; policies++) {
        bool follow = policies & 1, opportunistic = policies & 2;
        set_policies(follow, opportunistic, policies >> 2);
        CHECK(!is_reused(false, false));
        CHECK_EQUAL(is_reused(true, false), opportunistic);
        CHECK_EQUAL(is_reused(false, true), follow);
        CHECK_EQUAL(is_reused(true, true), follow || opportunistic);
    }
    set_policies(0, 0, 0);
    set_threshold(UINT64_MAX);
    CUdeviceptr a = get(5000, first);
    OK(cuMemFreeAsync(a, first));
    OK(cuStreamSynchronize(first)); /* from now on the memory is free for all streams */
    CUdeviceptr b = get(5000, second);
    CHECK(a == b);
    OK(cuMemFreeAsync(b, second));
    set_threshold(0);
    set_policies(1, 1, 1);
    OK(cuCtxSynchronize());
}

/* A reuse that follows events through another stream, and one by the legacy stream, which waits for all. */
static void test_indirect_order(void)
{
    CUstream third;
    CUevent event;
    OK(cuStreamCreate(&third, 0));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    set_policies(1, 0, 0);
    CUdeviceptr a = get(5000, first);
    hold(first);
    OK(cuMemFreeAsync(a, first));
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
    OK(cuEventRecord(event, second));
    CUdeviceptr b = get(5000, third);
    CHECK(a != b);
    OK(cuStreamWaitEvent(third, event, 0));
    CUdeviceptr c = get(5000, third);
    CHECK(a == c);
    OK(cuMemFreeAsync(c, third));
    CUdeviceptr d = get(5000, NULL);
    CHECK(a == d);
    OK(cuMemFreeAsync(d, NULL));
    atomic_store(&gate, 1);
    OK(cuMemFreeAsync(b, third));
    OK(cuCtxSynchronize());
    set_policies(1, 1, 1);
    OK(cuStreamDestroy_v2(third));
    OK(cuEventDestroy_v2(event));
}

/* When the device has no other memory, another stream's is reused, and the new owner's stream waits for
 * it. */
static void test_short_of_memory(void)
{
    unsigned *seen;
    OK(cuMemHostAlloc((void **)&seen, sizeof *seen, 0));
    CUdeviceptr a = get(768 * MIB, first);
    hold(first);
    launch(put, first, a, 1);
    OK(cuMemFreeAsync(a, first));
    CUdeviceptr b = get(700 * MIB, second);
    CHECK(a == b);
    launch(put, second, b, 2);
    launch(take, second, (CUdeviceptr)(uintptr_t)seen, b);
    OK(cuMemFreeAsync(b, second));
    go(first);
    OK(cuStreamSynchronize(second));
    CHECK_EQUAL(*seen, 2);
    CHECK_EQUAL(cuMemAllocAsync(&a, 2048 * MIB, first), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemFreeHost(seen));
}

static void test_release_threshold(void)
{
    size_t before = free_bytes();
    CUdeviceptr a = get(100 * MIB, first), b = get(50 * MIB, first);
    CHECK_EQUAL(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 150 * MIB);
    CHECK_EQUAL(before - free_bytes(), 150 * MIB);
    OK(cuMemFreeAsync(a, first));
    OK(cuMemFreeAsync(b, first));
    while (cuStreamQuery(first) == CUDA_ERROR_NOT_READY) {}
    CHECK_EQUAL(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 150 * MIB);
    set_threshold(60 * MIB);
    OK(cuStreamSynchronize(second)); /* every synchronization releases unused memory above the threshold */
    CHECK_EQUAL(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 50 * MIB);
    OK(cuMemPoolTrimTo(pool, 50 * MIB));
    CHECK_EQUAL(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 50 * MIB);
    OK(cuMemPoolTrimTo(pool, 0));
    CHECK_EQUAL(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
    CHECK_EQUAL(free_bytes(), before);
    set_threshold(UINT64_MAX);
    OK(cuMemFreeAsync(get(900 * MIB, first), first));
    OK(cuStreamSynchronize(first));
    CHECK_EQUAL(before - free_bytes(), 900 * MIB);
    OK(cuMemAlloc_v2(&a, 800 * MIB)); /* the pool's unused blocks are released for it */
    OK(cuMemFree_v2(a));
    set_threshold(0);
    OK(cuStreamSynchronize(first));
    CHECK_EQUAL(free_bytes(), before);
}

/* Memory of a destroyed pool is released as soon as it is freed. */
static void test_destroyed_pool(void)
{
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                 .maxSize = 10 * MIB};
    CUmemoryPool made;
    CUdeviceptr a, b, more;
    uint64_t all = UINT64_MAX;
    size_t before = free_bytes();
    OK(cuMemPoolCreate(&made, &properties));
    OK(cuMemPoolSetAttribute(made, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
    OK(cuMemAllocFromPoolAsync(&a, 4 * MIB, made, first));
    OK(cuMemAllocFromPoolAsync(&b, 4 * MIB, made, first));
    CHECK_EQUAL(cuMemAllocFromPoolAsync(&more, 4 * MIB, made, first), CUDA_ERROR_OUT_OF_MEMORY);
    hold(first);
    OK(cuMemFreeAsync(a, first));
    OK(cuMemPoolDestroy(made));
    CHECK_EQUAL(before - free_bytes(), 8 * MIB);
    go(first);
    CHECK_EQUAL(before - free_bytes(), 4 * MIB);
    OK(cuMemsetD8_v2(b, 0, 4 * MIB));
    OK(cuMemFree_v2(b));
    CHECK_EQUAL(free_bytes(), before);
}

/* The first launch uses `a` after its free and must fault, although `b` already has the same address. In a
 * context of its own, which the fault ends. */
static void test_use_after_free(void)
{
    CUcontext context;
    CUmodule module;
    CUstream stream;
    CUfunction function;
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, source));
    OK(cuModuleGetFunction(&function, module, "put"));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUdeviceptr a = get(4096, stream);
    hold(stream);
    OK(cuMemFreeAsync(a, stream));
    launch(function, stream, a, 1);
    CUdeviceptr b = get(4096, stream);
    CHECK(a == b);
    launch(function, stream, b, 2);
    atomic_store(&gate, 1);
    CHECK_EQUAL(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuCtxDestroy_v2(context)); /* with what it has of the pool */
    CHECK_EQUAL(attribute(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
    CHECK_EQUAL(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
}

/* Memory is freed in a stream that is not ordered after its allocation: an error of the program, after which
 * the pool is intact. */
static void test_freed_in_the_wrong_stream(void)
{
    CUdeviceptr a = get(4096, first);
    hold(first);
    OK(cuMemFreeAsync(a, first));
    CUdeviceptr b = get(4096, first);
    CHECK(a == b);
    OK(cuMemFreeAsync(b, second));
    OK(cuStreamSynchronize(second));
    OK(cuMemPoolTrimTo(pool, 0));
    go(first);
    OK(cuMemPoolTrimTo(pool, 0));
    CHECK_EQUAL(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
}

int main(void)
{
    CUcontext context;
    CUmodule module;
    setenv("PYCUDA_CPU_MEMORY", "1G", 1);
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, source));
    OK(cuModuleGetFunction(&put, module, "put"));
    OK(cuModuleGetFunction(&take, module, "take"));
    OK(cuStreamCreate(&first, 0));
    OK(cuStreamCreate(&second, 0));
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    CHECK_GROUP(test_a_loop_reuses_memory);
    CHECK_GROUP(test_order);
    CHECK_GROUP(test_host_calls_see_changes_at_once);
    CHECK_GROUP(test_other_streams);
    CHECK_GROUP(test_indirect_order);
    CHECK_GROUP(test_short_of_memory);
    CHECK_GROUP(test_release_threshold);
    CHECK_GROUP(test_destroyed_pool);
    CHECK_GROUP(test_use_after_free);
    CHECK_GROUP(test_freed_in_the_wrong_stream);
    OK(cuCtxDestroy_v2(context));
    return check_done();
}
