/* Device resources and green contexts: how multiprocessors are split on compute capability 9.0, what calls
 * see while a green context is current, what its end leaves. */
#include "check.h"

#include <stdlib.h>

#include "api/base/api.h"

#define OK(call) CHECK_EQUAL(call, CUDA_SUCCESS)
#define BAD(call) CHECK_EQUAL(call, CUDA_ERROR_INVALID_VALUE)

enum {
    SM = CU_DEV_RESOURCE_TYPE_SM,
    ALONE = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING,
    CLUSTERS = CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE
};

/* A split into groups of at least min multiprocessors: how many groups, multiprocessors of each, and left
 * over. */
typedef struct Split {
    unsigned min, groups, each, left;
} Split;

/* The splits of an H200 with its 132 multiprocessors: with coscheduling (in units of 8), and without (of
 * 2). */
static const Split together[] = {
    {0, 15, 8, 12},   {1, 15, 8, 12},   {2, 15, 8, 12},   {3, 15, 8, 12},
    {7, 15, 8, 12},   {8, 15, 8, 12},   {9, 8, 16, 4},    {16, 8, 16, 4},
    {17, 5, 24, 12},  {64, 2, 64, 4},   {66, 1, 72, 60},  {100, 1, 104, 28},
    {124, 1, 128, 4}, {128, 1, 128, 4}, {130, 1, 132, 0}, {132, 1, 132, 0},
};
static const Split alone[] = {
    {0, 66, 2, 0},    {1, 66, 2, 0},    {2, 66, 2, 0},    {3, 33, 4, 0},    {7, 16, 8, 4},  {8, 16, 8, 4},
    {9, 13, 10, 2},   {16, 8, 16, 4},   {17, 7, 18, 6},   {64, 2, 64, 4},   {66, 2, 66, 0}, {100, 1, 100, 32},
    {124, 1, 124, 8}, {128, 1, 128, 4}, {130, 1, 130, 2}, {132, 1, 132, 0},
};

/* Splits a resource as the row asks, and checks the result. */
static void check_split(const CUdevResource *whole, const Split *row, unsigned flags)
{
    CUdevResource groups[66], left;
    unsigned count = 0;
    OK(cuDevSmResourceSplitByCount(NULL, &count, whole, NULL, flags, row->min));
    CHECK_EQUAL(count, row->groups);
    count = 66;
    OK(cuDevSmResourceSplitByCount(groups, &count, whole, &left, flags, row->min));
    CHECK_EQUAL(count, row->groups);
    for (unsigned g = 0; g < count; g++) {
        CHECK_EQUAL(groups[g].sm.smCount, row->each);
        CHECK_EQUAL(groups[g].sm.smCoscheduledAlignment, 0);
    }
    CHECK_EQUAL(left.sm.smCount, row->left);
    CHECK_EQUAL(left.sm.smCoscheduledAlignment, 0);
    CHECK_EQUAL(left.type, row->left ? SM : CU_DEV_RESOURCE_TYPE_INVALID);
}

static void test_splits(void)
{
    CUdevResource whole, groups[2], left;
    OK(cuDeviceGetDevResource(0, &whole, SM));
    CHECK_EQUAL(whole.sm.smCount, 132);
    CHECK_EQUAL(whole.sm.minSmPartitionSize, 8);
    CHECK_EQUAL(whole.sm.smCoscheduledAlignment, 8);
    for (unsigned k = 0; k < sizeof together / sizeof *together; k++) {
        check_split(&whole, &together[k], 0);
        check_split(&whole, &together[k], CLUSTERS);
        check_split(&whole, &together[k], 4); /* not a flag; drivers ignore it */
    }
    for (unsigned k = 0; k < sizeof alone / sizeof *alone; k++) check_split(&whole, &alone[k], ALONE);
    unsigned two = 2;
    OK(cuDevSmResourceSplitByCount(groups, &two, &whole, &left, 0, 8));
    CHECK_EQUAL(two, 2);
    CHECK_EQUAL(left.sm.smCount, 116);
}

static void test_refused_splits(void)
{
    CUdevResource whole, group, nothing = {0};
    unsigned one = 1;
    OK(cuDeviceGetDevResource(0, &whole, SM));
    BAD(cuDevSmResourceSplitByCount(&group, NULL, &whole, NULL, 0, 8));
    BAD(cuDevSmResourceSplitByCount(&group, &one, NULL, NULL, 0, 8));
    BAD(cuDevSmResourceSplitByCount(&group, &one, &whole, NULL, ALONE | CLUSTERS, 8));
    CHECK_EQUAL(cuDevSmResourceSplitByCount(&group, &one, &nothing, NULL, 0, 8),
                CUDA_ERROR_INVALID_RESOURCE_TYPE);
    for (unsigned flags = 0; flags < 3; flags++)
        CHECK_EQUAL(cuDevSmResourceSplitByCount(&group, &one, &whole, NULL, flags, 133),
                    CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    OK(cuDevSmResourceSplitByCount(&group, &one, &whole, NULL, 0, 16));
    CHECK_EQUAL(cuDevSmResourceSplitByCount(&nothing, &one, &group, NULL, 0, 8),
                CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION); /* a group cannot be split */
    group.sm.smCount = 32; /* a resource that a program has changed is refused */
    BAD(cuDevSmResourceSplitByCount(&nothing, &one, &group, NULL, 0, 8));
}

/* A green context with one group of at least min multiprocessors. */
static CUgreenCtx make_green(unsigned min)
{
    CUdevResource whole, group;
    CUdevResourceDesc descriptor;
    CUgreenCtx green = NULL;
    unsigned one = 1;
    OK(cuDeviceGetDevResource(0, &whole, SM));
    OK(cuDevSmResourceSplitByCount(&group, &one, &whole, NULL, 0, min));
    OK(cuDevResourceGenerateDesc(&descriptor, &group, 1));
    OK(cuGreenCtxCreate(&green, descriptor, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    return green;
}

/* Makes a green context of these resources; stores its resource in *out and returns its multiprocessors. */
static unsigned size_of_context(CUdevResource *resources, unsigned count, CUdevResource *out)
{
    CUdevResourceDesc descriptor, again;
    CUgreenCtx green;
    OK(cuDevResourceGenerateDesc(&descriptor, resources, count));
    OK(cuDevResourceGenerateDesc(&again, resources, count));
    CHECK(again == descriptor);
    BAD(cuGreenCtxCreate(&green, descriptor, 0, 0));
    CHECK_EQUAL(cuGreenCtxCreate(&green, descriptor, 5, CU_GREEN_CTX_DEFAULT_STREAM),
                CUDA_ERROR_INVALID_DEVICE);
    OK(cuGreenCtxCreate(&green, descriptor, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    OK(cuGreenCtxGetDevResource(green, out, SM));
    OK(cuGreenCtxDestroy(green));
    return out->sm.smCount;
}

static void test_descriptors(void)
{
    CUdevResource whole, groups[15], other, left, part;
    CUdevResourceDesc descriptor;
    CUgreenCtx green;
    unsigned max = 15, one = 1;
    OK(cuDeviceGetDevResource(0, &whole, SM));
    OK(cuDevSmResourceSplitByCount(groups, &max, &whole, &left, 0, 8));
    OK(cuDevSmResourceSplitByCount(&other, &one, &whole, NULL, 0, 8));
    BAD(cuDevResourceGenerateDesc(NULL, groups, 1));
    BAD(cuDevResourceGenerateDesc(&descriptor, groups, 0));
    BAD(cuGreenCtxCreate(&green, (CUdevResourceDesc)&whole, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    CHECK_EQUAL(size_of_context(&whole, 1, &part), 132);
    CHECK_EQUAL(size_of_context((CUdevResource[]){groups[0], left}, 2, &part), 20);
    CHECK_EQUAL(size_of_context((CUdevResource[]){groups[0], groups[0]}, 2, &part), 16);
    CHECK_EQUAL(size_of_context((CUdevResource[]){groups[0], other}, 2, &part), 16);
    CHECK_EQUAL(size_of_context(groups, 2, &part), 16);
    CHECK_EQUAL(part.sm.smCoscheduledAlignment, 8);
    check_split(&part, &(Split){8, 2, 8, 0}, 0);
}

/* What calls return while the context of a green context is current, for its streams and for the primary
 * context. */
static void test_current(void)
{
    CUgreenCtx green = make_green(16), found;
    CUcontext context, primary, current;
    CUdevResource resource;
    CUstream stream, own;
    CUdevice device = 7;
    unsigned long long id = 0, other = 0;
    OK(cuCtxFromGreenCtx(&context, green));
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    CHECK(context != primary);
    OK(cuCtxPushCurrent_v2(context));
    OK(cuCtxGetCurrent(&current));
    CHECK(current == context);
    OK(cuCtxGetDevice(&device));
    CHECK_EQUAL(device, 0);
    OK(cuCtxGetDevResource(context, &resource, SM));
    CHECK_EQUAL(resource.sm.smCount, 16);
    OK(cuCtxGetDevResource(primary, &resource, SM));
    CHECK_EQUAL(resource.sm.smCount, 132);
    OK(cuGreenCtxGetId(green, &id));
    OK(cuGreenCtxGetId(NULL, &other));
    CHECK(id == other && id != 0);
    OK(cuCtxGetId(context, &other));
    CHECK(id == other);
    OK(cuCtxGetId(NULL, &other));
    CHECK(id == other);
    OK(cuCtxGetId(primary, &other));
    CHECK(id != other);
    OK(cuStreamCreate(&stream, 0));
    OK(cuStreamGetGreenCtx(stream, &found));
    CHECK(found == green);
    OK(cuStreamGetGreenCtx(NULL, &found));
    CHECK(found == green);
    CHECK_EQUAL(cuCtxDestroy_v2(context), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxPopCurrent_v2(&current));
    CHECK(current == context);
    OK(cuCtxPushCurrent_v2(primary));
    OK(cuStreamCreate(&own, 0));
    OK(cuStreamGetGreenCtx(own, &found));
    CHECK(found == NULL);
    OK(cuStreamGetCtx(stream, &current));
    CHECK(current == context);
    CHECK_EQUAL(cuGreenCtxGetId(NULL, &other), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuStreamDestroy_v2(stream));
    OK(cuStreamDestroy_v2(own));
    OK(cuGreenCtxDestroy(green));
    OK(cuCtxPopCurrent_v2(&current));
    OK(cuDevicePrimaryCtxRelease_v2(0));
}

/* A green context keeps the primary context active. After its end its handles are refused, and its context is
 * reported as destroyed. */
static void test_ends(void)
{
    CUgreenCtx green = make_green(8), found;
    CUcontext context, current;
    CUstream stream;
    CUevent event;
    CUdeviceptr memory;
    int active = 0;
    unsigned flags;
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(active);
    OK(cuCtxFromGreenCtx(&context, green));
    OK(cuCtxPushCurrent_v2(context));
    BAD(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_DEFAULT, 0));
    OK(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
    OK(cuMemAlloc_v2(&memory, 100));
    OK(cuEventCreate(&event, 0));
    OK(cuMemsetD8Async(memory, 1, 100, stream));
    OK(cuGreenCtxRecordEvent(green, event));
    OK(cuEventSynchronize(event));
    OK(cuStreamQuery(stream));
    OK(cuGreenCtxWaitEvent(green, event));
    OK(cuMemFree_v2(memory));
    OK(cuGreenCtxDestroy(green));
    CHECK_EQUAL(cuGreenCtxDestroy(green), CUDA_ERROR_INVALID_CONTEXT);
    CHECK_EQUAL(cuCtxFromGreenCtx(&current, green), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxGetCurrent(&current));
    CHECK(current == NULL); /* the destroyed context was current */
    CHECK_EQUAL(cuCtxSetCurrent(context), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(!active);
    CHECK_EQUAL(cuStreamGetGreenCtx(NULL, &found), CUDA_ERROR_INVALID_CONTEXT);
}

int main(void)
{
    setenv("PYCUDA_CPU_COMPUTE_CAPABILITY", "9.0", 1);
    setenv("PYCUDA_CPU_MULTIPROCESSORS", "132", 1);
    OK(cuInit(0));
    CHECK_GROUP(test_splits);
    CHECK_GROUP(test_refused_splits);
    CHECK_GROUP(test_descriptors);
    CHECK_GROUP(test_current);
    CHECK_GROUP(test_ends);
    return check_done();
}
