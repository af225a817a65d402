/* Clusters of blocks: how many fit, and why a launch of them was refused. */
#include <stdio.h>

#include "ext/convert/convert.h"
#include "ext/base/driver_calls.h"
#include "ext/launch/function.h"

/* --- how many fit -------------------------------------------------------------------------------------- */

/* A launch for a query of occupancy. The driver looks only at the block's size and the cluster's shape, so
 * the grid is a single cluster. */
static CUlaunchConfig config_of(int threads, size_t shared, const unsigned grid[3])
{
    return (CUlaunchConfig){.gridDimX = grid[0],
                            .gridDimY = grid[1],
                            .gridDimZ = grid[2],
                            .blockDimX = (unsigned)threads,
                            .blockDimY = 1,
                            .blockDimZ = 1,
                            .sharedMemBytes = (unsigned)shared};
}

/* Makes the whole grid of *config one cluster, by *attribute, which must live as long as *config. */
static void make_cluster(CUlaunchConfig *config, CUlaunchAttribute *attribute)
{
    *attribute = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    attribute->value.clusterDim.x = config->gridDimX;
    attribute->value.clusterDim.y = config->gridDimY;
    attribute->value.clusterDim.z = config->gridDimZ;
    config->attrs = attribute;
    config->numAttrs = 1;
}

static int read_sizes(PyObject *threads_given, PyObject *shared_given, int *threads, size_t *shared)
{
    if (convert_int(threads_given, "block_size", threads) < 0
        || convert_size(shared_given, "shared", shared) < 0)
        return -1;
    if (*threads > 0) return 0;
    PyErr_Format(PyExc_ValueError, "block_size must be positive (got %d)", *threads);
    return -1;
}

const char max_active_clusters_doc[] =
    "max_active_clusters($self, block_size, cluster, shared=0)\n--\n\n"
    "How many clusters of the kernel's blocks the device holds at a time.\n"
    "\nParameters\n----------\n"
    "block_size : int\n    Threads of a block.\n"
    "cluster : tuple of int\n    Blocks of a cluster along 1 to 3 axes.\n"
    "shared : int\n    Bytes of dynamic shared memory of a block.\n"
    "\nReturns\n-------\n"
    "int\n    0 when a cluster does not fit.\n"
    "\nNotes\n-----\n"
    "Calls cuOccupancyMaxActiveClusters.";

PyObject *max_active_clusters(PyObject *self, FAST_PARAMETERS)
{
    FunctionObject *function = function_cast(self);
    PyObject *given[3];
    unsigned cluster[3];
    int threads = 0, count = 0;
    size_t shared = 0;
    CUlaunchAttribute attribute;
    if (convert_arguments(max_active_clusters_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || convert_cluster(given[1], cluster) < 0 || read_sizes(given[0], given[2], &threads, &shared) < 0)
        return NULL;
    CUlaunchConfig config = config_of(threads, shared, cluster);
    make_cluster(&config, &attribute);
    return gpu_cuOccupancyMaxActiveClusters(function->state, &count, function->handle, &config) < 0
               ? NULL
               : PyLong_FromLong(count);
}

const char max_potential_cluster_size_doc[] =
    "max_potential_cluster_size($self, block_size, shared=0)\n--\n\n"
    "How many blocks of the kernel a cluster may have.\n"
    "\nParameters\n----------\n"
    "block_size : int\n    Threads of a block.\n"
    "shared : int\n    Bytes of dynamic shared memory of a block.\n"
    "\nReturns\n-------\n"
    "int\n"
    "    At most 8, or more with the attribute NON_PORTABLE_CLUSTER_SIZE_ALLOWED.\n"
    "\nNotes\n-----\n"
    "Calls cuOccupancyMaxPotentialClusterSize.";

PyObject *max_potential_cluster_size(PyObject *self, FAST_PARAMETERS)
{
    static const unsigned one[3] = {1, 1, 1};
    FunctionObject *function = function_cast(self);
    PyObject *given[2];
    int threads = 0, size = 0;
    size_t shared = 0;
    if (convert_arguments(max_potential_cluster_size_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || read_sizes(given[0], given[1], &threads, &shared) < 0)
        return NULL;
    CUlaunchConfig config = config_of(threads, shared, one);
    return gpu_cuOccupancyMaxPotentialClusterSize(function->state, &size, function->handle, &config) < 0
               ? NULL
               : PyLong_FromLong(size);
}

/* --- why a launch was refused -------------------------------------------------------------------------- */

/* The value of the function's attribute, 0 if the driver does not know it. */
static int attribute_of(FunctionObject *function, CUfunction_attribute attribute)
{
    int value = 0;
    return once_cuFuncGetAttribute(function->state, &value, attribute, function->handle) == CUDA_SUCCESS
               ? value
               : 0;
}

/* False when the current device has no clusters; *major and *minor: its compute capability. True, too, if the
 * driver does not answer. */
static bool has_clusters(ModuleState *state, int *major, int *minor)
{
    CUdevice device;
    int launches = 0;
    return once_cuCtxGetDevice(state, &device) != CUDA_SUCCESS
           || once_cuDeviceGetAttribute(state, major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)
                  != CUDA_SUCCESS
           || once_cuDeviceGetAttribute(state, minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device)
                  != CUDA_SUCCESS
           || (once_cuDeviceGetAttribute(state, &launches, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, device)
                   == CUDA_SUCCESS
               && launches);
}

/* Compares the cluster for which the kernel was compiled with that of the launch (all 0: none is given).
 * Writes the difference; false when there is none. */
static bool explain_required(FunctionObject *function, const LaunchShape *shape, const unsigned given[3],
                             char *text, size_t size)
{
    unsigned wanted[3];
    for (int axis = 0; axis < 3; axis++)
        wanted[axis] = (unsigned)attribute_of(
            function, (CUfunction_attribute)(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + axis));
    if (!wanted[0]) {
        bool missing = !given[0] && attribute_of(function, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET);
        if (missing) snprintf(text, size, "it is compiled for clusters of any size: pass cluster=");
        return missing;
    }
    for (int axis = 0; axis < 3; axis++) {
        if (given[0] && given[axis] != wanted[axis]) {
            snprintf(text, size, "it is compiled for clusters of (%u, %u, %u), cluster is (%u, %u, %u)",
                     wanted[0], wanted[1], wanted[2], given[0], given[1], given[2]);
            return true;
        }
        if (wanted[axis] && shape->grid[axis] % wanted[axis]) {
            snprintf(text, size, "grid.%c is %u, which is not a multiple of its cluster's, %u", "xyz"[axis],
                     shape -> grid[axis], wanted[axis]);
            return true;
        }
    }
    return false;
}

/* Writes why a cluster of this size is too large. False when it is not. */
static bool explain_size(FunctionObject *function, const LaunchShape *shape, const unsigned given[3],
                         char *text, size_t size)
{
    enum { PORTABLE = 8 };
    unsigned blocks = given[0] * given[1] * given[2];
    int threads = (int)(shape->block[0] * shape->block[1] * shape->block[2]), max = 0;
    if (blocks > PORTABLE && !attribute_of(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED)) {
        snprintf(text, size,
                 "a cluster of %u blocks: more than %d need "
                 "set_attribute(function_attribute.NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)",
                 blocks, PORTABLE);
        return true;
    }
    CUlaunchConfig config = config_of(threads, shape->shared_bytes, given);
    if (once_cuOccupancyMaxPotentialClusterSize(function->state, &max, function->handle, &config)
            != CUDA_SUCCESS
        || blocks <= (unsigned)max)
        return false;
    snprintf(text, size, "a cluster of %u blocks: a cluster has at most %d blocks of this size", blocks, max);
    return true;
}

bool launch_cluster_explain(FunctionObject *function, const LaunchShape *shape, const LaunchExtras *extras,
                            CUresult result, char *text, size_t size)
{
    unsigned given[3] = {0};
    int major = 0, minor = 0;
    for (unsigned k = 0; extras && k < extras->count; k++) {
        if (extras->list[k].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
        given[0] = extras->list[k].value.clusterDim.x;
        given[1] = extras->list[k].value.clusterDim.y;
        given[2] = extras->list[k].value.clusterDim.z;
    }
    bool possible = result == CUDA_ERROR_INVALID_CLUSTER_SIZE || result == CUDA_ERROR_INVALID_VALUE;
    if (!possible && !(given[0] && result == CUDA_ERROR_NOT_SUPPORTED)) return false;
    if (given[0] && !has_clusters(function->state, &major, &minor)) {
        snprintf(text, size, "clusters need a device of compute capability 9.0, this one has %d.%d", major,
                 minor);
        return true;
    }
    return explain_required(function, shape, given, text, size)
           || (given[0] * given[1] * given[2] > 1 && explain_size(function, shape, given, text, size));
}
