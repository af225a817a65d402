/* PYCUDA_CPU_LOCK=1: a call has a lock that all calls take, as in NVIDIA's driver. One that waits keeps the
 * calls of other threads waiting, unless it is a synchronization; calls in a host function are refused
 * without the lock. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "api/base/api.h"

#define OK(call) CHECK_EQUAL(call, CUDA_SUCCESS)

/* Functions from cuGetProcAddress: these take the lock, direct calls of the test do not. */
static CUresult (*mem_free)(CUdeviceptr), (*mem_get_info)(size_t *, size_t *),
    (*stream_synchronize)(CUstream);

/* Stores the address of the driver's function in *function. */
static void get(const char *name, void *function)
{
    CUdriverProcAddressQueryResult status;
    OK(cuGetProcAddress_v2(name, function, 13000, 0, &status));
}

static void sleep_ms(long milliseconds)
{
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static CUcontext context;
static CUstream stream;
static CUdeviceptr memory;
/* gate: opens the host function; asked: the waiter is about to call; answered: the other thread's call has
 * returned; refused: the host function's call was. */
static _Atomic int gate, asked, answered, refused;

static void wait_gate(void *data)
{
    size_t free_bytes, total;
    (void)data;
    while (!atomic_load(&gate)) sleep_ms(1);
    atomic_store(&refused, mem_get_info(&free_bytes, &total) == CUDA_ERROR_NOT_PERMITTED);
}

static void *free_memory(void *data)
{
    (void)data;
    OK(cuCtxSetCurrent(context));
    atomic_store(&asked, 1);
    OK(mem_free(memory));
    return NULL;
}

static void *synchronize(void *data)
{
    (void)data;
    OK(cuCtxSetCurrent(context));
    atomic_store(&asked, 1);
    OK(stream_synchronize(stream));
    return NULL;
}

/* In a thread: another call, while the waiter waits. */
static void *ask(void *data)
{
    size_t free_bytes, total;
    (void)data;
    OK(cuCtxSetCurrent(context));
    OK(mem_get_info(&free_bytes, &total));
    atomic_store(&answered, 1);
    return NULL;
}

/* Whether another thread's call returns while the waiter waits for a host function. The host function, which
 * makes a call itself, ends in both cases. */
static int others_pass(void *(*waiter)(void *))
{
    pthread_t waiting, asking;
    atomic_store(&gate, 0), atomic_store(&asked, 0), atomic_store(&answered, 0), atomic_store(&refused, 0);
    OK(cuLaunchHostFunc(stream, wait_gate, NULL));
    pthread_create(&waiting, NULL, waiter, NULL);
    while (!atomic_load(&asked)) sleep_ms(1);
    sleep_ms(100);
    pthread_create(&asking, NULL, ask, NULL);
    sleep_ms(100);
    int passed = atomic_load(&answered);
    atomic_store(&gate, 1);
    pthread_join(waiting, NULL);
    pthread_join(asking, NULL);
    CHECK(atomic_load(&answered));
    CHECK(atomic_load(&refused));
    return passed;
}

int main(void)
{
    setenv("PYCUDA_CPU_LOCK", "1", 1);
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuStreamCreate(&stream, 0));
    OK(cuMemAlloc_v2(&memory, 100));
    get("cuMemFree", &mem_free);
    get("cuMemGetInfo", &mem_get_info);
    get("cuStreamSynchronize", &stream_synchronize);
    CHECK_EQUAL(others_pass(synchronize), 1);
    CHECK_EQUAL(others_pass(free_memory), 0);
    OK(cuStreamDestroy_v2(stream));
    OK(cuCtxDestroy_v2(context));
    return check_done();
}
