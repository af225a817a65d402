/* The keywords of a launch that become attributes of cuLaunchKernelEx. */
#include <stdio.h>
#include <string.h>

#include "ext/convert/convert.h"
#include "ext/base/driver_calls.h"
#include "ext/launch/function.h"

PyObject **launch_extra_slot(ModuleState *state, LaunchExtraKeywords *given, PyObject *name)
{
#define MATCH(field) \
    if (name == state->str_##field || PyUnicode_Compare(name, state->str_##field) == 0) return &given->field;
    MATCH(cooperative)
    MATCH(cluster)
    MATCH(programmatic)
    MATCH(priority)
    MATCH(carveout)
#undef MATCH
    return NULL;
}

static bool is_given(PyObject *value) { return value && value != Py_None; }

/* Adds an attribute. Returns its value, all zeros, for the caller to set. */
static CUlaunchAttributeValue *add_attribute(LaunchExtras *extras, CUlaunchAttributeID id)
{
    CUlaunchAttribute *attribute = &extras->list[extras->count++];
    memset(attribute, 0, sizeof *attribute);
    attribute->id = id;
    return &attribute->value;
}

/* The value of a boolean keyword: 1 or 0, which is the default; -1 with an exception. */
static int is_on(PyObject *value) { return is_given(value) ? PyObject_IsTrue(value) : 0; }

static int add_cluster(PyObject *value, const LaunchShape *shape, LaunchExtras *extras)
{
    unsigned cluster[3];
    static const char axes[] = "xyz";
    if (!is_given(value)) return 0;
    if (convert_cluster(value, cluster) < 0) return -1;
    for (int axis = 0; axis < 3; axis++) {
        if (cluster[axis] && shape->grid[axis] % cluster[axis] == 0) continue;
        PyErr_Format(PyExc_ValueError, "grid.%c is %u, which is not a multiple of cluster.%c, %u", axes[axis],
                     shape->grid[axis], axes[axis], cluster[axis]);
        return -1;
    }
    CUlaunchAttributeValue *attribute = add_attribute(extras, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    attribute->clusterDim.x = cluster[0];
    attribute->clusterDim.y = cluster[1];
    attribute->clusterDim.z = cluster[2];
    return 0;
}

static int add_carveout(PyObject *value, LaunchExtras *extras)
{
    unsigned percent = 0;
    if (!is_given(value)) return 0;
    if (convert_unsigned(value, "carveout", &percent) < 0) return -1;
    if (percent > 100) {
        PyErr_Format(PyExc_ValueError, "carveout is %u: it must be a percentage", percent);
        return -1;
    }
    add_attribute(extras, CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)->sharedMemCarveout = percent;
    return 0;
}

static int add_priority(PyObject *value, LaunchExtras *extras)
{
    int priority = 0;
    if (!is_given(value)) return 0;
    if (convert_int(value, "priority", &priority) < 0) return -1;
    add_attribute(extras, CU_LAUNCH_ATTRIBUTE_PRIORITY)->priority = priority;
    return 0;
}

int launch_extras_read(const LaunchExtraKeywords *given, const LaunchShape *shape, LaunchExtras *out)
{
    int cooperative = is_on(given->cooperative);
    int programmatic = cooperative < 0 ? -1 : is_on(given->programmatic);
    out->count = 0;
    if (cooperative < 0 || programmatic < 0 || add_cluster(given->cluster, shape, out) < 0
        || add_carveout(given->carveout, out) < 0 || add_priority(given->priority, out) < 0)
        return -1;
    if (cooperative) add_attribute(out, CU_LAUNCH_ATTRIBUTE_COOPERATIVE)->cooperative = 1;
    if (programmatic)
        add_attribute(out, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            ->programmaticStreamSerializationAllowed = 1;
    return 0;
}

CUresult launch_extras_launch(FunctionObject *function, const LaunchShape *shape, const LaunchExtras *extras,
                              CUstream stream, void **params, void **extra)
{
    CUlaunchConfig config = {
        .gridDimX = shape->grid[0],
        .gridDimY = shape->grid[1],
        .gridDimZ = shape->grid[2],
        .blockDimX = shape->block[0],
        .blockDimY = shape->block[1],
        .blockDimZ = shape->block[2],
        .sharedMemBytes = shape->shared_bytes,
        .hStream = stream,
        .attrs = (CUlaunchAttribute *)extras->list,
        .numAttrs = extras->count,
    };
    return try_cuLaunchKernelEx(function->state, &config, function->handle, params, extra);
}

/* The number of multiprocessors that the stream's kernels run on; 0 when it is not known. */
static int multiprocessors_of(ModuleState *state, CUstream stream)
{
    int count = 0;
    CUdevice device;
    CUgreenCtx green = NULL;
    CUdevResource part;
    if (once_cuStreamGetGreenCtx(state, stream, &green) == CUDA_SUCCESS && green
        && once_cuGreenCtxGetDevResource(state, green, &part, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS)
        return (int)part.sm.smCount;
    if (once_cuCtxGetDevice(state, &device) == CUDA_SUCCESS)
        once_cuDeviceGetAttribute(state, &count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    return count;
}

bool launch_extras_explain(FunctionObject *function, const LaunchShape *shape, CUstream stream,
                           CUresult result, char *text, size_t size)
{
    ModuleState *state = function->state;
    int blocks = 0, multiprocessors;
    int threads = (int)(shape->block[0] * shape->block[1] * shape->block[2]);
    if (result != CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
        || once_cuOccupancyMaxActiveBlocksPerMultiprocessor(state, &blocks, function->handle, threads,
                                                            shape->shared_bytes)
               != CUDA_SUCCESS
        || (multiprocessors = multiprocessors_of(state, stream)) == 0)
        return false;
    snprintf(text, size,
             "the blocks of a cooperative launch run at the same time: at most %d blocks of this size can",
             blocks * multiprocessors);
    return true;
}
