/* Kernels that launch kernels (CUDA's dynamic parallelism): many threads at once, errors, limits, faults. */
#include "check.h"

#include "api/base/api.h"

#define OK(call) CHECK_EQUAL(call, CUDA_SUCCESS)

/* PTX that launches `kernel` with `blocks` blocks of one thread, its parameter %out, in a stream of the
 * device: 0 is the block's NULL stream, 3 the tail launch stream, 4 fire and forget. */
#define LAUNCH(kernel, blocks, stream) \
    "{\n.param .b64 p0;\n.param .align 4 .b8 p1[12];\n.param .align 4 .b8 p2[12];\n.param .b32 p3;\n" \
    ".param .b64 q;\nmov.u64 %f, " kernel ";\nst.param.b64 [p0+0], %f;\n" \
    "st.param.b32 [p1+0], " blocks ";\nst.param.b32 [p1+4], 1;\nst.param.b32 [p1+8], 1;\n" \
    "st.param.b32 [p2+0], 1;\nst.param.b32 [p2+4], 1;\nst.param.b32 [p2+8], 1;\nst.param.b32 [p3+0], 0;\n" \
    "call.uni (q), __cudaCDP2GetParameterBufferV2, (p0, p1, p2, p3);\nld.param.b64 %buffer, [q+0];\n}\n" \
    "setp.ne.u64 %p, %buffer, 0;\n@%p st.u64 [%buffer], %out;\n" \
    "{\n.param .b64 p0;\n.param .b64 p1;\n.param .b32 q;\nst.param.b64 [p0+0], %buffer;\n" \
    "st.param.b64 [p1+0], " stream ";\n@%p call (q), __cudaCDP2LaunchDeviceV2, (p0, p1);\n}\n"

#define KERNEL(name, body) \
    ".visible .entry " name \
    "(.param .u64 out_)\n{\n.reg .b64 %out, %f, %buffer;\n.reg .b32 %r;\n.reg .pred %p;\n" \
    "ld.param.u64 %out, [out_];\n" body "ret;\n}\n"

/* child adds 1 to *out, in an atomic operation. parent launches 3 of them; grand launches 4 parents, great 5
 * grands: 60 children. wrong launches one with 0 blocks, which fails, and a good one. */
#define CHILD KERNEL("child", "atom.global.add.u32 %r, [%out], 1;\n")
#define BROKEN KERNEL("broken", "trap;\n")
#define PARENT KERNEL("parent", LAUNCH("child", "2", "0") LAUNCH("child", "1", "3"))
#define GRAND \
    KERNEL("grand", LAUNCH("parent", "1", "4") LAUNCH("parent", "2", "4") LAUNCH("parent", "1", "0"))
#define GREAT KERNEL("great", LAUNCH("grand", "4", "4") LAUNCH("grand", "1", "3"))
#define WRONG KERNEL("wrong", LAUNCH("child", "0", "0") LAUNCH("child", "1", "0"))
#define FAULTY \
    KERNEL("faulty", LAUNCH("child", "1", "0") LAUNCH("broken", "1", "0") LAUNCH("child", "1", "3"))
/* Adds without an atomic operation. */
#define PLAIN KERNEL("plain", "ld.global.u32 %r, [%out];\nadd.u32 %r, %r, 1;\nst.global.u32 [%out], %r;\n")
/* Each block has its own number to add to, four times. */
#define OWN_NUMBER "mov.u32 %r, %ctaid.x;\nmul.wide.u32 %f, %r, 4;\nadd.u64 %out, %out, %f;\n"
#define TWICE LAUNCH("plain", "1", "0") LAUNCH("plain", "1", "1")
#define CHAIN KERNEL("chain", OWN_NUMBER TWICE TWICE)
/* Four bytes of 7 at %out, and a copy of them after it; of the value 0x107 the low byte counts. */
#define FILL \
    "{\n.param .b64 p0;\n.param .b32 p1;\n.param .b64 p2;\n.param .b64 p3;\n.param .b32 q;\n" \
    "st.param.b64 [p0+0], %out;\nst.param.b32 [p1+0], 0x107;\nst.param.b64 [p2+0], 4;\n" \
    "st.param.b64 [p3+0], 0;\ncall.uni (q), __cudaCDP2MemsetAsync, (p0, p1, p2, p3);\n}\n"
#define COPY \
    "add.u64 %f, %out, 4;\n{\n.param .b64 p0;\n.param .b64 p1;\n.param .b64 p2;\n.param .b32 p3;\n" \
    ".param .b64 p4;\n.param .b32 q;\nst.param.b64 [p0+0], %f;\nst.param.b64 [p1+0], %out;\n" \
    "st.param.b64 [p2+0], 4;\nst.param.b32 [p3+0], 3;\nst.param.b64 [p4+0], 0;\n" \
    "call.uni (q), __cudaCDP2MemcpyAsync, (p0, p1, p2, p3, p4);\n}\n"
#define MOVED KERNEL("moved", LAUNCH("child", "3", "0") FILL COPY LAUNCH("child", "1", "0"))

static const char source[] =
    ".version 8.0\n.target sm_75\n.address_size 64\n"
    ".extern .func (.param .b64 q) __cudaCDP2GetParameterBufferV2(.param .b64 a, .param .align 4 .b8 b[12], "
    ".param .align 4 .b8 c[12], .param .b32 d);\n"
    ".extern .func (.param .b32 q) __cudaCDP2MemsetAsync(.param .b64 a, .param .b32 b, .param .b64 c, "
    ".param .b64 d);\n"
    ".extern .func (.param .b32 q) __cudaCDP2MemcpyAsync(.param .b64 a, .param .b64 b, .param .b64 c, "
    ".param .b32 d, .param .b64 e);\n"
    ".extern .func (.param .b32 q) __cudaCDP2LaunchDeviceV2(.param .b64 a, .param .b64 b);\n" CHILD BROKEN
        PARENT GRAND GREAT WRONG FAULTY PLAIN CHAIN MOVED;

static CUmodule module;

/* Sets *out to 0, runs the kernel and its children; the result of the synchronization. */
static CUresult run(const char *name, unsigned blocks, unsigned threads, CUdeviceptr out)
{
    CUfunction function;
    void *params[] = {&out};
    OK(cuModuleGetFunction(&function, module, name));
    OK(cuMemsetD32_v2(out, 0, 1));
    OK(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, NULL, params, NULL));
    return cuCtxSynchronize();
}

/* The kernel's children add `expected` in sum. */
static void check_count_of(const char *name, unsigned blocks, unsigned threads, unsigned expected)
{
    CUdeviceptr out;
    unsigned count = 0;
    OK(cuMemAlloc_v2(&out, 4));
    OK(run(name, blocks, threads, out));
    OK(cuMemcpyDtoH_v2(&count, out, 4));
    CHECK_EQUAL(count, expected);
    OK(cuMemFree_v2(out));
}

static void test_many_threads(void)
{
    OK(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 20000));
    check_count_of("parent", 64, 64, 64 * 64 * 3);
    check_count_of("parent", 1, 1, 3);
}

/* Four generations; worker threads run children concurrently. */
static void test_generations(void)
{
    for (int k = 0; k < 3; k++) check_count_of("great", 8, 32, 8 * 32 * 60);
}

/* The launches of a block into its NULL stream run one after another: no addition is lost. */
static void test_order_of_streams(void)
{
    enum { BLOCKS = 500 };
    unsigned counts[BLOCKS] = {0}, wrong = 0;
    CUdeviceptr out;
    OK(cuMemAlloc_v2(&out, sizeof counts));
    OK(cuMemsetD32_v2(out, 0, BLOCKS));
    OK(run("chain", BLOCKS, 1, out));
    OK(cuMemcpyDtoH_v2(counts, out, sizeof counts));
    for (int k = 0; k < BLOCKS; k++) wrong += counts[k] != 4;
    CHECK_EQUAL(wrong, 0);
    OK(cuMemFree_v2(out));
}

/* Copies and fills in the NULL stream run in its order: 3 children, a fill with 7, a copy of that, 1
 * child. */
static void test_copies_and_fills(void)
{
    unsigned numbers[2] = {0};
    CUdeviceptr out;
    OK(cuMemAlloc_v2(&out, sizeof numbers));
    OK(run("moved", 1, 1, out));
    OK(cuMemcpyDtoH_v2(numbers, out, sizeof numbers));
    CHECK_EQUAL(numbers[0], 0x07070708);
    CHECK_EQUAL(numbers[1], 0x07070707);
    OK(cuMemFree_v2(out));
}

static void test_wrong_shape(void) { check_count_of("wrong", 16, 32, 16 * 32); }

/* Launches beyond the limit of pending ones fail, and the others run. */
static void test_limit(void)
{
    OK(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 100));
    check_count_of("wrong", 16, 32, 100);
}

/* A child that faults ends the parent's launch; the error names the child. */
static void test_fault(void)
{
    CUdeviceptr out;
    CUlogIterator from;
    char text[4000];
    size_t size = sizeof text;
    OK(cuMemAlloc_v2(&out, 4));
    OK(cuLogsCurrent(&from, 0));
    CHECK_EQUAL(run("faulty", 8, 8, out), CUDA_ERROR_LAUNCH_FAILED);
    OK(cuLogsDumpToMemory(&from, text, &size, 0));
    CHECK(strstr(text, "kernel broken") != NULL);
}

int main(void)
{
    CUcontext context;
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, source));
    CHECK_GROUP(test_many_threads);
    CHECK_GROUP(test_generations);
    CHECK_GROUP(test_order_of_streams);
    CHECK_GROUP(test_copies_and_fills);
    CHECK_GROUP(test_wrong_shape);
    CHECK_GROUP(test_limit);
    CHECK_GROUP(test_fault);
    OK(cuCtxDestroy_v2(context));
    return check_done();
}
