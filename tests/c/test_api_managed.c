/* Managed memory: advice by pages, prefetches, discards: discarded memory is uninitialized until a kernel, a
 * call or the host writes it. Occupancy of clusters and resources of a device as well. */
#include "check.h"

#include <stdbool.h>
#include <stdlib.h>

#include "api/base/api.h"

#define OK(call) CHECK_EQUAL(call, CUDA_SUCCESS)
#define BAD(call) CHECK_EQUAL(call, CUDA_ERROR_INVALID_VALUE)

enum { PAGE_BYTES = 4096, PAGES = 8, SIZE = PAGE_BYTES * PAGES };

static const char source[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry take(.param .u64 to, .param .u64 from)\n{\n  .reg .b32 %r<2>;\n  .reg .b64 %rd<3>;\n"
    "  ld.param.u64 %rd1, [to];\n  ld.param.u64 %rd2, [from];\n  ld.global.u32 %r1, [%rd2];\n"
    "  st.global.u32 [%rd1], %r1;\n  ret;\n}\n";

static CUdeviceptr memory;
static CUstream stream;
static CUfunction take;

/* The attribute of `count` pages from the first one on. */
static int attribute_of(CUmem_range_attribute attribute, int first, int count)
{
    int value = 99;
    OK(cuMemRangeGetAttribute(&value, sizeof value, attribute, memory + (unsigned)first * PAGE_BYTES,
                              (size_t)count * PAGE_BYTES));
    return value;
}

/* An attribute of several pages is set, or a location, if all of them have it. */
static void test_advice(void)
{
    CHECK_EQUAL(attribute_of(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 0, PAGES), 0);
    CHECK_EQUAL(attribute_of(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, 0, PAGES), CU_DEVICE_INVALID);
    CHECK_EQUAL(attribute_of(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, 0, PAGES),
                CU_MEM_LOCATION_TYPE_NONE);
    /* The range begins in page 2 and ends in page 3, which both get the advice. */
    OK(cuMemAdvise(memory + 2 * PAGE_BYTES + 100, PAGE_BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    CHECK_EQUAL(attribute_of(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 2, 2), 1);
    CHECK_EQUAL(attribute_of(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 2, 3), 0);
    CHECK_EQUAL(attribute_of(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 1, 2), 0);
    OK(cuMemAdvise(memory, SIZE, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    CHECK_EQUAL(attribute_of(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 0, PAGES), 1);
    OK(cuMemAdvise(memory, SIZE, CU_MEM_ADVISE_UNSET_READ_MOSTLY, 0));
    CHECK_EQUAL(attribute_of(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 0, 1), 0);
    OK(cuMemAdvise(memory, SIZE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 1));
    OK(cuMemAdvise(memory, PAGE_BYTES, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU));
    CHECK_EQUAL(attribute_of(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, 0, 1), CU_DEVICE_CPU);
    CHECK_EQUAL(attribute_of(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, 0, 1),
                CU_MEM_LOCATION_TYPE_HOST);
    CHECK_EQUAL(attribute_of(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, 1, 7), 1);
    CHECK_EQUAL(attribute_of(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID, 1, 7), 1);
    CHECK_EQUAL(attribute_of(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, 1, 7),
                CU_MEM_LOCATION_TYPE_DEVICE);
    CHECK_EQUAL(attribute_of(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, 0, 2), CU_DEVICE_INVALID);
    OK(cuMemAdvise(memory, SIZE, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, 0));
    CHECK_EQUAL(attribute_of(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, 0, 1), CU_DEVICE_INVALID);
}

/* The devices by which all pages of the range are accessed, in order, then CU_DEVICE_INVALID. */
static void test_accessed_by(void)
{
    int devices[3] = {7, 7, 7}, mostly = 7;
    OK(cuMemAdvise(memory, SIZE, CU_MEM_ADVISE_SET_ACCESSED_BY, 1));
    OK(cuMemAdvise(memory, PAGE_BYTES, CU_MEM_ADVISE_SET_ACCESSED_BY, 0));
    OK(cuMemAdvise(memory, SIZE, CU_MEM_ADVISE_SET_ACCESSED_BY, CU_DEVICE_CPU));
    void *data[] = {devices, &mostly};
    size_t sizes[] = {sizeof devices, sizeof mostly};
    CUmem_range_attribute names[] = {CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY};
    OK(cuMemRangeGetAttributes(data, sizes, names, 2, memory, PAGE_BYTES));
    CHECK(devices[0] == 0 && devices[1] == 1 && devices[2] == CU_DEVICE_CPU && mostly == 0);
    OK(cuMemRangeGetAttributes(data, sizes, names, 2, memory, SIZE));
    CHECK(devices[0] == 1 && devices[1] == CU_DEVICE_CPU && devices[2] == CU_DEVICE_INVALID);
    OK(cuMemAdvise(memory, SIZE, CU_MEM_ADVISE_UNSET_ACCESSED_BY, 1));
    OK(cuMemRangeGetAttribute(devices, 4, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory, SIZE));
    CHECK_EQUAL(devices[0], CU_DEVICE_CPU);
    BAD(cuMemRangeGetAttribute(devices, 6, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory, SIZE));
    BAD(cuMemRangeGetAttribute(devices, 0, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory, SIZE));
    BAD(cuMemRangeGetAttribute(devices, 8, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, SIZE));
    BAD(cuMemRangeGetAttribute(devices, 4, 9, memory, SIZE));
    BAD(cuMemRangeGetAttribute(devices, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, SIZE + 1));
    BAD(cuMemRangeGetAttribute(devices, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, 0));
    BAD(cuMemRangeGetAttribute(NULL, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, SIZE));
}

/* A batch has ranges, locations, and the index of the first range for each location, which must begin with
 * 0. */
static void test_prefetches(void)
{
    CUmemLocation places[] = {{CU_MEM_LOCATION_TYPE_DEVICE, 1}, {CU_MEM_LOCATION_TYPE_HOST, 0}};
    CUdeviceptr ranges[] = {memory, memory + 2 * PAGE_BYTES, memory + 4 * PAGE_BYTES};
    size_t sizes[] = {PAGE_BYTES, 2 * PAGE_BYTES, PAGE_BYTES}, from[] = {0, 2}, wrong[] = {0, 3},
           late[] = {1, 2};
    CHECK_EQUAL(attribute_of(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, 0, 1), CU_DEVICE_INVALID);
    OK(cuMemPrefetchAsync(memory, SIZE, 0, stream));
    CHECK_EQUAL(attribute_of(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, 0, PAGES), 0);
    OK(cuMemPrefetchBatchAsync(ranges, sizes, 3, places, from, 2, 0, stream));
    CHECK_EQUAL(attribute_of(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, 0, 1), 1);
    CHECK_EQUAL(attribute_of(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, 1, 1), 0);
    CHECK_EQUAL(attribute_of(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, 2, 2), 1);
    CHECK_EQUAL(attribute_of(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, 4, 1), CU_DEVICE_CPU);
    CHECK_EQUAL(attribute_of(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE, 4, 1),
                CU_MEM_LOCATION_TYPE_HOST);
    CHECK_EQUAL(attribute_of(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE, 3, 2),
                CU_MEM_LOCATION_TYPE_NONE);
    OK(cuMemDiscardAndPrefetchBatchAsync(ranges, sizes, 3, places, from, 2, 0, stream));
    BAD(cuMemPrefetchBatchAsync(ranges, sizes, 3, places, from, 2, 1, stream));
    BAD(cuMemPrefetchBatchAsync(ranges, sizes, 3, places, from, 2, 0, NULL));
    BAD(cuMemPrefetchBatchAsync(ranges, sizes, 3, places, wrong, 2, 0, stream));
    BAD(cuMemPrefetchBatchAsync(ranges, sizes, 3, places, late, 2, 0, stream));
    BAD(cuMemPrefetchBatchAsync(ranges, sizes, 1, places, from, 2, 0, stream));
    BAD(cuMemPrefetchBatchAsync(ranges, sizes, 3, NULL, from, 2, 0, stream));
    BAD(cuMemPrefetchBatchAsync(NULL, sizes, 3, places, from, 2, 0, stream));
    BAD(cuMemPrefetchBatchAsync(ranges, sizes, 0, places, from, 2, 0, stream));
    places[0].id = 2;
    CHECK_EQUAL(cuMemPrefetchBatchAsync(ranges, sizes, 3, places, from, 2, 0, stream),
                CUDA_ERROR_INVALID_DEVICE);
    OK(cuStreamSynchronize(stream));
}

/* Advice ends with the memory; new memory at the same address has none. */
static void test_advice_ends_with_the_memory(void)
{
    CUdeviceptr other;
    int value;
    for (int i = 0; i < 5000; i++) {
        OK(cuMemAllocManaged(&other, 512, CU_MEM_ATTACH_GLOBAL));
        OK(cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, other, 512));
        CHECK(value == 0);
        OK(cuMemAdvise(other, 512, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
        OK(cuMemFree_v2(other));
    }
    OK(cuMemAlloc_v2(&other, 512));
    BAD(cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, other, 512));
    size_t size = 512;
    BAD(cuMemDiscardBatchAsync(&other, &size, 1, 0, stream));
    OK(cuMemFree_v2(other));
}

/* A kernel reads the word at this offset and stores it in the last word. */
static void read_word(uint64_t offset)
{
    CUdeviceptr to = memory + SIZE - 4, from = memory + offset;
    void *arguments[] = {&to, &from};
    OK(cuLaunchKernel(take, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

/* Words of discarded memory may be read by a kernel once the host, a fill or a prefetch has touched them;
 * then a word that nothing has touched is read, which is a fault under initcheck. */
static void test_discards(void)
{
    size_t size = SIZE;
    CUdeviceptr part = memory + 200;
    size_t few = 8;
    unsigned *host = (unsigned *)(uintptr_t)memory;
    memset(host, 1, SIZE);
    BAD(cuMemDiscardBatchAsync(&memory, &size, 1, 1, stream));
    BAD(cuMemDiscardBatchAsync(&memory, &size, 1, 0, NULL));
    BAD(cuMemDiscardBatchAsync(&memory, &size, 0, 0, stream));
    OK(cuMemDiscardBatchAsync(&memory, &size, 1, 0, stream));
    OK(cuStreamSynchronize(stream));
    host[0] = 0; /* a write of the value that discarded memory has */
    read_word(0);
    OK(cuStreamSynchronize(stream));
    OK(cuMemsetD8Async(memory + 100, 0, 8, stream));
    read_word(104);
    OK(cuStreamSynchronize(stream));
    OK(cuMemPrefetchAsync(part, few, 0, stream));
    read_word(200);
    OK(cuStreamSynchronize(stream));
    read_word(208);
    CHECK(cuStreamSynchronize(stream) != CUDA_SUCCESS);
    CHECK(cuCtxSynchronize() != CUDA_SUCCESS);
}

static void test_clusters(void)
{
    int clusters = 0, size = 0, blocks = 0, multiprocessors = 0;
    CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    CUlaunchConfig config = {8, 1, 1, 64, 1, 1, 0, NULL, NULL, 0};
    OK(cuOccupancyMaxPotentialClusterSize(&size, take, &config));
    CHECK_EQUAL(size, 8);
    CHECK_EQUAL(cuOccupancyMaxActiveClusters(&clusters, take, &config), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    config.attrs = &cluster;
    config.numAttrs = 1;
    cluster.value.clusterDim.x = cluster.value.clusterDim.y = cluster.value.clusterDim.z = 1;
    OK(cuOccupancyMaxActiveClusters(&clusters, take, &config));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, take, 64, 0));
    OK(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    CHECK_EQUAL(clusters, blocks * multiprocessors);
    cluster.value.clusterDim.x = 2;
    OK(cuOccupancyMaxActiveClusters(&clusters, take, &config));
    CHECK_EQUAL(clusters, blocks * multiprocessors / 2);
    config.gridDimX = cluster.value.clusterDim.x = 9;
    CHECK_EQUAL(cuOccupancyMaxActiveClusters(&clusters, take, &config), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    BAD(cuOccupancyMaxActiveClusters(&clusters, take, NULL));
    BAD(cuOccupancyMaxPotentialClusterSize(NULL, take, &config));
    config.blockDimX = 0;
    BAD(cuOccupancyMaxPotentialClusterSize(&size, take, &config));
}

static void test_resources(void)
{
    CUdevResource resource;
    int multiprocessors = 0;
    OK(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    OK(cuDeviceGetDevResource(0, &resource, CU_DEV_RESOURCE_TYPE_SM));
    CHECK(resource.type == CU_DEV_RESOURCE_TYPE_SM && resource.sm.smCount == (unsigned)multiprocessors);
    CHECK(resource.sm.minSmPartitionSize >= 1
          && multiprocessors % (int)resource.sm.smCoscheduledAlignment == 0);
    CHECK_EQUAL(cuDeviceGetDevResource(0, &resource, 7), CUDA_ERROR_INVALID_RESOURCE_TYPE);
    CHECK_EQUAL(cuDeviceGetDevResource(5, &resource, CU_DEV_RESOURCE_TYPE_SM), CUDA_ERROR_INVALID_DEVICE);
    BAD(cuDeviceGetDevResource(0, NULL, CU_DEV_RESOURCE_TYPE_SM));
}

int main(void)
{
    CUcontext context;
    CUmodule module;
    setenv("PYCUDA_CPU_MEMORY", "64M", 1);
    setenv("PYCUDA_CPU_DEVICES", "2", 1);
    setenv("PYCUDA_CPU_CHECK", "initcheck", 1);
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, source));
    OK(cuModuleGetFunction(&take, module, "take"));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAllocManaged(&memory, SIZE, CU_MEM_ATTACH_GLOBAL));
    CHECK_GROUP(test_advice);
    CHECK_GROUP(test_accessed_by);
    CHECK_GROUP(test_prefetches);
    CHECK_GROUP(test_advice_ends_with_the_memory);
    CHECK_GROUP(test_clusters);
    CHECK_GROUP(test_resources);
    CHECK_GROUP(test_discards); /* the last: it ends in a fault */
    OK(cuCtxDestroy_v2(context));
    return check_done();
}
