/* Memory calls: allocation and its limits, copies of every shape, fills, arrays, host memory, pools,
 * pointers. */
#include "check.h"

#include <stdbool.h>
#include <stdlib.h>

#include "api/base/api.h"

#define OK(call) CHECK_EQUAL(call, CUDA_SUCCESS)
#define BAD(call) CHECK_EQUAL(call, CUDA_ERROR_INVALID_VALUE)

static void test_alloc(void)
{
    CUdeviceptr a, b, base;
    size_t free_before, free_now, total, size;
    OK(cuMemGetInfo_v2(&free_before, &total));
    CHECK_EQUAL(total, 64 << 20);
    CHECK_EQUAL(free_before, total);
    OK(cuMemGetInfo_v2(&free_now, NULL));
    CHECK_EQUAL(free_now, total);
    BAD(cuMemGetInfo_v2(NULL, NULL));
    OK(cuMemAlloc_v2(&a, 1000));
    OK(cuMemGetInfo_v2(&free_now, &total));
    CHECK_EQUAL(free_before - free_now, 1000);
    OK(cuMemGetAddressRange_v2(&base, &size, a + 999));
    CHECK(base == a && size == 1000);
    CHECK_EQUAL(cuMemGetAddressRange_v2(&base, &size, a + 1000), CUDA_ERROR_NOT_FOUND);
    BAD(cuMemAlloc_v2(&b, 0));
    BAD(cuMemAlloc_v2(NULL, 4));
    CHECK_EQUAL(cuMemAlloc_v2(&b, 64 << 20), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_EQUAL(cuMemAlloc_v2(&b, (size_t)-1), CUDA_ERROR_OUT_OF_MEMORY);
    BAD(cuMemFree_v2(a + 4));
    OK(cuMemFree_v2(a));
    BAD(cuMemFree_v2(a));
    OK(cuMemFree_v2(0));
    OK(cuMemAlloc_v2(&b, 64 << 20));
    OK(cuMemFree_v2(b));
    OK(cuMemGetInfo_v2(&free_now, &total));
    CHECK_EQUAL(free_now, free_before);
}

static void test_pitch(void)
{
    CUdeviceptr a;
    size_t pitch = 0;
    OK(cuMemAllocPitch_v2(&a, &pitch, 100, 10, 4));
    CHECK(pitch >= 100 && pitch % 512 == 0);
    OK(cuMemFree_v2(a));
    BAD(cuMemAllocPitch_v2(&a, &pitch, 100, 10, 3));
    BAD(cuMemAllocPitch_v2(&a, &pitch, 0, 10, 4));
}

static void test_flat_copies(void)
{
    CUdeviceptr a, b;
    unsigned char host[300], back[300];
    for (int i = 0; i < 300; i++) host[i] = (unsigned char)(i * 7);
    OK(cuMemAlloc_v2(&a, 300));
    OK(cuMemAlloc_v2(&b, 300));
    OK(cuMemcpyHtoD_v2(a, host, 300));
    OK(cuMemcpyDtoD_v2(b, a, 300));
    OK(cuMemcpyDtoH_v2(back, b, 300));
    CHECK(!memcmp(host, back, 300));
    OK(cuMemcpyDtoH_v2(back, b + 100, 50));
    CHECK(!memcmp(host + 100, back, 50));
    memset(back, 0, sizeof back);
    OK(cuMemcpy((CUdeviceptr)(uintptr_t)back, a, 300));
    CHECK(!memcmp(host, back, 300));
    BAD(cuMemcpyHtoD_v2(a, host, 301));
    BAD(cuMemcpyHtoD_v2(a + 1, host, 300));
    BAD(cuMemcpyDtoH_v2(back, b + 300, 1));
    BAD(cuMemcpyDtoD_v2(a, b, 301));
    BAD(cuMemcpyHtoD_v2((CUdeviceptr)(uintptr_t)back, host, 300)); /* not device memory */
    BAD(cuMemcpyHtoD_v2(a, NULL, 300));
    OK(cuMemcpyHtoD_v2(a, host, 0));
    OK(cuMemFree_v2(a));
    BAD(cuMemcpyHtoD_v2(a, host, 4));
    BAD(cuMemcpy((CUdeviceptr)(uintptr_t)back, a, 4));
    OK(cuMemFree_v2(b));
}

static void test_fills(void)
{
    CUdeviceptr a;
    uint32_t words[64];
    uint16_t halves[128];
    unsigned char bytes[256];
    OK(cuMemAlloc_v2(&a, 256));
    OK(cuMemsetD32_v2(a, 0xdeadbeefu, 64));
    OK(cuMemcpyDtoH_v2(words, a, 256));
    for (int i = 0; i < 64; i++) CHECK(words[i] == 0xdeadbeefu);
    OK(cuMemsetD16_v2(a + 2, 0x1234, 10));
    OK(cuMemcpyDtoH_v2(halves, a, 256));
    CHECK(halves[0] == 0xbeef && halves[1] == 0x1234 && halves[10] == 0x1234 && halves[11] == 0xdead);
    OK(cuMemsetD8_v2(a, 0, 256));
    OK(cuMemsetD2D8_v2(a + 3, 32, 0xaa, 5, 4));
    OK(cuMemcpyDtoH_v2(bytes, a, 256));
    for (int i = 0; i < 256; i++) CHECK_EQUAL(bytes[i], i / 32 < 4 && i % 32 >= 3 && i % 32 < 8 ? 0xaa : 0);
    OK(cuMemsetD2D32_v2(a, 64, 5, 16, 4));
    OK(cuMemcpyDtoH_v2(words, a, 256));
    CHECK(words[0] == 5 && words[63] == 5);
    BAD(cuMemsetD32_v2(a, 0, 65));
    BAD(cuMemsetD32_v2(a + 2, 0, 1));
    BAD(cuMemsetD16_v2(a + 1, 0, 1));
    BAD(cuMemsetD8_v2(a, 0, (size_t)-1));
    BAD(cuMemsetD32_v2(a, 0, (size_t)1 << 62));
    OK(cuMemsetD8_v2(a, 0, 0));
    OK(cuMemFree_v2(a));
}

/* A block of 7 x 3 bytes from (2, 1) of a 10 x 5 image to (1, 2) of pitched memory and back. */
static void test_copy_2d(void)
{
    CUdeviceptr a;
    size_t pitch;
    unsigned char image[50], back[50];
    for (int i = 0; i < 50; i++) image[i] = (unsigned char)(i + 1);
    memset(back, 0, sizeof back);
    OK(cuMemAllocPitch_v2(&a, &pitch, 16, 8, 4));
    CUDA_MEMCPY2D copy = {
        .srcXInBytes = 2,
        .srcY = 1,
        .srcMemoryType = CU_MEMORYTYPE_HOST,
        .srcHost = image,
        .srcPitch = 10,
        .dstXInBytes = 1,
        .dstY = 2,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = a,
        .dstPitch = pitch,
        .WidthInBytes = 7,
        .Height = 3,
    };
    OK(cuMemcpy2D_v2(&copy));
    CUDA_MEMCPY2D home = {
        .srcXInBytes = 1,
        .srcY = 2,
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = a,
        .srcPitch = pitch,
        .dstXInBytes = 2,
        .dstY = 1,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
        .dstDevice = (CUdeviceptr)(uintptr_t)back,
        .dstPitch = 10,
        .WidthInBytes = 7,
        .Height = 3,
    };
    OK(cuMemcpy2DUnaligned_v2(&home));
    for (int i = 0; i < 50; i++) {
        bool inside = i % 10 >= 2 && i % 10 < 9 && i / 10 >= 1 && i / 10 < 4;
        CHECK_EQUAL(back[i], inside ? image[i] : 0);
    }
    copy.dstY = 6;
    BAD(cuMemcpy2D_v2(&copy)); /* past the last row */
    copy.dstY = 0;
    copy.dstPitch = 6;
    BAD(cuMemcpy2D_v2(&copy));
    copy.dstPitch = pitch;
    copy.srcMemoryType = 9;
    BAD(cuMemcpy2D_v2(&copy));
    BAD(cuMemcpy2D_v2(NULL));
    OK(cuMemFree_v2(a));
}

static void test_arrays(void)
{
    CUarray array;
    CUDA_ARRAY_DESCRIPTOR flat = {8, 4, CU_AD_FORMAT_FLOAT, 2}, described;
    CUDA_ARRAY3D_DESCRIPTOR deep = {4, 3, 2, CU_AD_FORMAT_UNSIGNED_INT8, 4, 0}, deep_out;
    float image[64], back[64];
    for (int i = 0; i < 64; i++) image[i] = (float)i / 3;
    OK(cuArrayCreate_v2(&array, &flat));
    OK(cuArrayGetDescriptor_v2(&described, array));
    CHECK(described.Width == 8 && described.Height == 4 && described.Format == CU_AD_FORMAT_FLOAT
          && described.NumChannels == 2);
    CUDA_MEMCPY2D copy = {
        .srcMemoryType = CU_MEMORYTYPE_HOST,
        .srcHost = image,
        .srcPitch = 64,
        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
        .dstArray = array,
        .WidthInBytes = 64,
        .Height = 4,
    };
    OK(cuMemcpy2D_v2(&copy));
    OK(cuMemcpyAtoH_v2(back, array, 64, 64)); /* the second row */
    CHECK(!memcmp(back, image + 16, 64));
    BAD(cuMemcpyAtoH_v2(back, array, 250, 64));
    copy.Height = 5;
    BAD(cuMemcpy2D_v2(&copy));
    OK(cuArrayDestroy(array));
    CHECK_EQUAL(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
    CHECK_EQUAL(cuMemcpy2D_v2(&copy), CUDA_ERROR_INVALID_HANDLE);

    unsigned char volume[96], returned[96];
    for (int i = 0; i < 96; i++) volume[i] = (unsigned char)(200 - i);
    OK(cuArray3DCreate_v2(&array, &deep));
    OK(cuArray3DGetDescriptor_v2(&deep_out, array));
    CHECK(deep_out.Depth == 2 && deep_out.NumChannels == 4);
    CUDA_MEMCPY3D in = {
        .srcMemoryType = CU_MEMORYTYPE_HOST,
        .srcHost = volume,
        .srcPitch = 16,
        .srcHeight = 3,
        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
        .dstArray = array,
        .WidthInBytes = 16,
        .Height = 3,
        .Depth = 2,
    };
    OK(cuMemcpy3D_v2(&in));
    CUDA_MEMCPY3D out = {
        .srcMemoryType = CU_MEMORYTYPE_ARRAY,
        .srcArray = array,
        .dstMemoryType = CU_MEMORYTYPE_HOST,
        .dstHost = returned,
        .dstPitch = 16,
        .dstHeight = 3,
        .WidthInBytes = 16,
        .Height = 3,
        .Depth = 2,
    };
    OK(cuMemcpy3D_v2(&out));
    CHECK(!memcmp(volume, returned, 96));
    out.srcZ = 1;
    BAD(cuMemcpy3D_v2(&out));
    OK(cuArrayDestroy(array));
    deep.Format = 77;
    BAD(cuArray3DCreate_v2(&array, &deep));
}

static void test_host_memory(void)
{
    void *pinned;
    static char own[9000];
    CUdeviceptr address;
    unsigned flags = 0, type = 0;
    OK(cuMemHostAlloc(&pinned, 5000, CU_MEMHOSTALLOC_PORTABLE));
    memset(pinned, 3, 5000);
    OK(cuMemHostGetDevicePointer_v2(&address, (char *)pinned + 10, 0));
    CHECK(address == (CUdeviceptr)(uintptr_t)pinned + 10);
    OK(cuMemHostGetFlags(&flags, pinned));
    CHECK(flags & CU_MEMHOSTALLOC_PORTABLE);
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
    CHECK_EQUAL(type, CU_MEMORYTYPE_HOST);
    OK(cuMemFreeHost(pinned));
    BAD(cuMemFreeHost(pinned));
    BAD(cuMemFreeHost(own));
    BAD(cuMemHostAlloc(&pinned, 10, 99));
    OK(cuMemHostRegister_v2(own, 8000, CU_MEMHOSTREGISTER_DEVICEMAP));
    CHECK_EQUAL(cuMemHostRegister_v2(own + 100, 8, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    OK(cuMemHostGetDevicePointer_v2(&address, own, 0));
    CHECK_EQUAL(cuMemHostUnregister(own + 1), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    OK(cuMemHostUnregister(own));
    CHECK_EQUAL(cuMemHostUnregister(own), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    BAD(cuMemHostGetDevicePointer_v2(&address, own, 0));
}

static void test_pointers(void)
{
    CUdeviceptr a, start = 0;
    CUcontext context = NULL, current = NULL;
    unsigned managed = 9, type = 9;
    size_t size = 0;
    int ordinal = 9;
    OK(cuMemAllocManaged(&a, 4000, CU_MEM_ATTACH_GLOBAL));
    OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, a + 5));
    CHECK_EQUAL(managed, 1);
    OK(cuMemAdvise(a, 4000, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    BAD(cuMemAdvise(a, 4001, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    OK(cuMemPrefetchAsync(a, 4000, CU_DEVICE_CPU, NULL));
    ((char *)(uintptr_t)a)[3999] = 1;
    OK(cuMemFree_v2(a));
    BAD(cuMemAllocManaged(&a, 4000, 7));
    OK(cuMemAlloc_v2(&a, 4000));
    OK(cuCtxGetCurrent(&current));
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *values[] = {&context, &type, &start, &size, &ordinal};
    OK(cuPointerGetAttributes(5, names, values, a + 17));
    CHECK(context == current && type == CU_MEMORYTYPE_DEVICE && start == a && size == 4000 && ordinal == 0);
    OK(cuPointerGetAttributes(5, names, values, (CUdeviceptr)(uintptr_t)&a));
    CHECK(!context && !type && !start && !size && ordinal == CU_DEVICE_INVALID);
    BAD(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)&a));
    BAD(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_HOST_POINTER, a));
    OK(cuMemFree_v2(a));
}

/* Stream-ordered memory of the default pool and of a new one, which lives until its last memory is freed. */
static void test_pools(void)
{
    CUmemoryPool pool, made;
    CUdeviceptr a, b;
    CUstream stream;
    uint64_t used = 9, high = 0, zero = 0;
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    OK(cuStreamCreate(&stream, 0));
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuMemAllocAsync(&a, 1000, stream));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    CHECK_EQUAL(used, 1000);
    OK(cuMemsetD8Async(a, 1, 1000, stream));
    OK(cuMemFreeAsync(a, stream));
    OK(cuStreamSynchronize(stream));
    BAD(cuMemsetD8Async(a, 1, 1, stream));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &high));
    CHECK(used == 0 && high == 1000);
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
    OK(cuMemPoolCreate(&made, &properties));
    OK(cuMemAllocFromPoolAsync(&b, 500, made, stream));
    OK(cuMemPoolDestroy(made));
    OK(cuMemsetD8_v2(b, 0, 500));
    OK(cuMemFree_v2(b));
    BAD(cuMemPoolDestroy(made));
    BAD(cuMemPoolDestroy(pool));
    BAD(cuMemFreeAsync(b, stream));
    OK(cuStreamDestroy_v2(stream));
}

int main(void)
{
    CUcontext context;
    size_t free_bytes = 0, total = 1;
    setenv("PYCUDA_CPU_MEMORY", "64M", 1);
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    CHECK_GROUP(test_alloc);
    CHECK_GROUP(test_pitch);
    CHECK_GROUP(test_flat_copies);
    CHECK_GROUP(test_fills);
    CHECK_GROUP(test_copy_2d);
    CHECK_GROUP(test_arrays);
    CHECK_GROUP(test_host_memory);
    CHECK_GROUP(test_pointers);
    CHECK_GROUP(test_pools);
    OK(cuMemGetInfo_v2(&free_bytes, &total));
    CHECK_EQUAL(free_bytes, total); /* no test has leaked memory */
    OK(cuCtxDestroy_v2(context));
    return check_done();
}
