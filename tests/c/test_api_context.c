/* Initialization, devices, contexts, the stack of current contexts, primary contexts, wrong handles, fork. */
#include "check.h"

#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/base/api.h"

#define OK(call) CHECK_EQUAL(call, CUDA_SUCCESS)

static void test_before_init(void)
{
    int count;
    CUcontext context;
    CUdeviceptr address;
    CHECK_EQUAL(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    CHECK_EQUAL(cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
    CHECK_EQUAL(cuMemAlloc_v2(&address, 4), CUDA_ERROR_NOT_INITIALIZED);
    CHECK_EQUAL(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    OK(cuInit(0));
    OK(cuInit(0));
    CHECK_EQUAL(cuMemAlloc_v2(&address, 4), CUDA_ERROR_INVALID_CONTEXT);
}

static void test_devices(void)
{
    int count = 0, value = 0, major = 0, minor = 0;
    CUdevice device;
    size_t total = 0;
    char name[200] = "", bus[2][20];
    CUuuid uuids[2];
    OK(cuDeviceGetCount(&count));
    CHECK_EQUAL(count, 2);
    CHECK_EQUAL(cuDeviceGet(&device, 2), CUDA_ERROR_INVALID_DEVICE);
    CHECK_EQUAL(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
    CHECK_EQUAL(cuDeviceGet(NULL, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuDeviceGetName(name, sizeof name, 0));
    CHECK(!strncmp(name, "CPU device (", 12) && name[strlen(name) - 1] == ')');
    OK(cuDeviceGetName(name, 5, 0));
    CHECK_TEXT(name, "CPU ");
    OK(cuDeviceTotalMem_v2(&total, 1));
    CHECK_EQUAL(total, 64 << 20);
    for (int d = 0; d < 2; d++) {
        OK(cuDeviceGetPCIBusId(bus[d], 20, d));
        OK(cuDeviceGetByPCIBusId(&device, bus[d]));
        CHECK_EQUAL(device, d);
        OK(cuDeviceGetUuid_v2(&uuids[d], d));
    }
    CHECK(memcmp(&uuids[0], &uuids[1], sizeof uuids[0]));
    CHECK_EQUAL(cuDeviceGetByPCIBusId(&device, "nonsense"), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQUAL(cuDeviceGetByPCIBusId(&device, "0000:01:02.0"), CUDA_ERROR_INVALID_DEVICE);
    for (CUdevice_attribute a = 1; a <= 147; a++) OK(cuDeviceGetAttribute(&value, a, 0));
    CHECK_EQUAL(cuDeviceGetAttribute(&value, 0, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQUAL(cuDeviceGetAttribute(&value, 9999, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQUAL(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 7), CUDA_ERROR_INVALID_DEVICE);
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
    CHECK_EQUAL(value, 32);
    OK(cuDeviceComputeCapability(&major, &minor, 0));
    CHECK(major == 8 && minor == 6);
    OK(cuDeviceCanAccessPeer(&value, 0, 1));
    CHECK_EQUAL(value, 1);
    OK(cuDeviceCanAccessPeer(&value, 1, 1));
    CHECK_EQUAL(value, 0);
}

/* Contexts are pushed, set, popped and destroyed; calls with an empty stack and destroyed contexts are
 * refused. */
static void test_stack(void)
{
    CUcontext a, b, c;
    CUdevice device;
    OK(cuCtxCreate_v2(&a, 0, 0));
    OK(cuCtxCreate_v2(&b, CU_CTX_SCHED_BLOCKING_SYNC, 1));
    OK(cuCtxGetDevice(&device));
    CHECK_EQUAL(device, 1);
    OK(cuCtxPopCurrent_v2(&c));
    CHECK(c == b);
    OK(cuCtxGetCurrent(&c));
    CHECK(c == a);
    OK(cuCtxPushCurrent_v2(b));
    OK(cuCtxSetCurrent(a));
    OK(cuCtxPopCurrent_v2(&c));
    CHECK(c == a);
    OK(cuCtxPopCurrent_v2(&c));
    CHECK(c == a);
    CHECK_EQUAL(cuCtxPopCurrent_v2(&c), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxGetCurrent(&c));
    CHECK(!c);
    CHECK_EQUAL(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxSetCurrent(b));
    OK(cuCtxDestroy_v2(b)); /* popped with it */
    OK(cuCtxGetCurrent(&c));
    CHECK(!c);
    CHECK_EQUAL(cuCtxDestroy_v2(b), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK_EQUAL(cuCtxPushCurrent_v2(b), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK_EQUAL(cuCtxPushCurrent_v2((CUcontext)&c), CUDA_ERROR_INVALID_CONTEXT);
    CHECK_EQUAL(cuCtxCreate_v2(&c, 3, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQUAL(cuCtxCreate_v2(&c, 0, 9), CUDA_ERROR_INVALID_DEVICE);
    OK(cuCtxDestroy_v2(a));
}

/* In a thread: destroys the context; returns NULL if that succeeds. */
static void *destroy_main(void *context) { return cuCtxDestroy_v2(context) ? context : NULL; }

/* A context destroyed by another thread stays on this thread's stack, and calls with it report that. */
static void test_destroyed_elsewhere(void)
{
    CUcontext context, popped;
    CUdeviceptr address;
    CUstream stream;
    CUevent event;
    pthread_t thread;
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuMemAlloc_v2(&address, 100));
    OK(cuStreamCreate(&stream, 0));
    OK(cuEventCreate(&event, 0));
    pthread_create(&thread, NULL, destroy_main, context);
    void *answer = &thread;
    pthread_join(thread, &answer);
    CHECK(!answer);
    CHECK_EQUAL(cuMemAlloc_v2(&address, 4), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK_EQUAL(cuStreamSynchronize(stream), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    OK(cuCtxPopCurrent_v2(&popped));
    CHECK(popped == context);
    OK(cuCtxCreate_v2(&context, 0, 0));
    CHECK_EQUAL(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
    CHECK_EQUAL(cuEventRecord(event, NULL), CUDA_ERROR_INVALID_HANDLE);
    CHECK_EQUAL(cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxDestroy_v2(context));
}

static void test_wrong_handles(void)
{
    CUcontext context;
    CUstream stream;
    CUevent event;
    float time;
    long junk[64] = {0};
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuStreamCreate(&stream, 0));
    OK(cuEventCreate(&event, 0));
    CHECK_EQUAL(cuStreamSynchronize((CUstream)junk), CUDA_ERROR_INVALID_HANDLE);
    CHECK_EQUAL(cuStreamSynchronize((CUstream)event), CUDA_ERROR_INVALID_HANDLE);
    CHECK_EQUAL(cuStreamDestroy_v2(NULL), CUDA_ERROR_INVALID_HANDLE);
    CHECK_EQUAL(cuEventRecord((CUevent)stream, NULL), CUDA_ERROR_INVALID_HANDLE);
    CHECK_EQUAL(cuEventElapsedTime(&time, event, NULL), CUDA_ERROR_INVALID_HANDLE);
    CHECK_EQUAL(cuModuleUnload((CUmodule)junk), CUDA_ERROR_INVALID_HANDLE);
    CHECK_EQUAL(cuLaunchKernel((CUfunction)event, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                CUDA_ERROR_INVALID_HANDLE);
    OK(cuStreamDestroy_v2(stream));
    CHECK_EQUAL(cuStreamDestroy_v2(stream), CUDA_ERROR_INVALID_HANDLE);
    CHECK_EQUAL(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventDestroy_v2(event));
    CHECK_EQUAL(cuEventDestroy_v2(event), CUDA_ERROR_INVALID_HANDLE);
    OK(cuCtxDestroy_v2(context));
}

/* Retained twice, released twice; reset. What it had is gone afterwards, its handle stays. */
static void test_primary(void)
{
    CUcontext first, second, made;
    unsigned flags = 9;
    int active = 9;
    CUdeviceptr address;
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(flags == 0 && active == 0);
    CHECK_EQUAL(cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_SPIN));
    OK(cuDevicePrimaryCtxRetain(&first, 0));
    OK(cuDevicePrimaryCtxRetain(&second, 0));
    CHECK(first == second);
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(flags == CU_CTX_SCHED_SPIN && active == 1);
    CHECK_EQUAL(cuCtxDestroy_v2(first), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxSetCurrent(first));
    OK(cuMemAlloc_v2(&address, 4));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    OK(cuMemFree_v2(address));
    OK(cuMemAlloc_v2(&address, 4));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    CHECK_EQUAL(cuMemFree_v2(address), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    OK(cuDevicePrimaryCtxRetain(&second, 0));
    CHECK(second == first);
    CHECK_EQUAL(cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAlloc_v2(&address, 4));
    OK(cuDevicePrimaryCtxReset_v2(0));
    CHECK_EQUAL(cuMemAlloc_v2(&address, 4), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    OK(cuDevicePrimaryCtxRelease_v2(0));
    OK(cuCtxSetCurrent(NULL));
    OK(cuCtxCreate_v2(&made, 0, 0));
    OK(cuCtxDestroy_v2(made));
}

static void test_state(void)
{
    CUcontext context, other;
    size_t value = 0;
    unsigned flags = 0, version = 0;
    int min = 9, greatest = 9;
    unsigned long long ids[2];
    OK(cuCtxCreate_v2(&other, 0, 1));
    OK(cuCtxCreate_v2(&context, CU_CTX_SCHED_YIELD, 0));
    OK(cuCtxGetFlags(&flags));
    CHECK_EQUAL(flags, CU_CTX_SCHED_YIELD);
    OK(cuCtxGetApiVersion(context, &version));
    CHECK_EQUAL(version, 3020);
    OK(cuCtxGetId(context, &ids[0]));
    OK(cuCtxGetId(other, &ids[1]));
    CHECK(ids[0] != ids[1]);
    OK(cuCtxGetStreamPriorityRange(&min, &greatest));
    CHECK(min == 0 && greatest < 0);
    OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 5000));
    OK(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
    CHECK(value >= 5000);
    OK(cuCtxGetLimit(&value, CU_LIMIT_MALLOC_HEAP_SIZE));
    CHECK_EQUAL(value, 8 << 20);
    CHECK_EQUAL(cuCtxGetLimit(&value, 99), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQUAL(cuCtxSetLimit(99, 1), CUDA_ERROR_INVALID_VALUE); /* as an H200's driver */
    CHECK_EQUAL(cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 1), CUDA_ERROR_UNSUPPORTED_LIMIT);
    OK(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
    CHECK_EQUAL(cuCtxSetCacheConfig(9), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxEnablePeerAccess(other, 0));
    CHECK_EQUAL(cuCtxEnablePeerAccess(other, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    OK(cuCtxDisablePeerAccess(other));
    CHECK_EQUAL(cuCtxDisablePeerAccess(other), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    OK(cuCtxDestroy_v2(context));
    OK(cuCtxDestroy_v2(other));
}

/* Creates and destroys n contexts, each after a copy on its default stream; returns the bytes in use on the C
 * heap then, 0 where the C library does not report them. */
static size_t heap_after(int n)
{
    for (int i = 0; i < n; i++) {
        CUcontext context;
        OK(cuCtxCreate_v2(&context, 0, 0));
        OK(cuMemcpyPeerAsync(0, context, 0, context, 0, NULL));
        OK(cuCtxDestroy_v2(context));
    }
#if defined __GLIBC__ && __GLIBC_PREREQ(2, 33)
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

/* A destroyed context is remembered for a while, so that calls with it get CONTEXT_IS_DESTROYED; the memory
 * for that is limited. */
static void test_many_contexts(void)
{
    CUcontext kept, first, current;
    OK(cuCtxCreate_v2(&kept, 0, 0));
    OK(cuCtxCreate_v2(&first, 0, 0));
    OK(cuCtxPushCurrent_v2(kept));
    OK(cuCtxDestroy_v2(first)); /* still below on the stack */
    CHECK_EQUAL(cuCtxPushCurrent_v2(first), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    heap_after(500);
    size_t before = heap_after(500);
    CHECK_EQUAL(heap_after(500), before);
    OK(cuCtxPopCurrent_v2(NULL));
    OK(cuCtxGetCurrent(&current));
    CHECK(current == first);
    CHECK_EQUAL(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    OK(cuCtxPopCurrent_v2(NULL));
    heap_after(500);
    CHECK(cuCtxPushCurrent_v2(first) != CUDA_SUCCESS);
    OK(cuCtxDestroy_v2(kept));
}

static sem_t gate;
static void wait_gate(void *nothing)
{
    (void)nothing;
    sem_wait(&gate);
}

/* The oldest destroyed contexts are forgotten, but none whose destruction still waits for its work. */
static void test_many_while_one_is_destroyed(void)
{
    CUcontext waiting, other;
    CUstream stream;
    pthread_t thread;
    void *answer = NULL;
    sem_init(&gate, 0, 0);
    OK(cuCtxCreate_v2(&waiting, 0, 0));
    OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    OK(cuLaunchHostFunc(stream, wait_gate, NULL));
    OK(cuCtxPopCurrent_v2(&other));
    pthread_create(&thread, NULL, destroy_main, waiting);
    while (cuCtxGetApiVersion(waiting, &(unsigned){0}) == CUDA_SUCCESS) usleep(1000);
    for (int i = 0; i < 200; i++) {
        OK(cuCtxCreate_v2(&other, 0, 1));
        CHECK(other != waiting);
        OK(cuCtxDestroy_v2(other));
    }
    sem_post(&gate);
    pthread_join(thread, &answer);
    CHECK(answer == NULL);
    sem_destroy(&gate);
}

/* Calls in a forked child are refused; none hangs or crashes. */
static void test_fork(void)
{
    CUcontext context;
    CUdeviceptr address;
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuMemAlloc_v2(&address, 100));
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        bool good = cuMemFree_v2(address) == CUDA_ERROR_NOT_INITIALIZED
                    && cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED
                    && cuInit(0) == CUDA_ERROR_NOT_INITIALIZED;
        _exit(good ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQUAL(status, 0);
    OK(cuMemFree_v2(address));
    OK(cuCtxDestroy_v2(context));
}

int main(void)
{
    setenv("PYCUDA_CPU_DEVICES", "2", 1);
    setenv("PYCUDA_CPU_MEMORY", "64M", 1);
    setenv("PYCUDA_CPU_COMPUTE_CAPABILITY", "8.6", 1);
    CHECK_GROUP(test_before_init);
    CHECK_GROUP(test_devices);
    CHECK_GROUP(test_stack);
    CHECK_GROUP(test_destroyed_elsewhere);
    CHECK_GROUP(test_wrong_handles);
    CHECK_GROUP(test_primary);
    CHECK_GROUP(test_state);
    CHECK_GROUP(test_many_contexts);
    CHECK_GROUP(test_many_while_one_is_destroyed);
    CHECK_GROUP(test_fork);
    return check_done();
}
