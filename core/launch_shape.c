/* See launch_shape.h. */
#include "core/launch_shape.h"

#include <stdio.h>

static const char axis_name[3] = {'x', 'y', 'z'};

/* The attribute of the current context's device; 0 if it cannot be queried. */
IN_CALL static int device_limit(CUdevice_attribute attribute)
{
    CUdevice device;
    int value = 0;
    if (driver.cuCtxGetDevice(&device) != CUDA_SUCCESS
        || driver.cuDeviceGetAttribute(&value, attribute, device) != CUDA_SUCCESS)
        return 0;
    return value;
}

/* The attribute of the function; 0 if it cannot be queried. */
IN_CALL static int function_limit(CUfunction function, CUfunction_attribute attribute)
{
    int value = 0;
    return driver.cuFuncGetAttribute(&value, attribute, function) == CUDA_SUCCESS ? value : 0;
}

/* Whether a length of the grid or block is 0 or above the limit (0: unknown). If so, writes that to
 * `text`. */
static bool explain_length(const char *what, int axis, unsigned length, int limit, char *text, size_t size)
{
    if (length == 0)
        snprintf(text, size, "%s is 0 in %c: it must be at least 1", what, axis_name[axis]);
    else if (limit > 0 && length > (unsigned)limit)
        snprintf(text, size, "%s is %u in %c: this device allows %d", what, length, axis_name[axis], limit);
    else
        return false;
    return true;
}

IN_CALL static bool explain_threads(const LaunchShape *shape, CUfunction function, char *text, size_t size)
{
    unsigned long long threads = 1ull * shape->block[0] * shape->block[1] * shape->block[2];
    int device = device_limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    int kernel = function_limit(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    bool by_kernel = kernel > 0 && (device <= 0 || kernel < device);
    int limit = by_kernel ? kernel : device;
    if (limit <= 0 || threads <= (unsigned long long)limit) return false;
    snprintf(text, size, "a block of %ux%ux%u is %llu threads: %s allows %d", shape->block[0],
             shape->block[1], shape->block[2], threads,
             by_kernel ? "this kernel (its registers or launch bounds)" : "this device", limit);
    return true;
}

IN_CALL static bool explain_shared(const LaunchShape *shape, CUfunction function, char *text, size_t size)
{
    int fixed = function_limit(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    int allowed = function_limit(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    int max = device_limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    if (allowed <= 0 || shape->shared_bytes <= (unsigned)allowed) return false;
    snprintf(text, size,
             "%u bytes of dynamic shared memory: this kernel allows %d in addition to its %d static ones (up "
             "to %d in total after "
             "set_attribute(function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, n))",
             shape->shared_bytes, allowed, fixed, max);
    return true;
}

IN_CALL bool launch_shape_explain(const LaunchShape *shape, CUfunction function, char *text, size_t size)
{
    for (int axis = 0; axis < 3; axis++) {
        int limit = device_limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + (CUdevice_attribute)axis);
        if (explain_length("the block", axis, shape->block[axis], limit, text, size)) return true;
    }
    for (int axis = 0; axis < 3; axis++) {
        int limit = device_limit(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + (CUdevice_attribute)axis);
        if (explain_length("the grid", axis, shape->grid[axis], limit, text, size)) return true;
    }
    return explain_threads(shape, function, text, size) || explain_shared(shape, function, text, size);
}

void launch_shape_splay(size_t n, int multiprocessors, unsigned *blocks, unsigned *threads)
{
    const size_t warp = 32, min = 32, max = 128; /* threads: of a warp; of a block */
    const size_t blocks_each = 32; /* maximum for a multiprocessor */
    size_t limit = blocks_each * (size_t)(multiprocessors > 0 ? multiprocessors : 1);
    if (n < limit * min) {
        *blocks = (unsigned)((n + min - 1) / min);
        *threads = (unsigned)min;
    } else if (n < limit * max) {
        size_t warps = (n + warp - 1) / warp, each = (warps + limit - 1) / limit;
        *threads = (unsigned)(each * warp);
        *blocks = (unsigned)limit;
    } else {
        *blocks = (unsigned)limit;
        *threads = (unsigned)max;
    }
    if (*blocks == 0) *blocks = 1;
}
