/* External memory and semaphores: destroyed handles, and lifetimes. */
#include "check.h"

#include <stdbool.h>
#include <unistd.h>

#include "api/base/external.h"

#define OK(call) CHECK_EQUAL(call, CUDA_SUCCESS)
#define GONE(call) CHECK_EQUAL(call, CUDA_ERROR_INVALID_HANDLE)
#define UNIT ((size_t)2 << 20)

static CUcontext context;

/* A descriptor of physical memory, which has no other reference. */
static int descriptor(void)
{
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemGenericAllocationHandle handle = 0;
    int found = -1;
    OK(cuMemCreate(&handle, UNIT, &properties, 0));
    OK(cuMemExportToShareableHandle(&found, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemRelease(handle));
    return found;
}

static CUexternalMemory import_memory(int fd)
{
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC handle = {.type = 1, .handle.fd = fd, .size = UNIT};
    CUexternalMemory memory = NULL;
    OK(cuImportExternalMemory(&memory, &handle));
    return memory;
}

static CUexternalSemaphore import_semaphore(int fd)
{
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC handle = {.type = 1, .handle.fd = fd};
    CUexternalSemaphore semaphore = NULL;
    OK(cuImportExternalSemaphore(&semaphore, &handle));
    return semaphore;
}

static CUdeviceptr map(CUexternalMemory memory)
{
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = {.size = UNIT};
    CUdeviceptr address = 0;
    OK(cuExternalMemoryGetMappedBuffer(&address, memory, &part));
    return address;
}

static CUresult enqueue(CUexternalSemaphore semaphore, CUstream stream, bool wait)
{
    SemaphoreParams params = {.flags = 0};
    return wait ? cuWaitExternalSemaphoresAsync(&semaphore, &params, 1, stream)
                : cuSignalExternalSemaphoresAsync(&semaphore, &params, 1, stream);
}

static void test_handles_that_are_gone(void)
{
    CUexternalMemory memory = import_memory(descriptor());
    CUexternalSemaphore semaphore = import_semaphore(descriptor());
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = {.size = UNIT};
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC shape = {
        .shape = {.Width = 8, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1}, .levels = 1};
    CUdeviceptr address;
    CUmipmappedArray array;
    OK(cuDestroyExternalMemory(memory));
    OK(cuDestroyExternalSemaphore(semaphore));
    GONE(cuDestroyExternalMemory(memory));
    GONE(cuDestroyExternalSemaphore(semaphore));
    GONE(cuExternalMemoryGetMappedBuffer(&address, memory, &part));
    GONE(cuExternalMemoryGetMappedMipmappedArray(&array, memory, &shape));
    GONE(enqueue(semaphore, NULL, false));
    GONE(enqueue(semaphore, NULL, true));
    CHECK_EQUAL(enqueue(NULL, NULL, true), CUDA_ERROR_INVALID_VALUE);
}

static void test_a_shape_without_levels(void)
{
    CUexternalMemory memory = import_memory(descriptor());
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC shape = {
        .shape = {.Width = 8, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1}};
    CUmipmappedArray array;
    CHECK_EQUAL(cuExternalMemoryGetMappedMipmappedArray(&array, memory, &shape), CUDA_ERROR_INVALID_VALUE);
    OK(cuDestroyExternalMemory(memory));
}

/* A queued wait keeps its semaphore; it ends when another stream writes 1 to the semaphore's memory. */
static void test_a_semaphore_is_destroyed_while_a_stream_waits(void)
{
    int fd = descriptor();
    CUexternalMemory memory = import_memory(dup(fd));
    CUdeviceptr word = map(memory);
    CUstream waiting, writing;
    OK(cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&writing, CU_STREAM_NON_BLOCKING));
    CUexternalSemaphore semaphore = import_semaphore(fd);
    OK(enqueue(semaphore, waiting, true));
    OK(cuDestroyExternalSemaphore(semaphore));
    OK(cuDestroyExternalMemory(memory));
    CHECK_EQUAL(cuStreamQuery(waiting), CUDA_ERROR_NOT_READY);
    OK(cuMemsetD32Async(word, 1, 1, writing));
    OK(cuStreamSynchronize(waiting));
    OK(cuMemFree_v2(word));
    OK(cuStreamDestroy_v2(waiting));
    OK(cuStreamDestroy_v2(writing));
}

static void test_a_graph_keeps_its_semaphores(void)
{
    int fd = descriptor();
    CUexternalMemory memory = import_memory(dup(fd));
    CUdeviceptr word = map(memory);
    CUexternalSemaphore semaphore = import_semaphore(fd);
    SemaphoreParams none = {.flags = 0};
    SemaphoresNodeParams params = {&semaphore, &none, 1}, missing = {&semaphore, NULL, 1};
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    unsigned found = 0;
    OK(cuGraphCreate(&graph, 0));
    CHECK_EQUAL(cuGraphAddExternalSemaphoresSignalNode(&node, graph, NULL, 0, NULL),
                CUDA_ERROR_INVALID_VALUE);
    CHECK_EQUAL(cuGraphAddExternalSemaphoresSignalNode(&node, graph, NULL, 0, &missing),
                CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphAddExternalSemaphoresSignalNode(&node, graph, NULL, 0, &params));
    OK(cuDestroyExternalSemaphore(semaphore));
    GONE(cuGraphExternalSemaphoresSignalNodeSetParams(node, &params));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH_v2(&found, word, sizeof found));
    CHECK_EQUAL(found, 1);
    OK(cuGraphExecDestroy(exec));
    OK(cuMemFree_v2(word));
    OK(cuDestroyExternalMemory(memory));
}

/* The end of a context destroys what was imported in it. */
static void test_a_context_ends_first(void)
{
    CUcontext other;
    OK(cuCtxCreate_v2(&other, 0, 0));
    CUexternalMemory memory = import_memory(descriptor());
    CUexternalSemaphore semaphore = import_semaphore(descriptor());
    map(memory);
    OK(enqueue(semaphore, NULL, false));
    OK(cuCtxDestroy_v2(other));
    OK(cuCtxSetCurrent(context));
    GONE(cuDestroyExternalMemory(memory));
    GONE(cuDestroyExternalSemaphore(semaphore));
}

int main(void)
{
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    CHECK_GROUP(test_handles_that_are_gone);
    CHECK_GROUP(test_a_shape_without_levels);
    CHECK_GROUP(test_a_semaphore_is_destroyed_while_a_stream_waits);
    CHECK_GROUP(test_a_graph_keeps_its_semaphores);
    CHECK_GROUP(test_a_context_ends_first);
    OK(cuCtxDestroy_v2(context));
    return check_done();
}
