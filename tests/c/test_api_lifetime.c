/* Contexts that end while other threads use them, and objects that outlive their context. A destroyed context
 * is remembered until many others have been destroyed; then it is forgotten. Runs under the sanitizers as
 * well. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "api/base/api.h"

#define OK(call) CHECK_EQUAL(call, CUDA_SUCCESS)

/* FORGETTING: after how many ends of other contexts a destroyed one is certainly forgotten. */
enum { THREADS = 3, ROUNDS = 400, FORGETTING = 140 };

static const char source[] = ".version 6.4\n.target sm_50\n.address_size 64\n"
                             ".visible .global .align 8 .b8 room[256];\n"
                             ".visible .entry store(.param .u64 p) {\n"
                             ".reg .b64 a; ld.param.u64 a, [p]; st.global.u32 [a], 7; ret; }\n"
                             ".visible .entry spin() { L: bra L; }\n";

static _Atomic int problems,
    enough; /* failed expectations in threads; whether run_concurrently() is ending */

/* A check in a thread, which run_concurrently() reports. */
static void expect_at(bool good, int line)
{
    if (good) return;
    atomic_fetch_add(&problems, 1);
    fprintf(stderr, "line %d is a problem\n", line);
}
#define expect(good) expect_at((good), __LINE__)

/* Runs `first` in all threads except one, and meanwhile `second` in that one, which ends when `enough` is set
 * after the others ended. Checks that no expectation failed. */
static void run_concurrently(void *(*first)(void *), void *first_data, void *(*second)(void *),
                             void *second_data)
{
    pthread_t threads[THREADS];
    atomic_store(&problems, 0);
    atomic_store(&enough, 0);
    for (int t = 0; t < THREADS; t++)
        CHECK(!pthread_create(&threads[t], NULL, t ? first : second, t ? first_data : second_data));
    for (int t = 1; t < THREADS; t++) pthread_join(threads[t], NULL);
    atomic_store(&enough, 1);
    pthread_join(threads[0], NULL);
    CHECK_EQUAL(atomic_load(&problems), 0);
}

/* Creates and destroys so many contexts that those which were destroyed before are forgotten. */
static void forget_destroyed(void)
{
    for (int i = 0; i < FORGETTING; i++) {
        CUcontext context;
        OK(cuCtxCreate_v2(&context, 0, 0));
        OK(cuCtxDestroy_v2(context));
    }
}

/* --- threads ------------------------------------------------------------------------------------------ */

static void *make_and_destroy(void *data)
{
    (void)data;
    for (int i = 0; i < ROUNDS; i++) {
        CUcontext context;
        CUdeviceptr memory;
        expect(!cuCtxCreate_v2(&context, 0, 0));
        if (i % 2) expect(!cuMemAlloc_v2(&memory, 100));
        if (i % 3) expect(!cuMemsetD8Async(memory, 1, i % 2 ? 100 : 0, NULL));
        expect(!cuCtxPopCurrent_v2(NULL));
        expect(!cuCtxDestroy_v2(context));
    }
    return NULL;
}

static void test_contexts_of_threads(void)
{
    run_concurrently(make_and_destroy, NULL, make_and_destroy, NULL);
}

/* Makes calls that visit all contexts: a cancel, and frees of addresses, which wait for the kernels of
 * all. */
static void *visit_contexts(void *data)
{
    (void)data;
    while (!atomic_load(&enough)) {
        CUdeviceptr address;
        expect(!cuPycudaCancel(1));
        expect(!cuMemAddressReserve(&address, 2 << 20, 0, 0, 0));
        expect(!cuMemAddressFree(address, 2 << 20));
    }
    return NULL;
}

static void *make_contexts(void *data)
{
    (void)data;
    for (int i = 0; i < ROUNDS; i++) {
        CUcontext context;
        expect(!cuCtxCreate_v2(&context, 0, 0));
        expect(!cuCtxDestroy_v2(context));
    }
    return NULL;
}

static void test_visits_while_contexts_end(void)
{
    run_concurrently(make_contexts, NULL, visit_contexts, NULL);
}

static _Atomic(CUcontext) shared;

/* Whether a call with a handle that another thread may destroy returned what it may. */
static bool is_fair(CUresult result)
{
    return result == CUDA_SUCCESS || result == CUDA_ERROR_CONTEXT_IS_DESTROYED
           || result == CUDA_ERROR_INVALID_CONTEXT;
}

static void *use_handle(void *data)
{
    (void)data;
    while (!atomic_load(&enough)) {
        CUcontext context = atomic_load(&shared);
        CUdevice device;
        unsigned version;
        CUstream stream;
        CUevent event;
        CUdeviceptr memory;
        expect(is_fair(cuCtxGetDevice_v2(&device, context)));
        expect(is_fair(cuCtxGetApiVersion(context, &version)));
        expect(is_fair(cuCtxSynchronize_v2(context)));
        if (cuCtxPushCurrent_v2(context)) continue;
        CUresult alloc_error = cuMemAlloc_v2(&memory, 4000);
        expect(is_fair(alloc_error));
        if (!alloc_error) expect(is_fair(cuMemsetD8Async(memory, 1, 4000, NULL)) || !cuCtxGetDevice(&device));
        expect(is_fair(cuStreamSynchronize(CU_STREAM_PER_THREAD)));
        cuEventCreate(&event, 0);
        expect(is_fair(cuStreamCreate(&stream, 0)));
        expect(is_fair(cuStreamSynchronize(NULL)));
        expect(is_fair(cuCtxPopCurrent_v2(NULL)));
    }
    return NULL;
}

static void *renew_handle(void *data)
{
    (void)data;
    for (int i = 0; i < ROUNDS; i++) {
        CUcontext context, before;
        expect(!cuCtxCreate_v2(&context, 0, 0));
        expect(!cuCtxPopCurrent_v2(NULL));
        before = atomic_exchange(&shared, context);
        expect(is_fair(cuCtxDestroy_v2(before)));
    }
    return NULL;
}

/* Two threads replace the shared context and destroy the old one while another thread uses it: each call
 * succeeds or reports that the context is destroyed. */
static void test_handle_that_other_threads_destroy(void)
{
    CUcontext context;
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuCtxPopCurrent_v2(NULL));
    atomic_store(&shared, context);
    run_concurrently(renew_handle, NULL, use_handle, NULL);
    OK(cuCtxDestroy_v2(atomic_load(&shared)));
}

/* A thread that has retained the primary context can use it, whichever other threads release it at the same
 * time. */
static void *retain_and_release(void *data)
{
    (void)data;
    for (int i = 0; i < ROUNDS; i++) {
        CUcontext context;
        CUdeviceptr memory;
        uint32_t word = 0;
        expect(!cuDevicePrimaryCtxRetain(&context, 0));
        expect(!cuCtxPushCurrent_v2(context));
        expect(!cuMemAlloc_v2(&memory, 4));
        expect(!cuMemsetD32Async(memory, 5, 1, NULL));
        expect(!cuMemcpyDtoH_v2(&word, memory, 4) && word == 5);
        expect(!cuMemFree_v2(memory));
        expect(!cuCtxPopCurrent_v2(NULL));
        expect(!cuDevicePrimaryCtxRelease_v2(0));
    }
    return NULL;
}

static void test_primary_of_threads(void)
{
    run_concurrently(retain_and_release, NULL, retain_and_release, NULL);
}

static void *make_green(void *data)
{
    CUdevResourceDesc part = data;
    for (int i = 0; i < ROUNDS / 4; i++) {
        CUgreenCtx green;
        CUcontext context;
        CUdevResource resource;
        CUstream stream;
        expect(!cuGreenCtxCreate(&green, part, 0, CU_GREEN_CTX_DEFAULT_STREAM));
        expect(!cuCtxFromGreenCtx(&context, green));
        expect(!cuCtxPushCurrent_v2(context));
        expect(!cuCtxGetDevResource(context, &resource, CU_DEV_RESOURCE_TYPE_SM));
        expect(!cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        expect(!cuStreamDestroy_v2(stream));
        expect(!cuCtxPopCurrent_v2(NULL));
        expect(!cuGreenCtxDestroy(green));
    }
    return NULL;
}

static void test_green_of_threads(void)
{
    CUdevResource whole;
    CUdevResourceDesc part;
    OK(cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
    OK(cuDevResourceGenerateDesc(&part, &whole, 1));
    run_concurrently(make_green, part, make_green, part);
}

/* --- contexts whose end waits for work ----------------------------------------------------------------- */

static _Atomic int gate;

static void sleep_ms(int ms) { nanosleep(&(struct timespec){0, ms * 1000000L}, NULL); }

static void wait_gate(void *data)
{
    (void)data;
    while (!atomic_load(&gate)) sleep_ms(1);
}

/* Destroys the context while a host function in it waits for the gate. */
static void *destroy_slowly(void *data)
{
    expect(!cuCtxPushCurrent_v2(data));
    expect(!cuLaunchHostFunc(NULL, wait_gate, NULL));
    expect(!cuCtxPopCurrent_v2(NULL));
    expect(!cuCtxDestroy_v2(data));
    return NULL;
}

/* A context whose end is waiting for work is not forgotten, however many others are destroyed meanwhile. */
static void test_slow_end(void)
{
    CUcontext context;
    pthread_t thread;
    atomic_store(&gate, 0);
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuCtxPopCurrent_v2(NULL));
    CHECK(!pthread_create(&thread, NULL, destroy_slowly, context));
    while (cuCtxPushCurrent_v2(context) == CUDA_SUCCESS) {
        cuCtxPopCurrent_v2(NULL);
        sleep_ms(1);
    }
    forget_destroyed();
    CHECK_EQUAL(cuCtxPushCurrent_v2(context), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    atomic_store(&gate, 1);
    pthread_join(thread, NULL);
    CHECK_EQUAL(atomic_load(&problems), 0);
}

static void *release_slowly(void *data)
{
    (void)data;
    expect(!cuDevicePrimaryCtxRelease_v2(0));
    return NULL;
}

static void *open_gate(void *data)
{
    (void)data;
    sleep_ms(50);
    atomic_store(&gate, 1);
    return NULL;
}

/* A retain waits until the end of the primary context is complete; the end does not affect the new state. */
static void test_retain_while_it_ends(void)
{
    CUcontext context;
    CUdeviceptr memory;
    uint32_t word = 0;
    int active = 1;
    pthread_t closing, opening;
    atomic_store(&gate, 0);
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxPushCurrent_v2(context));
    OK(cuLaunchHostFunc(NULL, wait_gate, NULL));
    CHECK(!pthread_create(&closing, NULL, release_slowly, NULL));
    while (active) OK(cuDevicePrimaryCtxGetState(0, &(unsigned){0}, &active));
    CHECK(!pthread_create(&opening, NULL, open_gate, NULL));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuMemAlloc_v2(&memory, 4));
    OK(cuMemsetD32Async(memory, 5, 1, NULL));
    pthread_join(closing, NULL);
    pthread_join(opening, NULL);
    OK(cuMemcpyDtoH_v2(&word, memory, 4));
    CHECK_EQUAL(word, 5);
    OK(cuCtxPopCurrent_v2(NULL));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    CHECK_EQUAL(atomic_load(&problems), 0);
}

/* --- what outlives a context --------------------------------------------------------------------------- */

/* A cancel of the context that this thread waited for last, after that was forgotten. */
static void test_cancel_of_a_forgotten_context(void)
{
    CUcontext context;
    CUmodule module;
    CUfunction spin;
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, source));
    OK(cuModuleGetFunction(&spin, module, "spin"));
    OK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuPycudaSetTimeout(1000));
    CHECK_EQUAL(cuCtxSynchronize(), CUDA_ERROR_NOT_READY);
    OK(cuPycudaSetTimeout(0));
    OK(cuPycudaCancel(0));
    OK(cuCtxDestroy_v2(context));
    forget_destroyed();
    OK(cuPycudaCancel(0));
}

/* A library's modules end with their contexts; unloading the library does not use these contexts. */
static void test_library_outlives_its_contexts(void)
{
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    CUcontext context;
    OK(cuLibraryLoadData(&library, source, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "store"));
    for (int i = 0; i < 3; i++) {
        OK(cuCtxCreate_v2(&context, 0, 0));
        OK(cuKernelGetFunction(&function, kernel));
        OK(cuCtxDestroy_v2(context));
        forget_destroyed();
    }
    OK(cuLibraryUnload(library));
}

/* Allocates memory until some is at the wanted address, which was freed; frees the others. False if none
 * is. */
static bool take_address(CUdeviceptr wanted, size_t size)
{
    bool taken = false;
    for (int i = 0; i < 20000 && !taken; i++) {
        CUdeviceptr memory = 0;
        if (cuMemAllocManaged(&memory, size, CU_MEM_ATTACH_GLOBAL)) return false;
        taken = memory == wanted;
        if (!taken) cuMemFree_v2(memory);
    }
    return taken;
}

/* A graph's kernel node keeps its module when the context ends; when the graph is destroyed, the module's
 * variables are not freed again, whose memory has a new owner by then. */
static void test_graph_outlives_its_modules_context(void)
{
    CUcontext dead, context;
    CUmodule module;
    CUgraph graph;
    CUgraphNode node;
    CUdeviceptr variable;
    size_t size, there = 0;
    CUdeviceptr target = 0;
    void *params[1] = {&target};
    CUDA_KERNEL_NODE_PARAMS kernel = {.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .kernelParams = params};
    kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
    OK(cuCtxCreate_v2(&dead, 0, 0));
    OK(cuModuleLoadData(&module, source));
    OK(cuModuleGetGlobal_v2(&variable, &size, module, "room"));
    OK(cuModuleGetFunction(&kernel.func, module, "store"));
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &kernel));
    OK(cuCtxDestroy_v2(dead));
    OK(cuCtxCreate_v2(&context, 0, 0));
    CHECK(take_address(variable, size));
    OK(cuGraphDestroy(graph));
    OK(cuMemGetAddressRange_v2(NULL, &there, variable));
    CHECK_EQUAL(there, size);
    OK(cuMemFree_v2(variable));
    OK(cuCtxDestroy_v2(context));
}

/* A graph's fill for a context runs although that context was forgotten. */
static void test_graph_of_a_forgotten_context(void)
{
    CUcontext dead, context;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUdeviceptr memory;
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuMemAllocManaged(&memory, 64, CU_MEM_ATTACH_GLOBAL));
    CUDA_MEMSET_NODE_PARAMS fill = {.dst = memory, .elementSize = 1, .width = 64, .height = 1, .value = 3};
    CUDA_MEMSET_NODE_PARAMS back;
    OK(cuCtxCreate_v2(&dead, 0, 0));
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemsetNode(&node, graph, NULL, 0, &fill, dead));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuCtxDestroy_v2(dead));
    forget_destroyed();
    OK(cuGraphMemsetNodeGetParams(node, &back));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuCtxSynchronize());
    CHECK_EQUAL(*(const char *)(uintptr_t)memory, 3);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuMemFree_v2(memory));
    OK(cuCtxDestroy_v2(context));
}

/* Memory is freed while another context is current; the address is refused once its own context was
 * forgotten. */
static void test_free_while_another_context_is_current(void)
{
    CUcontext owner, context;
    CUdeviceptr memory;
    OK(cuCtxCreate_v2(&owner, 0, 0));
    OK(cuMemAlloc_v2(&memory, 64));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuMemFree_v2(memory));
    OK(cuCtxDestroy_v2(owner));
    forget_destroyed();
    CHECK_EQUAL(cuMemFree_v2(memory), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxDestroy_v2(context));
}

int main(void)
{
    setenv("PYCUDA_CPU_MEMORY", "256M", 1);
    setenv("PYCUDA_CPU_THREADS", "2", 1);
    OK(cuInit(0));
    CHECK_GROUP(test_contexts_of_threads);
    CHECK_GROUP(test_visits_while_contexts_end);
    CHECK_GROUP(test_handle_that_other_threads_destroy);
    CHECK_GROUP(test_primary_of_threads);
    CHECK_GROUP(test_green_of_threads);
    CHECK_GROUP(test_slow_end);
    CHECK_GROUP(test_retain_while_it_ends);
    CHECK_GROUP(test_cancel_of_a_forgotten_context);
    CHECK_GROUP(test_library_outlives_its_contexts);
    CHECK_GROUP(test_graph_outlives_its_modules_context);
    CHECK_GROUP(test_graph_of_a_forgotten_context);
    CHECK_GROUP(test_free_while_another_context_is_current);
    return check_done();
}
