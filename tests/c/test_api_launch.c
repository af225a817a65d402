/* Launches: results, every way to pass parameters, errors, faults, printing, occupancy. */
#include "check.h"

#include <stdbool.h>
#include <stdlib.h>

#include "api/base/api.h"

#define OK(call) CHECK_EQUAL(call, CUDA_SUCCESS)
#define BAD(call) CHECK_EQUAL(call, CUDA_ERROR_INVALID_VALUE)

static const char source[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    /* a[i] = a[i] * factor + i for i < n */
    ".visible .entry scale(.param .u64 a, .param .f32 factor, .param .u32 n)\n{\n"
    "  .reg .pred %p;\n  .reg .b32 %r<6>;\n  .reg .f32 %f<4>;\n  .reg .b64 %rd<5>;\n"
    "  ld.param.u64 %rd1, [a];\n  ld.param.f32 %f1, [factor];\n  ld.param.u32 %r5, [n];\n"
    "  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n  mov.u32 %r3, %tid.x;\n"
    "  mad.lo.s32 %r4, %r1, %r2, %r3;\n  setp.ge.u32 %p, %r4, %r5;\n  @%p bra done;\n"
    "  cvta.to.global.u64 %rd2, %rd1;\n  mul.wide.u32 %rd3, %r4, 4;\n  add.s64 %rd4, %rd2, %rd3;\n"
    "  ld.global.f32 %f2, [%rd4];\n  cvt.rn.f32.u32 %f3, %r4;\n  fma.rn.f32 %f2, %f2, %f1, %f3;\n"
    "  st.global.f32 [%rd4], %f2;\ndone:\n  ret;\n}\n"
    ".visible .entry empty()\n{\n  ret;\n}\n"
    ".visible .entry bounded()\n.maxntid 64, 1, 1\n{\n  ret;\n}\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 list);\n"
    ".global .align 1 .b8 text[7] = {104, 101, 108, 108, 111, 10, 0};\n"
    ".visible .entry hello()\n{\n  .reg .b64 %rd<3>;\n  .reg .b32 %r<2>;\n"
    "  mov.u64 %rd1, text;\n  cvta.global.u64 %rd2, %rd1;\n  {\n  .param .b64 p0;\n  st.param.b64 [p0+0], "
    "%rd2;\n"
    "  .param .b64 p1;\n  st.param.b64 [p1+0], 0;\n  .param .b32 q;\n  call.uni (q), vprintf, (p0, p1);\n"
    "  ld.param.b32 %r1, [q+0];\n  }\n  ret;\n}\n";

static CUmodule module;
static CUfunction scale, empty;

static void load(void)
{
    OK(cuModuleLoadData(&module, source));
    OK(cuModuleGetFunction(&scale, module, "scale"));
    OK(cuModuleGetFunction(&empty, module, "empty"));
}

enum { COUNT = 1000 };

/* Checks that each a[i] is before[i] * factor + i. */
static void check_scaled(CUdeviceptr a, const float *before, float factor)
{
    static float after[COUNT];
    int wrong = 0;
    OK(cuMemcpyDtoH_v2(after, a, sizeof after));
    for (int i = 0; i < COUNT; i++)
        wrong += after[i] != before[i] * factor + (float)i; /* exact: small integers */
    CHECK_EQUAL(wrong, 0);
}

static void test_results(void)
{
    CUdeviceptr a;
    float host[COUNT], factor = 3;
    unsigned n = COUNT;
    for (int i = 0; i < COUNT; i++) host[i] = (float)(i % 17);
    OK(cuMemAlloc_v2(&a, sizeof host));
    OK(cuMemcpyHtoD_v2(a, host, sizeof host));
    void *params[] = {&a, &factor, &n};
    OK(cuLaunchKernel(scale, 8, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
    check_scaled(a, host, 3);

    struct {
        CUdeviceptr a;
        float factor;
        unsigned n;
    } packed = {a, 2, COUNT};
    size_t size = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    OK(cuMemcpyHtoD_v2(a, host, sizeof host));
    OK(cuLaunchKernel(scale, 8, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
    packed.factor = 100; /* the launch has copied it */
    check_scaled(a, host, 2);
    size = 12;
    BAD(cuLaunchKernel(scale, 8, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));

    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    CUlaunchConfig config = {4, 1, 1, 256, 1, 1, 0, NULL, &attribute, 1};
    factor = 5;
    OK(cuMemcpyHtoD_v2(a, host, sizeof host));
    OK(cuLaunchKernelEx(&config, scale, params, NULL));
    check_scaled(a, host, 5);
    config.gridDimX = 100000;
    CHECK_EQUAL(cuLaunchKernelEx(&config, scale, params, NULL), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    OK(cuMemFree_v2(a));
}

static void test_refused(void)
{
    CUfunction bounded;
    void *none[] = {NULL, NULL, NULL};
    OK(cuModuleGetFunction(&bounded, module, "bounded"));
    BAD(cuLaunchKernel(empty, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    BAD(cuLaunchKernel(empty, 1, 1, 1, 1, 0, 1, 0, NULL, NULL, NULL));
    BAD(cuLaunchKernel(empty, 1, 65536, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    BAD(cuLaunchKernel(empty, 1, 1, 65536, 1, 1, 1, 0, NULL, NULL, NULL));
    BAD(cuLaunchKernel(empty, 1u << 31, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    BAD(cuLaunchKernel(empty, 1, 1, 1, 1025, 1, 1, 0, NULL, NULL, NULL));
    BAD(cuLaunchKernel(empty, 1, 1, 1, 32, 33, 1, 0, NULL, NULL, NULL));
    BAD(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 65, 0, NULL, NULL, NULL));
    BAD(cuLaunchKernel(bounded, 1, 1, 1, 65, 1, 1, 0, NULL, NULL, NULL));
    OK(cuLaunchKernel(bounded, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
    OK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 48 * 1024, NULL, NULL, NULL));
    BAD(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 48 * 1024 + 1, NULL, NULL, NULL));
    OK(cuFuncSetAttribute(empty, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 * 1024));
    OK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 64 * 1024, NULL, NULL, NULL));
    BAD(cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    BAD(cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, NULL, none, NULL));
    CHECK_EQUAL(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    OK(cuCtxSynchronize());
}

static void test_foreign_stream(void)
{
    CUcontext other;
    CUstream stream;
    OK(cuCtxCreate_v2(&other, 0, 0));
    OK(cuStreamCreate(&stream, 0));
    CHECK_EQUAL(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    CHECK_EQUAL(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    OK(cuCtxDestroy_v2(other));
}

/* A stream callback: stores the status in *data. */
static void store_status(CUstream stream, CUresult status, void *data)
{
    (void)stream;
    *(CUresult *)data = status;
}

/* An access past the end of memory: every later call of that context returns its error; other contexts
 * work. */
static void test_fault(void)
{
    CUcontext context;
    CUmodule own;
    CUfunction function;
    CUdeviceptr a, b;
    CUstream stream;
    CUlogIterator from;
    CUresult reported = CUDA_SUCCESS;
    float factor = 1;
    unsigned n = 2000;
    char text[4000];
    size_t size = sizeof text;
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&own, source));
    OK(cuModuleGetFunction(&function, own, "scale"));
    OK(cuMemAlloc_v2(&a, 4000));
    OK(cuStreamCreate(&stream, 0));
    OK(cuLogsCurrent(&from, 0));
    void *params[] = {&a, &factor, &n};
    OK(cuLaunchKernel(function, 16, 1, 1, 128, 1, 1, 0, stream, params, NULL));
    reported = CUDA_SUCCESS;
    CUresult added = cuStreamAddCallback(stream, store_status, &reported, 0);
    CHECK(added == CUDA_SUCCESS || added == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK_EQUAL(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    if (added == CUDA_SUCCESS) {
        cuCtxSynchronize();
        CHECK_EQUAL(reported, CUDA_ERROR_ILLEGAL_ADDRESS);
    }
    CHECK_EQUAL(cuMemAlloc_v2(&b, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK_EQUAL(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK_EQUAL(cuMemFree_v2(a), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuLogsDumpToMemory(&from, text, &size, 0));
    CHECK(strstr(text, "scale") != NULL); /* the kernel is named */
    OK(cuCtxDestroy_v2(context));
    OK(cuMemAlloc_v2(&b, 4)); /* in the context that was current before */
    OK(cuMemFree_v2(b));
}

/* What a kernel prints is written to stdout by the next synchronization; a file replaces stdout meanwhile. */
static void test_print(void)
{
    CUfunction hello;
    OK(cuModuleGetFunction(&hello, module, "hello"));
    fflush(stdout);
    char name[] = "/tmp/test_api_launch_XXXXXX", line[100] = "";
    int descriptor = mkstemp(name);
    CHECK(descriptor >= 0);
    FILE *kept = stdout, *file = fdopen(descriptor, "w+");
    if (!file) return;
    stdout = file;
    CUresult launched = cuLaunchKernel(hello, 1, 1, 1, 3, 1, 1, 0, NULL, NULL, NULL);
    CUresult synchronized = cuStreamSynchronize(NULL);
    stdout = kept;
    OK(launched);
    OK(synchronized);
    rewind(file);
    int lines = 0;
    while (fgets(line, sizeof line, file)) lines += !strcmp(line, "hello\n");
    CHECK_EQUAL(lines, 3);
    fclose(file);
    remove(name);
}

static size_t shared_for(int threads) { return (size_t)threads * 64; }

static void test_occupancy(void)
{
    int blocks = 0, grid = 0, block = 0;
    size_t bytes = 0;
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 128, 0));
    CHECK_EQUAL(blocks, 16); /* 2048 threads */
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 32, 0));
    CHECK_EQUAL(blocks, 32);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 32, 20000));
    CHECK_EQUAL(blocks, 11); /* 228 KiB, in units of 128 bytes, with 1 KiB for each block */
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 2000, 0));
    CHECK_EQUAL(blocks, 0);
    BAD(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 0, 0));
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, empty, NULL, 0, 0));
    CHECK(block == 1024 && grid >= 1);
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, empty, shared_for, 0, 256));
    CHECK(block <= 256 && block > 0 && grid >= 1);
    OK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, scale, 8, 128));
    CHECK_EQUAL(bytes, 28160);
    OK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, scale, 2, 128));
    CHECK_EQUAL(bytes, 49152);
}

int main(void)
{
    CUcontext context;
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    CHECK_GROUP(load);
    CHECK_GROUP(test_results);
    CHECK_GROUP(test_refused);
    CHECK_GROUP(test_foreign_stream);
    CHECK_GROUP(test_fault);
    CHECK_GROUP(test_print);
    CHECK_GROUP(test_occupancy);
    OK(cuModuleUnload(module));
    OK(cuCtxDestroy_v2(context));
    return check_done();
}
