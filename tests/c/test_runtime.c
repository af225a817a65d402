/* CUDA's runtime library of the CPU device, in the version CUDART_MAJOR, as nvcc's host code uses it: a fat
 * binary is registered, and host addresses stand for its kernels and variables. */
#include <stdlib.h>

#define CU_API
#include "runtime/types.h"

#define RT_OTHER(type, name, params) type name params;
#define RT_FORWARD(name, per_thread, needs, params, driver, args) cudaError_t name params;
#define RT_FUNCTION(name, per_thread, needs, params, args) cudaError_t name params;
#include "runtime/functions.def"
cudaError_t cudaMemcpy_ptds(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind);
cudaError_t cudaLaunchKernel_ptsz(const void *func, dim3 gridDim, dim3 blockDim, void **args,
                                  size_t sharedMem, cudaStream_t stream);
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream);

#include "abi/fat_binary.h"
#include "check.h"

enum { COUNT = 100, CHANNEL_BITS = 32 };

static const char ptx[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .const .align 4 .u32 step;\n"
    ".visible .global .align 4 .u32 total;\n"
    ".visible .global .attribute(.managed) .align 4 .u32 shared_count;\n"
    ".visible .entry add(.param .u64 to, .param .u32 count) {\n"
    ".reg .pred %p; .reg .b32 %r<8>; .reg .b64 %d<4>;\n"
    "ld.param.u64 %d0, [to]; ld.param.u32 %r0, [count];\n"
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3;\n"
    "setp.ge.u32 %p, %r4, %r0; @%p ret;\n"
    "mul.wide.u32 %d1, %r4, 4; add.u64 %d2, %d0, %d1;\n"
    "ld.global.u32 %r5, [%d2]; ld.const.u32 %r6, [step]; add.u32 %r5, %r5, %r6; st.global.u32 [%d2], %r5;\n"
    "red.global.add.u32 [total], 1; red.global.add.u32 [shared_count], 2; ret;\n}\n"
    ".visible .entry fault(.param .u64 to) {\n"
    ".reg .b64 %d<2>; ld.param.u64 %d0, [to]; st.global.u32 [%d0], 1; ret;\n}\n"
    ".visible .entry sample(.param .u64 to, .param .u64 texture) {\n"
    ".reg .f32 %f<6>; .reg .b32 %r<2>; .reg .b64 %d<5>;\n"
    "ld.param.u64 %d0, [to]; ld.param.u64 %d1, [texture]; mov.u32 %r0, %tid.x; cvt.rn.f32.u32 %f0, %r0;\n"
    "mov.f32 %f1, 0f00000000;\n"
    "tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%d1, {%f0, %f1}];\n"
    "mul.wide.u32 %d2, %r0, 4; add.u64 %d3, %d0, %d2; st.global.f32 [%d3], %f2; ret;\n}\n";

static struct {
    FatHeader header;
    FatEntry entry;
    FatPacking packing;
    _Alignas(8) char text[sizeof ptx + 8 - sizeof ptx % 8];
} image;
static FatWrapper wrapper = {FAT_WRAPPER_MAGIC, 1, &image, NULL};

/* What host code has for kernels and variables: functions, shadows, and pointers to what is managed. */
static void add(void) {}
static void fault(void) {}
static void sample(void) {}
static void unregistered(void) {}
static void missing(void) {}
static char step, total;
static unsigned *shared_count;

static void **register_image(void)
{
    enum { LINUX_64_BIT = 0x11 };
    image.header = (FatHeader){FAT_MAGIC, 1, sizeof(FatHeader), sizeof image - sizeof(FatHeader)};
    image.entry = (FatEntry){.kind = 1,
                             .version = 0x101,
                             .header_size = sizeof(FatEntry) + sizeof(FatPacking),
                             .size = sizeof image.text,
                             .minor = 0,
                             .major = 7,
                             .architecture = 50};
    image.packing.flags = LINUX_64_BIT;
    memcpy(image.text, ptx, sizeof ptx);
    void **handle = __cudaRegisterFatBinary(&wrapper);
    static const struct {
        void (*host)(void);
        const char *name;
    } kernels[] = {{add, "add"}, {fault, "fault"}, {sample, "sample"}, {missing, "missing"}};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        __cudaRegisterFunction(handle, (const char *)kernels[i].host, NULL, kernels[i].name, -1, NULL, NULL,
                               NULL, NULL, NULL);
    __cudaRegisterVar(handle, &step, NULL, "step", 0, 4, 1, 0);
    __cudaRegisterVar(handle, &total, NULL, "total", 0, 4, 0, 0);
    __cudaRegisterManagedVar(handle, (void **)&shared_count, NULL, "shared_count", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    return handle;
}

/* add<<<grid, block>>>(to, count), as nvcc writes it. */
static cudaError_t launch_add(unsigned *to, unsigned count, dim3 grid, dim3 block, cudaStream_t stream)
{
    void *args[] = {&to, &count};
    size_t shared;
    if (__cudaPushCallConfiguration(grid, block, 0, stream)) return cudaErrorUnknown;
    CHECK(!__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
    return cudaLaunchKernel((const void *)add, grid, block, args, shared, stream);
}

static void test_versions_and_devices(void)
{
    int value, device = -1;
    struct cudaDeviceProp properties;
    CHECK(!cudaRuntimeGetVersion(&value) && value / 1000 == CUDART_MAJOR);
    CHECK(!cudaDriverGetVersion(&value) && value >= 13000);
    CHECK(!cudaGetDeviceCount(&value));
    CHECK_EQUAL(value, 2);
    CHECK_EQUAL(cudaSetDevice(2), cudaErrorInvalidDevice);
    CHECK(!cudaSetDevice(1) && !cudaGetDevice(&device) && device == 1);
    CHECK(!cudaSetDevice(0) && !cudaGetDevice(&device) && device == 0);
    CHECK_EQUAL(cudaGetLastError(), cudaErrorInvalidDevice);
#if CUDART_MAJOR < 13
    CHECK(!cudaGetDeviceProperties_v2(&properties, 1));
#else
    CHECK(!cudaGetDeviceProperties(&properties, 1));
#endif
    CHECK(!cudaDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1));
    CHECK_EQUAL(properties.multiProcessorCount, value);
    CHECK(properties.major == 9 && properties.minor == 0 && properties.warpSize == 32);
    CHECK(properties.maxThreadsDim[2] == 64 && properties.maxGridSize[1] == 65535);
    CHECK(!strncmp(properties.name, "CPU device", 10) && properties.totalGlobalMem > 0);
}

static void test_errors(void)
{
    void *memory;
    CHECK_EQUAL(cudaSetDevice(-1), cudaErrorInvalidDevice);
    CHECK_EQUAL(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    CHECK(!cudaMalloc(&memory, 16));
    CHECK_EQUAL(cudaGetLastError(), cudaErrorInvalidDevice);
    CHECK_EQUAL(cudaGetLastError(), cudaSuccess);
    CHECK_EQUAL(cudaMemcpy(memory, &memory, 8, (enum cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
    CHECK_TEXT(cudaGetErrorName(cudaGetLastError()), "cudaErrorInvalidMemcpyDirection");
    CHECK_TEXT(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument");
    CHECK_TEXT(cudaGetErrorString((cudaError_t)12345), "unrecognized error code");
    CHECK(!cudaFree(memory) && !cudaFree(NULL));
}

static void test_launch(void)
{
    unsigned host[COUNT], *memory, value = 3;
    const dim3 grid = {4, 1, 1}, block = {32, 1, 1}, huge = {2048, 1, 1};
    for (unsigned i = 0; i < COUNT; i++) host[i] = i;
    CHECK(!cudaMalloc((void **)&memory, sizeof host));
    CHECK(!cudaMemcpy(memory, host, sizeof host, cudaMemcpyHostToDevice));
    CHECK(!cudaMemcpyToSymbol(&step, &value, 4, 0, cudaMemcpyHostToDevice));
    CHECK_EQUAL(cudaMemcpyToSymbol(&step, &value, 4, 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    CHECK_EQUAL(cudaMemcpyToSymbol(host, &value, 4, 0, cudaMemcpyHostToDevice), cudaErrorInvalidSymbol);
    CHECK(!launch_add(memory, COUNT, grid, block, NULL));
    CHECK(!cudaMemcpy(host, memory, sizeof host, cudaMemcpyDefault));
    for (unsigned i = 0; i < COUNT; i++) CHECK_EQUAL(host[i], i + 3);
    CHECK(!cudaMemcpyFromSymbol(&value, &total, 4, 0, cudaMemcpyDeviceToHost));
    CHECK_EQUAL(value, COUNT);
    CHECK(__cudaInitModule((void **)NULL) == 1);
    CHECK_EQUAL(launch_add(memory, COUNT, grid, huge, NULL),
                CUDART_MAJOR < 13 ? cudaErrorInvalidConfiguration : cudaErrorInvalidValue);
    dim3 any;
    size_t shared;
    cudaStream_t stream;
    CHECK_EQUAL(__cudaPopCallConfiguration(&any, &any, &shared, &stream), cudaErrorMissingConfiguration);
    CHECK_EQUAL(cudaLaunchKernel((const void *)unregistered, grid, block, NULL, 0, NULL),
                cudaErrorInvalidResourceHandle);
    CHECK_EQUAL(cudaLaunchKernel(NULL, grid, block, NULL, 0, NULL), cudaErrorInvalidDeviceFunction);
    CHECK_EQUAL(cudaLaunchKernel((const void *)missing, grid, block, NULL, 0, NULL),
                cudaErrorInvalidDeviceFunction);
    CHECK(!cudaFree(memory));
    cudaGetLastError();
}

static void test_managed_variable(void **handle)
{
    unsigned before, *memory;
    const dim3 one = {1, 1, 1};
    struct cudaPointerAttributes attributes;
    CHECK(__cudaInitModule(handle) == 1 && shared_count);
    before = *shared_count;
    CHECK(!cudaMalloc((void **)&memory, 4) && !launch_add(memory, 1, one, one, NULL));
    CHECK(!cudaDeviceSynchronize() && !cudaFree(memory));
    CHECK_EQUAL(*shared_count, before + 2);
    CHECK(!cudaPointerGetAttributes(&attributes, shared_count));
    CHECK_EQUAL(attributes.type, 3);
    CHECK_EQUAL(cudaFree(shared_count), cudaErrorInvalidValue);
    CHECK_EQUAL(cudaGetLastError(), cudaErrorInvalidValue);
    CHECK(!cudaMemcpyToSymbol(shared_count, &before, 4, 0, cudaMemcpyHostToDevice)
          && *shared_count == before);
    *shared_count = 0;
}

static void test_functions(void)
{
    struct cudaFuncAttributes attributes;
    cudaKernel_t kernel = NULL;
    int blocks = 0;
    const char *name = "";
    CHECK(!cudaFuncGetAttributes(&attributes, (const void *)add));
    CHECK(attributes.maxThreadsPerBlock == 1024 && attributes.numRegs > 0 && attributes.ptxVersion >= 50);
    CHECK(!cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)add, 256, 0));
    CHECK_EQUAL(blocks, 8);
    CHECK(!cudaGetKernel(&kernel, (const void *)add) && kernel);
    CHECK(!cudaFuncGetName(&name, (const void *)add));
    CHECK_TEXT(name, "add");
    CHECK_EQUAL(cudaFuncGetAttributes(&attributes, (const void *)missing), cudaErrorInvalidDeviceFunction);
    CHECK_EQUAL(cudaGetKernel(&kernel, (const void *)unregistered), cudaErrorInvalidDeviceFunction);
    cudaGetLastError();
}

static void test_shapes(void)
{
    enum { WIDTH = 6, HEIGHT = 3, DEPTH = 2 };
    unsigned from[DEPTH][HEIGHT][WIDTH], to[DEPTH][HEIGHT][WIDTH] = {{{0}}};
    struct cudaPitchedPtr pitched;
    struct cudaExtent extent = {sizeof from[0][0], HEIGHT, DEPTH};
    for (unsigned i = 0; i < DEPTH * HEIGHT * WIDTH; i++) (&from[0][0][0])[i] = i;
    CHECK(!cudaMalloc3D(&pitched, extent) && pitched.pitch >= sizeof from[0][0]);
    struct cudaMemcpy3DParms there = {.srcPtr = {from, sizeof from[0][0], WIDTH, HEIGHT},
                                      .dstPtr = pitched,
                                      .extent = extent,
                                      .kind = cudaMemcpyHostToDevice};
    struct cudaMemcpy3DParms back = {.srcPtr = pitched,
                                     .dstPtr = {to, sizeof to[0][0], WIDTH, HEIGHT},
                                     .extent = extent,
                                     .kind = cudaMemcpyDeviceToHost};
    CHECK(!cudaMemcpy3D(&there) && !cudaMemcpy3D(&back));
    CHECK(!memcmp(from, to, sizeof from));
    CHECK(!cudaMemset3D(pitched, 0xff, (struct cudaExtent){4, 2, DEPTH}) && !cudaMemcpy3D(&back));
    CHECK(to[1][1][0] == UINT32_MAX && to[1][1][1] == from[1][1][1] && to[1][2][0] == from[1][2][0]);
    CHECK(!cudaMemcpy2D(to, sizeof to[0][0], pitched.ptr, pitched.pitch, 8, 3, cudaMemcpyDefault));
    CHECK(to[0][2][1] == from[0][2][1]);
    CHECK_EQUAL(cudaMemcpy2D(to, 4, pitched.ptr, pitched.pitch, 8, 3, cudaMemcpyDefault),
                cudaErrorInvalidPitchValue);
    cudaGetLastError();
    CHECK(!cudaFree(pitched.ptr));
}

static void test_texture(void)
{
    const float from[4] = {1, 2, 4, 8};
    float to[4], *memory;
    cudaArray_t array;
    cudaTextureObject_t texture;
    struct cudaChannelFormatDesc desc =
        cudaCreateChannelDesc(CHANNEL_BITS, 0, 0, 0, cudaChannelFormatKindFloat);
    CHECK(!cudaMallocArray(&array, &desc, 4, 1, 0));
    CHECK(!cudaMemcpy2DToArray(array, 0, 0, from, sizeof from, sizeof from, 1, cudaMemcpyHostToDevice));
    struct cudaResourceDesc resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.array = array};
    struct cudaTextureDesc how = {.addressMode = {1, 1, 1}};
    CHECK(!cudaCreateTextureObject(&texture, &resource, &how, NULL));
    CHECK(!cudaMalloc((void **)&memory, sizeof to));
    void *args[] = {&memory, &texture};
    CHECK(!cudaLaunchKernel((const void *)sample, (dim3){1, 1, 1}, (dim3){4, 1, 1}, args, 0, NULL));
    CHECK(!cudaMemcpy(to, memory, sizeof to, cudaMemcpyDeviceToHost));
    CHECK(!memcmp(to, from, sizeof from));
    struct cudaResourceDesc found;
    struct cudaChannelFormatDesc channels;
    CHECK(!cudaGetTextureObjectResourceDesc(&found, texture) && found.res.array.array == array);
    CHECK(!cudaGetChannelDesc(&channels, array) && channels.x == CHANNEL_BITS && channels.y == 0);
    CHECK(!cudaDestroyTextureObject(texture) && !cudaFreeArray(array) && !cudaFree(memory));
    desc.y = CHANNEL_BITS / 2;
    CHECK_EQUAL(cudaMallocArray(&array, &desc, 4, 1, 0), cudaErrorInvalidChannelDescriptor);
    cudaGetLastError();
}

static void test_streams(void)
{
    unsigned host[4] = {0}, *memory;
    const dim3 one = {1, 1, 1}, four = {4, 1, 1};
    cudaStream_t stream;
    cudaEvent_t start, stop;
    float milliseconds = -1;
    CHECK(!cudaStreamCreate(&stream) && !cudaEventCreate(&start) && !cudaEventCreate(&stop));
    CHECK(!cudaMallocAsync((void **)&memory, sizeof host, stream));
    CHECK(!cudaEventRecord(start, stream) && !cudaMemsetAsync(memory, 0, sizeof host, stream));
    CHECK(!launch_add(memory, 4, one, four, stream) && !cudaEventRecord(stop, stream));
    CHECK(!cudaMemcpyAsync(host, memory, sizeof host, cudaMemcpyDeviceToHost, stream));
    CHECK(!cudaFreeAsync(memory, stream) && !cudaStreamSynchronize(stream));
    CHECK(host[0] == 3 && host[3] == 3);
    CHECK(!cudaEventElapsedTime(&milliseconds, start, stop) && milliseconds >= 0);
    CHECK(!cudaEventDestroy(start) && !cudaEventDestroy(stop) && !cudaStreamDestroy(stream));
}

static void test_per_thread_stream(void)
{
    unsigned host[4] = {1, 2, 3, 4}, *memory, count = 4;
    CHECK(!cudaMalloc((void **)&memory, sizeof host));
    CHECK(!cudaMemcpy_ptds(memory, host, sizeof host, cudaMemcpyHostToDevice));
    void *args[] = {&memory, &count};
    CHECK(!cudaLaunchKernel_ptsz((const void *)add, (dim3){1, 1, 1}, (dim3){4, 1, 1}, args, 0, NULL));
    CHECK(!cudaStreamSynchronize_ptsz(NULL));
    CHECK(!cudaMemcpy_ptds(host, memory, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(host[0] == 4 && host[3] == 7);
    CHECK(!cudaFree(memory));
}

static void test_graph(void)
{
    unsigned host[4] = {10, 20, 30, 40}, *memory, count = 4;
    cudaGraph_t graph;
    cudaGraphNode_t copy, kernel, back;
    cudaGraphExec_t exec;
    struct cudaKernelNodeParams found;
    CHECK(!cudaMalloc((void **)&memory, sizeof host) && !cudaGraphCreate(&graph, 0));
    void *args[] = {&memory, &count};
    struct cudaKernelNodeParams params = {(void *)add, {1, 1, 1}, {4, 1, 1}, 0, args, NULL};
    CHECK(
        !cudaGraphAddMemcpyNode1D(&copy, graph, NULL, 0, memory, host, sizeof host, cudaMemcpyHostToDevice));
    CHECK(!cudaGraphAddKernelNode(&kernel, graph, &copy, 1, &params));
    CHECK(!cudaGraphAddMemcpyNode1D(&back, graph, &kernel, 1, host, memory, sizeof host,
                                    cudaMemcpyDeviceToHost));
    CHECK(!cudaGraphKernelNodeGetParams(kernel, &found));
    CHECK(found.func == (void *)add && found.blockDim.x == 4);
    CHECK(!cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++) CHECK(!cudaGraphLaunch(exec, NULL));
    CHECK(!cudaDeviceSynchronize());
    CHECK(host[0] == 19 && host[3] == 49);
    CHECK(!cudaGraphExecDestroy(exec) && !cudaGraphDestroy(graph) && !cudaFree(memory));
}

static void test_capture(void)
{
    unsigned host[4] = {0}, *memory;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    size_t nodes = 0;
    CHECK(!cudaMalloc((void **)&memory, sizeof host) && !cudaMemset(memory, 0, sizeof host));
    CHECK(!cudaStreamCreate(&stream) && !cudaStreamBeginCapture(stream, 0));
    CHECK(!launch_add(memory, 4, (dim3){1, 1, 1}, (dim3){4, 1, 1}, stream));
    CHECK(!launch_add(memory, 2, (dim3){1, 1, 1}, (dim3){2, 1, 1}, stream));
    CHECK(!cudaStreamEndCapture(stream, &graph) && !cudaGraphGetNodes(graph, NULL, &nodes));
    CHECK_EQUAL(nodes, 2);
    CHECK(!cudaGraphInstantiateWithFlags(&exec, graph, 0) && !cudaGraphLaunch(exec, stream));
    CHECK(!cudaStreamSynchronize(stream) && !cudaMemcpy(host, memory, sizeof host, cudaMemcpyDefault));
    CHECK(host[0] == 6 && host[3] == 3);
    CHECK(!cudaGraphExecDestroy(exec) && !cudaGraphDestroy(graph));
    CHECK(!cudaStreamDestroy(stream) && !cudaFree(memory));
}

/* The error stays with the context until the device is reset. */
static void test_fault_and_reset(void)
{
    void *nothing = NULL, *args[] = {&nothing}, *memory;
    CHECK(!cudaLaunchKernel((const void *)fault, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, NULL));
    CHECK_EQUAL(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    CHECK_EQUAL(cudaMalloc(&memory, 4), cudaErrorIllegalAddress);
    CHECK_EQUAL(cudaGetLastError(), cudaErrorIllegalAddress);
    CHECK(!cudaDeviceReset());
    test_launch();
}

int main(void)
{
    void **handle = register_image();
    setenv("PYCUDA_CPU_DEVICES", "2", 1);
    CHECK_GROUP(test_versions_and_devices);
    CHECK_GROUP(test_errors);
    CHECK_GROUP(test_launch);
    test_managed_variable(handle);
    CHECK_GROUP(test_functions);
    CHECK_GROUP(test_shapes);
    CHECK_GROUP(test_texture);
    CHECK_GROUP(test_streams);
    CHECK_GROUP(test_per_thread_stream);
    CHECK_GROUP(test_graph);
    CHECK_GROUP(test_capture);
    CHECK_GROUP(test_fault_and_reset);
    __cudaUnregisterFatBinary(handle);
    return check_done();
}
