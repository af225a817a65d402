/* Clusters: what a launch may ask for, and how many fit on the device. */
#include "api/base/log.h"
#include "api/device/device_limits.h"
#include "api/launch/launch.h"
#include "api/stream/green.h"

static uint64_t product(const uint32_t dimensions[3])
{
    return (uint64_t)dimensions[0] * dimensions[1] * dimensions[2];
}

void launch_find_cluster(const Function *function, const LaunchConfig *shape, uint32_t cluster[3])
{
    const uint32_t *required = function->code->cluster;
    bool given = shape->cluster[0] || shape->cluster[1] || shape->cluster[2];
    for (int axis = 0; axis < 3; axis++)
        cluster[axis] = required[0] ? required[axis]
                        : given     ? shape->cluster[axis]
                                    : (uint32_t)atomic_load(&function->settings.cluster[axis]);
}

/* The maximum number of blocks of a cluster of this kernel. */
static uint32_t largest_cluster(const Function *function)
{
    uint32_t max = atomic_load(&function->settings.large_clusters) ? MAX_CLUSTER : DEVICE_CLUSTER_PORTABLE;
    uint32_t limit = function->code->max_cluster;
    return limit && limit < max ? limit : max;
}

static CUresult log_cluster_error(const CodeFunction *code, const char *why)
{
    log_error("launch of %s: %s", code->name, why);
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

/* Whether the cluster of the launch is that of the kernel, if both name one. */
static bool agrees_with_kernel(const uint32_t given[3], const uint32_t required[3])
{
    bool named = given[0] || given[1] || given[2];
    return !named || !required[0]
           || (given[0] == required[0] && given[1] == required[1] && given[2] == required[2]);
}

CUresult launch_check_cluster(const Function *function, const LaunchConfig *shape)
{
    const CodeFunction *code = function->code;
    uint32_t cluster[3];
    launch_find_cluster(function, shape, cluster);
    if (!cluster[0] && !cluster[1] && !cluster[2])
        return code->requires_cluster
                   ? log_cluster_error(code, "the kernel needs a cluster, and none is given")
                   : CUDA_SUCCESS;
    if (!product(cluster)) return log_cluster_error(code, "a dimension of the cluster is 0");
    if (!agrees_with_kernel(shape->cluster, code->cluster))
        return log_cluster_error(
            code, "the cluster is not the one that the kernel was compiled for (.reqnctapercluster)");
    if (product(cluster) > 1 && driver_settings()->capability < DEVICE_CLUSTER_CAPABILITY) {
        log_error("launch of %s: clusters of blocks need compute capability 9.0, this device has %d.%d",
                  code->name, driver_settings()->capability / 10, driver_settings()->capability % 10);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (product(cluster) > largest_cluster(function))
        return launch_refuse(code, CUDA_ERROR_INVALID_CLUSTER_SIZE, "the number of blocks of a cluster",
                             product(cluster), largest_cluster(function));
    for (int axis = 0; axis < 3 && !code->blocks_are_clusters; axis++)
        if (shape->grid[axis] % cluster[axis])
            return log_cluster_error(code, "the grid is not a multiple of the cluster");
    return CUDA_SUCCESS;
}

/* --- occupancy ----------------------------------------------------------------------------------------- */

/* The shape and the cluster of a configuration; false if it is invalid. */
static bool read_config(const CUlaunchConfig *config, LaunchConfig *shape)
{
    if (!config || (config->numAttrs && !config->attrs)) return false;
    *shape = launch_config_shape(config);
    for (unsigned a = 0; a < config->numAttrs; a++) {
        const CUlaunchAttributeValue *value = &config->attrs[a].value;
        if (config->attrs[a].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
        shape->cluster[0] = value->clusterDim.x;
        shape->cluster[1] = value->clusterDim.y;
        shape->cluster[2] = value->clusterDim.z;
    }
    uint64_t threads = product(shape->block);
    return threads && threads <= DEVICE_MAX_THREADS;
}

/* How many blocks of that shape all multiprocessors of the current context hold at a time. */
static int resident_blocks(const Function *function, const LaunchConfig *shape)
{
    int each = occupancy_blocks(function->code, (int)product(shape->block), shape->dynamic_shared);
    return each * (int)green_multiprocessors(NULL);
}

CUresult cuOccupancyMaxPotentialClusterSize(int *size, CUfunction handle, const CUlaunchConfig *config)
{
    Function *function;
    LaunchConfig shape;
    TRY(driver_check());
    if (!size || !read_config(config, &shape)) return CUDA_ERROR_INVALID_VALUE;
    TRY(function_enter(handle, &function));
    int max = driver_settings()->capability < DEVICE_CLUSTER_CAPABILITY ? 1 : (int)largest_cluster(function);
    int resident = resident_blocks(function, &shape);
    while (max > 1 && max > resident) max /= 2;
    PUT(function);
    *size = max;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int *count, CUfunction handle, const CUlaunchConfig *config)
{
    Function *function;
    LaunchConfig shape;
    uint32_t cluster[3];
    TRY(driver_check());
    if (!count || !read_config(config, &shape)) return CUDA_ERROR_INVALID_VALUE;
    TRY(function_enter(handle, &function));
    launch_find_cluster(function, &shape, cluster);
    uint64_t blocks = product(cluster);
    CUresult result = blocks ? launch_check_cluster(function, &shape) : CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (!blocks) log_error("no cluster is given, or one of 0 blocks");
    if (!result) *count = resident_blocks(function, &shape) / (int)blocks;
    PUT(function);
    return result == CUDA_ERROR_NOT_SUPPORTED ? CUDA_ERROR_INVALID_CLUSTER_SIZE : result;
}
