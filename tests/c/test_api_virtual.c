/* Virtual memory: reserving, mapping, access by device, aliases, growing, handles and their lifetimes, file
 * descriptors, attributes of pointers, and kernels that run meanwhile. */
#include "check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/base/api.h"

#define OK(call) CHECK_EQUAL(call, CUDA_SUCCESS)
#define BAD(call) CHECK_EQUAL(call, CUDA_ERROR_INVALID_VALUE)
#define UNIT ((size_t)2 << 20) /* the granularity of allocations */
#define UNIT_WORDS (UNIT / 4)

/* put: a[i] = i for i < n. */
static const char source[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry put(.param .u64 a, .param .u32 n)\n{\n"
    "  .reg .pred %p;\n  .reg .b32 %r<6>;\n  .reg .b64 %rd<5>;\n"
    "  ld.param.u64 %rd1, [a];\n  ld.param.u32 %r5, [n];\n"
    "  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n  mov.u32 %r3, %tid.x;\n"
    "  mad.lo.s32 %r4, %r1, %r2, %r3;\n  setp.ge.u32 %p, %r4, %r5;\n  @%p bra done;\n"
    "  cvta.to.global.u64 %rd2, %rd1;\n  mul.wide.u32 %rd3, %r4, 4;\n  add.s64 %rd4, %rd2, %rd3;\n"
    "  st.global.u32 [%rd4], %r4;\ndone:\n  ret;\n}\n";

/* hammer: a[0] = n, n times. */
static const char hammer_source[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry hammer(.param .u64 a, .param .u32 n)\n{\n"
    "  .reg .pred %p;\n  .reg .b32 %r<3>;\n  .reg .b64 %rd<2>;\n"
    "  ld.param.u64 %rd1, [a];\n  ld.param.u32 %r1, [n];\n  mov.u32 %r2, 0;\n"
    "again:\n  st.global.u32 [%rd1], %r1;\n  add.u32 %r2, %r2, 1;\n  setp.lt.u32 %p, %r2, %r1;\n"
    "  @%p bra again;\n  ret;\n}\n";

static CUcontext contexts[2];
static CUfunction put[2];

/* Properties of device memory with handles of the type. */
static CUmemAllocationProp properties_on(int device, CUmemAllocationHandleType type)
{
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .requestedHandleTypes = type,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
}

static CUmemGenericAllocationHandle create(size_t size, CUmemAllocationHandleType type)
{
    CUmemGenericAllocationHandle handle = 0;
    CUmemAllocationProp properties = properties_on(0, type);
    OK(cuMemCreate(&handle, size, &properties, 0));
    return handle;
}

static CUdeviceptr reserve(size_t size)
{
    CUdeviceptr range = 0;
    OK(cuMemAddressReserve(&range, size, 0, 0, 0));
    return range;
}

static CUresult set_access(CUdeviceptr address, size_t size, int device, CUmemAccess_flags flags)
{
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, device}, flags};
    return cuMemSetAccess(address, size, &access, 1);
}

/* Lets device 0 read and write. */
static CUresult allow_access(CUdeviceptr address, size_t size)
{
    return set_access(address, size, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

/* Runs `put` and waits for it. */
static CUresult launch(int device, CUdeviceptr a, unsigned n)
{
    void *params[] = {&a, &n};
    CUresult result = cuLaunchKernel(put[device], (n + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, params, NULL);
    return result ? result : cuCtxSynchronize();
}

/* Bytes of device memory in use. */
static size_t used(void)
{
    size_t free_bytes = 0, total = 0;
    OK(cuMemGetInfo_v2(&free_bytes, &total));
    return total - free_bytes;
}

/* The granularity, the attributes of the device, and allocations that are refused. */
static void test_granularity_and_creation(void)
{
    size_t unit = 0;
    int value = 0;
    CUmemAllocationProp properties = properties_on(0, CU_MEM_HANDLE_TYPE_NONE), other = properties;
    CUmemGenericAllocationHandle handle;
    OK(cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK_EQUAL(unit, UNIT);
    OK(cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    CHECK_EQUAL(unit, UNIT);
    BAD(cuMemGetAllocationGranularity(&unit, &properties, 2));
    BAD(cuMemGetAllocationGranularity(&unit, NULL, 0));
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    CHECK_EQUAL(value, 1);
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0));
    CHECK_EQUAL(value, 1);
    BAD(cuMemCreate(&handle, UNIT / 2, &properties, 0));
    BAD(cuMemCreate(&handle, 0, &properties, 0));
    BAD(cuMemCreate(&handle, UNIT, &properties, 1));
    BAD(cuMemCreate(&handle, UNIT, NULL, 0));
    CHECK_EQUAL(cuMemCreate(&handle, 1 << 30, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY);
    other.location.id = 9;
    CHECK_EQUAL(cuMemCreate(&handle, UNIT, &other, 0), CUDA_ERROR_INVALID_DEVICE);
    other.location.type = CU_MEM_LOCATION_TYPE_HOST;
    CHECK_EQUAL(cuMemCreate(&handle, UNIT, &other, 0), CUDA_ERROR_NOT_SUPPORTED);
    other = properties_on(0, 8); /* a fabric handle */
    CHECK_EQUAL(cuMemCreate(&handle, UNIT, &other, 0), CUDA_ERROR_NOT_SUPPORTED);
    other = properties_on(0, 2); /* a handle of Windows */
    BAD(cuMemCreate(&handle, UNIT, &other, 0));
    other = properties_on(0, 0);
    other.type = CU_MEM_ALLOCATION_TYPE_MANAGED;
    BAD(cuMemCreate(&handle, UNIT, &other, 0));
    CHECK_EQUAL(used(), 0);
}

/* Reservations: the hint, alignment, sizes that are refused, and freeing only what was reserved. */
static void test_reserving(void)
{
    CUdeviceptr range, other, hint = reserve(4 * UNIT);
    OK(cuMemAddressFree(hint, 4 * UNIT));
    OK(cuMemAddressReserve(&range, UNIT, 0, hint, 0));
    CHECK_EQUAL(range, hint);
    OK(cuMemAddressReserve(&other, UNIT, 0, hint, 0)); /* only a hint */
    CHECK(other != hint && other % UNIT == 0);
    BAD(cuMemAddressFree(range, 2 * UNIT));
    BAD(cuMemAddressFree(range + 4096, UNIT));
    OK(cuMemAddressFree(range, UNIT));
    BAD(cuMemAddressFree(range, UNIT));
    OK(cuMemAddressFree(other, UNIT));
    OK(cuMemAddressReserve(&range, UNIT, 64 * UNIT, 0, 0));
    CHECK_EQUAL(range % (64 * UNIT), 0);
    OK(cuMemAddressFree(range, UNIT));
    OK(cuMemAddressReserve(&range, (size_t)1 << 40, 0, 0, 0)); /* costs nothing */
    OK(cuMemAddressFree(range, (size_t)1 << 40));
    BAD(cuMemAddressReserve(&range, 0, 0, 0, 0));
    BAD(cuMemAddressReserve(&range, 100, 0, 0, 0));
    BAD(cuMemAddressReserve(&range, 4096, 0, 0, 0));
    BAD(cuMemAddressReserve(&range, UNIT, 3, 0, 0));
    BAD(cuMemAddressReserve(&range, UNIT, 0, 0, 1));
    BAD(cuMemAddressReserve(NULL, UNIT, 0, 0, 0));
}

/* Two allocations mapped to adjacent addresses, and the second at another address as well: kernels, fills and
 * copies cross the border between them, and the alias shows what they wrote. */
static void test_aliases(void)
{
    enum { N = 2 * UNIT_WORDS };
    static unsigned host[N];
    CUmemGenericAllocationHandle first = create(UNIT, 0), second = create(UNIT, 0);
    CUdeviceptr range = reserve(4 * UNIT), alias = reserve(UNIT);
    unsigned wrong = 0;
    OK(cuMemMap(range, UNIT, 0, first, 0));
    OK(cuMemMap(range + UNIT, UNIT, 0, second, 0));
    OK(cuMemMap(alias, UNIT, 0, second, 0));
    OK(allow_access(range, 2 * UNIT));
    OK(allow_access(alias, UNIT));
    CHECK_EQUAL(used(), 2 * UNIT);
    OK(launch(0, range + 4, N - 1)); /* from the second word on, so that one warp writes across the border */
    OK(cuMemcpyDtoH_v2(host, range, sizeof host));
    for (unsigned i = 1; i < N; i++) wrong += host[i] != i - 1;
    CHECK_EQUAL(wrong, 0);
    OK(cuMemcpyDtoH_v2(host, alias, 4));
    CHECK_EQUAL(host[0], UNIT_WORDS - 1);
    OK(cuMemsetD32_v2(range + UNIT - 8, 77, 4));
    OK(cuMemcpyDtoH_v2(host, alias, 8));
    CHECK(host[0] == 77 && host[1] == 77);
    BAD(cuMemsetD32_v2(range + 2 * UNIT - 8, 77, 4));
    BAD(cuMemcpyDtoH_v2(host, range + 2 * UNIT - 8, 16));
    OK(cuMemUnmap(range, 2 * UNIT));
    OK(cuMemcpyDtoH_v2(host, alias, 8));
    CHECK_EQUAL(host[0], 77);
    BAD(cuMemcpyDtoH_v2(host, range, 4));
    BAD(cuMemcpy((CUdeviceptr)(uintptr_t)host, range, 4)); /* not taken for host memory either */
    OK(cuMemUnmap(alias, UNIT));
    OK(cuMemRelease(first));
    OK(cuMemRelease(second));
    OK(cuMemAddressFree(range, 4 * UNIT));
    OK(cuMemAddressFree(alias, UNIT));
    CHECK_EQUAL(used(), 0);
}

static void test_mapping_errors(void)
{
    CUmemGenericAllocationHandle memory = create(2 * UNIT, 0);
    CUdeviceptr range = reserve(4 * UNIT), allocated;
    OK(cuMemAlloc_v2(&allocated, 4 * UNIT));
    BAD(cuMemMap(allocated, 2 * UNIT, 0, memory, 0));
    BAD(cuMemFree_v2(range));
    OK(cuMemFree_v2(allocated));
    BAD(cuMemMap(range, 2 * UNIT, 0, memory + 1, 0));
    CHECK_EQUAL(cuMemMap(range, UNIT, UNIT, memory, 0),
                CUDA_ERROR_NOT_SUPPORTED); /* only whole allocations */
    CHECK_EQUAL(cuMemMap(range, UNIT, 0, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
    CHECK_EQUAL(cuMemMap(range, 3 * UNIT, 0, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
    CHECK_EQUAL(cuMemMap(range + 4096, UNIT, 0, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
    CHECK_EQUAL(cuMemMap((CUdeviceptr)1 << 40, UNIT, 0, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
    BAD(cuMemMap(range + 4096, 2 * UNIT, 0, memory, 0));
    BAD(cuMemMap(range + 3 * UNIT, 2 * UNIT, 0, memory, 0));
    BAD(cuMemMap(range, 2 * UNIT, 0, memory, 1));
    OK(cuMemUnmap(range, UNIT)); /* nothing is mapped there */
    BAD(cuMemUnmap(range + 3 * UNIT, 2 * UNIT));
    OK(cuMemMap(range + UNIT, 2 * UNIT, 0, memory, 0));
    BAD(cuMemMap(range, 2 * UNIT, 0, memory, 0));
    BAD(cuMemMap(range + 2 * UNIT, 2 * UNIT, 0, memory, 0));
    BAD(cuMemUnmap(range + UNIT, UNIT));
    BAD(cuMemUnmap(range + 2 * UNIT, UNIT));
    BAD(cuMemUnmap(range, 3 * UNIT));
    BAD(cuMemUnmap(range, 4 * UNIT));
    BAD(cuMemAddressFree(range, 4 * UNIT));
    BAD(allow_access(range + UNIT, UNIT));
    BAD(allow_access(range, 3 * UNIT));
    BAD(set_access(range + UNIT, 2 * UNIT, 0, 2)); /* there are no such flags */
    BAD(cuMemSetAccess(range + UNIT, 2 * UNIT, NULL, 0));
    BAD(set_access(range + UNIT, 2 * UNIT, 9, CU_MEM_ACCESS_FLAGS_PROT_READWRITE)); /* no such device */
    CUmemAccessDesc host = {{CU_MEM_LOCATION_TYPE_HOST, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CHECK_EQUAL(cuMemSetAccess(range + UNIT, 2 * UNIT, &host, 1), CUDA_ERROR_NOT_SUPPORTED);
    BAD(cuMemsetD8_v2(range + UNIT, 1, 1)); /* mapped, but without access */
    OK(allow_access(range + UNIT, 2 * UNIT));
    OK(cuMemUnmap(range + UNIT, 2 * UNIT));
    OK(cuMemRelease(memory));
    BAD(cuMemRelease(memory));
    OK(cuMemAddressFree(range, 4 * UNIT));
    CHECK_EQUAL(used(), 0);
}

/* Memory stays allocated until its last handle is released and its last mapping removed; a handle retained
 * from a mapping has the value of the first one. */
static void test_lifetime(void)
{
    CUmemGenericAllocationHandle memory = create(UNIT, 0), again = 0;
    CUmemAllocationProp properties;
    CUdeviceptr range = reserve(UNIT);
    OK(cuMemMap(range, UNIT, 0, memory, 0));
    OK(allow_access(range, UNIT));
    OK(cuMemRelease(memory));
    BAD(cuMemMap(range, UNIT, 0, memory, 0));
    CHECK_EQUAL(used(), UNIT);
    OK(cuMemsetD8_v2(range, 5, UNIT));
    OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(range + UNIT - 1)));
    CHECK_EQUAL(again, memory);
    OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)range));
    OK(cuMemGetAllocationPropertiesFromHandle(&properties, again));
    CHECK(properties.type == CU_MEM_ALLOCATION_TYPE_PINNED && properties.location.id == 0);
    CHECK_EQUAL(properties.requestedHandleTypes, CU_MEM_HANDLE_TYPE_NONE);
    OK(cuMemUnmap(range, UNIT));
    BAD(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)range));
    CHECK_EQUAL(used(), UNIT);
    OK(cuMemRelease(memory));
    OK(cuMemRelease(memory));
    BAD(cuMemRelease(memory));
    CHECK_EQUAL(used(), 0);
    OK(cuMemAddressFree(range, UNIT));
}

/* Attributes of a pointer into a range that is reserved, mapped, and accessible. */
static void test_pointer_attributes(void)
{
    CUmemGenericAllocationHandle memory = create(UNIT, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUdeviceptr range = reserve(4 * UNIT), inside = range + UNIT + 100, base = 0;
    CUcontext context = contexts[0];
    size_t size = 0;
    unsigned flag = 9;
    uint64_t types = 0;
    int device = -5;
    OK(cuPointerGetAttribute(&flag, CU_POINTER_ATTRIBUTE_MAPPED, inside));
    CHECK_EQUAL(flag, 0);
    OK(cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, inside));
    OK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, inside));
    CHECK(base == range && size == 4 * UNIT);
    BAD(cuPointerGetAttribute(&flag, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, inside));
    CHECK_EQUAL(cuMemGetAddressRange_v2(&base, &size, inside), CUDA_ERROR_NOT_FOUND);
    OK(cuMemMap(range + UNIT, UNIT, 0, memory, 0));
    OK(cuMemGetAddressRange_v2(&base, &size, inside));
    CHECK(base == range + UNIT && size == UNIT);
    OK(cuPointerGetAttribute(&flag, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, inside));
    CHECK_EQUAL(flag, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    BAD(cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, inside));
    OK(set_access(range + UNIT, UNIT, 0, CU_MEM_ACCESS_FLAGS_PROT_READ));
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MAPPED,
                                   CU_POINTER_ATTRIBUTE_MAPPING_SIZE,
                                   CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR,
                                   CU_POINTER_ATTRIBUTE_CONTEXT,
                                   CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
                                   CU_POINTER_ATTRIBUTE_ACCESS_FLAGS,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    unsigned mapped = 0;
    void *values[] = {&mapped, &size, &base, &context, &types, &flag, &device};
    OK(cuPointerGetAttributes(7, names, values, inside));
    CHECK(mapped == 1 && size == UNIT && base == range + UNIT && !context && device == 0);
    CHECK(types == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && flag == CU_MEM_ACCESS_FLAGS_PROT_READ);
    OK(cuMemUnmap(range + UNIT, UNIT));
    OK(cuMemRelease(memory));
    OK(cuMemAddressFree(range, 4 * UNIT));
    CHECK_EQUAL(cuMemGetAddressRange_v2(&base, &size, inside), CUDA_ERROR_NOT_FOUND);
}

/* Memory exported to a file descriptor and imported again is the same memory. */
static void test_descriptors(void)
{
    CUmemGenericAllocationHandle memory = create(UNIT, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUmemGenericAllocationHandle plain = create(UNIT, 0), imported = 0;
    CUmemAllocationProp properties;
    CUdeviceptr range = reserve(2 * UNIT);
    unsigned host[2] = {0};
    int fd = -1;
    BAD(cuMemExportToShareableHandle(&fd, plain, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    BAD(cuMemExportToShareableHandle(&fd, memory, 2, 0));
    OK(cuMemExportToShareableHandle(&fd, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CHECK(fd >= 0);
    OK(cuMemMap(range, UNIT, 0, memory, 0));
    OK(cuMemRelease(memory));
    OK(cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)fd,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    OK(cuMemGetAllocationPropertiesFromHandle(&properties, imported));
    CHECK_EQUAL(properties.requestedHandleTypes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    close(fd);
    OK(cuMemMap(range + UNIT, UNIT, 0, imported, 0));
    OK(allow_access(range, 2 * UNIT));
    OK(cuMemsetD32_v2(range, 1234, 2));
    OK(cuMemcpyDtoH_v2(host, range + UNIT, 8));
    CHECK(host[0] == 1234 && host[1] == 1234);
    BAD(cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)0,
                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    BAD(cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)-1,
                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    OK(cuMemUnmap(range, 2 * UNIT));
    OK(cuMemRelease(imported));
    OK(cuMemRelease(plain));
    OK(cuMemAddressFree(range, 2 * UNIT));
    CHECK_EQUAL(used(), 0);
}

/* Access is set for each device and each mapping separately. */
static void test_devices(void)
{
    static unsigned host[2 * UNIT_WORDS];
    CUmemGenericAllocationHandle memory = create(UNIT, 0);
    CUdeviceptr range = reserve(2 * UNIT);
    unsigned long long flags = 9;
    CUmemLocation first = {CU_MEM_LOCATION_TYPE_DEVICE, 0}, second = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
    OK(cuMemMap(range, UNIT, 0, memory, 0));
    OK(cuMemMap(range + UNIT, UNIT, 0, memory, 0));
    OK(allow_access(range, 2 * UNIT));
    OK(set_access(range, UNIT, 1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    OK(cuMemGetAccess(&flags, &second, range));
    CHECK_EQUAL(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemGetAccess(&flags, &second, range + UNIT));
    CHECK_EQUAL(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    OK(cuMemGetAccess(&flags, &first, range + UNIT));
    CHECK_EQUAL(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuCtxPushCurrent_v2(contexts[1]));
    OK(launch(1, range, UNIT_WORDS));
    OK(cuCtxPopCurrent_v2(NULL));
    OK(cuMemcpyDtoH_v2(host, range, sizeof host));
    CHECK(host[UNIT_WORDS - 1] == UNIT_WORDS - 1 && host[UNIT_WORDS] == 0);
    OK(cuMemsetD8_v2(range, 0, 2 * UNIT));
    OK(set_access(range, UNIT, 0, CU_MEM_ACCESS_FLAGS_PROT_NONE));
    OK(set_access(range, UNIT, 1, CU_MEM_ACCESS_FLAGS_PROT_READ));
    BAD(cuMemsetD8_v2(range, 1, 1));
    BAD(cuMemcpyHtoD_v2(range, host, 4));
    OK(cuMemcpyDtoH_v2(host, range, 4));
    CHECK_EQUAL(launch(0, range + UNIT, 1), CUDA_SUCCESS);
    OK(cuMemUnmap(range, 2 * UNIT));
    OK(cuMemRelease(memory));
    OK(cuMemAddressFree(range, 2 * UNIT));
}

/* Runs `act` in a new context, which a fault may break. */
static CUresult in_fresh_context(CUresult (*act)(CUdeviceptr), CUdeviceptr address)
{
    CUcontext context;
    CUmodule module;
    CUfunction before = put[0];
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, source));
    OK(cuModuleGetFunction(&put[0], module, "put"));
    CUresult result = act(address);
    OK(cuCtxDestroy_v2(context));
    put[0] = before;
    return result;
}

static CUresult launch_one(CUdeviceptr address) { return launch(0, address, 1); }

static CUresult launch_two_units(CUdeviceptr address) { return launch(0, address, 2 * UNIT_WORDS); }

/* Unmaps the memory that an instantiated graph fills, and launches the graph again. */
static CUresult replay_unmapped(CUdeviceptr address)
{
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node;
    CUcontext context;
    CUDA_MEMSET_NODE_PARAMS fill = {.dst = address, .elementSize = 1, .width = 64, .height = 1};
    OK(cuCtxGetCurrent(&context));
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemsetNode(&node, graph, NULL, 0, &fill, context));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemUnmap(address, UNIT));
    cuGraphLaunch(exec, NULL);
    CUresult result = cuCtxSynchronize();
    cuGraphExecDestroy(exec);
    cuGraphDestroy(graph);
    return result;
}

/* Kernels and graphs fault if a range is not mapped, not accessible, read-only, or unmapped again. */
static void test_faults(void)
{
    CUmemGenericAllocationHandle memory = create(UNIT, 0);
    CUdeviceptr range = reserve(2 * UNIT);
    const CUresult fault = CUDA_ERROR_ILLEGAL_ADDRESS;
    CHECK_EQUAL(in_fresh_context(launch_one, range), fault);
    OK(cuMemMap(range, UNIT, 0, memory, 0));
    CHECK_EQUAL(in_fresh_context(launch_one, range), fault);
    OK(set_access(range, UNIT, 0, CU_MEM_ACCESS_FLAGS_PROT_READ));
    CHECK_EQUAL(in_fresh_context(launch_one, range), fault);
    OK(allow_access(range, UNIT));
    OK(in_fresh_context(launch_one, range));
    CHECK_EQUAL(in_fresh_context(launch_two_units, range), fault);
    CHECK_EQUAL(in_fresh_context(replay_unmapped, range), fault);
    CHECK_EQUAL(in_fresh_context(launch_one, range), fault);
    OK(cuMemAddressFree(range, 2 * UNIT));
    OK(cuMemRelease(memory));
    CHECK_EQUAL(used(), 0);
}

/* Memory is unmapped and its addresses freed while a kernel of another context writes to it: unmapping does
 * not wait for the kernel, which ends normally or with a fault. */
static void test_unmap_during_a_kernel(void)
{
    CUmemGenericAllocationHandle memory = create(UNIT, 0);
    CUdeviceptr range = reserve(UNIT);
    CUcontext other;
    CUmodule module;
    CUfunction hammer;
    unsigned count = 300000;
    void *params[] = {&range, &count};
    OK(cuMemMap(range, UNIT, 0, memory, 0));
    OK(allow_access(range, UNIT));
    OK(cuCtxCreate_v2(&other, 0, 0));
    OK(cuModuleLoadData(&module, hammer_source));
    OK(cuModuleGetFunction(&hammer, module, "hammer"));
    OK(cuLaunchKernel(hammer, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
    CHECK(cuStreamQuery(NULL) == CUDA_ERROR_NOT_READY);
    OK(cuCtxPopCurrent_v2(NULL));
    usleep(5000);
    OK(cuMemUnmap(range, UNIT));
    OK(cuMemAddressFree(range, UNIT));
    OK(cuMemRelease(memory));
    OK(cuCtxPushCurrent_v2(other));
    CUresult result = cuCtxSynchronize();
    CHECK(result == CUDA_SUCCESS || result == CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuCtxDestroy_v2(other));
    CHECK_EQUAL(used(), 0);
}

int main(void)
{
    CUmodule module;
    setenv("PYCUDA_CPU_MEMORY", "64M", 1);
    setenv("PYCUDA_CPU_DEVICES", "2", 1);
    OK(cuInit(0));
#ifdef __SANITIZE_THREAD__
    int is_supported =
        0; /* ThreadSanitizer's runtime does not always leave a large enough hole of addresses */
    OK(cuDeviceGetAttribute(&is_supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    if (!is_supported) return check_done();
#endif
    for (int d = 1; d >= 0; d--) {
        OK(cuCtxCreate_v2(&contexts[d], 0, d));
        OK(cuModuleLoadData(&module, source));
        OK(cuModuleGetFunction(&put[d], module, "put"));
    }
    CHECK_GROUP(test_granularity_and_creation);
    CHECK_GROUP(test_reserving);
    CHECK_GROUP(test_aliases);
    CHECK_GROUP(test_mapping_errors);
    CHECK_GROUP(test_lifetime);
    CHECK_GROUP(test_pointer_attributes);
    CHECK_GROUP(test_descriptors);
    CHECK_GROUP(test_devices);
    CHECK_GROUP(test_faults);
    CHECK_GROUP(test_unmap_during_a_kernel);
    OK(cuCtxDestroy_v2(contexts[0]));
    OK(cuCtxDestroy_v2(contexts[1]));
    return check_done();
}
